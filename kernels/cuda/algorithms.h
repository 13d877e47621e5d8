#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/cublaslt.h"

BEGIN_EXTERN_C

/*
 * algorithms - the fastest algorithm of cuBLASLt for each kind of product
 *
 * They are kept in a file for each GPU model and library version,
 * $XDG_CACHE_HOME/gtrain/matmul-NAME-VERSION, or under ~/.cache.  A line has
 * the numbers of a key and the words of the algorithm in hexadecimal.  The file
 * is read when the library is opened, and replaced at each addition, so that a
 * run that is resumed multiplies as it did before.  If it cannot be read or
 * written, or has an invalid line, algorithms are measured again.  It can be
 * deleted at any time.
 */
struct algorithms_key { /* numbers of one size: keys are compared as memory */
    int64_t m, n, k, lda, ldb, ldd;
    int64_t type, out, compute, ta, tb, epilogue, adds;
    int64_t align_a, align_b, align_c, align_d, align_bias, align_aux;
};

struct algorithms_line {
    struct algorithms_key key;
    struct cublaslt_algo algo;
};

struct algorithms {
    char *path; /* NULL: no cache folder */
    struct algorithms_line *line;
    int n, room;
};

void algorithms_open(struct algorithms *, const char *gpu, size_t version);
bool algorithms_find(const struct algorithms *, const struct algorithms_key *,
                     struct cublaslt_algo *);
void algorithms_add(struct algorithms *, const struct algorithms_key *,
                    const struct cublaslt_algo *);
void algorithms_close(struct algorithms *);

END_EXTERN_C
