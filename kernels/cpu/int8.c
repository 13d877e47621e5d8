/*
 * int8 - matrices of 8-bit numbers, on the CPU
 */
#include "config.h"
#include "kernels/cpu/matvec.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

VEC_FN void quantize_row(enum dtype type, struct tensor *q,
                         struct tensor *scale, const struct tensor *w,
                         int64_t m)
{
    const int64_t C = w->dim[1];
    int8_t *out = (int8_t *)q->data + m * C;
    vf most = vf_set(0.0f);
    float largest, times;

    for (int64_t c = 0; c < C; c += VW) {
        const vf v = vf_take(w->data, type, m * C + c, C - c);

        most = vf_max(vf_max(v, -v), most);
    }
    largest = vf_largest(most);
    times = largest > 0.0f ? 127.0f / largest : 0.0f;
    ((float *)scale->data)[m] = largest / 127.0f;
    for (int64_t c = 0; c < C; c += VW)
        vb_store_n(out + c,
                   vb_round(vf_take(w->data, type, m * C + c, C - c) * times),
                   C - c);
}

void cpu_quantize(struct dev *dev, struct tensor *q, struct tensor *scale,
                  const struct tensor *w)
{
#pragma omp parallel for num_threads(cpu_threads(dev)) if (tensor_count(w) >   \
                                                           ROWS_PIECE)
    for (int64_t m = 0; m < w->dim[0]; m++)
        VEC_BY_TYPE(w->type, quantize_row, q, scale, w, m);
}

void cpu_linear_int8_fwd(struct dev *dev, struct tensor *y,
                         const struct tensor *x, const struct tensor *q,
                         const struct tensor *scale, const struct tensor *b)
{
    matvec_linear(dev, y, x, q, scale, b);
}
