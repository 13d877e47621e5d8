/*
 * rows - sums over rows
 */
#include "config.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

VEC_FN void sum_rows(enum dtype type, float *out, const void *x, int64_t C,
                     int64_t from, int64_t to)
{
    memset(out, 0, (size_t)C * sizeof *out);
    for (int64_t n = from; n < to; n++)
        for (int64_t c = 0; c < C; c += VW)
            vf_give_or_add(out, DT_F32, c, vf_take(x, type, n * C + c, C - c),
                           C - c, true);
}

void rows_sum_cols(struct dev *dev, struct tensor *out, const struct tensor *x)
{
    const int64_t N = tensor_rows(x), C = tensor_cols(x), n = rows_chunks(N);
    float *part = cpu_scratch(dev, (size_t)(n * C) * sizeof *part, "sum");

    if (!part)
        return;
#pragma omp parallel for num_threads(cpu_threads(dev)) if (N * C > ROWS_PIECE)
    for (int64_t i = 0; i < n; i++)
        VEC_BY_TYPE(x->type, sum_rows, part + i * C, x->data, C,
                    rows_chunk(N, i, n), rows_chunk(N, i + 1, n));
    rows_reduce(dev, out, part, C, n);
}

void rows_reduce(struct dev *dev, struct tensor *out, const float *part,
                 int64_t stride, int64_t n)
{
    const int64_t C = out ? tensor_count(out) : 0;

#pragma omp parallel for num_threads(cpu_threads(dev)) if (n * C > ROWS_PIECE)
    for (int64_t from = 0; from < C; from += 256) {
        const int64_t to = C - from < 256 ? C : from + 256;
        float sum[256] = { 0 };

        for (int64_t i = 0; i < n; i++) {
            for (int64_t c = from; c < to; c++)
                sum[c - from] += part[i * stride + c];
        }
        for (int64_t c = from; c < to; c++) {
            const float old =
                out->overwrite ? 0.0f : num_get(out->data, out->type, c);

            num_put(out->data, out->type, c, old + sum[c - from]);
        }
    }
}
