#include "config.h"
#include "track/runs/column.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "store/query/differ.h"
#include "store/read/run_rate.h"
#include "track/runs/run_facts.h"

/* clang-format off */
#define ATTRIBUTES(X) \
    X(NAME, "name") X(ID, "id") X(EXPERIMENT, "experiment") \
    X(EXPERIMENT_ID, "experiment_id") X(STATUS, "status") \
    X(REASON, "reason") \
    X(STARTED, "started") X(ENDED, "ended") X(TIME, "time") \
    X(STEPS, "steps") X(USER, "user") X(ATTEMPTS, "attempts") \
    X(PARENT, "parent") X(DELETED, "deleted") X(DAMAGE, "damage") \
    X(CHANGED, "changed") X(FOLDER, "folder")
#define ATTRIBUTE_VALUE(value, name) value,
#define ATTRIBUTE_NAME(value, name) name,
/* clang-format on */

enum attribute { ATTRIBUTES(ATTRIBUTE_VALUE) };

const char *const column_attributes[] = { ATTRIBUTES(ATTRIBUTE_NAME) NULL };

/* Other names, most of them MLflow's. */
static const struct {
    const char *alias;
    enum attribute attribute;
} aliases[] = {
    { "run_name", NAME },   { "run_id", ID },      { "start_time", STARTED },
    { "created", STARTED }, { "end_time", ENDED }, { "duration", TIME },
    { "user_id", USER },    { "state", STATUS },
};

const char *const column_functions[] = {
    [COLUMN_LAST] = "last",     [COLUMN_MIN] = "min",
    [COLUMN_MAX] = "max",       [COLUMN_MEAN] = "mean",
    [COLUMN_FIRST] = "first",   [COLUMN_COUNT] = "count",
    [COLUMN_ARGMIN] = "argmin", [COLUMN_ARGMAX] = "argmax",
    [COLUMN_AT] = "at",         [COLUMN_MEDIAN] = "median",
    [COLUMN_MEDIAN + 1] = NULL,
};

int column_find_attribute(const char *name)
{
    for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; i++)
        if (strcmp(name, aliases[i].alias) == 0)
            return (int)aliases[i].attribute;
    return opt_find_word(column_attributes, name);
}

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

enum column_function column_usual_function(const char *metric)
{
    return run_rate_is(metric) ? COLUMN_MEAN : COLUMN_LAST;
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
        columns_append(c, name, name)->attribute = column_find_attribute(name);
}

void columns_join(struct columns *c, struct columns *more)
{
    for (size_t i = 0; i < more->n; i++) {
        GROW(c->item, c->n, c->room);
        c->item[c->n++] = more->item[i];
    }
    more->n = 0;
    columns_clear(more);
}

static void clear_column(struct column *c)
{
    free(c->key);
    free(c->title);
}

void columns_remove(struct columns *c, size_t at)
{
    clear_column(&c->item[at]);
    c->n--;
    memmove(c->item + at, c->item + at + 1, (c->n - at) * sizeof *c->item);
}

void columns_use_best(struct columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct column *x = &c->item[i];
        const int direction = column_direction(x);

        if (!direction || run_rate_is(x->key))
            continue;
        x->function = direction > 0 ? COLUMN_MAX : COLUMN_MIN;
        free(x->title);
        x->title = xasprintf("%s(`%s`)", column_functions[x->function], x->key);
    }
}

void columns_clear(struct columns *c)
{
    for (size_t i = 0; i < c->n; i++)
        clear_column(&c->item[i]);
    free(c->item);
    *c = (struct columns){ 0 };
}

static struct table_cell metric_cell(const struct column *c,
                                     const struct run_info *r)
{
    const struct metric_sum *m = run_info_metric(r, c->key);
    struct table_cell cell = { .type = TABLE_REAL };
    struct err e = { 0 };

    if (!m)
        return (struct table_cell){ .type = TABLE_NONE };
    switch (c->function) {
    case COLUMN_LAST:
        cell.x = m->last;
        break;
    case COLUMN_MIN:
        cell.x = m->min;
        break;
    case COLUMN_MAX:
        cell.x = m->max;
        break;
    case COLUMN_MEAN:
        cell.x = run_rate_is(c->key) ? run_rate(r, c->key, &e) : m->mean;
        break;
    case COLUMN_MEDIAN:
        if (!series_median(&cell.x, r, c->key, &e))
            cell.type = TABLE_NONE;
        break;
    case COLUMN_FIRST:
        if (!series_at(&cell.x, r, c->key, m->first_step, true, &e))
            cell.type = TABLE_NONE;
        break;
    case COLUMN_AT:
        if (!series_at(&cell.x, r, c->key, c->step, false, &e))
            cell.type = TABLE_NONE;
        break;
    case COLUMN_COUNT:
        cell.type = TABLE_INT;
        cell.i = m->count;
        break;
    case COLUMN_ARGMIN:
    case COLUMN_ARGMAX:
        cell.type = isnan(m->min) ? TABLE_NONE : TABLE_INT;
        cell.i = c->function == COLUMN_ARGMIN ? m->min_step : m->max_step;
        break;
    }
    if (e.kind)
        log_lack(e.text);
    return cell;
}

static struct table_cell text_cell(const char *s)
{
    return (struct table_cell){ .type = s ? TABLE_TEXT : TABLE_NONE,
                                .text = s };
}

static struct table_cell time_cell(int64_t ms)
{
    return (struct table_cell){ .type = ms ? TABLE_TIME : TABLE_NONE, .i = ms };
}

static struct table_cell attribute_cell(int attribute, const struct run_info *r)
{
    struct table_cell cell = { .type = TABLE_INT };

    switch ((enum attribute)attribute) {
    case NAME:
        return text_cell(r->name);
    case ID:
        return text_cell(r->id);
    case EXPERIMENT:
        return text_cell(r->experiment);
    case EXPERIMENT_ID:
        return text_cell(r->experiment_id);
    case USER:
        return text_cell(r->user);
    case PARENT:
        return text_cell(r->parent);
    case FOLDER:
        return text_cell(r->folder);
    case STATUS:
        cell = text_cell(run_status_word(r->status));
        cell.mark = run_facts_mark(r->status);
        return cell;
    case REASON:
        return text_cell(r->state_reason);
    case DAMAGE:
        cell = text_cell(r->damage);
        cell.mark = MARK_BAD;
        return cell;
    case CHANGED:
        cell = text_cell(r->changed);
        cell.mark = MARK_WARN;
        return cell;
    case STARTED:
        return time_cell(r->start_ms);
    case ENDED:
        return time_cell(r->end_ms);
    case TIME:
        cell.type = r->start_ms ? TABLE_SECS : TABLE_NONE;
        cell.x = run_info_seconds(r);
        return cell;
    case STEPS:
        cell.i = run_info_last_step(r);
        cell.type = cell.i < 0 ? TABLE_NONE : TABLE_INT;
        return cell;
    case ATTEMPTS:
        cell.i = r->attempts;
        return cell;
    case DELETED:
        return text_cell(r->deleted ? "deleted" : NULL);
    }
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
        return text_cell(run_info_param(r, c->key));
    case COLUMN_TAG:
        return text_cell(run_info_tag(r, c->key));
    }
    return text_cell(NULL);
}

bool column_cells_equal(const struct table_cell *a, const struct table_cell *b)
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

bool column_differs(const struct column *c, const struct runs *runs)
{
    for (size_t i = 1; i < runs->n; i++) {
        const struct table_cell a = column_cell(c, &runs->run[0]);
        const struct table_cell b = column_cell(c, &runs->run[i]);

        if (!column_cells_equal(&a, &b))
            return true;
    }
    return false;
}

int column_direction(const struct column *c)
{
    if (c->kind != COLUMN_METRIC || c->function == COLUMN_COUNT ||
        c->function == COLUMN_ARGMIN || c->function == COLUMN_ARGMAX)
        return 0;
    return run_facts_direction(c->key);
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
                  const struct runs *runs)
{
    for (size_t j = 0; j < c->n; j++)
        table_column(t, c->item[j].title);
    for (size_t i = 0; i < runs->n; i++)
        for (size_t j = 0; j < c->n; j++)
            table_add(t, column_cell(&c->item[j], &runs->run[i]));
    for (size_t j = 0; j < c->n; j++)
        column_mark_best(&c->item[j], t, j, runs);
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
