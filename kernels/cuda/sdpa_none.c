/*
 * sdpa_none - sdpa.h in a build without cuDNN's header
 */
#include "config.h"
#include "kernels/cuda/sdpa.h"

#include <stdio.h>

bool sdpa_fwd(struct dev *dev, struct tensor *y, struct tensor *lse,
              const struct tensor *qkv, const struct attn *a)
{
    (void)y, (void)lse;
    if (qkv->type != DT_F32 && attn_is_plain(a))
        attention_say_slow(dev, "built without cuDNN's header");
    return false;
}

bool sdpa_bwd(struct dev *dev, struct tensor *dqkv, const struct tensor *qkv,
              const struct tensor *y, const struct tensor *lse,
              const struct tensor *dy, const struct attn *a)
{
    (void)dev, (void)dqkv, (void)qkv, (void)y, (void)lse, (void)dy, (void)a;
    return false;
}

void sdpa_close(struct dev *dev UNUSED)
{
}

bool sdpa_switch_off(struct dev *dev UNUSED)
{
    return false;
}

char *sdpa_describe(struct dev *dev UNUSED, char *out, size_t room)
{
    snprintf(out, room, "built without cuDNN");
    return out;
}
