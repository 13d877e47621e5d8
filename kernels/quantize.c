/*
 * quantize - matrices of 8-bit and 4-bit numbers, a scale for each group
 */
#include "config.h"
#include "kernels/ref.h"

#include <math.h>

#include "common/mem.h"

/* Where q has the number of row m and column c, whose scale is number *group:
 * the index of the byte, and *shift, of the bits in it. */
static int64_t place_of(const struct tensor *q, int64_t m, int64_t c,
                        int64_t *group, int *shift)
{
    const int64_t bytes = q->dim[2], block = m / QUANT_ROWS;
    const int64_t in =
        c % QUANT_GROUP / 4 * QUANT_ROWS * 4 + m % QUANT_ROWS * 4 + c % 4;
    const int64_t at = block * q->dim[1] + c / QUANT_GROUP;

    *group = at * QUANT_ROWS + m % QUANT_ROWS;
    *shift = in >= bytes ? 4 : 0;
    return at * bytes + in % bytes;
}

/* The scale of the group that begins at column c; steps of it from 0. */
static float scale_of(const struct tensor *w, int64_t m, int64_t c, int bits)
{
    float extreme = 0.0f;

    for (int64_t i = c; i < c + QUANT_GROUP && i < w->dim[1]; i++) {
        const float v = (float)ref_get(w, m * w->dim[1] + i);

        if (fabsf(v) > fabsf(extreme))
            extreme = v;
    }
    if (bits == 8)
        return fabsf(extreme) / 127.0f;
    return fabsf(extreme) > 0.0f ? extreme / -8.0f : 0.0f;
}

void ref_quantize(struct dev *dev UNUSED, struct tensor *q,
                  struct tensor *scale, const struct tensor *w)
{
    const int64_t M = w->dim[0], C = w->dim[1];
    const int bits = quant_bits(q), zero = quant_zero(bits);
    uint8_t *out = q->data;

    memset(out, 0, tensor_bytes(q));
    for (int64_t m = 0; m < q->dim[0] * QUANT_ROWS; m++) {
        float s = 0.0f, times = 0.0f;

        for (int64_t c = 0; c < q->dim[1] * QUANT_GROUP; c++) {
            int64_t group, at;
            float n = 0.0f;
            int shift;

            at = place_of(q, m, c, &group, &shift);
            if (c % QUANT_GROUP == 0) {
                s = m < M ? scale_of(w, m, c, bits) : 0.0f;
                times = fabsf(s) > 0.0f ? 1.0f / s : 0.0f;
                ref_set(scale, group, (double)s);
            }
            if (m < M && c < C)
                n = rintf((float)ref_get(w, m * C + c) * times);
            n = fminf(n, (float)(zero - 1)) + (float)zero;
            out[at] = (uint8_t)(out[at] | (int)n << shift);
        }
    }
}

/* A row of x in 8 bits: every number becomes the nearest multiple of its
 * group's scale. */
static void round_row(const struct tensor *x, int64_t row, double *out)
{
    const int64_t C = tensor_cols(x);
    const struct tensor one =
        tensor_matrix(x->data, x->type, tensor_rows(x), C);

    for (int64_t c = 0; c < C; c++) {
        const float s = scale_of(&one, row, c / QUANT_GROUP * QUANT_GROUP, 8);
        const float times = s > 0.0f ? 1.0f / s : 0.0f;

        out[c] =
            (double)s * (double)rintf((float)ref_get(x, row * C + c) * times);
    }
}

void ref_linear_quantized_fwd(struct dev *dev UNUSED, struct tensor *y,
                              const struct tensor *x, const struct tensor *q,
                              const struct tensor *scale,
                              const struct tensor *b)
{
    const int64_t N = tensor_rows(x), C = tensor_cols(x), M = tensor_cols(y);
    const int bits = quant_bits(q);
    AUTO_FREE double *row = xcalloc((size_t)C, sizeof *row);

    for (int64_t n = 0; n < N; n++) {
        round_row(x, n, row);
        for (int64_t m = 0; m < M; m++) {
            double sum = b ? ref_get(b, m) : 0.0;

            for (int64_t c = 0; c < C; c++) {
                int64_t group, at;
                int shift, number;

                at = place_of(q, m, c, &group, &shift);
                number = ((const uint8_t *)q->data)[at] >> shift;
                number = (number & ((1 << bits) - 1)) - quant_zero(bits);
                sum += row[c] * number * ref_get(scale, group);
            }
            ref_set(y, n * M + m, sum);
        }
    }
}
