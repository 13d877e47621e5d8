#include "config.h"
#include "store/format/info.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "store/format/attempt.h"

const char *run_status_word(enum run_status status)
{
    static const char *const words[] = {
        [RUN_RUNNING] = "RUNNING",   [RUN_SCHEDULED] = "SCHEDULED",
        [RUN_FINISHED] = "FINISHED", [RUN_FAILED] = "FAILED",
        [RUN_KILLED] = "KILLED",     [RUN_PREEMPTED] = "PREEMPTED",
        [RUN_STALE] = "STALE",
    };

    return status >= RUN_RUNNING && status <= RUN_STALE ? words[status] : "";
}

static int by_key(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b; /* key is the first member */

    return strcmp(*x, *y);
}

static const void *find_key(const void *array, size_t n, size_t size,
                            const char *key)
{
    return n ? bsearch(&key, array, n, size, by_key) : NULL;
}

bool run_param_is_derived(const char *key)
{
    return strncmp(key, "derived.", 8) == 0 || strncmp(key, "run.", 4) == 0;
}

const char *run_info_param(const struct run_info *run, const char *key)
{
    const struct pair *p =
        find_key(run->params, run->n_params, sizeof *run->params, key);

    return p ? p->value : NULL;
}

const char *run_info_tag(const struct run_info *run, const char *key)
{
    const struct pair *p =
        find_key(run->tags, run->n_tags, sizeof *run->tags, key);

    return p ? p->value : NULL;
}

const char *run_info_command(const struct run_info *run)
{
    return run->attempts ? run->attempt[0].command : NULL;
}

const struct metric_sum *run_info_metric(const struct run_info *run,
                                         const char *key)
{
    return find_key(run->metrics, run->n_metrics, sizeof *run->metrics, key);
}

double run_info_best(const struct run_info *run, const char *key, bool high)
{
    const struct metric_sum *m = key ? run_info_metric(run, key) : NULL;
    const double x = !m ? (double)NAN : high ? m->max : m->min;

    return isfinite(x) ? x : (double)NAN;
}

const char *run_info_inside(const struct run_info *run)
{
    return run->links == PATH_FOLLOW_LINKS ? NULL : run->folder;
}
