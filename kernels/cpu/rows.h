#pragma once

#include "kernels/cpu/cpu.h"

/*
 * rows - what several of the CPU's operations do to many numbers or rows
 *
 * Sums over rows are divided into chunks by the number of rows alone; each
 * chunk is summed into a row of `part`, and the parts are added in their order.
 */
/* y(n) = act(x(n)), of one type.  y may be x. */
void rows_act(void *y, const void *x, enum dtype type, int64_t n, enum act)
    CPU_SYMBOL(rows_act);

/* d(n) = act'(x(n)) * d(n), of one type. */
void rows_slope(void *d, const void *x, enum dtype type, int64_t n, enum act)
    CPU_SYMBOL(rows_slope);

/* out(C) += column sums of x(N,C). */
void rows_sum_cols(struct dev *, struct tensor *out, const struct tensor *x)
    CPU_SYMBOL(rows_sum_cols);

enum { ROWS_CHUNKS = 64 };

/* Chunks of N rows, and where chunk i of n begins. */
static inline int64_t rows_chunks(int64_t N)
{
    const int64_t n = (N + 7) / 8;

    return n < ROWS_CHUNKS ? n : ROWS_CHUNKS;
}

static inline int64_t rows_chunk(int64_t N, int64_t i, int64_t n)
{
    return N * i / n;
}

/* out(C) += sum over i < n of part[i * stride + c]; out may be NULL. */
void rows_reduce(struct dev *, struct tensor *out, const float *part,
                 int64_t stride, int64_t n) CPU_SYMBOL(rows_reduce);

/* Elements of a piece of work: fewer are not worth a thread. */
enum { ROWS_PIECE = 8192 };

static inline int64_t rows_pieces(int64_t n)
{
    return (n + ROWS_PIECE - 1) / ROWS_PIECE;
}

static inline int64_t rows_piece(int64_t n, int64_t from)
{
    return n - from < ROWS_PIECE ? n - from : ROWS_PIECE;
}
