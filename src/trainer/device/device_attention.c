/*
 * device_attention - the check of attention at the sizes of a training
 *
 * A library may compute another batch, or a longer one, by another kernel, so
 * its attention and the gradient run once with as many sequences as a
 * micro-batch has.  The first and the last of them are random; of the first,
 * the heads of the first keys are compared with the CPU, of the last, those of
 * the last keys.
 */
#include "config.h"
#include "trainer/device/device_check.h"

#include <math.h>

#include "common/mem.h"
#include "common/rng.h"
#include "kernels/ref.h"

enum { SEED = 21 };

/* The tensors of attention: queries, keys and values, and the rest. */
enum { QKV, Y, DY, DQKV, LSE, TENSORS };

struct attention {
    struct attn how;
    enum dtype type;
    int64_t sequences;
    bool wrong;
    char *memory;
    struct tensor t[TENSORS];
};

/* Bytes of the tensors, which are placed in memory, if there is some. */
static size_t lay_out(struct attention *a)
{
    const struct attn *how = &a->how;
    const int64_t rows = a->sequences * how->T, y = (int64_t)how->H * how->D;
    size_t at = 0;

    a->t[QKV] = tensor_matrix(NULL, a->type, rows, y + 2 * how->K * how->D);
    a->t[Y] = tensor_matrix(NULL, a->type, rows, y);
    a->t[DY] = a->t[Y];
    a->t[DQKV] = a->t[QKV];
    a->t[LSE] = tensor_matrix(NULL, DT_F32, a->sequences * how->H, how->T);
    for (int i = 0; i < TENSORS; i++) {
        a->t[i].overwrite = true;
        if (a->memory)
            a->t[i].data = a->memory + at;
        at += (tensor_bytes(&a->t[i]) + 255) & ~(size_t)255;
    }
    return at;
}

/* The rows of a sequence. */
static struct tensor sequence_of(const struct attention *a, int i, int64_t n)
{
    struct tensor part = a->t[i];
    const size_t bytes = tensor_bytes(&part) / (size_t)a->sequences;

    part.dim[0] /= a->sequences;
    part.data = (char *)part.data + (size_t)n * bytes;
    return part;
}

static void draw(struct tensor *t, int i, int64_t n)
{
    for (int64_t k = 0; k < tensor_count(t); k++)
        ref_set(t, k,
                2 * (double)rng_uniform(SEED + (uint64_t)i, (uint64_t)n,
                                        (uint64_t)k) -
                    1);
}

/* Copy the columns of the heads that share keys and values `group`; of y, those
 * of the queries alone. */
static void pick_group(struct tensor *to, const struct tensor *from,
                       const struct attn *a, int64_t group)
{
    const int64_t shared = a->H / a->K, D = a->D;
    const int64_t first[] = { group * shared * D, (a->H + group) * D,
                              (a->H + a->K + group) * D };
    const int64_t C = tensor_cols(from), c = tensor_cols(to);

    for (int64_t r = 0; r < a->T; r++)
        for (int64_t k = 0; k < c; k++) {
            const int64_t part = k < shared * D ? 0 : k / D - shared + 1;
            const int64_t in = part ? k % D : k;

            ref_set(to, r * c + k, ref_get(from, r * C + first[part] + in));
        }
}

/* What the CPU computes for a group of a sequence of drawn numbers. */
static void compute_group(struct attention *cpu, struct dev *dev,
                          const struct attention *host, int64_t group,
                          const struct tensor *qkv, const struct tensor *dy)
{
    pick_group(&cpu->t[QKV], qkv, &host->how, group);
    pick_group(&cpu->t[DY], dy, &host->how, group);
    dev->ops->attn_fwd(dev, &cpu->t[Y], &cpu->t[LSE], &cpu->t[QKV], &cpu->how);
    dev->ops->attn_bwd(dev, &cpu->t[DQKV], &cpu->t[QKV], &cpu->t[Y],
                       &cpu->t[LSE], &cpu->t[DY], &cpu->how);
}

/* Whether the device's results for a group are those of the CPU. */
static bool group_agrees(const struct attention *cpu,
                         const struct attention *host, int64_t group,
                         double tolerance)
{
    struct tensor is = cpu->t[DQKV];
    bool good;

    is.data = xmalloc(tensor_bytes(&is));
    pick_group(&is, &host->t[DQKV], &host->how, group);
    good = device_numbers_agree(&is, &cpu->t[DQKV], &cpu->how, tolerance);
    is.dim[1] = tensor_cols(&cpu->t[Y]);
    pick_group(&is, &host->t[Y], &host->how, group);
    good = good && device_numbers_agree(&is, &cpu->t[Y], NULL, tolerance);
    free(is.data);
    return good;
}

/* Give the device its first and last sequence, and run attention. */
static int run_on_device(struct dev *dev, struct attention *on,
                         struct attention *host, struct err *e)
{
    dev->type->zero(dev, on->memory, lay_out(on));
    for (int64_t n = 0; n < on->sequences; n += on->sequences - 1) {
        for (int i = QKV; i <= DY; i += DY - QKV) {
            struct tensor to = sequence_of(on, i, n);

            draw(&host->t[i], i, n);
            dev->type->put(dev, to.data, host->t[i].data, tensor_bytes(&to));
        }
        if (on->sequences == 1)
            break;
    }
    dev->ops->attn_fwd(dev, &on->t[Y], &on->t[LSE], &on->t[QKV], &on->how);
    dev->ops->attn_bwd(dev, &on->t[DQKV], &on->t[QKV], &on->t[Y], &on->t[LSE],
                       &on->t[DY], &on->how);
    return dev_sync(dev, e);
}

static int compare_sequence(struct dev *dev, struct attention *on,
                            struct dev *host_dev, struct attention *cpu,
                            struct attention *host, int64_t n, double tolerance,
                            struct err *e)
{
    const int64_t group = n ? on->how.K - 1 : 0;

    draw(&host->t[QKV], QKV, n);
    draw(&host->t[DY], DY, n);
    compute_group(cpu, host_dev, host, group, &host->t[QKV], &host->t[DY]);
    for (int i = Y; i <= DQKV; i += DQKV - Y) {
        const struct tensor from = sequence_of(on, i, n);

        dev->type->get(dev, host->t[i].data, from.data, tensor_bytes(&from));
    }
    if (dev_sync(host_dev, e) < 0 || dev_sync(dev, e) < 0)
        return -1;
    if (group_agrees(cpu, host, group, tolerance))
        return 0;
    on->wrong = true;
    return err_set(
        e, ERR_SYSTEM,
        "%s computes wrong numbers in attention of %lld sequences of "
        "%lld positions (sequence %lld)",
        dev->type->name, (long long)on->sequences, (long long)on->how.T,
        (long long)n + 1);
}

int device_check_attention(struct dev *dev, struct dev *host_dev,
                           const struct settings *s, int64_t longest,
                           double tolerance, bool *wrong, struct err *e)
{
    const int64_t T = s->model.context < longest ? s->model.context : longest;
    struct attention on = {
        .how = { .H = (int)s->model.heads,
                 .K = (int)s->is.kv_heads,
                 .D = (int)s->is.head_dim,
                 .T = T,
                 .scale = (float)(1 / sqrt((double)s->is.head_dim)) },
        .type = s->train.precision == PRECISION_BF16   ? DT_BF16
                : s->train.precision == PRECISION_FP16 ? DT_F16
                                                       : DT_F32,
        .sequences = s->train.micro_batch,
    };
    struct attention host = on, cpu = on;
    int ret = -1;

    host.sequences = cpu.sequences = 1;
    cpu.how.H = on.how.H / on.how.K;
    cpu.how.K = 1;
    on.memory = dev_alloc(dev, lay_out(&on), DEV_TRIALS, e);
    host.memory = mem_alloc(lay_out(&host), 1, "the check of attention", e);
    cpu.memory = mem_alloc(lay_out(&cpu), 1, "the check of attention", e);
    if (on.memory && host.memory && cpu.memory) {
        lay_out(&host);
        lay_out(&cpu);
        ret = run_on_device(dev, &on, &host, e);
        if (ret == 0)
            ret = compare_sequence(dev, &on, host_dev, &cpu, &host, 0,
                                   tolerance, e);
        if (ret == 0 && on.sequences > 1)
            ret = compare_sequence(dev, &on, host_dev, &cpu, &host,
                                   on.sequences - 1, tolerance, e);
    }
    *wrong = on.wrong;
    FREE(host.memory, cpu.memory);
    if (on.memory)
        dev_free(dev, on.memory);
    return ret;
}
