#include "config.h"
#include "track/runs/row_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/stats/student.h"
#include "track/runs/column.h"

struct spread {
    size_t n;
    double mean, std, ci95;
};

static struct spread spread_of(const double *x, size_t n)
{
    struct spread s = { 0, (double)NAN, (double)NAN, (double)NAN };
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; i++) {
        if (isfinite(x[i])) {
            sum += x[i];
            s.n++;
        }
    }
    if (s.n == 0)
        return s;
    s.mean = sum / (double)s.n;
    for (size_t i = 0; i < n; i++)
        if (isfinite(x[i]))
            squares += (x[i] - s.mean) * (x[i] - s.mean);
    if (s.n > 1) {
        s.std = sqrt(squares / (double)(s.n - 1));
        s.ci95 = student_quantile(0.975, s.n - 1) * s.std / sqrt((double)s.n);
    }
    return s;
}

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
        if (!column_cells_equal(&a[i], &b[i]))
            return false;
    return true;
}

size_t row_groups_number(const struct table_cell *cell, size_t rows,
                         size_t columns, size_t *group)
{
    size_t groups = 0, room = 16;
    size_t *first, *slot; /* of a group: its first row; of a hash: group + 1 */

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
    free(first);
    free(slot);
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
    double *x = xcalloc(n, sizeof *x);

    for (size_t j = 0; j < by->n; j++)
        table_add(t, column_cell(&by->item[j], &runs->run[member[0]]));
    table_int(t, (int64_t)n);
    for (size_t j = 0; j < metrics->n; j++) {
        struct spread s;

        for (size_t k = 0; k < n; k++)
            x[k] = column_number(&metrics->item[j], &runs->run[member[k]]);
        s = spread_of(x, n);
        if (s.n)
            table_spread(t, s.mean, s.std, (int64_t)s.n, s.ci95);
        else
            table_none(t);
    }
    for (size_t k = 0; metrics->n > 0 && k < n; k++)
        compare_lengths(l, &runs->run[member[k]], &metrics->item[0]);
    free(x);
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
    groups = row_groups_number(cell, runs->n, by->n, group);
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
    free(end);
    free(member);
    free(group);
    free(cell);
}

int row_groups_fill(struct table *t, const struct runs *runs, const char *by,
                    const struct columns *metrics, struct err *e)
{
    struct columns keys = { 0 };
    const int ret = columns_parse(&keys, by, runs, e);

    for (size_t j = 0; j < keys.n; j++)
        table_column(t, keys.item[j].title);
    table_column(t, "runs");
    for (size_t j = 0; j < metrics->n; j++)
        table_column(t, metrics->item[j].title);
    if (ret == 0)
        add_groups(t, runs, &keys, metrics);
    for (size_t j = 0; j < metrics->n; j++)
        column_mark_best(&metrics->item[j], t, keys.n + 1 + j, runs);
    columns_clear(&keys);
    return ret;
}
