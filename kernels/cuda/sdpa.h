#pragma once

#include <stdbool.h>

#include "kernels/dev.h"

BEGIN_EXTERN_C

/*
 * sdpa - attention by cuDNN
 *
 * The library is opened at run time and used through its C interface.  A graph
 * of operations is built once for each shape, and cuDNN chooses a kernel for it
 * that is written for this GPU.  The functions do what attn_fwd_fn and
 * attn_bwd_fn say and return true, or return false and do nothing: if there is
 * no library, if it is too old, or if it has no kernel for a shape, type or
 * setting.  GT_CUDNN=off in the environment makes them return false.
 */
bool sdpa_fwd(struct dev *dev, struct tensor *y, struct tensor *lse,
              const struct tensor *qkv, const struct attn *a);
bool sdpa_bwd(struct dev *dev, struct tensor *dqkv, const struct tensor *qkv,
              const struct tensor *y, const struct tensor *lse,
              const struct tensor *dy, const struct attn *a);

/* Warn, once for a device, that attention is slower than by cuDNN, and why. */
void attention_say_slow(struct dev *dev, const char *why);

void sdpa_close(struct dev *dev);

/* Do not use cuDNN from now on; false if it is not used anyway. */
bool sdpa_switch_off(struct dev *dev);

/* "cuDNN 91900", or why it is not there; returns out. */
char *sdpa_describe(struct dev *dev, char *out, size_t room);

END_EXTERN_C
