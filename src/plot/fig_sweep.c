/*
 * fig_sweep - a metric against one parameter, or a map over two
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/num.h"
#include "plot/curve_groups.h"
#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "plot/history.h"
#include "plot/kind.h"
#include "plot/options.h"

/*
 * sweep - a metric against one parameter, or two
 *
 * Every run gives one value, its best.  Runs with the same parameters are
 * seeds of one point: the mean is drawn, with the spread of --band.
 */
struct point {
    const char *x, *y; /* the values of the parameters, as text */
    double nx, ny;     /* as numbers; NaN when they are none */
    double *value;
    size_t n, room;
    double mean, lo, hi;
};

struct sweep {
    char *param[2];
    size_t n_params;
    const char *metric;
    bool high; /* a high value is good */
    struct point *point;
    size_t n, room;
};

static struct point *find_point(struct sweep *s, const char *x, const char *y)
{
    struct point *p;

    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->point[i].x, x) == 0 && strcmp(s->point[i].y, y) == 0)
            return &s->point[i];
    GROW(s->point, s->n, s->room);
    p = &s->point[s->n++];
    *p = (struct point){ .x = x, .y = y };
    if (!num_real(x, &p->nx))
        p->nx = (double)NAN;
    if (!num_real(y, &p->ny))
        p->ny = (double)NAN;
    return p;
}

/* Numbers by size, other words by letter. */
static int compare_values(double a, const char *ta, double b, const char *tb)
{
    if (isnan(a) || isnan(b))
        return strcmp(ta, tb);
    return (a > b) - (a < b);
}

static int by_xy(const void *a, const void *b)
{
    const struct point *p = a, *q = b;
    const int y = compare_values(p->ny, p->y, q->ny, q->y);

    return y ? y : compare_values(p->nx, p->x, q->nx, q->x);
}

static int gather_points(struct sweep *s, const struct runs *runs,
                         const struct request *r, struct err *e)
{
    const struct kind *k = kind_find(s->metric);
    const char *const one[] = { s->metric, NULL };
    size_t left_out = 0;

    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *run = &runs->run[i];
        const char *key = NULL, *x, *y = "";
        const struct metric_sum *m;
        struct point *p;

        /* a figure's name stands for its metric; of losses the validation */
        for (int l = KIND_LINES - 1; k && l >= 0 && !key; l--)
            if (k->line[l].label)
                key = history_find(run, k->line[l].names);
        if (!key)
            key = history_find(run, one);
        m = key ? run_info_metric(run, key) : NULL;
        x = group_value(run, s->param[0]);
        if (s->n_params > 1)
            y = group_value(run, s->param[1]);
        if (!m || !x || !y || isnan(m->min)) {
            left_out++;
            continue;
        }
        s->high = kind_high_is_good(key);
        p = find_point(s, x, y);
        GROW(p->value, p->n, p->room);
        p->value[p->n++] = s->high ? m->max : m->min;
    }
    if (s->n == 0)
        return err_set(e, ERR_MISSING, "no run has both %s%s%s and %s",
                       s->param[0], s->n_params > 1 ? ", " : "",
                       s->n_params > 1 ? s->param[1] : "", s->metric);
    if (left_out)
        log_info("left out %zu run%s without %s or %s", left_out,
                 left_out == 1 ? "" : "s", s->param[0], s->metric);
    qsort(s->point, s->n, sizeof *s->point, by_xy);
    for (size_t i = 0; i < s->n; i++)
        group_spread(r->spread, s->point[i].value, s->point[i].n,
                     &s->point[i].mean, &s->point[i].lo, &s->point[i].hi);
    return 0;
}

/* Parameters, other than those swept and seeds, in which the runs differ: a
 * figure that averages over them must say so. */
static void note_others(struct figure *f, const struct sweep *s,
                        const struct runs *runs)
{
    struct buf b = BUF_INIT;
    size_t n = 0;

    for (size_t i = 0; i < runs->run[0].n_params; i++) {
        const char *key = runs->run[0].params[i].key;
        const char *dot = strrchr(key, '.');
        const char *last = dot ? dot + 1 : key;
        bool swept = strstr(last, "seed") || strncmp(key, "is.", 3) == 0 ||
                     strncmp(key, "run.", 4) == 0;
        bool differs = false;

        for (size_t k = 0; k < s->n_params; k++)
            swept = swept || strcmp(key, s->param[k]) == 0 ||
                    strcmp(last, s->param[k]) == 0;
        for (size_t k = 1; k < runs->n && !swept && !differs; k++) {
            const char *v = run_info_param(&runs->run[k], key);

            differs = !v || strcmp(v, runs->run[0].params[i].value) != 0;
        }
        if (differs && n++ < 4)
            buf_printf(&b, "%s%s", b.len ? ", " : "", key);
    }
    if (n)
        figure_note(f, "The runs differ in %s%s as well.", b.s,
                    n > 4 ? " and more" : "");
    buf_clear(&b);
}

static size_t best_of(const struct sweep *s)
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
    const size_t best = best_of(s);

    table_clear(t);
    *t = (struct table)TABLE_INIT("gplot.sweep/1");
    for (size_t i = 0; i < s->n_params; i++)
        table_column(t, s->param[i]);
    table_column(t, s->metric);
    table_column(t, "low");
    table_column(t, "high");
    table_column(t, "runs");
    for (size_t i = 0; i < s->n; i++) {
        const struct point *p = &s->point[i];

        table_text(t, p->x);
        if (s->n_params > 1)
            table_text(t, p->y);
        table_real(t, p->mean);
        if (i == best)
            table_mark(t, MARK_BEST);
        if (p->n > 1) {
            table_real(t, p->lo);
            table_real(t, p->hi);
        } else {
            table_none(t);
            table_none(t);
        }
        table_int(t, (int64_t)p->n);
    }
}

/* Ticks where the runs are, as their settings write them. */
static void ticks_at(struct axis *a, struct arena *mem, const double *x,
                     const char *const *name, size_t n)
{
    a->tick = arena_alloc(mem, (n + 1) * sizeof *a->tick);
    for (size_t i = 0; i < n; i++)
        a->tick[a->n_ticks++] = (struct tick){ x[i], name[i] };
}

static void draw_line(struct figure *f, const struct sweep *s,
                      const struct request *r)
{
    struct panel *p = figure_panel(f, NULL);
    double *x = xcalloc(s->n + 1, sizeof *x);
    const char **name = xcalloc(s->n + 1, sizeof *name);
    bool numbers = true, many = false;
    const size_t best = best_of(s);
    struct curve *c, *all;
    size_t k = 0, points = 0;
    struct mark *m;
    char text[32];

    for (size_t i = 0; i < s->n; i++) {
        numbers = numbers && !isnan(s->point[i].nx);
        name[i] = arena_strdup(&f->mem, s->point[i].x);
        many = many || s->point[i].n > 1;
        points += s->point[i].n;
    }
    for (size_t i = 0; i < s->n; i++)
        x[i] = numbers ? s->point[i].nx : (double)i;
    axis_init(&p->x, arena_strdup(&f->mem, s->param[0]), UNIT_NONE);
    axis_init(&p->y,
              arena_printf(&f->mem, "%s %s", s->high ? "highest" : "lowest",
                           s->metric),
              kind_of_metric(s->metric, NULL)
                  ? kind_of_metric(s->metric, NULL)->unit
                  : UNIT_NONE);
    request_axes(r, p);
    if (numbers && p->x.scale == SCALE_AUTO && axis_geometric(x, s->n))
        p->x.scale = SCALE_LOG;
    p->x.margin = 0.04;
    if (many) {
        all = panel_curve(f, p, NULL, points);
        all->style = STYLE_POINTS;
        all->faint = true;
        for (size_t i = 0; i < s->n; i++)
            for (size_t v = 0; v < s->point[i].n; v++, k++) {
                all->x[k] = x[i];
                all->y[k] = s->point[i].value[v];
            }
    }
    c = panel_curve(f, p, NULL, s->n);
    c->style = STYLE_LINE_POINTS;
    memcpy(c->x, x, s->n * sizeof *x);
    if (many) {
        c->bars = true;
        c->lo = arena_alloc(&f->mem, (s->n + 1) * sizeof *c->lo);
        c->hi = arena_alloc(&f->mem, (s->n + 1) * sizeof *c->hi);
    }
    for (size_t i = 0; i < s->n; i++) {
        c->y[i] = s->point[i].mean;
        if (many) {
            c->lo[i] = s->point[i].lo;
            c->hi[i] = s->point[i].hi;
        }
    }
    if (numbers && s->n <= 12)
        ticks_at(&p->x, &f->mem, x, name, s->n);
    if (!numbers)
        axis_names(&p->x, &f->mem, name, s->n, 12);
    m = panel_mark(p, MARK_AT_XY, x[best], s->point[best].mean);
    m->colour = 1;
    m->left = many; /* beside the bar, not across it */
    m->label = arena_printf(&f->mem, "best: %s at %s",
                            axis_value(text, p->y.unit, s->point[best].mean),
                            s->point[best].x);
    if (many)
        figure_note(f,
                    "Means of the runs with the same %s, each run's best "
                    "value behind.",
                    s->param[0]);
    free(x);
    free(name);
}

/* Distinct values of one of the two parameters, in order. */
static size_t distinct(const struct sweep *s, bool second, const char **out)
{
    size_t n = 0;
    double *number = xcalloc(s->n + 1, sizeof *number);

    for (size_t i = 0; i < s->n; i++) {
        const char *text = second ? s->point[i].y : s->point[i].x;
        const double v = second ? s->point[i].ny : s->point[i].nx;
        size_t at = 0;

        while (at < n && compare_values(number[at], out[at], v, text) < 0)
            at++;
        if (at < n && strcmp(out[at], text) == 0)
            continue;
        memmove(&out[at + 1], &out[at], (n - at) * sizeof *out);
        memmove(&number[at + 1], &number[at], (n - at) * sizeof *number);
        out[at] = text;
        number[at] = v;
        n++;
    }
    free(number);
    return n;
}

static void draw_map(struct figure *f, const struct sweep *s,
                     const struct request *r)
{
    struct panel *p = figure_panel(
        f, arena_printf(&f->mem, "%s %s", s->high ? "Highest" : "Lowest",
                        s->metric));
    struct heat *h = arena_alloc(&f->mem, sizeof *h);
    const size_t best = best_of(s);

    h->x_name = arena_alloc(&f->mem, (s->n + 1) * sizeof *h->x_name);
    h->y_name = arena_alloc(&f->mem, (s->n + 1) * sizeof *h->y_name);
    h->nx = distinct(s, false, h->x_name);
    h->ny = distinct(s, true, h->y_name);
    for (size_t i = 0; i < h->nx; i++)
        h->x_name[i] = arena_strdup(&f->mem, h->x_name[i]);
    for (size_t i = 0; i < h->ny; i++)
        h->y_name[i] = arena_strdup(&f->mem, h->y_name[i]);
    h->label = arena_strdup(&f->mem, s->metric);
    h->low_is_good = !s->high;
    h->lo = INFINITY;
    h->hi = -INFINITY;
    h->value = arena_alloc(&f->mem, h->nx * h->ny * sizeof *h->value);
    for (size_t i = 0; i < h->nx * h->ny; i++)
        h->value[i] = NAN;
    for (size_t i = 0; i < s->n; i++) {
        size_t x = 0, y = 0;

        while (strcmp(h->x_name[x], s->point[i].x) != 0)
            x++;
        while (strcmp(h->y_name[y], s->point[i].y) != 0)
            y++;
        h->value[y * h->nx + x] = s->point[i].mean;
        h->lo = fmin(h->lo, s->point[i].mean);
        h->hi = fmax(h->hi, s->point[i].mean);
        if (i == best)
            h->best = y * h->nx + x;
    }
    p->heat = h;
    axis_init(&p->x, arena_strdup(&f->mem, s->param[0]), UNIT_NONE);
    axis_init(&p->y, arena_strdup(&f->mem, s->param[1]), UNIT_NONE);
    axis_names(&p->x, &f->mem, h->x_name, h->nx, 24);
    axis_names(&p->y, &f->mem, h->y_name, h->ny, 24);
    (void)r;
    figure_note(f, "The best is marked; %s values are dark.",
                s->high ? "low" : "high");
}

static int build_sweep(struct build *b, struct err *e)
{
    struct figure *f = b->figure;
    const struct request *r = b->request;
    struct table *summary = b->summary;
    struct runs runs = RUNS_INIT;
    struct sweep s = { .n_params = 1 };
    char *comma;
    int ret;

    if (b->n < 2)
        return err_set(e, ERR_USAGE,
                       "a parameter and a metric are expected: gplot sweep "
                       "PARAM[,PARAM] METRIC [RUN...]");
    s.param[0] = arena_strdup(&f->mem, b->words[0]);
    comma = strchr(s.param[0], ',');
    if (comma) {
        *comma = '\0';
        s.param[1] = comma + 1;
        s.n_params = 2;
        if (strchr(s.param[1], ',') || !*s.param[1])
            return err_set(e, ERR_USAGE,
                           "a sweep is drawn over one parameter "
                           "or two, not '%s'",
                           b->words[0]);
    }
    s.metric = b->words[1];
    ret = figure_runs(&runs, b, 2, e);
    if (ret == 0)
        ret = gather_points(&s, &runs, r, e);
    if (ret == 0) {
        if (s.n_params == 2)
            draw_map(f, &s, r);
        else
            draw_line(f, &s, r);
        note_others(f, &s, &runs);
        fill_table(&s, summary);
    }
    for (size_t i = 0; i < s.n; i++)
        free(s.point[i].value);
    free(s.point);
    runs_free(&runs);
    return ret;
}

static int sweep_main(int argc, char **argv, struct err *e)
{
    return figure_main(build_sweep, argc, argv, e);
}

const struct cmd cmd_sweep = {
    .name = "sweep",
    .args = "PARAM[,PARAM] METRIC [RUN...]",
    .help = "draw a metric's best value against one or two parameters",
    .opts = sweep_opts,
    .run = sweep_main,
};
