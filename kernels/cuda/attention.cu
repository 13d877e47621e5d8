/*
 * attention - choose among three implementations; decoding; rotary
 * positions
 *
 * Each of them serves cases that no other one can:
 *
 *      cuDNN (sdpa.c)          16-bit types, for which its kernels use the
 *                              instructions of Hopper and Blackwell; published
 *                              rates are 310 and 264 TFLOP/s, forward and
 *                              backward, for heads of 64 on an H100
 *      attention_flash.cuh     16-bit types without cuDNN, with dropout, whose
 *                              random numbers must be those of rng.h, with a
 *                              mask of documents, and for a gradient with the
 *                              same bits each time
 *      attention_plain.cuh     F32, and heads whose width is not a multiple of
 *                              8 or is over 128
 *
 * None of them has been timed on a GPU yet (doc/cuda.md).
 */
#include "config.h"
#include "kernels/cuda/attention_plain.cuh"
#include "kernels/cuda/sdpa.h"

#include "common/log.h"

template <class E>
static flash<E> describe(const struct tensor *qkv, const struct attn *a)
{
    flash<E> f = {};

    static_cast<attn &>(f) = *a;
    f.qkv = (const E *)qkv->data;
    return f;
}

/* Tiles of `rows` positions, heads, sequences. */
static dim3 grid_of(const struct attn *a, int64_t N, int rows, int heads)
{
    return dim3(blocks(a->T, rows), (unsigned)heads, (unsigned)(N / a->T));
}

/* The width of the tiles of attention_flash.cuh for heads of width D; 0: it
 * does not compute them. */
static int padded(enum dtype type, int D)
{
    if (type == DT_F32 || D % 8 || D > 128)
        return 0;
    return D <= 32 ? 32 : D <= 64 ? 64 : 128;
}

#define FLASH(kernel, grid, shared)                                            \
    do {                                                                       \
        OPT_IN(dev, (kernel), shared);                                         \
        LAUNCH((kernel), grid, FLASH_THREADS, shared, QUEUE(dev), f);          \
    } while (0)

static bool is_rare(const struct attn &a)
{
    return a.drop.p > 0.0f || a.begins;
}

template <class E, int DP>
static void launch_flash_backward(struct dev *dev, const flash<E> &f,
                                  dim3 by_keys, dim3 by_queries)
{
    /* fewer queries at a time if dk and dv take half of the registers */
    constexpr int Q = DP > 64 ? 32 : 64;
    const size_t keys =
        (2 * FLASH_ROWS + 4 * Q) * (DP + 8) * sizeof(E) + 4 * Q * sizeof(float);
    const size_t queries = 4 * FLASH_ROWS * (DP + 8) * sizeof(E);

    WITH_BOOL(RARE, is_rare(f),
              FLASH((flash_bwd_keys<E, DP, Q, RARE>), by_keys, keys);
              FLASH((flash_bwd_queries<E, DP, RARE>), by_queries, queries))
}

/* Do something with E the C type and DP the width of the tiles. */
#define WITH_FLASH(type, width, E, DP, ...)                                    \
    do {                                                                       \
        if ((type) == DT_BF16) {                                               \
            using E = bf16;                                                    \
            WITH_PADDED(width, DP, __VA_ARGS__);                               \
        } else {                                                               \
            using E = f16;                                                     \
            WITH_PADDED(width, DP, __VA_ARGS__);                               \
        }                                                                      \
    } while (0)

#define WITH_PADDED(width, DP, ...)                                            \
    switch (width) {                                                           \
    case 32: {                                                                 \
        constexpr int DP = 32;                                                 \
        __VA_ARGS__;                                                           \
        break;                                                                 \
    }                                                                          \
    case 64: {                                                                 \
        constexpr int DP = 64;                                                 \
        __VA_ARGS__;                                                           \
        break;                                                                 \
    }                                                                          \
    default: {                                                                 \
        constexpr int DP = 128;                                                \
        __VA_ARGS__;                                                           \
    }                                                                          \
    }

template <class E, int DP>
static void flash_forward(struct dev *dev, struct tensor *y, struct tensor *lse,
                          const struct tensor *qkv, const struct attn *a)
{
    const size_t shared = 5 * FLASH_ROWS * (DP + 8) * sizeof(E);
    const dim3 grid = grid_of(a, tensor_rows(y), FLASH_ROWS, a->H);
    flash<E> f = describe<E>(qkv, a);

    f.y = (E *)y->data;
    f.lse = (float *)lse->data;
    WITH_BOOL(RARE, is_rare(f), FLASH((flash_fwd<E, DP, RARE>), grid, shared))
}

/* Launch a kernel of attention_plain.cuh, for 32 rows at a time or, if there is
 * too little shared memory, for 16. */
template <class E>
static void launch_plain(struct dev *dev, const char *op,
                         void (*by_32)(flash<E>), void (*by_16)(flash<E>),
                         int tiles, int squares, int heads,
                         const struct attn *a, const flash<E> &f, int64_t N)
{
    for (int R = 32; R >= 16; R -= 16) {
        const auto kernel = R == 32 ? by_32 : by_16;
        const size_t shared = plain_shared(R, tiles, squares, a->D);

        if (shared > cuda_of(dev)->shared_max)
            continue;
        OPT_IN(dev, kernel, shared);
        LAUNCH(kernel, grid_of(a, N, R, heads), PLAIN_THREADS, shared,
               QUEUE(dev), f);
        return;
    }
    cuda_failed(
        dev, op,
        "this GPU has too little shared memory for heads of this width");
}

template <class E>
static void plain_forward(struct dev *dev, struct tensor *y, struct tensor *lse,
                          const struct tensor *qkv, const struct attn *a)
{
    flash<E> f = describe<E>(qkv, a);

    f.y = (E *)y->data;
    f.lse = (float *)lse->data;
    launch_plain<E>(dev, "attn_fwd", plain_fwd<E, 32>, plain_fwd<E, 16>, 4, 1,
                    a->H, a, f, tensor_rows(y));
}

extern "C" void attention_say_slow(struct dev *dev, const char *why)
{
    if (!cuda_of(dev)->said_slow)
        log_warn("%s; attention uses a slower kernel", why);
    cuda_of(dev)->said_slow = true;
}

extern "C" void cuda_attn_fwd(struct dev *dev, struct tensor *y,
                              struct tensor *lse, const struct tensor *qkv,
                              const struct attn *a)
{
    const int width = padded(qkv->type, a->D);

    if (tensor_count(y) == 0)
        return;
    if (width && sdpa_fwd(dev, y, lse, qkv, a))
        return;
    if (!width && qkv->type != DT_F32)
        attention_say_slow(dev, "heads are wider than 128, or not in eights");
    if (width)
        WITH_FLASH(qkv->type, width, E, DP,
                   flash_forward<E, DP>(dev, y, lse, qkv, a));
    else
        WITH_TYPE(E, qkv->type, plain_forward<E>(dev, y, lse, qkv, a))
    launched(dev, "attn_fwd");
}

/* ---- backward ---------------------------------------------------------- */

enum { DELTA_THREADS = 256 };

/* delta(B,H,T): for each head of each row, the sum of y dy; a warp a head. */
template <class E>
static __global__ void __launch_bounds__(DELTA_THREADS)
    head_products(float *delta, const E *y, const E *dy, int64_t heads, int H,
                  int64_t T, int D)
{
    begin_kernel();

    const int64_t i =
        (int64_t)blockIdx.x * (DELTA_THREADS / 32) + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    float sum = 0;

    if (i >= heads)
        return;
    for (int d = lane; d < D; d += 32)
        sum += to_float(y[i * D + d]) * to_float(dy[i * D + d]);
    sum = warp_sum(sum);
    if (lane == 0)
        delta[(i / H / T * H + i % H) * T + i / H % T] = sum;
}

template <class E>
static flash<E> describe_backward(struct dev *dev, struct tensor *dqkv,
                                  const struct tensor *qkv,
                                  const struct tensor *y,
                                  const struct tensor *lse,
                                  const struct tensor *dy, float *delta,
                                  const struct attn *a)
{
    const int64_t heads = tensor_rows(dy) * a->H;
    flash<E> f = describe<E>(qkv, a);

    f.dy = (const E *)dy->data;
    f.lse = (float *)lse->data;
    f.delta = delta;
    f.dqkv = (E *)dqkv->data;
    f.overwrite = dqkv->overwrite;
    LAUNCH(head_products<E>, blocks(heads, DELTA_THREADS / 32), DELTA_THREADS,
           0, QUEUE(dev), delta, data_of<const E>(y), data_of<const E>(dy),
           heads, a->H, a->T, a->D);
    return f;
}

template <class E>
static void plain_backward(struct dev *dev, const flash<E> &f, int64_t N,
                           const struct attn *a)
{
    launch_plain<E>(dev, "attn_bwd", plain_bwd_keys<E, 32>,
                    plain_bwd_keys<E, 16>, 6, 2, a->K, a, f, N);
    launch_plain<E>(dev, "attn_bwd", plain_bwd_queries<E, 32>,
                    plain_bwd_queries<E, 16>, 5, 1, a->H, a, f, N);
}

extern "C" void cuda_attn_bwd(struct dev *dev, struct tensor *dqkv,
                              const struct tensor *qkv, const struct tensor *y,
                              const struct tensor *lse, const struct tensor *dy,
                              const struct attn *a)
{
    const int64_t N = tensor_rows(dy);
    const int width = padded(qkv->type, a->D);
    float *delta;

    if (N == 0)
        return;
    if (width && sdpa_bwd(dev, dqkv, qkv, y, lse, dy, a))
        return;
    delta = (float *)cuda_scratch(dev, (size_t)(N * a->H) * sizeof(float),
                                  "attn_bwd");
    if (!delta)
        return;
    if (width)
        WITH_FLASH(
            qkv->type, width, E, DP,
            launch_flash_backward<E, DP>(
                dev, describe_backward<E>(dev, dqkv, qkv, y, lse, dy, delta, a),
                grid_of(a, N, FLASH_ROWS, a->K),
                grid_of(a, N, FLASH_ROWS, a->H)));
    else
        WITH_TYPE(E, qkv->type,
                  plain_backward<E>(dev,
                                    describe_backward<E>(dev, dqkv, qkv, y, lse,
                                                         dy, delta, a),
                                    N, a))
    launched(dev, "attn_bwd");
}

/* ---- decoding ---------------------------------------------------------- */

/* The cache of keys and values, and attention of one new position to it. */
enum { THREADS = 128, WARPS = THREADS / 32, MOST = 8 };

/*
 * A block has one head of one sequence.  Its warps share the positions, each
 * with a maximum, a sum and a weighted value of its own, which are joined at
 * the end.  The new key and value are taken from qkv; the block of the first
 * head of a group also writes them to the cache.
 */
template <class E>
static __global__ void __launch_bounds__(THREADS)
    decode(E *y, E *keys, E *values, const E *qkv, int64_t place, int64_t n,
           int64_t T, int H, int K, int D, float scale, int64_t window)
{
    begin_kernel();

    SHARED(float, part, WARPS *(32 * MOST + 2));
    const int h = (int)blockIdx.x, group = h * K / H;
    const int64_t b = blockIdx.y;
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const E *row = qkv + b * (H + 2 * K) * D;
    const E *new_k = row + (H + group) * D, *new_v = new_k + (int64_t)K * D;
    const int64_t first = (b * T * K + group) * D, step = (int64_t)K * D;
    float q[MOST], out[MOST] = {}, most = -INFINITY, sum = 0;
    float *mine = part + warp * (32 * MOST + 2);

#pragma unroll
    for (int j = 0; j < MOST; j++)
        q[j] = lane + 32 * j < D ? to_float(row[h * D + lane + 32 * j]) * scale
                                 : 0.0f;
    for (int64_t t = warp; t < n; t += WARPS) {
        const E *k = t == place ? new_k : keys + first + t * step;
        const E *v = t == place ? new_v : values + first + t * step;
        float s = 0, high, shrink, p;

        if (window && (place - t + T) % T >= window)
            continue;

#pragma unroll
        for (int j = 0; j < MOST; j++)
            if (lane + 32 * j < D)
                s += q[j] * to_float(k[lane + 32 * j]);
        s = warp_sum(s);
        high = fmaxf(most, s);
        shrink = expf(most - high);
        p = expf(s - high);
        most = high;
        sum = sum * shrink + p;
#pragma unroll
        for (int j = 0; j < MOST; j++)
            if (lane + 32 * j < D)
                out[j] = out[j] * shrink + p * to_float(v[lane + 32 * j]);
    }
    if (h == 0 || (h - 1) * K / H != group) {
        for (int d = threadIdx.x; d < D; d += THREADS) {
            keys[first + place * step + d] = new_k[d];
            values[first + place * step + d] = new_v[d];
        }
    }
#pragma unroll
    for (int j = 0; j < MOST; j++)
        mine[lane + 32 * j] = out[j];
    if (lane == 0) {
        mine[32 * MOST] = most;
        mine[32 * MOST + 1] = sum;
    }
    __syncthreads();
    for (int d = threadIdx.x; d < D; d += THREADS) {
        float high = -INFINITY, all = 0, x = 0;

        for (int w = 0; w < WARPS; w++)
            high = fmaxf(high, part[w * (32 * MOST + 2) + 32 * MOST]);
        for (int w = 0; w < WARPS; w++) {
            const float *p = part + w * (32 * MOST + 2);
            const float weight =
                p[32 * MOST + 1] > 0.0f ? expf(p[32 * MOST] - high) : 0.0f;

            all += weight * p[32 * MOST + 1];
            x += weight * p[d];
        }
        y[(b * H + h) * D + d] = from_float<E>(x / all);
    }
}

extern "C" void cuda_attn_decode(struct dev *dev, struct tensor *y,
                                 struct tensor *keys, struct tensor *values,
                                 const struct tensor *qkv, int64_t at,
                                 const struct attn *a)
{
    const int64_t B = tensor_rows(y);

    assert(a->D <= 32 * MOST);
    if (B == 0)
        return;
    WITH_TYPE(E, y->type,
              LAUNCH(decode<E>, dim3((unsigned)a->H, (unsigned)B), THREADS, 0,
                     QUEUE(dev), data_of<E>(y), data_of<E>(keys),
                     data_of<E>(values), data_of<const E>(qkv), at % a->T,
                     at < a->T ? at + 1 : a->T, a->T, a->H, a->K, a->D,
                     a->scale, a->window))
    launched(dev, "attn_decode");
}

/* A block has one row of qkv: queries, C keys, C values. */
template <class E>
static __global__ void __launch_bounds__(THREADS)
    store(E *keys, E *values, const E *qkv, int64_t T, int64_t room,
          int queries, int C)
{
    begin_kernel();

    const int64_t n = blockIdx.x, to = (n / T * room + n % T) * C;
    const E *from = qkv + n * (queries + 2 * C) + queries;

    for (int c = threadIdx.x; c < C; c += THREADS) {
        keys[to + c] = from[c];
        values[to + c] = from[C + c];
    }
}

extern "C" void cuda_attn_store(struct dev *dev, struct tensor *keys,
                                struct tensor *values, const struct tensor *qkv,
                                const struct attn *a)
{
    const int64_t N = tensor_rows(qkv);

    WITH_TYPE(E, qkv->type,
              LAUNCH(store<E>, (unsigned)N, THREADS, 0, QUEUE(dev),
                     data_of<E>(keys), data_of<E>(values),
                     data_of<const E>(qkv), a->T, keys->dim[1], a->H * a->D,
                     a->K * a->D))
    launched(dev, "attn_store");
}

/* ---- rotary positions -------------------------------------------------- */

enum { ROPE_THREADS = 256 };

/*
 * A thread has W neighbouring pairs of one row, for all of its heads, so that
 * sines and cosines are computed once.  The angle is a double: at 1,000 radians
 * a float has lost three digits.
 */
template <class T, int W>
static __global__ void __launch_bounds__(ROPE_THREADS)
    rope(T *qkv, int64_t N, int heads, int H_and_K, int half, int64_t period,
         int64_t from, struct rope r, double log2_theta, bool inverse)
{
    begin_kernel();

    const int64_t at = (int64_t)blockIdx.x * ROPE_THREADS + threadIdx.x;
    const int64_t row = at / (half / W);
    const int i = (int)(at % (half / W)) * W;
    float sine[W], cosine[W];

    if (row >= N)
        return;
#pragma unroll
    for (int k = 0; k < W; k++) {
        const double rate = exp2(-log2_theta * (double)(i + k) / (double)half);
        double s, c;

        sincos((double)(from + row % period) * rope_scaled(&r, i + k, rate), &s,
               &c);
        sine[k] = (float)(r.length * (inverse ? -s : s));
        cosine[k] = (float)(r.length * c);
    }
    qkv += row * heads * 2 * half + i;
    for (int h = 0; h < H_and_K; h++, qkv += 2 * half) {
        float a[W], b[W];

        load(a, qkv);
        load(b, qkv + half);
#pragma unroll
        for (int k = 0; k < W; k++) {
            const float x = a[k] * cosine[k] - b[k] * sine[k];

            b[k] = b[k] * cosine[k] + a[k] * sine[k];
            a[k] = x;
        }
        store(qkv, a);
        store(qkv + half, b);
    }
}

extern "C" void cuda_rope(struct dev *dev, struct tensor *qkv, int H, int K,
                          int64_t T, int64_t from, const struct rope *r,
                          bool inverse)
{
    const int64_t N = tensor_rows(qkv);
    const int half = (int)(tensor_cols(qkv) / (H + 2 * K) / 2);

    WITH_TYPE(
        E, qkv->type,
        WITH_WIDTH(W, E, half % WIDTH<E> == 0,
                   LAUNCH((rope<E, W>), blocks(N * (half / W), ROPE_THREADS),
                          ROPE_THREADS, 0, QUEUE(dev), data_of<E>(qkv), N,
                          H + 2 * K, H + K, half, T, from, *r,
                          log2((double)r->theta), inverse)))
    launched(dev, "rope");
}
