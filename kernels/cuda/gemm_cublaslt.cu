/*
 * gemm_cublaslt - products by cuBLASLt, with the fastest of its algorithms, or
 * by our own kernel
 *
 * The library's matrices are column-major, so it is asked for the transposed
 * product, op(b)' op(a)': our b is its A, our a its B, and no data is moved.
 * Its bias runs along its rows, which are our columns.
 *
 * Our own kernel is for machines without the library, and for products that it
 * cannot compute.  It does not use tensor cores, so the library is what trains;
 * libraries like it are tuned for each GPU by its vendor.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/gemm_cublaslt.cuh"

#include "common/log.h"
#include "common/mem.h"

#include <stdio.h>

static int library_type(enum dtype type)
{
    switch (type) {
    case DT_BF16:
        return CUBLASLT_R_16BF;
    case DT_F16:
        return CUBLASLT_R_16F;
    case DT_E4M3:
        return CUBLASLT_R_8F_E4M3;
    case DT_E5M2:
        return CUBLASLT_R_8F_E5M2;
    default:
        return CUBLASLT_R_32F;
    }
}

/* ---- the library ------------------------------------------------------- */

/* A version that the driver is too old for can be found, but not initialized;
 * then the next one is tried.  What is reported is the first failure. */
static struct gemm_state *open_state(struct dev *dev)
{
    struct cuda *cuda = cuda_of(dev);
    struct gemm_state *p = cuda->gemm;

    if (p)
        return p;
    p = cuda->gemm = (struct gemm_state *)xcalloc(1, sizeof *p);
    for (int i = 0; i < CUBLASLT_VERSIONS && !p->handle; i++) {
        struct err e = {};

        if (cublaslt_load(&p->lt, i, &e) == 0 &&
            p->lt.create(&p->handle) != 0) {
            p->handle = nullptr;
            err_set(&e, ERR_SYSTEM, "cannot initialize cuBLASLt %zu",
                    p->lt.version());
        }
        if (p->why.kind == ERR_NONE)
            p->why = e;
    }
    if (!p->handle)
        return p;
    algorithms_open(&p->algorithms, cuda->name, p->lt.version());
    return p;
}

/* Products that run at the same time must not share a workspace. */
static bool has_workspace(struct dev *dev)
{
    struct cuda_queue *q = cuda_of(dev)->now;

    if (!q->workspace)
        q->workspace = cuda_alloc(dev, GEMM_WORKSPACE, DEV_WORKSPACE,
                                  "cuBLASLt's workspace");
    return q->workspace;
}

void gemm_close(struct dev *dev)
{
    struct gemm_state *p = cuda_of(dev)->gemm;

    if (!p)
        return;
    for (int i = 0; i < p->n; i++) {
        struct gemm_problem *problem = p->problem[i];

        if (problem->desc)
            p->lt.desc_destroy(problem->desc);
        for (cublaslt_layout l : { problem->a, problem->b, problem->d })
            if (l)
                p->lt.layout_destroy(l);
        free(problem);
    }
    if (p->handle)
        p->lt.destroy(p->handle);
    algorithms_close(&p->algorithms);
    free(p);
    cuda_of(dev)->gemm = nullptr;
}

char *gemm_describe(struct dev *dev, char *out, size_t room)
{
    const struct gemm_state *p = open_state(dev);

    if (p->handle)
        snprintf(out, room, "cuBLASLt %zu", p->lt.version());
    else
        snprintf(out, room, "%s", p->why.text);
    return out;
}

/* ---- problems ---------------------------------------------------------- */

/* The alignment of an address, up to 16 bytes, the widest access: a larger one
 * would only make more problems of the same product. */
static int alignment(const void *p)
{
    const uintptr_t bits = (uintptr_t)p | 16;

    return (int)(bits & -bits);
}

/* An address with exactly that alignment, for when the library suggests
 * algorithms: it takes the alignment of bias and aux from their addresses. */
static void *aligned_alike(const void *p)
{
    return p ? (void *)(((uintptr_t)p & ~(uintptr_t)255) | alignment(p))
             : nullptr;
}

static int library_epilogue(const struct gemm *p)
{
    switch (p->epilogue) {
    case GEMM_BIAS:
        return CUBLASLT_EPI_BIAS;
    case GEMM_GELU:
        return (p->aux ? CUBLASLT_EPI_GELU_AUX : CUBLASLT_EPI_GELU) |
               (p->bias ? CUBLASLT_EPI_BIAS : 0);
    case GEMM_GELU_GRAD:
        return CUBLASLT_EPI_DGELU;
    case GEMM_BIAS_GRAD:
        return CUBLASLT_EPI_BGRADB;
    default:
        return CUBLASLT_EPI_DEFAULT;
    }
}

static struct algorithms_key key_of(const struct dev *dev, const struct gemm *p)
{
    struct algorithms_key k;

    k.m = p->m;
    k.n = p->n;
    k.k = p->k;
    k.lda = p->lda;
    k.ldb = p->ldb;
    k.ldd = p->ldd;
    k.type = library_type(p->type);
    k.out = library_type(p->out);
    k.compute = p->type == DT_F32 && dev->tf32 ? CUBLASLT_COMPUTE_32F_FAST_TF32
                                               : CUBLASLT_COMPUTE_32F;
    k.ta = p->ta;
    k.tb = p->tb;
    k.epilogue = library_epilogue(p);
    k.adds = p->beta != 0.0f;
    k.align_a = alignment(p->a);
    k.align_b = alignment(p->b);
    k.align_c = alignment(p->c ? p->c : p->d);
    k.align_d = alignment(p->d);
    k.align_bias = p->bias ? alignment(p->bias) : 0;
    k.align_aux = p->aux ? alignment(p->aux) : 0;
    return k;
}

static void set_int(const struct gemm_state *p, cublaslt_desc desc,
                    int attribute, int32_t value)
{
    p->lt.desc_set(desc, attribute, &value, sizeof value);
}

/* The pointers are part of the description, which outlives the call. */
static void set_pointers(const struct gemm_state *p, cublaslt_desc desc,
                         const struct gemm *q)
{
    if (q->bias)
        p->lt.desc_set(desc, CUBLASLT_DESC_BIAS_POINTER, &q->bias,
                       sizeof q->bias);
    if (q->aux) {
        p->lt.desc_set(desc, CUBLASLT_DESC_AUX_POINTER, &q->aux, sizeof q->aux);
        p->lt.desc_set(desc, CUBLASLT_DESC_AUX_LD, &q->ldd, sizeof q->ldd);
    }
    if (gemm_is_fp8(q)) {
        p->lt.desc_set(desc, CUBLASLT_DESC_A_SCALE_POINTER, &q->scale_b,
                       sizeof q->scale_b);
        p->lt.desc_set(desc, CUBLASLT_DESC_B_SCALE_POINTER, &q->scale_a,
                       sizeof q->scale_a);
    }
}

bool gemm_run_algorithm(struct dev *dev, const struct gemm_state *p,
                        const struct gemm_problem *problem,
                        const struct gemm *q,
                        const struct cublaslt_result *with)
{
    const struct cuda_queue *on = cuda_of(dev)->now;

    set_pointers(p, problem->desc, q);
    return p->lt.matmul(p->handle, problem->desc, &q->alpha, q->b, problem->a,
                        q->a, problem->b, &q->beta, q->c ? q->c : q->d,
                        problem->d, q->d, problem->d, &with->algo,
                        on->workspace, GEMM_WORKSPACE, on->stream) == 0;
}

static void prefer(const struct gemm_state *p, cublaslt_pref pref,
                   int attribute, int64_t value)
{
    const uint32_t n = (uint32_t)value;

    p->lt.pref_set(pref, attribute, &n, sizeof n);
}

/* What the library suggests for a problem: the number of offers. */
static int ask_for_offers(const struct dev *dev, const struct gemm_state *p,
                          const struct gemm_problem *problem,
                          struct cublaslt_result *offer)
{
    const struct algorithms_key *k = &problem->key;
    const uint64_t workspace = GEMM_WORKSPACE;
    cublaslt_pref pref;
    int n = 0, good = 0;

    if (p->lt.pref_create(&pref) != 0)
        return 0;
    p->lt.pref_set(pref, CUBLASLT_PREF_WORKSPACE, &workspace, sizeof workspace);
    prefer(p, pref, CUBLASLT_PREF_ALIGN_A, k->align_b);
    prefer(p, pref, CUBLASLT_PREF_ALIGN_B, k->align_a);
    prefer(p, pref, CUBLASLT_PREF_ALIGN_C, k->align_c);
    prefer(p, pref, CUBLASLT_PREF_ALIGN_D, k->align_d);
    /* Blocks that divide a sum (split-K) add their parts in F32, not in the 16
     * bits of the result, and in the same order each time. */
    if (dev->deterministic || k->out != CUBLASLT_R_32F)
        prefer(p, pref, CUBLASLT_PREF_REDUCTION,
               CUBLASLT_REDUCTION_COMPUTE_TYPE);
    if (p->lt.heuristic(p->handle, problem->desc, problem->a, problem->b,
                        problem->d, problem->d, pref, GEMM_OFFERS, offer,
                        &n) != 0)
        n = 0;
    p->lt.pref_destroy(pref);
    for (int i = 0; i < n; i++) /* not all of them can be run */
        if (offer[i].status == 0)
            offer[good++] = offer[i];
    return good;
}

static bool describe_problem(const struct gemm_state *p,
                             struct gemm_problem *problem, const struct gemm *q)
{
    const struct algorithms_key *k = &problem->key;
    const uint64_t m = (uint64_t)q->m, n = (uint64_t)q->n, kk = (uint64_t)q->k;
    const int type_b = library_type(gemm_is_fp8(q) ? DT_E4M3 : q->type);
    struct gemm shown = *q;

    shown.bias = aligned_alike(q->bias);
    shown.aux = aligned_alike(q->aux);
    if (p->lt.desc_create(&problem->desc, (int)k->compute, CUBLASLT_R_32F) !=
            0 ||
        p->lt.layout_create(&problem->a, type_b, q->tb ? kk : n, q->tb ? n : kk,
                            q->ldb) != 0 ||
        p->lt.layout_create(&problem->b, (int)k->type, q->ta ? m : kk,
                            q->ta ? kk : m, q->lda) != 0 ||
        p->lt.layout_create(&problem->d, (int)k->out, n, m, q->ldd) != 0)
        return false;
    set_int(p, problem->desc, CUBLASLT_DESC_TRANSA, q->tb);
    set_int(p, problem->desc, CUBLASLT_DESC_TRANSB, q->ta);
    set_int(p, problem->desc, CUBLASLT_DESC_EPILOGUE, (int32_t)k->epilogue);
    set_pointers(p, problem->desc, &shown);
    return true;
}

static struct gemm_problem *find_problem(struct dev *dev, struct gemm_state *p,
                                         const struct gemm *q);

/* Whether the product, and then the epilogue by itself, take less time. */
static bool separate_is_faster(struct dev *dev, struct gemm_state *p,
                               const struct gemm_problem *problem,
                               const struct gemm *q)
{
    const struct gemm less = gemm_without_epilogue(q);
    const struct gemm_problem *other = find_problem(dev, p, &less);

    if (p->bandwidth <= 0.0)
        p->bandwidth = gemm_measure_bandwidth(dev);
    return other && other->ms > 0.0f && problem->ms > 0.0f &&
           p->bandwidth > 0.0 &&
           (double)other->ms + gemm_epilogue_bytes(q) / p->bandwidth <
               (double)problem->ms;
}

/* As the file says; a line of zeros means a separate epilogue.  The file may be
 * from another GPU of this model, so the algorithm is tried once more. */
static bool take_from_file(struct dev *dev, const struct gemm_state *p,
                           struct gemm_problem *problem, const struct gemm *q)
{
    static const struct cublaslt_algo none = {};
    struct cublaslt_result now;

    if (!algorithms_find(&p->algorithms, &problem->key, &problem->with.algo))
        return false;
    problem->separate = memcmp(&problem->with.algo, &none, sizeof none) == 0;
    if (problem->separate)
        return true;
    if (p->lt.check(p->handle, problem->desc, problem->a, problem->b,
                    problem->d, problem->d, &problem->with.algo, &now) != 0 ||
        now.workspace > GEMM_WORKSPACE)
        return false;
    now.algo = problem->with.algo;
    if (gemm_try_offers(dev, p, problem, q, &now, 1) == 1)
        return true;
    log_warn("cuBLASLt does not accept a stored algorithm, or computes wrong "
             "numbers by it; looking for another one");
    return false;
}

/* Decide how a problem is computed: as the file says, or by a trial. */
static void settle(struct dev *dev, struct gemm_state *p,
                   struct gemm_problem *problem, const struct gemm *q)
{
    struct cublaslt_result offer[GEMM_OFFERS];
    int n = 0;

    if (describe_problem(p, problem, q)) {
        problem->usable =
            !dev->deterministic && take_from_file(dev, p, problem, q);
        if (problem->usable)
            return;
        n = ask_for_offers(dev, p, problem, offer);
    }
    n = gemm_try_offers(dev, p, problem, q, offer, n);
    problem->separate = n == 0 && gemm_can_separate(q);
    problem->usable = n > 0 || problem->separate;
    if (!problem->usable)
        log_warn("cuBLASLt has no algorithm for a product of %lld x %lld x "
                 "%lld; using a slower kernel",
                 (long long)q->m, (long long)q->n, (long long)q->k);
    if (n == 0)
        return;
    if (dev->deterministic)
        return;
    if (gemm_can_separate(q) && separate_is_faster(dev, p, problem, q)) {
        problem->separate = true;
        memset(&problem->with.algo, 0, sizeof problem->with.algo);
    }
    if (problem->ms > 0.0f) /* else there was no trial */
        algorithms_add(&p->algorithms, &problem->key, &problem->with.algo);
}

/* NULL if there are too many, or if a new one would be tried while work is
 * recorded. */
static struct gemm_problem *find_problem(struct dev *dev, struct gemm_state *p,
                                         const struct gemm *q)
{
    const struct algorithms_key key = key_of(dev, q);
    struct gemm_problem *problem;

    for (int i = 0; i < p->n; i++)
        if (memcmp(&p->problem[i]->key, &key, sizeof key) == 0)
            return p->problem[i];
    if (cuda_of(dev)->recording)
        cuda_failed(dev, "trial of a product", "a capture allows no trial");
    if (p->n == GEMM_PROBLEMS || cuda_of(dev)->recording)
        return nullptr;
    problem = (struct gemm_problem *)xcalloc(1, sizeof *problem);
    problem->key = key;
    p->problem[p->n++] = problem; /* settle() may add another */
    settle(dev, p, problem, q);
    return problem;
}

/* By the chosen algorithm, or, if the library rejects it, by the first one that
 * it suggests now and accepts.  While work is recorded, a call that fails says
 * nothing about its algorithm. */
static bool run_problem(struct dev *dev, struct gemm_state *p,
                        struct gemm_problem *problem, const struct gemm *q,
                        const char *op)
{
    struct cublaslt_result offer[GEMM_OFFERS];
    int n;

    if (gemm_run_algorithm(dev, p, problem, q, &problem->with))
        return true;
    if (cuda_of(dev)->recording)
        return false;
    n = ask_for_offers(dev, p, problem, offer);
    for (int i = 0; i < n; i++)
        if (gemm_run_algorithm(dev, p, problem, q, &offer[i])) {
            log_warn("cuBLASLt no longer accepts the algorithm for %s; using "
                     "another one",
                     op);
            problem->with = offer[i];
            return true;
        }
    return false;
}

/* ---- our own kernel ---------------------------------------------------- */

enum { SIDE = 64, DEPTH = 16, THREADS = 256 };

/* A block computes a SIDE x SIDE tile, a thread 4 x 4 of it. */
template <class A, class B, class D>
static __global__ void __launch_bounds__(THREADS)
    gemm_plain(D *d, const D *c, const D *bias, const A *a, const B *b,
               int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb,
               int64_t ldd, bool ta, bool tb, float alpha, float beta,
               const float *scale_a, const float *scale_b)
{
    begin_kernel();

    SHARED(float, as, DEPTH *SIDE);
    SHARED(float, bs, DEPTH *SIDE);
    const int64_t row0 = (int64_t)blockIdx.x * SIDE;
    const int64_t col0 = (int64_t)blockIdx.y * SIDE;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[4][4] = {};

    if (scale_a)
        alpha *= *scale_a * *scale_b;
    for (int64_t k0 = 0; k0 < k; k0 += DEPTH) {
        for (int i = threadIdx.x; i < DEPTH * SIDE; i += THREADS) {
            /* neighbours read neighbours, transposed or not */
            const int ak = ta ? i / SIDE : i % DEPTH;
            const int ar = ta ? i % SIDE : i / DEPTH;
            const int bk = tb ? i % DEPTH : i / SIDE;
            const int bc = tb ? i / DEPTH : i % SIDE;
            const int64_t r = row0 + ar, s = col0 + bc;

            as[ak * SIDE + ar] =
                r < m && k0 + ak < k
                    ? to_float(a[ta ? (k0 + ak) * lda + r : r * lda + k0 + ak])
                    : 0.0f;
            bs[bk * SIDE + bc] =
                s < n && k0 + bk < k
                    ? to_float(b[tb ? s * ldb + k0 + bk : (k0 + bk) * ldb + s])
                    : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int l = 0; l < DEPTH; l++)
#pragma unroll
            for (int i = 0; i < 4; i++)
#pragma unroll
                for (int j = 0; j < 4; j++)
                    sum[i][j] +=
                        as[l * SIDE + ty + 16 * i] * bs[l * SIDE + tx + 16 * j];
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; i++) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            const int64_t r = row0 + ty + 16 * i, s = col0 + tx + 16 * j;

            if (r < m && s < n)
                d[r * ldd + s] = from_float<D>(
                    alpha * sum[i][j] + (bias ? to_float(bias[s]) : 0.0f) +
                    (beta != 0.0f ? beta * to_float(c[r * ldd + s]) : 0.0f));
        }
    }
}

template <class A, class B, class D>
static void launch_plain(struct dev *dev, const struct gemm *q)
{
    const dim3 grid(blocks(q->m, SIDE), blocks(q->n, SIDE));
    const void *bias = q->epilogue == GEMM_BIAS ? q->bias : nullptr;

    LAUNCH((gemm_plain<A, B, D>), grid, THREADS, 0, QUEUE(dev), (D *)q->d,
           (const D *)(q->c ? q->c : q->d), (const D *)bias, (const A *)q->a,
           (const B *)q->b, q->m, q->n, q->k, q->lda, q->ldb, q->ldd, q->ta,
           q->tb, q->alpha, q->beta, q->scale_a, q->scale_b);
}

/* ---- a product --------------------------------------------------------- */

/* Without the library: products of 16 bits, which would be some fifty times
 * slower, are refused unless that was asked for. */
static void say_slow(struct dev *dev, struct gemm_state *p,
                     const struct gemm *q, const char *op)
{
    char why[160];

    if (cublaslt_is_off() || p->said_slow)
        return;
    p->said_slow = true;
    if (q->type == DT_F32) {
        log_warn("%s; matrix products use a slower kernel", p->why.text);
        return;
    }
    snprintf(why, sizeof why,
             "%.70s; without it products would be very slow: install it, or "
             "set GT_CUBLASLT=off",
             p->why.text);
    cuda_failed(dev, op, why);
}

/* The whole product by the library; false if it cannot compute it.  What fails
 * while work is recorded is the recording. */
static bool run_by_library(struct dev *dev, struct gemm_state *p,
                           struct gemm_problem *problem, const struct gemm *q,
                           const char *op)
{
    bool ran;

    if (!problem || !problem->usable)
        return false;
    ran = run_problem(dev, p, problem, q, op);
    launched(dev, op);
    if (ran)
        return true;
    if (cuda_of(dev)->recording) {
        cuda_failed(dev, op, "cuBLASLt rejects the product in a capture");
        return true;
    }
    problem->usable = false;
    log_warn("cuBLASLt cannot run %s, %lld x %lld x %lld; using a slower "
             "kernel",
             op, (long long)q->m, (long long)q->n, (long long)q->k);
    return false;
}

bool gemm(struct dev *dev, const struct gemm *q, const char *op)
{
    const struct gemm less =
        gemm_can_separate(q) ? gemm_without_epilogue(q) : *q;
    struct gemm_problem *problem = nullptr;
    struct gemm_state *p;

    if (q->m == 0 || q->n == 0)
        return true;
    p = open_state(dev);
    if (!p->handle)
        say_slow(dev, p, q, op);
    else if (has_workspace(dev))
        problem = find_problem(dev, p, q);
    if (problem && problem->usable && problem->separate) {
        gemm(dev, &less, op);
        return false;
    }
    if (run_by_library(dev, p, problem, q, op))
        return true;
    /* a bias of the columns is added before the one rounding */
    WITH_OPERANDS(A, B, q->type,
                  WITH_TYPE(D, q->out, launch_plain<A, B, D>(dev, &less)))
    launched(dev, op);
    return !gemm_can_separate(q);
}
