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
static int ask_gtrain(struct planned_rates *r, const char *conf, struct err *e)
{
    char *gtrain = spawn_find("gtrain", e);
    const char *const fixed[] = { gtrain,       "plan",  "--only=schedule",
                                  "--points=0", "--tsv", conf };
    const size_t n = sizeof fixed / sizeof fixed[0];
    const char **argv = xcalloc(n + 2 * sets.n + 1, sizeof *argv);
    struct buf out = BUF_INIT, words = BUF_INIT;
    struct spawn s = { .out = &out, .words = &words, .secs = 60 };
    int ret;

    *r = (struct planned_rates){ 0 };
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
    if (ret == 0)
        planned_rates_read(r, out.s);
    if (ret == 0 && r->n == 0)
        ret = err_set(e, ERR_INPUT, "gtrain printed no schedule for %s", conf);
    buf_clear(&out);
    buf_clear(&words);
    free(gtrain);
    return ret;
}

static int draw_conf(struct build *b, struct panel *p, int index, struct err *e)
{
    const char *conf = b->words[index];
    struct planned_rates r;
    struct curve *c;
    int ret = ask_gtrain(&r, conf, e);

    if (ret == 0) {
        c = panel_curve(b->figure, p, path_name(conf), r.n);
        c->run = c->label;
        c->colour = index;
        c->n = 0;
        for (size_t i = 0; i < r.n; i++)
            if (r.step[i] > (double)b->request->skip - 1) {
                c->x[c->n] = r.step[i];
                c->y[c->n++] = r.rate[i];
            }
        if (c->n == 0)
            ret = err_set(e, ERR_MISSING, "--skip leaves no step of %s", conf);
        else
            add_row(b->summary, c);
    }
    planned_rates_clear(&r);
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
        if (draw_conf(b, p, i, e) < 0)
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
