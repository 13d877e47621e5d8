#ifndef KERNELS_CPU_AMX_H
#define KERNELS_CPU_AMX_H

#include "kernels/cpu/gemm.h"
#include "kernels/cpu/vec.h"

/*
 * tiles - products of bf16 by AMX, whose registers are tiles
 *
 * A tile has 16 rows of 16 words.  One instruction multiplies a tile of A, with
 * pairs of neighbours in k as its words, by a tile of B, a row for each pair,
 * and adds the product to a tile of floats: 16 x 16 x 32 multiplications.
 *
 * The same loop can be had with plain loops in the place of the instructions
 * (GTRAIN_ISA=amx-c), for processors that lack them: that is how it is tested.
 */
enum { TILE = 16 };

/* What ldtilecfg reads. */
struct tile_config {
    uint8_t palette, start_row, none[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* Tiles 0 to 3 are sums, 4 of A, 5 and 6 of B. */
struct tiles {
    struct tile_config config;
    uint32_t word[7][TILE][TILE]; /* of the plain ones */
};

static inline void plain_load(struct tiles *s, int t, const void *from,
                              int64_t stride)
{
    for (int i = 0; i < s->config.rows[t]; i++)
        memcpy(s->word[t][i], (const char *)from + i * stride,
               sizeof s->word[t][i]);
}

static inline void plain_store(const struct tiles *s, int t, void *to,
                               int64_t stride)
{
    for (int i = 0; i < s->config.rows[t]; i++)
        memcpy((char *)to + i * stride, s->word[t][i], sizeof s->word[t][i]);
}

/* The number in half of a word. */
static inline float half_of(uint32_t word, int half)
{
    const uint32_t bits = half ? word & 0xFFFF0000 : word << 16;
    float f;

    memcpy(&f, &bits, sizeof f);
    return f;
}

/* First and second numbers of pairs are added up apart. */
static inline void plain_add(struct tiles *s, int t, int a, int b)
{
    for (int i = 0; i < s->config.rows[t]; i++) {
        for (int j = 0; j < TILE; j++) {
            float sum[2] = { 0 }, c;

            for (int k = 0; k < TILE; k++)
                for (int half = 0; half < 2; half++)
                    sum[half] += half_of(s->word[a][i][k], half) *
                                 half_of(s->word[b][k][j], half);
            memcpy(&c, &s->word[t][i][j], sizeof c);
            c += sum[0] + sum[1];
            memcpy(&s->word[t][i][j], &c, sizeof c);
        }
    }
}

#if defined(__AVX512F__) && defined(HAVE_AMX)
enum { HAS_TILES = 1 };
# define TILE_ASM(...) __asm__ volatile(__VA_ARGS__)
#else
enum { HAS_TILES = 0 };
# define TILE_ASM(...) ((void)0)
#endif

#define TILE_LOAD(t, from, stride)                                             \
 do {                                                                          \
  if (plain)                                                                   \
   plain_load(&s, t, from, stride);                                            \
  else                                                                         \
   TILE_ASM("tileloadd (%0,%1,1), %%tmm" #t ::"r"(from), "r"(stride)           \
            : "memory");                                                       \
 } while (0)

#define TILE_STORE(t, to, stride)                                              \
 do {                                                                          \
  if (plain)                                                                   \
   plain_store(&s, t, to, stride);                                             \
  else                                                                         \
   TILE_ASM("tilestored %%tmm" #t ", (%0,%1,1)" ::"r"(to), "r"(stride)         \
            : "memory");                                                       \
 } while (0)

#define TILE_ADD(t, a, b)                                                      \
 do {                                                                          \
  if (plain)                                                                   \
   plain_add(&s, t, a, b);                                                     \
  else                                                                         \
   TILE_ASM("tdpbf16ps %%tmm" #b ", %%tmm" #a ", %%tmm" #t ::);                \
 } while (0)

/*
 * sum[0] + sum[1] += a(rows, K) b(K, GEMM_NR), in words; K is a multiple of
 * TILE.  The steps along k take turns at the two, since an addition takes as
 * long as three others.
 */
VEC_FN void tiles_add(const bool plain, float sum[2][GEMM_MR * GEMM_NR],
                      const float *a, const float *b, int64_t rows, int64_t K)
{
    const int64_t a_row = K * (int64_t)sizeof *a;
    const int64_t row = GEMM_NR * (int64_t)sizeof *b;
    struct tiles s;

    s.config = (struct tile_config){ .palette = 1 };
    for (int t = 0; t < 7; t++) {
        s.config.row_bytes[t] = TILE * sizeof *a;
        s.config.rows[t] = t < 5 ? (uint8_t)rows : TILE;
    }
    if (!plain)
        TILE_ASM("ldtilecfg %0" ::"m"(s.config));
    TILE_LOAD(0, sum[0], row);
    TILE_LOAD(1, sum[0] + TILE, row);
    TILE_LOAD(2, sum[1], row);
    TILE_LOAD(3, sum[1] + TILE, row);
    for (int64_t k = 0; k < K; k += TILE, a += TILE, b += TILE * GEMM_NR) {
        TILE_LOAD(4, a, a_row);
        TILE_LOAD(5, b, row);
        TILE_LOAD(6, b + TILE, row);
        if (k / TILE % 2) {
            TILE_ADD(2, 4, 5);
            TILE_ADD(3, 4, 6);
        } else {
            TILE_ADD(0, 4, 5);
            TILE_ADD(1, 4, 6);
        }
    }
    TILE_STORE(0, sum[0], row);
    TILE_STORE(1, sum[0] + TILE, row);
    TILE_STORE(2, sum[1], row);
    TILE_STORE(3, sum[1] + TILE, row);
    if (!plain)
        TILE_ASM("tilerelease" ::);
}

#endif
