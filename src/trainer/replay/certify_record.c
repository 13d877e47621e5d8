/*
 * certify_record - does the record of a run belong to its settings and data?
 */
#include "config.h"
#include "common/mem.h"
#include "trainer/replay/certify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/num.h"
#include "data/shards/lock.h"
#include "store/format/info.h"

static int check_data(const struct certify *c, const char *key,
                      const struct mixture *data, struct err *e)
{
    AUTO_FREE char *param = xasprintf("derived.%s", key);
    const char *then = changed_param(c->run, param, c->begins);
    const char *now = data ? mixture_hash(data) : then;
    const size_t n = data ? mixture_sources(data) : 0;
    AUTO_FREE char *missing = NULL;
    int ret = 0;

    if (then && strcmp(then, now) != 0) {
        for (size_t k = 0; k < n && !missing; k++)
            missing = lock_missing(mixture_loader(data, k));
        ret = missing ? err_input(e, "the data lack the shard %s", missing)
                      : err_input(e,
                                  "%s is not what the run had: its SHA-256 is "
                                  "%.12s, not %.12s",
                                  key, now, then);
    }
    return ret;
}

/* Note a fact that decides how sums are rounded, if it has changed. */
static void note_fact(struct certify *c, const char *key, const char *now)
{
    const char *then = changed_param(c->run, key, c->begins);
    const size_t n = strlen(c->other);

    if (then && strcmp(then, now) != 0)
        snprintf(c->other + n, sizeof c->other - n,
                 "%s%s was %.70s, here it is %.70s", n ? "; " : "", key, then,
                 now);
}

static void note_facts(struct certify *c)
{
    struct engine *eng = c->engine;
    char text[256];

    note_fact(c, "derived.device", eng->dev.type->name);
    note_fact(c, "derived.instructions",
              engine_instructions(eng, text, sizeof text));
    note_fact(c, "derived.libraries", engine_libraries(text, sizeof text));
    note_fact(c, "derived.build", engine_build(text, sizeof text));
    if (eng->set->train.deterministic)
        return;
    if (strcmp(eng->dev.type->name, "cpu") != 0 && !*c->other)
        snprintf(c->other, sizeof c->other,
                 "without train.deterministic, a GPU adds up in any order");
    snprintf(text, sizeof text, "%d", eng->coll.size);
    note_fact(c, "derived.ranks", text);
    snprintf(text, sizeof text, "%d", eng->dev.threads);
    note_fact(c, "derived.threads", text);
}

/* What follows from the settings is shown, too. */
static int check_derived(const struct certify *c, struct err *e)
{
    const struct derived *is = &c->engine->set->is;
    const struct tokenizer *tokenizer = c->engine->data.tokenizer;
    const struct {
        const char *key;
        int64_t now;
    } row[] = { { "derived.tokens_per_step", is->tokens_per_step },
                { "derived.parameters", is->parameters },
                { "derived.steps", is->steps },
                { "derived.warmup", is->warmup },
                { "derived.flops_per_token",
                  llround(gpt_flops_per_token(&c->engine->gpt)) } };
    const char *hash = changed_param(c->run, "derived.tokenizer", c->begins);
    const char *teacher = changed_param(c->run, "derived.teacher", c->begins);

    for (size_t i = 0; i < sizeof row / sizeof row[0]; i++) {
        const char *then = changed_param(c->run, row[i].key, c->begins);
        int64_t n;

        if (then && (!num_int(then, &n) || n != row[i].now))
            return err_input(e,
                             "the parameter %s is %.40s, but the settings give "
                             "%" PRId64,
                             row[i].key, then, row[i].now);
    }
    if (teacher && strcmp(teacher, c->engine->data.teacher.sum) != 0)
        return err_input(e, "train.teacher is not that of the run");
    return !tokenizer || !hash || strcmp(hash, tokenizer_hash(tokenizer)) == 0
               ? 0
               : err_input(e, "the tokenizer is not that of the run");
}

int certify_record(struct certify *c, struct err *e)
{
    const struct engine_data *d = &c->engine->data;

    note_facts(c);
    if (check_derived(c, e) < 0 || check_data(c, "data.train", d->train, e) < 0)
        return -1;
    return check_data(c, "data.val", d->val, e);
}

/* ---- the attempts ----------------------------------------------------- */

/* Where a run was resumed, does replay have to change anything?  When points
 * and checkpoints are written makes no difference to what is computed. */
static bool is_alike(const struct run_info *run, int64_t before, int64_t after)
{
    static const char *const other[] = { "run.", "checkpoint." };

    for (size_t i = 0; i < run->n_params; i++) {
        const char *key = run->params[i].key;
        bool counts = strcmp(changed_param(run, key, before),
                             changed_param(run, key, after)) != 0;

        for (size_t k = 0; k < sizeof other / sizeof *other; k++)
            counts = counts && strncmp(key, other[k], strlen(other[k])) != 0;
        if (counts)
            return false;
    }
    return true;
}

int64_t certify_begins(const struct run_info *run, int64_t step, int64_t *next)
{
    int64_t begins, after;
    int attempt = changed_attempt(run, step, &after);

    while (after != INT64_MAX && is_alike(run, after - 1, after))
        changed_attempt(run, after, &after);
    if (next)
        *next = after;
    while ((begins = changed_first_step(run, attempt)) > 1 &&
           is_alike(run, begins - 1, begins))
        attempt = changed_attempt(run, begins - 1, NULL);
    return begins > 1 ? begins : 0;
}

/* ---- the points ------------------------------------------------------- */

/* A step that has a loss.  Where training was resumed, the last step before it
 * has one if training was meant to end there. */
struct due {
    int64_t step;
    bool may_lack;
};

/* The next one after a step. */
static struct due next_due(const struct run_info *run, int64_t step,
                           int64_t end)
{
    const char *text = changed_param(run, "run.log_every", step + 1);
    int64_t every = 1, next, after;

    if (text && !num_int(text, &every))
        every = 1;
    changed_attempt(run, step + 1, &after);
    next = step - step % every + every;
    if (after != INT64_MAX && next > after - 1)
        return (struct due){ after - 1, true };
    return (struct due){ step < end && next > end ? end : next, false };
}

int certify_points(const struct certify *c, struct err *e)
{
    const struct run_info *run = c->run;
    const struct settings *s = c->engine->set;
    const struct series *loss = &c->number[CERTIFY_LOSS];
    const bool is_last = c->begins == certify_begins(run, INT64_MAX, NULL);
    const bool is_whole =
        is_last && run->status == RUN_FINISHED && s->eval.patience == 0;
    const int64_t end = is_last ? s->is.stop_at : INT64_MAX;
    struct due due = next_due(run, loss->step[0] - 1, end);

    if (!changed_is_known(run))
        return 0;
    for (size_t i = 0; i < loss->n; i++, due = next_due(run, due.step, end)) {
        while (loss->step[i] > due.step && due.may_lack)
            due = next_due(run, due.step, end);
        if (loss->step[i] < due.step || loss->step[i] > end)
            return err_input(e,
                             "%s has a loss of step %" PRId64
                             ", which is none of its steps",
                             run->name, loss->step[i]);
        if (loss->step[i] > due.step)
            return err_input(e, "%s has no loss of step %" PRId64, run->name,
                             due.step);
    }
    if (is_whole && due.step <= end)
        return err_input(e,
                         "%s has no loss of step %" PRId64
                         ", but trained until step %" PRId64,
                         run->name, due.step, end);
    return 0;
}
