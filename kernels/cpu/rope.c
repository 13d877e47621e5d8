/*
 * rope - rotary positions on the CPU
 */
#include "config.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

#include <assert.h>
#include <math.h>

/* turn(t, i, 0) = cos and turn(t, i, 1) = sin of the angle of pair i at t. */
static void make_angles(float *turn, int64_t T, int64_t D, int64_t from,
                        const struct rope *r)
{
    for (int64_t i = 0; i < D / 2; i++) {
        const double rate = rope_scaled(
            r, i, pow((double)r->theta, -2.0 * (double)i / (double)D));

        for (int64_t t = 0; t < T; t++) {
            const double angle = (double)(from + t) * rate;

            turn[t * D + i] = (float)(r->length * cos(angle));
            turn[t * D + D / 2 + i] = (float)(r->length * sin(angle));
        }
    }
}

/* The table for these positions, which is kept for the other layers. */
static const float *angle_table(struct dev *dev, int64_t T, int64_t D,
                                int64_t from, const struct rope *r)
{
    struct cpu *cpu = dev->state;
    const struct rope_angles want = {
        .T = T, .D = D, .from = from, .rope = *r
    };

    if (!cpu_reserve_rope(dev, T * D))
        return NULL;
    if (memcmp(&cpu->rope, &want, sizeof want) != 0) {
        make_angles(cpu->rope_table, T, D, from, r);
        cpu->rope = want;
    }
    return cpu->rope_table;
}

VEC_FN void rotate_head(enum dtype type, void *x, int64_t at, const float *turn,
                        int64_t D, bool inverse)
{
    const int64_t half = D / 2;

    for (int64_t i = 0; i < half; i += VW) {
        const int64_t n = half - i;
        const vf a = vf_take(x, type, at + i, n);
        const vf b = vf_take(x, type, at + half + i, n);
        const vf c = vf_take(turn, DT_F32, i, n);
        vf s = vf_take(turn, DT_F32, half + i, n);

        s = inverse ? -s : s;
        vf_give(x, type, at + i, a * c - b * s, n);
        vf_give(x, type, at + half + i, b * c + a * s, n);
    }
}

void cpu_rope(struct dev *dev, struct tensor *qkv, int H, int K, int64_t T,
              int64_t from, const struct rope *r, bool inverse)
{
    const int64_t N = tensor_rows(qkv), width = tensor_cols(qkv);
    const int64_t D = width / (H + 2 * K);
    const float *turn = angle_table(dev, T, D, from, r);

    assert(D % 2 == 0);
    if (!turn)
        return;
#pragma omp parallel for num_threads(cpu_threads(dev)) if (N * width >         \
                                                           ROWS_PIECE)
    for (int64_t n = 0; n < N; n++) {
        for (int64_t h = 0; h < H + K; h++)
            VEC_BY_TYPE(qkv->type, rotate_head, qkv->data, n * width + h * D,
                        turn + n % T * D, D, inverse);
    }
}
