#include "config.h"
#include "store/format/info.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/opt.h"
#include "store/format/attempt.h"

const char *run_status_word(enum run_status status)
{
    static const char *const words[] = {
        [RUN_RUNNING] = "RUNNING",   [RUN_SCHEDULED] = "SCHEDULED",
        [RUN_FINISHED] = "FINISHED", [RUN_FAILED] = "FAILED",
        [RUN_KILLED] = "KILLED",     [RUN_PREEMPTED] = "PREEMPTED",
        [RUN_STOPPED] = "STOPPED",   [RUN_STALE] = "STALE",
    };

    return status >= RUN_RUNNING && status <= RUN_STALE ? words[status] : "";
}

enum run_status run_status_find(const char *word, enum run_status last)
{
    for (enum run_status s = RUN_RUNNING; word && s <= last; s++)
        if (strcmp(run_status_word(s), word) == 0)
            return s;
    return 0;
}

enum run_status run_status_mlflow(enum run_status status)
{
    return status == RUN_PREEMPTED || status == RUN_STOPPED ? RUN_KILLED
                                                            : status;
}

static const void *find_key(const void *array, size_t n, size_t size,
                            const char *key)
{
    return n ? bsearch(&key, array, n, size, str_compare) : NULL;
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

bool run_info_is_unattended(const struct run_info *r)
{
    const struct attempt *last =
        r->attempts ? &r->attempt[r->attempts - 1] : NULL;

    return r->status == RUN_RUNNING && last &&
           (last->pid == 0 || attempt_is_self(last));
}

const char *run_info_command(const struct run_info *run)
{
    return run->attempts ? run->attempt[0].command : NULL;
}

/* Is it val/NAME/loss of a source in data.val = NAME:FILES, ...? */
static bool is_source(const struct run_info *run, const char *metric)
{
    const char *name = metric + 4, *end = strrchr(metric, '/');
    const char *list = run_info_param(run, "data.val");

    if (end <= name || strcmp(end, "/loss") != 0)
        return false;
    for (; list && *list; list += strcspn(list, ",")) {
        const size_t n = (size_t)(end - name);

        list += strspn(list, ", ");
        if (strncmp(list, name, n) == 0 && list[n] == ':')
            return true;
    }
    return false;
}

bool run_info_is_provable(const struct run_info *run, const char *metric)
{
    static const char *const names[] = {
        "train/loss", "train/perplexity", "train/grad_norm",
        "train/lr",   "val/loss",         "val/perplexity",
        "val/bpb",    "hellaswag/acc",    "hellaswag/acc_norm",
        NULL,
    };
    const bool of_val = strncmp(metric, "val/", 4) == 0;
    const bool asks = strncmp(metric, "hellaswag/", 10) == 0;
    const char *questions = run_info_param(run, "eval.hellaswag");

    if (!run_info_param(run, of_val ? "derived.data.val" : "derived.device") ||
        (asks && (!questions || !*questions)))
        return false;
    return opt_find_word(names, metric) >= 0 ||
           (of_val && is_source(run, metric));
}

const struct metric_sum *run_info_metric(const struct run_info *run,
                                         const char *key)
{
    return find_key(run->metrics, run->n_metrics, sizeof *run->metrics, key);
}

double run_info_seconds(const struct run_info *r)
{
    int64_t end = r->end_ms;

    if (end == 0 && r->status == RUN_RUNNING)
        end = clock_wall_ms();
    for (size_t i = 0; end == 0 && i < r->n_metrics; i++)
        end = r->metrics[i].last_ms > end ? r->metrics[i].last_ms : end;
    if (end == 0 || r->start_ms == 0 || end < r->start_ms)
        return 0;
    return (double)(end - r->start_ms) / 1000.0;
}

int64_t run_info_last_step(const struct run_info *r)
{
    int64_t step = -1;

    for (size_t i = 0; i < r->n_metrics; i++)
        if (strncmp(r->metrics[i].key, "system/", 7) != 0 &&
            r->metrics[i].last_step > step)
            step = r->metrics[i].last_step;
    return step;
}

const char *run_info_inside(const struct run_info *run)
{
    return run->links == PATH_FOLLOW_LINKS ? NULL : run->folder;
}
