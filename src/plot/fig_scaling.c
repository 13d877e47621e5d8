/*
 * fig_scaling - loss against tokens or FLOPs, with a scaling law
 *
 * Both axes are logarithmic; the law is fitted to the best value of each run.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/stats/scaling_law.h"
#include "plot/curve_kind.h"
#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "plot/history.h"

struct ends {
    double *x, *y;
    size_t n;
};

/* A number as an exponent, in superscript. */
static void superscript(struct buf *b, double v)
{
    static const char *const digit[] = { "\xe2\x81\xb0", "\xc2\xb9",
                                         "\xc2\xb2",     "\xc2\xb3",
                                         "\xe2\x81\xb4", "\xe2\x81\xb5",
                                         "\xe2\x81\xb6", "\xe2\x81\xb7",
                                         "\xe2\x81\xb8", "\xe2\x81\xb9" };
    char text[32];

    snprintf(text, sizeof text, "%.3f", v);
    for (const char *s = text; *s; s++)
        buf_str(b, *s == '-'   ? "\xe2\x81\xbb"
                   : *s == '.' ? "\xc2\xb7"
                               : digit[*s - '0']);
}

static struct curve *draw_part(struct figure *f, struct panel *p,
                               const struct scaling_law *law, double lo,
                               double hi)
{
    enum { STEPS = 60 };
    struct curve *c = panel_curve(f, p, NULL, STEPS + 1);

    for (int i = 0; i <= STEPS; i++) {
        c->x[i] = lo * pow(hi / lo, (double)i / STEPS);
        c->y[i] = scaling_law_at(law, &c->x[i]);
    }
    c->colour = COLOUR_GREY;
    c->run = "fit";
    return c;
}

/* The law, from the first end to the last, and dashed for a quarter of a
 * decade on each side. */
static void draw_law(struct figure *f, struct panel *p,
                     const struct scaling_law *law, const struct ends *ends,
                     const char *symbol)
{
    double lo = INFINITY, hi = 0;
    AUTO(buf_clear) struct buf text = BUF_INIT;

    for (size_t i = 0; i < ends->n; i++) {
        lo = fmin(lo, ends->x[i]);
        hi = fmax(hi, ends->x[i]);
    }
    buf_str(&text, "L = ");
    if (law->floor > 0)
        buf_printf(&text, "%.3g + ", law->floor);
    buf_printf(&text, "%.3g %s", law->factor[0], symbol);
    superscript(&text, -law->exponent[0]);
    draw_part(f, p, law, lo, hi)->label = "scaling law";
    draw_part(f, p, law, lo / 1.8, lo)->dash = 1;
    draw_part(f, p, law, hi, hi * 1.8)->dash = 1;
    figure_note(f,
                "%s is fitted to the best loss of each run (circled), "
                "R\xc2\xb2 = %.4f; dashed where it is extrapolated.",
                text.s, law->r2);
}

static size_t find_best(const struct history *h)
{
    size_t best = h->n;

    for (size_t i = 0; i < h->n; i++)
        if (h->y[i] > 0 && h->x[i] > 0 && isfinite(h->y[i]) &&
            (best == h->n || h->y[i] < h->y[best]))
            best = i;
    return best;
}

static int draw_runs(struct build *b, struct panel *p, const struct request *r,
                     struct ends *ends, struct err *e)
{
    const struct curve_kind *loss = curve_kind_find("loss");
    struct table *t = b->summary;

    for (size_t i = 0; i < b->set.n; i++) {
        const char *name = b->set.name[i];
        const char *key = history_find(&b->set.run[i], loss->line[1].names);
        AUTO(history_free) struct history h = { 0 };
        struct curve *c;
        size_t best;

        if (!key)
            key = history_find(&b->set.run[i], loss->line[0].names);
        if (!key) {
            log_warn("%s has no loss and is left out", name);
            continue;
        }
        if (history_load(&h, &b->set.run[i], key, r, e) < 0)
            return -1;
        history_skip(&h, r->skip);
        c = history_curve(b->figure, p, name, &h);
        c->run = name;
        c->colour = b->set.slot[i];
        best = find_best(&h);
        if (best < h.n) {
            ends->x[ends->n] = h.x[best];
            ends->y[ends->n++] = h.y[best];
            panel_mark(p, MARK_AT_XY, h.x[best], h.y[best])->colour = c->colour;
            table_text(t, name);
            table_text(t, key);
            table_real(t, h.x[best]);
            table_real(t, h.y[best]);
        }
    }
    return ends->n ? 0 : err_set(e, ERR_MISSING, "no run has a loss to fit");
}

static void fit_law(struct figure *f, struct panel *p, const struct ends *ends,
                    enum along along)
{
    enum { LEAST = 4 }; /* three numbers are fitted */
    struct scaling_law law = { .variables = 1 };
    double *places = arena_alloc(&f->mem, ends->n * sizeof *places);

    memcpy(places, ends->x, ends->n * sizeof *places);
    if (num_unique(places, ends->n) < LEAST ||
        !scaling_law_fit(&law, ends->x, ends->y, ends->n, ends->n)) {
        log_warn("no scaling law is fitted: it needs four runs or more that "
                 "end at different places");
        return;
    }
    draw_law(f, p, &law, ends,
             along == ALONG_TOKENS  ? "D"
             : along == ALONG_FLOPS ? "C"
                                    : "x");
}

static int build_scaling(struct build *b, struct err *e)
{
    struct request r = *b->request;
    struct ends ends = { 0 };
    struct panel *p;
    int ret;

    if (!r.x)
        r.along = ALONG_FLOPS;
    if (figure_runs(b, 0, e) < 0)
        return -1;
    p = figure_panel(b->figure, "Scaling");
    history_axis(&r, &p->x);
    axis_init(&p->y, "loss (nats/token)", UNIT_NONE);
    request_axes(&r, p);
    if (p->x.scale == SCALE_AUTO)
        p->x.scale = SCALE_LOG;
    if (p->y.scale == SCALE_AUTO)
        p->y.scale = SCALE_LOG;
    *b->summary = TABLE_INIT("gplot.scaling/1");
    table_columns(b->summary, "run", "metric", p->x.label, "loss", NULL);
    ends.x = xcalloc(b->set.n + 1, sizeof *ends.x);
    ends.y = xcalloc(b->set.n + 1, sizeof *ends.y);
    ret = draw_runs(b, p, &r, &ends, e);
    if (ret == 0)
        fit_law(b->figure, p, &ends, r.along);
    FREE(ends.x, ends.y);
    return ret;
}

static const struct opt scaling_opts[] = { COMMON_OPTS, SWEEP_OPT, AXIS_OPTS,
                                           X_OPT,       SKIP_OPT,  LOOK_OPTS,
                                           OUT_OPTS,    { 0 } };

const struct cmd fig_scaling = {
    .name = "scaling",
    .args = "RUN...",
    .help = "draw the loss against FLOPs or tokens, with a scaling law",
    .opts = scaling_opts,
    .run = figure_main,
    .arg = &(const struct figure_type){ build_scaling, 1, "runs are", true },
};
