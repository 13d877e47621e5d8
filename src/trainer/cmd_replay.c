/*
 * gtrain replay - compute steps of a run again, and compare them
 *
 * Opens the run's own settings and data, computes the steps that the options
 * name from the nearest checkpoint before them, and compares the results with
 * what the run recorded.
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/output/table.h"
#include "common/path.h"
#include "common/random.h"
#include "common/rng.h"
#include "trainer/checkpoint/checkpoint_find.h"
#include "trainer/replay/certify.h"
#include "trainer/replay/recorded_run.h"
#include "trainer/replay/trace.h"

static struct recorded_run recorded = RECORDED_RUN_INIT;
static const char *steps, *challenge;
static int64_t last, sample;
static int trace; /* enum trace_kind */
static struct table_style style;

static const struct opt replay_opts[] = {
    { 0, "steps", "a:b", OPT_STRING, &steps, "compare steps A to B" },
    { 0, "last", "n", OPT_LONG, &last, "compare the last N steps" },
    { 0, "sample", "k", OPT_LONG, &sample,
      "compare K steps that are drawn at random" },
    { 0, "challenge", "text", OPT_STRING, &challenge,
      "draw the steps that follow from TEXT" },
    { 0, "ranks", "count", OPT_LONG, &recorded.ranks,
      "compute with COUNT processes (default: as the run)" },
    { 0, "trace", "what", OPT_WORD, &trace,
      "print hashes of what is computed, and compare nothing: %s",
      trace_words },
    RECORDED_RUN_OPTS(recorded),
    TABLE_OPTS(style),
    { 0 }
};

/* ---- which steps ------------------------------------------------------ */

struct span {
    int64_t first, last;
};

static int parse_steps(struct span *s, struct err *e)
{
    char *end;

    s->first = strtoll(steps, &end, 10);
    s->last = s->first;
    if (end > steps && *end == ':' && end[1])
        s->last = strtoll(end + 1, &end, 10);
    if (end == steps || *end || s->first < 1 || s->last < s->first)
        return err_set(e, ERR_USAGE,
                       "--steps expects A:B, two steps in ascending order, not "
                       "'%s'",
                       steps);
    return 0;
}

/* Draw a step from each n-th of the run, so that no part of it is left out.
 * What is drawn follows from the verifier's own text, or from one that nobody
 * could have foreseen. */
static int draw_steps(const struct certify *c, struct span *s, int64_t n,
                      int64_t of, struct err *e)
{
    struct coll *coll = &c->engine->coll;
    const char *text = challenge;
    char own[RANDOM_WORD], *whole;
    uint64_t seed;

    random_word(own);
    coll_bcast(coll, own, sizeof own, 0);
    if (coll_check(coll, e) < 0)
        return -1;
    text = text ? text : own;
    if (coll->rank == 0)
        log_info("the steps are drawn with --challenge=%s", text);
    whole = xasprintf("%s %s", text, c->run->id);
    seed = hash128(whole, strlen(whole), 0).lo;
    free(whole);
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = of * i / n, to = of * (i + 1) / n;
        const int64_t step =
            from + 1 +
            (int64_t)((double)rng_uniform(seed, 1, (uint64_t)i) *
                      (double)(to - from));

        s[i] = (struct span){ step, step };
    }
    return 0;
}

/* Without an option: the steps since the last checkpoint but that of the last
 * step, or all of them. */
static int since_checkpoint(const struct certify *c, struct span *s,
                            int64_t end, struct err *e)
{
    char *folder = certify_folder(c->engine->set, c->run), *path;
    int ret = checkpoint_newest(folder, end - 1, &path, e);

    s->first = (path ? checkpoint_step(path_name(path)) : 0) + 1;
    s->last = end;
    free(path);
    free(folder);
    return ret;
}

static int choose_spans(const struct certify *c, struct span **spans, size_t *n,
                        struct err *e)
{
    const struct series *loss = &c->number[CERTIFY_LOSS];
    const int64_t end = loss->step[loss->n - 1];

    if ((steps != NULL) + (last != 0) + (sample != 0) > 1)
        return err_set(e, ERR_USAGE,
                       "--steps, --last and --sample exclude each other");
    if (challenge && !sample)
        return err_set(e, ERR_USAGE, "--challenge needs --sample");
    if (last < 0 || sample < 0)
        return err_set(e, ERR_USAGE, "%s expects 1 or more",
                       last < 0 ? "--last" : "--sample");
    if (sample > end)
        sample = end;
    *n = sample ? (size_t)sample : 1;
    *spans = xcalloc(*n, sizeof **spans);
    if (sample)
        return draw_steps(c, *spans, sample, end, e);
    else if (last)
        **spans = (struct span){ last < end ? end - last + 1 : 1, end };
    else if (steps)
        return parse_steps(*spans, e);
    else
        return since_checkpoint(c, *spans, end, e);
    return 0;
}

/* ---- the results ------------------------------------------------------ */

static void add_row(struct table *t, const struct certify *c, struct span s,
                    const struct certify_result *r)
{
    if (s.first == s.last)
        table_int(t, s.first);
    else
        table_printf(t, "%" PRId64 "-%" PRId64, s.first, s.last);
    table_int(t, r->from);
    table_int(t, r->numbers);
    table_int(t, r->states);
    table_real(t, r->furthest);
    if (r->differs >= 0)
        table_printf(t, "differs at step %" PRId64, r->differs);
    else
        table_text(t, *c->other ? "equal up to rounding" : "equal");
}

/* The metrics of the model that replay does not compute; those of the machine
 * are nothing that could be computed again. */
static void list_others(const struct certify *c, struct buf *b)
{
    static const char *const machine[] = { "system/", "perf/", "event/",
                                           "train/tokens" };
    char *id = xstrdup(c->run->id);
    struct runs runs = { 0 };
    struct err e = { 0 };

    if (runs_load_ids(&runs, recorded.root, &id, 1, LOAD_DELETED, &e) < 0)
        log_warn("%s", e.text);
    for (size_t i = 0; runs.n == 1 && i < runs.run[0].n_metrics; i++) {
        const char *key = runs.run[0].metrics[i].key;
        bool is_known = certify_computes(c, key) || str_ends(key, "/epoch");

        for (size_t k = 0; k < sizeof machine / sizeof *machine; k++)
            is_known =
                is_known || strncmp(key, machine[k], strlen(machine[k])) == 0;
        if (!is_known)
            buf_printf(b, "%s%s",
                       b->len ? ", " : "; not computed again: ", key);
    }
    runs_free(&runs);
    free(id);
}

static void tell_certified(const struct certify *c, int64_t numbers,
                           int64_t states)
{
    struct buf others = BUF_INIT;
    char n[NUM_TEXT], m[NUM_TEXT];

    num_count(n, numbers, "number");
    num_count(m, states, "checkpoint");
    list_others(c, &others);
    if (*c->other)
        log_info("%s: certified up to rounding: %s; %s%s", c->run->name, n,
                 c->other, others.s);
    else
        log_info("%s: certified: %s and %s are equal to the last bit%s",
                 c->run->name, n, m, others.s);
    buf_clear(&others);
}

/* Print the rows, and say what follows from them. */
static int judge(const struct certify *c, const struct table *t,
                 const struct certify_result *r, int64_t numbers,
                 int64_t states, struct err *e)
{
    if (table_print(t, &style, e) < 0)
        return -1;
    if (r->differs >= 0)
        return err_set(e, ERR_INPUT, "%s differs at step %" PRId64 ": %s",
                       c->run->name, r->differs, r->what);
    if (numbers == 0)
        return err_set(e, ERR_MISSING, "%s recorded no loss in these steps",
                       c->run->name);
    tell_certified(c, numbers, states);
    return 0;
}

static int replay_spans(struct certify *c, const struct span *s, size_t n,
                        struct err *e)
{
    struct table t = TABLE_INIT("gtrain.replay/1");
    int64_t numbers = 0, states = 0;
    struct certify_result r = { .differs = -1 };
    int ret = 0;

    table_columns(&t, "steps", "computed from", "numbers", "checkpoints",
                  "largest difference", "result", NULL);
    for (size_t i = 0; i < n && r.differs < 0 && ret == 0; i++) {
        ret = certify_steps(c, s[i].first, s[i].last, &r, e);
        numbers += r.numbers;
        states += r.states;
        if (ret == 0)
            add_row(&t, c, s[i], &r);
    }
    if (ret == 0 && c->engine->coll.rank == 0)
        ret = judge(c, &t, &r, numbers, states, e);
    table_clear(&t);
    return ret;
}

static int trace_span(struct certify *c, struct span s, struct err *e)
{
    struct table t = TABLE_INIT("gtrain.trace/1");
    int ret;

    if (sample)
        return err_set(e, ERR_USAGE, "--trace and --sample exclude each other");
    ret = trace_steps(&t, c, s.first, s.last, (enum trace_kind)trace, e);
    if (ret == 0 && c->engine->coll.rank == 0)
        ret = table_print(&t, &style, e);
    table_clear(&t);
    return ret;
}

static int replay_job(struct engine *eng, const struct run_info *run,
                      struct err *e)
{
    struct certify c;
    struct span *spans = NULL;
    size_t n = 0;
    int ret = certify_open(&c, eng, run, e);

    if (ret < 0)
        err_wrap(e, "cannot replay %s", run->name);
    else
        ret = choose_spans(&c, &spans, &n, e);
    if (ret == 0 && trace)
        ret = trace_span(&c, *spans, e);
    else if (ret == 0)
        ret = certify_points(&c, e) < 0 ? -1 : replay_spans(&c, spans, n, e);
    certify_close(&c);
    free(spans);
    return ret;
}

/* ---- the command ------------------------------------------------------ */

static int replay_main(int argc, char **argv, struct err *e)
{
    if (argc > 1)
        return err_set(e, ERR_USAGE, "unexpected argument '%s'", argv[1]);
    return recorded_run_open(&recorded, argc > 0 ? argv[0] : NULL, replay_job,
                             e);
}

const struct cmd cmd_replay = {
    .name = "replay",
    .args = "[RUN]",
    .help = "compute steps of a run again, and compare them",
    .opts = replay_opts,
    .run = replay_main,
};
