/*
 * curve_groups - runs with the same value of a parameter as one curve
 */
#include "config.h"
#include "common/mem.h"
#include "plot/curves.h"

#include <math.h>
#include <string.h>

#include "common/buf.h"
#include "common/num.h"
#include "common/stats/paired.h"
#include "plot/history.h"
#include "plot/smooth_choice.h"

void curves_spread(enum band band, const double *v, size_t n, double *mean,
                   double *lo, double *hi)
{
    const struct paired p = paired_independent(v, n);
    const double half = band == BAND_SEM    ? p.error
                        : band == BAND_CI95 ? paired_half(&p, 0.05)
                                            : p.deviation;

    *mean = *lo = *hi = p.mean;
    for (size_t i = 0; i < n && band == BAND_MINMAX; i++) {
        *lo = fmin(*lo, v[i]);
        *hi = fmax(*hi, v[i]);
    }
    if (n > 1 && band != BAND_MINMAX) {
        *lo -= half;
        *hi += half;
    }
}

const char *curves_band(enum band band)
{
    static const char *const name[] = {
        [BAND_STD] = "\xc2\xb1 one standard deviation",
        [BAND_SEM] = "\xc2\xb1 the standard error",
        [BAND_CI95] = "the 95% interval of the mean",
        [BAND_MINMAX] = "the lowest and the highest value",
    };

    return name[band];
}

struct group {
    const char *value; /* first: groups are sorted by it */
    struct history *h;
    size_t n, room;
    size_t remain, broken, ended; /* at the last x: why runs are gone */
};

/* The last finite value of a run. */
static size_t last_finite(const struct history *h)
{
    size_t i = h->n;

    while (i > 0 && !isfinite(h->y[i - 1]))
        i--;
    return i;
}

/* Count the runs that still count at the end of the group, and mark where the
 * others are gone. */
static void count_gone(struct group *g, struct panel *p, int slot)
{
    enum { MOST_MARKS = 64 };
    double end = -INFINITY, begin = INFINITY;

    for (size_t i = 0; i < g->n; i++)
        if (g->h[i].n) {
            begin = fmin(begin, g->h[i].x[0]);
            end = fmax(end, g->h[i].x[g->h[i].n - 1]);
        }
    for (size_t i = 0; i < g->n; i++) {
        const struct history *h = &g->h[i];
        const size_t last = last_finite(h);

        /* the last points of runs are seldom at the same x */
        if (last && h->x[last - 1] >= end - 0.02 * (end - begin)) {
            g->remain++;
            continue;
        }
        g->broken += last < h->n;
        g->ended += last == h->n;
        if (last && p->n_marks < MOST_MARKS)
            mark_tick(p, h->x[last - 1], slot);
    }
}

/* "lr = 0.01: 8 of 20 remain at the end; 9 not finite, 3 ended" */
static void note_gone(struct figure *f, const struct group *g, const char *name)
{
    AUTO(buf_clear) struct buf why = BUF_INIT;

    if (g->remain == g->n)
        return;
    if (g->broken)
        buf_printf(&why, "%zu not finite", g->broken);
    if (g->ended)
        buf_printf(&why, "%s%zu ended", why.len ? ", " : "", g->ended);
    figure_note(f, "%s: %zu of %zu remain at the end; %s (ticks above).", name,
                g->remain, g->n, why.s);
}

/* The x of all runs, each once; evenly spaced ones if there are too many. */
static double *common_x(const struct group *g, size_t *n)
{
    enum { MOST = 2000 };
    size_t all = 0, m = 0;
    double *x;

    for (size_t i = 0; i < g->n; i++)
        all += g->h[i].n;
    x = xcalloc(all + MOST, sizeof *x);
    for (size_t i = 0; i < g->n; i++)
        for (size_t k = 0; k < g->h[i].n; k++)
            x[m++] = g->h[i].x[k];
    *n = num_unique(x, m);
    if (*n > MOST) {
        const double lo = x[0], hi = x[*n - 1];

        for (size_t i = 0; i < MOST; i++)
            x[i] = lo + (hi - lo) * (double)i / (MOST - 1);
        *n = MOST;
    }
    return x;
}

/* The mean has steps only where x is the step. */
static void summarise_mean(struct build *b, const struct curve *c,
                           const char *metric, enum unit unit)
{
    struct table *t = b->summary;
    AUTO_FREE int64_t *step = NULL;

    if (!t || b->request->along != ALONG_STEP)
        return;
    step = xcalloc(c->n + 1, sizeof *step);
    for (size_t i = 0; i < c->n; i++)
        step[i] = llround(c->x[i]);
    figure_summary_add(t, c->label, arena_printf(&t->mem, "mean of %s", metric),
                       unit, c->y, step, c->n);
}

static struct curve *draw_group(struct build *b, struct panel *p,
                                const struct group *g, int slot,
                                const char *label)
{
    struct figure *f = b->figure;
    double *values = xcalloc(g->n + 1, sizeof *values);
    size_t *from = xcalloc(g->n + 1, sizeof *from), n;
    double *x = common_x(g, &n);
    struct curve *c;

    for (size_t i = 0; i < g->n && b->request->traces; i++) {
        c = history_curve(f, p, NULL, &g->h[i]);
        c->colour = slot;
        c->faint = true;
    }
    c = panel_curve(f, p, label, n);
    curve_band(f, c);
    c->colour = slot;
    for (size_t i = 0; i < n; i++) {
        size_t m = 0;

        c->x[i] = x[i];
        for (size_t k = 0; k < g->n; k++) {
            const double y =
                figure_between(g->h[k].x, g->h[k].y, g->h[k].n, x[i], &from[k]);

            if (isfinite(y))
                values[m++] = y;
        }
        curves_spread(b->request->spread, values, m, &c->y[i], &c->lo[i],
                      &c->hi[i]);
    }
    FREE(x, values, from);
    return c;
}

static struct group *find_group(struct group *g, size_t *n, const char *value)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(g[i].value, value) == 0)
            return &g[i];
    g[*n] = (struct group){ .value = value };
    return &g[(*n)++];
}

static int gather_groups(struct group *g, size_t *n,
                         const struct curve_kind_line *l,
                         const struct run_set *set, const struct request *r,
                         const struct smooth *how, struct smooth_sample *sample,
                         struct err *e)
{
    for (size_t i = 0; i < set->n; i++) {
        const char *value = run_set_value(&set->run[i], r->group_by);
        const char *key = history_find(&set->run[i], l->names);
        struct group *to;

        if (!value || !key)
            continue;
        to = find_group(g, n, value);
        GROW(to->h, to->n, to->room);
        if (smooth_take(sample, &to->h[to->n], &set->run[i], key, r, e) < 0)
            return -1;
        if (how->kind != SMOOTH_NONE) {
            struct history *h = &to->h[to->n];

            memcpy(h->y, history_smooth(h, how), h->n * sizeof *h->y);
        }
        history_skip(&to->h[to->n], r->skip);
        to->n++;
    }
    return 0;
}

/* Say over what else than seeds the means are. */
static void note_mixed(struct figure *f, const struct run_set *set,
                       const char *param)
{
    AUTO_FREE struct run_info *run = xcalloc(set->n + 1, sizeof *run);
    const char *keys;
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++)
        if (run_set_value(&set->run[i], param))
            run[n++] = set->run[i];
    keys = run_set_mixed(run, n, &param, 1, &f->mem);
    if (keys)
        figure_note(f, "The runs of a group differ in %s as well.", keys);
}

/* "lr = 0.01 (n = 20)", or "(n = 20 to 8)" where runs are gone at the end. */
static const char *group_label(struct figure *f, struct panel *p,
                               struct group *g, int slot, const char *name)
{
    count_gone(g, p, slot);
    return g->remain == g->n ? arena_printf(&f->mem, "%s (n = %zu)", name, g->n)
                             : arena_printf(&f->mem, "%s (n = %zu to %zu)",
                                            name, g->n, g->remain);
}

int curves_group(struct build *b, struct panel *p,
                 const struct curve_kind_line *l, bool lines_named,
                 struct err *e)
{
    const struct request *r = b->request;
    struct figure *f = b->figure;
    AUTO_FREE struct group *g = xcalloc(b->set.n + 1, sizeof *g);
    AUTO(smooth_sample_clear) struct smooth_sample sample = { 0 };
    size_t n = 0;
    const struct curve_kind *kind = curve_kind_of_metric(l->names[0], NULL);
    const struct smooth how =
        l->style == STYLE_LINE && !(kind && kind->planned)
            ? smooth_choice_set(&b->set, l->names, r, &sample)
            : (struct smooth){ SMOOTH_NONE, 0 };
    int ret = gather_groups(g, &n, l, &b->set, r, &how, &sample, e);

    SORT(g, n, num_by_text);
    for (size_t i = 0; i < n && ret == 0; i++) {
        const char *name = arena_printf(
            &f->mem, "%s = %s", str_after(r->group_by, '.'), g[i].value);
        const char *owner = group_label(f, p, &g[i], (int)i, name);
        const char *label =
            lines_named ? arena_printf(&f->mem, "%s, %s", owner, l->label)
                        : owner;
        struct curve *c = draw_group(b, p, &g[i], (int)i, label);

        note_gone(f, &g[i],
                  lines_named ? arena_printf(&f->mem, "%s, %s", name, l->label)
                              : name);
        c->owner = owner;
        c->line = l->label;
        c->smoothed = how.kind != SMOOTH_NONE;
        /* the line with points, of validation, is dashed beside the other */
        c->style = l->style;
        c->dash = lines_named && l->style == STYLE_LINE_POINTS;
        summarise_mean(b, c, l->names[0], p->y.unit);
    }
    if (n && ret == 0) {
        figure_note_unfinished(f, b->set.run, b->set.n);
        note_mixed(f, &b->set, r->group_by);
        figure_note(f,
                    "Lines are means over the runs with the same %s; bands "
                    "show %s.",
                    r->group_by, curves_band(r->spread));
    }
    if (how.kind != SMOOTH_NONE && n) {
        char name[80];

        figure_note(f, "Each run is smoothed first: %s.",
                    smooth_name(name, &how, how.amount));
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < g[i].n; k++)
            history_free(&g[i].h[k]);
        free(g[i].h);
    }
    return ret;
}
