/*
 * gemm_trial - which of cuBLASLt's algorithms are right, and which is fastest
 *
 * Before an algorithm is timed, elements of its result are compared with sums
 * in double: one that stores nothing, or the wrong tile, would be the fastest
 * of all.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/gemm_cublaslt.cuh"

#include "common/log.h"
#include "common/mem.h"
#include "common/rng.h"

enum {
    ROUNDS = 3,  /* of timing; the shortest counts */
    DRAWN = 256, /* elements that are compared, and of the last row or column */
    EDGE = 64,
    THREADS = 128,
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

/* An element of a product, as it should be before the epilogue, in double, and
 * as an algorithm computed it; of the sums of GEMM_BIAS_GRAD, column 0. */
struct element {
    int64_t row, col;
    double sum;
    double d, aux, bias; /* those of its place, where there are such */
};

/* The sums of op(a) op(b), or of the rows of op(a) if b is null. */
template <class A, class B>
static __global__ void __launch_bounds__(THREADS)
    sum_elements(struct element *e, const A *a, const B *b, int64_t k,
                 int64_t lda, int64_t ldb, bool ta, bool tb, double alpha,
                 const float *scale_a, const float *scale_b)
{
    begin_kernel();

    SHARED(double, part, THREADS);
    struct element *mine = e + blockIdx.x;
    const int64_t r = mine->row, c = mine->col;
    double sum = 0.0;

    for (int64_t i = threadIdx.x; i < k; i += THREADS)
        sum += (double)to_float(a[ta ? i * lda + r : r * lda + i]) *
               (b ? (double)to_float(b[tb ? c * ldb + i : i * ldb + c]) : 1.0);
    part[threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.x > 0)
        return;
    for (int i = 1; i < THREADS; i++)
        sum += part[i];
    if (scale_a)
        alpha *= (double)*scale_a * (double)*scale_b;
    mine->sum = alpha * sum;
}

template <class D>
static __global__ void read_elements(struct element *e, int64_t n, const D *d,
                                     const D *aux, const D *bias, int64_t ldd)
{
    begin_kernel();

    const int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;

    if (i >= n)
        return;
    e[i].d = (double)to_float(d[e[i].row * ldd + e[i].col]);
    if (aux)
        e[i].aux = (double)to_float(aux[e[i].row * ldd + e[i].col]);
    if (bias)
        e[i].bias = (double)to_float(bias[e[i].col]);
}

/* The elements that are compared, on the device and on the host: some are drawn
 * from the whole product, some from its last row and column, where tiles may be
 * cut, and the sums of GEMM_BIAS_GRAD are compared whole. */
struct sample {
    struct element *at, *host;
    int64_t n, sums;
};

static void draw_elements(struct sample *s, const struct gemm *q)
{
    for (int64_t i = 0; i < s->n; i++) {
        const uint64_t at = (uint64_t)i;

        s->host[i].row = rng_word(1, (uint64_t)q->k, at) % (uint64_t)q->m;
        s->host[i].col = rng_word(2, (uint64_t)q->k, at) % (uint64_t)q->n;
        if (i >= DRAWN && i % 2)
            s->host[i].row = q->m - 1;
        else if (i >= DRAWN)
            s->host[i].col = q->n - 1;
    }
    for (int64_t i = 0; i < s->sums; i++)
        s->host[s->n + i].row = i;
}

static bool copy(struct dev *dev, void *to, const void *from, size_t n,
                 cudaMemcpyKind kind)
{
    return cudaMemcpyAsync(to, from, n, kind, STREAM(dev)) == cudaSuccess &&
           cudaStreamSynchronize(STREAM(dev)) == cudaSuccess;
}

/* Read what is in memory at the elements. */
static bool read_sample(struct dev *dev, struct sample *s, const struct gemm *q)
{
    WITH_TYPE(D, q->out,
              LAUNCH(read_elements<D>, blocks(s->n, THREADS), THREADS, 0,
                     QUEUE(dev), s->at, s->n, (const D *)q->d,
                     (const D *)q->aux, s->sums ? nullptr : (const D *)q->bias,
                     q->ldd);
              if (s->sums)
                  LAUNCH(read_elements<D>, blocks(s->sums, THREADS), THREADS, 0,
                         QUEUE(dev), s->at + s->n, s->sums, (const D *)q->bias,
                         (const D *)nullptr, (const D *)nullptr, (int64_t)1))
    launched(dev, "trial of a product");
    return copy(dev, s->host, s->at, (size_t)(s->n + s->sums) * sizeof *s->host,
                cudaMemcpyDeviceToHost);
}

/* Draw the elements, and compute them. */
static bool sum_sample(struct dev *dev, struct sample *s, const struct gemm *q)
{
    draw_elements(s, q);
    if (!copy(dev, s->at, s->host, (size_t)(s->n + s->sums) * sizeof *s->host,
              cudaMemcpyHostToDevice))
        return false;
    WITH_OPERANDS(
        A, B, q->type,
        LAUNCH((sum_elements<A, B>), (unsigned)s->n, THREADS, 0, QUEUE(dev),
               s->at, (const A *)q->a, (const B *)q->b, q->k, q->lda, q->ldb,
               q->ta, q->tb, (double)q->alpha, q->scale_a, q->scale_b);
        if (s->sums)
            LAUNCH((sum_elements<A, B>), (unsigned)s->sums, THREADS, 0,
                   QUEUE(dev), s->at + s->n, (const A *)q->a,
                   (const B *)nullptr, q->k, q->lda, (int64_t)0, q->ta, false,
                   1.0, (const float *)nullptr, (const float *)nullptr))
    launched(dev, "trial of a product");
    return read_sample(dev, s, q);
}

static double gelu(double x, double *slope)
{
    const double c = 0.7978845608028654, u = c * (x + 0.044715 * x * x * x);
    const double t = tanh(u);

    *slope =
        0.5 * (1 + t) + 0.5 * x * (1 - t * t) * c * (1 + 3 * 0.044715 * x * x);
    return 0.5 * x * (1 + t);
}

/* What the element should be; *aux is what should be beside it. */
static double wanted(const struct gemm *q, const struct element *e, double *aux)
{
    double slope;

    *aux = e->aux;
    if (q->epilogue == GEMM_GELU_GRAD) {
        gelu(e->aux, &slope);
        return e->sum * slope;
    }
    if (q->epilogue != GEMM_GELU)
        return e->sum + (q->epilogue == GEMM_BIAS ? e->bias : 0);
    *aux = e->sum + (q->bias ? e->bias : 0);
    return gelu(*aux, &slope);
}

/* Whether numbers agree but for rounding; `is` of want and is, alternating. */
static bool numbers_agree(const double *pair, int64_t n)
{
    double squares = 0.0, rms;

    for (int64_t i = 0; i < n; i++)
        squares += isfinite(pair[2 * i]) ? pair[2 * i] * pair[2 * i] : 0.0;
    rms = sqrt(squares / (double)n);
    for (int64_t i = 0; i < n; i++)
        if (isfinite(pair[2 * i]) && !(fabs(pair[2 * i + 1] - pair[2 * i]) <=
                                       TOLERANCE * (fabs(pair[2 * i]) + rms)))
            return false;
    return true;
}

static bool sample_agrees(const struct sample *s, const struct gemm *q)
{
    double *d = (double *)xmalloc(sizeof *d * 2 * (size_t)(s->n + s->sums));
    double *aux = (double *)xmalloc(sizeof *aux * 2 * (size_t)s->n);
    bool good;

    for (int64_t i = 0; i < s->n; i++) {
        d[2 * i] = wanted(q, &s->host[i], &aux[2 * i]);
        d[2 * i + 1] = s->host[i].d;
        aux[2 * i + 1] = s->host[i].aux;
    }
    good = numbers_agree(d, s->n) && (!q->aux || numbers_agree(aux, s->n));
    for (int64_t i = 0; i < s->sums; i++) {
        d[2 * i] = s->host[s->n + i].sum;
        d[2 * i + 1] = s->host[s->n + i].d;
    }
    good = good && (!s->sums || numbers_agree(d, s->sums));
    free(d);
    free(aux);
    return good;
}

/* Run an algorithm whose output is set: what it adds to is 0; where it adds to
 * nothing, an element that it does not store is NaN. */
static bool run_alone(struct dev *dev, const struct gemm_state *p,
                      const struct gemm_problem *problem, const struct gemm *q,
                      const struct cublaslt_result *with,
                      const struct sample *s)
{
    const size_t size = dtype_size(q->out), all = (size_t)(q->m * q->ldd);

    return cudaMemsetAsync(q->d, q->beta == 0.0f ? 0xff : 0, all * size,
                           STREAM(dev)) == cudaSuccess &&
           (q->epilogue != GEMM_GELU || !q->aux ||
            cudaMemsetAsync(q->aux, 0xff, all * size, STREAM(dev)) ==
                cudaSuccess) &&
           (!s->sums || cudaMemsetAsync(q->bias, 0xff, (size_t)q->m * size,
                                        STREAM(dev)) == cudaSuccess) &&
           gemm_run_algorithm(dev, p, problem, q, with);
}

/* How many elements are compared. */
static int64_t sample_size(const struct gemm *q)
{
    return DRAWN + EDGE + (q->epilogue == GEMM_BIAS_GRAD ? q->m : 0);
}

/* Remove the offers that fail or compute other numbers; how many are left. */
static int remove_wrong(struct dev *dev, const struct gemm_state *p,
                        const struct gemm_problem *problem,
                        const struct gemm *q, void *space,
                        struct cublaslt_result *offer, int n)
{
    const int64_t all = sample_size(q);
    struct sample s = { (struct element *)space,
                        (struct element *)xcalloc((size_t)all, sizeof *s.host),
                        DRAWN + EDGE, all - DRAWN - EDGE };
    int good = 0, wrong = 0;

    if (sum_sample(dev, &s, q)) {
        for (int i = 0; i < n; i++) {
            if (!run_alone(dev, p, problem, q, &offer[i], &s))
                continue;
            if (read_sample(dev, &s, q) && sample_agrees(&s, q))
                offer[good++] = offer[i];
            else
                wrong++;
        }
    } else {
        good = n; /* the device has failed, and will say so */
    }
    if (wrong > 0)
        log_warn("%d of %d algorithms of cuBLASLt compute a product of %lld x "
                 "%lld x %lld wrongly; they are not used",
                 wrong, n, (long long)q->m, (long long)q->n, (long long)q->k);
    free(s.host);
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
    const size_t sample = (size_t)sample_size(q) * sizeof(struct element);
    const size_t outputs = d_size + (q->aux ? d_size : 0) + line;
    struct gemm trial = *q;
    char *space = n > 0 ? alloc_outputs(outputs + sample) : nullptr;

    if (n > 0)
        problem->with = offer[0];
    if (n > 0 && !space)
        log_warn("no memory to try cuBLASLt's algorithms for a product of "
                 "%lld x %lld x %lld; using the first one, which may be slow",
                 (long long)q->m, (long long)q->n, (long long)q->k);
    if (!space)
        return n;
    cudaStreamSynchronize((cudaStream_t)cuda_of(dev)->main.stream);
    cudaStreamSynchronize((cudaStream_t)cuda_of(dev)->weights.queue.stream);
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
