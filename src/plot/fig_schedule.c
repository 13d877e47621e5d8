/*
 * fig_schedule - the learning rate that settings files give
 *
 * `gtrain plan --only=schedule --tsv` computes it and prints a line for each
 * step, which begins with the step and the learning rate.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "common/path.h"
#include "common/spawn.h"
#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "plot/options.h"

static int ask_gtrain(const char *conf, struct buf *out, struct err *e)
{
    char *gtrain = spawn_find("gtrain", e);
    const char *const argv[] = { gtrain,       "plan",  "--only=schedule",
                                 "--points=0", "--tsv", conf,
                                 NULL };
    struct buf words = BUF_INIT;
    struct spawn s = { .out = out, .words = &words, .secs = 60 };
    int ret;

    if (!gtrain)
        return err_wrap(e, "cannot ask gtrain for the schedule");
    ret = spawn_run(argv, &s, e);
    if (ret < 0 && s.status == 3)
        e->kind = ERR_MISSING;
    else if (ret < 0 && s.status == 2)
        e->kind = ERR_USAGE;
    buf_clear(&words);
    free(gtrain);
    return ret;
}

static int draw_conf(struct build *b, struct panel *p, int index, struct err *e)
{
    const char *conf = b->words[index];
    struct table *t = b->summary;
    struct buf out = BUF_INIT;
    struct curve *c;
    size_t lines = 0, n = 0, top = 0;
    char text[32];

    if (ask_gtrain(conf, &out, e) < 0) {
        buf_clear(&out);
        return -1;
    }
    for (const char *s = out.s; *s; s++)
        lines += *s == '\n';
    c = panel_curve(b->figure, p, path_name(conf), lines);
    c->run = c->label;
    c->colour = index;
    for (char *s = out.s; *s;) {
        char *end = s + strcspn(s, "\n"), *tab = s + strcspn(s, "\t\n");
        double step, lr;

        if (*end)
            *end++ = '\0';
        if (*tab == '\t') {
            *tab++ = '\0';
            tab[strcspn(tab, "\t")] = '\0';
            if (num_real(s, &step) && num_real(tab, &lr) && n < lines &&
                step > (double)b->request->skip - 1) {
                c->x[n] = step;
                c->y[n++] = lr;
            }
        }
        s = end;
    }
    buf_clear(&out);
    c->n = n;
    if (n == 0)
        return err_set(e, ERR_INPUT, "gtrain printed no schedule for %s", conf);
    for (size_t i = 1; i < n; i++)
        if (c->y[i] > c->y[top])
            top = i;
    table_text(t, path_name(conf));
    table_text(t, axis_value(text, UNIT_NONE, c->y[top]));
    table_int(t, (int64_t)c->x[top]);
    table_text(t, axis_value(text, UNIT_NONE, c->y[n - 1]));
    table_int(t, (int64_t)c->x[n - 1]);
    return 0;
}

static int build_schedule(struct build *b, struct err *e)
{
    struct panel *p = figure_panel(b->figure, "Learning rate, planned");

    axis_init(&p->y, "learning rate", UNIT_NONE);
    p->y.from_zero = true;
    request_axes(b->request, p);
    table_clear(b->summary);
    *b->summary = (struct table)TABLE_INIT("gplot.schedule/1");
    table_columns(b->summary, "settings", "highest", "at step", "last",
                  "last step", NULL);
    for (int i = 0; i < b->n; i++)
        if (draw_conf(b, p, i, e) < 0)
            return -1;
    return 0;
}

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
