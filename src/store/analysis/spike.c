#include "config.h"
#include "store/analysis/spike.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Where a value is, or belongs. */
static size_t find_place(const struct spike_window *w, double value)
{
    size_t lo = 0, hi = w->n;

    while (lo < hi) {
        const size_t mid = lo + (hi - lo) / 2;

        if (w->sorted[mid] < value)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static void drop_oldest(struct spike_window *w)
{
    const size_t at = find_place(w, w->value[w->next]);

    w->n--;
    memmove(w->sorted + at, w->sorted + at + 1,
            (w->n - at) * sizeof *w->sorted);
}

static void add_value(struct spike_window *w, double value)
{
    size_t at;

    if (w->n == SPIKE_WINDOW)
        drop_oldest(w);
    at = find_place(w, value);
    memmove(w->sorted + at + 1, w->sorted + at,
            (w->n - at) * sizeof *w->sorted);
    w->sorted[at] = value;
    w->n++;
    w->value[w->next] = value;
    w->next = (w->next + 1) % SPIKE_WINDOW;
}

static double median(const struct spike_window *w)
{
    const size_t half = w->n / 2;

    return w->n % 2 ? w->sorted[half]
                    : (w->sorted[half - 1] + w->sorted[half]) / 2;
}

/* The median of the distances to the median: from there, the values are passed
 * in both directions, the nearest first. */
static double spread(const struct spike_window *w, double middle)
{
    size_t below = w->n / 2, above = below;
    double now = 0, before = 0;

    for (size_t i = 0; i <= w->n / 2; i++) {
        const double down =
            below > 0 ? fabs(middle - w->sorted[below - 1]) : HUGE_VAL;
        const double up =
            above < w->n ? fabs(w->sorted[above] - middle) : HUGE_VAL;

        before = now;
        now = fmin(down, up);
        if (down < up)
            below--;
        else
            above++;
    }
    return w->n % 2 ? now : (before + now) / 2;
}

double spike_score(struct spike_window *w, double value, double *middle)
{
    const bool known = w->n >= SPIKE_LEAST;
    double score = (double)NAN;

    *middle = known ? median(w) : (double)NAN;
    if (known)
        score = (value - *middle) / (1.4826 * spread(w, *middle));
    if (isfinite(value))
        add_value(w, value);
    return score;
}
