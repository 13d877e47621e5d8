#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/save.h"
#include "trainer/convert/convert.h"

/*
 * llm.c's file: 256 int32 (magic, version, context, vocabulary, layers, heads,
 * width, padded vocabulary), then fp32 tensors, each kind for all layers.
 */
enum { HEAD = 256, MAGIC = 20240326, VERSION = 3 };

static const char *const order[] = {
    "wte.weight",
    "wpe.weight",
    "h.%d.ln_1.weight",
    "h.%d.ln_1.bias",
    "h.%d.attn.qkv.weight",
    "h.%d.attn.qkv.bias",
    "h.%d.attn.proj.weight",
    "h.%d.attn.proj.bias",
    "h.%d.ln_2.weight",
    "h.%d.ln_2.bias",
    "h.%d.mlp.fc.weight",
    "h.%d.mlp.fc.bias",
    "h.%d.mlp.proj.weight",
    "h.%d.mlp.proj.bias",
    "ln_f.weight",
    "ln_f.bias",
};

enum { KINDS = sizeof order / sizeof order[0] };

/* Parameter i of layer l, in the file's order; all must be there. */
typedef int each_fn(void *arg, const struct graph_param *, struct err *);

static int each(const struct job *j, each_fn *call, void *arg, struct err *e)
{
    for (int k = 0; k < KINDS; k++) {
        const int64_t n = strstr(order[k], "%d") ? j->set->model.layers : 1;

        for (int l = 0; l < n; l++) {
            const struct graph_param *p =
                convert_param(&j->gpt.graph, order[k], l);

            if (!p)
                return err_set(e, ERR_USAGE,
                               "llm.c's models have biases and "
                               "a tied head; this one lacks %s",
                               order[k]);
            if (call(arg, p, e) < 0)
                return -1;
        }
    }
    return 0;
}

struct file {
    FILE *fp;
    float *weights;
};

static int write_one(void *arg, const struct graph_param *p, struct err *e)
{
    const struct file *f = arg;

    (void)e;
    fwrite(f->weights + p->at, sizeof(float), (size_t)p->count, f->fp);
    return 0;
}

static int read_one(void *arg, const struct graph_param *p, struct err *e)
{
    const struct file *f = arg;

    if (fread(f->weights + p->at, sizeof(float), (size_t)p->count, f->fp) !=
        (size_t)p->count)
        return err_set(e, ERR_INPUT, "the file is cut short at %s", p->name);
    return 0;
}

int convert_write_llmc(const struct job *j, const float *weights,
                       const char *path, struct err *e)
{
    const struct model_settings *m = &j->set->model;
    const int32_t head[HEAD] = { MAGIC,
                                 VERSION,
                                 (int32_t)m->context,
                                 (int32_t)m->vocab,
                                 (int32_t)m->layers,
                                 (int32_t)m->heads,
                                 (int32_t)m->width,
                                 (int32_t)j->set->is.vocab_padded };
    struct file f = { .weights = (float *)(uintptr_t)weights };
    struct save s = SAVE_INIT;
    int ret = -1;

    if (!convert_family(j->set, e))
        return -1;
    if (!m->tied || j->set->is.d_ff != 4 * m->width || m->mlp != MLP_GELU_TANH)
        return err_set(e, ERR_USAGE,
                       "llm.c's models have a tied head, an MLP "
                       "of 4 x width and gelu_tanh");
    if (save_open(&s, path, e) == 0) {
        f.fp = s.fp;
        fwrite(head, sizeof head, 1, s.fp);
        ret = each(j, write_one, &f, e);
        if (ret == 0)
            ret = save_commit(&s, e);
    }
    save_abandon(&s);
    return ret;
}

static FILE *open_head(const char *path, int32_t head[HEAD], struct err *e)
{
    FILE *fp = fopen(path, "re");

    if (!fp) {
        err_open(e, "cannot open %s", path);
        return NULL;
    }
    if (fread(head, sizeof *head, HEAD, fp) == HEAD && head[0] == MAGIC &&
        head[1] == VERSION)
        return fp;
    err_set(e, ERR_INPUT, "%s: no llm.c checkpoint of version 3 (fp32)", path);
    fclose(fp);
    return NULL;
}

int convert_settings_llmc(const char *path, struct buf *out, struct err *e)
{
    static const char *const keys[] = { "context", "vocab", "layers", "heads",
                                        "width" };
    int32_t head[HEAD];
    FILE *fp = open_head(path, head, e);

    if (!fp)
        return -1;
    fclose(fp);
    for (int i = 0; i < 5; i++)
        buf_printf(out, "model.%s=%d\n", keys[i], head[2 + i]);
    buf_printf(out, "model.vocab_multiple=%d\nmodel.mlp=gelu_tanh\n",
               head[7] == head[3] ? 1 : 128);
    return 0;
}

int convert_read_llmc(const struct job *j, float *weights, const char *path,
                      struct err *e)
{
    struct file f = { .weights = weights };
    int32_t head[HEAD];
    int ret;

    f.fp = open_head(path, head, e);
    if (!f.fp)
        return -1;
    ret =
        j->set->is.vocab_padded == head[7]
            ? each(j, read_one, &f, e)
            : err_set(e, ERR_INPUT, "its vocabulary is padded to %d, not %lld",
                      head[7], (long long)j->set->is.vocab_padded);
    fclose(f.fp);
    return ret < 0 ? err_wrap(e, "%s", path) : 0;
}
