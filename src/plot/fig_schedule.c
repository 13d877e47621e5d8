/*
 * fig_schedule - the learning rate of trainings to come, from gtrain plan
 */
#include "config.h"

#include <string.h>

#include "common/buf.h"
#include "common/path.h"
#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "store/analysis/forecast_run.h"

enum { FILE_MAX = 1 << 28 };

/* A row below the figure: the highest and the last rate. */
static void add_row(struct table *t, const struct curve *c)
{
    size_t top = 0;
    char text[32];

    for (size_t i = 1; i < c->n; i++)
        if (c->y[i] > c->y[top])
            top = i;
    table_text(t, c->label);
    table_text(t, axis_value(text, UNIT_NONE, c->y[top]));
    table_int(t, (int64_t)c->x[top]);
    table_text(t, axis_value(text, UNIT_NONE, c->y[c->n - 1]));
    table_int(t, (int64_t)c->x[c->n - 1]);
}

/* Draw the rates in lines, which it changes. */
static int draw_rates(struct build *b, const char *label, char *lines,
                      struct err *e)
{
    struct panel *p = b->figure->panel[b->figure->n_panels - 1];
    AUTO(planned_rates_clear) struct planned_rates r = { 0 };
    struct curve *c;
    int ret = 0;

    planned_rates_read(&r, lines);
    if (r.n == 0)
        return err_input(e, "there are no learning rates of %s", label);
    c = panel_curve(b->figure, p, label, r.n);
    c->run = c->label;
    c->n = 0;
    for (size_t i = 0; i < r.n; i++)
        if (r.step[i] > (double)b->request->skip - 1) {
            c->x[c->n] = r.step[i];
            c->y[c->n++] = r.rate[i];
        }
    if (c->n == 0)
        ret = err_set(e, ERR_MISSING, "--skip leaves no step of %s", label);
    else
        add_row(b->summary, c);
    return ret;
}

/* Draw the rates of each model, whose name begins its lines. */
static int draw_models(struct build *b, char *text, struct err *e)
{
    AUTO(buf_clear) struct buf model = BUF_INIT;
    const char *last = NULL;
    char *line;
    int ret = 0;

    strsep(&text, "\n"); /* the names of the columns */
    while (ret == 0 && (line = strsep(&text, "\n")) && *line) {
        const char *name = strsep(&line, "\t");

        if (last && strcmp(name, last) != 0) {
            ret = draw_rates(b, last, model.s, e);
            buf_trim(&model, 0);
        }
        buf_printf(&model, "%s\n", line ? line : "");
        last = name;
    }
    if (ret == 0 && last)
        ret = draw_rates(b, last, model.s, e);
    return ret;
}

static int refuse(const char *path, struct err *e)
{
    AUTO(buf_clear) struct buf word = BUF_INIT;

    buf_shell_short(&word, path);
    err_input(e,
              "%s is not a table of learning rates; for those of settings, "
              "first type 'gtrain plan %s --only schedule --points 0 --tsv "
              ">FILE'",
              path, word.s);
    return -1;
}

static int draw_file(struct build *b, const char *path, struct err *e)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;

    if (buf_read_file(&text, path, FILE_MAX, e) < 0)
        return -1;
    if (strncmp(text.s, "step\t", 5) == 0)
        return draw_rates(b, path_name(path), text.s, e);
    if (strncmp(strchrnul(text.s, '\t'), "\tstep\t", 6) == 0)
        return draw_models(b, text.s, e);
    return refuse(path, e);
}

/* Draw equal rates, such as those of several seeds, once: "a and 3 more". */
static void draw_once(struct figure *f, struct panel *p)
{
    for (size_t i = 0; i < p->n_curves; i++) {
        struct curve *c = &p->curve[i], *o = c;
        const struct curve *end = p->curve + p->n_curves;
        size_t more = 0;

        for (const struct curve *k = c + 1; k < end; k++)
            if (k->n == c->n && !memcmp(k->x, c->x, c->n * sizeof *c->x) &&
                !memcmp(k->y, c->y, c->n * sizeof *c->y))
                more++;
            else
                *++o = *k;
        c->colour = (int)i;
        p->n_curves -= more;
        if (more)
            c->label = arena_printf(&f->mem, "%s and %zu more", c->label, more);
    }
}

static int build_schedule(struct build *b, struct err *e)
{
    struct panel *p = figure_panel(b->figure, "Learning rate, planned");

    axis_init(&p->y, "learning rate", UNIT_NONE);
    p->y.from_zero = true;
    p->y.scale = SCALE_LINEAR; /* a schedule that ends near 0 keeps its shape */
    request_axes(b->request, p);
    *b->summary = TABLE_INIT("gplot.schedule/1");
    table_columns(b->summary, "settings", "highest", "at step", "last",
                  "last step", NULL);
    for (int i = 0; i < b->n; i++)
        if (draw_file(b, b->words[i], e) < 0)
            return -1;
    draw_once(b->figure, p);
    return 0;
}

static const struct opt schedule_opts[] = { COMMON_OPTS, AXIS_OPTS, SKIP_OPT,
                                            LOOK_OPTS,   OUT_OPTS,  { 0 } };

const struct cmd fig_schedule = {
    .name = "schedule",
    .args = "FILE...",
    .help = "draw learning rates from gtrain plan --only schedule --tsv",
    .opts = schedule_opts,
    .run = figure_main,
    .arg = &(const struct figure_type){ build_schedule, 1, "a table is" },
};
