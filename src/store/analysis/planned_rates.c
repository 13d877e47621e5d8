#include "config.h"
#include "store/analysis/planned_rates.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/spawn.h"

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

/* A line begins with the step and the learning rate; the first is a heading. */
static void read_line(struct planned_rates *r, char *line)
{
    const char *step = strsep(&line, "\t"), *rate = strsep(&line, "\t");

    if (rate && num_real(step, &r->step[r->n]) &&
        num_real(rate, &r->rate[r->n]))
        r->n++;
}

int planned_rates(struct planned_rates *r, const char *conf, struct err *e)
{
    struct buf out = BUF_INIT;
    char *at, *line;
    size_t lines = 1;
    int ret;

    *r = (struct planned_rates){ 0 };
    ret = ask_gtrain(conf, &out, e);
    for (size_t i = 0; i < out.len; i++)
        lines += out.s[i] == '\n';
    r->step = xcalloc(lines, sizeof *r->step);
    r->rate = xcalloc(lines, sizeof *r->rate);
    at = out.s;
    while (ret == 0 && (line = strsep(&at, "\n")))
        read_line(r, line);
    if (ret == 0 && r->n == 0)
        ret = err_set(e, ERR_INPUT, "gtrain printed no schedule for %s", conf);
    buf_clear(&out);
    return ret;
}

void planned_rates_clear(struct planned_rates *r)
{
    free(r->step);
    free(r->rate);
    *r = (struct planned_rates){ 0 };
}
