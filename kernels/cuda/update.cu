/*
 * update - one step of each optimiser over a range of parameters
 *
 * One launch for each range, four parameters for each thread.  The norm for
 * clipping is read on the device, so that no step waits for it.
 */
#include "config.h"
#include "kernels/cuda/gemm.h"
#include "kernels/cuda/reduce.cuh"

enum { THREADS = 256, W = 4 };

/* struct update for the device: the tensors of its pointers are on the host. */
struct update_args : update {
    const double *sumsq_at, *loss_at;
    float fix1, fix2;
};

static struct update_args update_args_of(const struct update *u)
{
    const double b1 = u->beta1, b2 = u->beta2;
    struct update_args a = {};

    static_cast<update &>(a) = *u;
    a.sumsq_at = data_of<const double>(u->sumsq);
    a.loss_at = data_of<const double>(u->loss);
    a.fix1 = (float)(1.0 / (1.0 - pow(b1, (double)u->step)));
    a.fix2 = (float)(1.0 / (1.0 - pow(b2, (double)u->step)));
    return a;
}

/* The factor of the gradient; false if the weights must stay as they are. */
static __device__ __forceinline__ bool gradient_factor(const update_args &u,
                                                       float *f)
{
    double sum, norm;

    *f = u.g_scale;
    if (u.loss_at && !isfinite(*u.loss_at))
        return false;
    if (!u.sumsq_at)
        return true;
    sum = *u.sumsq_at;
    norm = (double)u.g_scale * sqrt(sum);
    if (!isfinite(sum))
        return false;
    if (u.clip > 0.0f && norm > (double)u.clip)
        *f = (float)((double)u.g_scale * ((double)u.clip / norm));
    return true;
}

/* One parameter: new weight from old, state in place. */
template <enum update_rule RULE>
static __device__ __forceinline__ float step(float w, float *m, float *v,
                                             float g, const update_args &u)
{
    const float kept = u.l2 ? w : w - u.lr * u.decay * w;
    float c;

    if (u.l2)
        g += u.decay * w;
    if constexpr (RULE == UPDATE_ADAMW) {
        *m = u.beta1 * *m + (1.0f - u.beta1) * g;
        *v = u.beta2 * *v + (1.0f - u.beta2) * g * g;
        return kept - u.lr * (*m * u.fix1) / (sqrtf(*v * u.fix2) + u.eps);
    } else if constexpr (RULE == UPDATE_LION) {
        c = u.beta1 * *m + (1.0f - u.beta1) * g;
        *m = u.beta2 * *m + (1.0f - u.beta2) * g;
        return kept - u.lr * (c > 0.0f ? 1.0f : c < 0.0f ? -1.0f : c);
    } else {
        *m = u.beta1 * *m + g;
        return kept - u.lr * (u.nesterov ? g + u.beta1 * *m : *m);
    }
}

template <enum update_rule RULE, class T>
static __global__ void __launch_bounds__(THREADS)
    update_weights(float *w, float *m, float *v, T *copy, const float *g,
                   update_args u, int64_t n)
{
    begin_kernel();

    SHARED(float, share, 2); /* the factor, and whether there is a step */
    const int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * W;
    float f = 0.0f, wn[W], mn[W], vn[W] = {}, gn[W];

    if (threadIdx.x == 0) { /* many GPUs are slow in double */
        share[1] = gradient_factor(u, &f) ? 1.0f : 0.0f;
        share[0] = f;
    }
    __syncthreads();
    f = share[0];
    if (i >= n || share[1] == 0.0f)
        return;
    if (i + W > n) { /* the last few */
        for (int64_t j = i; j < n; j++) {
            float none = 0.0f;

            w[j] = step<RULE>(w[j], m + j, RULE == UPDATE_ADAMW ? v + j : &none,
                              g[j] * f, u);
            if (copy)
                copy[j] = from_float<T>(w[j]);
        }
        return;
    }
    load(wn, w + i);
    load(mn, m + i);
    load(gn, g + i);
    if constexpr (RULE == UPDATE_ADAMW)
        load(vn, v + i);
#pragma unroll
    for (int k = 0; k < W; k++)
        wn[k] = step<RULE>(wn[k], &mn[k], &vn[k], gn[k] * f, u);
    store(w + i, wn);
    store(m + i, mn);
    if constexpr (RULE == UPDATE_ADAMW)
        store(v + i, vn);
    if (copy)
        store(copy + i, wn);
}

template <enum update_rule RULE>
static void run_update(struct dev *dev, struct tensor *w, struct tensor *m,
                       struct tensor *v, struct tensor *copy,
                       const struct tensor *g, const struct update *u)
{
    const int64_t n = tensor_count(w);

    WITH_TYPE(T, copy ? copy->type : DT_F32,
              LAUNCH((update_weights<RULE, T>), blocks(n, THREADS * W), THREADS,
                     0, QUEUE(dev), data_of<float>(w), data_of<float>(m),
                     data_of<float>(v), data_of<T>(copy),
                     data_of<const float>(g), update_args_of(u), n))
    launched(dev, "update");
}

extern "C" void cuda_update(struct dev *dev, struct tensor *w, struct tensor *m,
                            struct tensor *v, struct tensor *copy,
                            const struct tensor *g, const struct update *u)
{
    if (u->rule == UPDATE_ADAMW)
        run_update<UPDATE_ADAMW>(dev, w, m, v, copy, g, u);
    else if (u->rule == UPDATE_LION)
        run_update<UPDATE_LION>(dev, w, m, v, copy, g, u);
    else
        run_update<UPDATE_SGD>(dev, w, m, v, copy, g, u);
}

/* ---- Muon -------------------------------------------------------------- */

/* m = b1 m + g; x = m, or g + b1 m with nesterov.  If the gradient is not
 * finite, m stays and x is 0, so that the weight stays. */
static __global__ void __launch_bounds__(THREADS)
    add_momentum(float *x, float *m, const float *g, const float *w,
                 update_args u, int64_t n)
{
    begin_kernel();

    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    float f, d, mn;

    if (i >= n)
        return;
    x[i] = 0.0f;
    if (!gradient_factor(u, &f))
        return;
    d = g[i] * f + (u.l2 ? u.decay * w[i] : 0.0f);
    mn = m[i] = u.beta1 * m[i] + d;
    x[i] = u.nesterov ? d + u.beta1 * mn : mn;
}

/* x /= margin |x| + 1e-7 */
static __global__ void __launch_bounds__(THREADS)
    normalise(float *x, const double *square, double margin, int64_t n)
{
    begin_kernel();

    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;

    if (i < n)
        x[i] = (float)((double)x[i] / (margin * sqrt(*square) + 1e-7));
}

/* The sum of squares of each row of x; a block for each. */
static __global__ void __launch_bounds__(THREADS)
    square_rows(double *rows, const float *x, int64_t C)
{
    begin_kernel();

    const int64_t at = (int64_t)blockIdx.x * C;
    double sum = 0.0;

    for (int64_t c = threadIdx.x; c < C; c += THREADS)
        sum += (double)x[at + c] * (double)x[at + c];
    sum = block_sum<THREADS>(sum);
    if (threadIdx.x == 0)
        rows[blockIdx.x] = sum;
}

/* Update v by these sums, and replace them by the factors of the rows, which
 * leave the norm of x as it is; one block. */
static __global__ void __launch_bounds__(THREADS)
    measure_rows(double *rows, float *v, update_args u, int64_t R, int64_t C)
{
    begin_kernel();

    double before = 0.0, after = 0.0;
    float f;

    if (!gradient_factor(u, &f))
        return;
    for (int64_t r = threadIdx.x; r < R; r += THREADS) {
        const double sum = rows[r];
        const double v1 = (double)u.beta2 * (double)v[r] +
                          (1.0 - (double)u.beta2) * sum / (double)C;
        const double by = 1.0 / (sqrt(v1) + (double)u.eps);

        v[r] = (float)v1;
        rows[r] = by;
        before += sum;
        after += sum * by * by;
    }
    before = block_sum<THREADS>(before);
    after = block_sum<THREADS>(after);
    for (int64_t r = threadIdx.x; after > 0.0 && r < R; r += THREADS)
        rows[r] *= sqrt(before / after);
}

/* rows, unless it is null, has a factor for each C elements of x. */
template <class T>
static __global__ void __launch_bounds__(THREADS)
    apply_step(float *w, T *copy, const float *x, const double *rows, int64_t C,
               update_args u, int64_t n)
{
    begin_kernel();

    const int64_t i = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    float f, v, step;

    if (i >= n || !gradient_factor(u, &f))
        return;
    step = rows ? x[i] * (float)rows[i / C] : x[i];
    v = w[i];
    if (!u.l2 && !(u.cautious && v * step < 0.0f))
        v -= u.lr * u.decay * v;
    v -= u.lr * u.scale * step;
    w[i] = v;
    if (copy)
        copy[i] = from_float<T>(v);
}

/*
 * The iterations of ops.h; for a tall x the same from the right, with a = x' x.
 * Returns x or next, whichever has the result.
 */
static const float *orthogonalise(struct dev *dev,
                                  const struct muon_coefficients *how, float *x,
                                  float *next, float *a, float *b, int64_t R,
                                  int64_t C)
{
    const bool tall = R > C;
    const int64_t s = tall ? C : R;
    const struct tensor as = tensor_matrix(a, DT_F32, s, s);
    const struct tensor bs = tensor_matrix(b, DT_F32, s, s);
    struct tensor from = tensor_matrix(x, DT_F32, R, C);
    struct tensor to = tensor_matrix(next, DT_F32, R, C);

    for (const struct muon_round &round : how->round) {
        struct gemm p = gemm_of(&as, &from, &from, tall ? GEMM_A : GEMM_B);
        const struct tensor swap = from;

        gemm(dev, &p, "muon");
        p = gemm_of(&bs, &as, &as, GEMM_NEITHER);
        p.c = a;
        p.alpha = round.c;
        p.beta = round.b;
        gemm(dev, &p, "muon");
        p = gemm_of(&to, tall ? &from : &bs, tall ? &bs : &from, GEMM_NEITHER);
        p.c = from.data;
        p.beta = round.a;
        gemm(dev, &p, "muon");
        from = to;
        to = swap;
    }
    return (const float *)from.data;
}

extern "C" void cuda_muon(struct dev *dev, struct tensor *w, struct tensor *m,
                          struct tensor *v, struct tensor *copy,
                          struct tensor *work, const struct tensor *g,
                          const struct update *u)
{
    const int64_t R = w->dim[0], C = w->dim[1], n = R * C;
    const int64_t s = R < C ? R : C;
    const struct update_args args = update_args_of(u);
    float *x = (float *)work->data, *next = x + n, *a = next + n;
    struct tensor xs = tensor_vector(x, DT_F32, n);
    const size_t chunks = blocks(n, SUMSQ_CHUNK);
    double *sum = (double *)cuda_scratch(
        dev, (chunks + 1 + (v ? (size_t)R : 0)) * sizeof(double), "muon");
    double *rows = v && sum ? sum + 1 + chunks : nullptr;
    const float *done;

    if (!sum)
        return;
    LAUNCH(add_momentum, blocks(n, THREADS), THREADS, 0, QUEUE(dev), x,
           data_of<float>(m), data_of<const float>(g), data_of<const float>(w),
           args, n);
    sum_squares(dev, sum, sum + 1, &xs, true);
    LAUNCH(normalise, blocks(n, THREADS), THREADS, 0, QUEUE(dev), x,
           (const double *)sum, (double)muon_coefficients[u->muon].margin, n);
    done = orthogonalise(dev, &muon_coefficients[u->muon], x, next, a,
                         a + s * s, R, C);
    if (v) {
        LAUNCH(square_rows, (unsigned)R, THREADS, 0, QUEUE(dev), rows, done, C);
        LAUNCH(measure_rows, 1, THREADS, 0, QUEUE(dev), rows, data_of<float>(v),
               args, R, C);
    }
    WITH_TYPE(T, copy ? copy->type : DT_F32,
              LAUNCH(apply_step<T>, blocks(n, THREADS), THREADS, 0, QUEUE(dev),
                     data_of<float>(w), data_of<T>(copy), done,
                     (const double *)rows, C, args, n))
    launched(dev, "muon");
}
