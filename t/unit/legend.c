/* Where the parts of a figure are: a legend and an inset cover nothing, and
 * panels are aligned. */
#include "config.h"

#include <math.h>
#include <string.h>

#include "plot/draw/axis.h"
#include "plot/draw/figure.h"
#include "plot/draw/layout.h"
#include "t/lib/tap.h"

static double falling(double t)
{
    return 3 + 7 * exp(-20 * t);
}

static double level(double t)
{
    return 3 + 0.5 * sin(40 * t);
}

static double rising(double t)
{
    return t;
}

static double everywhere(double t)
{
    return sin(300 * t);
}

static double four_corners(double t)
{
    return t < 0.3 || t > 0.7 ? sin(300 * t) : 0;
}

static struct curve *add_curve(struct figure *f, struct panel *p,
                               const char *label, double (*y)(double))
{
    enum { N = 600 };
    struct curve *c = panel_curve(f, p, label, N);

    for (int i = 0; i < N; i++) {
        c->x[i] = i;
        c->y[i] = y((double)i / N);
    }
    return c;
}

/* How many points of curves are inside the legend? */
static int count_covered(const struct figure *f, const struct panel *p)
{
    const size_t first = legend_first(p), n = p->n_entries - first;
    double x0 = INFINITY, x1 = -INFINITY, y0 = INFINITY, y1 = -INFINITY;
    struct layout l;
    int covered = 0;

    layout_panel(&l, f, 0);
    if (p->legend == LEGEND_NONE)
        return 0;
    for (size_t i = first; i < p->n_entries; i++) {
        double x, y;

        layout_legend(&l, f, p, i, &x, &y);
        x0 = fmin(x0, x);
        x1 = fmax(x1, x + layout_em_x(f, legend_width(&p->entry[first], n)));
        y0 = fmin(y0, y - layout_em_y(f, 0.6));
        y1 = fmax(y1, y + layout_em_y(f, 0.6));
    }
    for (size_t i = 0; i < p->n_curves; i++)
        for (size_t k = 0; k < p->curve[i].n; k++) {
            const double x = l.plot.x0 + axis_place(&p->x, p->curve[i].x[k]) *
                                             (l.plot.x1 - l.plot.x0);
            const double y = l.plot.y0 + axis_place(&p->y, p->curve[i].y[k]) *
                                             (l.plot.y1 - l.plot.y0);

            covered += x > x0 && x < x1 && y > y0 && y < y1;
        }
    return covered;
}

static void nothing_is_covered(void)
{
    static const struct {
        const char *name;
        double (*y)(double);
        enum scale scale;
    } shapes[] = {
        { "falls", falling, SCALE_AUTO },
        { "falls on a logarithmic axis", falling, SCALE_LOG },
        { "is level", level, SCALE_AUTO },
        { "rises", rising, SCALE_AUTO },
        { "is everywhere", everywhere, SCALE_AUTO },
        { "is in all corners", four_corners, SCALE_AUTO },
    };
    static const double size[][2] = { { 454, 284 },
                                      { 238, 170 },
                                      { 160, 110 } };
    static const char *const labels[] = { "train", "validation",
                                          "test",  "a much longer name",
                                          "e",     "f" };

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (size_t k = 0; k < 3; k++)
            for (int n = 1; n <= 6; n += 5) {
                struct figure f = FIGURE_INIT;
                struct panel *p = figure_panel(&f, "Loss");
                int covered;

                f.look.width = size[k][0];
                f.look.height = size[k][1];
                f.look.font_size = 8;
                p->y.scale = shapes[i].scale;
                for (int c = 0; c < n; c++)
                    add_curve(&f, p, labels[c], shapes[i].y);
                figure_finish(&f);
                covered = count_covered(&f, p);
                ok(covered == 0,
                   "a legend of %d does not cover a curve that %s, %g points "
                   "wide",
                   n, shapes[i].name, f.look.width);
                figure_free(&f);
            }
}

static void room_is_made_above(void)
{
    struct figure f = FIGURE_INIT;
    struct panel *p = figure_panel(&f, "Loss");

    add_curve(&f, p, "train", everywhere);
    figure_finish(&f);
    ok(p->legend == LEGEND_INSIDE && p->y.hi > 1.1 && p->y.hi < 1.7,
       "the axis is extended where a legend finds no room");
    figure_free(&f);
    f = FIGURE_INIT;
    p = figure_panel(&f, "Loss");
    p->y.hi = 1;
    add_curve(&f, p, "train", everywhere);
    figure_finish(&f);
    ok(p->legend == LEGEND_BELOW && p->y.hi <= 1,
       "an axis whose end was asked for is not extended");
    figure_free(&f);
}

/* Runs with two lines each. */
static struct panel *runs(struct figure *f, int n)
{
    static char names[20][8];
    struct panel *p = figure_panel(f, "Loss");

    for (int line = 0; line < 2; line++)
        for (int i = 0; i < n; i++) {
            struct curve *c;
            char label[32];

            snprintf(names[i], sizeof names[i], "run%d", i);
            snprintf(label, sizeof label, "%s, %s", names[i],
                     line ? "validation" : "train");
            c = add_curve(f, p, label, falling);
            c->owner = names[i];
            c->line = line ? "validation" : "train";
            c->colour = i;
            c->dash = line;
            for (size_t k = 0; k < c->n; k++) /* none covers another */
                c->y[k] *= 1 + 0.01 * (2 * i + line);
        }
    figure_finish(f);
    return p;
}

static void colours_and_dashes_are_said_once(void)
{
    struct figure f = FIGURE_INIT;
    struct panel *p = runs(&f, 3);
    bool apart = true;

    ok(p->n_owners == 3 && p->n_entries == 5 &&
           strcmp(p->entry[3].label, "train") == 0 &&
           p->entry[3].colour == COLOUR_GREY,
       "three runs with two lines each have five entries");
    ok(p->owners == OWNERS_AT_ENDS,
       "three runs are named at the ends of their lines");
    for (size_t i = 0; i < 3; i++)
        for (size_t k = 0; k < i; k++)
            apart = apart && fabs(p->entry[i].end - p->entry[k].end) > 0.03;
    ok(apart, "names at the ends of equal lines do not overlap");
    figure_free(&f);
    f = FIGURE_INIT;
    p = runs(&f, 7);
    ok(p->owners == OWNERS_LISTED && p->n_entries == 9,
       "seven runs are named in the legend");
    figure_free(&f);
    f = FIGURE_INIT;
    f.look.theme = THEME_MONO;
    p = runs(&f, 3);
    ok(p->n_entries == 6, "without colours, each curve has its entry");
    figure_free(&f);
    f = FIGURE_INIT;
    p = runs(&f, 18);
    ok(p->n_entries == 13 && strcmp(p->entry[10].label, "and 8 more") == 0,
       "a legend names ten of eighteen runs and counts the others");
    figure_free(&f);
}

/* How many points of curves, and of what is magnified, does the inset cover? */
static int count_behind(const struct panel *p)
{
    const double bottom = axis_place(&p->y, p->inset_y.lo);
    int behind = 0;

    for (size_t i = 0; i < p->n_curves; i++)
        for (size_t k = 0; k < p->curve[i].n; k++) {
            const double x = axis_place(&p->x, p->curve[i].x[k]);
            const double y = axis_place(&p->y, p->curve[i].y[k]);

            behind += x > p->inset.x0 && x < p->inset.x1 && y > p->inset.y0 &&
                      y < p->inset.y1;
        }
    return behind + (bottom > p->inset.y0 && bottom < p->inset.y1);
}

static void an_inset_hides_nothing(void)
{
    double (*const shapes[])(double) = { falling, level, everywhere };

    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        struct figure f = FIGURE_INIT;
        struct panel *p = figure_panel(&f, "Loss");

        p->inset_lo = 400;
        p->inset_hi = 500;
        add_curve(&f, p, "train", shapes[i]);
        figure_finish(&f);
        ok(count_behind(p) == 0 && count_covered(&f, p) == 0,
           "an inset hides nothing of curve %zu", i + 1);
        figure_free(&f);
    }
}

static void panels_are_aligned(void)
{
    struct figure f = FIGURE_INIT;
    struct layout l[5];

    for (int i = 0; i < 5; i++) {
        struct panel *p = figure_panel(&f, "Loss");
        struct curve *c = add_curve(&f, p, "train", falling);

        for (size_t k = 0; k < c->n; k++)
            c->y[k] *= i < 3 ? 1 : 12345.678;
    }
    f.cols = 3;
    f.rows = 2;
    figure_finish(&f);
    for (size_t i = 0; i < 5; i++)
        layout_panel(&l[i], &f, i);
    ok(fabs(l[0].plot.y0 - l[2].plot.y0) < 1e-9 &&
           fabs(l[3].plot.y1 - l[4].plot.y1) < 1e-9,
       "the axes of a row are aligned");
    ok(fabs(l[2].plot.x1 - l[4].plot.x1) < 1e-9 &&
           l[4].plot.x1 - l[4].plot.x0 > 1.3 * (l[2].plot.x1 - l[2].plot.x0),
       "two panels fill a row of three");
    f.cols = 1;
    f.rows = 5;
    for (size_t i = 0; i < 5; i++)
        layout_panel(&l[i], &f, i);
    ok(fabs(l[0].plot.x0 - l[4].plot.x0) < 1e-9,
       "the axes of a column are aligned, whatever their labels");
    figure_free(&f);
}

static void a_legend_leaves_room_for_curves(void)
{
    struct figure f = FIGURE_INIT;
    struct layout l;
    struct panel *p;

    f.look.width = 170;
    f.look.height = 128;
    f.look.font_size = 8;
    p = runs(&f, 18);
    layout_panel(&l, &f, 0);
    ok(l.plot.y1 - l.plot.y0 > 0.4,
       "a legend of eighteen runs leaves %g of a small figure to the curves",
       l.plot.y1 - l.plot.y0);
    ok(p->n_hidden > 8 &&
           strncmp(p->entry[p->n_owners - 1].label, "and ", 4) == 0,
       "a small legend counts more runs than it names: %s",
       p->entry[p->n_owners - 1].label);
    figure_free(&f);
}

static void texts_are_as_wide_as_their_letters(void)
{
    ok(figure_text_width("0000") > 1.5 * figure_text_width("illi"),
       "digits are wider than thin letters");
    ok(figure_text_width("C\xe2\x81\xbb\xe2\x81\xb0") <
           figure_text_width("C-0") + 0.1,
       "an exponent is as wide as a small number");
}

int main(void)
{
    texts_are_as_wide_as_their_letters();
    nothing_is_covered();
    room_is_made_above();
    colours_and_dashes_are_said_once();
    a_legend_leaves_room_for_curves();
    an_inset_hides_nothing();
    panels_are_aligned();
    return done_testing();
}
