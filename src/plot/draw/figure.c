#include "config.h"
#include "plot/draw/figure.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/utf8.h"
#include "plot/draw/axis.h"
#include "plot/draw/thin.h"

struct panel *figure_panel(struct figure *f, const char *title)
{
    struct panel *p = arena_alloc(&f->mem, sizeof *p);

    p->title = title ? arena_strdup(&f->mem, title) : NULL;
    axis_init(&p->x, "step", UNIT_COUNT);
    axis_init(&p->y, "", UNIT_NONE);
    axis_init(&p->y2, "", UNIT_NONE);
    p->inset_lo = p->inset_hi = NAN;
    GROW(f->panel, f->n_panels, f->panel_room);
    f->panel[f->n_panels++] = p;
    return p;
}

struct curve *panel_curve(struct figure *f, struct panel *p, const char *label,
                          size_t n)
{
    struct curve *c;

    GROW(p->curve, p->n_curves, p->curve_room);
    c = &p->curve[p->n_curves++];
    *c = (struct curve){
        .label = label ? arena_strdup(&f->mem, label) : NULL,
        .run = "",
        .n = n,
        .width = 1.2,
        .x = arena_alloc(&f->mem, (n + 1) * sizeof(double)),
        .y = arena_alloc(&f->mem, (n + 1) * sizeof(double)),
    };
    return c;
}

struct mark *panel_mark(struct figure *f, struct panel *p, enum mark_type type,
                        double x, double y)
{
    (void)f;
    GROW(p->mark, p->n_marks, p->mark_room);
    p->mark[p->n_marks] =
        (struct mark){ .type = type, .x = x, .y = y, .colour = COLOUR_GREY };
    return &p->mark[p->n_marks++];
}

void figure_note(struct figure *f, const char *fmt, ...)
{
    struct buf b = BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    for (size_t i = 0; i < f->n_notes; i++) {
        if (strcmp(f->note[i].text, b.s) == 0) {
            buf_clear(&b);
            return;
        }
    }
    GROW(f->note, f->n_notes, f->note_room);
    f->note[f->n_notes++] = (struct note){ arena_strdup(&f->mem, b.s) };
    buf_clear(&b);
}

void figure_line(struct figure *f, const char *text)
{
    GROW(f->line, f->n_lines, f->line_room);
    f->line[f->n_lines++] = arena_strdup(&f->mem, text);
}

void figure_free(struct figure *f)
{
    for (size_t i = 0; i < f->n_panels; i++) {
        free(f->panel[i]->curve);
        free(f->panel[i]->mark);
    }
    free(f->panel);
    free(f->note);
    free(f->line);
    arena_clear(&f->mem);
    f->panel = NULL;
    f->note = NULL;
    f->line = NULL;
    f->n_panels = f->n_notes = f->n_lines = f->line_room = f->panel_room =
        f->note_room = 0;
}

/*
 * Ranges
 */

static bool inside(const struct axis *a, double v)
{
    return !(v < a->lo) && !(v > a->hi); /* NaN bounds hold all */
}

static void x_range(struct panel *p)
{
    double lo = INFINITY, hi = -INFINITY;

    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        for (size_t k = 0; k < c->n; k++) {
            if (!isfinite(c->x[k]) || (p->x.scale == SCALE_LOG && c->x[k] <= 0))
                continue;
            lo = fmin(lo, c->x[k]);
            hi = fmax(hi, c->x[k]);
        }
    }
    /* a line begins at the frame, and steps begin at 0 */
    if (p->x.scale != SCALE_LOG && p->x.margin <= 0 && lo > 0 && lo < 0.06 * hi)
        lo = 0;
    axis_range(&p->x, lo, hi, p->x.margin);
}

/* A sample of what is drawn on one y axis, and its exact extremes. */
struct sample {
    double value[20000];
    size_t n;
    double lo, hi, hi_x, lo_x;
    const struct curve *hi_curve;
};

static void sample_take(struct sample *s, const struct panel *p, bool right,
                        const struct axis *x, bool log)
{
    size_t all = 0, step;

    *s = (struct sample){ .lo = INFINITY, .hi = -INFINITY };
    for (size_t i = 0; i < p->n_curves; i++)
        all += p->curve[i].right == right ? p->curve[i].n : 0;
    step = all / (sizeof s->value / sizeof s->value[0]) + 1;
    all = 0;
    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        if (c->right != right)
            continue;
        for (size_t k = 0; k < c->n; k++) {
            if (!isfinite(c->y[k]) || (log && c->y[k] <= 0) ||
                !inside(x, c->x[k]))
                continue;
            if (c->y[k] > s->hi)
                s->hi = c->y[k], s->hi_x = c->x[k], s->hi_curve = c;
            if (c->y[k] < s->lo)
                s->lo = c->y[k], s->lo_x = c->x[k];
            if (all++ % step == 0)
                s->value[s->n++] = c->y[k];
        }
    }
}

/* Error bars and bands count, unless they are far wider than the lines. */
static void widen(const struct panel *p, const struct axis *x, bool right,
                  double *lo, double *hi)
{
    const double span = *hi - *lo, low = *lo, high = *hi;

    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        if (!c->lo || c->right != right)
            continue;
        for (size_t k = 0; k < c->n; k++) {
            if (!inside(x, c->x[k]))
                continue;
            if (c->lo[k] > low - span)
                *lo = fmin(*lo, c->lo[k]);
            if (c->hi[k] < high + span)
                *hi = fmax(*hi, c->hi[k]);
        }
    }
    for (size_t i = 0; i < p->n_marks; i++) {
        const struct mark *m = &p->mark[i];

        if (m->type == MARK_AT_Y && m->right == right && isfinite(m->y) &&
            m->y > low - 3 * span && m->y < high + 3 * span) {
            *lo = fmin(*lo, m->y);
            *hi = fmax(*hi, m->y);
        }
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* How many values lie beyond what is shown? */
static size_t count_beyond(const struct panel *p, bool right, double hi,
                           const struct axis *x)
{
    size_t n = 0;

    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];

        for (size_t k = 0; c->right == right && !c->faint && k < c->n; k++)
            n += isfinite(c->y[k]) && c->y[k] > hi && inside(x, c->x[k]);
    }
    return n;
}

/* Is a point labelled?  Its label needs room. */
static bool has_label(const struct panel *p, bool right)
{
    for (size_t i = 0; i < p->n_marks; i++)
        if (p->mark[i].type == MARK_AT_XY && p->mark[i].label &&
            p->mark[i].right == right)
            return true;
    return false;
}

/*
 * The range of y holds everything, unless a few values (less than 1 in 200)
 * would squeeze all others into a tenth of the height: then those are cut, and
 * the figure says so.
 */
static void y_range(struct figure *f, struct panel *p, bool right)
{
    enum { FEW = 50 };
    struct axis *y = right ? &p->y2 : &p->y;
    struct sample *s = xmalloc(sizeof *s);
    const bool open = isnan(y->hi);
    bool log;
    double lo, hi, cut = INFINITY;

    sample_take(s, p, right, &p->x, false);
    axis_scale(y, s->value, s->n);
    log = y->scale == SCALE_LOG;
    if (log)
        sample_take(s, p, right, &p->x, true);
    lo = s->lo;
    hi = s->hi;
    if (open && s->n >= FEW) {
        double q_lo, q_hi, span;

        qsort(s->value, s->n, sizeof *s->value, by_value);
        q_lo = s->value[s->n / 200];
        q_hi = s->value[s->n - 1 - s->n / 200];
        span = log ? q_hi / q_lo : q_hi - q_lo;
        if (log ? hi > q_hi * pow(span, 8) : span > 0 && hi > q_hi + 8 * span)
            hi = cut = log ? q_hi * span : q_hi + 1.5 * span;
    }
    widen(p, &p->x, right, &lo, &hi);
    axis_range(y, lo, hi, has_label(p, right) ? 0.1 : 0.04);
    if (isfinite(cut) && s->hi_curve) {
        const size_t n = count_beyond(p, right, y->hi, &p->x);
        char most[32], at[32], limit[32];

        if (n)
            figure_note(f, "%zu point%s above %s cut off, up to %s at %s %s.",
                        n, n == 1 ? "" : "s", axis_value(limit, y->unit, y->hi),
                        axis_value(most, y->unit, s->hi), p->x.label,
                        axis_value(at, p->x.unit, s->hi_x));
    }
    free(s);
}

static void inset_range(struct panel *p)
{
    struct sample *s = xmalloc(sizeof *s);

    p->inset_x = p->x;
    p->inset_x.scale = SCALE_LINEAR;
    p->inset_x.lo = p->inset_lo;
    p->inset_x.hi = p->inset_hi;
    p->inset_y = p->y;
    p->inset_y.lo = p->inset_y.hi = NAN;
    sample_take(s, p, false, &p->inset_x, p->y.scale == SCALE_LOG);
    axis_range(&p->inset_y, s->lo, s->hi, 0.05);
    free(s);
}

/*
 * Legend
 */
enum { GRID_X = 64, GRID_Y = 48 };

struct grid {
    bool used[GRID_Y][GRID_X];
};

static void grid_line(struct grid *g, double x0, double y0, double x1,
                      double y1)
{
    const int steps =
        (int)(fmax(fabs(x1 - x0) * GRID_X, fabs(y1 - y0) * GRID_Y)) + 1;

    for (int i = 0; i <= steps && steps < 4 * GRID_X; i++) {
        const double t = (double)i / steps;
        const double x = x0 + (x1 - x0) * t, y = y0 + (y1 - y0) * t;

        if (x >= 0 && x < 1 && y >= 0 && y < 1)
            g->used[(int)(y * GRID_Y)][(int)(x * GRID_X)] = true;
    }
}

static void grid_fill(struct grid *g, const struct panel *p)
{
    for (size_t i = 0; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];
        const struct axis *ay = c->right ? &p->y2 : &p->y;
        double px = NAN, py = NAN;

        for (size_t k = 0; k < c->n; k++) {
            const double x = axis_place(&p->x, c->x[k]);
            const double y = axis_place(ay, c->y[k]);

            if (isfinite(x) && isfinite(y)) {
                if (isfinite(px) && c->style != STYLE_POINTS)
                    grid_line(g, px, py, x, y);
                else
                    grid_line(g, x, y, x, y);
            }
            if (isfinite(x) && isfinite(y) && c->lo)
                grid_line(g, x, axis_place(ay, c->lo[k]), x,
                          axis_place(ay, c->hi[k]));
            px = x;
            py = y;
        }
    }
    for (size_t i = 0; i < p->n_marks; i++) {
        const struct mark *m = &p->mark[i];
        const double y = axis_place(m->right ? &p->y2 : &p->y, m->y);
        const double x = axis_place(&p->x, m->x);

        if (m->type == MARK_AT_Y && isfinite(y))
            grid_line(g, 0, y, 0.999, y);
        else if (m->type == MARK_AT_XY && isfinite(x) && isfinite(y))
            grid_line(g, x - 0.02, y, x + 0.02, y);
        else if (m->type == MARK_AT_X && isfinite(x))
            grid_line(g, x, m->small ? 0.97 : m->label ? 0.8 : 1, x, 0.999);
    }
}

static size_t legend_entries(const struct panel *p, size_t *longest)
{
    size_t n = 0;

    *longest = 0;
    for (size_t i = 0; i < p->n_curves; i++) {
        if (!p->curve[i].label)
            continue;
        n++;
        if (utf8_width(p->curve[i].label) > *longest)
            *longest = utf8_width(p->curve[i].label);
    }
    return n;
}

/* How much of a corner is covered by curves, of w x h places of the grid? */
static int covered(const struct grid *g, enum legend corner, int w, int h)
{
    const bool right =
        corner == LEGEND_TOP_RIGHT || corner == LEGEND_BOTTOM_RIGHT;
    const bool top = corner == LEGEND_TOP_RIGHT || corner == LEGEND_TOP_LEFT;
    int used = 0;

    for (int y = 0; y < h; y++)
        for (int x = 0; x < w; x++)
            used +=
                g->used[top ? GRID_Y - 1 - y : y][right ? GRID_X - 1 - x : x];
    return used;
}

/* The emptiest corner that holds the legend; outside when none is empty and
 * there is room outside. */
static void legend_place(struct figure *f, struct panel *p, double width,
                         double height)
{
    static const enum legend corner[] = { LEGEND_TOP_RIGHT, LEGEND_BOTTOM_LEFT,
                                          LEGEND_TOP_LEFT,
                                          LEGEND_BOTTOM_RIGHT };
    const double em = f->look.font_size;
    size_t longest, n = legend_entries(p, &longest);
    const double wide = em * (0.46 * (double)longest + 3);
    const double high = (double)n * 1.35 * em;
    const int w = (int)ceil(wide / width * GRID_X);
    const int h = (int)ceil(high / height * GRID_Y) + 1;
    const bool fits = n <= 8 && w <= GRID_X * 2 / 3 && h <= GRID_Y * 2 / 3;
    const bool room = high * wide < height * width * 0.22;
    enum legend best = LEGEND_TOP_RIGHT;
    int least = INT_MAX;
    struct grid *g;

    if (p->legend != LEGEND_AUTO)
        return;
    p->legend = LEGEND_NONE;
    if (n == 0 || p->heat)
        return;
    g = xcalloc(1, sizeof *g);
    grid_fill(g, p);
    for (size_t i = 0; i < sizeof corner / sizeof corner[0] && fits; i++) {
        const int used = covered(g, corner[i], w, h);

        if (used < least) {
            least = used;
            best = corner[i];
        }
    }
    free(g);
    if (fits && (least <= w * h / 50 || (!room && least <= w * h / 12)))
        p->legend = best;
    else if (longest <= 34 && n > 4 && width >= 300 && high < height)
        p->legend = LEGEND_RIGHT;
    else if (high * wide < height * width)
        p->legend = LEGEND_BELOW;
    else
        figure_note(f, "%zu curves are too many for a legend.", n);
}

/* The label of a level stands where the curves are farther from it. */
static void place_levels(struct panel *p)
{
    for (size_t i = 0; i < p->n_marks; i++) {
        struct mark *m = &p->mark[i];
        double near[2] = { INFINITY, INFINITY };

        for (size_t k = 0; k < p->n_curves && m->type == MARK_AT_Y; k++) {
            const struct curve *c = &p->curve[k];
            const struct axis *y = c->right ? &p->y2 : &p->y;
            const double level = axis_place(m->right ? &p->y2 : &p->y, m->y);

            for (size_t n = 0; n < c->n; n++) {
                const double x = axis_place(&p->x, c->x[n]);
                /* the label is above the line */
                const double off = axis_place(y, c->y[n]) - level - 0.03;

                if (x >= 0 && x <= 0.3)
                    near[0] = fmin(near[0], fabs(off));
                else if (x >= 0.7 && x <= 1)
                    near[1] = fmin(near[1], fabs(off));
            }
        }
        if (m->type == MARK_AT_Y)
            m->left = near[0] > near[1];
    }
}

/*
 * All together
 */
static void thin_all(struct figure *f, struct panel *p, bool has_inset)
{
    /* an inset magnifies: it needs more columns, and its own range of x */
    const int columns = f->look.columns * (has_inset ? 4 : 1);
    struct axis x = p->x;

    if (has_inset) {
        x.lo = fmin(x.lo, p->inset_lo);
        x.hi = fmax(x.hi, p->inset_hi);
    }
    for (size_t i = 0; i < p->n_curves; i++)
        thin_curve(&p->curve[i], &x, columns, &f->mem);
}

/* Text of at most so many columns: what is too much is left out before the last
 * comma, as in "a long name..., validation". */
static const char *shorten(struct figure *f, const char *text, double columns)
{
    const size_t most = (size_t)fmax(columns, 8);
    const char *tail = text ? strrchr(text, ',') : NULL;
    struct buf head = BUF_INIT, b = BUF_INIT;

    if (!text || utf8_width(text) <= most)
        return text;
    if (!tail || utf8_width(tail) > most / 2)
        tail = "";
    buf_add(&head, text, strlen(text) - strlen(tail));
    utf8_cut(&b, head.s, most - utf8_width(tail));
    buf_str(&b, tail);
    text = arena_strdup(&f->mem, b.s);
    buf_clear(&head);
    buf_clear(&b);
    return text;
}

static void finish_panel(struct figure *f, struct panel *p, double width,
                         double height)
{
    const double em = f->look.font_size;
    const int most_x = (int)(width / (5.2 * em));
    const int most_y = (int)(height / (2.9 * em));
    const bool has_inset = isfinite(p->inset_lo) && !p->heat;

    if (!p->heat) {
        if (p->x.scale == SCALE_AUTO)
            p->x.scale = SCALE_LINEAR;
        if (p->x.unit != UNIT_NAMED)
            x_range(p);
        y_range(f, p, false);
        if (p->has_y2)
            y_range(f, p, true);
        if (has_inset)
            inset_range(p);
        thin_all(f, p, has_inset);
    }
    axis_ticks(&p->x, &f->mem, most_x);
    axis_ticks(&p->y, &f->mem, most_y > 8 ? 8 : most_y);
    if (p->has_y2)
        axis_ticks(&p->y2, &f->mem, most_y > 8 ? 8 : most_y);
    if (has_inset) {
        axis_ticks(&p->inset_x, &f->mem, 4);
        axis_ticks(&p->inset_y, &f->mem, 4);
    }
    place_levels(p);
    p->title = shorten(f, p->title, width / (0.5 * em));
    for (size_t i = 0; i < p->n_curves; i++)
        p->curve[i].label = shorten(f, p->curve[i].label, width / (0.52 * em));
    legend_place(f, p, width, height);
}

/* Without colours the curves take the dashes in turn: the first is solid. */
static void number_curves(struct figure *f)
{
    int slot[256], n = 0;

    for (size_t i = 0; i < f->n_panels; i++) {
        for (size_t k = 0; k < f->panel[i]->n_curves; k++) {
            struct curve *c = &f->panel[i]->curve[k];
            int at = 0;

            if (c->colour < 0)
                continue;
            while (at < n && slot[at] != c->colour)
                at++;
            if (at == n && n < (int)(sizeof slot / sizeof slot[0]))
                slot[n++] = c->colour;
            c->colour = at;
        }
    }
}

void figure_finish(struct figure *f)
{
    if (f->look.theme == THEME_MONO)
        number_curves(f);
    if (f->rows == 0)
        f->rows = f->n_panels, f->cols = 1;
    f->title = shorten(f, f->title, f->look.width / (0.72 * f->look.font_size));
    for (size_t i = 0; i < f->n_panels; i++)
        finish_panel(f, f->panel[i], f->look.width / (double)f->cols * 0.84,
                     f->look.height / (double)f->rows * 0.78);
}

void figure_data(const struct figure *f, struct buf *b)
{
    buf_str(b, "panel\trun\tcurve\tx\ty\tlow\thigh\n");
    for (size_t i = 0; i < f->n_panels; i++) {
        const struct panel *p = f->panel[i];

        for (size_t k = 0; k < p->n_curves; k++) {
            const struct curve *c = &p->curve[k];

            for (size_t j = 0; j < c->n; j++) {
                buf_printf(b, "%s\t%s\t%s\t%.17g\t%.17g",
                           p->title ? p->title : p->y.label, c->run,
                           c->label ? c->label : "raw", c->x[j], c->y[j]);
                if (c->lo)
                    buf_printf(b, "\t%.17g\t%.17g\n", c->lo[j], c->hi[j]);
                else
                    buf_str(b, "\t\t\n");
            }
        }
        for (size_t k = 0; p->heat && k < p->heat->nx * p->heat->ny; k++)
            buf_printf(b, "%s\t\t%s\t%s\t%s\t%.17g\t\n",
                       p->title ? p->title : "", p->heat->label,
                       p->heat->x_name[k % p->heat->nx],
                       p->heat->y_name[k / p->heat->nx], p->heat->value[k]);
    }
}
