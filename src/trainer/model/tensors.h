#ifndef TRAINER_MODEL_TENSORS_H
#define TRAINER_MODEL_TENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * tensors - named arrays in a safetensors file
 *
 * The format is Hugging Face's: eight bytes of length, that much JSON (name,
 * type, shape, place), then the numbers, little-endian.  Writing goes through
 * save.h, so the file appears whole; reading maps it and checks each place
 * against the file's size before anything is used.
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

/* All elements as floats: F32, BF16, F16. */
int tensors_array_floats(const struct tensors_array *, float *out,
                         struct err *);
int64_t tensors_array_count(const struct tensors_array *);

#endif
