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
#include "common/stats/paired.h"
#include "store/query/differ.h"
#include "track/runs/compare_table.h"
#include "track/runs/track.h"

enum { FILE_MAX = 1 << 30 };

/* ---- documents --------------------------------------------------------- */

struct document {
    char *source, *training, *losses; /* in the text of the file */
};

struct documents {
    struct buf text;
    struct document *item;
    size_t n, room;
};

/* SOURCE, COUNT, MEAN, TRAINING and LOSSES, with tabs between them. */
static bool parse_line(struct documents *d, char *line)
{
    char *field[5];

    for (int i = 0; i < 5; i++) {
        field[i] = strsep(&line, "\t");
        if (!field[i])
            return false;
    }
    APPEND(d->item, d->n, d->room) = (struct document){ .source = field[0],
                                                        .training = field[3],
                                                        .losses = field[4] };
    return true;
}

static int load_documents(struct documents *d, const struct run_info *run,
                          const char *name, struct err *e)
{
    AUTO_FREE char *path =
        xasprintf("%s/documents/%s.tsv", run->artifacts, name);
    const int fd = path_open_inside(path, run_info_inside(run), e);
    char *at, *line;
    int ret = -1;

    d->text = BUF_INIT;
    if (fd >= 0)
        ret = buf_read_open(&d->text, fd, path, FILE_MAX, e);
    else if (e->kind == ERR_MISSING)
        err_set(e, ERR_MISSING,
                "%s has no losses of %s; 'gtrain eval --documents' keeps them",
                run->name, name);
    at = d->text.s;
    for (long n = 1; ret == 0 && (line = strsep(&at, "\n")) && *line; n++)
        if (!parse_line(d, line))
            ret =
                err_set(e, ERR_INPUT, "%s:%ld: expected five fields", path, n);
    return ret;
}

static void clear_documents(struct documents *d)
{
    buf_clear(&d->text);
    free(d->item);
}

/* ---- differences ------------------------------------------------------ */

struct change {
    const struct document *document;
    double a, b; /* mean losses */
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

static int find_changes(struct changes *c, const struct documents *a,
                        const struct documents *b, struct err *e)
{
    if (a->n != b->n || a->n == 0)
        return err_set(e, ERR_INPUT,
                       "the runs were evaluated on %zu and %zu documents", a->n,
                       b->n);
    c->item = xcalloc(a->n, sizeof *c->item);
    for (; c->n < a->n; c->n++) {
        const struct document *x = &a->item[c->n], *y = &b->item[c->n];

        c->item[c->n].document = y;
        if (strcmp(x->source, y->source) != 0 ||
            !subtract_losses(&c->item[c->n], x->losses, y->losses))
            return err_set(e, ERR_INPUT,
                           "document %zu is %s in one run and %s in the "
                           "other, or has other tokens",
                           c->n + 1, x->source, y->source);
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

        table_text(t, x->document->source);
        table_int(t, (int64_t)x->diff.n);
        table_real(t, x->a);
        table_real(t, x->b);
        table_real(t, x->diff.mean);
        table_real_or_none(t, x->diff.mean - x->half);
        table_real_or_none(t, x->diff.mean + x->half);
        table_text(t, judge(x));
        table_text(t, *x->document->training ? x->document->training : NULL);
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

        if ((strcmp(x->document->training, "whole") == 0) != training)
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
static int compare_documents(struct table *t, const struct run_info *first,
                             const struct run_info *second, const char *name,
                             struct err *e)
{
    struct documents a = { .n = 0 }, b = { .n = 0 };
    struct changes c = { NULL, 0 };
    int ret = load_documents(&a, first, name, e);

    if (ret == 0)
        ret = load_documents(&b, second, name, e);
    if (ret == 0)
        ret = find_changes(&c, &a, &b, e);
    if (ret == 0) {
        SORT(c.item, c.n, by_difference);
        fill_table(t, &c);
        show_mean(&c, second->name, false);
        show_mean(&c, second->name, true);
    }
    free(c.item);
    clear_documents(&a);
    clear_documents(&b);
    return ret;
}

/* ---- the command ------------------------------------------------------- */

static struct track_selection selection = TRACK_SELECTION_INIT;
static struct table_style style;
static const char *baseline_word, *columns_text, *documents;
static int by;
static bool all, across, down;

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
        err_set(e, ERR_USAGE, "the baseline %s is not among the runs compared",
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

/* Two runs, in the order of the command line. */
static int print_documents(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrack.compare-documents/1");
    AUTO(runs_free) struct runs a = { 0 }, b = { 0 };
    int ret = track_check_args(argc, argv, 2, 2, e);

    if (ret == 0 && strchr(documents, '/'))
        ret = err_set(e, ERR_USAGE,
                      "--documents expects the name of an artifact without "
                      "folders, not '%s'",
                      documents);
    if (ret == 0)
        ret = track_select_one(&a, argv[0], LOAD_NO_METRICS, e);
    if (ret == 0)
        ret = track_select_one(&b, argv[1], LOAD_NO_METRICS, e);
    if (ret == 0)
        ret = compare_documents(&t, &a.run[0], &b.run[0], documents, e);
    return table_finish(&t, ret, &style, e);
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
        return err_set(e, ERR_USAGE,
                       "--across and --down cannot be used together");
    if (documents)
        return print_documents(argc, argv, e);
    ret = track_select(&runs, &selection, argc, argv, e);
    if (ret == 0 && runs.n == 0)
        ret = err_set(e, ERR_MISSING, "there are no runs to compare in %s",
                      track_store());
    differ_drop_sweeps(&runs, argv, argc);
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
