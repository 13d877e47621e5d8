/*
 * fig_sweep - a metric against one parameter, or a map over two
 *
 * A run gives one value, its best.  Over one parameter, each combination of the
 * others in which the runs differ, such as their sizes, is a curve of its own.
 * Runs that differ in their seeds alone are one point: their mean, with the
 * spread of --band.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/num.h"
#include "plot/curve_kind.h"
#include "plot/curves.h"
#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "plot/history.h"
#include "store/query/differ.h"
#include "store/query/run_value.h"
#include "store/read/runs.h"

struct point {
    const char *x, *y; /* the values of the parameters, or x and a curve's */
    double *value;
    size_t n, room;
    double mean, lo, hi;
};

enum { MOST_KEYS = 3, MOST_CURVES = 12 };

struct sweep {
    const char *by[2 + MOST_KEYS]; /* parameters: on the axes, and after them */
    size_t n_params, n_apart;      /* those with a curve for each value */
    const char *metric;
    const char *key; /* of the metric */
    bool high;       /* a high value is good */
    struct point *point;
    size_t n, room;
    struct run_info *run; /* runs that have a point */
    size_t runs;
    bool mixed; /* the means are over more than seeds */
};

static struct point *find_point(struct sweep *s, const char *x, const char *y)
{
    struct point *p;

    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->point[i].x, x) == 0 && strcmp(s->point[i].y, y) == 0)
            return &s->point[i];
    p = &APPEND(s->point, s->n, s->room);
    *p = (struct point){ .x = x, .y = y };
    return p;
}

static int by_xy(const void *a, const void *b)
{
    const struct point *p = a, *q = b;

    return num_by_text(&p->y, &q->y) ?: num_by_text(&p->x, &q->x);
}

/* Of each run, the first one that would be the same point. */
static size_t *find_together(const struct sweep *s, const struct run_set *set)
{
    return run_set_alike(set->run, set->n, s->by, s->n_params + s->n_apart);
}

/* How many curves there are: combinations of the parameters. */
static size_t count_curves(const struct sweep *s, const struct run_set *set)
{
    AUTO_FREE size_t *first =
        run_set_alike(set->run, set->n, s->by + s->n_params, s->n_apart);
    size_t n = 0;

    for (size_t i = 0; i < set->n; i++)
        n += first[i] == i;
    return n;
}

/* Give values that would otherwise be averaged curves of their own: up to three
 * parameters, as long as the curves can be told apart. */
static void choose_curves(struct sweep *s, const struct run_set *set,
                          struct arena *mem)
{
    AUTO_FREE size_t *first = find_together(s, set);
    AUTO(differ_clear) struct differ d = { 0 };

    differ_params(&d, set->run, set->n);
    for (size_t i = 0; i < d.n; i++) {
        const char *key = d.item[i].key;
        bool apart;

        if (!run_set_apart(set->run, set->n, first, key))
            continue;
        apart = s->n_params == 1 && s->n_apart < MOST_KEYS;
        if (apart) {
            s->by[s->n_params + s->n_apart++] = arena_strdup(mem, key);
            apart = count_curves(s, set) <= MOST_CURVES;
            s->n_apart -= !apart;
        }
        s->mixed = s->mixed || !apart;
        if (apart) {
            free(first);
            first = find_together(s, set);
        }
    }
}

/* The curve of a run, as "64", or as "64, 2" for two parameters. */
static const char *curve_of(const struct sweep *s, const struct run_info *run,
                            struct arena *mem)
{
    const char *text = "";

    for (size_t k = 0; k < s->n_apart; k++) {
        const char *value = run_set_value(run, s->by[s->n_params + k]);

        text = arena_printf(mem, "%s%s%s", text, k ? ", " : "",
                            value ? value : "-");
    }
    return text;
}

static int gather_points(struct sweep *s, const struct run_set *set,
                         enum band band, struct figure *f, struct err *e)
{
    const struct curve_kind *k = curve_kind_find(s->metric);
    const char *const one[] = { s->metric, NULL };
    size_t left_out = 0, diverged = 0, metrics = 0;

    for (size_t i = 0; i < set->n; i++) {
        const struct run_info *run = &set->run[i];
        const char *key = NULL, *x, *y;
        struct point *p;
        double best;

        /* the name of a figure stands for its metric, of the last line */
        for (int l = KIND_LINES - 1; k && l >= 0 && !key; l--)
            if (k->line[l].label)
                key = history_find(run, k->line[l].names);
        if (!key)
            key = history_find(run, one);
        metrics += key != NULL;
        best = run_rate_best(run, key, key && curve_kind_high_is_good(key), e);
        if (e->kind)
            return -1;
        x = run_set_value(run, s->by[0]);
        y = s->n_params > 1 ? run_set_value(run, s->by[1])
                            : curve_of(s, run, &f->mem);
        if (!x || !y || isnan(best)) {
            left_out++;
            continue;
        }
        s->run[s->runs++] = *run;
        if (!isfinite(run_info_metric(run, key)->last))
            diverged++;
        s->key = key;
        s->high = curve_kind_high_is_good(key);
        p = find_point(s, x, y);
        APPEND(p->value, p->n, p->room) = best;
    }
    if (s->n == 0 && !metrics)
        return find_key_fail(set->run, set->n, METRIC, s->metric, NULL, e);
    for (size_t i = 0; s->n == 0 && i < s->n_params; i++)
        if (!run_set_has(set, s->by[i]))
            return find_key_fail(set->run, set->n, PARAM, s->by[i], NULL, e);
    if (s->n == 0)
        return err_set(e, ERR_MISSING, "no run has both %s%s%s and %s",
                       s->by[0], s->n_params > 1 ? ", " : "",
                       s->n_params > 1 ? s->by[1] : "", s->metric);
    if (diverged)
        figure_note(f,
                    "The %s of %zu run%s is not finite at the end; the best "
                    "value before counts.",
                    s->metric, diverged, diverged == 1 ? "" : "s");
    if (left_out)
        figure_note(f, "Left out: %zu run%s without %s or %s.", left_out,
                    left_out == 1 ? "" : "s", s->by[0], s->metric);
    SORT(s->point, s->n, by_xy);
    for (size_t i = 0; i < s->n; i++)
        curves_spread(band, s->point[i].value, s->point[i].n, &s->point[i].mean,
                      &s->point[i].lo, &s->point[i].hi);
    return 0;
}

/* Note the other parameters, except seeds, and the experiments in which the
 * runs differ: the means are also means over these. */
static void note_others(struct figure *f, const struct sweep *s, bool warn)
{
    const char *also = run_set_mixed(s->run, s->runs, s->by,
                                     s->n_params + s->n_apart, &f->mem);
    AUTO(buf_clear) struct buf names = BUF_INIT;
    size_t experiments = 0;

    if (s->key && differ_caution(s->run, s->runs, s->key))
        figure_note(f, "Note that %s.",
                    differ_caution(s->run, s->runs, s->key));
    for (size_t i = 0; i < s->runs; i++) {
        bool known = false;

        for (size_t k = 0; k < i; k++)
            known = known ||
                    strcmp(s->run[k].experiment, s->run[i].experiment) == 0;
        if (!known && experiments++ < 4)
            buf_printf(&names, "%s%s", names.len ? ", " : "",
                       s->run[i].experiment);
    }
    if (also)
        figure_note(f,
                    "Means are over runs that differ in %s as well, not over "
                    "seeds alone.",
                    also);
    if (experiments > 1) {
        figure_note(f, "The runs are from %zu experiments: %s%s.", experiments,
                    names.s, experiments > 4 ? " and more" : "");
        if (warn)
            log_warn(
                "the runs are from %zu experiments (%s%s); to choose one, add "
                "\"experiment = '%s'\"",
                experiments, names.s, experiments > 4 ? " and more" : "",
                s->run[0].experiment);
    }
}

static size_t find_best(const struct sweep *s)
{
    size_t best = 0;

    for (size_t i = 1; i < s->n; i++)
        if (s->high ? s->point[i].mean > s->point[best].mean
                    : s->point[i].mean < s->point[best].mean)
            best = i;
    return best;
}

static void fill_table(const struct sweep *s, struct table *t)
{
    const size_t best = find_best(s);
    AUTO(buf_clear) struct buf names = BUF_INIT;

    for (size_t k = 0; k < s->n_apart; k++)
        buf_printf(&names, "%s%s", k ? ", " : "", s->by[s->n_params + k]);
    *t = TABLE_INIT("gplot.sweep/1");
    for (size_t i = 0; i < s->n_params; i++)
        table_column(t, s->by[i]);
    if (s->n_apart)
        table_column(t, names.s);
    table_columns(t, s->metric, "low", "high", "runs", NULL);
    for (size_t i = 0; i < s->n; i++) {
        const struct point *p = &s->point[i];
        const bool spread = p->n > 1 && !s->mixed;

        table_text(t, p->x);
        if (s->n_params > 1 || s->n_apart)
            table_text(t, p->y);
        table_real(t, p->mean);
        if (i == best)
            table_mark(t, MARK_BEST);
        table_real_or_none(t, spread ? p->lo : (double)NAN);
        table_real_or_none(t, spread ? p->hi : (double)NAN);
        table_int(t, (int64_t)p->n);
    }
}

/* Distinct values of one of the two parameters, in order. */
static size_t distinct(const struct sweep *s, bool second, const char **out)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        out[i] = second ? s->point[i].y : s->point[i].x;
    SORT(out, s->n, num_by_text);
    for (size_t i = 0; i < s->n; i++)
        if (n == 0 || strcmp(out[n - 1], out[i]) != 0)
            out[n++] = out[i];
    return n;
}

/* Which of the names is this text? */
static size_t index_of(const char *const *name, const char *text)
{
    size_t i = 0;

    while (strcmp(name[i], text) != 0)
        i++;
    return i;
}

/* A curve over one parameter: some points, which follow one another. */
struct line {
    const struct point *point;
    size_t n;
    int slot;
    const char *label; /* or NULL for the only one */
};

/* Each run's value, behind the means. */
static void draw_values(struct figure *f, struct panel *p, const struct line *l,
                        const double *x, size_t values)
{
    struct curve *c = panel_curve(f, p, NULL, values);
    size_t k = 0;

    c->style = STYLE_POINTS;
    c->faint = true;
    c->colour = l->slot;
    for (size_t i = 0; i < l->n; i++)
        for (size_t v = 0; v < l->point[i].n; v++, k++) {
            c->x[k] = x[i];
            c->y[k] = l->point[i].value[v];
        }
}

/* Say in a note what the points and their bars, or the fields of a map, are. */
static void note_means(struct figure *f, const struct sweep *s, enum band band)
{
    size_t least = s->point[0].n, most = least;
    char n[48];

    for (size_t i = 1; i < s->n; i++) {
        least = s->point[i].n < least ? s->point[i].n : least;
        most = s->point[i].n > most ? s->point[i].n : most;
    }
    if (least == most)
        snprintf(n, sizeof n, "n = %zu", most);
    else
        snprintf(n, sizeof n, "n = %zu to %zu", least, most);
    if (most == 1)
        return;
    if (s->n_params > 1 && !s->mixed)
        figure_note(f, "Means over seeds (%s).", n);
    else if (s->mixed && s->n_params == 1)
        figure_note(f, "Pale points are single runs (%s).", n);
    else if (!s->mixed)
        figure_note(f,
                    "Means over seeds (%s); bars show %s. Pale points are "
                    "single runs.",
                    n, curves_band(band));
}

static void draw_line(struct figure *f, struct panel *p, const struct sweep *s,
                      const struct line *l, const double *x)
{
    size_t values = 0;
    struct curve *c;

    for (size_t i = 0; i < l->n; i++)
        values += l->point[i].n;
    if (values > l->n)
        draw_values(f, p, l, x, values);
    c = panel_curve(f, p, l->label, l->n);
    c->style = STYLE_LINE_POINTS;
    c->owner = l->label;
    c->colour = l->slot;
    c->bars = values > l->n && !s->mixed;
    if (c->bars)
        curve_band(f, c);
    for (size_t i = 0; i < l->n; i++) {
        c->x[i] = x[i];
        c->y[i] = l->point[i].mean;
        if (c->bars) {
            c->lo[i] = l->point[i].lo;
            c->hi[i] = l->point[i].hi;
        }
    }
}

/* "width 64", or "width 64, layers 2" */
static const char *line_label(const struct sweep *s, const char *values,
                              struct arena *mem)
{
    const char *text = "";

    for (size_t k = 0; k < s->n_apart; k++) {
        const size_t n =
            k + 1 < s->n_apart ? strcspn(values, ",") : strlen(values);

        text = arena_printf(mem, "%s%s%s %.*s", text, k ? ", " : "",
                            str_after(s->by[s->n_params + k], '.'), (int)n,
                            values);
        values += n + (values[n] ? 2 : 0);
    }
    return *text ? text : NULL;
}

/* Places on the axis: values that are numbers have theirs; others are at 0, 1
 * ... */
static double *places_of(struct figure *f, struct panel *p,
                         const struct sweep *s)
{
    const char **name = arena_alloc(&f->mem, (s->n + 1) * sizeof *name);
    double *x = arena_alloc(&f->mem, (s->n + 1) * sizeof *x);
    const size_t n = distinct(s, false, name);
    bool numbers = true;

    for (size_t i = 0; i < s->n; i++)
        numbers = num_real(s->point[i].x, &x[i]) && !isnan(x[i]) && numbers;
    for (size_t i = 0; i < s->n && !numbers; i++)
        x[i] = (double)index_of(name, s->point[i].x);
    if (numbers && p->x.scale == SCALE_AUTO && axis_geometric(x, s->n))
        p->x.scale = SCALE_LOG;
    if (!numbers) {
        axis_names(&p->x, &f->mem, name, n, 12);
    } else if (n <= 12) {
        p->x.tick = arena_alloc(&f->mem, (n + 1) * sizeof *p->x.tick);
        for (size_t i = 0; i < n; i++) {
            double at = NAN;

            (void)num_real(name[i], &at);
            p->x.tick[p->x.n_ticks++] = (struct tick){ at, name[i] };
        }
    }
    return x;
}

static void draw_lines(struct figure *f, const struct sweep *s,
                       const struct request *r)
{
    struct panel *p =
        figure_panel(f, arena_printf(&f->mem, "%s by %s", s->metric, s->by[0]));
    const struct curve_kind *k = curve_kind_of_metric(s->metric, NULL);
    const size_t best = find_best(s);
    const char *label;
    const double *x;
    char text[32];
    int slot = 0;

    axis_init(&p->x, s->by[0], UNIT_NONE);
    axis_init(&p->y,
              arena_printf(&f->mem, "%s %s", s->high ? "highest" : "lowest",
                           s->metric),
              k ? k->unit : UNIT_NONE);
    request_axes(r, p);
    p->x.margin = 0.04;
    x = places_of(f, p, s);
    note_means(f, s, r->spread);
    for (size_t i = 0, end; i < s->n; i = end) {
        struct line l = { .point = &s->point[i], .slot = slot++ };

        for (end = i;
             end < s->n && strcmp(s->point[end].y, s->point[i].y) == 0;)
            end++;
        l.n = end - i;
        l.label = line_label(s, s->point[i].y, &f->mem);
        draw_line(f, p, s, &l, x + i);
    }
    panel_mark(p, MARK_AT_XY, x[best], s->point[best].mean)->colour =
        slot > 1 ? COLOUR_GREY : 1;
    axis_value(text, p->y.unit, s->point[best].mean);
    label = line_label(s, s->point[best].y, &f->mem);
    /* a label would hide curves, or they would cross it */
    figure_note(f, "The best, circled: %s at %s %s%s%s.", text,
                str_after(s->by[0], '.'), s->point[best].x, label ? ", " : "",
                label ? label : "");
}

/* Digits after the point that tell values apart, the same for all. */
static int digits_for(double lo, double hi)
{
    const double span = hi > lo ? (hi - lo) / 100 : fmax(fabs(hi), 1e-9) / 1e3;

    return (int)fmin(fmax(ceil(-log10(span)), 0), 9);
}

static void draw_map(struct figure *f, const struct sweep *s)
{
    struct panel *p = figure_panel(
        f, arena_printf(&f->mem, "%s %s", s->high ? "Highest" : "Lowest",
                        s->metric));
    struct heat *h = arena_alloc(&f->mem, sizeof *h);
    const size_t best = find_best(s);

    h->x_name = arena_alloc(&f->mem, (s->n + 1) * sizeof *h->x_name);
    h->y_name = arena_alloc(&f->mem, (s->n + 1) * sizeof *h->y_name);
    h->nx = distinct(s, false, h->x_name);
    h->ny = distinct(s, true, h->y_name);
    h->label = s->metric;
    h->low_is_good = !s->high;
    h->lo = INFINITY;
    h->hi = -INFINITY;
    h->value = arena_alloc(&f->mem, h->nx * h->ny * sizeof *h->value);
    for (size_t i = 0; i < h->nx * h->ny; i++)
        h->value[i] = NAN;
    for (size_t i = 0; i < s->n; i++) {
        const size_t at = index_of(h->y_name, s->point[i].y) * h->nx +
                          index_of(h->x_name, s->point[i].x);

        h->value[at] = s->point[i].mean;
        h->lo = fmin(h->lo, s->point[i].mean);
        h->hi = fmax(h->hi, s->point[i].mean);
        if (i == best)
            h->best = at;
    }
    h->digits = digits_for(h->lo, h->hi);
    p->heat = h;
    axis_init(&p->x, s->by[0], UNIT_NONE);
    axis_init(&p->y, s->by[1], UNIT_NONE);
    axis_names(&p->x, &f->mem, h->x_name, h->nx, 24);
    axis_names(&p->y, &f->mem, h->y_name, h->ny, 24);
    note_means(f, s, BAND_STD);
    figure_note(f, "The best is marked.");
}

int fig_sweep_draw(struct build *b, const char *params, const char *metric,
                   struct err *e)
{
    struct figure *f = b->figure;
    struct sweep s = { .n_params = 1, .metric = metric };
    char *axes = arena_strdup(&f->mem, params), *comma = strchr(axes, ',');
    int ret;

    s.by[0] = axes;
    if (comma) {
        *comma = '\0';
        s.by[1] = comma + 1;
        s.n_params = 2;
        if (strchr(s.by[1], ',') || !*s.by[1])
            return err_usage(e,
                             "a sweep is drawn over one parameter or two, "
                             "not '%s'",
                             params);
    }
    s.run = arena_alloc(&f->mem, (b->set.n + 1) * sizeof *s.run);
    choose_curves(&s, &b->set, &f->mem);
    ret = gather_points(&s, &b->set, b->request->spread, f, e);
    if (ret == 0) {
        if (s.n_params == 2)
            draw_map(f, &s);
        else
            draw_lines(f, &s, b->request);
        note_others(f, &s, b->summary);
        figure_note_unfinished(f, s.run, s.runs);
        if (b->summary)
            fill_table(&s, b->summary);
    }
    for (size_t i = 0; i < s.n; i++)
        free(s.point[i].value);
    free(s.point);
    return ret;
}

static int build_sweep(struct build *b, struct err *e)
{
    return figure_runs(b, 2, e) < 0
               ? -1
               : fig_sweep_draw(b, b->words[0], b->words[1], e);
}

static const struct opt sweep_opts[] = { COMMON_OPTS, SWEEP_OPT, FINISHED_OPT,
                                         AXIS_OPTS,   BAND_OPT,  LOOK_OPTS,
                                         OUT_OPTS,    { 0 } };

const struct cmd fig_sweep = {
    .name = "sweep",
    .args = "PARAM[,PARAM] METRIC [RUN...]",
    .help = "draw a metric's best value against one or two parameters",
    .opts = sweep_opts,
    .run = figure_main,
    .arg = &(const struct figure_type){ build_sweep, 2,
                                        "a parameter and a metric are" },
};
