/*
 * quantize - matrices of 8-bit and 4-bit numbers, on the CPU
 */
#include "config.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

#include <assert.h>
#include <math.h>

enum { ROWS = QUANT_ROWS, GROUP = QUANT_GROUP, PARTS = ROWS / VW };

/* Numbers of a row from `at` on, of which `left` exist; returns the largest
 * magnitude, or NaN if one is not finite. */
VEC_FN float load_group(enum dtype type, float v[GROUP], const void *p,
                        int64_t at, int64_t left)
{
    vf most = vf_set(0.0f), bad = most;

    for (int c = 0; c < GROUP; c += VW) {
        const vf a =
            left > c ? vf_take(p, type, at + c, left - c) : vf_set(0.0f);

        vf_store(v + c, a);
        most = vf_max(vf_max(a, -a), most);
        bad += a - a;
    }
    return vf_largest(most) + vf_sum(bad);
}

/* ---- weights ----------------------------------------------------------- */

/* The scale of a group, and its numbers in steps of the scale. */
static float round_weights(const int bits, const float v[GROUP], float most,
                           int n[GROUP])
{
    const int zero = quant_zero(bits);
    float scale = most / 127.0f, times;

    for (int c = 0; bits == 4 && most > 0.0f && c < GROUP; c++) {
        if (fabsf(v[c]) >= most) {
            scale = v[c] / -8.0f;
            break;
        }
    }
    times = fabsf(scale) > 0.0f ? 1.0f / scale : 0.0f;
    for (int c = 0; c < GROUP; c++) {
        const int step = (int)rintf(v[c] * times);

        n[c] = (step < zero ? step : zero - 1) + zero;
    }
    return scale;
}

/* A group of row m of a block. */
VEC_FN void quantize_group(enum dtype type, const int bits, uint8_t *q,
                           float *scale, const struct tensor *w, int64_t row,
                           int64_t c)
{
    const int64_t C = w->dim[1];
    const bool exists = row < w->dim[0];
    const int m = (int)(row % ROWS);
    float v[GROUP];
    int n[GROUP];
    const float most =
        load_group(type, v, w->data, row * C + c, exists ? C - c : 0);

    scale[m] = round_weights(bits, v, most, n);
    for (int i = 0; i < GROUP * bits / 8; i++) {
        const int low = n[i], high = bits == 4 ? n[i + GROUP / 2] << 4 : 0;

        q[i / 4 * ROWS * 4 + m * 4 + i % 4] = (uint8_t)(low | high);
    }
}

void cpu_quantize(struct dev *dev, struct tensor *q, struct tensor *scale,
                  const struct tensor *w)
{
    const int64_t blocks = q->dim[0], groups = q->dim[1], bytes = q->dim[2];
    const int bits = quant_bits(q);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (tensor_count(w) >   \
                                                           ROWS_PIECE)
    for (int64_t i = 0; i < blocks * groups; i++) {
        uint8_t *to = (uint8_t *)q->data + i * bytes;
        float *by = (float *)scale->data + i * ROWS;
        const int64_t row = i / groups * ROWS, c = i % groups * GROUP;

        for (int m = 0; m < ROWS; m++)
            if (bits == 8)
                VEC_BY_TYPE(w->type, quantize_group, 8, to, by, w, row + m, c);
            else
                VEC_BY_TYPE(w->type, quantize_group, 4, to, by, w, row + m, c);
    }
}

/* ---- products ---------------------------------------------------------- */

/* Rows of x that share a load of w.  Without AVX2 it is no gain, and gcc 12
 * takes 40 s to compile eight. */
enum { AT_ONCE = VW == 4 ? 1 : 8 };

/* x in 8 bits, with a scale and the sum of each group; and the rest. */
struct product {
    struct tensor *y;
    const struct tensor *q, *scale, *b;
    int64_t groups; /* of a row */
    int8_t *x;
    float *x_scale;
    int32_t *x_sum;
};

VEC_FN void round_group(enum dtype type, const struct product *p,
                        const struct tensor *x, int64_t i)
{
    const int64_t C = tensor_cols(x), c = i % p->groups * GROUP;
    float v[GROUP], times;
    int8_t *out = p->x + i * GROUP;
    int32_t sum = 0;

    p->x_scale[i] =
        load_group(type, v, x->data, i / p->groups * C + c, C - c) / 127.0f;
    times = p->x_scale[i] > 0.0f ? 1.0f / p->x_scale[i] : 0.0f;
    for (int k = 0; k < GROUP; k++)
        out[k] = (int8_t)rintf(v[k] * times);
    for (int k = 0; k < GROUP; k++)
        sum += out[k];
    p->x_sum[i] = sum;
}

/* Add the products of a group: columns in fours, of R rows of x and a block of
 * rows of w. */
VEC_FN void add_group(const int bits, const int R, vi acc[AT_ONCE][PARTS],
                      const uint8_t *q, const int8_t *x, int64_t step)
{
    for (int k = 0; k < GROUP / 4 * bits / 8; k++) {
#pragma GCC unroll 4
        for (int part = 0; part < PARTS; part++) {
            const vu w = vu_load(q + (k * ROWS + part * VW) * 4);
            const vu low = bits == 4 ? w & 0x0f0f0f0f : w;
            const vu high = w >> 4 & 0x0f0f0f0f;

#pragma GCC unroll 8
            for (int r = 0; r < R; r++) {
                const int8_t *at = x + r * step + 4 * k;

                acc[r][part] = vi_add_dots(acc[r][part], low, at);
                if (bits == 4)
                    acc[r][part] =
                        vi_add_dots(acc[r][part], high, at + GROUP / 2);
            }
        }
    }
}

VEC_FN void store_sums(const struct product *p, const int R,
                       const vf sum[AT_ONCE][PARTS], int64_t block, int64_t row)
{
    const int64_t M = tensor_cols(p->y);

#pragma GCC unroll 4
    for (int part = 0; part < PARTS; part++) {
        const int64_t m = block * ROWS + part * VW, left = M - m;

        if (left <= 0)
            return;
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            vf v = sum[r][part];

            if (p->b)
                v += vf_take(p->b->data, p->b->type, m, left);
            vf_give(p->y->data, p->y->type, (row + r) * M + m, v, left);
        }
    }
}

/* R rows of x from `row` on, and a block of rows of w. */
VEC_FN void multiply_rows(const int bits, const int R, const struct product *p,
                          int64_t block, int64_t row)
{
    const int64_t step = p->groups * GROUP, bytes = GROUP * ROWS * bits / 8;
    vf sum[AT_ONCE][PARTS];

#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int part = 0; part < PARTS; part++)
            sum[r][part] = vf_set(0.0f);
    for (int64_t g = 0; g < p->groups; g++) {
        const int64_t in_x = row * p->groups + g;
        const int64_t in_q = block * p->groups + g;
        vi acc[AT_ONCE][PARTS];

#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int part = 0; part < PARTS; part++)
                acc[r][part] =
                    vi_set(-quant_zero(bits) * p->x_sum[in_x + r * p->groups]);
        add_group(bits, R, acc, (const uint8_t *)p->q->data + in_q * bytes,
                  p->x + in_x * GROUP, step);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int part = 0; part < PARTS; part++)
                sum[r][part] += vf_from_ints(acc[r][part]) *
                                (vf_load((const float *)p->scale->data +
                                         in_q * ROWS + part * VW) *
                                 p->x_scale[in_x + r * p->groups]);
    }
    store_sums(p, R, sum, block, row);
}

/* All rows of x, while the block of w is cached. */
VEC_FN void multiply_block(const int bits, const struct product *p,
                           int64_t block)
{
    const int64_t N = tensor_rows(p->y);
    int64_t i = 0;

    for (; i + AT_ONCE <= N; i += AT_ONCE)
        multiply_rows(bits, AT_ONCE, p, block, i);
    for (; AT_ONCE > 4 && i + 4 <= N; i += 4)
        multiply_rows(bits, 4, p, block, i);
    for (; i < N; i++)
        multiply_rows(bits, 1, p, block, i);
}

/* Bytes of w that a thread takes at a time, since memory is not equally fast
 * for every thread. */
enum { CHUNK = 1 << 16 };

void cpu_linear_quantized_fwd(struct dev *dev, struct tensor *y,
                              const struct tensor *x, const struct tensor *q,
                              const struct tensor *scale,
                              const struct tensor *b)
{
    const int64_t groups = q->dim[1], n = tensor_rows(x) * groups;
    const int64_t blocks = q->dim[0], chunk = 1 + CHUNK / groups / q->dim[2];
    const int bits = quant_bits(q);
    struct product p = {
        .y = y, .q = q, .scale = scale, .b = b, .groups = groups
    };

    assert((tensor_cols(x) + GROUP - 1) / GROUP == groups);
    p.x = cpu_scratch(dev,
                      (size_t)n * (GROUP + sizeof *p.x_scale + sizeof *p.x_sum),
                      "linear_quantized");
    if (!p.x)
        return;
    p.x_scale = (float *)(void *)(p.x + n * GROUP);
    p.x_sum = (int32_t *)(void *)(p.x_scale + n);
#pragma omp parallel num_threads(cpu_threads(dev)) if (tensor_bytes(q) >       \
                                                       4 * ROWS_PIECE)
    {
#pragma omp for
        for (int64_t i = 0; i < n; i++)
            VEC_BY_TYPE(x->type, round_group, &p, x, i);
#pragma omp for schedule(dynamic, chunk)
        for (int64_t i = 0; i < blocks; i++)
            if (bits == 8)
                multiply_block(8, &p, i);
            else
                multiply_block(4, &p, i);
    }
}
