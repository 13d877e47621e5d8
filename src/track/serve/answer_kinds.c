/*
 * answer_kinds - the charts that can be drawn of some runs, in groups
 *
 * A group has the metrics whose names begin alike, up to the first slash.  A
 * chart is a kind of figure of gplot, which may have several metrics, or else a
 * metric with those of other ranks.
 */
#include "config.h"

#include <string.h>

#include "common/mem.h"
#include "common/output/emit.h"
#include "common/path.h"
#include "plot/curve_kind.h"
#include "store/query/run_value.h"
#include "track/runs/file_tree.h"
#include "track/serve/site.h"

struct chart {
    char *prefix;                  /* of its group: "train" */
    char *name;                    /* of the metric, without its rank */
    const struct curve_kind *kind; /* or NULL */
    bool ranks;                    /* other ranks have it, too */
};

struct charts {
    struct chart *item;
    size_t n, room;
};

static char *prefix_of(const char *key)
{
    const char *slash = strchr(key, '/');

    return slash ? xstrndup(key, (size_t)(slash - key)) : xstrdup("");
}

/* The row of gplot's figures that draws a metric in its own command. */
static const struct curve_kind *figure_of(const char *key)
{
    const struct curve_kind *k = curve_kind_of_metric(key, NULL);

    return k ? curve_kind_find(k->cmd.name) : NULL;
}

static void add_chart(struct charts *c, const char *key)
{
    const struct curve_kind *k = figure_of(key);
    char plain[256];
    const bool ranked = curve_kind_rank(key, plain, sizeof plain) > 0 ||
                        strcmp(plain, key) != 0;

    for (size_t i = 0; i < c->n; i++) {
        if (k ? c->item[i].kind == k : strcmp(c->item[i].name, plain) == 0) {
            c->item[i].ranks |= ranked;
            return;
        }
    }
    APPEND(c->item, c->n, c->room) = (struct chart){ .prefix = prefix_of(plain),
                                                     .name = xstrdup(plain),
                                                     .kind = k,
                                                     .ranks = ranked };
}

/* A chart for each histogram of a run, which is drawn by itself. */
static int write_histograms(struct emit *o, const struct runs *runs,
                            struct err *e)
{
    enum { MOST = 100 };
    static const char ending[] = ".jsonl";
    size_t n = 0;
    int ret = 0;

    for (size_t r = 0; r < runs->n && ret == 0; r++) {
        const struct run_info *run = &runs->run[r];
        AUTO_FREE char *folder = path_join(run->artifacts, "histograms");
        AUTO(file_tree_clear) struct file_tree files = { 0 };

        ret = file_tree_list(&files, folder, run_info_inside(run), e);
        for (size_t i = 0; ret == 0 && i < files.n && n < MOST; i++) {
            const char *path = files.file[i].path;
            const int len = (int)(strlen(path) - strlen(ending));

            if (!str_ends(path, ending) || files.file[i].outside)
                continue;
            emit_object(o, NULL);
            emit_printf(o, "hist", "%.*s", len, path);
            emit_text(o, "run", run->id);
            emit_printf(o, "title", "%.*s%s%s", len, path,
                        runs->n > 1 ? " of " : "",
                        runs->n > 1 ? run->name : "");
            emit_object_end(o);
            n++;
        }
    }
    return ret;
}

/* The order of groups: results before the machine. */
static int place_of(const char *prefix)
{
    static const char *const order[] = { "train",     "val",  "eval",
                                         "hellaswag", "",     "model",
                                         "optim",     "perf", "gpu",
                                         "system",    "exec" };

    for (int i = 0; i < (int)(sizeof order / sizeof order[0]); i++)
        if (strcmp(prefix, order[i]) == 0)
            return i < 5 ? i : i + 100;
    return 50;
}

/* Figures of gplot come first, and of them the loss. */
static int rank_of(const struct curve_kind *k)
{
    return !k ? 2 : strcmp(k->cmd.name, "loss") != 0;
}

static int by_group(const void *a, const void *b)
{
    const struct chart *x = a, *y = b;

    return place_of(x->prefix) - place_of(y->prefix) ?:
           strcmp(x->prefix, y->prefix) ?:
           rank_of(x->kind) - rank_of(y->kind) ?:
           (x->kind > y->kind) - (x->kind < y->kind) ?:
           strcmp(x->name, y->name);
}

/* The metrics of a kind that some of the runs have. */
static void write_metrics(struct emit *o, const struct curve_kind *k,
                          const struct runs *runs)
{
    emit_array(o, "metrics");
    for (int i = 0; i < KIND_LINES && k->line[i].label; i++) {
        const char *key = NULL;

        for (size_t r = 0; r < runs->n && !key; r++)
            key = curve_kind_line_key(&runs->run[r], &k->line[i]);
        if (key)
            emit_text(o, NULL, key);
    }
    emit_array_end(o);
}

static void write_chart(struct emit *o, const struct chart *c,
                        const struct runs *runs)
{
    const char *rest = strchr(c->name, '/');
    const bool first = find_key_exists(runs, METRIC, c->name); /* of rank 0 */

    emit_object(o, NULL);
    if (c->kind) {
        emit_text(o, "kind", c->kind->cmd.name);
        emit_text(o, "title", c->kind->title);
        write_metrics(o, c->kind, runs);
    } else {
        emit_text(o, "title", c->name);
        if (c->ranks && rest)
            emit_printf(o, "metric", "%s%s%s/[0-9]*%s", first ? c->name : "",
                        first ? "," : "", c->prefix, rest);
        else
            emit_text(o, "metric", c->name);
    }
    emit_object_end(o);
}

/* A saved page has no histograms. */
static int write_charts(struct emit *o, const struct charts *c,
                        const struct runs *runs, bool frozen, struct err *e)
{
    int ret = 0;

    emit_array(o, "groups");
    for (size_t i = 0; i < c->n; i++) {
        const char *prefix = c->item[i].prefix;

        if (i == 0 || strcmp(prefix, c->item[i - 1].prefix) != 0) {
            emit_object(o, NULL);
            emit_text(o, "prefix", prefix);
            emit_array(o, "charts");
        }
        write_chart(o, &c->item[i], runs);
        if (i + 1 == c->n || strcmp(prefix, c->item[i + 1].prefix) != 0) {
            emit_array_end(o);
            emit_object_end(o);
        }
    }
    emit_object(o, NULL);
    emit_text(o, "prefix", "histograms");
    emit_array(o, "charts");
    if (!frozen)
        ret = write_histograms(o, runs, e);
    emit_array_end(o);
    emit_object_end(o);
    emit_array_end(o);
    return ret;
}

int answer_kinds(struct site *s, struct query *q, struct answer *a,
                 struct err *e)
{
    struct charts c = { 0 };
    AUTO(chosen_close) struct chosen chosen = { 0 };
    const struct runs *runs = &chosen.runs;
    int ret;

    if (chosen_open(&chosen, s, q, e) < 0)
        return -1;
    for (size_t i = 0; i < runs->n; i++)
        for (size_t k = 0; k < runs->run[i].n_metrics; k++)
            add_chart(&c, runs->run[i].metrics[k].key);
    SORT(c.item, c.n, by_group);
    ret = write_charts(&a->out, &c, runs, s->frozen, e);
    for (size_t i = 0; i < c.n; i++)
        FREE(c.item[i].prefix, c.item[i].name);
    free(c.item);
    return ret;
}
