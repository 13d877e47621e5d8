#include "config.h"
#include "store/format/changed.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/num.h"

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
    char *tag = changed_tag(attempt, CHANGED_FIRST_STEP);
    const char *text = run_info_tag(run, tag);
    int64_t step = 0;

    if (text && !num_int(text, &step))
        step = 0;
    free(tag);
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
    char *tag = changed_tag(changed_attempt(run, step, NULL), key);
    const char *value = run_info_tag(run, tag);

    free(tag);
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
    struct buf all = BUF_INIT, one = BUF_INIT;
    const char *text;
    bool any = false;

    for (size_t i = 0; i < run->n_tags && !any; i++)
        any = changed_is_tag(run->tags[i].key);
    for (size_t i = 0; i < run->n_params && any; i++) {
        const char *key = run->params[i].key;

        buf_trim(&one, 0);
        if (strncmp(key, "derived.", 8) != 0 && changed_text(&one, run, key))
            buf_printf(&all, "%s%s = %s", all.len ? ", " : "", key, one.s);
    }
    text = all.len ? arena_strdup(mem, all.s) : NULL;
    buf_clear(&all);
    buf_clear(&one);
    return text;
}
