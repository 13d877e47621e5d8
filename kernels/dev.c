/*
 * dev - devices by name
 */
#include "config.h"
#include "kernels/dev.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"

#include <string.h>

const struct dev_type *const dev_types[] = { &cpu_dev,
#ifdef HAVE_CUDA
                                             &cuda_dev,
#endif
                                             NULL };

const struct ops ref_ops = { .name = "ref",
#define REF_ROW(op) .op = ref_##op,
                             OPS_ALL(REF_ROW)
#undef REF_ROW
};

static int open_type(struct dev *dev, const struct dev_type *type, int index,
                     struct err *e)
{
    *dev = (struct dev){
        .type = type,
        .index = index,
        .threads = dev->threads,
        .deterministic = dev->deterministic,
        .tf32 = dev->tf32,
        .fp8 = dev->fp8,
    };
    if (type->open(dev, e) == 0)
        return 0;
    dev->type = NULL;
    return -1;
}

/* The first device after the CPU that opens, else the CPU.  A device that
 * exists but does not open is an error: the CPU would be much slower. */
static int open_auto(struct dev *dev, struct err *e)
{
    for (int i = 1; dev_types[i]; i++) {
        struct err why = { 0 };

        if (open_type(dev, dev_types[i], 0, &why) == 0)
            return 0;
        if (why.kind != ERR_MISSING)
            return err_set(e, why.kind,
                           "%s; choose the device cpu to do without it",
                           why.text);
    }
    return open_type(dev, &cpu_dev, 0, e);
}

/* "cuda:1": the type before the colon, the index after it. */
static const struct dev_type *find_named(const char *name, int *index,
                                         struct err *e)
{
    static const char *const kinds[] = { "cpu", "cuda", "auto", NULL };
    const char *colon = strchr(name, ':');
    const size_t len = colon ? (size_t)(colon - name) : strlen(name);
    int64_t number = 0;

    if (colon &&
        (!num_int(colon + 1, &number) || number < 0 || number > 1023)) {
        err_set(e, ERR_USAGE, "device '%s' expects a number after ':'", name);
        return NULL;
    }
    *index = (int)number;
    for (int i = 0; dev_types[i]; i++)
        if (strlen(dev_types[i]->name) == len &&
            strncmp(dev_types[i]->name, name, len) == 0)
            return dev_types[i];
    err_set(e, ERR_USAGE, "no device '%s' in this build", name);
    if (!colon)
        opt_nearest_word(kinds, name, e);
    return NULL;
}

int dev_known(const char *name, struct err *e)
{
    int index;

    if (strcmp(name, "auto") == 0 || strcmp(name, "ref") == 0)
        return 0;
    return find_named(name, &index, e) ? 0 : -1;
}

int dev_open(struct dev *dev, const char *name, struct err *e)
{
    const struct dev_type *type;
    int index;

    if (strcmp(name, "auto") == 0)
        return open_auto(dev, e);
    if (strcmp(name, "ref") != 0) {
        type = find_named(name, &index, e);
        return type ? open_type(dev, type, index, e) : -1;
    }
    if (open_type(dev, &cpu_dev, 0, e) < 0)
        return -1;
    dev->ops = &ref_ops;
    return 0;
}

bool dev_is_gpu(const char *name)
{
    struct dev dev = { .threads = 1 };
    struct err e = { 0 };
    bool gpu;

    if (strcmp(name, "auto") != 0)
        return strncmp(name, "cuda", 4) == 0;
    gpu = dev_open(&dev, name, &e) < 0 || dev.type != &cpu_dev;
    if (dev.type)
        dev_close(&dev);
    return gpu;
}

/* ---- memory ------------------------------------------------------------ */

const char *const dev_use_names[DEV_USES] = {
    [DEV_WEIGHTS] = "weights",     [DEV_GRADS] = "gradients",
    [DEV_MOMENTS] = "moments",     [DEV_ACTIVATIONS] = "activations",
    [DEV_INPUTS] = "inputs",       [DEV_CACHES] = "caches",
    [DEV_TRIALS] = "trials",       [DEV_SCRATCH] = "scratch",
    [DEV_WORKSPACE] = "workspace",
};

struct dev_block {
    struct dev_block *next;
    void *p;
    size_t n;
    enum dev_use use;
};

void dev_took(struct dev *dev, enum dev_use use, size_t n)
{
    struct dev_memory *m = &dev->memory;

    m->of[use].now += n;
    if (m->of[use].now > m->of[use].most)
        m->of[use].most = m->of[use].now;
    m->reserved += n;
    if (use < DEV_SCRATCH)
        m->allocated += n;
    if (m->allocated > m->peak)
        m->peak = m->allocated;
}

void dev_gave(struct dev *dev, enum dev_use use, size_t n)
{
    struct dev_memory *m = &dev->memory;

    m->of[use].now -= n;
    m->reserved -= n;
    if (use < DEV_SCRATCH)
        m->allocated -= n;
}

void *dev_alloc(struct dev *dev, size_t n, enum dev_use use, struct err *e)
{
    void *p = dev->type->alloc(dev, n, e);
    struct dev_block *b;

    dev->memory.refused |= !p;
    if (!p)
        return NULL;
    b = xmalloc(sizeof *b);
    *b = (struct dev_block){ dev->blocks, p, n, use };
    dev->blocks = b;
    dev_took(dev, use, n);
    return p;
}

void dev_free(struct dev *dev, void *p)
{
    struct dev_block **at = &dev->blocks, *b;

    while (*at && (*at)->p != p)
        at = &(*at)->next;
    b = *at;
    if (!b)
        return;
    *at = b->next;
    dev_gave(dev, b->use, b->n);
    dev->type->free(dev, p);
    free(b);
}

/* ---- work -------------------------------------------------------------- */

int dev_sync(struct dev *dev, struct err *e)
{
    return dev->type->sync(dev, e);
}

int dev_receive(struct dev *dev, struct err *e)
{
    return dev->type->receive ? dev->type->receive(dev, e) : dev_sync(dev, e);
}

void dev_close(struct dev *dev)
{
    while (dev->blocks)
        dev_free(dev, dev->blocks->p);
    if (dev->type)
        dev->type->close(dev);
    dev->type = NULL;
}
