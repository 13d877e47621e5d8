#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * tensor - a typed, shaped view of memory on one device
 *
 * A tensor does not own its memory; it points into a region that does.  Copying
 * the struct copies the view, not the numbers.  Every tensor is dense and
 * row-major: the last dimension is contiguous.  data is 64-byte aligned.
 *
 * An operation that adds into a tensor sets it instead if `overwrite` is true.
 * So gradients need not be cleared.  One that multiplies by a matrix of weights
 * rounds both to fp8 first if `fp8` of the weights is true (ops.h).
 */
enum dtype {
    DT_F32,
    DT_BF16,
    DT_F16,
    DT_I32,
    DT_F64,
    DT_I8,
    DT_E4M3, /* fp8.h */
    DT_E5M2,
    DT_COUNT
};

struct tensor {
    void *data;
    enum dtype type;
    bool overwrite, fp8;
    int rank;
    int64_t dim[4];
};

static inline struct tensor tensor_vector(void *data, enum dtype type,
                                          int64_t n)
{
    const struct tensor t = { data, type, false, false, 1, { n, 0, 0, 0 } };

    return t;
}

static inline struct tensor tensor_matrix(void *data, enum dtype type,
                                          int64_t rows, int64_t cols)
{
    const struct tensor t = {
        data, type, false, false, 2, { rows, cols, 0, 0 }
    };

    return t;
}

static inline int64_t tensor_count(const struct tensor *t)
{
    int64_t n = 1;

    for (int i = 0; i < t->rank; i++)
        n *= t->dim[i];
    return n;
}

/* Columns of the last dimension, and rows of all the others together. */
static inline int64_t tensor_cols(const struct tensor *t)
{
    return t->rank ? t->dim[t->rank - 1] : 1;
}

static inline int64_t tensor_rows(const struct tensor *t)
{
    int64_t n = 1;

    for (int i = 0; i + 1 < t->rank; i++)
        n *= t->dim[i];
    return n;
}

static inline size_t dtype_size(enum dtype type)
{
    static const unsigned char sizes[DT_COUNT] = { 4, 2, 2, 4, 8, 1, 1, 1 };

    return sizes[type];
}

static inline size_t tensor_bytes(const struct tensor *t)
{
    return (size_t)tensor_count(t) * dtype_size(t->type);
}
