/*
 * fig_schedule - the learning rate that settings files give
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

/*
 * schedule - the learning rate of settings files, before any training
 *
 * The numbers are the trainer's: `gtrain plan --only=schedule --tsv` prints a
 * line a step, which begins "step TAB lr", and we draw them.
 */
static int ask(const char *conf, struct buf *out, struct err *e)
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

static int draw_conf(struct figure *f, struct panel *p, const char *conf,
                     size_t index, const struct request *r, struct table *t,
                     struct err *e)
{
    struct buf out = BUF_INIT;
    struct curve *c;
    size_t lines = 0, n = 0, top = 0;
    char text[32];

    if (ask(conf, &out, e) < 0) {
        buf_clear(&out);
        return -1;
    }
    for (const char *s = out.s; *s; s++)
        lines += *s == '\n';
    c = panel_curve(f, p, path_name(conf), lines);
    c->run = c->label;
    c->colour = (int)index;
    for (char *s = out.s; *s;) {
        char *end = s + strcspn(s, "\n"), *tab = s + strcspn(s, "\t\n");
        double step, lr;

        if (*end)
            *end++ = '\0';
        if (*tab == '\t') {
            *tab++ = '\0';
            tab[strcspn(tab, "\t")] = '\0';
            if (num_real(s, &step) && num_real(tab, &lr) && n < lines &&
                step > (double)r->skip - 1) {
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
    struct figure *f = b->figure;
    const struct request *r = b->request;
    struct table *summary = b->summary;
    static const char *const columns[] = { "settings", "highest", "at step",
                                           "last", "last step" };
    struct panel *p = figure_panel(f, "Learning rate, planned");

    if (b->n == 0)
        return err_set(e, ERR_USAGE,
                       "a settings file is expected: gplot schedule CONF...");
    axis_init(&p->y, "learning rate", UNIT_NONE);
    p->y.from_zero = true;
    request_axes(r, p);
    table_clear(summary);
    *summary = (struct table)TABLE_INIT("gplot.schedule/1");
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++)
        table_column(summary, columns[i]);
    for (int i = 0; i < b->n; i++)
        if (draw_conf(f, p, b->words[i], (size_t)i, r, summary, e) < 0)
            return -1;
    return 0;
}

static int schedule_main(int argc, char **argv, struct err *e)
{
    return figure_main(build_schedule, argc, argv, e);
}

const struct cmd cmd_schedule = {
    .name = "schedule",
    .args = "CONF...",
    .help = "draw the learning rate that settings files give",
    .opts = schedule_opts,
    .run = schedule_main,
};
