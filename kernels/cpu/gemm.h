#pragma once

#include "kernels/cpu/cpu.h"

/*
 * gemm - products of matrices, the CPU's own
 *
 *      C(M,N) = A(M,K) B(K,N), added to what C holds or set
 *
 * The operands are views with any strides as long as one of the two is 1, of
 * any of the three element types; sums are kept in F32.  Both are first copied
 * ("packed") into the order in which the innermost loop reads them, which is
 * also where 16-bit numbers become floats and transposes happen.  Where the CPU
 * multiplies pairs of bf16 fast, a product with a B of bf16 is made of those
 * instead; an A of floats is rounded to bf16 then.
 *
 * The innermost loop keeps a tile of C, up to GEMM_MR rows by GEMM_NR columns,
 * in registers, and for each k adds the product of a column of A and a row of
 * B: GEMM_MR broadcasts and two vector loads for 2 GEMM_MR fused multiply-adds.
 * K is divided into blocks that depend on the shape alone, so an element is
 * always the same sum in the same order, whichever thread computes it.
 *
 * After the last block of K, `after` is called for each finished rectangle of
 * C, while it is in the cache, to apply an activation, for example.  A
 * rectangle begins at a multiple of GEMM_GROUP columns and has that many, or
 * the rest.
 *
 * Attention uses the tile and the packing too.
 */
#if defined(__AVX512F__)
enum { GEMM_MR = 14, GEMM_NR = 32 };
#elif defined(__AVX2__)
enum { GEMM_MR = 6, GEMM_NR = 16 };
#elif defined(CPU_SVE)
enum { GEMM_MR = 12, GEMM_NR = CPU_SVE / 16 };
#elif defined(CPU_NEON)
enum { GEMM_MR = 12, GEMM_NR = 8 };
#else
enum { GEMM_MR = 6, GEMM_NR = 8 };
#endif

/* Columns of a group, and words of k in a block, at most. */
enum { GEMM_GROUP = 384, GEMM_K = 384 };

/* Element (i, j) is at data[i * down + j * right]. */
struct gemm_view {
    const void *data;
    enum dtype type;
    int64_t down, right;
};

/* A matrix whose rows lie one after another, and its transpose. */
static inline struct gemm_view gemm_rows(const void *data, enum dtype type,
                                         int64_t cols)
{
    return (struct gemm_view){ data, type, cols, 1 };
}

static inline struct gemm_view gemm_turned(struct gemm_view v)
{
    return (struct gemm_view){ v.data, v.type, v.right, v.down };
}

struct gemm {
    int64_t M, N, K;
    struct gemm_view a, b;
    void *c;
    enum dtype c_type;
    int64_t c_down;
    bool add;                  /* to what C holds, instead of setting it */
    bool symmetric;            /* C is, and of floats: compute half of it */
    const struct tensor *bias; /* (N), added to every row; or NULL */
    void (*after)(void *arg, int64_t row, int64_t col, int64_t rows,
                  int64_t cols);
    void *arg;
};

/* scratch: gemm_scratch() bytes. */
void gemm(struct dev *, const struct gemm *, void *scratch) CPU_SYMBOL(gemm);
size_t gemm_scratch(const struct dev *, const struct gemm *)
    CPU_SYMBOL(gemm_scratch);
/* gemm() with the device's scratch; without memory, op fails. */
void gemm_run(struct dev *, const struct gemm *, const char *op)
    CPU_SYMBOL(gemm_run);

/* Whether multiplying pairs of bf16 is faster here than floats, by trial. */
bool gemm_pairs_pay(void) CPU_SYMBOL(gemm_pairs_pay);

/* rows of A from row i, k from..from+K, as out[k * rows + i]. */
void gemm_pack_a(float *out, const struct gemm_view *a, int64_t i, int64_t rows,
                 int64_t from, int64_t K) CPU_SYMBOL(gemm_pack_a);
/* GEMM_NR columns of B from column j (cols of them real, the others 0), as
 * out[k * GEMM_NR + j]. */
void gemm_pack_b(float *out, const struct gemm_view *b, int64_t j, int64_t cols,
                 int64_t from, int64_t K) CPU_SYMBOL(gemm_pack_b);
/* c(rows, cols) [+]= start + packed a times packed b; cols <= GEMM_NR.  start
 * is a row of GEMM_NR numbers, or NULL for zeros; K counts words of `per`
 * numbers, 1 or 2. */
void gemm_tile(int per, float *c, int64_t c_down, const float *a,
               const float *b, const float *start, int64_t rows, int64_t cols,
               int64_t K, bool add) CPU_SYMBOL(gemm_tile);
/* gemm_tile() of floats with an A that lies in rows of GEMM_NR, as a packed B
 * does. */
void gemm_tile_rows(float *c, int64_t c_down, const float *a, const float *b,
                    int64_t rows, int64_t cols, int64_t K, bool add)
    CPU_SYMBOL(gemm_tile_rows);

/* Panel i of n into which `rows` rows of A are cut begins at this row. */
static inline int64_t gemm_panels(int64_t rows)
{
    return (rows + GEMM_MR - 1) / GEMM_MR;
}

static inline int64_t gemm_panel(int64_t rows, int64_t i, int64_t n)
{
    return rows * i / n;
}
