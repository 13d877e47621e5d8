#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * tensors - named arrays in a safetensors file
 *
 * The format is Hugging Face's: eight bytes with the length of the header, the
 * header in JSON (name, type, shape and offsets of each array), then the
 * numbers, little-endian.  A file is written by save.h, so it appears as a
 * whole.  Reading maps the file; before anything is used, it checks the offsets
 * of each array against its size, and that the arrays use each byte once.
 *
 *      if (tensors_open(&t, path, e) < 0)
 *          return -1;
 *      a = tensors_find(t, "wte.weight");
 *      ...
 *      tensors_close(t);
 */
struct tensors_array {
    const char *name;
    const char *type; /* "F32", "BF16", "F16", "I8", ... */
    int rank;
    int64_t dim[4];
    const void *data;
    size_t bytes;
};

int tensors_write(const char *path, const struct tensors_array *, int n,
                  struct err *);

struct tensors;

int tensors_open(struct tensors **, const char *path, struct err *);
void tensors_close(struct tensors *);
int tensors_count(const struct tensors *);
const struct tensors_array *tensors_at(const struct tensors *, int i);
const struct tensors_array *tensors_find(const struct tensors *,
                                         const char *name);

/* Convert all elements to float: of F32, BF16 or F16. */
int tensors_array_floats(const struct tensors_array *, float *out,
                         struct err *);
int64_t tensors_array_count(const struct tensors_array *);
bool tensors_all_finite(const float *, int64_t n);
