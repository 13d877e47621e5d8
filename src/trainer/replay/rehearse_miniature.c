#include "config.h"
#include "trainer/replay/rehearse_miniature.h"

#include <inttypes.h>
#include <stdarg.h>

#include "common/buf.h"

static void add_set(struct path_list *sets, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

static void add_set(struct path_list *sets, const char *fmt, ...)
{
    struct buf b = BUF_INIT;
    va_list args;

    va_start(args, fmt);
    buf_vprintf(&b, fmt, args);
    va_end(args);
    path_list_add(sets, buf_detach(&b));
}

static void shrink_model(struct path_list *sets, const struct settings *s)
{
    const struct model_settings *m = &s->model;
    /* fp8 requires a multiple of 16 */
    const int64_t width = (s->train.fp8 == FP8_OFF ? 8 : 16) * m->heads;

    add_set(sets, "model.layers=%d", m->layers > 1 ? 2 : 1);
    add_set(sets, "model.heads=%" PRId64, m->heads);
    add_set(sets, "model.kv_heads=%" PRId64, m->kv_heads);
    add_set(sets, "model.width=%" PRId64, width);
    add_set(sets, "model.d_ff=%" PRId64, 2 * width);
    add_set(sets, "model.context=%" PRId64,
            m->context < 64 ? m->context : (int64_t)64);
    add_set(sets, "data.stride=0");
}

static void shorten_training(struct path_list *sets, const struct settings *s,
                             int ranks)
{
    add_set(sets, "train.micro_batch=1");
    add_set(sets, "train.batch=%d", 2 * ranks);
    add_set(sets, "train.ramp=%d", s->train.ramp.n > 0 ? MINIATURE_EVERY : 0);
    add_set(sets, "train.ramp_from=0");
    add_set(sets, "train.max_time=0s");
    add_set(sets, "train.stop_at=0");
    add_set(sets, "schedule.steps=1000000");
    add_set(sets, "schedule.warmup=2");
    add_set(sets, "schedule.decay=20%%");
    add_set(sets, "schedule.cycle=0");
    add_set(sets, "schedule.timescale=0");
}

static void hasten_events(struct path_list *sets, const struct settings *s)
{
    const int often = MINIATURE_EVERY;

    if (s->eval.every.n > 0)
        add_set(sets, "eval.every=%d", often);
    add_set(sets, "eval.sequences=4");
    add_set(sets, "eval.stride=0");
    add_set(sets, "eval.patience=0");
    if (s->eval.hellaswag_every.n > 0)
        add_set(sets, "eval.hellaswag_every=%d", often);
    add_set(sets, "eval.hellaswag_limit=2");
    if (s->sample.every.n > 0)
        add_set(sets, "sample.every=%d", often);
    add_set(sets, "sample.tokens=4");
    add_set(sets, "checkpoint.every=%d", often);
    add_set(sets, "checkpoint.last=yes");
    add_set(sets, "run.log_every=1");
    add_set(sets, "run.system_every=0s");
    add_set(sets, "run.tensorboard=");
    add_set(sets, "run.parent=");
}

void rehearse_miniature(struct path_list *sets, const struct settings *s,
                        int ranks)
{
    shrink_model(sets, s);
    shorten_training(sets, s, ranks);
    hasten_events(sets, s);
    if (ranks == 1) /* an allocation of Slurm may be for several */
        add_set(sets, "parallel.launcher=none");
}
