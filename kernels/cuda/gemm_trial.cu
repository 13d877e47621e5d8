/*
 * gemm_trial - which of cuBLASLt's algorithms are right, and which is fastest
 *
 * An algorithm is compared on the last rows of its result with the plain kernel
 * before it is timed: one that stores nothing, or the wrong tile, would be the
 * fastest of all.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/gemm_cublaslt.cuh"

#include "common/log.h"
#include "common/mem.h"
#include "kernels/ref.h"

enum {
    ROUNDS = 3, /* of timing; the shortest counts */
    ROWS = 16,  /* that are compared */
    CACHES = 5, /* times the second cache: a copy that measures memory */
};

/* Numbers differ by rounding alone if by less than this part of themselves and
 * of the root of their mean square. */
#define TOLERANCE (1.0 / 16)

/* ---- time -------------------------------------------------------------- */

/* What is timed: an algorithm for a product, or, if `with` is null, copying the
 * first half of the product's output to the second. */
struct timed_gemm {
    struct gemm product;
    const struct gemm_state *p;
    const struct gemm_problem *problem;
    const struct cublaslt_result *with;
    size_t half;
};

static bool start_timed(struct dev *dev, const struct timed_gemm *t)
{
    char *d = (char *)t->product.d;

    if (t->with)
        return gemm_run_algorithm(dev, t->p, t->problem, &t->product, t->with);
    return cudaMemcpyAsync(d + t->half, d, t->half, cudaMemcpyDeviceToDevice,
                           STREAM(dev)) == cudaSuccess;
}

/* Milliseconds of the shortest round, or -1. */
static float time_gemm(struct dev *dev, const struct timed_gemm *t)
{
    float best = -1.0f, ms = 0.0f;
    cudaEvent_t from, to;
    bool good = true;

    cudaEventCreate(&from);
    cudaEventCreate(&to);
    for (int i = 0; i < ROUNDS + 1 && good; i++) { /* the first is a warm-up */
        cudaEventRecord(from, STREAM(dev));
        good = start_timed(dev, t) &&
               cudaEventRecord(to, STREAM(dev)) == cudaSuccess &&
               cudaEventSynchronize(to) == cudaSuccess &&
               cudaEventElapsedTime(&ms, from, to) == cudaSuccess;
        if (i > 0 && (best < 0.0f || ms < best))
            best = ms;
    }
    cudaEventDestroy(from);
    cudaEventDestroy(to);
    return good ? best : -1.0f;
}

/* Memory for the outputs of a trial; null: there is none. */
static char *alloc_outputs(size_t n)
{
    char *space = nullptr;

    if (cudaMalloc((void **)&space, n) != cudaSuccess)
        cudaGetLastError();
    return space;
}

double gemm_measure_bandwidth(struct dev *dev)
{
    struct timed_gemm t = {};
    float ms;

    t.half = CACHES * cuda_of(dev)->cache;
    t.product.d = alloc_outputs(2 * t.half);
    if (!t.product.d)
        return 0.0;
    ms = time_gemm(dev, &t);
    cudaFree(t.product.d);
    return ms > 0.0f ? 2.0 * (double)t.half / (double)ms : 0.0;
}

/* ---- comparison -------------------------------------------------------- */

/* The last rows of a product, as the plain kernel computes them, and as an
 * algorithm did. */
struct last_rows {
    struct tensor want, is; /* in host memory */
    size_t offset, size;    /* of the rows in d, in bytes */
};

static struct tensor rows_of(const struct gemm *q, int64_t rows, void *data)
{
    struct tensor t = {};

    t.data = data;
    t.type = q->out;
    t.rank = 2;
    t.dim[0] = rows;
    t.dim[1] = q->n;
    t.overwrite = true;
    return t;
}

static bool copy_to_host(struct dev *dev, void *to, const void *from, size_t n)
{
    return cudaMemcpyAsync(to, from, n, cudaMemcpyDeviceToHost, STREAM(dev)) ==
               cudaSuccess &&
           cudaStreamSynchronize(STREAM(dev)) == cudaSuccess;
}

/* What the rows should be, computed at `space` on the device. */
static bool compute_rows(struct dev *dev, const struct gemm *q, void *space,
                         int64_t rows, struct last_rows *r)
{
    const size_t from = (size_t)(q->m - rows);
    struct gemm part = gemm_without_epilogue(q);
    struct tensor y = rows_of(q, rows, space);
    struct tensor pre = rows_of(q, rows, (char *)q->aux + r->offset);

    if (!gemm_can_separate(q))
        part = *q;
    part.a = (const char *)q->a +
             from * (size_t)(q->ta ? 1 : q->lda) * dtype_size(q->type);
    part.m = rows;
    part.c = nullptr;
    part.d = space;
    part.beta = 0.0f;
    gemm_multiply_plain(dev, &part);
    if (q->epilogue == GEMM_GELU)
        cuda_act_fwd(dev, &y, &y, ACT_GELU_TANH);
    if (q->epilogue == GEMM_GELU_GRAD)
        cuda_act_bwd(dev, &y, &pre, &y, ACT_GELU_TANH);
    launched(dev, "trial of a product");
    return copy_to_host(dev, r->want.data, space, r->size);
}

static bool rows_agree(const struct last_rows *r)
{
    const int64_t n = tensor_count(&r->want);
    double squares = 0.0, rms;

    for (int64_t i = 0; i < n; i++) {
        const double x = ref_get(&r->want, i);

        squares += isfinite(x) ? x * x : 0.0;
    }
    rms = sqrt(squares / (double)n);
    for (int64_t i = 0; i < n; i++) {
        const double want = ref_get(&r->want, i);

        if (isfinite(want) && !(fabs(ref_get(&r->is, i) - want) <=
                                TOLERANCE * (fabs(want) + rms)))
            return false;
    }
    return true;
}

/* Whether an algorithm computes these rows.  What it adds to is 0; where it
 * adds to nothing, an element that it does not store is NaN. */
static bool is_right(struct dev *dev, const struct gemm_state *p,
                     const struct gemm_problem *problem, const struct gemm *q,
                     const struct cublaslt_result *with, struct last_rows *r)
{
    char *rows = (char *)q->d + r->offset;

    return cudaMemsetAsync(rows, q->beta == 0.0f ? 0xff : 0, r->size,
                           STREAM(dev)) == cudaSuccess &&
           gemm_run_algorithm(dev, p, problem, q, with) &&
           copy_to_host(dev, r->is.data, rows, r->size) && rows_agree(r);
}

/* Remove the offers that compute other rows; how many are left. */
static int remove_wrong(struct dev *dev, const struct gemm_state *p,
                        const struct gemm_problem *problem,
                        const struct gemm *q, void *space,
                        struct cublaslt_result *offer, int n)
{
    const int64_t rows = q->m < ROWS ? q->m : (int64_t)ROWS;
    const size_t row = (size_t)q->n * dtype_size(q->out);
    struct last_rows r = {};
    int good = 0;

    if (q->ldd != q->n) /* rows are not together */
        return n;
    r.offset = (size_t)(q->m - rows) * row;
    r.size = (size_t)rows * row;
    r.want = rows_of(q, rows, xmalloc(r.size));
    r.is = rows_of(q, rows, xmalloc(r.size));
    if (compute_rows(dev, q, space, rows, &r)) {
        for (int i = 0; i < n; i++)
            if (is_right(dev, p, problem, q, &offer[i], &r))
                offer[good++] = offer[i];
    } else {
        good = n; /* the device has failed, and will say so */
    }
    if (good < n)
        log_warn("%d of %d algorithms of cuBLASLt compute a product of %lld x "
                 "%lld x %lld wrongly; they are not used",
                 n - good, n, (long long)q->m, (long long)q->n,
                 (long long)q->k);
    free(r.want.data);
    free(r.is.data);
    return good;
}

/* ---- the choice -------------------------------------------------------- */

static void choose_by_time(struct dev *dev, const struct gemm_state *p,
                           struct gemm_problem *problem, const struct gemm *q,
                           const struct cublaslt_result *offer, int n)
{
    struct timed_gemm t = { *q, p, problem, nullptr, 0 };

    for (int i = 0; i < n; i++) {
        float ms;

        t.with = &offer[i];
        ms = time_gemm(dev, &t);
        if (ms >= 0.0f && (problem->ms <= 0.0f || ms < problem->ms)) {
            problem->ms = ms;
            problem->with = offer[i];
        }
    }
}

int gemm_try_offers(struct dev *dev, const struct gemm_state *p,
                    struct gemm_problem *problem, const struct gemm *q,
                    struct cublaslt_result *offer, int n)
{
    const size_t d_size =
        ((size_t)(q->m * q->ldd) * dtype_size(q->out) + 255) & ~(size_t)255;
    const size_t line =
        ((size_t)(q->m > q->n ? q->m : q->n) * 4 + 255) & ~(size_t)255;
    const size_t rows = (size_t)(ROWS * q->n) * dtype_size(q->out);
    const size_t outputs = d_size + (q->aux ? d_size : 0) + line;
    struct gemm trial = *q;
    char *space = n > 0 ? alloc_outputs(outputs + rows) : nullptr;

    if (n > 0)
        problem->with = offer[0];
    if (n > 0 && !space)
        log_warn("no memory to try cuBLASLt's algorithms for a product of "
                 "%lld x %lld x %lld; using the first one, which may be slow",
                 (long long)q->m, (long long)q->n, (long long)q->k);
    if (!space)
        return n;
    cudaStreamSynchronize((cudaStream_t)cuda_of(dev)->main.stream);
    cudaStreamSynchronize((cudaStream_t)cuda_of(dev)->weights.stream);
    cudaMemsetAsync(space, 0, outputs, STREAM(dev));
    trial.c = nullptr;
    trial.d = space;
    if (q->aux && q->epilogue == GEMM_GELU)
        trial.aux = space + d_size;
    if (q->epilogue == GEMM_BIAS_GRAD)
        trial.bias = space + outputs - line;
    n = remove_wrong(dev, p, problem, &trial, space + outputs, offer, n);
    if (n > 0)
        problem->with = offer[0];
    if (!dev->deterministic)
        choose_by_time(dev, p, problem, &trial, offer, n);
    cudaFree(space);
    return n;
}
