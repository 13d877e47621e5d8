/*
 * fig_timeline - what each thread did in a step, from gtrain bench --timeline
 *
 * A row for each thread: the operations from left to right, and below them the
 * rate of page faults.  Slices that are narrower than a column of pixels are
 * merged into a cell, in which the operations are stacked by their shares of
 * its time.
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "plot/thread_times.h"

enum {
    OPERATIONS = 5, /* that have a colour of their own */
    OTHERS = OPERATIONS,
    NO_CORE,
    WAITING,
    FAULTS,
    AREAS,
    COLUMNS = 600,
    COLUMNS_OF_TERMINAL = 160,
    CELLS = 24000, /* in a figure: up to about twice this number */
    THREADS = 8,   /* more of them need a higher figure */
    HIGHEST = 64,
};

static const int colours[AREAS] = {
    [0] = 0,       [1] = 1,      [2] = 2,
    [3] = 3,       [4] = 4,      [OTHERS] = 5,
    [NO_CORE] = 7, [FAULTS] = 6, [WAITING] = COLOUR_GREY,
};

/* The parts of a row that is 1 high, around its middle. */
static const double LOW = -0.24, HIGH = 0.44, FAULTS_LOW = -0.44,
                    FAULTS_HIGH = -0.28;

struct cell {
    int thread;
    double from, to;
    double part[AREAS]; /* seconds; or page faults */
};

struct drawing {
    struct thread_times times;
    double from, to; /* the range that is drawn */
    double width;    /* of a column */
    int *area;       /* of each name */
    const char *label[AREAS];
    double sum[AREAS], faults[AREAS];
    struct cell *cell;
    size_t n, room;
};

/* ---- the operations that have a colour -------------------------------- */

/* The part of a slice in the range; false if there is none. */
static bool cut_slice(const struct drawing *d,
                      const struct thread_times_slice *s,
                      struct thread_times_slice *out)
{
    *out = *s;
    out->start = fmax(s->start, d->from);
    out->end = fmin(s->end, d->to);
    if (out->end <= out->start)
        return false;
    out->faults *= (out->end - out->start) / (s->end - s->start);
    return true;
}

/* The time of each name. */
static void sum_names(const struct drawing *d, double *secs)
{
    struct thread_times_slice s;

    for (size_t i = 0; i < d->times.n; i++)
        if (cut_slice(d, &d->times.slice[i], &s))
            secs[s.name] += s.end - s.start;
}

/* The name with the most time among the names in OTHERS; or -1. */
static int find_largest(const struct drawing *d, const double *secs)
{
    int best = -1;

    for (int i = 0; i < d->times.n_names; i++)
        if (d->area[i] == OTHERS && secs[i] > 0 &&
            (best < 0 || secs[i] > secs[best]))
            best = i;
    return best;
}

static void choose_areas(struct drawing *d, const double *secs)
{
    struct thread_times *const t = &d->times;
    int n_others = 0, last = 0;

    d->area = arena_alloc(&t->mem, (size_t)t->n_names * sizeof *d->area);
    for (int i = 0; i < t->n_names; i++) {
        d->area[i] = strcmp(t->name[i], "waiting") == 0   ? WAITING
                     : strcmp(t->name[i], "no core") == 0 ? NO_CORE
                                                          : OTHERS;
        if (d->area[i] != OTHERS)
            d->label[d->area[i]] = t->name[i];
    }
    for (int k = 0; k < OPERATIONS; k++) {
        const int i = find_largest(d, secs);

        if (i < 0)
            break;
        d->area[i] = k;
        d->label[k] = t->name[i];
    }
    for (int i = 0; i < t->n_names; i++)
        if (d->area[i] == OTHERS && secs[i] > 0) {
            n_others++;
            last = i;
        }
    d->label[OTHERS] =
        n_others == 1 ? t->name[last]
                      : arena_printf(&t->mem, "%d other operations", n_others);
}

/* ---- cells ------------------------------------------------------------- */

/* Add a slice to the last cell, or to a new one. */
static void add_to_cell(struct drawing *d, const struct thread_times_slice *s)
{
    struct cell *c = d->n ? &d->cell[d->n - 1] : NULL;
    const int area = d->area[s->name];

    if (!c || c->thread != s->thread || s->start - c->from >= d->width ||
        s->end - s->start >= d->width) {
        /* a narrow cell has the narrow gap after it, too */
        if (c && c->thread == s->thread && c->to - c->from < d->width &&
            s->start - c->to < d->width)
            c->to = s->start;
        c = &APPEND(d->cell, d->n, d->room);
        *c = (struct cell){ .thread = s->thread, .from = s->start };
    }
    c->to = s->end;
    c->part[area] += s->end - s->start;
    c->part[FAULTS] += s->faults;
    d->sum[area] += s->end - s->start;
    d->faults[area] += s->faults;
}

static void make_cells(struct drawing *d)
{
    struct thread_times_slice s;

    for (size_t i = 0; i < d->times.n; i++)
        if (cut_slice(d, &d->times.slice[i], &s))
            add_to_cell(d, &s);
}

static double fault_rate(const struct cell *c)
{
    return c->part[FAULTS] / (c->to - c->from);
}

static double highest_rate(const struct drawing *d)
{
    double most = 0;

    for (size_t i = 0; i < d->n; i++)
        most = fmax(most, fault_rate(&d->cell[i]));
    return most;
}

/* ---- the figure -------------------------------------------------------- */

/* The lower and the upper end of an area in a cell, in parts of the row. */
static void find_ends(const struct cell *c, int area, double most_faults,
                      double *lo, double *hi)
{
    const double scale = (HIGH - LOW) / (c->to - c->from);

    if (area == FAULTS) {
        *lo = FAULTS_LOW;
        *hi = *lo + (FAULTS_HIGH - *lo) * fault_rate(c) / most_faults;
        return;
    }
    *lo = LOW;
    for (int k = 0; k < area; k++)
        *lo += c->part[k] * scale;
    *hi = *lo + c->part[area] * scale;
}

/* Two points for a cell, and a gap unless the next one follows at once. */
static void draw_area(const struct drawing *d, struct build *b, struct panel *p,
                      int area, const char *label)
{
    const double most = highest_rate(d);
    size_t n = 0;
    struct curve *c;

    for (size_t i = 0; i < d->n; i++)
        n += d->cell[i].part[area] > 0;
    c = panel_curve(b->figure, p, label, 3 * n);
    c->style = STYLE_AREA;
    c->colour = colours[area];
    curve_band(b->figure, c);
    c->n = 0;
    for (size_t i = 0; i < d->n; i++) {
        const struct cell *cell = &d->cell[i];
        const double row = d->times.n_threads - 1 - cell->thread;
        double lo, hi;

        if (cell->part[area] <= 0)
            continue;
        find_ends(cell, area, most, &lo, &hi);
        for (int k = 0; k < 3; k++, c->n++) {
            c->x[c->n] = k == 0 ? cell->from : cell->to;
            c->y[c->n] = c->hi[c->n] = k < 2 ? row + hi : (double)NAN;
            c->lo[c->n] = k < 2 ? row + lo : (double)NAN;
        }
        if (i + 1 < d->n && cell[1].part[area] > 0 &&
            cell[1].thread == cell->thread && cell[1].from <= cell->to)
            c->n--;
    }
}

static void draw_areas(struct drawing *d, struct build *b, struct panel *p)
{
    struct arena *const mem = &b->figure->mem;
    const double whole = (d->to - d->from) * d->times.n_threads;

    for (int k = 0; k < FAULTS; k++)
        if (d->sum[k] > 0)
            draw_area(d, b, p, k,
                      arena_printf(mem, "%s, %.1f%%", d->label[k],
                                   100 * d->sum[k] / whole));
    if (highest_rate(d) > 0)
        draw_area(d, b, p, FAULTS,
                  arena_printf(mem, "page faults, up to %.3g per ms",
                               1e-3 * highest_rate(d)));
}

static void draw_threads(struct drawing *d, struct build *b)
{
    struct figure *f = b->figure;
    struct panel *p = figure_panel(f, "What the threads did");
    const int n = d->times.n_threads;
    const char **name = arena_alloc(&f->mem, (size_t)n * sizeof *name);

    if (!b->request->size && n > THREADS)
        f->look.height *= (double)(n < HIGHEST ? n : HIGHEST) / THREADS;
    axis_init(&p->x, "time", UNIT_SECONDS);
    axis_init(&p->y, "", UNIT_NAMED);
    request_axes(b->request, p);
    if (p->legend == LEGEND_AUTO)
        p->legend = LEGEND_BELOW;
    p->x.lo = d->from;
    p->x.hi = d->to;
    for (int i = 0; i < n; i++) /* the first thread is above */
        name[n - 1 - i] = arena_strdup(&f->mem, d->times.thread[i]);
    axis_names(&p->y, &f->mem, name, (size_t)n, 16);
    p->y.whole = true;
    draw_areas(d, b, p);
}

static void fill_table(struct table *t, const struct drawing *d)
{
    const double whole = (d->to - d->from) * d->times.n_threads;

    *t = TABLE_INIT("gplot.timeline/1");
    table_columns(t, "operation", "ms of threads", "share", "page faults",
                  NULL);
    for (int k = 0; k < FAULTS; k++) {
        if (d->sum[k] <= 0)
            continue;
        table_text(t, d->label[k]);
        table_printf(t, "%.3f", 1e3 * d->sum[k]);
        table_printf(t, "%.1f%%", 100 * d->sum[k] / whole);
        table_printf(t, "%.0f", d->faults[k]);
    }
}

static int count_columns(const struct build *b, int n_threads)
{
    const char *file = b->request->output;
    const int most = CELLS / n_threads;
    const int columns =
        file && !str_ends(file, ".txt") ? COLUMNS : COLUMNS_OF_TERMINAL;

    return columns < most ? columns : most;
}

static void draw_trace(struct drawing *d, struct build *b)
{
    const struct request *r = b->request;
    double *secs =
        arena_alloc(&d->times.mem, (size_t)d->times.n_names * sizeof *secs);

    d->from = isnan(r->x_lo) ? 0 : r->x_lo;
    d->to = r->x_hi;
    for (size_t i = 0; i < d->times.n && isnan(r->x_hi); i++)
        d->to = fmax(d->to, d->times.slice[i].end);
    d->width = (d->to - d->from) / count_columns(b, d->times.n_threads);
    sum_names(d, secs);
    choose_areas(d, secs);
    make_cells(d);
    draw_threads(d, b);
    if (b->summary)
        fill_table(b->summary, d);
}

static int build_timeline(struct build *b, struct err *e)
{
    struct drawing d = { 0 };
    int ret = thread_times_load(&d.times, b->words[0], e);

    if (ret == 0 && b->n > 1)
        ret = err_usage(e, "unexpected argument '%s'", b->words[1]);
    if (ret == 0)
        draw_trace(&d, b);
    free(d.cell);
    thread_times_free(&d.times);
    return ret;
}

static const struct opt timeline_opts[] = {
    COMMON_OPTS, XRANGE_OPT, LOOK_OPTS, OUT_OPTS, { 0 }
};

const struct cmd fig_timeline = {
    .name = "timeline",
    .args = "FILE",
    .help = "draw what each thread did, from gtrain bench --timeline",
    .opts = timeline_opts,
    .run = figure_main,
    .arg = &(const struct figure_type){ build_timeline, 1, "a trace is" },
};
