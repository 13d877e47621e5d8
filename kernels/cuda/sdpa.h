#ifndef KERNELS_CUDA_SDPA_H
#define KERNELS_CUDA_SDPA_H

#include <stdbool.h>

#include "kernels/dev.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * sdpa - attention by cuDNN, where there is cuDNN
 *
 * The library is opened at run time and driven through its C interface: a graph
 * of operations for each shape, built once, for which it picks a kernel written
 * for the GPU at hand.  The functions do what attn_fwd_fn and attn_bwd_fn say
 * and return true, or return false before anything was done: no library, a
 * library too old, a shape, a type or a setting that it has no kernel for.
 * GT_CUDNN=off in the environment makes them return false always.
 */
bool sdpa_fwd(struct dev *dev, struct tensor *y, struct tensor *lse,
              const struct tensor *qkv, const struct attn *a);
bool sdpa_bwd(struct dev *dev, struct tensor *dqkv, const struct tensor *qkv,
              const struct tensor *y, const struct tensor *lse,
              const struct tensor *dy, const struct attn *a);

void sdpa_close(struct dev *dev);

/* "cuDNN 91900", or why it is not there; returns out. */
char *sdpa_describe(struct dev *dev, char *out, size_t room);

#ifdef __cplusplus
}
#endif

#endif
