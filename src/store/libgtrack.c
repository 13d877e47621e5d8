/*
 * libgtrack - the functions of gtrack.h, for other programs
 */
#include "config.h"
#include "store/gtrack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"
#include "store/run.h"

/* struct gtrack is struct run under the name that other programs see. */
static struct run *run_of(const struct gtrack *g)
{
    return (struct run *)(uintptr_t)g;
}

static struct gtrack *begin(const struct run_conf *c, char why[GTRACK_WHY])
{
    struct err e = ERR_INIT;
    struct run *run;

    log_setup(program_invocation_short_name, LOG_WARN);
    if (run_begin(&run, c, &e) < 0) {
        snprintf(why, GTRACK_WHY, "%s", e.text);
        return NULL;
    }
    return (struct gtrack *)run;
}

struct gtrack *gtrack_open(const char *root, const char *experiment,
                           const char *name, char why[GTRACK_WHY])
{
    const struct run_conf c = { .root = root,
                                .experiment = experiment,
                                .name = name };

    return begin(&c, why);
}

struct gtrack *gtrack_resume(const char *root, const char *run, int64_t step,
                             char why[GTRACK_WHY])
{
    const struct run_conf c = { .root = root, .resume = run };
    struct gtrack *g = begin(&c, why);

    if (g)
        run_rewind(run_of(g), step);
    return g;
}

const char *gtrack_id(const struct gtrack *g)
{
    return g ? run_id(run_of(g)) : "";
}

const char *gtrack_name(const struct gtrack *g)
{
    return g ? run_name(run_of(g)) : "";
}

const char *gtrack_folder(const struct gtrack *g)
{
    return g ? run_folder(run_of(g)) : "";
}

void gtrack_param(struct gtrack *g, const char *key, const char *value)
{
    if (g)
        run_param(run_of(g), key, value);
}

void gtrack_tag(struct gtrack *g, const char *key, const char *value)
{
    if (g)
        run_tag(run_of(g), key, value);
}

void gtrack_metric(struct gtrack *g, const char *key, int64_t step,
                   double value)
{
    if (g)
        run_metric(run_of(g), key, step, value);
}

void gtrack_metrics(struct gtrack *g, int64_t step, const char *const *keys,
                    const double *values, int count)
{
    enum { BATCH = 64 };
    struct run_point p[BATCH];

    for (int from = 0; g && from < count; from += BATCH) {
        const int n = count - from < BATCH ? count - from : BATCH;

        for (int i = 0; i < n; i++)
            p[i] = (struct run_point){ keys[from + i], values[from + i] };
        run_metrics(run_of(g), step, p, n);
    }
}

char *gtrack_artifact(struct gtrack *g, const char *name)
{
    return g ? run_artifact(run_of(g), name) : NULL;
}

int gtrack_flush(struct gtrack *g, char why[GTRACK_WHY])
{
    struct err e = ERR_INIT;

    if (!g || run_flush(run_of(g), &e) == 0)
        return 0;
    snprintf(why, GTRACK_WHY, "%s", e.text);
    return -1;
}

int gtrack_end(struct gtrack *g, enum gtrack_status status,
               char why[GTRACK_WHY])
{
    struct err e = ERR_INIT;

    if (run_end(run_of(g), (enum run_status)status, &e) == 0)
        return 0;
    snprintf(why, GTRACK_WHY, "%s", e.text);
    return -1;
}
