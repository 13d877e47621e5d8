/*
 * convert_llmc - the checkpoint of llm.c's GPT-2
 *
 * The file is 256 int32 (magic, version, context, vocabulary, layers, heads,
 * width, padded vocabulary), then the tensors, each kind for all layers: in
 * fp32 in version 3, in bf16 in version 5.
 */
#include "config.h"
#include "trainer/convert/convert.h"

#include <stdio.h>
#include <string.h>

#include "common/save.h"
#include "kernels/half.h"

enum { HEAD = 256, MAGIC = 20240326, FP32 = 3, BF16 = 5, BLOCK = 4096 };

struct llmc_file {
    FILE *fp;
    float *weights;
    int32_t version;
    int64_t positions; /* elements of wpe.weight in the file */
};

static int write_param(void *arg, const struct convert_tensor *t,
                       struct err *e UNUSED)
{
    const struct llmc_file *f = arg;
    const struct graph_param *p = t->param;
    const float *from = f->weights + p->at;
    uint16_t block[BLOCK];

    for (int64_t at = 0, n; at < p->count && f->version == BF16; at += n) {
        n = p->count - at < BLOCK ? p->count - at : BLOCK;
        for (int64_t i = 0; i < n; i++)
            block[i] = bf16_from_float(from[at + i]);
        fwrite(block, sizeof *block, (size_t)n, f->fp);
    }
    if (f->version == FP32)
        fwrite(from, sizeof *from, (size_t)p->count, f->fp);
    return 0;
}

static int read_param(void *arg, const struct convert_tensor *t, struct err *e)
{
    const struct llmc_file *f = arg;
    const struct graph_param *p = t->param;
    const bool cropped = t->slice.cropped && f->positions > p->count;
    const size_t size = f->version == BF16 ? sizeof(uint16_t) : sizeof(float);
    const size_t n = (size_t)p->count;
    float *to = f->weights + p->at;
    /* bf16 in the second half of the place of the numbers */
    unsigned char *from = (unsigned char *)(to + p->count) - size * n;
    uint16_t half;

    if (fread(from, size, n, f->fp) != n)
        return ferror(f->fp) ? err_sys(e, "cannot read %s", p->name)
                             : err_input(e, "the file ends before %s", p->name);
    for (size_t i = 0; i < n && f->version == BF16; i++) {
        memcpy(&half, from + size * i, size);
        to[i] = float_from_bf16(half);
    }
    if (cropped &&
        fseeko(f->fp, (off_t)size * (f->positions - p->count), SEEK_CUR) < 0)
        return err_sys(e, "cannot read");
    return 0;
}

int convert_check_llmc(const struct settings *s, struct err *e)
{
    const struct model_settings *m = &s->model;
    const struct convert_family *f = convert_family(s, e);

    if (!f)
        return -1;
    if (strcmp(f->type, "gpt2") != 0 || !convert_has_biases(s) || !m->tied ||
        s->is.d_ff != 4 * m->width || m->mlp != MLP_GELU_TANH)
        return err_set(
            e, ERR_USAGE,
            "llm.c needs a GPT-2 with biases, a tied head, an MLP of "
            "4 x width and gelu_tanh");
    return 0;
}

/* The file has the parameters in the order in which convert.c lists GPT-2's. */
static int walk_params(const struct engine *eng, convert_tensor_fn *fn,
                       struct llmc_file *f, struct err *e)
{
    if (convert_check_llmc(eng->set, e) < 0)
        return -1;
    return convert_walk(eng, convert_family(eng->set, e), fn, f, e);
}

int convert_write_llmc(const struct engine *eng, const float *weights,
                       enum convert_format format, const char *path,
                       struct err *e)
{
    const int32_t version = format == CONVERT_LLMC_BF16 ? BF16 : FP32;
    const struct model_settings *m = &eng->set->model;
    const int32_t head[HEAD] = { MAGIC,
                                 version,
                                 (int32_t)m->context,
                                 (int32_t)m->vocab,
                                 (int32_t)m->layers,
                                 (int32_t)m->heads,
                                 (int32_t)m->width,
                                 (int32_t)eng->set->is.vocab_padded };
    struct llmc_file f = { .weights = (float *)(uintptr_t)weights,
                           .version = version };
    AUTO(save_abandon) struct save s = { 0 };

    if (save_open(&s, path, e) < 0)
        return -1;
    f.fp = s.fp;
    fwrite(head, sizeof head, 1, s.fp);
    return walk_params(eng, write_param, &f, e) < 0 ? -1 : save_commit(&s, e);
}

static FILE *open_head(const char *path, int32_t head[HEAD], struct err *e)
{
    FILE *fp = fopen(path, "re");

    if (!fp) {
        err_open(e, "cannot open %s", path);
        return NULL;
    }
    if (fread(head, sizeof *head, HEAD, fp) == HEAD && head[0] == MAGIC &&
        (head[1] == FP32 || head[1] == BF16))
        return fp;
    if (ferror(fp))
        err_sys(e, "cannot read %s", path);
    else
        err_input(
            e, "%s is not an llm.c checkpoint of version 3 (fp32) or 5 (bf16)",
            path);
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

int convert_read_llmc(const struct engine *eng, float *weights,
                      const char *path, struct err *e)
{
    struct llmc_file f = { .weights = weights };
    int32_t head[HEAD];
    int ret;

    f.fp = open_head(path, head, e);
    if (!f.fp)
        return -1;
    f.version = head[1];
    f.positions = (int64_t)head[2] * head[6];
    ret = eng->set->is.vocab_padded == head[7]
              ? walk_params(eng, read_param, &f, e)
              : err_input(e, "the vocabulary is padded to %d, not to %lld",
                          head[7], (long long)eng->set->is.vocab_padded);
    fclose(f.fp);
    return ret < 0 ? err_wrap(e, "%s", path) : 0;
}
