#include "config.h"
#include "track/runs/column.h"

#include <math.h>
#include <string.h>

#include "common/hash.h"
#include "common/log.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/output/pager.h"
#include "common/stats/paired.h"
#include "store/query/differ.h"
#include "track/runs/track.h"

struct column *columns_append(struct columns *c, const char *key,
                              const char *title)
{
    GROW(c->item, c->n, c->room);
    c->item[c->n] =
        (struct column){ .key = xstrdup(key), .title = xstrdup(title) };
    return &c->item[c->n++];
}

static bool has_title(const struct columns *c, const char *title)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->item[i].title, title) == 0)
            return true;
    return false;
}

enum run_function column_usual_function(const char *metric)
{
    return run_rate_is(metric) ? FUNCTION_MEAN : FUNCTION_LAST;
}

void columns_add(struct columns *c, enum column_kind kind, const char *key)
{
    struct column *x;

    if (has_title(c, key))
        return;
    x = columns_append(c, key, key);
    x->kind = kind;
    if (kind == COLUMN_METRIC)
        x->function = column_usual_function(key);
}

void columns_attribute(struct columns *c, const char *name)
{
    if (!has_title(c, name))
        columns_append(c, name, name)->attribute = run_value_find(name, false);
}

void columns_join(struct columns *c, struct columns *more)
{
    for (size_t i = 0; i < more->n; i++) {
        APPEND(c->item, c->n, c->room) = more->item[i];
    }
    more->n = 0;
    columns_clear(more);
}

void columns_use_best(struct columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct column *x = &c->item[i];
        const int direction = column_direction(x);

        if (!direction || run_rate_is(x->key))
            continue;
        x->function = direction > 0 ? FUNCTION_MAX : FUNCTION_MIN;
        free(x->title);
        x->title =
            xasprintf("%s(`%s`)", run_value_functions[x->function], x->key);
    }
}

void columns_clear(struct columns *c)
{
    for (size_t i = 0; i < c->n; i++)
        FREE(c->item[i].key, c->item[i].title);
    free(c->item);
    *c = (struct columns){ 0 };
}

static struct table_cell metric_cell(const struct column *c,
                                     const struct run_info *r)
{
    struct err e = { 0 };
    const struct table_cell cell =
        run_value_metric(r, c->key, c->function, c->step, &e);

    if (e.kind)
        log_lack(e.text);
    return cell;
}

static struct table_cell attribute_cell(int attribute, const struct run_info *r)
{
    struct table_cell cell = run_value_attribute(attribute, r);

    if (attribute == ATTRIBUTE_STATUS)
        cell.mark = run_facts_mark(r->status);
    else if (attribute == ATTRIBUTE_DAMAGE)
        cell.mark = MARK_BAD;
    else if (attribute == ATTRIBUTE_CHANGED)
        cell.mark = MARK_WARN;
    return cell;
}

struct table_cell column_cell(const struct column *c, const struct run_info *r)
{
    switch (c->kind) {
    case COLUMN_ATTRIBUTE:
        return attribute_cell(c->attribute, r);
    case COLUMN_METRIC:
        return metric_cell(c, r);
    case COLUMN_PARAM:
        return table_text_cell(run_info_param(r, c->key));
    case COLUMN_TAG:
        return table_text_cell(run_info_tag(r, c->key));
    }
    return table_text_cell(NULL);
}

static bool cells_equal(const struct table_cell *a, const struct table_cell *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case TABLE_NONE:
        return true;
    case TABLE_TEXT:
        return strcmp(a->text, b->text) == 0;
    case TABLE_REAL:
    case TABLE_SECS:
        return a->x == b->x || (isnan(a->x) && isnan(b->x));
    default:
        return a->i == b->i;
    }
}

static bool column_differs(const struct column *c, const struct runs *runs)
{
    for (size_t i = 1; i < runs->n; i++) {
        const struct table_cell a = column_cell(c, &runs->run[0]);
        const struct table_cell b = column_cell(c, &runs->run[i]);

        if (!cells_equal(&a, &b))
            return true;
    }
    return false;
}

int column_direction(const struct column *c)
{
    if (c->kind != COLUMN_METRIC || c->function == FUNCTION_COUNT ||
        c->function == FUNCTION_ARGMIN || c->function == FUNCTION_ARGMAX)
        return 0;
    return run_value_direction(c->key);
}

int column_rank(const struct column *c, const struct runs *runs)
{
    const int direction = column_direction(c);

    return direction && differ_caution(runs->run, runs->n, c->key) ? 0
                                                                   : direction;
}

void column_mark_best(const struct column *c, struct table *t, size_t at,
                      const struct runs *runs)
{
    const int rank = column_rank(c, runs);

    if (rank)
        table_mark_best(t, at, rank > 0);
}

void columns_fill(const struct columns *c, struct table *t,
                  const struct runs *runs, bool marks)
{
    for (size_t j = t->n_columns; j < c->n; j++)
        table_column(t, c->item[j].title);
    for (size_t i = 0; i < runs->n; i++)
        for (size_t j = 0; j < c->n; j++)
            table_borrow(t, column_cell(&c->item[j], &runs->run[i]));
    for (size_t j = 0; j < c->n && marks; j++)
        column_mark_best(&c->item[j], t, j, runs);
}

struct rows { /* what a thread writes */
    const struct columns *c;
    struct run_info *run, *end;
    enum table_form form;
    bool header;
    struct buf out;
};

/* A few at once, so that their cells stay in the processor's cache. */
static void write_rows(void *arg)
{
    enum { FEW = 16 };
    struct rows *r = arg;
    struct table t = TABLE_INIT(NULL);

    do {
        struct runs some = { .run = r->run, .n = (size_t)(r->end - r->run) };

        some.n = some.n < FEW ? some.n : FEW;
        t.n_cells = 0;
        columns_fill(r->c, &t, &some, false);
        table_write_data(&t, r->form, r->header, &r->out);
        r->header = false;
        r->run += some.n;
    } while (r->run < r->end);
    table_clear(&t);
}

int columns_print(const struct columns *c, const struct runs *runs,
                  enum table_form form, bool header, struct err *e)
{
    enum { THREADS = 8, FEW = 256 };
    const size_t n = runs->n < THREADS * FEW ? runs->n / FEW + 1 : THREADS;
    struct run_info *run = runs->run;
    struct rows rows[THREADS];
    int ret = 0;

    for (size_t i = 0; i < n; i++, run = rows[i - 1].end)
        rows[i] = (struct rows){ c,
                                 run,
                                 runs->run + runs->n * (i + 1) / n,
                                 form,
                                 header && i == 0,
                                 BUF_INIT };
    threads_run(write_rows, rows, sizeof rows[0], (int)n);
    for (size_t i = 0; i < n; i++) {
        ret = ret == 0 ? pager_data(rows[i].out.s, rows[i].out.len, e) : -1;
        buf_clear(&rows[i].out);
    }
    return ret;
}

double column_cell_number(const struct table_cell *c)
{
    double x = (double)NAN;

    switch (c->type) {
    case TABLE_INT:
    case TABLE_TIME:
        return (double)c->i;
    case TABLE_REAL:
    case TABLE_SECS:
        return c->x;
    case TABLE_TEXT:
        num_real(c->text, &x);
        return x;
    default:
        return x;
    }
}

double column_number(const struct column *c, const struct run_info *r)
{
    const struct table_cell cell = column_cell(c, r);

    return column_cell_number(&cell);
}

/* ---- groups of runs ------------------------------------------------------ */

static uint64_t hash_cell(const struct table_cell *c)
{
    double x = c->x;
    uint64_t bits;

    switch (c->type) {
    case TABLE_NONE:
        return 0;
    case TABLE_TEXT:
        return hash_name(c->text);
    case TABLE_REAL:
    case TABLE_SECS:
        if (isnan(x) || x == 0.0)
            return isnan(x) ? 1u
                            : 0u; /* they are equal, whatever their bits are */
        memcpy(&bits, &x, sizeof bits);
        return bits;
    default:
        return (uint64_t)c->i;
    }
}

static bool same_cells(const struct table_cell *a, const struct table_cell *b,
                       size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!cells_equal(&a[i], &b[i]))
            return false;
    return true;
}

size_t column_group_cells(const struct table_cell *cell, size_t rows,
                          size_t columns, size_t *group)
{
    size_t groups = 0, room = 16;
    /* of a group: its first row; of a hash: group + 1 */
    AUTO_FREE size_t *first = NULL, *slot = NULL;

    while (room < 2 * rows)
        room *= 2;
    slot = xcalloc(room, sizeof *slot);
    first = xcalloc(rows, sizeof *first);
    for (size_t i = 0; i < rows; i++) {
        const struct table_cell *key = cell + i * columns;
        uint64_t hash = 0;
        size_t at;

        for (size_t c = 0; c < columns; c++)
            hash = (hash ^ hash_cell(&key[c])) * 0x9e3779b97f4a7c15u;
        at = (size_t)(hash >> 32) & (room - 1);
        while (slot[at] &&
               !same_cells(key, cell + first[slot[at] - 1] * columns, columns))
            at = (at + 1) & (room - 1);
        if (!slot[at]) {
            first[groups] = i;
            slot[at] = ++groups;
        }
        group[i] = slot[at] - 1;
    }
    return groups;
}

/* The last steps of runs that one row averages, if they differ. */
struct lengths {
    int64_t least, most;
};

static void compare_lengths(struct lengths *l, const struct run_info *run,
                            const struct column *c)
{
    const struct metric_sum *m =
        c->kind == COLUMN_METRIC ? run_info_metric(run, c->key) : NULL;

    if (m && (l->most == 0 || m->last_step < l->least))
        l->least = m->last_step;
    if (m && m->last_step > l->most)
        l->most = m->last_step;
}

static void add_row(struct table *t, const struct runs *runs,
                    const struct columns *by, const struct columns *metrics,
                    const size_t *member, size_t n, struct lengths *l)
{
    AUTO_FREE double *x = xcalloc(n, sizeof *x);

    for (size_t j = 0; j < by->n; j++)
        table_add(t, column_cell(&by->item[j], &runs->run[member[0]]));
    table_int(t, (int64_t)n);
    for (size_t j = 0; j < metrics->n; j++) {
        struct paired s;
        size_t finite = 0;

        for (size_t k = 0; k < n; k++) {
            x[finite] = column_number(&metrics->item[j], &runs->run[member[k]]);
            finite += isfinite(x[finite]) != 0;
        }
        s = paired_independent(x, finite);
        if (finite)
            table_spread(t, s.mean, s.deviation, (int64_t)finite,
                         paired_half(&s, 0.05));
        else
            table_none(t);
    }
    for (size_t k = 0; metrics->n > 0 && k < n; k++)
        compare_lengths(l, &runs->run[member[k]], &metrics->item[0]);
}

/* The rows in the order of their groups; *end becomes where each group ends. */
static size_t *sort_by_group(const size_t *group, size_t rows, size_t groups,
                             size_t **end)
{
    size_t *member = xcalloc(rows, sizeof *member);

    *end = xcalloc(groups + 1, sizeof **end);
    for (size_t i = 0; i < rows; i++)
        (*end)[group[i] + 1]++;
    for (size_t g = 0; g < groups; g++)
        (*end)[g + 1] += (*end)[g];
    for (size_t i = 0; i < rows; i++)
        member[(*end)[group[i]]++] = i;
    return member;
}

static void add_groups(struct table *t, const struct runs *runs,
                       const struct columns *by, const struct columns *metrics)
{
    struct table_cell *cell = xcalloc(runs->n * by->n, sizeof *cell);
    size_t *group = xcalloc(runs->n, sizeof *group);
    struct lengths l = { 0 };
    size_t *member, *end, groups, unequal = 0;

    for (size_t i = 0; i < runs->n; i++)
        for (size_t j = 0; j < by->n; j++)
            cell[i * by->n + j] = column_cell(&by->item[j], &runs->run[i]);
    groups = column_group_cells(cell, runs->n, by->n, group);
    member = sort_by_group(group, runs->n, groups, &end);
    for (size_t g = 0, from = 0; g < groups; from = end[g++]) {
        struct lengths one = { 0 };

        add_row(t, runs, by, metrics, member + from, end[g] - from, &one);
        if (one.least < one.most && unequal++ == 0)
            l = one;
    }
    if (unequal)
        log_warn("%zu of %zu groups average runs of different lengths, such as "
                 "%lld and %lld steps of %s; 'best %s --paired' compares equal "
                 "steps",
                 unequal, groups, (long long)l.least, (long long)l.most,
                 metrics->item[0].key, metrics->item[0].key);
    FREE(end, member, group, cell);
}

int columns_fill_groups(struct table *t, const struct runs *runs,
                        const char *by, const struct columns *metrics,
                        struct err *e)
{
    AUTO(columns_clear) struct columns keys = { 0 };
    const int ret = by ? columns_parse(&keys, by, runs, e) : 0;

    for (size_t j = 0; j < keys.n; j++)
        table_column(t, keys.item[j].title);
    table_column(t, "runs");
    for (size_t j = 0; j < metrics->n; j++)
        table_column(t, metrics->item[j].title);
    if (ret == 0)
        add_groups(t, runs, &keys, metrics);
    for (size_t j = 0; j < metrics->n; j++)
        column_mark_best(&metrics->item[j], t, keys.n + 1 + j, runs);
    return ret;
}

/* A table of all keys of many runs could take minutes: keep the keys that most
 * runs have. */
static void keep_most_used(struct differ *d, const char *what)
{
    enum { MOST = 1000 };

    if (d->n <= MOST)
        return;
    log_warn("the runs have %zu different %s; showing the %d that the most "
             "runs have, --columns shows others",
             d->n, what, MOST);
    differ_keep(d, MOST);
}

void auto_columns_params(struct columns *c, const struct runs *runs, bool all)
{
    AUTO(differ_clear) struct differ d = { 0 };

    if (all)
        differ_count(&d, runs->run, runs->n, false);
    else
        differ_params(&d, runs->run, runs->n);
    keep_most_used(&d, "parameters");
    for (size_t i = 0; i < d.n; i++)
        columns_add(c, COLUMN_PARAM, d.item[i].key);
}

/* Is it a result of an evaluation, unlike train/perplexity? */
static bool is_result(const char *metric)
{
    return run_value_direction(metric) != 0 &&
           strncmp(metric, "train/", 6) != 0 &&
           strncmp(metric, "perf/", 5) != 0;
}

enum { MAX_METRICS = 6 };

/* Add metrics that most runs have, until there are enough. */
static void fill_up(struct columns *c, struct differ *u, size_t enough)
{
    differ_by_use(u);
    for (size_t i = 0; i < u->n && c->n < enough; i++)
        if (strncmp(u->item[i].key, "system/", 7) != 0 &&
            strncmp(u->item[i].key, "exec/", 5) != 0)
            columns_add(c, COLUMN_METRIC, u->item[i].key);
}

void auto_columns_metrics(struct columns *c, const struct runs *runs, bool all)
{
    /* the metrics of gtrain that runs are compared by, in this order */
    static const char *const usual[] = {
        "train/loss",
        "val/loss",
        "val/perplexity",
        "val/bpb",
        "task/hellaswag/acc",
        "task/hellaswag/acc_norm",
        "task/hellaswag_plain/acc",
        "task/hellaswag_plain/acc_norm",
        "hellaswag/acc",
        "hellaswag/acc_norm",
        "perf/tokens_per_s",
        "perf/mfu",
    };
    AUTO(differ_clear) struct differ u = { 0 };
    const size_t before = c->n;

    differ_count(&u, runs->run, runs->n, true);
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++) {
        if (differ_find(&u, usual[i]))
            columns_add(c, COLUMN_METRIC, usual[i]);
    }
    for (size_t i = 0; i < u.n && !all && c->n < before + MAX_METRICS; i++)
        if (is_result(u.item[i].key))
            columns_add(c, COLUMN_METRIC, u.item[i].key);
    if (c->n == before && !all)
        fill_up(c, &u, before + MAX_METRICS);
    if (all)
        keep_most_used(&u, "metrics");
    for (size_t i = 0; i < u.n && all; i++)
        columns_add(c, COLUMN_METRIC, u.item[i].key);
}

void auto_columns_some(struct columns *c, const struct runs *runs)
{
    AUTO(differ_clear) struct differ u = { 0 };

    differ_count(&u, runs->run, runs->n, true);
    auto_columns_metrics(c, runs, false);
    fill_up(c, &u, MAX_METRICS);
}

/* ---- for gtrack ls ----------------------------------------------------- */

void auto_columns_attribute(struct columns *c, const char *name,
                            const struct runs *runs, bool always)
{
    const struct column x = { .attribute = run_value_find(name, false) };

    if (always || column_differs(&x, runs))
        columns_attribute(c, name);
}

/* Add an attribute that few runs have, if one of these has it. */
static void add_if_any(struct columns *c, const char *attribute,
                       const struct runs *runs)
{
    const struct column x = { .attribute = run_value_find(attribute, false) };

    for (size_t i = 0; i < runs->n; i++)
        if (column_cell(&x, &runs->run[i]).type != TABLE_NONE) {
            columns_attribute(c, attribute);
            return;
        }
}

static bool has_other_status(const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->run[i].status != RUN_FINISHED)
            return true;
    return false;
}

void auto_columns_full(struct columns *c, const struct runs *runs,
                       const struct track_selection *s, enum auto_reader reader)
{
    const bool document = reader != AUTO_PROGRAM,
               all = reader == AUTO_DOCUMENT_ALL;

    columns_attribute(c, "name");
    if (document)
        columns_add_sorted(c, s->sort, runs);
    if (!document)
        columns_attribute(c, "id");
    auto_columns_attribute(c, "experiment", runs, !document || all);
    columns_attribute(c, "status");
    if (s->deleted)
        columns_attribute(c, "deleted");
    if (document)
        add_if_any(c, "damage", runs);
    else
        columns_attribute(c, "damage");
    add_if_any(c, "changed", runs);
    columns_attribute(c, "started");
    columns_attribute(c, "time");
    if (!document || all)
        columns_attribute(c, "user");
    auto_columns_attribute(c, "attempts", runs, !document || all);
    columns_attribute(c, "steps");
    if (document && !all) {
        auto_columns_metrics(c, runs, false);
        auto_columns_params(c, runs, false);
    } else {
        auto_columns_params(c, runs, true);
        auto_columns_metrics(c, runs, true);
    }
}

/* Is it a number, or at least short, in each run? */
static bool is_narrow(const char *key, const struct runs *runs)
{
    enum { WIDEST = 10 };

    for (size_t i = 0; i < runs->n; i++) {
        const char *value = run_info_param(&runs->run[i], key);

        if (value && strlen(value) > WIDEST)
            return false;
    }
    return true;
}

/* Add what was swept, or the first narrow parameters in which the runs
 * differ. */
static void add_first_params(struct columns *c, const struct runs *runs)
{
    enum { MOST = 3 };
    AUTO(differ_clear) struct differ d = { 0 };
    const size_t before = c->n;

    differ_params(&d, runs->run, runs->n);
    for (size_t i = 0; i < d.n; i++)
        if (i < d.swept ||
            (c->n < before + MOST && is_narrow(d.item[i].key, runs)))
            columns_add(c, COLUMN_PARAM, d.item[i].key);
}

/* Add the best value of the metric that the runs are judged by: that of an
 * evaluation if there is one. */
static void add_best(struct columns *c, const struct runs *runs)
{
    AUTO(columns_clear) struct columns metrics = { 0 };
    const struct column *best = NULL;

    auto_columns_metrics(&metrics, runs, false);
    for (size_t i = 0; i < metrics.n; i++)
        if (column_direction(&metrics.item[i]) &&
            (!best || strncmp(best->key, "train/", 6) == 0))
            best = &metrics.item[i];
    if (best) {
        const int f = column_direction(best) > 0 ? FUNCTION_MAX : FUNCTION_MIN;
        AUTO_FREE char *title =
            xasprintf("%s(%s)", run_value_functions[f], best->key);
        struct column *x = columns_append(c, best->key, title);

        x->kind = COLUMN_METRIC;
        x->function = (enum run_function)f;
    }
}

/* Show "optim.lr" as "lr", unless something else is called so. */
void auto_columns_shorten(struct columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *dot = strrchr(c->item[i].key, '.');
        bool taken = !dot || !dot[1] || c->item[i].kind != COLUMN_PARAM ||
                     run_value_find(dot + 1, false) >= 0;

        for (size_t j = 0; j < c->n && !taken; j++)
            taken = j != i && str_ends(c->item[j].key, dot + 1);
        if (!taken)
            xreplace(&c->item[i].title, dot + 1);
    }
}

void auto_columns_short(struct columns *c, const struct runs *runs,
                        const struct track_selection *s)
{
    columns_attribute(c, "name");
    columns_add_sorted(c, s->sort, runs);
    if (s->deleted)
        columns_attribute(c, "deleted");
    if (has_other_status(runs))
        columns_attribute(c, "status");
    add_first_params(c, runs);
    add_best(c, runs);
    columns_attribute(c, "steps");
    columns_attribute(c, "time");
    auto_columns_attribute(c, "experiment", runs, false);
    columns_attribute(c, "started");
    add_if_any(c, "damage", runs);
    add_if_any(c, "changed", runs);
    auto_columns_attribute(c, "attempts", runs, false);
    auto_columns_metrics(c, runs, false);
    auto_columns_params(c, runs, false);
    auto_columns_shorten(c);
}
