#ifndef KERNELS_CUDA_ALGORITHMS_H
#define KERNELS_CUDA_ALGORITHMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "kernels/cuda/cublaslt.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * plans - which algorithm is the fastest for a product, kept in a file
 *
 * One file for each GPU model and library version:
 * $XDG_CACHE_HOME/gtrain/matmul-NAME-VERSION, or under ~/.cache.  A line holds
 * a key's numbers and the algorithm's words in hexadecimal.  It is read when
 * the library is opened and replaced, whole, at each addition, so that a run
 * that is resumed multiplies as it did before.  A file that cannot be read or
 * written, or a line that is not understood, costs only the time to measure
 * again.  Deleting it is always safe.
 */
struct plan_key {
    int64_t m, n, k, lda, ldb, ldd;
    int32_t type, out, compute, ta, tb, epilogue, adds;
    int32_t align_a, align_b, align_c, align_d, align_bias, align_aux;
};

struct plan_line {
    struct plan_key key;
    struct lt_algo algo;
};

struct plan_file {
    char *path;                         /* NULL: nowhere to keep it */
    struct plan_line *line;
    int n, room;
};

void plan_file_open(struct plan_file *, const char *gpu, size_t version);
bool plan_file_find(const struct plan_file *, const struct plan_key *,
                    struct lt_algo *);
void plan_file_add(struct plan_file *, const struct plan_key *,
                   const struct lt_algo *);
void plan_file_close(struct plan_file *);

#ifdef __cplusplus
}
#endif

#endif
