#include "config.h"
#include "track/import/import.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/mem.h"
#include "store/bulk.h"
#include "store/load.h"
#include "store/store.h"

#define SOURCE_TAG "gtrack.imported_from"

void intake_init(struct intake *in, const char *source)
{
    *in = (struct intake){ .status = RUN_FINISHED };
    in->source = xstrdup(source);
}

void intake_clear(struct intake *in)
{
    for (size_t i = 0; i < in->n_metrics; i++) {
        free(in->metric[i].key);
        free(in->metric[i].point);
    }
    for (size_t i = 0; i < in->n_pairs; i++) {
        free(in->pair[i].key);
        free(in->pair[i].value);
    }
    free(in->metric);
    free(in->pair);
    free(in->source);
    free(in->name);
    free(in->experiment);
    free(in->user);
    *in = (struct intake){ .status = RUN_FINISHED };
}

static void set(char **to, const char *s)
{
    free(*to);
    *to = s && *s ? xstrdup(s) : NULL;
}

void intake_name(struct intake *in, const char *name)
{
    set(&in->name, name);
}

void intake_experiment(struct intake *in, const char *name)
{
    set(&in->experiment, name);
}

static struct intake_metric *metric_of(struct intake *in, const char *key)
{
    struct intake_metric *m;

    for (size_t i = 0; i < in->n_metrics; i++)
        if (strcmp(in->metric[i].key, key) == 0)
            return &in->metric[i];
    GROW(in->metric, in->n_metrics, in->room_metrics);
    m = &in->metric[in->n_metrics++];
    *m = (struct intake_metric){ .key = xstrdup(key) };
    return m;
}

void intake_point(struct intake *in, const char *key, int64_t step, int64_t ms,
                  double value)
{
    struct intake_metric *m = metric_of(in, key);

    GROW(m->point, m->n, m->room);
    /* many logs have no times: two points may be the same, but for this */
    if (m->n == 0 || ms > m->ms)
        m->shift = 0;
    else if (step <= m->point[m->n - 1].step)
        m->shift++;
    m->ms = ms;
    ms += m->shift;
    m->point[m->n++] = (struct point){ ms, step, value };
    if (ms > 0 && (!in->start_ms || ms < in->start_ms))
        in->start_ms = ms;
    if (ms > in->end_ms)
        in->end_ms = ms;
}

void intake_rewind(struct intake *in, int64_t step)
{
    for (size_t i = 0; i < in->n_metrics; i++) {
        struct intake_metric *m = &in->metric[i];

        while (m->n && m->point[m->n - 1].step >= step)
            m->n--;
    }
}

static void put_pair(struct intake *in, const char *key, const char *value,
                     bool tag)
{
    struct intake_pair *p;

    for (size_t i = 0; i < in->n_pairs; i++) {
        if (in->pair[i].tag == tag && strcmp(in->pair[i].key, key) == 0) {
            set(&in->pair[i].value, value);
            return;
        }
    }
    GROW(in->pair, in->n_pairs, in->room_pairs);
    p = &in->pair[in->n_pairs++];
    *p = (struct intake_pair){ xstrdup(key), xstrdup(value), tag };
}

void intake_param(struct intake *in, const char *key, const char *value)
{
    put_pair(in, key, value, false);
}

void intake_tag(struct intake *in, const char *key, const char *value)
{
    put_pair(in, key, value, true);
}

size_t intake_points(const struct intake *in)
{
    size_t n = 0;

    for (size_t i = 0; i < in->n_metrics; i++)
        n += in->metric[i].n;
    return n;
}

static int is_there(const char *root, const char *source, bool *there,
                    struct err *e)
{
    struct runs runs = RUNS_INIT;
    int ret = runs_load(&runs, root, LOAD_NO_METRICS, e);

    *there = false;
    if (ret < 0 && e->kind == ERR_MISSING) {
        *e = (struct err)ERR_INIT;
        ret = 0;
    }
    for (size_t i = 0; i < runs.n && !*there; i++) {
        const char *tag = run_info_tag(&runs.run[i], SOURCE_TAG);

        *there = tag && strcmp(tag, source) == 0;
    }
    runs_free(&runs);
    return ret;
}

static int put_all(struct intake *in, struct bulk *p, struct err *e)
{
    for (size_t i = 0; i < in->n_pairs; i++) {
        const struct intake_pair *x = &in->pair[i];
        const char *value = x->value ? x->value : "";

        if ((x->tag ? bulk_tag(p, x->key, value, e)
                    : bulk_param(p, x->key, value, e)) < 0)
            return -1;
    }
    for (size_t i = 0; i < in->n_metrics; i++)
        if (bulk_points(p, in->metric[i].key, in->metric[i].point,
                        in->metric[i].n, e) < 0)
            return -1;
    return bulk_tag(p, SOURCE_TAG, in->source, e);
}

int intake_write(struct intake *in, const char *root, const char *experiment,
                 const char *name, bool *added, struct err *e)
{
    struct bulk_conf c = {
        .root = root,
        .experiment = experiment ? experiment : in->experiment,
        .name = name ? name : in->name,
        .user = in->user,
        .source = "gtrack import",
        .start_ms = in->start_ms,
    };
    struct bulk p;
    bool there;

    *added = false;
    if (is_there(root, in->source, &there, e) < 0)
        return -1;
    if (there)
        return 0;
    if (bulk_new(&p, &c, e) < 0)
        return -1;
    if (bulk_end(&p, in->status, in->end_ms, put_all(in, &p, e), e) < 0)
        return -1;
    *added = true;
    return 0;
}

int import_done(struct import_job *job, struct intake *in, struct err *e)
{
    bool added;

    if (intake_points(in) == 0 && in->n_pairs == 0)
        return err_set(e, ERR_INPUT,
                       "%s: nothing in it is a point of a "
                       "metric",
                       job->path);
    if (!job->root) {
        job->runs++;
        job->points += intake_points(in);
        return 0;
    }
    if (intake_write(in, job->root, job->experiment, job->name, &added, e) < 0)
        return -1;
    job->runs += added;
    job->there += !added;
    job->points += added ? intake_points(in) : 0;
    return 0;
}

int64_t import_mtime(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? (int64_t)st.st_mtime * 1000 : clock_wall_ms();
}
