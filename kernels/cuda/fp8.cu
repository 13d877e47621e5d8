/*
 * fp8 - find the scale of a matrix, round it, and transpose it
 */
#include "config.h"
#include "kernels/cuda/fp8.cuh"
#include "kernels/cuda/reduce.cuh"

enum {
    THREADS = 256,
    TILE = 64,         /* rows and columns of a block of convert() */
    EACH = 16,         /* elements of a line that a thread converts */
    PITCH = TILE + 4,  /* bytes from row to row of a tile in shared memory */
    ON_EACH = 4,       /* blocks of find_largest() on a multiprocessor, */
    MOST_PARTS = 1024, /* and on the device */
    ALIGN = 256
};

static __device__ __forceinline__ float magnitude(float x)
{
    const float a = fabsf(x);

    return a < INFINITY ? a : INFINITY; /* NaN, too */
}

template <int W>
static __global__ void __launch_bounds__(THREADS)
    find_largest(float *most, const bf16 *x, int64_t n)
{
    begin_kernel();

    const int64_t step = (int64_t)gridDim.x * THREADS * W;
    float here = 0.0f, v[W];

    for (int64_t i = ((int64_t)blockIdx.x * THREADS + threadIdx.x) * W; i < n;
         i += step) {
        load(v, x + i);
#pragma unroll
        for (int k = 0; k < W; k++)
            here = fmaxf(here, magnitude(v[k]));
    }
    here = block_max<THREADS>(here);
    if (threadIdx.x == 0)
        most[blockIdx.x] = here;
}

/* Elements c.. of a row, zeros from cols on. */
template <int W>
static __device__ __forceinline__ void load_line(float (&v)[EACH],
                                                 const bf16 *row, int64_t c,
                                                 int64_t cols)
{
#pragma unroll
    for (int h = 0; h < EACH; h += W) {
        float part[W] = {};

        if (c + h < cols)
            load(part, row + c + h);
#pragma unroll
        for (int k = 0; k < W; k++)
            v[h + k] = part[k];
    }
}

/* A block rounds a tile of x, and stores it in q, in `turned`, or in both. */
template <int W, int MANTISSA>
static __global__ void __launch_bounds__(THREADS)
    convert(uint8_t *q, uint8_t *turned, float *scale, const bf16 *x,
            const float *most, int parts, float bound, int64_t rows,
            int64_t cols, int64_t x_ld, int64_t ld, int64_t turned_ld)
{
    begin_kernel();

    SHARED(uint8_t, tile, TILE * PITCH);
    const int line = threadIdx.x / 4, at = threadIdx.x % 4 * EACH;
    const int64_t row0 = (int64_t)blockIdx.x * TILE;
    const int64_t col0 = (int64_t)blockIdx.y * TILE;
    const int64_t row = row0 + line, col = col0 + at;
    float s, by, v[EACH] = {};
    uint16_t two[EACH / 2];
    uint4 packed;

    for (int i = threadIdx.x; i < parts; i += THREADS)
        bound = fmaxf(bound, most[i]);
    s = fp8_scale(block_max<THREADS>(bound), MANTISSA);
    by = 1.0f / s; /* exact: a power of two */
    if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0)
        *scale = s;
    if (row < rows)
        load_line<W>(v, x + row * x_ld, col, cols);
#pragma unroll
    for (int k = 0; k < EACH / 2; k++)
        two[k] = fp8_pair<MANTISSA>(v[2 * k] * by, v[2 * k + 1] * by);
    memcpy(&packed, two, sizeof packed);
    if (q && row < rows && col < ld)
        *aligned<uint4>(q + row * ld + col) = packed;
    if (!turned)
        return;
    memcpy(tile + line * PITCH + at, two, sizeof two);
    __syncthreads();
#pragma unroll
    for (int k = 0; k < EACH; k++)
        ((uint8_t *)&packed)[k] = tile[(at + k) * PITCH + line];
    if (col0 + line < cols && row0 + at < turned_ld)
        *aligned<uint4>(turned + (col0 + line) * turned_ld + row0 + at) =
            packed;
}

/* ---- layout ------------------------------------------------------------ */

static size_t after(size_t at, size_t n)
{
    return at + (n + ALIGN - 1) / ALIGN * ALIGN;
}

size_t fp8_lay_out(struct fp8_matrix *q, char *base, size_t at, enum dtype type,
                   int64_t rows, int64_t cols, int want)
{
    const int64_t ld = fp8_pad(cols), turned_ld = fp8_pad(rows);
    size_t turned_at, scale_at, most_at;

    turned_at = after(at, want & FP8_ROWS ? (size_t)(rows * ld) : 0);
    scale_at =
        after(turned_at, want & FP8_TURNED ? (size_t)(cols * turned_ld) : 0);
    most_at = after(scale_at, sizeof(float));
    *q = {};
    q->type = type;
    q->cols = cols;
    q->ld = ld;
    q->turned_ld = turned_ld;
    if (base) {
        q->q = want & FP8_ROWS ? (uint8_t *)base + at : nullptr;
        q->turned = want & FP8_TURNED ? (uint8_t *)base + turned_at : nullptr;
        q->scale = (float *)(base + scale_at);
        q->most = (float *)(base + most_at);
    }
    return after(most_at, MOST_PARTS * sizeof(float));
}

/* ---- rounding ---------------------------------------------------------- */

static int launch_find_largest(struct dev *dev, const struct fp8_matrix *q,
                               const bf16 *x, int64_t n)
{
    const bool wide = n % WIDTH<bf16> == 0 && (uintptr_t)x % 16 == 0;
    const unsigned most = blocks_up_to(dev, n, THREADS * WIDTH<bf16>, ON_EACH);
    const unsigned parts = most < MOST_PARTS ? most : (unsigned)MOST_PARTS;

    WITH_WIDTH(
        W, bf16, wide,
        LAUNCH((find_largest<W>), parts, THREADS, 0, QUEUE(dev), q->most, x, n))
    return (int)parts;
}

template <int MANTISSA>
static void launch_convert(struct dev *dev, const struct fp8_matrix *q,
                           const bf16 *x, int parts, float bound, int64_t rows,
                           int64_t x_ld)
{
    const bool wide = q->cols % WIDTH<bf16> == 0 && x_ld % WIDTH<bf16> == 0 &&
                      (uintptr_t)x % 16 == 0;
    const dim3 grid(blocks(rows, TILE), blocks(q->cols, TILE));

    WITH_WIDTH(W, bf16, wide,
               LAUNCH((convert<W, MANTISSA>), grid, THREADS, 0, QUEUE(dev),
                      q->q, q->turned, q->scale, x, q->most, parts, bound, rows,
                      q->cols, x_ld, q->ld, q->turned_ld))
}

void fp8_fill(struct dev *dev, const struct fp8_matrix *q, const void *data,
              int64_t rows, int64_t ld, float bound)
{
    const bf16 *x = (const bf16 *)data;
    const int parts =
        bound > 0.0f ? 0 : launch_find_largest(dev, q, x, rows * q->cols);

    if (q->type == DT_E4M3)
        launch_convert<E4M3_MANTISSA>(dev, q, x, parts, bound, rows, ld);
    else
        launch_convert<E5M2_MANTISSA>(dev, q, x, parts, bound, rows, ld);
}

static size_t lay_out_all(struct fp8_matrix *q, char *base,
                          const struct fp8_source *from, int n)
{
    size_t end = 0;

    for (int i = 0; i < n; i++)
        end =
            fp8_lay_out(&q[i], base, end, from[i].type, tensor_rows(from[i].x),
                        tensor_cols(from[i].x), from[i].want);
    return end;
}

bool fp8_round_all(struct dev *dev, struct fp8_matrix *q,
                   const struct fp8_source *from, int n, const char *op)
{
    const size_t size = lay_out_all(q, nullptr, from, n);
    char *room = (char *)cuda_scratch(dev, size, op);

    if (!room)
        return false;
    lay_out_all(q, room, from, n);
    for (int i = 0; i < n; i++)
        if (from[i].want)
            fp8_fill(dev, &q[i], from[i].x->data, tensor_rows(from[i].x),
                     tensor_cols(from[i].x), 0.0f);
    return true;
}

void fp8_operands(struct gemm *p, const struct fp8_matrix *a, bool a_turned,
                  const struct fp8_matrix *b, bool b_turned)
{
    p->type = a->type;
    p->ta = false;
    p->tb = true;
    p->a = a_turned ? a->turned : a->q;
    p->b = b_turned ? b->turned : b->q;
    p->lda = a_turned ? a->turned_ld : a->ld;
    p->ldb = b_turned ? b->turned_ld : b->ld;
    p->k = p->lda;
    p->scale_a = a->scale;
    p->scale_b = b->scale;
}
