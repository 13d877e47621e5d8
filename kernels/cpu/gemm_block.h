#pragma once

#include "kernels/cpu/gemm.h"

/*
 * gemm_block - one block of each side of a product, packed
 *
 * gemm.c divides a product into blocks and multiplies them; gemm_pack.c packs
 * them, in pieces that the threads of a team share.  What is packed are words:
 * floats, or pairs of bf16 (`per` numbers each) that are neighbours in k.
 * Where the last number has no neighbour, that is 0.
 */
struct gemm_block {
    const struct gemm *g;
    int per;
    float *a, *b;
    int64_t row, rows, panels; /* of A, divided evenly into panels */
    int64_t col, cols;
    int64_t from, K;    /* words */
    int64_t strip, run; /* columns of B in a strip, panels of A in a run */
    bool add, last, near;
};

static inline int64_t gemm_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t gemm_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t gemm_count_words(int64_t numbers, int per)
{
    return (numbers + per - 1) / per;
}

/* The numbers of its part of k. */
static inline int64_t gemm_block_first(const struct gemm_block *b)
{
    return b->from * b->per;
}

static inline int64_t gemm_block_numbers(const struct gemm_block *b)
{
    return gemm_min(b->K * b->per, b->g->K - gemm_block_first(b));
}

static inline int64_t gemm_block_row(const struct gemm_block *b, int64_t panel)
{
    return gemm_panel(b->rows, panel, b->panels);
}

/*
 * The pieces of packing.  Where k runs along the rows of memory (both sides of
 * y = x w'), a piece is a panel.  Where k runs across them (both sides of dw =
 * dy' x), a piece is some rows, which are read from end to end into all panels:
 * a single panel would need a few numbers of each row, and wait for each.
 */
enum { GEMM_PIECE_ROWS = 16 };

static inline int64_t gemm_block_pieces(int64_t along, int64_t panels,
                                        int64_t K)
{
    return along == 1 ? panels : gemm_ceil_div(K, GEMM_PIECE_ROWS);
}

/* Pack a piece of A or B; or a panel of A, `rows` rows from `row`, where k runs
 * along the rows of A. */
void gemm_block_pack_a(const struct gemm_block *, int64_t piece)
    CPU_SYMBOL(gemm_block_pack_a);
void gemm_block_pack_b(const struct gemm_block *, int64_t piece)
    CPU_SYMBOL(gemm_block_pack_b);
void gemm_block_pack_panel(const struct gemm_block *, float *out, int64_t row,
                           int64_t rows) CPU_SYMBOL(gemm_block_pack_panel);
