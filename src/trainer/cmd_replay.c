/*
 * gtrain replay - compute steps of a run again, and compare them
 *
 * Opens the run's own settings and data, computes the steps that the options
 * name from the nearest checkpoint before them, and compares the results with
 * what the run recorded.  Where the run was resumed, another process goes on
 * with the settings, the ranks and the instructions of that attempt.
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
#include "common/spawn.h"
#include "trainer/checkpoint/checkpoint_find.h"
#include "trainer/replay/bisect.h"
#include "trainer/replay/certify.h"
#include "trainer/replay/recorded_run.h"

static struct recorded_run recorded = RECORDED_RUN_INIT;
static const char *steps, *challenge;
static int64_t last, sample;
static int trace; /* enum trace_kind */
static struct table_style style;

static const struct opt replay_opts[] = {
    { 0, "steps", "a:b", OPT_STRING, &steps,
      "compare steps A to B; several such, separated by commas" },
    { 0, "last", "n", OPT_LONG, &last, "compare the last N steps",
      .range = OPT_FROM(1) },
    { 0, "sample", "k", OPT_LONG, &sample,
      "compare K steps that are drawn at random", .range = OPT_FROM(1) },
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

/* Steps that the run has computed in one way. */
struct span {
    int64_t first, last;
    int64_t begins; /* certify_begins() */
};

static struct spans {
    struct span *item;
    size_t n, room;
} spans;

/* How a process that computes the steps before a resume hands the weights to
 * the next one: the folder of checkpoints. */
static const char handover[] = "GTRAIN_HANDOVER";

/* Can steps from `first` on be computed as they were from `begins` on? */
static bool has_beginning(const struct run_info *run, int64_t begins,
                          int64_t first)
{
    AUTO_FREE char *folder =
        certify_folder(run_info_param(run, "checkpoint.folder"), run);
    struct err none = { 0 };
    AUTO_FREE char *path = NULL;
    bool has = begins == 0 || trace || getenv(handover) ||
               (spans.n > 0 && spans.item[spans.n - 1].last >= begins - 1);

    if (!has && checkpoint_newest(folder, first - 1, &path, &none) == 0 && path)
        has = checkpoint_step(path_name(path)) >= begins - 1;
    return has;
}

/* Where the run was resumed, other settings may have begun: cut there.  If the
 * checkpoint of that time is gone, the step before comes first. */
static void add_span(const struct run_info *run, int64_t first, int64_t to)
{
    while (first <= to) {
        int64_t next;
        const int64_t begins = certify_begins(run, first, &next);
        const int64_t end = next <= to ? next - 1 : to;

        if (!has_beginning(run, begins, first))
            add_span(run, begins - 1, begins - 1);
        APPEND(spans.item, spans.n, spans.room) =
            (struct span){ first, end, begins };
        first = end + 1;
    }
}

/* A:B or A, and more of them after commas. */
static int parse_steps(const struct run_info *run, struct err *e)
{
    const char *at = steps;
    int64_t before = 0;

    for (;;) {
        char *end;
        const int64_t first = strtoll(at, &end, 10);
        int64_t to = first;

        if (end > at && *end == ':' && end[1])
            to = strtoll(end + 1, &end, 10);
        if (end == at || (*end && *end != ',') || first <= before || to < first)
            return err_usage(e,
                             "--steps expects A:B, two steps in ascending "
                             "order, or several such pairs or steps with "
                             "commas in between, not '%s'",
                             steps);
        add_span(run, first, to);
        if (!*end)
            return 0;
        before = to;
        at = end + 1;
    }
}

/* Draw a step from each n-th of the run, so that no part of it is left out.
 * What is drawn follows from the verifier's own text, or from one that nobody
 * could have foreseen. */
static void draw_steps(const struct run_info *run, int64_t n, int64_t of)
{
    char own[RANDOM_WORD], *whole;
    uint64_t seed;

    random_word(own);
    if (!challenge)
        log_info("the steps are drawn with --challenge=%s", own);
    whole = xasprintf("%s %s", challenge ? challenge : own, run->id);
    seed = hash128(whole, strlen(whole), 0).lo;
    free(whole);
    for (int64_t i = 0; i < n; i++) {
        const int64_t from = of * i / n, to = of * (i + 1) / n;
        const int64_t step =
            from + 1 +
            (int64_t)((double)rng_uniform(seed, 1, (uint64_t)i) *
                      (double)(to - from));

        add_span(run, step, step);
    }
}

/* Without an option: the steps since the last checkpoint but that of the last
 * step, or all of them. */
static int since_checkpoint(const struct run_info *run, int64_t end,
                            struct err *e)
{
    char *path,
        *folder = certify_folder(run_info_param(run, "checkpoint.folder"), run);
    int ret = checkpoint_newest(folder, end - 1, &path, e);

    if (ret == 0)
        add_span(run, (path ? checkpoint_step(path_name(path)) : 0) + 1, end);
    FREE(path, folder);
    return ret;
}

static int choose_spans(const struct run_info *run, const struct series *loss,
                        struct err *e)
{
    const int64_t end = loss->step[loss->n - 1];

    if ((steps != NULL) + (last != 0) + (sample != 0) > 1)
        return err_usage(e, "--steps, --last and --sample exclude each other");
    if (challenge && !sample)
        return err_usage(e, "--challenge needs --sample");
    if (trace && sample)
        return err_usage(e, "--trace and --sample exclude each other");
    if (steps)
        return parse_steps(run, e);
    if (sample)
        draw_steps(run, sample < end ? sample : end, end);
    else if (last)
        add_span(run, last < end ? end - last + 1 : 1, end);
    else
        return since_checkpoint(run, end, e);
    return 0;
}

/* ---- the results ------------------------------------------------------ */

enum { STEPS, FROM, NUMBERS, STATES, FURTHEST, RESULT, REASON, COLUMNS };

static struct table results;

static void begin_results(void)
{
    results = TABLE_INIT("gtrain.replay/1");
    table_columns(&results, "steps", "computed from", "numbers", "checkpoints",
                  "largest difference", "result", "reason", NULL);
}

static void add_row(const struct certify *c, struct span s,
                    const struct certify_result *r)
{
    struct table *t = &results;

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
    else if (*r->unknown)
        table_text(t, "cannot tell");
    else
        table_text(t, r->rounded ? "equal up to rounding" : "equal");
    table_text(t, r->differs >= 0 ? r->what
                  : *r->unknown   ? r->unknown
                  : r->rounded    ? c->other
                                  : NULL);
}

/* Rounding may turn an answer, and where a file of the tasks is not here, none
 * of them is asked. */
static bool is_asked_again(const struct run_info *run, const char *metric,
                           bool rounded)
{
    for (size_t i = 0; strncmp(metric, "task/", 5) == 0 && i < run->n_params;
         i++)
        if (strncmp(run->params[i].key, "derived.task.", 13) == 0 &&
            (rounded || !path_exists(run->params[i].value)))
            return false;
    return true;
}

/* The metrics of the model that replay does not compute; those of the machine
 * are nothing that could be computed again.  Nor does it tell answers and
 * samples where rounding may turn them, or what `gtrain eval` has added. */
static void list_others(const struct run_info *run, bool rounded, struct buf *b)
{
    static const char *const machine[] = { "system/", "perf/", "event/" };
    static const char *const artifacts[] = { "documents", RUN_INFO_TASKS,
                                             "samples" };
    static const char before[] = "; not computed again: ";
    AUTO_FREE char *id = xstrdup(run->id);
    AUTO(runs_free) struct runs runs = { 0 };
    struct err e = { 0 };

    if (runs_load_ids(&runs, recorded.root, &id, 1, LOAD_DELETED, &e) < 0)
        log_warn("%s", e.text);
    for (size_t i = 0; runs.n == 1 && i < runs.run[0].n_metrics; i++) {
        const char *key = runs.run[0].metrics[i].key;
        bool is_known = (run_info_is_provable(run, key) &&
                         is_asked_again(run, key, rounded)) ||
                        str_ends(key, "/epoch");

        for (size_t k = 0; k < sizeof machine / sizeof *machine; k++)
            is_known =
                is_known || strncmp(key, machine[k], strlen(machine[k])) == 0;
        if (!is_known)
            buf_printf(b, "%s%s", b->len ? ", " : before, key);
    }
    for (int i = 0;
         i < (rounded ? 3 : 1 + !is_asked_again(run, "task/", false)); i++)
        if (path_has(run->artifacts, artifacts[i]))
            buf_printf(b, "%s%s", b->len ? ", " : before, artifacts[i]);
}

/* The row whose result begins so, or NULL. */
static struct table_cell *find_result(const char *begins)
{
    for (size_t i = 0; i < table_rows(&results); i++)
        if (strncmp(table_cell(&results, i, RESULT)->text, begins,
                    strlen(begins)) == 0)
            return table_cell(&results, i, 0);
    return NULL;
}

/* Print the rows, and say what follows from them. */
static int judge(const struct run_info *run, struct err *e)
{
    const struct table_cell *differs = find_result("differs"),
                            *unknown = find_result("cannot tell"),
                            *other = find_result("equal up to");
    int64_t numbers = 0, states = 0;
    AUTO(buf_clear) struct buf others = BUF_INIT;
    char n[NUM_TEXT], m[NUM_TEXT];

    if (table_print(&results, &style, e) < 0)
        return -1;
    for (size_t i = 0; i < table_rows(&results); i++) {
        numbers += table_cell(&results, i, NUMBERS)->i;
        states += table_cell(&results, i, STATES)->i;
    }
    if (differs)
        return err_input(e, "%s %s: %s", run->name, differs[RESULT].text,
                         differs[REASON].text);
    if (unknown)
        return err_set(e, ERR_MISSING, "%s: cannot tell: %s", run->name,
                       unknown[REASON].text);
    if (numbers == 0)
        return err_set(e, ERR_MISSING, "%s recorded no loss in these steps",
                       run->name);
    num_count(n, numbers, "number");
    num_count(m, states, "checkpoint");
    list_others(run, other != NULL, &others);
    if (other)
        log_info("%s: certified up to rounding: %s; %s%s", run->name, n,
                 other[REASON].text, others.s);
    else
        log_info("%s: certified: %s and %s are equal to the last bit%s",
                 run->name, n, m, others.s);
    return 0;
}

/* ---- steps of one kind, in this process -------------------------------- */

/* What there is no checkpoint for cannot be told. */
static int replay_span(struct certify *c, struct span s, bool *differs,
                       bool *rounded, struct err *e)
{
    struct certify_result r;
    int ret = certify_steps(c, s.first, s.last, &r, e);

    if (ret < 0 && e->kind == ERR_MISSING && c->begins > 0) {
        snprintf(r.unknown, sizeof r.unknown, "%.159s", e->text);
        r.from = c->engine->state.step;
        *e = (struct err){ 0 };
        ret = 0;
    }
    if (ret == 0)
        add_row(c, s, &r);
    *differs = r.differs >= 0;
    *rounded = *rounded || r.rounded;
    return ret;
}

/* Does the next process go on where this one ends?  Not with weights that only
 * rounding has made others. */
static bool hands_over(const struct certify *c, bool rounded)
{
    int64_t next;

    certify_begins(c->run, spans.item[0].first, &next);
    return c->handover && !rounded && c->engine->state.step == next - 1;
}

static int replay_spans(struct certify *c, struct err *e)
{
    bool differs = false, rounded = false;
    int ret = 0;

    c->handover = getenv(handover);

    begin_results();
    for (size_t i = 0; i < spans.n && !differs && ret == 0; i++)
        ret = replay_span(c, spans.item[i], &differs, &rounded, e);
    if (ret == 0 && hands_over(c, rounded))
        ret = certify_hand_over(c, e);
    if (ret == 0 && c->engine->coll.rank == 0)
        ret = judge(c->run, e);
    table_clear(&results);
    return ret;
}

static int trace_span(struct certify *c, struct err *e)
{
    const struct span s = spans.item[0];
    AUTO(table_clear) struct table t = TABLE_INIT("gtrain.trace/1");
    int ret = trace_steps(&t, c, s.first, s.last, (enum trace_kind)trace, e);

    if (ret == 0 && c->engine->coll.rank == 0)
        ret = table_print(&t, &style, e);
    return ret;
}

static int replay_job(struct engine *eng, const struct run_info *run,
                      struct err *e)
{
    AUTO(certify_close) struct certify c = { 0 };
    int ret = certify_open(&c, eng, run, spans.item[0].first, e);

    if (ret < 0)
        err_wrap(e, "cannot replay %s", run->name);
    else if (trace)
        ret = trace_span(&c, e);
    else
        ret = certify_points(&c, e) < 0 ? -1 : replay_spans(&c, e);
    return ret;
}

/* ---- steps of several kinds, each in a process of its own -------------- */

/* Add the rows that another process printed. */
static int read_rows(char *text, struct err *e)
{
    char *line;

    while ((line = strsep(&text, "\n")) && *line) {
        for (int i = 0; i < COLUMNS; i++) {
            const char *cell = strsep(&line, "\t");
            int64_t n;
            double x;

            if (!cell)
                return err_set(e, ERR_SYSTEM,
                               "gtrain replay printed too little");
            if (i < FURTHEST && num_int(cell, &n))
                table_int(&results, n);
            else if (i == FURTHEST && num_real(cell, &x))
                table_real(&results, x);
            else
                table_text(&results, *cell ? cell : NULL);
        }
    }
    return 0;
}

static void add_options(struct path_list *argv, const struct run_info *run)
{
    path_list_add(argv, xasprintf("--root=%s", recorded.root));
    if (recorded.device)
        path_list_add(argv, xasprintf("--device=%s", recorded.device));
    if (recorded.ranks)
        path_list_add(argv, xasprintf("--ranks=%" PRId64, recorded.ranks));
    for (size_t i = 0; i < recorded.sets.n; i++)
        path_list_add(argv, xasprintf("--set=%s", recorded.sets.item[i]));
    path_list_add(argv, xstrdup("--tsv"));
    path_list_add(argv, xstrdup("--no-header"));
    path_list_add(argv, xstrdup("-q"));
    path_list_add(argv, xstrdup(run->id));
    path_list_add(argv, NULL);
}

/* The last line of what it said is its error. */
static void tell_error(const struct spawn *s, struct err *e)
{
    AUTO_FREE char *line = spawn_last_line(s->words, "gtrain");

    err_set(e,
            s->status == err_status(ERR_MISSING) ? ERR_MISSING
            : s->status == err_status(ERR_USAGE) ? ERR_USAGE
                                                 : ERR_INPUT,
            "%s", line);
}

/* Replay the spans from i on that are of one kind; returns their number.
 * Rows are worth more than the error that repeats them. */
static size_t replay_alike(const struct run_info *run, const char *program,
                           size_t i, struct err *e)
{
    const int64_t begins = spans.item[i].begins;
    const size_t rows = table_rows(&results);
    AUTO(path_list_clear) struct path_list argv = { 0 };
    AUTO(buf_clear) struct buf list = BUF_INIT, out = BUF_INIT, said = BUF_INIT;
    struct spawn s = { .out = &out, .words = &said };
    size_t n = 0;
    int ret;

    for (; i + n < spans.n && spans.item[i + n].begins == begins; n++)
        buf_printf(&list, "%s%" PRId64 ":%" PRId64, n ? "," : "",
                   spans.item[i + n].first, spans.item[i + n].last);
    path_list_add(&argv, xstrdup(program));
    path_list_add(&argv, xstrdup("replay"));
    path_list_add(&argv, xasprintf("--steps=%s", list.s));
    add_options(&argv, run);
    ret = spawn_run((const char *const *)argv.name, &s, e);
    if (ret < 0 && e->kind == ERR_SYSTEM && s.status > 0)
        tell_error(&s, e);
    if (out.len && read_rows(out.s, e) == 0 && table_rows(&results) > rows)
        *e = (struct err){ 0 };
    return n;
}

static int replay_each(const struct run_info *run, struct err *e)
{
    AUTO_FREE char *folder = xasprintf("%s/gtrain-XXXXXX", path_temp());
    AUTO_FREE char *program = spawn_find("gtrain", e);

    if (program && !mkdtemp(folder))
        err_sys(e, "cannot create %s", folder);
    setenv(handover, folder, 1);
    begin_results();
    for (size_t i = 0;
         i < spans.n && e->kind == ERR_NONE && !find_result("differs");)
        i += replay_alike(run, program, i, e);
    if (e->kind == ERR_NONE)
        judge(run, e);
    table_clear(&results);
    path_remove(folder, ERR_IGNORED);
    return e->kind == ERR_NONE ? 0 : -1;
}

/* ---- the command ------------------------------------------------------ */

/* Ranks, threads and instructions may be others after a resume; and ranks
 * cannot agree on what is drawn before they are started. */
static bool needs_processes(const struct run_info *run)
{
    for (size_t i = 1; i < spans.n; i++)
        if (spans.item[i].begins != spans.item[0].begins)
            return true;
    return sample && !challenge && recorded_run_ranks(&recorded, run) > 1;
}

static int replay_run(const struct run_info *run, struct err *e)
{
    AUTO(series_free) struct series loss = { 0 };
    int ret = series_load(&loss, run, "train/loss", 0, e);

    if (ret < 0)
        err_wrap(e, "cannot replay %s", run->name);
    else
        ret = choose_spans(run, &loss, e);
    if (ret < 0)
        return -1;
    recorded.step = spans.item[0].first;
    if (!needs_processes(run))
        return recorded_run_use(&recorded, run, replay_job, e);
    if (trace)
        return err_usage(e,
                         "%s was resumed at step %" PRId64
                         "; --trace expects steps before it, or from there on",
                         run->name, spans.item[1].first);
    return replay_each(run, e);
}

static int replay_main(int argc, char **argv, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    int ret;

    if (argc > 1)
        return err_usage(e, "unexpected argument '%s'", argv[1]);
    ret = recorded_run_find(&runs, &recorded, argc > 0 ? argv[0] : NULL, e);
    if (ret == 0)
        ret = replay_run(&runs.run[0], e);
    FREE(recorded.sets.item, spans.item);
    return ret;
}

const struct cmd cmd_replay = {
    .name = "replay",
    .args = "[RUN]",
    .help = "compute steps of a run again, and compare them",
    .opts = replay_opts,
    .run = replay_main,
};
