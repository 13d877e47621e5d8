/*
 * gtrack compare - compare runs side by side
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/sha256.h"
#include "common/stats/paired.h"
#include "store/query/differ.h"
#include "track/runs/compare_table.h"
#include "track/runs/track.h"

enum { FILE_MAX = 1 << 30, TASKS_MOST = 10000 };

/* ---- artifacts --------------------------------------------------------- */

enum { FIELDS = 5 };
enum { DOCUMENT_SOURCE, DOCUMENT_TRAINING = 3, DOCUMENT_LOSSES };
enum { TASK_STEP, TASK_NAME, TASK_METRIC, TASK_ASKED, TASK_ANSWERS };

struct lines {
    struct buf text;
    struct line {
        char *field[FIELDS]; /* in the text */
    } * item;
    size_t n, room;
};

/* Fields have tabs between them. */
static bool parse_line(struct lines *l, char *text)
{
    struct line *line = &APPEND(l->item, l->n, l->room);

    for (int i = 0; i < FIELDS; i++) {
        line->field[i] = strsep(&text, "\t");
        if (!line->field[i])
            return false;
    }
    return !text;
}

/* Load an artifact, which a program and its option keep. */
static int load_lines(struct lines *l, const struct run_info *run,
                      const char *name, const char *keeps, struct err *e)
{
    AUTO_FREE char *path = path_join(run->artifacts, name);
    const int fd = path_open_inside(path, run_info_inside(run), e);
    char *at, *line;
    int ret = -1;

    l->text = BUF_INIT;
    if (fd >= 0)
        ret = buf_read_open(&l->text, fd, path, FILE_MAX, e);
    else if (e->kind == ERR_MISSING)
        err_set(e, ERR_MISSING, "%s has no %s; %s keeps it", run->name, name,
                keeps);
    at = l->text.s;
    for (long n = 1; ret == 0 && at < l->text.s + l->text.len; n++) {
        line = strsep(&at, "\n");
        if (!at || !parse_line(l, line))
            return err_input(e, "%s:%ld: expected five fields", path, n);
    }
    return ret;
}

static void clear_lines(struct lines *l)
{
    buf_clear(&l->text);
    free(l->item);
}

/* ---- tasks ------------------------------------------------------------- */

static int load_tasks(struct lines *l, const struct run_info *run,
                      struct err *e)
{
    int ret = load_lines(l, run, RUN_INFO_TASKS, "gtrain with eval.tasks", e);

    if (ret == 0 && l->n == 0)
        ret = err_input(e, "%s/%s is empty", run->artifacts, RUN_INFO_TASKS);
    for (size_t i = 0; i < l->n && ret == 0; i++) {
        char *const *field = l->item[i].field, *answers = field[TASK_ANSWERS];

        if (i == TASKS_MOST || !*answers || answers[strspn(answers, "01")] ||
            !sha256_is_text(field[TASK_ASKED]))
            ret = err_input(e,
                            "%s/%s:%zu: expected a SHA-256 and answers of 0 or "
                            "1, and at most %d lines",
                            run->artifacts, RUN_INFO_TASKS, i + 1, TASKS_MOST);
    }
    return ret;
}

/* The answers to the same questions, or NULL. */
static const char *find_answers(const struct lines *l, char *const *like)
{
    for (size_t i = 0; i < l->n; i++) {
        char *const *field = l->item[i].field;

        if (strcmp(field[TASK_NAME], like[TASK_NAME]) == 0 &&
            strcmp(field[TASK_METRIC], like[TASK_METRIC]) == 0 &&
            strcmp(field[TASK_ASKED], like[TASK_ASKED]) == 0 &&
            strlen(field[TASK_ANSWERS]) == strlen(like[TASK_ANSWERS]))
            return field[TASK_ANSWERS];
    }
    return NULL;
}

static void add_task(struct table *t, const char *name, char *const *task,
                     const struct lines *other)
{
    AUTO_FREE char *metric =
        xasprintf("task/%s/%s", task[TASK_NAME], task[TASK_METRIC]);
    const char *x = task[TASK_ANSWERS], *y = find_answers(other, task);
    const double n = (double)strlen(x);
    size_t both = 0, first = 0, second = 0;
    double p;

    if (!y) {
        log_warn("%s: %s was not asked the same questions as the first run",
                 metric, name);
        return;
    }
    for (; *x; x++, y++) {
        both += *x == '1' && *y == '1';
        first += *x > *y;
        second += *x < *y;
    }
    p = paired_mcnemar(first, second);
    table_text(t, name);
    table_text(t, metric);
    table_int(t, (int64_t)n);
    table_real(t, (double)(both + first) / n);
    table_real(t, (double)(both + second) / n);
    table_int(t, (int64_t)first);
    table_int(t, (int64_t)second);
    table_real(t, ((double)second - (double)first) / n);
    table_real(t, p);
    table_text(t, p >= 0.05 ? "equal" : second > first ? "better" : "worse");
}

/* Compare the answers to each question with those of the first run. */
static int compare_tasks(struct table *t, const struct runs *runs,
                         struct err *e)
{
    struct lines first = { .n = 0 };
    int ret = runs->n < 2 ? err_usage(e, "--tasks needs two runs")
                          : load_tasks(&first, &runs->run[0], e);

    t->schema = "gtrack.compare-tasks/1";
    table_columns(t, "run", "metric", "questions", "first", "second",
                  "first_only", "second_only", "difference", "p", "result",
                  NULL);
    for (size_t k = 1; k < runs->n && ret == 0; k++) {
        AUTO_FREE char *name = track_shown_name(runs, k);
        struct lines other = { .n = 0 };

        ret = load_tasks(&other, &runs->run[k], e);
        for (size_t i = 0; i < first.n && ret == 0; i++)
            add_task(t, name, first.item[i].field, &other);
        if (ret == 0 && strcmp(first.item->field[TASK_STEP],
                               other.item->field[TASK_STEP]) != 0)
            log_info("the answers of %s are of step %s, those of the first run "
                     "of step %s",
                     name, other.item->field[TASK_STEP],
                     first.item->field[TASK_STEP]);
        clear_lines(&other);
    }
    clear_lines(&first);
    return ret;
}

/* ---- differences ------------------------------------------------------ */

struct change {
    char *const *document; /* its fields */
    double a, b;           /* mean losses */
    struct paired diff;
    double half; /* of its interval */
};

struct changes {
    struct change *item;
    size_t n;
};

/* The losses of the second run minus those of the first; false unless both have
 * the same number. */
static bool subtract_losses(struct change *c, char *x, char *y)
{
    const size_t most = strlen(x) / 2 + 1;
    AUTO_FREE double *diff = xcalloc(most, sizeof *diff);
    char *p = NULL, *q = NULL;
    bool good = true;
    size_t n = 0;

    for (;;) {
        double a, b;

        p = strsep(&x, " ");
        q = strsep(&y, " ");
        if (!p || !q)
            break;
        good &= num_real(p, &a) && num_real(q, &b);
        if (!good)
            break;
        c->a += a;
        c->b += b;
        diff[n++] = b - a;
    }
    good = good && !p && !q && n > 0;
    c->diff = paired_blocks(diff, n);
    c->half = paired_half(&c->diff, 0.05);
    c->a /= (double)n;
    c->b /= (double)n;
    return good;
}

static int find_changes(struct changes *c, const struct lines *a,
                        const struct lines *b, struct err *e)
{
    if (a->n != b->n || a->n == 0)
        return err_input(e, "the runs were evaluated on %zu and %zu documents",
                         a->n, b->n);
    c->item = xcalloc(a->n, sizeof *c->item);
    for (; c->n < a->n; c->n++) {
        char *const *x = a->item[c->n].field, *const *y = b->item[c->n].field;

        c->item[c->n].document = y;
        if (strcmp(x[DOCUMENT_SOURCE], y[DOCUMENT_SOURCE]) != 0 ||
            !subtract_losses(&c->item[c->n], x[DOCUMENT_LOSSES],
                             y[DOCUMENT_LOSSES]))
            return err_input(e,
                             "document %zu is %s in one run and %s in the "
                             "other, or has other tokens",
                             c->n + 1, x[DOCUMENT_SOURCE], y[DOCUMENT_SOURCE]);
    }
    return 0;
}

static int by_difference(const void *a, const void *b)
{
    const double x = ((const struct change *)a)->diff.mean;
    const double y = ((const struct change *)b)->diff.mean;

    return (x > y) - (x < y);
}

static const char *judge(const struct change *c)
{
    if (isnan(c->half))
        return "unknown";
    if (c->diff.mean + c->half < 0)
        return "better";
    return c->diff.mean - c->half > 0 ? "worse" : "equal";
}

/* ---- output ----------------------------------------------------------- */

static void fill_table(struct table *t, const struct changes *c)
{
    table_columns(t, "document", "tokens", "first", "second", "difference",
                  "low", "high", "result", "in_training_text", NULL);
    for (size_t i = 0; i < c->n; i++) {
        const struct change *x = &c->item[i];
        const char *training = x->document[DOCUMENT_TRAINING];

        table_text(t, x->document[DOCUMENT_SOURCE]);
        table_int(t, (int64_t)x->diff.n);
        table_real(t, x->a);
        table_real(t, x->b);
        table_real(t, x->diff.mean);
        table_real_or_none(t, x->diff.mean - x->half);
        table_real_or_none(t, x->diff.mean + x->half);
        table_text(t, judge(x));
        table_text(t, *training ? training : NULL);
    }
}

/* The mean difference over the documents that the training text contains as a
 * whole, or over the others. */
static void show_mean(const struct changes *c, const char *name, bool training)
{
    double *diff = xcalloc(c->n, sizeof *diff), half;
    size_t n = 0, better = 0, worse = 0;
    struct paired p;
    char text[NUM_TEXT];

    for (size_t i = 0; i < c->n; i++) {
        const struct change *x = &c->item[i];

        if ((strcmp(x->document[DOCUMENT_TRAINING], "whole") == 0) != training)
            continue;
        diff[n++] = x->diff.mean;
        better += strcmp(judge(x), "better") == 0;
        worse += strcmp(judge(x), "worse") == 0;
    }
    p = paired_independent(diff, n);
    half = paired_half(&p, 0.05);
    free(diff);
    if (n == 0)
        return;
    log_info("%s%s: %s is better on %zu and worse on %zu; the mean difference "
             "is %.4f, from %.4f to %.4f",
             num_count(text, (int64_t)n, "document"),
             training ? " of the training text" : "", name, better, worse,
             p.mean, p.mean - half, p.mean + half);
}

/* A row for each document of the artifact documents/NAME.tsv, which `gtrain
 * eval --documents` has made of both runs (trainer/cmd_eval.c), the one
 * that got better the most first.  The interval of a document's difference is
 * that of its tokens' (common/stats/paired.h).  A message has the mean
 * difference over all documents, and for those in the training text apart. */
static int compare_documents(struct table *t, const struct runs *runs,
                             const char *name, struct err *e)
{
    struct lines a = { .n = 0 }, b = { .n = 0 };
    struct changes c = { NULL, 0 };
    static const char keeps[] = "'gtrain eval --documents'";
    AUTO_FREE char *file = xasprintf("documents/%s.tsv", name);
    int ret;

    t->schema = "gtrack.compare-documents/1";
    if (runs->n != 2 || strchr(name, '/'))
        return err_usage(e,
                         "--documents expects two runs, and the name of an "
                         "artifact without folders, not '%s'",
                         name);
    ret = load_lines(&a, &runs->run[0], file, keeps, e);
    if (ret == 0)
        ret = load_lines(&b, &runs->run[1], file, keeps, e);
    if (ret == 0)
        ret = find_changes(&c, &a, &b, e);
    if (ret == 0) {
        SORT(c.item, c.n, by_difference);
        fill_table(t, &c);
        show_mean(&c, runs->run[1].name, false);
        show_mean(&c, runs->run[1].name, true);
    }
    free(c.item);
    clear_lines(&a);
    clear_lines(&b);
    return ret;
}

/* ---- the command ------------------------------------------------------- */

static struct track_selection selection = TRACK_SELECTION_INIT;
static struct table_style style;
static const char *baseline_word, *columns_text, *documents;
static int by;
static bool all, across, down, tasks;

enum { BY_LAST, BY_BEST };

static const char *const by_words[] = {
    [BY_LAST] = "last",
    [BY_BEST] = "best",
    [BY_BEST + 1] = NULL,
};

static const struct opt compare_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    TRACK_OPTS_SELECTION(selection),
    { 'a', "all", NULL, OPT_FLAG, &all,
      "also print equal parameters, and every metric" },
    { 'b', "baseline", "run", OPT_STRING, &baseline_word,
      "print how far each metric is from its value in RUN" },
    { 'c', "columns", "list", OPT_STRING, &columns_text,
      "compare these columns, as in lr,min(val/loss)" },
    { 0, "documents", "name", OPT_STRING, &documents,
      "compare the losses of two runs on each document of NAME, which gtrain "
      "eval --documents has kept" },
    { 0, "tasks", NULL, OPT_FLAG, &tasks,
      "compare the answers of runs to the questions of eval.tasks" },
    { 0, "by", "value", OPT_WORD, &by,
      "compare the last or the best values of metrics (default: last)",
      by_words },
    { 0, "across", NULL, OPT_FLAG, &across,
      "print one run per row (default for more than four runs)" },
    { 0, "down", NULL, OPT_FLAG, &down,
      "print one run per column (default for up to four runs)" },
    TABLE_OPTS(style),
    { 0 }
};

enum { SIDE_BY_SIDE = 4 };

static int find_baseline(const struct runs *runs, size_t *at, struct err *e)
{
    AUTO(runs_free) struct runs one = { 0 };

    if (track_select_one(&one, baseline_word, LOAD_NO_METRICS, e) < 0)
        return -1;
    for (*at = 0; *at < runs->n; ++*at)
        if (strcmp(runs->run[*at].folder, one.run[0].folder) == 0)
            break;
    if (*at == runs->n)
        err_usage(e, "the baseline %s is not among the runs compared",
                  one.run[0].name);
    return *at < runs->n ? 0 : -1;
}

static int compare_runs(struct table *t, const struct runs *runs, struct err *e)
{
    struct compare_table c = { .columns = columns_text,
                               .best = by == BY_BEST,
                               .all = all,
                               .across = across ||
                                         (!down && runs->n > SIDE_BY_SIDE) };
    size_t at;

    if (baseline_word) {
        if (find_baseline(runs, &at, e) < 0)
            return -1;
        c.base = &runs->run[at];
    }
    return compare_table_fill(t, runs, &c, e);
}

static int compare_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.compare/1");
    const char *judged = !columns_text || strstr(columns_text, "val/loss") ||
                                 strstr(columns_text, "val/perplexity")
                             ? "val/loss"
                         : strstr(columns_text, "val/") ? "val/bpb"
                                                        : NULL;
    const char *caution;
    AUTO(runs_free) struct runs runs = { 0 };
    int ret;

    if (across && down)
        return err_usage(e, "--across and --down cannot be used together");
    ret = track_select(&runs, &selection, argc, argv, e);
    if (ret == 0 && runs.n == 0)
        ret = err_set(e, ERR_MISSING, "there are no runs to compare in %s",
                      track_store());
    differ_drop_sweeps(&runs, argv, argc);
    if (ret == 0 && (tasks || documents)) {
        ret = tasks ? compare_tasks(&t, &runs, e)
                    : compare_documents(&t, &runs, documents, e);
        return table_finish(&t, ret, &style, e);
    }
    caution = judged ? differ_caution(runs.run, runs.n, judged) : NULL;
    if (caution)
        log_warn("%s", caution);
    if (ret == 0)
        ret = compare_runs(&t, &runs, e);
    return table_finish(&t, ret, &style, e);
}

const struct cmd cmd_compare = {
    .name = "compare",
    .args = "[RUN|FILTER]...",
    .help = "compare runs side by side",
    .opts = compare_opts,
    .confine = track_confine_reader,
    .run = compare_main,
};
