/*
 * fig_schedule - the learning rate that settings files give
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/path.h"
#include "common/spawn.h"
#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "store/analysis/planned_rates.h"

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

static struct opt_list sets;

/* Only gtrain knows what settings mean. */
static int ask_gtrain(struct buf *out, const char *conf, struct err *e)
{
    char *gtrain = spawn_find("gtrain", e);
    const char *const fixed[] = { gtrain,       "plan",  "--only=schedule",
                                  "--points=0", "--tsv", conf };
    const size_t n = sizeof fixed / sizeof fixed[0];
    const char **argv = xcalloc(n + 2 * sets.n + 1, sizeof *argv);
    struct buf words = BUF_INIT;
    struct spawn s = { .out = out, .words = &words, .secs = 60 };
    int ret;

    memcpy(argv, fixed, sizeof fixed);
    for (size_t i = 0; i < sets.n; i++) {
        argv[n + 2 * i] = "--set";
        argv[n + 2 * i + 1] = sets.item[i];
    }
    ret = gtrain ? spawn_run(argv, &s, e)
                 : err_wrap(e, "cannot ask gtrain for the schedule");
    free(argv);
    if (ret < 0 && s.status == 3)
        e->kind = ERR_MISSING;
    else if (ret < 0 && s.status == 2)
        e->kind = ERR_USAGE;
    buf_clear(&words);
    free(gtrain);
    return ret;
}

/* Draw the rates in lines, which it changes. */
static int draw_rates(struct build *b, const char *label, char *lines,
                      struct err *e)
{
    struct panel *p = b->figure->panel[b->figure->n_panels - 1];
    struct planned_rates r;
    struct curve *c;
    int ret = 0;

    planned_rates_read(&r, lines);
    if (r.n == 0) {
        planned_rates_clear(&r);
        return err_set(e, ERR_INPUT, "gtrain printed no schedule for %s",
                       label);
    }
    c = panel_curve(b->figure, p, label, r.n);
    c->run = c->label;
    c->colour = (int)p->n_curves - 1;
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
    planned_rates_clear(&r);
    return ret;
}

/* Draw the rates of each cell of a sweep, whose name begins its lines. */
static int draw_cells(struct build *b, char *text, struct err *e)
{
    struct buf cell = BUF_INIT;
    const char *last = NULL;
    char *line;
    int ret = 0;

    strsep(&text, "\n"); /* the names of the columns */
    while (ret == 0 && (line = strsep(&text, "\n")) && *line) {
        const char *name = strsep(&line, "\t");

        if (last && strcmp(name, last) != 0) {
            ret = draw_rates(b, last, cell.s, e);
            buf_trim(&cell, 0);
        }
        buf_printf(&cell, "%s\n", line ? line : "");
        last = name;
    }
    if (ret == 0 && last)
        ret = draw_rates(b, last, cell.s, e);
    buf_clear(&cell);
    return ret;
}

static int draw_conf(struct build *b, const char *conf, struct err *e)
{
    struct buf out = BUF_INIT;
    int ret = ask_gtrain(&out, conf, e);

    if (ret == 0)
        ret = strncmp(out.s, "cell\t", 5) == 0
                  ? draw_cells(b, out.s, e)
                  : draw_rates(b, path_name(conf), out.s, e);
    buf_clear(&out);
    return ret;
}

static int build_schedule(struct build *b, struct err *e)
{
    struct panel *p = figure_panel(b->figure, "Learning rate, planned");

    axis_init(&p->y, "learning rate", UNIT_NONE);
    p->y.from_zero = true;
    p->y.scale = SCALE_LINEAR; /* a schedule that ends near 0 keeps its shape */
    request_axes(b->request, p);
    table_clear(b->summary);
    *b->summary = TABLE_INIT("gplot.schedule/1");
    table_columns(b->summary, "settings", "highest", "at step", "last",
                  "last step", NULL);
    for (int i = 0; i < b->n; i++)
        if (draw_conf(b, b->words[i], e) < 0)
            return -1;
    return 0;
}

static const struct opt schedule_opts[] = {
    COMMON_OPTS,
    { 's', "set", "key=value", OPT_LIST, &sets,
      "change a setting; may be given many times" },
    AXIS_OPTS,
    SKIP_OPT,
    LOOK_OPTS,
    OUT_OPTS,
    { 0 }
};

static const struct figure_type schedule = { build_schedule, 1,
                                             "a settings file is" };

const struct cmd fig_schedule = {
    .name = "schedule",
    .args = "CONF...",
    .help = "draw the learning rate that settings files give",
    .opts = schedule_opts,
    .run = figure_main,
    .arg = &schedule,
};
