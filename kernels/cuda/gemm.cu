/*
 * matmul - plans for cuBLASLt, and a kernel of our own where it has none
 *
 * The library's matrices are column-major, so it is asked for the transpose of
 * what we want, op(b)' op(a)': our b is its A, our a its B, and nothing has to
 * be moved.  Its bias runs along its rows, which are our columns.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/algorithms.h"
#include "kernels/cuda/cublaslt.h"

#include "common/log.h"

#include <stdio.h>

enum {
    OFFERS = 16,                        /* of the library's, to be timed */
    ROUNDS = 3,                         /* of timing; the best counts */
    MOST_PLANS = 256,
    WORKSPACE = 32 << 20,
    CACHES = 5,                         /* as much is copied, to see how fast
                                           memory is */
};

struct plan {
    struct plan_key key;
    lt_desc desc;
    lt_layout a, b, d;
    struct lt_result with;
    float ms;                           /* it took; 0: not timed */
    bool usable;
    bool in_two;                        /* without its end is faster */
};

struct matmul_plans {
    struct lt lt;
    lt_handle handle;                   /* null: no library */
    struct err why;
    void *workspace;
    double bandwidth;                   /* bytes a millisecond, or 0 */
    struct plan *plan[MOST_PLANS];
    int n;
    struct plan_file file;
};

static int lt_type(enum dtype type)
{
    return type == DT_BF16 ? LT_R_16BF : type == DT_F16 ? LT_R_16F : LT_R_32F;
}

/* ---- the library ------------------------------------------------------- */

static struct matmul_plans *open_plans(struct dev *dev)
{
    struct cuda *cuda = cuda_of(dev);
    struct matmul_plans *p = cuda->plans;

    if (p)
        return p;
    p = cuda->plans = (struct matmul_plans *)calloc(1, sizeof *p);
    if (!p)
        abort();
    if (lt_open(&p->lt, &p->why) < 0)
        return p;
    if (p->lt.create(&p->handle) != 0) {
        p->handle = nullptr;
        err_set(&p->why, ERR_SYSTEM, "cuBLASLt does not start");
        return p;
    }
    p->workspace = cuda_malloc(dev, WORKSPACE, "matmul");
    if (p->workspace)
        dev_took(dev, DEV_WORKSPACE, WORKSPACE);
    plan_file_open(&p->file, cuda->name, p->lt.version());
    return p;
}

void matmul_close(struct dev *dev)
{
    struct matmul_plans *p = cuda_of(dev)->plans;

    if (!p)
        return;
    for (int i = 0; i < p->n; i++) {
        struct plan *plan = p->plan[i];

        if (plan->desc)
            p->lt.desc_destroy(plan->desc);
        for (lt_layout l : { plan->a, plan->b, plan->d })
            if (l)
                p->lt.layout_destroy(l);
        free(plan);
    }
    if (p->handle)
        p->lt.destroy(p->handle);
    cuda_release(dev, p->workspace);
    plan_file_close(&p->file);
    free(p);
    cuda_of(dev)->plans = nullptr;
}

char *matmul_describe(struct dev *dev, char *out, size_t room)
{
    const struct matmul_plans *p = open_plans(dev);

    if (p->handle)
        snprintf(out, room, "cuBLASLt %zu", p->lt.version());
    else
        snprintf(out, room, "%s", p->why.text);
    return out;
}

/* ---- plans ------------------------------------------------------------- */

/* What the address is a multiple of, up to 16 bytes: the widest access.  More
 * would only make other plans of the same product. */
static int alignment(const void *p)
{
    const uintptr_t bits = (uintptr_t)p | 16;

    return (int)(bits & -bits);
}

/* An address as aligned as this one, so far, and no more: what the library is
 * shown when it makes its offers, since it takes the alignment of a bias and
 * of an aux from where they lie. */
static void *no_better(const void *p)
{
    return p ? (void *)(((uintptr_t)p & ~(uintptr_t)255) | alignment(p))
             : nullptr;
}

static int epilogue(const struct matmul *p)
{
    switch (p->end) {
    case MATMUL_PLAIN:
        return LT_EPILOGUE_DEFAULT;
    case MATMUL_BIAS:
        return LT_EPILOGUE_BIAS;
    case MATMUL_GELU:
        return (p->aux ? LT_EPILOGUE_GELU_AUX : LT_EPILOGUE_GELU) |
               (p->bias ? LT_EPILOGUE_BIAS : 0);
    case MATMUL_GELU_GRAD:
        return LT_EPILOGUE_DGELU;
    case MATMUL_BIAS_GRAD:
        return LT_EPILOGUE_BGRADB;
    }
    return LT_EPILOGUE_DEFAULT;
}

/* The same product with nothing left at its end but a bias. */
static struct matmul without_end(const struct matmul *q)
{
    struct matmul p = *q;

    p.end = q->end == MATMUL_GELU && q->bias ? MATMUL_BIAS : MATMUL_PLAIN;
    if (p.end == MATMUL_PLAIN)
        p.bias = nullptr;
    if (q->end == MATMUL_GELU && q->aux)
        p.d = q->aux;
    p.aux = nullptr;
    return p;
}

static bool can_be_two(const struct matmul *q)
{
    return q->end != MATMUL_PLAIN && q->end != MATMUL_BIAS;
}

/* Bytes that an end by itself reads and writes. */
static double bytes_of_end(const struct matmul *q)
{
    const double d = (double)q->m * (double)q->n * (double)dtype_size(q->out);

    switch (q->end) {
    case MATMUL_GELU:
        return 2.0 * d;
    case MATMUL_GELU_GRAD:
        return 3.0 * d;
    case MATMUL_BIAS_GRAD:
        return (double)q->m * (double)q->k * (double)dtype_size(q->type);
    case MATMUL_PLAIN:
    case MATMUL_BIAS:
        break;
    }
    return 0.0;
}

static struct plan_key key_of(const struct dev *dev, const struct matmul *p)
{
    struct plan_key k;

    memset(&k, 0, sizeof k);            /* padding too: keys are compared */
    k.m = p->m;
    k.n = p->n;
    k.k = p->k;
    k.lda = p->lda;
    k.ldb = p->ldb;
    k.ldd = p->ldd;
    k.type = lt_type(p->type);
    k.out = lt_type(p->out);
    k.compute = p->type == DT_F32 && dev->tf32 ? LT_COMPUTE_32F_FAST_TF32
                                               : LT_COMPUTE_32F;
    k.ta = p->ta;
    k.tb = p->tb;
    k.epilogue = epilogue(p);
    k.adds = p->beta != 0.0f;
    k.align_a = alignment(p->a);
    k.align_b = alignment(p->b);
    k.align_c = alignment(p->c ? p->c : p->d);
    k.align_d = alignment(p->d);
    k.align_bias = p->bias ? alignment(p->bias) : 0;
    k.align_aux = p->aux ? alignment(p->aux) : 0;
    return k;
}

static void set_int(const struct matmul_plans *p, lt_desc desc, int attribute,
                    int32_t value)
{
    p->lt.desc_set(desc, attribute, &value, sizeof value);
}

/* The pointers that belong to the description: the plan outlives the call. */
static void set_pointers(const struct matmul_plans *p, lt_desc desc,
                         const struct matmul *q)
{
    const int64_t ld = q->ldd;

    if (q->bias)
        p->lt.desc_set(desc, LT_DESC_BIAS_POINTER, &q->bias, sizeof q->bias);
    if (q->aux) {
        p->lt.desc_set(desc, LT_DESC_AUX_POINTER, &q->aux, sizeof q->aux);
        p->lt.desc_set(desc, LT_DESC_AUX_LD, &ld, sizeof ld);
    }
}

/* The library's A is our b. */
static int run(const struct matmul_plans *p, const struct plan *plan,
               const struct matmul *q, const struct lt_result *with, void *d,
               const void *c, void *stream)
{
    return p->lt.matmul(p->handle, plan->desc, &q->alpha, q->b, plan->a, q->a,
                        plan->b, &q->beta, c, plan->d, d, plan->d, &with->algo,
                        p->workspace, WORKSPACE, stream);
}

/* Milliseconds of one offer, into a place of its own; or -1. */
static float time_one(struct dev *dev, const struct matmul_plans *p,
                      const struct plan *plan, const struct matmul *q,
                      const struct lt_result *with, void *d, cudaEvent_t from,
                      cudaEvent_t to)
{
    float best = -1.0f;

    for (int i = 0; i < ROUNDS + 1; i++) {      /* the first warms up */
        float ms = 0.0f;

        cudaEventRecord(from, STREAM(dev));
        if (run(p, plan, q, with, d, d, cuda_of(dev)->stream) != 0)
            return -1.0f;
        cudaEventRecord(to, STREAM(dev));
        if (cudaEventSynchronize(to) != cudaSuccess ||
            cudaEventElapsedTime(&ms, from, to) != cudaSuccess)
            return -1.0f;
        if (i > 0 && (best < 0.0f || ms < best))
            best = ms;
    }
    return best;
}

/* Choose among the offers by time, and note it.  Nothing of the caller's is
 * overwritten: d, bias and aux are replaced. */
static void choose(struct dev *dev, const struct matmul_plans *p,
                   struct plan *plan, const struct matmul *q,
                   const struct lt_result *offer, int n)
{
    const size_t d_size =
        ((size_t)(q->m * q->ldd) * dtype_size(q->out) + 255) & ~(size_t)255;
    const size_t line = (size_t)(q->m > q->n ? q->m : q->n) * 4;
    const size_t aux_size = q->aux ? d_size : 0;
    struct matmul trial = *q;
    void *room = nullptr;
    cudaEvent_t from, to;

    if (cudaMalloc(&room, d_size + aux_size + line) != cudaSuccess) {
        cudaGetLastError();             /* no room to try: the first offer */
        return;
    }
    cudaMemsetAsync(room, 0, d_size + aux_size + line, STREAM(dev));
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    if (q->aux && q->end == MATMUL_GELU)
        trial.aux = (char *)room + d_size;
    if (q->end == MATMUL_BIAS_GRAD)
        trial.bias = (char *)room + d_size + aux_size;
    set_pointers(p, plan->desc, &trial);
    for (int i = 0; i < n; i++) {
        const float ms =
            time_one(dev, p, plan, &trial, &offer[i], room, from, to);

        if (ms >= 0.0f && (plan->ms <= 0.0f || ms < plan->ms)) {
            plan->ms = ms;
            plan->with = offer[i];
        }
    }
    cudaEventDestroy(from);
    cudaEventDestroy(to);
    cudaFree(room);
}

/* Bytes a millisecond that a copy reads and writes; 0 if it cannot be told. */
static double measure_bandwidth(struct dev *dev)
{
    const size_t n = CACHES * cuda_of(dev)->cache;
    char *room = nullptr;
    cudaEvent_t from, to;
    double best = 0.0;

    if (cudaMalloc((void **)&room, 2 * n) != cudaSuccess) {
        cudaGetLastError();
        return 0.0;
    }
    cudaEventCreate(&from);
    cudaEventCreate(&to);
    for (int i = 0; i < ROUNDS + 1; i++) {
        float ms = 0.0f;

        cudaEventRecord(from, STREAM(dev));
        cudaMemcpyAsync(room + n, room, n, cudaMemcpyDeviceToDevice,
                        STREAM(dev));
        cudaEventRecord(to, STREAM(dev));
        if (cudaEventSynchronize(to) != cudaSuccess ||
            cudaEventElapsedTime(&ms, from, to) != cudaSuccess)
            break;
        if (i > 0 && ms > 0.0f)
            best = fmax(best, 2.0 * (double)n / (double)ms);
    }
    cudaEventDestroy(from);
    cudaEventDestroy(to);
    cudaFree(room);
    return best;
}

static int ask(const struct matmul_plans *p, const struct plan *plan,
               const struct plan_key *k, bool deterministic,
               struct lt_result *offer)
{
    const uint64_t workspace = WORKSPACE;
    const uint32_t align_a = (uint32_t)k->align_b;
    const uint32_t align_b = (uint32_t)k->align_a;
    const uint32_t align_c = (uint32_t)k->align_c;
    const uint32_t align_d = (uint32_t)k->align_d, none = 0;
    lt_pref pref;
    int n = 0, good = 0;

    if (p->lt.pref_create(&pref) != 0)
        return 0;
    p->lt.pref_set(pref, LT_PREF_WORKSPACE, &workspace, sizeof workspace);
    p->lt.pref_set(pref, LT_PREF_ALIGN_A, &align_a, sizeof align_a);
    p->lt.pref_set(pref, LT_PREF_ALIGN_B, &align_b, sizeof align_b);
    p->lt.pref_set(pref, LT_PREF_ALIGN_C, &align_c, sizeof align_c);
    p->lt.pref_set(pref, LT_PREF_ALIGN_D, &align_d, sizeof align_d);
    if (deterministic)
        p->lt.pref_set(pref, LT_PREF_REDUCTION, &none, sizeof none);
    if (p->lt.heuristic(p->handle, plan->desc, plan->a, plan->b, plan->d,
                        plan->d, pref, OFFERS, offer, &n) != 0)
        n = 0;
    p->lt.pref_destroy(pref);
    for (int i = 0; i < n; i++)         /* an offer may be withdrawn */
        if (offer[i].status == 0)
            offer[good++] = offer[i];
    return good;
}

static bool describe_plan(const struct matmul_plans *p, struct plan *plan,
                          const struct matmul *q)
{
    const struct plan_key *k = &plan->key;
    const uint64_t m = (uint64_t)q->m, n = (uint64_t)q->n, kk = (uint64_t)q->k;
    struct matmul shown = *q;

    shown.bias = no_better(q->bias);
    shown.aux = no_better(q->aux);
    if (p->lt.desc_create(&plan->desc, k->compute, LT_R_32F) != 0 ||
        p->lt.layout_create(&plan->a, k->type, q->tb ? kk : n, q->tb ? n : kk,
                            q->ldb) != 0 ||
        p->lt.layout_create(&plan->b, k->type, q->ta ? m : kk, q->ta ? kk : m,
                            q->lda) != 0 ||
        p->lt.layout_create(&plan->d, k->out, n, m, q->ldd) != 0)
        return false;
    set_int(p, plan->desc, LT_DESC_TRANSA, q->tb);
    set_int(p, plan->desc, LT_DESC_TRANSB, q->ta);
    set_int(p, plan->desc, LT_DESC_EPILOGUE, k->epilogue);
    set_pointers(p, plan->desc, &shown);
    return true;
}

static struct plan *plan_for(struct dev *dev, struct matmul_plans *p,
                             const struct matmul *q);

/* Is it faster to make the product without its end, and then that? */
static bool better_in_two(struct dev *dev, struct matmul_plans *p,
                          const struct plan *plan, const struct matmul *q)
{
    const struct matmul less = without_end(q);
    const struct plan *other = plan_for(dev, p, &less);

    if (p->bandwidth <= 0.0)
        p->bandwidth = measure_bandwidth(dev);
    return other && other->ms > 0.0f && plan->ms > 0.0f &&
           p->bandwidth > 0.0 &&
           (double)other->ms + bytes_of_end(q) / p->bandwidth <
               (double)plan->ms;
}

/* As the file says; its line of zeros says: in two. */
static bool settle_by_file(const struct matmul_plans *p, struct plan *plan)
{
    static const struct lt_algo none = {};
    struct lt_result now;

    if (!plan_file_find(&p->file, &plan->key, &plan->with.algo))
        return false;
    plan->in_two = memcmp(&plan->with.algo, &none, sizeof none) == 0;
    return plan->in_two ||
           (p->lt.check(p->handle, plan->desc, plan->a, plan->b, plan->d,
                        plan->d, &plan->with.algo, &now) == 0 &&
            now.workspace <= WORKSPACE);
}

/* Settle how this product is done: as the file says, or by trying. */
static void settle(struct dev *dev, struct matmul_plans *p, struct plan *plan,
                   const struct matmul *q)
{
    struct lt_result offer[OFFERS];
    int n = 0;

    if (describe_plan(p, plan, q)) {
        plan->usable = !dev->deterministic && settle_by_file(p, plan);
        if (plan->usable)
            return;
        n = ask(p, plan, &plan->key, dev->deterministic, offer);
    }
    plan->in_two = n == 0 && can_be_two(q);
    plan->usable = n > 0 || plan->in_two;
    if (!plan->usable)
        log_warn("cuBLASLt has nothing for a product of %lld x %lld x %lld: "
                 "our own kernel is slow",
                 (long long)q->m, (long long)q->n, (long long)q->k);
    if (n == 0)
        return;
    plan->with = offer[0];
    if (dev->deterministic)
        return;
    choose(dev, p, plan, q, offer, n);
    if (can_be_two(q) && better_in_two(dev, p, plan, q)) {
        plan->in_two = true;
        memset(&plan->with.algo, 0, sizeof plan->with.algo);
    }
    if (plan->ms > 0.0f)                /* else there was no room to try */
        plan_file_add(&p->file, &plan->key, &plan->with.algo);
}

static struct plan *plan_for(struct dev *dev, struct matmul_plans *p,
                             const struct matmul *q)
{
    const struct plan_key key = key_of(dev, q);
    struct plan *plan;

    for (int i = 0; i < p->n; i++)
        if (memcmp(&p->plan[i]->key, &key, sizeof key) == 0)
            return p->plan[i];
    if (p->n == MOST_PLANS)
        return nullptr;
    plan = (struct plan *)calloc(1, sizeof *plan);
    if (!plan)
        abort();
    plan->key = key;
    p->plan[p->n++] = plan;             /* settling may add another */
    settle(dev, p, plan, q);
    return plan;
}

/* ---- our own ----------------------------------------------------------- */

enum { SIDE = 64, DEPTH = 16, THREADS = 256 };

/* A block makes a SIDE x SIDE tile, a thread 4 x 4 of it. */
template <class T, class D>
static __global__ void __launch_bounds__(THREADS)
plain(D *d, const D *c, const D *bias, const T *a, const T *b, int64_t m,
      int64_t n,
      int64_t k, int64_t lda, int64_t ldb, int64_t ldd, bool ta, bool tb,
      float alpha, float beta)
{
    SHARED(float, as, DEPTH * SIDE);
    SHARED(float, bs, DEPTH * SIDE);
    const int64_t row0 = (int64_t)blockIdx.x * SIDE;
    const int64_t col0 = (int64_t)blockIdx.y * SIDE;
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    float sum[4][4] = {};

    for (int64_t k0 = 0; k0 < k; k0 += DEPTH) {
        for (int i = threadIdx.x; i < DEPTH * SIDE; i += THREADS) {
            /* neighbours read neighbours, whichever way it is stored */
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
                    sum[i][j] += as[l * SIDE + ty + 16 * i] *
                                 bs[l * SIDE + tx + 16 * j];
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

/* A bias of the columns is added before the one rounding. */
static void multiply(struct dev *dev, const struct matmul *q)
{
    const dim3 grid(blocks(q->m, SIDE), blocks(q->n, SIDE));
    const void *bias = q->end == MATMUL_BIAS ? q->bias : nullptr;

    WITH_TYPE(T, q->type,
              WITH_TYPE(D, q->out,
                        LAUNCH((plain<T, D>), grid, THREADS, 0, STREAM(dev),
                               (D *)q->d, (const D *)(q->c ? q->c : q->d),
                               (const D *)bias,
                               (const T *)q->a, (const T *)q->b, q->m, q->n,
                               q->k, q->lda, q->ldb, q->ldd, q->ta, q->tb,
                               q->alpha, q->beta)))
}

/* By the plan; if the library does not take it, by the first of its offers
 * that it takes now. */
static bool by_library(struct dev *dev, struct matmul_plans *p,
                       struct plan *plan, const struct matmul *q,
                       const char *op)
{
    const void *c = q->c ? q->c : q->d;
    struct lt_result offer[OFFERS];
    int n;

    set_pointers(p, plan->desc, q);
    if (run(p, plan, q, &plan->with, q->d, c, cuda_of(dev)->stream) == 0)
        return true;
    n = ask(p, plan, &plan->key, dev->deterministic, offer);
    for (int i = 0; i < n; i++) {
        if (run(p, plan, q, &offer[i], q->d, c, cuda_of(dev)->stream) != 0)
            continue;
        log_warn("cuBLASLt no longer takes its plan for %s: another does it",
                 op);
        plan->with = offer[i];
        return true;
    }
    return false;
}

bool matmul(struct dev *dev, const struct matmul *q, const char *op)
{
    struct matmul_plans *p = open_plans(dev);
    const struct matmul less = can_be_two(q) ? without_end(q) : *q;
    struct plan *plan = nullptr;

    if (q->m == 0 || q->n == 0)
        return true;
    if (p->handle && p->workspace)
        plan = plan_for(dev, p, q);
    if (plan && plan->in_two) {
        matmul(dev, &less, op);
        return false;
    }
    if (plan && plan->usable) {
        plan->usable = by_library(dev, p, plan, q, op);
        launched(dev, op);
        if (plan->usable)
            return true;
        log_warn("cuBLASLt refuses %s, %lld x %lld x %lld: now it is slow", op,
                 (long long)q->m, (long long)q->n, (long long)q->k);
    }
    multiply(dev, &less);
    launched(dev, op);
    return !can_be_two(q);
}
