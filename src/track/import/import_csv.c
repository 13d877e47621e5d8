#include "config.h"
#include "track/import/import.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/num.h"
#include "store/store.h"

/*
 * CSV of three kinds, told by the first line:
 *
 *      run_id,run,experiment,metric,step,time_ms,value     of gtrack export
 *      "Step","run1 - train/loss","run1 - train/loss__MIN",...     of W&B
 *      step,loss,lr                                        of anyone
 *
 * In the last kind each column of numbers is a metric; without a step column
 * rows are counted.
 */
struct row {
    char **field;
    size_t n, room;
};

static void row_clear(struct row *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->field[i]);
    r->n = 0;
}

static void put_field(struct row *r, struct buf *b)
{
    GROW(r->field, r->n, r->room);
    r->field[r->n++] = xstrdup(b->s);
    buf_trim(b, 0);
}

/* A record, which quotes may carry over lines; false at the end. */
static bool read_row(FILE *fp, struct row *r)
{
    struct buf b = BUF_INIT;
    bool quoted = false, any = false;
    int c;

    row_clear(r);
    while ((c = getc(fp)) != EOF) {
        if (!any && (c == '\n' || c == '\r'))
            continue;
        any = true;
        if (quoted && c == '"') {
            const int next = getc(fp);

            if (next == '"') {
                buf_char(&b, '"');
            } else {
                quoted = false;
                ungetc(next, fp);
            }
        } else if (quoted) {
            buf_char(&b, (char)c);
        } else if (c == '"') {
            quoted = true;
        } else if (c == ',' || c == ';' || c == '\t') {
            put_field(r, &b);
        } else if (c == '\n') {
            break;
        } else if (c != '\r') {
            buf_char(&b, (char)c);
        }
    }
    if (any)
        put_field(r, &b);
    buf_clear(&b);
    return any;
}

static int find(const struct row *head, const char *const *names)
{
    for (size_t i = 0; i < head->n; i++)
        for (size_t k = 0; names[k]; k++)
            if (strcasecmp(head->field[i], names[k]) == 0)
                return (int)i;
    return -1;
}

static const char *const steps[] = { "step", "_step",     "global_step",
                                     "iter", "iteration", "trainer/global_step",
                                     NULL };
static const char *const times[] = { "time_ms",   "_timestamp", "timestamp",
                                     "wall time", "wall_time",  NULL };

/* Seconds or milliseconds since the epoch, as ms; 0 if it is neither. */
static int64_t time_of(const char *s)
{
    double x;

    if (!num_real(s, &x) || !(x > 1e8) || x > 1e14)
        return 0;
    return (int64_t)(x < 1e11 ? x * 1000 : x);
}

struct csv {
    struct import_job *job;
    struct row head, row;
    struct intake *run; /* several in W&B's and in our own */
    size_t n, room;
    int step, time;
    int64_t mtime, count;
};

static struct intake *run_named(struct csv *c, const char *source,
                                const char *name)
{
    struct intake *in;

    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->run[i].source, source) == 0)
            return &c->run[i];
    GROW(c->run, c->n, c->room);
    in = &c->run[c->n++];
    intake_init(in, source);
    if (name)
        intake_name(in, name);
    return in;
}

/* run_id, run, experiment, metric, step, time_ms, value */
static int own_row(struct csv *c, struct err *e)
{
    char **f = c->row.field;
    struct intake *in;
    char *source;
    int64_t step, ms = 0;
    double x;

    if (c->row.n != 7 || !num_int(f[4], &step) || !num_real(f[6], &x))
        return err_set(e, ERR_INPUT, "%s: row %lld is not a point",
                       c->job->path, (long long)c->count + 1);
    source = xasprintf("run %s", f[0]);
    in = run_named(c, source, f[1]);
    intake_experiment(in, f[2]);
    num_int(f[5], &ms);
    intake_point(in, f[3], step, ms, x);
    free(source);
    return 0;
}

static int wide_row(struct csv *c, struct err *e)
{
    char *own = store_absolute(c->job->path);
    int64_t step = c->count, ms = c->mtime;

    (void)e;
    if (c->step >= 0 && (size_t)c->step < c->row.n)
        num_int(c->row.field[c->step], &step);
    if (c->time >= 0 && (size_t)c->time < c->row.n &&
        time_of(c->row.field[c->time]))
        ms = time_of(c->row.field[c->time]);
    for (size_t i = 0; i < c->row.n && i < c->head.n; i++) {
        const char *title = c->head.field[i];
        const char *dash = strstr(title, " - ");
        char *source = NULL, *name = NULL;
        struct intake *in;
        double x;

        if ((int)i == c->step || (int)i == c->time ||
            !num_real(c->row.field[i], &x) || str_ends(title, "__MIN") ||
            str_ends(title, "__MAX"))
            continue;
        if (dash) {
            name = xstrndup(title, (size_t)(dash - title));
            source = xasprintf("%s: %s", own, name);
        }
        in = run_named(c, source ? source : own, name);
        intake_point(in, dash ? dash + 3 : title, step, ms, x);
        free(source);
        free(name);
    }
    free(own);
    return 0;
}

int import_csv(struct import_job *job, struct err *e)
{
    static const char *const own[] = { "run_id", NULL };
    static const char *const metric[] = { "metric", NULL };
    struct csv c = { .job = job, .mtime = import_mtime(job->path) };
    FILE *fp = fopen(job->path, "re");
    bool points;
    int ret = 0;

    if (!fp)
        return err_open(e, "cannot read %s", job->path);
    if (!read_row(fp, &c.head))
        ret = err_set(e, ERR_INPUT, "%s: it is empty", job->path);
    points = find(&c.head, own) == 0 && find(&c.head, metric) == 3;
    c.step = find(&c.head, steps);
    c.time = find(&c.head, times);
    while (ret == 0 && read_row(fp, &c.row)) {
        ret = points ? own_row(&c, e) : wide_row(&c, e);
        c.count++;
    }
    if (ret == 0 && c.n == 0)
        ret =
            err_set(e, ERR_INPUT, "%s: no column of numbers in it", job->path);
    for (size_t i = 0; i < c.n; i++) {
        if (ret == 0)
            ret = import_done(job, &c.run[i], e);
        intake_clear(&c.run[i]);
    }
    free(c.run);
    row_clear(&c.head);
    row_clear(&c.row);
    free(c.head.field);
    free(c.row.field);
    fclose(fp);
    return ret;
}
