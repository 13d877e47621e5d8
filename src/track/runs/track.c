#include "config.h"
#include "track/runs/track.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/num.h"
#include "store/filter.h"
#include "track/runs/column.h"

const char *track_root;

const char *track_store(void)
{
    const char *env = getenv("GTRACK_ROOT");

    if (track_root)
        return track_root;
    return env && *env ? env : "mlruns";
}

/* "2h" and "3d" ago, or a day, or a day and a time, in local time. */
static int since_ms(const char *text, int64_t *ms, struct err *e)
{
    static const char *const forms[] = { "%Y-%m-%d", "%Y-%m-%d %H:%M",
                                         "%Y-%m-%dT%H:%M", "%Y-%m-%d %H:%M:%S",
                                         "%Y-%m-%dT%H:%M:%S" };
    double secs;

    if (num_secs(text, &secs)) {
        *ms = clock_wall_ms() - (int64_t)(secs * 1000);
        return 0;
    }
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        struct tm tm = { .tm_isdst = -1 };
        const char *end = strptime(text, forms[i], &tm);

        if (end && *end == '\0') {
            *ms = (int64_t)mktime(&tm) * 1000;
            return 0;
        }
    }
    return err_set(e, ERR_USAGE,
                   "--since wants a time such as 2h, 3d or 2026-11-21, "
                   "not '%s'",
                   text);
}

static int known_status(const char *word, struct err *e)
{
    for (int s = RUN_RUNNING; s <= RUN_STALE; s++)
        if (strcasecmp(word, run_status_word((enum run_status)s)) == 0)
            return 0;
    return err_set(e, ERR_USAGE,
                   "--status wants running, scheduled, finished, failed, "
                   "killed, preempted or stale, not '%s'",
                   word);
}

static int keep_where(struct runs *runs, const char *where, struct err *e)
{
    struct filter *f = filter_parse(where, e);
    size_t kept = 0;

    if (!f)
        return -1;
    for (size_t i = 0; i < runs->n; i++)
        if (filter_match(f, &runs->run[i]))
            runs->run[kept++] = runs->run[i];
    runs->n = kept;
    filter_free(f);
    return 0;
}

/* A run of the search called name, as gtrain marks its cells? */
static bool in_search(const struct run_info *r, const char *name)
{
    const char *search = run_info_tag(r, "sweep");

    return r->parent && search && strcmp(search, name) == 0;
}

/* The parent that `word` names; NULL when it names a search. */
static int parent_of(const struct runs *runs, const char *word, char **id,
                     struct err *e)
{
    struct runs one = RUNS_INIT;

    *id = NULL;
    for (size_t i = 0; i < runs->n; i++)
        if (in_search(&runs->run[i], word))
            return 0;
    if (track_one(&one, word, LOAD_NO_METRICS, e) < 0)
        return -1;
    *id = xstrdup(one.run[0].id);
    runs_free(&one);
    return 0;
}

static int keep_simple(struct runs *runs, const struct track_choice *c,
                       struct err *e)
{
    char *parent = NULL;
    int64_t since = INT64_MIN;
    size_t kept = 0;

    if (c->since && since_ms(c->since, &since, e) < 0)
        return -1;
    if (c->status && known_status(c->status, e) < 0)
        return -1;
    if (c->sweep && parent_of(runs, c->sweep, &parent, e) < 0)
        return -1;
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        if (c->experiment && strcmp(r->experiment, c->experiment) != 0 &&
            strcmp(r->experiment_id, c->experiment) != 0)
            continue;
        if (c->status && strcasecmp(c->status, run_status_word(r->status)) != 0)
            continue;
        if (parent && (!r->parent || strcmp(r->parent, parent) != 0))
            continue;
        if (c->sweep && !parent && !in_search(r, c->sweep))
            continue;
        if (r->start_ms < since)
            continue;
        runs->run[kept++] = *r;
    }
    runs->n = kept;
    free(parent);
    return 0;
}

/* Which word named this run?  One that is neither a name nor an id did if no
 * other did. */
static int word_of(const struct run_info *r, char **words, int n)
{
    int other = n;

    for (int i = 0; i < n; i++) {
        if (strcmp(words[i], r->name) == 0 ||
            strncmp(words[i], r->id, strlen(words[i])) == 0)
            return i;
        if (other == n && strpbrk(words[i], "@<>=( "))
            other = i;
    }
    return other;
}

/* Runs in the order of the words that named them, oldest first for each. */
static void order_by_words(struct runs *runs, char **words, int n)
{
    struct run_info *out = xcalloc(runs->n, sizeof *out);
    size_t filled = 0;

    for (int w = 0; w <= n; w++)
        for (size_t i = 0; i < runs->n; i++)
            if (word_of(&runs->run[i], words, n) == w)
                out[filled++] = runs->run[i];
    memcpy(runs->run, out, runs->n * sizeof *out);
    free(out);
}

int track_choose(struct runs *runs, const struct track_choice *c, char **words,
                 int n, int flags, struct err *e)
{
    int ret;

    if (c->deleted)
        flags |= LOAD_DELETED;
    if (c->attempts)
        flags |= LOAD_ALL_ATTEMPTS;
    ret = n ? runs_select(runs, track_store(), words, n, flags, e)
            : runs_load(runs, track_store(), flags, e);
    if (ret == 0 && c->where)
        ret = keep_where(runs, c->where, e);
    if (ret < 0 || keep_simple(runs, c, e) < 0)
        return -1;
    if (n > 1 && !c->sort && runs->n)
        order_by_words(runs, words, n);
    if (c->sort && columns_sort(runs, c->sort, e) < 0)
        return -1;
    if (c->limit < 0)
        return err_set(e, ERR_USAGE, "--limit wants a count, not %d", c->limit);
    if (c->limit && runs->n > (size_t)c->limit) {
        /* without an order the newest are wanted; they are last */
        if (!c->sort && n == 0)
            memmove(runs->run, runs->run + runs->n - c->limit,
                    (size_t)c->limit * sizeof *runs->run);
        runs->n = (size_t)c->limit;
    }
    return 0;
}

int track_one(struct runs *runs, const char *word, int flags, struct err *e)
{
    char *words = xstrdup(word ? word : "@latest");
    int ret = runs_select(runs, track_store(), &words, 1, flags, e);

    free(words);
    if (ret == 0 && runs->n > 1)
        ret = err_set(e, ERR_USAGE, "'%s' names %zu runs: %s, %s%s; name one",
                      word, runs->n, runs->run[0].name, runs->run[1].name,
                      runs->n > 2 ? ", ..." : "");
    if (ret < 0)
        runs_free(runs);
    return ret;
}

/* Is WORD in KEY, between what is no letter? */
static bool has_word(const char *key, const char *word)
{
    const size_t n = strlen(word);

    for (const char *p = key; (p = strcasestr(p, word)); p++)
        if ((p == key || !isalnum((unsigned char)p[-1])) &&
            !isalpha((unsigned char)p[n]))
            return true;
    return false;
}

int track_direction(const char *metric)
{
    static const char *const low[] = { "loss", "perplexity", "ppl", "bpb",
                                       "bpc",  "error",      "err", "wer",
                                       "cer",  "rmse",       "mse", "mae",
                                       "nll" };
    static const char *const high[] = { "acc",    "accuracy",    "acc_norm",
                                        "f1",     "bleu",        "rouge",
                                        "mfu",    "auc",         "map",
                                        "reward", "precision",   "recall",
                                        "score",  "tokens_per_s" };

    if (strncmp(metric, "system/", 7) == 0)
        return 0;
    for (size_t i = 0; i < sizeof high / sizeof high[0]; i++)
        if (has_word(metric, high[i]))
            return 1;
    for (size_t i = 0; i < sizeof low / sizeof low[0]; i++)
        if (has_word(metric, low[i]))
            return -1;
    return 0;
}

double track_seconds(const struct run_info *r)
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

int64_t track_last_step(const struct run_info *r)
{
    int64_t step = -1;

    for (size_t i = 0; i < r->n_metrics; i++)
        if (strncmp(r->metrics[i].key, "system/", 7) != 0 &&
            r->metrics[i].last_step > step)
            step = r->metrics[i].last_step;
    return step;
}

enum table_mark track_status_mark(enum run_status s)
{
    switch (s) {
    case RUN_FINISHED:
        return MARK_GOOD;
    case RUN_FAILED:
    case RUN_STALE:
        return MARK_BAD;
    case RUN_KILLED:
    case RUN_PREEMPTED:
        return MARK_WARN;
    default:
        return MARK_HEAD;
    }
}

int track_words(int argc, int least, int most, const char *usage, struct err *e)
{
    if (argc >= least && (most < 0 || argc <= most))
        return 0;
    return err_set(e, ERR_USAGE, "usage: gtrack %s", usage);
}

int track_apart(const char *text, char **key, const char **value, struct err *e)
{
    const char *equals = strchr(text, '=');

    if (!equals || equals == text)
        return err_set(e, ERR_USAGE, "'%s' is not KEY=VALUE", text);
    *key = xstrndup(text, (size_t)(equals - text));
    *value = equals + 1;
    return 0;
}

int track_check_pairs(const struct opt_list *l, struct err *e)
{
    for (size_t i = 0; i < l->n; i++) {
        const char *value;
        char *key;

        if (track_apart(l->item[i], &key, &value, e) < 0)
            return -1;
        free(key);
    }
    return 0;
}

void track_put_pairs(struct run *run, const struct opt_list *l,
                     track_put_fn *put)
{
    for (size_t i = 0; i < l->n; i++) {
        struct err none = ERR_INIT;
        const char *value;
        char *key;

        if (track_apart(l->item[i], &key, &value, &none) < 0)
            continue;
        put(run, key, value);
        free(key);
    }
}

bool track_confirm(bool yes, const char *question, struct err *e)
{
    char answer[16];

    if (yes)
        return true;
    if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO)) {
        err_set(e, ERR_USAGE, "%s not without --yes", question);
        return false;
    }
    fprintf(stderr, "%s [y/N] ", question);
    if (fgets(answer, sizeof answer, stdin) &&
        (answer[0] == 'y' || answer[0] == 'Y'))
        return true;
    err_set(e, ERR_INTERRUPTED, "nothing was done");
    return false;
}
