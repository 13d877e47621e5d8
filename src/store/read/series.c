/*
 * series - load the history of a metric, or a part of it
 */
#include "config.h"
#include "common/mem.h"
#include "store/read/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"
#include "store/format/metric.h"
#include "store/format/rewind.h"

struct at {
    struct metric_point point;
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
static void sort_by_step(struct series *s)
{
    struct at *at = xcalloc(s->n, sizeof *at);

    for (size_t i = 0; i < s->n; i++)
        at[i] = (struct at){ { s->ms[i], s->step[i], s->value[i] }, i };
    SORT(at, s->n, by_step);
    for (size_t i = 0; i < s->n; i++) {
        s->ms[i] = at[i].point.ms;
        s->step[i] = at[i].point.step;
        s->value[i] = at[i].point.value;
    }
    free(at);
}

/* A series that is being filled with a part of the points. */
struct filling {
    struct series *s;
    const struct series_part *part;
    size_t room;
    bool sorted;
};

/* Sort what there is, and keep only the last steps that are wanted. */
static void keep_last(struct filling *f)
{
    struct series *s = f->s;
    size_t first = s->n;

    if (!f->sorted)
        sort_by_step(s);
    f->sorted = true;
    for (int64_t k = 0; first > 0 && k < f->part->last; k++) {
        const int64_t step = s->step[first - 1];

        while (first > 0 && s->step[first - 1] == step)
            first--;
    }
    if (f->part->last == 0 || first == 0)
        return;
    s->n -= first;
    memmove(s->step, s->step + first, s->n * sizeof *s->step);
    memmove(s->ms, s->ms + first, s->n * sizeof *s->ms);
    memmove(s->value, s->value + first, s->n * sizeof *s->value);
}

/* Make room for a point.  If only the last steps are wanted, what has become
 * superfluous goes first. */
static void make_room(struct filling *f)
{
    enum { LEAST = 1024 };
    struct series *s = f->s;

    if (f->part->last && s->n)
        keep_last(f);
    if (f->room && s->n <= f->room / 2)
        return;
    f->room = f->room ? f->room * 2 : LEAST;
    s->step = xrealloc(s->step, f->room, sizeof *s->step);
    s->ms = xrealloc(s->ms, f->room, sizeof *s->ms);
    s->value = xrealloc(s->value, f->room, sizeof *s->value);
}

static void add_point(void *arg, const struct metric_point *p)
{
    struct filling *f = arg;
    struct series *s = f->s;

    if (p->step < f->part->from || p->step > f->part->to)
        return;
    if (s->n == f->room)
        make_room(f);
    f->sorted = f->sorted && (s->n == 0 || p->step >= s->step[s->n - 1]);
    s->step[s->n] = p->step;
    s->ms[s->n] = p->ms;
    s->value[s->n++] = p->value;
}

int series_load_part(struct series *s, const struct run_info *run,
                     const char *key, const struct series_part *part, int flags,
                     struct err *e)
{
    char *path = xasprintf("%s/metrics/%s", run->folder, key);
    struct arena mem = { 0 };
    struct rewind_list rewinds = { 0 };
    const struct metric_file file = { path, key, .rewinds = &rewinds,
                                      .links = run->links, .run = run->folder };
    struct filling f = { s, part, 0, true };
    struct metric_scan scan;
    int ret = 0;

    *s = (struct series){ 0 };
    if (!(flags & LOAD_ALL_ATTEMPTS))
        ret = rewinds_load(&rewinds, &mem, run->folder, key, run->links, e);
    if (ret == 0)
        ret = metric_read(&file, add_point, &f, &scan, e);
    if (ret == 0)
        keep_last(&f);
    if (flags & LOAD_MAY_LACK)
        ret = err_allow(ret, ERR_MISSING, e);
    if (ret < 0) {
        if (e->kind == ERR_MISSING)
            err_set(e, ERR_MISSING, "run %s has no metric %s", run->name, key);
        series_free(s);
    }
    arena_clear(&mem);
    free(path);
    return ret;
}

int series_load(struct series *s, const struct run_info *run, const char *key,
                int flags, struct err *e)
{
    const struct series_part all = { INT64_MIN, INT64_MAX, 0 };

    return series_load_part(s, run, key, &all, flags, e);
}

bool series_value(const struct series *s, int64_t step, double *value)
{
    const size_t at = num_place(s->step, s->n, step);

    if (at == s->n || s->step[at] != step)
        return false;
    *value = s->value[at];
    return true;
}

bool series_at(double *value, const struct run_info *run, const char *key,
               int64_t step, bool first, struct err *e)
{
    const struct series_part part = { first ? step : INT64_MIN, step, 1 };
    struct series s = { 0 };
    bool found;

    if (series_load_part(&s, run, key, &part, LOAD_MAY_LACK, e) < 0)
        return false;
    found = s.n > 0;
    if (found)
        *value = s.value[first ? 0 : s.n - 1];
    series_free(&s);
    return found;
}

bool series_median(double *value, const struct run_info *run, const char *key,
                   struct err *e)
{
    struct series s = { 0 };
    size_t n = 0;

    if (series_load(&s, run, key, LOAD_MAY_LACK, e) < 0)
        return false;
    for (size_t i = 0; i < s.n; i++)
        if (!isnan(s.value[i]))
            s.value[n++] = s.value[i];
    if (n)
        *value =
            (num_nth(s.value, n, (n - 1) / 2) + num_nth(s.value, n, n / 2)) / 2;
    series_free(&s);
    return n > 0;
}

void series_free(struct series *s)
{
    FREE(s->step, s->ms, s->value, s->mean, s->weight);
    *s = (struct series){ 0 };
}
