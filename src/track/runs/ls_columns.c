#include "config.h"
#include "track/runs/ls_columns.h"

#include <stdlib.h>
#include <string.h>

#include "track/runs/auto_columns.h"
#include "track/runs/column_sort.h"

/* Do the runs differ in an attribute? */
static bool attribute_differs(const struct runs *runs, const char *attribute)
{
    const struct column c = { .attribute = column_find_attribute(attribute) };

    return column_differs(&c, runs);
}

static bool has_damage(const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->run[i].damage)
            return true;
    return false;
}

static bool has_other_status(const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        if (runs->run[i].status != RUN_FINISHED)
            return true;
    return false;
}

void ls_columns_full(struct columns *c, const struct runs *runs,
                     const struct track_selection *s, enum ls_reader reader)
{
    const bool document = reader != LS_PROGRAM, all = reader == LS_DOCUMENT_ALL;

    columns_attribute(c, "name");
    if (document)
        columns_add_sorted(c, s->sort, runs);
    if (!document)
        columns_attribute(c, "id");
    if (!document || all || attribute_differs(runs, "experiment"))
        columns_attribute(c, "experiment");
    columns_attribute(c, "status");
    if (s->deleted)
        columns_attribute(c, "deleted");
    if (has_damage(runs) || !document)
        columns_attribute(c, "damage");
    columns_attribute(c, "started");
    columns_attribute(c, "time");
    if (!document || all)
        columns_attribute(c, "user");
    if (!document || all || attribute_differs(runs, "attempts"))
        columns_attribute(c, "attempts");
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
static bool is_narrow(const struct column *c, const struct runs *runs)
{
    enum { WIDEST = 10 };

    for (size_t i = 0; i < runs->n; i++) {
        const char *value = run_info_param(&runs->run[i], c->key);

        if (value && strlen(value) > WIDEST)
            return false;
    }
    return true;
}

/* Add the first narrow parameters in which the runs differ. */
static void add_first_params(struct columns *c, const struct runs *runs)
{
    enum { MOST = 3 };
    struct columns params = COLUMNS_INIT;
    const size_t before = c->n;

    auto_columns_params(&params, runs, false);
    for (size_t i = 0; i < params.n && c->n < before + MOST; i++)
        if (column_differs(&params.item[i], runs) &&
            is_narrow(&params.item[i], runs))
            columns_add(c, COLUMN_PARAM, params.item[i].key);
    columns_clear(&params);
}

/* Add the best value of the metric that the runs are judged by: that of an
 * evaluation if there is one. */
static void add_best(struct columns *c, const struct runs *runs)
{
    struct columns metrics = COLUMNS_INIT;
    const struct column *best = NULL;

    auto_columns_metrics(&metrics, runs, false);
    for (size_t i = 0; i < metrics.n; i++)
        if (column_direction(&metrics.item[i]) &&
            (!best || strncmp(best->key, "train/", 6) == 0))
            best = &metrics.item[i];
    if (best) {
        const int f = column_direction(best) > 0 ? COLUMN_MAX : COLUMN_MIN;
        char *title = xasprintf("%s(%s)", column_functions[f], best->key);
        struct column *x = columns_append(c, best->key, title);

        x->kind = COLUMN_METRIC;
        x->function = (enum column_function)f;
        free(title);
    }
    columns_clear(&metrics);
}

/* Show "optim.lr" as "lr", unless something else is called so. */
static void shorten_titles(struct columns *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const char *dot = strrchr(c->item[i].key, '.');
        bool taken = !dot || !dot[1] || c->item[i].kind != COLUMN_PARAM ||
                     column_find_attribute(dot + 1) >= 0;

        for (size_t j = 0; j < c->n && !taken; j++)
            taken = j != i && str_ends(c->item[j].key, dot + 1);
        if (!taken)
            xreplace(&c->item[i].title, dot + 1);
    }
}

void ls_columns_short(struct columns *c, const struct runs *runs,
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
    if (attribute_differs(runs, "experiment"))
        columns_attribute(c, "experiment");
    columns_attribute(c, "started");
    if (has_damage(runs))
        columns_attribute(c, "damage");
    if (attribute_differs(runs, "attempts"))
        columns_attribute(c, "attempts");
    auto_columns_metrics(c, runs, false);
    auto_columns_params(c, runs, false);
    shorten_titles(c);
}
