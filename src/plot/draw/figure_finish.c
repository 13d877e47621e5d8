/*
 * figure_finish - choose the ranges, the ticks and the place of the legend, and
 * drop points that cannot be seen
 */
#include "config.h"
#include "plot/draw/figure_finish.h"

#include <math.h>
#include <string.h>

#include "common/buf.h"
#include "common/utf8.h"
#include "plot/draw/axis.h"
#include "plot/draw/layout.h"

/* Of one column: the first point, the last one, and the extremes. */
struct column {
    size_t first, last, low, high, lowest, highest;
    bool any;
    size_t n; /* finite points */
};

static void column_flush(struct column *c, bool *kept)
{
    enum { CROWD = 8 }; /* so many points, and only the extremes are visible */

    if (c->any && c->n < CROWD)
        kept[c->first] = kept[c->last] = true;
    if (c->n > 0)
        kept[c->low] = kept[c->high] = kept[c->lowest] = kept[c->highest] =
            true;
    *c = (struct column){ 0 };
}

static void column_add(struct column *c, const struct curve *v, size_t i)
{
    const bool finite = isfinite(v->y[i]);

    if (!c->any || (finite && c->n == 0))
        *c = (struct column){ i, i, i, i, i, i, true, finite };
    else if (finite) {
        c->last = i;
        c->n++;
        if (v->y[i] < v->y[c->low])
            c->low = i;
        if (v->y[i] > v->y[c->high])
            c->high = i;
        if (v->lo && v->lo[i] < v->lo[c->lowest])
            c->lowest = i;
        if (v->hi && v->hi[i] > v->hi[c->highest])
            c->highest = i;
    }
}

/* The values that are kept, or NULL of NULL. */
static double *pick(const double *from, const bool *kept, size_t n,
                    size_t n_kept, struct arena *mem)
{
    double *to = from ? arena_alloc(mem, (n_kept + 1) * sizeof *to) : NULL;

    for (size_t i = 0, k = 0; i < n && from; i++)
        if (kept[i])
            to[k++] = from[i];
    return to;
}

void thin_curve(struct curve *v, const struct axis *x, int columns,
                struct arena *mem)
{
    struct column c = { 0 };
    const size_t n = v->n;
    AUTO_FREE bool *kept = NULL;
    long now = -1;

    if (columns <= 0 || n <= 4 * (size_t)columns)
        return;
    for (size_t i = 1; i < n; i++)
        if (v->x[i] < v->x[i - 1])
            return; /* the points are no line, so there are no columns */
    kept = xcalloc(n, sizeof *kept);
    for (size_t i = 0; i < n; i++) {
        const double place = axis_place(x, v->x[i]);
        long at = (long)(place * columns);

        if (isnan(place))
            continue;
        if (place < 0) { /* keep the last point before the range */
            c = (struct column){ 0 };
            at = -2;
        } else if (place > 1) {
            at = columns + 1;
        }
        if (at != now)
            column_flush(&c, kept);
        now = at;
        column_add(&c, v, i);
        if (place > 1 && isfinite(v->y[i]))
            break;
    }
    column_flush(&c, kept);
    v->n = 0;
    for (size_t i = 0; i < n; i++)
        v->n += kept[i];
    v->x = pick(v->x, kept, n, v->n, mem);
    v->y = pick(v->y, kept, n, v->n, mem);
    v->lo = pick(v->lo, kept, n, v->n, mem);
    v->hi = pick(v->hi, kept, n, v->n, mem);
}

bool thin_crowd(struct curve *v, const struct axis *x, int columns,
                struct arena *mem)
{
    const size_t room = 2 * (size_t)columns + 4;
    struct curve to = *v;
    double *points;
    size_t inside = 0;
    long now = -1;

    for (size_t i = 0; i < v->n; i++) {
        const double place = axis_place(x, v->x[i]);

        inside += place >= 0 && place <= 1;
        if (!isfinite(v->y[i]) || (i > 0 && v->x[i] < v->x[i - 1]))
            return false;
    }
    if (columns <= 0 || v->style != STYLE_LINE || v->lo || v->faint ||
        inside < 4 * (size_t)columns)
        return false;
    to.n = 0;
    to.x = arena_alloc(mem, room * sizeof *to.x);
    to.y = arena_alloc(mem, room * sizeof *to.y);
    to.lo = arena_alloc(mem, room * sizeof *to.lo);
    to.hi = arena_alloc(mem, room * sizeof *to.hi);
    points = arena_alloc(mem, room * sizeof *points);
    to.crowd = true;
    for (size_t i = 0, k = 0; i < v->n; i++) {
        const double place = axis_place(x, v->x[i]), y = v->y[i];
        const long at = (long)(place * columns);

        if (!(place >= 0 && place <= 1))
            continue;
        if (at != now) {
            k = to.n++;
            to.lo[k] = to.hi[k] = y;
        }
        now = at;
        to.lo[k] = y < to.lo[k] ? y : to.lo[k];
        to.hi[k] = y > to.hi[k] ? y : to.hi[k];
        to.x[k] += v->x[i];
        to.y[k] += y;
        points[k]++;
    }
    for (size_t k = 0; k < to.n; k++) {
        to.x[k] /= points[k];
        to.y[k] /= points[k];
    }
    *v = to;
    return true;
}

/* A baseline outside of the panel becomes a label at that edge, with an arrow
 * and its value. */
static void label_beyond(struct figure *f, struct panel *p)
{
    int below = 0, above = 0;

    for (size_t i = 0; i < p->n_marks; i++) {
        struct mark *m = &p->mark[i];
        const double level = axis_place(&p->y, m->y);
        char value[32];

        if (m->type != MARK_AT_Y || !m->label || (level >= 0 && level <= 1))
            continue;
        m->type = MARK_BEYOND;
        m->label = arena_printf(&f->mem, "%s %s %s", m->label,
                                level < 0 ? "\xe2\x86\x93" : "\xe2\x86\x91",
                                axis_value(value, p->y.unit, m->y));
        m->y = axis_value_at(&p->y, level < 0 ? 0.07 * below++
                                              : 0.93 - 0.07 * above++);
    }
}

/* Put the label of a baseline at the end that is farther from the curves. */
static void place_baselines(struct panel *p)
{
    for (size_t i = 0; i < p->n_marks; i++) {
        struct mark *m = &p->mark[i];
        double near[2] = { INFINITY, INFINITY };

        for (size_t k = 0; k < p->n_curves && mark_is_level(m); k++) {
            const struct curve *c = &p->curve[k];
            const struct axis *y = curve_y(p, c);
            const double level = axis_place(&p->y, m->y);

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
        if (mark_is_level(m))
            m->left = near[0] > near[1];
    }
}

/* Does a curve cover another one, so that this cannot be seen? */
static bool covers(const struct panel *p, const struct curve *a,
                   const struct curve *b, bool *equal)
{
    const double near = 0.003, far = 0.05 * (p->x.hi - p->x.lo);
    size_t at = 0;

    *equal = true;
    if (a->n < 2 || b->n < 2 || a->right != b->right ||
        fabs(a->x[0] - b->x[0]) > far ||
        fabs(a->x[a->n - 1] - b->x[b->n - 1]) > far)
        return false;
    for (size_t k = 0; k < b->n; k++) {
        const double x = fmin(fmax(b->x[k], a->x[0]), a->x[a->n - 1]);
        const double y = figure_between(a->x, a->y, a->n, x, &at);

        if (fabs(axis_place(curve_y(p, a), y) -
                 axis_place(curve_y(p, b), b->y[k])) > near ||
            isfinite(y) != isfinite(b->y[k]))
            return false;
        *equal = *equal && !(fabs(y - b->y[k]) > 0);
    }
    return true;
}

/* Say which curves lie on others: "rank 1 = rank 0"; of many, equal ones. */
static void note_alike(struct figure *f, const struct panel *p)
{
    enum { MOST = 3 };
    AUTO(buf_clear) struct buf b = BUF_INIT;
    size_t n = 0, one = 0;

    for (size_t i = 1; i < p->n_curves; i++) {
        const struct curve *c = &p->curve[i];
        bool found = false, equal;

        for (size_t k = 0; k < i && c->label && !found; k++) {
            const struct curve *o = &p->curve[k];

            found = o->label && strcmp(o->label, c->label) != 0 &&
                    covers(p, c, o, &equal) && (equal || !c->thin);
            if (found && n++ < MOST)
                buf_printf(&b, "%s%s %s %s", n > 1 ? "; " : "", c->label,
                           equal ? "=" : "\xe2\x89\x88", o->label);
            one = n == 1 ? b.len : one;
        }
    }
    if (n > MOST) {
        buf_trim(&b, one);
        buf_printf(&b, "; and %zu more", n - 1);
    }
    if (n)
        figure_note(f, "Curves that coincide%s%s: %s.",
                    f->n_panels > 1 && p->title ? " in " : "",
                    f->n_panels > 1 && p->title ? p->title : "", b.s);
}

/* Where points are too close for a marker each, only every Nth has one. */
static void thin_markers(struct figure *f, struct panel *p, double width)
{
    const double apart = f->look.plain ? 12 : 2.5; /* points of the page */
    size_t most = 1;

    width /= fmax(1, (double)p->n_curves / 20); /* many cover each other */
    for (size_t i = 0; i < p->n_curves; i++) {
        struct curve *c = &p->curve[i];

        c->every = 1;
        if (c->style == STYLE_LINE_POINTS)
            c->every += (size_t)((double)c->n * apart / width);
        most = c->every > most ? c->every : most;
    }
    if (most > 1)
        figure_note(f, "One of %zu points has a marker.", most);
}

/* Of all curves of a panel, and at least of each. */
enum { MOST_COLUMNS = 5000, LEAST_COLUMNS = 30 };

static void thin_all(struct figure *f, struct panel *p, bool has_inset)
{
    /* an inset magnifies: it needs more columns, and its own range of x */
    const int all = f->look.columns / (int)f->cols * (has_inset ? 4 : 1);
    /* many curves cover each other, but not the best one */
    const int share = MOST_COLUMNS / (int)(p->n_curves + 1);
    const int most = share > LEAST_COLUMNS ? share : LEAST_COLUMNS;
    struct axis x = p->x;

    if (has_inset) {
        x.lo = fmin(x.lo, p->inset_lo);
        x.hi = fmax(x.hi, p->inset_hi);
    }
    for (size_t i = 0; i < p->n_curves; i++) {
        struct curve *c = &p->curve[i];
        const int columns = all < most || c->best ? all : most;

        if (c->style != STYLE_AREA &&
            (!f->look.bands || !thin_crowd(c, &x, columns, &f->mem)))
            thin_curve(c, &x, columns, &f->mem);
    }
}

/* Text of at most `columns` columns.  Longer text is cut before its last comma,
 * as in "a long name..., validation". */
static const char *shorten(struct figure *f, const char *text, double columns)
{
    const size_t most = (size_t)fmax(columns, 8);
    const char *tail = text ? strrchr(text, ',') : NULL;
    AUTO(buf_clear) struct buf head = BUF_INIT, b = BUF_INIT;

    if (!text || utf8_width(text) <= most)
        return text;
    if (!tail || utf8_width(tail) > most / 2)
        tail = "";
    buf_add(&head, text, strlen(text) - strlen(tail));
    utf8_cut(&b, head.s, most - utf8_width(tail));
    buf_str(&b, tail);
    return arena_strdup(&f->mem, b.s);
}

/* Raw values behind smoothed ones hide these where both are characters, but the
 * range still tells of spikes. */
static void drop_raw(struct panel *p)
{
    size_t kept = 0;

    for (size_t k = 0; k < p->n_curves; k++)
        if (!p->curve[k].raw)
            p->curve[kept++] = p->curve[k];
    p->n_curves = kept;
}

/* The end of a name, which mostly tells it from others. */
static const char *ending(struct figure *f, const char *name, double columns)
{
    const char *at = name;

    while (utf8_width(at) + (at > name ? 3 : 0) > fmax(columns, 8))
        utf8_next(&at);
    return at == name ? name : arena_printf(&f->mem, "...%s", at);
}

static void finish_panel(struct figure *f, struct panel *p, double width,
                         double height)
{
    const double em = f->look.font_size;
    const int most_x = (int)(width / (5.2 * em));
    const int most_y = (int)(height / (2.9 * em));
    const bool has_inset = isfinite(p->inset_lo) && !p->heat;

    if (!p->heat) {
        range_choose(f, p);
        if (f->look.plain)
            drop_raw(p);
        note_alike(f, p);
        thin_all(f, p, has_inset);
        thin_markers(f, p, width);
    }
    axis_ticks(&p->x, &f->mem, most_x);
    if (p->x.unit == UNIT_NAMED) {
        for (size_t i = 0; i < p->x.n_ticks; i++) /* so that two have room */
            p->x.tick[i].label =
                ending(f, p->x.tick[i].label, (width / 2 / em - 0.9) / 0.62);
        axis_thin_names(
            &p->x,
            (int)(width / em / (0.62 * (double)axis_widest(&p->x) + 0.8)));
    }
    axis_ticks(&p->y, &f->mem, most_y > 8 ? 8 : most_y);
    if (p->has_y2)
        axis_ticks(&p->y2, &f->mem, most_y > 8 ? 8 : most_y);
    if (has_inset) {
        axis_ticks(&p->inset_x, &f->mem, 4);
        axis_ticks(&p->inset_y, &f->mem, 4);
    }
    label_beyond(f, p);
    place_baselines(p);
    p->title = shorten(f, p->title, width / (0.5 * em));
    for (size_t i = 0; i < p->n_curves; i++)
        p->curve[i].label = shorten(f, p->curve[i].label, width / (0.52 * em));
    legend_entries(f, p);
    if (f->shared)
        legend_share(f, p);
}

/* Without colours, number the curves in turn, for their dashes: the first is
 * solid.  Areas get shades, in an order in which neighbours differ. */
static void number_curves(struct figure *f)
{
    enum { SHADES = 9 };
    int slot[256], n = 0;

    for (size_t i = 0; i < f->n_panels; i++) {
        for (size_t k = 0; k < f->panel[i]->n_curves; k++) {
            struct curve *c = &f->panel[i]->curve[k];
            int at = 0;

            if ((c->colour < 0 && c->style != STYLE_AREA) ||
                c->colour >= COLOUR_RAMP)
                continue;
            while (at < n && slot[at] != c->colour)
                at++;
            if (at == n && n < (int)(sizeof slot / sizeof slot[0]))
                slot[n++] = c->colour;
            c->colour =
                c->style == STYLE_AREA
                    ? palette_ramp_slot(4 * at % SHADES / (SHADES - 1.0))
                    : at;
        }
    }
}

/* Where a legend has taken room, fewer ticks fit. */
static void fewer_ticks(struct figure *f, size_t panel)
{
    struct panel *p = f->panel[panel];
    struct layout l;
    int x, y;

    layout_panel(&l, f, panel);
    x = (int)((l.plot.x1 - l.plot.x0) / layout_em_x(f, 3.4));
    y = (int)((l.plot.y1 - l.plot.y0) / layout_em_y(f, 2));
    if (x < p->x.most) {
        p->x.most = x;
        axis_renew(&p->x, &f->mem);
    }
    if (y < p->y.most) {
        p->y.most = y;
        axis_renew(&p->y, &f->mem);
    }
}

static void drop_raw_notes(struct figure *f)
{
    for (size_t i = 0; i < f->n_notes; i++)
        if (str_ends(f->note[i], RAW_BEHIND "."))
            f->note[i] = arena_printf(
                &f->mem, "%.*s.",
                (int)(strlen(f->note[i]) - strlen(RAW_BEHIND ".")), f->note[i]);
}

/* Notes take up to a quarter of the figure; the others are for its caption. */
static void choose_captions(struct figure *f)
{
    while (f->n_notes &&
           (f->look.captioned ||
            (f->look.bands &&
             layout_em_y(f, 1.15 * (double)layout_notes(f)) > 0.27)))
        f->n_notes--, f->n_captions++;
}

void figure_finish(struct figure *f)
{
    if (f->look.plain)
        drop_raw_notes(f);
    if (f->look.theme == THEME_MONO)
        number_curves(f);
    if (f->rows == 0)
        f->rows = f->n_panels, f->cols = 1;
    f->title = shorten(f, f->title, f->look.width / (0.72 * f->look.font_size));
    for (size_t i = 0; i < f->n_panels; i++)
        finish_panel(f, f->panel[i], f->look.width / (double)f->cols * 0.84,
                     f->look.height / (double)f->rows * 0.78);
    for (size_t i = 0; i < f->n_panels; i++)
        if (isfinite(f->panel[i]->inset_lo) && !f->panel[i]->heat)
            place_inset(f, i);
    choose_captions(f);
    /* a legend outside takes room from the panels beside it: place the others
     * once more */
    for (int round = 0; round < 2; round++)
        for (size_t i = 0; i < f->n_panels; i++)
            place_legend(f, i);
    for (size_t i = 0; i < f->n_panels; i++)
        fewer_ticks(f, i);
}
