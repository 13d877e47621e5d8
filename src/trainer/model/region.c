#include "config.h"
#include "trainer/model/region.h"

/* Advice for making a region smaller. */
static const char *const remedies[DEV_USES] = {
    [DEV_WEIGHTS] = "; set parallel.mode = fsdp to shard weights",
    [DEV_GRADS] = "; set parallel.mode = zero2 to shard gradients",
    [DEV_MOMENTS] = "; set parallel.mode = zero1 to shard moments",
    [DEV_ACTIVATIONS] = "; reduce train.micro_batch or set train.recompute = "
                        "layer",
    [DEV_INPUTS] = "; reduce train.micro_batch",
};

int region_alloc(struct region *r, struct dev *dev, enum dev_use use,
                 struct err *e)
{
    if (r->bytes == 0)
        return 0;
    r->data = dev_alloc(dev, r->bytes, use, e);
    if (!r->data) {
        const struct err why = *e;

        return err_set(e, why.kind, "%s: %s%s", dev_use_names[use], why.text,
                       remedies[use] ? remedies[use] : "");
    }
    dev->type->zero(dev, r->data, r->bytes);
    return 0;
}

void region_free(struct region *r, struct dev *dev)
{
    if (r->data)
        dev_free(dev, r->data);
    *r = (struct region){ 0 };
}
