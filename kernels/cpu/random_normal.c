/*
 * random_normal - normal numbers on the CPU, a vector of pairs at a time
 *
 * The polynomials are from Moshier's Cephes library (logf, sinf, cosf).
 */
#include "config.h"
#include "kernels/cpu/random.h"
#include "kernels/cpu/rows.h"
#include "kernels/cpu/vec.h"

/* Words as floats; the conversion is of signed numbers. */
VEC_FN vf floats_of(vi x)
{
    return __builtin_convertvector(x, vf);
}

/*
 * sqrt(-2 ln u) of u = (w + 1/2) / 2^32.  Near 1, the logarithm of
 * 1 - (~w + 1/2) / 2^32 is taken, which loses no digits; below, u = 2^e (1 + f)
 * with 1 + f from sqrt(1/2) to sqrt(2).
 */
VEC_FN vf radius_of(vu w)
{
    const vi near = (vi)(w >= 0xb504f334u); /* 2^32 sqrt(1/2) */
    /* w + 1/2 without its sign: both halves are exact, the sum rounds once */
    const vf u = (floats_of((vi)(w >> 16)) * 65536.0f +
                  (floats_of((vi)(w & 0xffffu)) + 0.5f)) *
                 0x1p-32f;
    const vu bits = (vu)u + (0x3f800000u - 0x3f3504f3u);
    const vi exponent = (vi)(bits >> 23) - 127;
    const vf m = (vf)((bits & 0x7fffffu) + 0x3f3504f3u);
    const vf rest = (floats_of((vi)(~w)) + 0.5f) * -0x1p-32f;
    const vf f = vf_select(near, rest, m - 1.0f);
    const vf e = vf_select(near, vf_set(0.0f), floats_of(exponent));
    const vf z = f * f;
    vf p = f * 7.0376836292e-2f - 1.1514610310e-1f;

    p = p * f + 1.1676998740e-1f;
    p = p * f - 1.2420140846e-1f;
    p = p * f + 1.4249322787e-1f;
    p = p * f - 1.6668057665e-1f;
    p = p * f + 2.0000714765e-1f;
    p = p * f - 2.4999993993e-1f;
    p = p * f + 3.3333331174e-1f;
    p = p * f * z - 2.12194440e-4f * e - 0.5f * z;
    return vf_sqrt(-2.0f * (f + p + 0.693359375f * e));
}

/* Cosine and sine of 2 pi (w + 1/2) / 2^32: the nearest quarter of a turn, and
 * the rest, at most an eighth. */
VEC_FN vf cosine_and_sine(vu w, vf *sine)
{
    const vu turn = (w + 0x20000000u) >> 30;
    const vf x = (floats_of((vi)(w - (turn << 30))) + 0.5f) * 0x1.921fb6p-30f;
    const vf z = x * x;
    const vf s = x + x * z *
                         (z * (8.3321608736e-3f - z * 1.9515295891e-4f) -
                          1.6666654611e-1f);
    const vf c = 1.0f - 0.5f * z +
                 z * z *
                     (4.166664568298827e-2f +
                      z * (z * 2.443315711809948e-5f - 1.388731625493765e-3f));
    const vi odd = (vi)((turn & 1u) == 1u);
    const vu low = (turn & 2u) << 30, left = ((turn + 1u) & 2u) << 30;

    *sine = (vf)((vu)vf_select(odd, c, s) ^ low);
    return (vf)((vu)vf_select(odd, s, c) ^ left);
}

/* Numbers from..from+n; from is even. */
static void draw_pairs(float *out, int64_t from, int64_t n, uint64_t seed,
                       uint64_t stream, float std)
{
    for (int64_t i = 0; i < n; i += 2 * VW) {
        vu word[4];
        vf radius, c, s, pair[2];

        random_blocks(seed, stream, (uint64_t)((from + i) / 2), word);
        radius = radius_of(word[0]) * std;
        c = cosine_and_sine(word[1], &s) * radius;
        s *= radius;
        pair[0] = vf_zip_low(c, s);
        pair[1] = vf_zip_high(c, s);
        for (int j = 0; j < 2 && i + j * VW < n; j++)
            vf_give(out, DT_F32, i + j * VW, pair[j], n - i - j * VW);
    }
}

void cpu_normal(struct dev *dev, struct tensor *y, uint64_t seed,
                uint64_t stream, int64_t first, float std)
{
    const int64_t n = tensor_count(y), count = rows_pieces(n);

#pragma omp parallel for num_threads(cpu_threads(dev)) if (count > 1)
    for (int64_t i = 0; i < count; i++) {
        const int64_t from = i * ROWS_PIECE;

        draw_pairs((float *)y->data + from, first + from, rows_piece(n, from),
                   seed, stream, std);
    }
}
