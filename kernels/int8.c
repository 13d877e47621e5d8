/*
 * int8 - matrices of 8-bit numbers, a scale for each row
 */
#include "config.h"
#include "kernels/ref.h"

#include <math.h>

void ref_quantize(struct dev *dev, struct tensor *q, struct tensor *scale,
                  const struct tensor *w)
{
    const int64_t M = w->dim[0], C = w->dim[1];

    (void)dev;
    for (int64_t m = 0; m < M; m++) {
        double most = 0.0, times;

        for (int64_t c = 0; c < C; c++)
            most = fmax(most, fabs(ref_get(w, m * C + c)));
        times = most > 0.0 ? 127.0 / most : 0.0;
        ref_set(scale, m, most / 127.0);
        for (int64_t c = 0; c < C; c++)
            ref_set(q, m * C + c, rint(ref_get(w, m * C + c) * times));
    }
}

void ref_linear_int8_fwd(struct dev *dev, struct tensor *y,
                         const struct tensor *x, const struct tensor *q,
                         const struct tensor *scale, const struct tensor *b)
{
    const int64_t N = tensor_rows(x), C = tensor_cols(x), M = q->dim[0];

    (void)dev;
    assert(q->dim[1] == C && tensor_rows(y) == N && tensor_cols(y) == M);
    for (int64_t n = 0; n < N; n++) {
        for (int64_t m = 0; m < M; m++) {
            double sum = 0.0;

            for (int64_t c = 0; c < C; c++)
                sum += ref_get(x, n * C + c) * ref_get(q, m * C + c);
            sum *= ref_get(scale, m);
            ref_set(y, n * M + m, sum + (b ? ref_get(b, m) : 0.0));
        }
    }
}
