#include "config.h"
#include "plot/marks.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/path.h"
#include "plot/draw/axis.h"
#include "plot/kind.h"

enum { MOST_MARKS = 400 };

void mark_bad(struct figure *f, struct panel *p, const struct history *h,
              int slot)
{
    size_t n = 0, first = 0;
    double last = -INFINITY;

    for (size_t i = 0; i < h->n; i++) {
        struct mark *m;

        if (isfinite(h->y[i]))
            continue;
        if (n++ == 0)
            first = i;
        /* of thousands in a row the first of each pixel is enough */
        if (n > MOST_MARKS || h->x[i] <= last)
            continue;
        last = h->x[i];
        m = panel_mark(p, MARK_NAN, h->x[i], NAN);
        m->colour = slot;
    }
    if (n)
        figure_note(f,
                    "\xc3\x97 marks %zu value%s that %s not finite, the "
                    "first at step %lld.",
                    n, n == 1 ? "" : "s", n == 1 ? "is" : "are",
                    (long long)h->step[first]);
}

/* Things that happen often are ticks: lines would be a fence. */
static void tick_at(struct panel *p, double x, int slot)
{
    struct mark *m = panel_mark(p, MARK_AT_X, x, NAN);

    m->small = true;
    m->colour = slot;
}

static void resume_at(struct panel *p, double x, bool named)
{
    struct mark *m = panel_mark(p, MARK_AT_X, x, NAN);

    m->label = named ? "resume" : NULL;
}

static void resumes(struct panel *p, const struct run_info *run,
                    const char *key, const struct history *h)
{
    int64_t step[MOST_MARKS];
    const size_t n = history_resumes(run, key, step, MOST_MARKS);

    for (size_t i = 0; i < n; i++) {
        const double x = history_x(h, step[i]);

        if (isfinite(x))
            resume_at(p, x, i == 0);
    }
}

void mark_seam(struct panel *p, const struct run_info *run,
               const char *const *names, const struct history *h)
{
    const char *key = history_find(run, names);
    const struct metric_sum *m = key ? run_info_metric(run, key) : NULL;
    const double x = m ? history_x(h, m->first_step) : (double)NAN;

    if (isfinite(x))
        resume_at(p, x, true);
}

/* The number that ends a checkpoint's name: "step-000050" is 50. */
static int64_t step_of(const char *name)
{
    const char *end = name + strcspn(name, ".");
    const char *begin = end;

    while (begin > name && isdigit((unsigned char)begin[-1]))
        begin--;
    return begin < end && end - begin < 18 ? strtoll(begin, NULL, 10) : -1;
}

static void checkpoints(struct figure *f, struct panel *p,
                        const struct run_info *run, const struct history *h)
{
    struct path_list list = PATH_LIST_INIT;
    struct err e = ERR_INIT;
    char *folder = path_join(run->artifacts, "checkpoints");
    bool named = false;

    if (path_list(&list, folder, &e) == 0) {
        for (size_t i = 0; i < list.n; i++) {
            const int64_t step = step_of(list.name[i]);
            const double x = step < 0 ? (double)NAN : history_x(h, step);

            if (isfinite(x) && p->n_marks < MOST_MARKS) {
                tick_at(p, x, COLOUR_GREY);
                named = true;
            }
        }
    }
    if (named)
        figure_note(f, "Ticks above: checkpoints.");
    else
        figure_note(f, "%s keeps no checkpoints among its artifacts.",
                    run->name);
    path_list_clear(&list);
    free(folder);
}

static void best(struct figure *f, struct panel *p, const char *key,
                 const struct history *h, int slot)
{
    const bool high = kind_high_is_good(key);
    size_t at = h->n;
    char value[32];
    struct mark *m;

    for (size_t i = 0; i < h->n; i++)
        if (isfinite(h->y[i]) &&
            (at == h->n || (high ? h->y[i] > h->y[at] : h->y[i] < h->y[at])))
            at = i;
    if (at == h->n)
        return;
    m = panel_mark(p, MARK_AT_XY, h->x[at], h->y[at]);
    m->colour = slot;
    m->label = arena_strdup(&f->mem, axis_value(value, p->y.unit, h->y[at]));
}

static void spikes(struct figure *f, struct panel *p, const struct history *h,
                   int slot)
{
    enum { HALF = 50, WINDOW = 2 * HALF + 1 };
    double near[WINDOW], off[WINDOW];
    size_t found = 0;

    for (size_t i = 0; i < h->n && h->n >= 20; i++) {
        const size_t from = i > HALF ? i - HALF : 0;
        const size_t to = i + HALF < h->n ? i + HALF + 1 : h->n;
        double median, spread;
        size_t n = 0;

        if (!isfinite(h->y[i]) || (i > 0 && !(h->y[i] > h->y[i - 1])) ||
            (i + 1 < h->n && h->y[i] < h->y[i + 1]))
            continue; /* only a peak can be a spike */
        for (size_t k = from; k < to; k++)
            if (isfinite(h->y[k]))
                near[n++] = h->y[k];
        num_sort(near, n);
        median = near[n / 2];
        for (size_t k = 0; k < n; k++)
            off[k] = fabs(near[k] - median);
        num_sort(off, n);
        spread = off[n / 2];
        if (h->y[i] - median <= 8 * spread || spread <= 0)
            continue;
        found++;
        if (p->n_marks < MOST_MARKS)
            panel_mark(p, MARK_AT_XY, h->x[i], h->y[i])->colour = slot;
    }
    figure_note(f, "%zu spike%s circled.", found, found == 1 ? "" : "s");
}

static void evals(struct figure *f, struct panel *p, const struct run_info *run,
                  const struct history *h)
{
    static const char *const names[] = { "val/loss",  "valid_loss", "val_loss",
                                         "eval/loss", "eval_loss",  NULL };
    const char *key = history_find(run, names);
    struct err e = ERR_INIT;
    struct series s;

    if (!key || series_load(&s, run, key, 0, &e) < 0)
        return;
    for (size_t i = 0; i < s.n && i < MOST_MARKS; i++) {
        const double x = history_x(h, s.step[i]);

        if (isfinite(x))
            tick_at(p, x, 1);
    }
    figure_note(f, "Ticks above, coloured: evaluations.");
    series_free(&s);
}

void mark_wanted(struct figure *f, struct panel *p, unsigned marks,
                 bool attempts, const struct run_info *run, const char *key,
                 const struct history *h, int slot)
{
    if (marks & SHOW_RESUME && !attempts)
        resumes(p, run, key, h);
    if (marks & SHOW_CHECKPOINT)
        checkpoints(f, p, run, h);
    if (marks & SHOW_EVAL)
        evals(f, p, run, h);
    if (marks & SHOW_SPIKE)
        spikes(f, p, h, slot);
    if (marks & SHOW_BEST)
        best(f, p, key, h, slot);
}
