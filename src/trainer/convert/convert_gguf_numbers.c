/*
 * convert_gguf_numbers - the numbers of a tensor in the types of GGUF
 */
#include "config.h"
#include "trainer/convert/convert_gguf_impl.h"

#include <math.h>

#include "kernels/half.h"

enum { BLOCK = 32 };

/* clang-format off */
const struct gguf_numbers_type gguf_numbers_types[] = {
    [GGUF_NUMBERS_F32] =  { 0, 1, 4, 0 },
    [GGUF_NUMBERS_F16] =  { 1, 1, 2, 1 },
    [GGUF_NUMBERS_Q4_0] = { 2, BLOCK, 2 + BLOCK / 2, 2 },
    [GGUF_NUMBERS_Q8_0] = { 8, BLOCK, 2 + BLOCK, 7 },
};
/* clang-format on */

bool gguf_numbers_fit(enum gguf_numbers type, int64_t cols)
{
    return cols > 0 && cols % gguf_numbers_types[type].block == 0;
}

size_t gguf_numbers_bytes(enum gguf_numbers type, int64_t n)
{
    return (size_t)(n / gguf_numbers_types[type].block) *
           (size_t)gguf_numbers_types[type].bytes;
}

static void write_half(float x, FILE *fp)
{
    const uint16_t h = f16_from_float(x);

    fwrite(&h, sizeof h, 1, fp);
}

/* The number of the largest magnitude of a block. */
static float extreme_of(const float *x)
{
    float most = 0;

    for (int i = 0; i < BLOCK; i++)
        if (fabsf(x[i]) > fabsf(most))
            most = x[i];
    return most;
}

/* A scale and 32 numbers of 8 bits. */
static void write_q8_0(const float *x, FILE *fp)
{
    const float scale = fabsf(extreme_of(x)) / 127;
    const float times = scale > 0 ? 1 / scale : 0;

    write_half(scale, fp);
    for (int i = 0; i < BLOCK; i++)
        fputc((int)lrintf(x[i] * times) & 0xff, fp);
}

/* A scale and 32 numbers of 4 bits, 8 of which stands for zero; the second
 * half of them in the upper halves of the bytes. */
static void write_q4_0(const float *x, FILE *fp)
{
    const float scale = extreme_of(x) / -8;
    const float times = fabsf(scale) > 0 ? 1 / scale : 0;
    int n[BLOCK];

    write_half(scale, fp);
    for (int i = 0; i < BLOCK; i++)
        n[i] = (int)fminf(rintf(x[i] * times), 7) + 8;
    for (int i = 0; i < BLOCK / 2; i++)
        fputc(n[i] | n[i + BLOCK / 2] << 4, fp);
}

void gguf_numbers_write(enum gguf_numbers type, const float *x, int64_t n,
                        FILE *fp)
{
    if (type == GGUF_NUMBERS_F32) {
        fwrite(x, sizeof *x, (size_t)n, fp);
        return;
    }
    for (int64_t i = 0; i < n; i += gguf_numbers_types[type].block)
        if (type == GGUF_NUMBERS_F16)
            write_half(x[i], fp);
        else if (type == GGUF_NUMBERS_Q8_0)
            write_q8_0(x + i, fp);
        else
            write_q4_0(x + i, fp);
}
