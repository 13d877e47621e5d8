#include "config.h"
#include "track/runs/row_groups.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "track/runs/column_parse.h"

/* The 0.975 quantile of Student's t-distribution: a table, and beyond it the
 * Cornish-Fisher expansion. */
static double student_t(size_t freedom)
{
    static const double t[] = {
        0,        12.7062,  4.302653, 3.182446, 2.776445, 2.570582, 2.446912,
        2.364624, 2.306004, 2.262157, 2.228139, 2.200985, 2.178813, 2.160369,
        2.144787, 2.13145,  2.119905, 2.109816, 2.100922, 2.093024, 2.085963,
        2.079614, 2.073873, 2.068658, 2.063899, 2.059539, 2.055529, 2.051831,
        2.048407, 2.04523,  2.042272,
    };
    const double z = 1.959963985, f = (double)freedom;

    if (freedom < sizeof t / sizeof t[0])
        return t[freedom];
    return z + (z * z * z + z) / (4 * f) +
           (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * f * f);
}

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
        s.ci95 = student_t(s.n - 1) * s.std / sqrt((double)s.n);
    }
    return s;
}

static bool same_group(const struct columns *by, const struct run_info *a,
                       const struct run_info *b)
{
    for (size_t i = 0; i < by->n; i++) {
        const struct table_cell x = column_cell(&by->item[i], a);
        const struct table_cell y = column_cell(&by->item[i], b);

        if (!column_cells_equal(&x, &y))
            return false;
    }
    return true;
}

static void add_row(struct table *t, const struct runs *runs,
                    const struct columns *by, const struct columns *metrics,
                    const size_t *member, size_t n)
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
    free(x);
}

int row_groups_fill(struct table *t, const struct runs *runs, const char *by,
                    const struct columns *metrics, struct err *e)
{
    bool *done = xcalloc(runs->n, sizeof *done);
    size_t *member = xcalloc(runs->n, sizeof *member);
    struct columns keys = COLUMNS_INIT;
    const int ret = columns_parse(&keys, by, runs, e);

    for (size_t j = 0; j < keys.n; j++)
        table_column(t, keys.item[j].title);
    table_column(t, "runs");
    for (size_t j = 0; j < metrics->n; j++)
        table_column(t, metrics->item[j].title);
    for (size_t i = 0; ret == 0 && i < runs->n; i++) {
        size_t n = 0;

        for (size_t k = i; k < runs->n && !done[i]; k++)
            if (!done[k] && same_group(&keys, &runs->run[i], &runs->run[k]))
                member[n++] = k;
        for (size_t k = 0; k < n; k++)
            done[member[k]] = true;
        if (n)
            add_row(t, runs, &keys, metrics, member, n);
    }
    for (size_t j = 0; j < metrics->n; j++)
        column_mark_best(&metrics->item[j], t, keys.n + 1 + j);
    columns_clear(&keys);
    free(done);
    free(member);
    return ret;
}
