#ifndef KERNELS_HEAD_ROWS_H
#define KERNELS_HEAD_ROWS_H

#include <stddef.h>
#include <stdint.h>

/*
 * head_rows - how many rows of logits a GPU computes at once
 *
 * As many of N rows of V columns as fit in the memory for logits, in equal
 * chunks: at most HEAD_BYTES, and one part in HEAD_SHARE of the device's
 * memory, but at least HEAD_ROWS.
 */
enum {
    HEAD_BYTES = 1600 << 20,
    HEAD_SHARE = 24,
    HEAD_ROWS = 128, /* a chunk is a multiple of this */
};

static inline int64_t head_rows(int64_t memory, int64_t N, int64_t V,
                                size_t element)
{
    const int64_t share = memory / HEAD_SHARE;
    const int64_t room = share < HEAD_BYTES ? share : (int64_t)HEAD_BYTES;
    int64_t most = room / (V * (int64_t)element), chunks;

    most = most < HEAD_ROWS ? (int64_t)HEAD_ROWS
                            : most / HEAD_ROWS * HEAD_ROWS;
    chunks = (N + most - 1) / most;
    return (N + chunks - 1) / chunks;
}

#endif
