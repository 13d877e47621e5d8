/*
 * series - the points of one metric, read from its file
 */
#include "config.h"
#include "store/load.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/path.h"
#include "store/attempt.h"
#include "store/metric.h"

struct filling {
    struct series *s;
    size_t room;
    bool sorted;
};

static void add_point(void *arg, const struct point *p)
{
    struct filling *f = arg;
    struct series *s = f->s;

    if (s->n == f->room) {
        f->room = f->room ? f->room * 2 : 1024;
        s->step = xrealloc(s->step, f->room, sizeof *s->step);
        s->ms = xrealloc(s->ms, f->room, sizeof *s->ms);
        s->value = xrealloc(s->value, f->room, sizeof *s->value);
    }
    f->sorted = f->sorted && (s->n == 0 || p->step >= s->step[s->n - 1]);
    s->step[s->n] = p->step;
    s->ms[s->n] = p->ms;
    s->value[s->n++] = p->value;
}

struct at {
    struct point point;
    size_t place;
};

static int by_step(const void *a, const void *b)
{
    const struct at *x = a, *y = b;

    if (x->point.step != y->point.step)
        return x->point.step < y->point.step ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

/* By step; points of one step stay in the order of the file. */
static void sort(struct series *s)
{
    struct at *at = xcalloc(s->n, sizeof *at);

    for (size_t i = 0; i < s->n; i++)
        at[i] = (struct at){ { s->ms[i], s->step[i], s->value[i] }, i };
    qsort(at, s->n, sizeof *at, by_step);
    for (size_t i = 0; i < s->n; i++) {
        s->ms[i] = at[i].point.ms;
        s->step[i] = at[i].point.step;
        s->value[i] = at[i].point.value;
    }
    free(at);
}

int series_load(struct series *s, const struct run_info *run, const char *key,
                int flags, struct err *e)
{
    char *path = xasprintf("%s/metrics/%s", run->folder, key);
    struct arena mem = ARENA_INIT;
    struct rewind_list rewinds = { NULL, 0 };
    struct filling f = { s, 0, true };
    struct metric_scan scan;
    int ret;

    *s = (struct series)SERIES_INIT;
    if (!(flags & LOAD_ALL_ATTEMPTS))
        rewinds_load(&rewinds, &mem, run->folder);
    ret = metric_read(path, key, &rewinds, add_point, &f, &scan, e);
    if (ret == 0 && !f.sorted)
        sort(s);
    if (ret < 0) {
        if (e->kind == ERR_MISSING)
            err_set(e, ERR_MISSING, "run %s has no metric %s", run->name, key);
        series_free(s);
    }
    arena_clear(&mem);
    free(path);
    return ret;
}

void series_free(struct series *s)
{
    free(s->step);
    free(s->ms);
    free(s->value);
    *s = (struct series)SERIES_INIT;
}
