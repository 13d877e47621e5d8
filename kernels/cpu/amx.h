#ifndef KERNELS_CPU_AMX_H
#define KERNELS_CPU_AMX_H

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/vec.h"

/*
 * amx - products of bf16 by AMX, whose registers are tiles
 *
 * A tile has 16 rows of 16 words.  One instruction multiplies a tile of A, with
 * pairs of neighbours in k as its words, by a tile of B, a row for each pair,
 * and adds the product to a tile of floats: 16 x 16 x 32 multiplications.
 *
 * It stays although no processor with AMX has run it: on the Xeon that was
 * measured, pairs of bf16 gain nothing (doc/performance.md), so AMX is what
 * could make bf16 faster there.  It is used only where a trial on the machine
 * itself finds it right and takes less than 0.75 of the next way's time.
 *
 * The same loop exists with C in place of the instructions (GTRAIN_ISA=amx-c),
 * for the tests on processors without AMX.
 */
enum { AMX_TILE = 16 };

/* What ldtilecfg reads. */
struct amx_config {
    uint8_t palette, start_row, none[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* Tiles 0 to 3 are sums, tile 4 is of A, tiles 5 and 6 are of B. */
struct amx_tiles {
    struct amx_config config;
    uint32_t word[7][AMX_TILE][AMX_TILE]; /* without the instructions */
};

static inline void amx_c_load(struct amx_tiles *s, int t, const void *from,
                              int64_t stride)
{
    for (int i = 0; i < s->config.rows[t]; i++)
        memcpy(s->word[t][i], (const char *)from + i * stride,
               sizeof s->word[t][i]);
}

static inline void amx_c_store(const struct amx_tiles *s, int t, void *to,
                               int64_t stride)
{
    for (int i = 0; i < s->config.rows[t]; i++)
        memcpy((char *)to + i * stride, s->word[t][i], sizeof s->word[t][i]);
}

/* The number in half of a word. */
static inline float amx_half(uint32_t word, int half)
{
    const uint32_t bits = half ? word & 0xFFFF0000 : word << 16;
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

/* The first and the second numbers of the pairs have a sum each. */
static inline void amx_c_add(struct amx_tiles *s, int t, int a, int b)
{
    for (int i = 0; i < s->config.rows[t]; i++) {
        for (int j = 0; j < AMX_TILE; j++) {
            float sum[2] = { 0 }, c;

            for (int k = 0; k < AMX_TILE; k++)
                for (int half = 0; half < 2; half++)
                    sum[half] += amx_half(s->word[a][i][k], half) *
                                 amx_half(s->word[b][k][j], half);
            memcpy(&c, &s->word[t][i][j], sizeof c);
            c += sum[0] + sum[1];
            memcpy(&s->word[t][i][j], &c, sizeof c);
        }
    }
}

#if defined(__AVX512F__) && defined(HAVE_AMX)
enum { HAS_AMX_CODE = 1 };
# define AMX_ASM(...) __asm__ volatile(__VA_ARGS__)
#else
enum { HAS_AMX_CODE = 0 };
# define AMX_ASM(...) ((void)0)
#endif

#define AMX_LOAD(t, from, stride)                                              \
 do {                                                                          \
  if (plain)                                                                   \
   amx_c_load(&s, t, from, stride);                                            \
  else                                                                         \
   AMX_ASM("tileloadd (%0,%1,1), %%tmm" #t ::"r"(from), "r"(stride)            \
           : "memory");                                                        \
 } while (0)

#define AMX_STORE(t, to, stride)                                               \
 do {                                                                          \
  if (plain)                                                                   \
   amx_c_store(&s, t, to, stride);                                             \
  else                                                                         \
   AMX_ASM("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(to), "r"(stride)          \
           : "memory");                                                        \
 } while (0)

#define AMX_ADD(t, a, b)                                                       \
 do {                                                                          \
  if (plain)                                                                   \
   amx_c_add(&s, t, a, b);                                                     \
  else                                                                         \
   AMX_ASM("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #t ::);                 \
 } while (0)

/*
 * sum[0] + sum[1] += a(rows, K) b(K, GEMM_NR), in words; K is a multiple of
 * AMX_TILE.  The steps along k alternate between the two sums, because the
 * result of an addition is not there before three others could begin.
 */
VEC_FN void amx_multiply_add(const bool plain, float sum[2][GEMM_MR * GEMM_NR],
                             const float *a, const float *b, int64_t rows,
                             int64_t K)
{
    const int64_t a_row = K * (int64_t)sizeof *a;
    const int64_t row = GEMM_NR * (int64_t)sizeof *b;
    struct amx_tiles s;

    s.config = (struct amx_config){ .palette = 1 };
    for (int t = 0; t < 7; t++) {
        s.config.row_bytes[t] = AMX_TILE * sizeof *a;
        s.config.rows[t] = t < 5 ? (uint8_t)rows : AMX_TILE;
    }
    if (!plain)
        AMX_ASM("ldtilecfg %0" ::"m"(s.config));
    AMX_LOAD(0, sum[0], row);
    AMX_LOAD(1, sum[0] + AMX_TILE, row);
    AMX_LOAD(2, sum[1], row);
    AMX_LOAD(3, sum[1] + AMX_TILE, row);
    for (int64_t k = 0; k < K;
         k += AMX_TILE, a += AMX_TILE, b += AMX_TILE * GEMM_NR) {
        AMX_LOAD(4, a, a_row);
        AMX_LOAD(5, b, row);
        AMX_LOAD(6, b + AMX_TILE, row);
        if (k / AMX_TILE % 2) {
            AMX_ADD(2, 4, 5);
            AMX_ADD(3, 4, 6);
        } else {
            AMX_ADD(0, 4, 5);
            AMX_ADD(1, 4, 6);
        }
    }
    AMX_STORE(0, sum[0], row);
    AMX_STORE(1, sum[0] + AMX_TILE, row);
    AMX_STORE(2, sum[1], row);
    AMX_STORE(3, sum[1] + AMX_TILE, row);
    if (!plain)
        AMX_ASM("tilerelease" ::);
}

#endif
