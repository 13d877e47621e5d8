#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/stats/scaling_law.h"
#include "common/utf8.h"
#include "plot/curve_kind.h"
#include "plot/draw/axis.h"
#include "plot/draw/figure.h"
#include "plot/draw/figure_finish.h"
#include "plot/draw/gnuplot.h"
#include "plot/draw/term.h"
#include "plot/curves.h"
#include "plot/request.h"
#include "plot/smooth.h"
#include "t/lib/tap.h"

/*
 * Colours.  Dichromats as Machado, Oliveira and Fernandes (2009) simulate
 * them, in linear RGB; distances are those of CIELAB (1976), D65.
 */
/* clang-format off */
static const double sights[][3][3] = {
    { { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } },
    { { 0.152286, 1.052583, -0.204868 }, { 0.114503, 0.786281, 0.099216 },
      { -0.003882, -0.048116, 1.051998 } },
    { { 0.367322, 0.860646, -0.227968 }, { 0.280085, 0.672501, 0.047413 },
      { -0.011820, 0.042940, 0.968881 } },
    { { 1.255528, -0.076749, -0.178779 }, { -0.078411, 0.930809, 0.147602 },
      { 0.004733, 0.691367, 0.303900 } },
};
static const char *const sight_names[] = { "normal sight", "protanopia",
                                           "deuteranopia", "tritanopia" };
/* clang-format on */

static double bend(double t)
{
    return t > 0.008856 ? cbrt(t) : 7.787 * t + 16.0 / 116;
}

static void lab(uint32_t rgb, const double sight[3][3], double out[3])
{
    double linear[3], seen[3], x, y, z;

    for (int i = 0; i < 3; i++) {
        const double c = (double)(rgb >> (16 - 8 * i) & 0xFF) / 255;

        linear[i] = c <= 0.04045 ? c / 12.92 : pow((c + 0.055) / 1.055, 2.4);
    }
    for (int i = 0; i < 3; i++) {
        seen[i] = sight[i][0] * linear[0] + sight[i][1] * linear[1] +
                  sight[i][2] * linear[2];
        seen[i] = fmin(fmax(seen[i], 0), 1);
    }
    x = 0.4124564 * seen[0] + 0.3575761 * seen[1] + 0.1804375 * seen[2];
    y = 0.2126729 * seen[0] + 0.7151522 * seen[1] + 0.0721750 * seen[2];
    z = 0.0193339 * seen[0] + 0.1191920 * seen[1] + 0.9503041 * seen[2];
    out[0] = 116 * bend(y) - 16;
    out[1] = 500 * (bend(x / 0.95047) - bend(y));
    out[2] = 200 * (bend(y) - bend(z / 1.08883));
}

static double nearest(enum theme theme, const double sight[3][3])
{
    double least = INFINITY;

    for (int i = 0; i < PALETTE_COLOURS; i++) {
        for (int k = 0; k < i; k++) {
            double a[3], b[3];

            lab(palette_curve(theme, i), sight, a);
            lab(palette_curve(theme, k), sight, b);
            least = fmin(least, sqrt((a[0] - b[0]) * (a[0] - b[0]) +
                                     (a[1] - b[1]) * (a[1] - b[1]) +
                                     (a[2] - b[2]) * (a[2] - b[2])));
        }
    }
    return least;
}

static void colours_can_be_told_apart(void)
{
    for (enum theme t = THEME_LIGHT; t <= THEME_DARK; t++) {
        for (int i = 0; i < 4; i++) {
            const double d = nearest(t, sights[i]);

            /* 2.3 is the least difference that is noticed */
            ok(d > 20, "%s: any two colours differ by %.1f with %s",
               palette_of(t)->name, d, sight_names[i]);
        }
    }
    for (enum theme t = THEME_LIGHT; t < THEMES; t++) {
        double least = INFINITY;

        for (int i = 0; i < PALETTE_COLOURS; i++)
            least = fmin(least, palette_contrast(palette_curve(t, i),
                                                 palette_of(t)->ground));
        ok(least >= 3, "%s: curves have a contrast of %.2f to the ground",
           palette_of(t)->name, least);
        least = INFINITY;
        for (int i = 0; i <= 10; i++)
            least = fmin(
                least,
                palette_contrast(palette_curve(t, palette_ramp_slot(i / 10.0)),
                                 palette_of(t)->ground));
        ok(least >= 1.5, "%s: a ramp has a contrast of %.2f to the ground",
           palette_of(t)->name, least);
        ok(palette_contrast(palette_of(t)->text, palette_of(t)->ground) >= 7 &&
               palette_contrast(palette_of(t)->grey, palette_of(t)->ground) >=
                   4.5,
           "%s: the text has enough contrast", palette_of(t)->name);
    }
    ok(fabs(palette_contrast(0, 0xFFFFFF) - 21) < 1e-9,
       "black on white is a contrast of 21");
    for (int i = 0, good = 1; i <= 100; i++) {
        const uint32_t c = palette_ramp(THEME_LIGHT, i / 100.0);

        good = good && palette_contrast(c, palette_on(c)) >= 4.5;
        if (i == 100)
            ok(good, "numbers have enough contrast on every colour of a map");
    }
    ok(palette_dash(THEME_LIGHT, 3, 0) == 0 &&
           palette_dash(THEME_LIGHT, 11, 0) == 1,
       "the ninth curve is dashed");
}

/*
 * Axes
 */

/* The labels of an axis, with blanks between. */
static const char *labels(double lo, double hi, enum unit unit,
                          enum scale scale, int most, struct arena *mem)
{
    struct buf b = BUF_INIT;
    struct axis a;
    const char *text;

    axis_init(&a, "x", unit);
    a.scale = scale;
    a.lo = lo;
    a.hi = hi;
    axis_ticks(&a, mem, most);
    for (size_t i = 0; i < a.n_ticks; i++)
        if (*a.tick[i].label)
            buf_printf(&b, "%s%s", b.len ? " " : "", a.tick[i].label);
    if (strcmp(a.shown, "x") != 0)
        buf_printf(&b, " %s", a.shown);
    text = arena_strdup(mem, b.s);
    buf_clear(&b);
    return text;
}

/* However small the figure is, two labels tell how far a value is. */
static void two_labels(void)
{
    static const enum scale scales[] = { SCALE_LINEAR, SCALE_LOG };
    struct arena mem = { 0 };
    int axes = 0, bad = 0;

    for (size_t s = 0; s < 2; s++)
        for (double lo = 1e-4; lo < 1e4; lo *= 1.37)
            for (double ratio = 1.01; ratio < 1e5; ratio *= 1.23)
                for (int most = 2; most < 6; most++) {
                    const char *l = labels(lo, lo * ratio, UNIT_NONE, scales[s],
                                           most, &mem);

                    axes++;
                    if (strchr(l, ' '))
                        continue;
                    if (bad++ < 3)
                        diag("%g to %g, scale %d, %d ticks: %s", lo, lo * ratio,
                             (int)scales[s], most, l);
                }
    ok(axes > 1000 && bad == 0, "an axis has two labels at least");
    arena_clear(&mem);
}

static void ticks_are_round(void)
{
    static const struct {
        double lo, hi;
        enum unit unit;
        enum scale scale;
        int most;
        const char *wanted;
    } cases[] = {
        { 0, 10, UNIT_NONE, SCALE_LINEAR, 5, "0 2 4 6 8 10" },
        { 3.05, 4.25, UNIT_NONE, SCALE_LINEAR, 6, "3.2 3.4 3.6 3.8 4.0 4.2" },
        { 0, 6.1e-4, UNIT_NONE, SCALE_LINEAR, 4, "0 2e-4 4e-4 6e-4" },
        { 0, 1e-3, UNIT_NONE, SCALE_LINEAR, 4, "0 2.5e-4 5e-4 7.5e-4 1e-3" },
        { 0, 0.3, UNIT_NONE, SCALE_LINEAR, 3, "0 0.1 0.2 0.3" },
        { -1, 1, UNIT_NONE, SCALE_LINEAR, 4, "-1.0 -0.5 0 0.5 1.0" },
        { 0, 2000, UNIT_COUNT, SCALE_LINEAR, 4, "0 500 1000 1500 2000" },
        { 0, 1e5, UNIT_COUNT, SCALE_LINEAR, 5, "0 20k 40k 60k 80k 100k" },
        { 0, 2.5e9, UNIT_COUNT, SCALE_LINEAR, 5, "0 0.5B 1B 1.5B 2B 2.5B" },
        { 0, 3, UNIT_COUNT, SCALE_LINEAR, 8, "0 1 2 3" },
        { 0, 80 * 0x1p30, UNIT_BYTES, SCALE_LINEAR, 4,
          "0 20 40 60 80 x (GiB)" },
        { 0, 512 * 0x1p20, UNIT_BYTES, SCALE_LINEAR, 3, "0 200 400 x (MiB)" },
        { 0, 7200 * 3, UNIT_SECONDS, SCALE_LINEAR, 6, "0 1 2 3 4 5 6 x (h)" },
        { 0, 3000, UNIT_SECONDS, SCALE_LINEAR, 6, "0 10 20 30 40 50 x (min)" },
        { 0.25, 0.32, UNIT_FRACTION, SCALE_LINEAR, 4, "26 28 30 32 x (%)" },
        { 1e-5, 1e-2, UNIT_NONE, SCALE_LOG, 4, "1e-5 1e-4 1e-3 0.01" },
        { 2.5, 12, UNIT_NONE, SCALE_LOG, 5, "3 5 7 10" },
        { 1, 2, UNIT_NONE, SCALE_LOG, 5, "1.0 1.2 1.4 1.6 1.8 2.0" },
    };
    struct arena mem = { 0 };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *got = labels(cases[i].lo, cases[i].hi, cases[i].unit,
                                 cases[i].scale, cases[i].most, &mem);

        if (!ok(strcmp(got, cases[i].wanted) == 0, "%g to %g: %s", cases[i].lo,
                cases[i].hi, cases[i].wanted))
            diag("got %s", got);
    }
    arena_clear(&mem);
}

static void scales_follow_values(void)
{
    const double flat[] = { 3, 4, 5, 6 }, wide[] = { 1, 10, 100, 1000 };
    const double zero[] = { 0, 10, 100, 100000 };
    const double rates[] = { 1e-4, 3e-4, 1e-3, 3e-3 };
    const double even[] = { 100, 200, 300, 400 };
    struct axis a;

    axis_init(&a, "x", UNIT_NONE);
    axis_scale(&a, flat, 4);
    ok(a.scale == SCALE_LINEAR, "values of one magnitude are drawn linearly");
    axis_init(&a, "x", UNIT_NONE);
    axis_scale(&a, wide, 4);
    ok(a.scale == SCALE_LOG, "three decades are drawn logarithmically");
    axis_init(&a, "x", UNIT_NONE);
    axis_scale(&a, zero, 4);
    ok(a.scale == SCALE_LINEAR,
       "values with a zero among them are drawn linearly");
    ok(axis_geometric(rates, 4) && !axis_geometric(even, 4),
       "1, 3, 10, 30 are geometric, 1, 2, 3, 4 are not");
}

/*
 * Smoothing
 */

/* Of every width, and beside a spike that dwarfs the rest. */
static void moving_means_are_exact(void)
{
    enum { N = 23 };
    double in[N], out[N], off = 0;

    for (int i = 0; i < N; i++)
        in[i] = i == 5 ? 1e25 : i == 9 ? (double)NAN : i * i % 7 + 1;
    for (int width = 1; width < 2 * N + 2; width++) {
        const struct smooth s = { SMOOTH_MA, width };

        smooth_apply(&s, in, out, N);
        for (int i = 0; i < N; i++) {
            double sum = 0, n = 0;

            for (int k = i - (width - 1) / 2; k <= i + width / 2; k++)
                if (k >= 0 && k < N && isfinite(in[k]))
                    sum += in[k], n++;
            if (i != 9)
                off = fmax(off, fabs(out[i] - sum / n) / (sum / n));
        }
    }
    ok(off < 1e-14, "a moving mean depends only on its window");
}

/* Of the points up to four sigma away, each by itself. */
static double gaussian_mean(const double *in, int n, int at, double sigma)
{
    double sum = 0, total = 0;

    for (int i = at - (int)(4 * sigma); i <= at + (int)(4 * sigma); i++) {
        const double w = exp(-0.5 * pow((i - at) / sigma, 2));

        if (i >= 0 && i < n && isfinite(in[i])) {
            sum += w * in[i];
            total += w;
        }
    }
    return sum / total;
}

/* A million points wide, which takes minutes if it is done point by point. */
static void wide_gaussians_are_fast(void)
{
    enum { N = 100000 };
    double *in = xcalloc(N, sizeof *in), *out = xcalloc(N, sizeof *out);
    double most = 0, off = 0, exact;

    for (int i = 0; i < N; i++)
        in[i] = i == 7 ? (double)NAN : i % 1000;
    smooth_apply(&(struct smooth){ SMOOTH_GAUSS, 1e6 }, in, out, N);
    for (int i = N / 10; i < N; i++)
        most = fmax(most, fabs(out[i] - 499.5));
    ok(most < 5, "a Gaussian of a million points is a mean of very many");
    ok(fabs(out[0]) < 1e-9 && fabs(out[30] - 30) < 1,
       "a Gaussian is narrow at the first points");
    smooth_apply(&(struct smooth){ SMOOTH_GAUSS, 100 }, in, out, N);
    for (int i = 300; i < N; i += 7)
        off = fmax(off, fabs(out[i] - gaussian_mean(in, N, i, 100)));
    ok(off < 0.3, "a Gaussian by blocks is the sum over points: %g of 999",
       off);
    exact = out[50500];
    in[50500] = 1e9;
    smooth_apply(&(struct smooth){ SMOOTH_GAUSS, 100 }, in, out, N);
    ok(fabs(out[50500] - exact) < 0.5,
       "a spike of one step does not become a hill");
    free(in);
    free(out);
}

static void smoothing_is_right(void)
{
    const double in[] = { 1, 2, (double)NAN, 4, 5 };
    const double flat[] = { 7, 7, 7, 7, 7 };
    struct smooth s;
    double out[5];

    ok(smooth_parse("ema:0.5", &s) && s.kind == SMOOTH_EMA, "ema:0.5 is read");
    smooth_apply(&s, in, out, 5);
    ok(fabs(out[0] - 1) < 1e-12,
       "an exponential mean begins with the first value");
    /* (0.25*1 + 0.5*2) / 0.75, then with 4, then with 5 */
    ok(fabs(out[1] - (0.25 * 1 + 0.5 * 2) / 0.75) < 1e-12 && isnan(out[2]) &&
           fabs(out[3] - (0.125 * 1 + 0.25 * 2 + 0.5 * 4) / 0.875) < 1e-12 &&
           fabs(out[4] - (0.0625 + 0.125 * 2 + 0.25 * 4 + 0.5 * 5) / 0.9375) <
               1e-12,
       "an exponential mean corrects its start and skips gaps");
    for (int i = 0; i < 3; i++) {
        static const char *const how[] = { "ema:0.9", "ma:3", "gauss:1.5" };
        double off = 0;

        smooth_parse(how[i], &s);
        smooth_apply(&s, flat, out, 5);
        for (int k = 0; k < 5; k++)
            off = fmax(off, fabs(out[k] - 7));
        ok(off < 1e-12, "%s leaves a level line unchanged to its ends", how[i]);
    }
    smooth_parse("ma:3", &s);
    smooth_apply(&s, in, out, 5);
    ok(fabs(out[0] - 1.5) < 1e-12 && fabs(out[1] - 1.5) < 1e-12 &&
           fabs(out[3] - 4.5) < 1e-12,
       "a moving mean is centred");
    moving_means_are_exact();
    wide_gaussians_are_fast();
    ok(!smooth_parse("ema:1", &s) && !smooth_parse("ema:", &s) &&
           !smooth_parse("ma:0", &s) && !smooth_parse("spline:3", &s),
       "an unknown smoothing is refused");
}

/*
 * Thinning
 */

static void spikes_survive(void)
{
    enum { N = 1000000, COLUMNS = 1000 };
    struct arena mem = { 0 };
    struct figure f = FIGURE_INIT;
    struct panel *p = figure_panel(&f, NULL);
    struct curve *c = panel_curve(&f, p, "c", N);
    bool high = false, low = false, gap = false, sorted = true;

    for (int i = 0; i < N; i++) {
        c->x[i] = i;
        c->y[i] = i % 7;
    }
    c->y[123456] = 1e6;
    c->y[654321] = -1e6;
    for (int i = 400000; i < 405000; i++)
        c->y[i] = NAN;
    p->x.lo = 0;
    p->x.hi = N - 1;
    thin_curve(c, &p->x, COLUMNS, &mem);
    ok(c->n <= 4 * COLUMNS + 4 && c->n > COLUMNS,
       "a million points are reduced to %zu", c->n);
    for (size_t i = 0; i < c->n; i++) {
        high =
            high || (c->x[i] >= 123456 && c->x[i] <= 123456 && c->y[i] > 9e5);
        low = low || c->y[i] < -9e5;
        gap = gap || isnan(c->y[i]);
        sorted = sorted && (i == 0 || c->x[i] > c->x[i - 1]);
    }
    ok(high && low, "a spike of one step is kept in both directions");
    ok(gap, "a gap between points is kept");
    ok(sorted, "the order of points is kept");
    figure_free(&f);
    arena_clear(&mem);
}

static void crowds_become_bands(void)
{
    enum { N = 100000, COLUMNS = 1000 };
    struct arena mem = { 0 };
    struct figure f = FIGURE_INIT;
    struct panel *p = figure_panel(&f, NULL);
    struct curve *c = panel_curve(&f, p, "c", N), few = *c;
    double most = 0, off = 0;

    for (int i = 0; i < N; i++) {
        c->x[i] = i;
        c->y[i] = 5 + i % 2;
    }
    c->y[12345] = 100;
    p->x.lo = 0;
    p->x.hi = N - 1;
    few.n = COLUMNS;
    ok(!thin_crowd(&few, &p->x, COLUMNS, &mem) && few.n == COLUMNS,
       "a point in each column is no crowd");
    ok(thin_crowd(c, &p->x, COLUMNS, &mem) && c->crowd && c->n <= COLUMNS + 1 &&
           c->lo && c->hi,
       "a hundred points in each column become a band");
    for (size_t i = 0; i + 1 < c->n; i++) {
        most = fmax(most, c->hi[i]);
        off = fmax(off, c->hi[i] > 6 ? 0 : fabs(c->y[i] - 5.5));
    }
    ok(most >= 100, "a band holds a spike of one step");
    ok(off < 0.01, "the line in a band is the mean of each column");
    figure_free(&f);
    arena_clear(&mem);
}

/*
 * Figures
 */

static void long_names_keep_their_ends(void)
{
    struct figure f = FIGURE_INIT;
    struct panel *p = figure_panel(&f, "Loss");
    char label[256];
    const char *const end =
        utf8_locale() ? "\xe2\x80\xa6, validation" : "~, validation";
    const char *cut;
    struct curve *c;

    memset(label, 'n', sizeof label);
    strncpy(label + 200, ", validation", sizeof label - 200);
    c = panel_curve(&f, p, label, 2);
    for (int i = 0; i < 2; i++)
        c->x[i] = c->y[i] = i;
    figure_finish(&f);
    cut = strstr(c->label, end);
    ok(cut && cut[strlen(end)] == '\0' && strlen(c->label) < 150,
       "a long label is shortened and stays distinct: %s", c->label);
    figure_free(&f);
}

/* The program of a figure whose names are of every kind. */
static void program_of(const char *form, struct buf *b)
{
    struct figure f = FIGURE_INIT;
    struct panel *p = figure_panel(&f, "a_b^{c}@~&\"'\\%`id`\n#$");
    struct curve *c = panel_curve(&f, p, "`rm -rf /` 'x'", 3);

    for (int i = 0; i < 3; i++) {
        c->x[i] = i;
        c->y[i] = i == 1 ? (double)NAN : i;
    }
    figure_finish(&f);
    gnuplot_script(&f, 1, gnuplot_form(form), NULL, b);
    figure_free(&f);
}

static void names_are_drawn_literally(void)
{
    struct buf b = BUF_INIT;

    program_of("png", &b);
    ok(strstr(b.s, " noenhanced "), "the enhanced text of gnuplot is off");
    ok(strstr(b.s, "'a_b^{c}@~&\"''\\%`id` #$'"),
       "a name is written between single quotes");
    ok(strstr(b.s, "'`rm -rf /` ''x'''"),
       "a name in the legend is written between single quotes");
    ok(strstr(b.s, "0 0\n\n2 2\nEOD"),
       "a NaN becomes an empty line, which is a gap");
    buf_clear(&b);
    program_of("tex", &b);
    ok(strstr(b.s, "a\\_b\\textasciicircum{}\\{c\\}@\\textasciitilde{}\\&"
                   "\\textquotedbl{}\\textquotesingle{}\\textbackslash{}\\%"
                   "\\textasciigrave{}id\\textasciigrave{} \\#\\$"),
       "a name is escaped for LaTeX");
    buf_clear(&b);
}

static void pages_escape(void)
{
    struct buf b = BUF_INIT;

    html_page(&b, "<b>&\"", false, "<?xml?><!DOCTYPE x><svg a='1'></svg>");
    ok(strstr(b.s, "<title>&lt;b&gt;&amp;&quot;</title>"),
       "the title of a page is escaped");
    ok(strstr(b.s, "<body>\n<svg a='1'></svg></body>"),
       "the figure of a page has no XML header");
    buf_clear(&b);
}

static void terminals_get_characters(void)
{
    const struct term_look look = { 60, 12, false, true, false };
    const struct term_look plain = { 60, 12, false, false, false };
    struct figure f = FIGURE_INIT;
    struct panel *p = figure_panel(&f, "\033[31mevil");
    struct curve *c = panel_curve(&f, p, "run1", 50);
    struct buf b = BUF_INIT;
    bool ascii = true;

    for (int i = 0; i < 50; i++) {
        c->x[i] = i;
        c->y[i] = i;
    }
    figure_finish(&f);
    term_draw(&f, &look, &b);
    ok(strstr(b.s, "\xe2\xa0") || strstr(b.s, "\xe2\xa1") ||
           strstr(b.s, "\xe2\xa2") || strstr(b.s, "\xe2\xa3"),
       "lines in a terminal are braille characters");
    ok(!strchr(b.s, '\033'), "control characters in a name are not printed");
    buf_clear(&b);
    term_draw(&f, &plain, &b);
    for (size_t i = 0; i < b.len; i++)
        ascii = ascii && (unsigned char)b.s[i] < 128;
    ok(ascii && strstr(b.s, "-- run1"),
       "lines in an ASCII terminal are ASCII characters");
    buf_clear(&b);
    figure_free(&f);
}

/*
 * Statistics
 */

static void scaling_laws_are_found(void)
{
    enum { N = 6 };
    struct scaling_law law = { .variables = 1 };
    double x[N], y[N];

    for (int i = 0; i < N; i++) {
        x[i] = 1e18 * pow(10, i);
        y[i] = 1.7 + 3e4 * pow(x[i], -0.237);
    }
    ok(scaling_law_fit(&law, x, y, N, N) && fabs(law.floor - 1.7) < 1e-3 &&
           fabs(law.exponent[0] - 0.237) < 1e-3 && law.r2 > 0.999999,
       "a law above a floor is found: 1.7 + 3e4 x^-0.237");
    for (int i = 0; i < N; i++)
        y[i] = 120 * pow(x[i], -0.085);
    ok(scaling_law_fit(&law, x, y, N, N) && law.floor < 0.02 &&
           fabs(law.exponent[0] - 0.085) < 1e-3 &&
           fabs(scaling_law_at(&law, x) - y[0]) < 1e-3,
       "a power law has no floor: 120 x^-0.085");
    ok(!scaling_law_fit(&law, x, y, 2, 2) &&
           !scaling_law_fit(&law, (double[]){ 1, 0, 2, 3 }, y, 4, 4),
       "two points, or a model of no size, have no law");
}

static void statistics_are_right(void)
{
    const double v[] = { 2, 4, 4, 4, 5, 5, 7, 9 };
    double mean, lo, hi;

    curves_spread(BAND_STD, v, 8, &mean, &lo, &hi);
    ok(fabs(mean - 5) < 1e-12 && fabs(hi - mean - sqrt(32.0 / 7)) < 1e-12,
       "a group has mean and standard deviation");
    curves_spread(BAND_CI95, v, 8, &mean, &lo, &hi);
    ok(fabs(hi - mean - 2.3646242516 * sqrt(32.0 / 7 / 8)) < 1e-9,
       "the 95%% interval of a group is Student's");
    curves_spread(BAND_MINMAX, v, 8, &mean, &lo, &hi);
    ok(lo <= 2 && lo >= 2 && hi >= 9 && hi <= 9,
       "a group has the least and the greatest value");
    ok(curve_kind_high_is_good("hellaswag/acc_norm") &&
           !curve_kind_high_is_good("val/loss") &&
           curve_kind_high_is_good("mmlu_acc"),
       "the best accuracy is the highest, the best loss the lowest");
}

int main(void)
{
    colours_can_be_told_apart();
    ticks_are_round();
    two_labels();
    scales_follow_values();
    smoothing_is_right();
    spikes_survive();
    crowds_become_bands();
    long_names_keep_their_ends();
    names_are_drawn_literally();
    pages_escape();
    terminals_get_characters();
    scaling_laws_are_found();
    statistics_are_right();
    return done_testing();
}
