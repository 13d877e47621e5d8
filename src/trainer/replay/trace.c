#include "config.h"
#include "trainer/replay/trace.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "common/hash.h"
#include "common/path.h"
#include "common/sha256.h"
#include "trainer/checkpoint/checkpoint_files.h"

const char *const trace_words[] = { "none", "steps", "operations", "data",
                                    NULL };

struct trace {
    struct table *table;
    struct certify *c;
    enum trace_kind kind;
    int64_t step, micro; /* of the next row */
};

/* ---- rows ------------------------------------------------------------- */

static void begin_row(struct trace *t, int64_t micro, const char *operation,
                      const char *tensor)
{
    table_int(t->table, t->step);
    table_int_or_none(t->table, micro);
    table_text(t->table, operation);
    table_text(t->table, tensor);
}

static void end_row(struct trace *t, struct hash128 h, double size)
{
    table_printf(t->table, "%016" PRIx64 "%016" PRIx64, h.hi, h.lo);
    table_real_or_none(t->table, size);
}

static void add_number(struct trace *t, const char *name, double x)
{
    begin_row(t, -1, "step", name);
    end_row(t, hash128(&x, sizeof x, 0), x);
}

static double root_mean_square(const float *x, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return n ? sqrt(sum / (double)n) : 0;
}

/* ---- the weights and the moments -------------------------------------- */

/* One block of the state: a row for each parameter, or one for all. */
static void add_block(struct trace *t, const char *name, const float *block)
{
    const struct graph *g = &t->c->engine->gpt.graph;
    struct hash128 all = { 0, 0 };
    double squares = 0, count = 0;

    for (int i = 0; i < g->n_params; i++) {
        const struct graph_param *p = &g->param[i];
        const int64_t n = p->count;
        const float *x = block + p->at;
        const struct hash128 h = hash128(x, (size_t)n * sizeof *x, all.lo);
        const double size = root_mean_square(x, n);

        if (t->kind == TRACE_OPERATIONS) {
            begin_row(t, -1, name, p->name);
            end_row(t, hash128(x, (size_t)n * sizeof *x, 0), size);
        }
        all = h;
        squares += size * size * (double)n;
        count += (double)n;
    }
    if (t->kind == TRACE_STEPS) {
        begin_row(t, -1, "state", name);
        end_row(t, all, count > 0 ? sqrt(squares / count) : 0);
    }
}

static int add_state(struct trace *t, struct err *e)
{
    struct engine *eng = t->c->engine;
    struct checkpoint_copy s = { 0 };
    const int ret = checkpoint_copy_take(&s, eng, "", e);

    if (ret == 0 && eng->coll.rank == 0) {
        add_block(t, "weights", s.weights);
        add_block(t, "first moments", s.m);
        if (s.v)
            add_block(t, "second moments", s.v);
    }
    checkpoint_copy_clear(&s);
    return ret;
}

/* ---- operations ------------------------------------------------------- */

/* The ids of a micro-batch, a row for each sequence. */
static void add_ids(struct trace *t, const struct observed *o)
{
    struct mixture *m = t->c->engine->data.train;
    const struct engine *eng = t->c->engine;
    const int64_t T = eng->gpt.T;
    const int32_t *id = o->data;
    char name[128];

    for (int64_t i = 0; i < o->n / T; i++) {
        const int64_t at = t->micro * eng->gpt.B + i;
        const char *source =
            mixture_name(m, mixture_source(m, engine_sequences(eng) + at));

        snprintf(name, sizeof name, "%s of %s%ssequence %" PRId64, o->tensor,
                 source, *source ? " in " : "", at);
        begin_row(t, t->micro, o->operation, name);
        end_row(t, hash128(id + i * T, (size_t)T * sizeof *id, 0), (double)NAN);
    }
}

static int add_result(void *arg, const struct observed *o, struct err *e)
{
    struct trace *t = arg;
    const size_t bytes = (size_t)o->n * (o->type == DT_F32 ? 4 : 2);
    double squares = 0;
    char name[96];

    (void)e;
    if (o->type == DT_I32) {
        add_ids(t, o);
        return 0;
    }
    for (int64_t i = 0; i < o->n; i++)
        squares += pow(observed_number(o, i), 2);
    snprintf(name, sizeof name, "%s%s", o->gradient ? "gradient of " : "",
             o->tensor);
    begin_row(t, t->micro, o->operation, name);
    end_row(t, hash128(o->data, bytes, 0), sqrt(squares / (double)o->n));
    return 0;
}

static void begin_micro(void *arg, int64_t done, int64_t all, int64_t left)
{
    struct trace *t = arg;
    const struct coll *coll = &t->c->engine->coll;

    (void)all;
    (void)left;
    t->micro = done * coll->size + coll->rank;
}

/* ---- the whole -------------------------------------------------------- */

static int add_step(struct trace *t, struct err *e)
{
    struct step *s = &t->c->step;

    t->step++;
    if (t->kind == TRACE_OPERATIONS && t->c->engine->coll.rank == 0) {
        s->on_micro = begin_micro;
        s->observe = add_result;
        s->arg = s->observe_arg = t;
    }
    if (certify_compute(t->c, e) < 0)
        return -1;
    if (t->c->engine->coll.rank == 0) {
        add_number(t, "loss", s->loss);
        add_number(t, "norm of the gradient", s->norm);
        add_number(t, "learning rate", s->lr);
    }
    return add_state(t, e);
}

/* The hash of each shard of a source. */
static int add_shards(struct trace *t, const char *source,
                      const struct loader *data, struct err *e)
{
    char sum[SHA256_TEXT], name[320];
    int64_t size;

    for (int64_t i = 0; i < loader_shards(data); i++) {
        const char *path = loader_path(data, i);

        if (sha256_file(path, sum, &size, e) < 0)
            return -1;
        snprintf(name, sizeof name, "%s%s%s", source, *source ? ": " : "",
                 path_name(path));
        begin_row(t, -1, "shard", name);
        table_text(t->table, sum);
        table_none(t->table);
    }
    return 0;
}

static int add_sources(struct trace *t, struct err *e)
{
    const struct mixture *m = t->c->engine->data.train;

    for (size_t k = 0; k < mixture_sources(m); k++)
        if (add_shards(t, mixture_name(m, k), mixture_loader(m, k), e) < 0)
            return -1;
    return 0;
}

int trace_steps(struct table *table, struct certify *c, int64_t first,
                int64_t last, enum trace_kind kind, struct err *e)
{
    struct trace t = {
        .table = table, .c = c, .kind = kind, .step = first - 1
    };

    table_columns(table, "step", "micro-batch", "operation", "tensor", "hash",
                  "size", NULL);
    if (kind == TRACE_DATA)
        return c->engine->coll.rank == 0 ? add_sources(&t, e) : 0;
    if (certify_advance(c, first, e) < 0 || add_state(&t, e) < 0)
        return -1;
    while (t.step < last)
        if (add_step(&t, e) < 0)
            return err_wrap(e, "step %" PRId64, t.step);
    return 0;
}
