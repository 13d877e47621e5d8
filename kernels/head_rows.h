#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * head_rows - how many rows of logits are computed at once
 *
 * On a GPU, as many of N rows of V columns as fit in the memory for logits, in
 * equal chunks: at most HEAD_BYTES, and one part in HEAD_SHARE of the device's
 * memory, but at least HEAD_ROWS.
 *
 * On a CPU, HEAD_CPU_FLOATS, but at least HEAD_CPU_LEAST rows and at most
 * HEAD_CPU_MOST.
 */
enum {
    HEAD_BYTES = 1600 << 20,
    HEAD_SHARE = 24,
    HEAD_ROWS = 128, /* a chunk is a multiple of this */
    HEAD_CPU_FLOATS = 24 << 20,
    HEAD_CPU_LEAST = 128,
    HEAD_CPU_MOST = 2048,
};

/* Rows of each of the equal chunks of N rows that have at most `most`. */
static inline int64_t head_equal_rows(int64_t N, int64_t most)
{
    const int64_t chunks = N > 0 ? (N - 1) / most + 1 : 1;

    return (N + chunks - 1) / chunks;
}

static inline int64_t head_rows(int64_t memory, int64_t N, int64_t V,
                                size_t element)
{
    const int64_t share = memory / HEAD_SHARE;
    const int64_t room = share < HEAD_BYTES ? share : (int64_t)HEAD_BYTES;
    int64_t most = room / (V * (int64_t)element);

    most = most < HEAD_ROWS ? (int64_t)HEAD_ROWS : most / HEAD_ROWS * HEAD_ROWS;
    return head_equal_rows(N, most);
}

static inline int64_t head_rows_cpu(int64_t N, int64_t V)
{
    int64_t most = HEAD_CPU_FLOATS / V;

    most = most < HEAD_CPU_LEAST ? (int64_t)HEAD_CPU_LEAST : most;
    most = most > HEAD_CPU_MOST ? (int64_t)HEAD_CPU_MOST : most;
    return head_equal_rows(N, most);
}
