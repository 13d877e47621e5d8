/*
 * sdpa_none - sdpa.h in a build without cuDNN's header
 */
#include "config.h"
#include "kernels/cuda/sdpa.h"

#include <stdio.h>

bool sdpa_fwd(struct dev *dev, struct tensor *y UNUSED,
              struct tensor *lse UNUSED, const struct tensor *qkv,
              const struct attn *a)
{
    if (qkv->type != DT_F32 && attn_is_plain(a))
        attention_say_slow(dev, "built without cuDNN's header");
    return false;
}

bool sdpa_bwd(struct dev *dev UNUSED, struct tensor *dqkv UNUSED,
              const struct tensor *qkv UNUSED, const struct tensor *y UNUSED,
              const struct tensor *lse UNUSED, const struct tensor *dy UNUSED,
              const struct attn *a UNUSED)
{
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
