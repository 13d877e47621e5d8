#include "config.h"
#include "store/format/info.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/num.h"
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

/* clang-format off */
const char *const run_info_provable[] = {
    "train/loss", "train/perplexity", "train/grad_norm", "train/lr",
    "train/tokens", "train/total_flops", "train/noise_scale",
    "val/loss", "val/perplexity", "val/bpb", NULL
};
/* clang-format on */

const char *const run_info_answers[] = {
    "acc",       "acc_norm",   "acc_stderr", "acc_norm_stderr",
    "acc_bytes", "perplexity", "centred",    NULL,
};

/* Is it an answer to questions whose file the run names: of task/NAME/acc as
 * derived.task.NAME.file? */
static bool is_answer(const struct run_info *run, const char *metric)
{
    const char *end = strrchr(metric, '/');
    AUTO_FREE char *key = NULL;

    if (strncmp(metric, "task/", 5) != 0 ||
        opt_find_word(run_info_answers, end + 1) < 0)
        return false;
    key = xasprintf("derived.task.%.*s.file", (int)(end - metric) - 5,
                    metric + 5);
    return *str_or_empty(run_info_param(run, key));
}

bool run_info_is_provable(const struct run_info *run, const char *metric)
{
    const bool of_val = strncmp(metric, "val/", 4) == 0;

    if (!run_info_param(run, of_val ? "derived.data.val" : "derived.device"))
        return false;
    return opt_find_word(run_info_provable, metric) >= 0 ||
           (of_val ? is_source(run, metric) : is_answer(run, metric));
}

bool run_info_is_own_tag(const char *key)
{
    return strncmp(key, "mlflow.", 7) == 0 || strncmp(key, "gtrack.", 7) == 0;
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
    if (end == 0)
        end = run_info_last_ms(r);
    if (end == 0 || r->start_ms == 0 || end < r->start_ms)
        return 0;
    return (double)(end - r->start_ms) / 1000.0;
}

int64_t run_info_last_ms(const struct run_info *r)
{
    int64_t ms = 0;

    for (size_t i = 0; i < r->n_metrics; i++)
        if (r->metrics[i].last_ms > ms)
            ms = r->metrics[i].last_ms;
    return ms;
}

int64_t run_info_last_step(const struct run_info *r)
{
    int64_t step = -1;

    for (size_t i = 0; i < r->n_metrics; i++)
        if (r->metrics[i].last_step > step &&
            strncmp(r->metrics[i].key, "system/", 7) != 0)
            step = r->metrics[i].last_step;
    return step;
}

const char *run_info_inside(const struct run_info *run)
{
    return run->links == PATH_FOLLOW_LINKS ? NULL : run->folder;
}

/* ---- what later attempts changed ----------------------------------------- */

static const char prefix[] = "attempt.";

char *changed_tag(int attempt, const char *key)
{
    return xasprintf("%s%d.%s", prefix, attempt, key);
}

/* The key behind "attempt.N.", or NULL. */
static const char *split_tag(const char *tag, int *attempt)
{
    char *end;
    long n;

    if (strncmp(tag, prefix, sizeof prefix - 1) != 0)
        return NULL;
    tag += sizeof prefix - 1;
    n = strtol(tag, &end, 10);
    if (end == tag || *end != '.' || n < 2 || n > INT32_MAX)
        return NULL;
    *attempt = (int)n;
    return end + 1;
}

bool changed_is_tag(const char *tag)
{
    int any;

    return split_tag(tag, &any) != NULL;
}

/* If tag i is the first step of an attempt: which attempt, and the step. */
static bool is_beginning(const struct run_info *run, size_t i, int *attempt,
                         int64_t *first)
{
    const char *key = split_tag(run->tags[i].key, attempt);

    return key && strcmp(key, CHANGED_FIRST_STEP) == 0 &&
           num_int(run->tags[i].value, first);
}

int changed_attempt(const struct run_info *run, int64_t step, int64_t *next)
{
    int newest = 1, attempt;
    int64_t first;

    for (size_t i = 0; i < run->n_tags; i++)
        if (is_beginning(run, i, &attempt, &first) && first <= step &&
            attempt > newest)
            newest = attempt;
    if (next)
        *next = INT64_MAX;
    for (size_t i = 0; next && i < run->n_tags; i++)
        if (is_beginning(run, i, &attempt, &first) && attempt > newest &&
            first < *next)
            *next = first;
    return newest;
}

int64_t changed_first_step(const struct run_info *run, int attempt)
{
    AUTO_FREE char *tag = changed_tag(attempt, CHANGED_FIRST_STEP);
    const char *text = run_info_tag(run, tag);
    int64_t step = 0;

    if (text && !num_int(text, &step))
        step = 0;
    return step;
}

bool changed_is_known(const struct run_info *run)
{
    int64_t next;

    changed_attempt(run, 0, &next);
    return run->attempts <= 1 || next != INT64_MAX;
}

const char *changed_param(const struct run_info *run, const char *key,
                          int64_t step)
{
    AUTO_FREE char *tag = changed_tag(changed_attempt(run, step, NULL), key);
    const char *value = run_info_tag(run, tag);

    return value ? value : run_info_param(run, key);
}

/* A change of a run whose first steps are not known. */
static bool has_other_change(const struct run_info *run, const char *key,
                             struct buf *out)
{
    bool any = false;

    for (size_t i = 0; i < run->n_tags; i++) {
        int attempt;
        const char *of = split_tag(run->tags[i].key, &attempt);

        if (!of || strcmp(of, key) != 0 || changed_first_step(run, attempt))
            continue;
        buf_printf(out, "; %s in attempt %d", run->tags[i].value, attempt);
        any = true;
    }
    return any;
}

bool changed_text(struct buf *out, const struct run_info *run, const char *key)
{
    const size_t before = out->len;
    const char *last = run_info_param(run, key);
    bool any = false;
    int64_t next;

    if (!last)
        return false;
    buf_str(out, last);
    changed_attempt(run, 0, &next);
    while (next != INT64_MAX) {
        const int64_t step = next;
        const char *value = changed_param(run, key, step);

        changed_attempt(run, step, &next);
        if (strcmp(value, last) == 0)
            continue;
        buf_printf(out, "; %s from step %" PRId64, value, step);
        last = value;
        any = true;
    }
    if (!has_other_change(run, key, out) && !any)
        buf_trim(out, before);
    return out->len > before;
}

const char *changed_settings(const struct run_info *run, struct arena *mem)
{
    AUTO(buf_clear) struct buf all = BUF_INIT, one = BUF_INIT;
    bool any = false;

    for (size_t i = 0; i < run->n_tags && !any; i++)
        any = changed_is_tag(run->tags[i].key);
    for (size_t i = 0; i < run->n_params && any; i++) {
        const char *key = run->params[i].key;

        buf_trim(&one, 0);
        if (strncmp(key, "derived.", 8) != 0 && changed_text(&one, run, key))
            buf_printf(&all, "%s%s = %s", all.len ? ", " : "", key, one.s);
    }
    return all.len ? arena_strdup(mem, all.s) : NULL;
}
