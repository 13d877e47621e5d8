#include "config.h"
#include "plot/summary.h"

#include <math.h>

#include "plot/draw/axis.h"

void summary_init(struct table *t)
{
    *t = (struct table)TABLE_INIT("gplot.summary/1");
    table_columns(t, "run", "metric", "points", "min", "min at", "max",
                  "max at", "last", "last at", "not finite", NULL);
}

/* A value and its step, if there is one. */
static void two_cells(struct table *t, enum unit unit, const double *y,
                      const int64_t *step, size_t at, size_t n)
{
    char text[32];

    if (at >= n) {
        table_none(t);
        table_none(t);
        return;
    }
    table_text(t, axis_value(text, unit, y[at]));
    table_int(t, step[at]);
}

void summary_add(struct table *t, const char *run, const char *metric,
                 enum unit unit, const double *y, const int64_t *step, size_t n)
{
    size_t low = n, high = n;
    int64_t bad = 0;

    for (size_t i = 0; i < n; i++) {
        if (!isfinite(y[i])) {
            bad++;
            continue;
        }
        if (low == n || y[i] < y[low])
            low = i;
        if (high == n || y[i] > y[high])
            high = i;
    }
    table_text(t, run);
    table_text(t, metric);
    table_int(t, (int64_t)n);
    two_cells(t, unit, y, step, low, n);
    two_cells(t, unit, y, step, high, n);
    two_cells(t, unit, y, step, n ? n - 1 : 0, n);
    if (bad)
        table_int(t, bad);
    else
        table_none(t);
}
