/*
 * select - the runs that a word names: a name, an id, @latest, a filter
 */
#include "config.h"
#include "common/mem.h"

#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/opt.h"
#include "store/format/store.h"
#include "store/query/differ.h"
#include "store/query/filter.h"
#include "store/read/runs.h"

enum { PREFIX_MIN = 4, CANDIDATES = 8 };

/* Is this run named by the word? */
typedef bool fits_fn(const struct run_info *, const char *word);

static bool fits_id(const struct run_info *run, const char *word)
{
    return strcmp(run->id, word) == 0;
}

static bool fits_name(const struct run_info *run, const char *word)
{
    return strcmp(run->name, word) == 0 && strncmp(word, "@best:", 6) != 0;
}

static bool fits_pattern(const struct run_info *run, const char *word)
{
    return strpbrk(word, "*?[") && fnmatch(word, run->name, 0) == 0;
}

/* @best:METRIC, @best:METRIC:min, @best:METRIC:max */
static int match_best(const struct runs *runs, const char *word, bool *chosen,
                      struct err *e)
{
    const bool high = str_ends(word, ":max");
    const size_t suffix = high || str_ends(word, ":min") ? 4 : 0;
    size_t best = runs->n;
    double value = 0;
    AUTO_FREE char *key = NULL;

    if (strncmp(word, "@best:", 6) != 0 || strlen(word) <= 6 + suffix)
        return 0;
    if (runs->unread.kind) { /* it may be the best */
        *e = runs->unread;
        return -1;
    }
    key = xstrndup(word + 6, strlen(word) - 6 - suffix);
    for (size_t i = 0; i < runs->n && !e->kind; i++) {
        const double x = run_rate_best(&runs->run[i], key, high, e);

        if (!isnan(x) && (best == runs->n || (high ? x > value : x < value))) {
            best = i;
            value = x;
        }
    }
    if (best < runs->n && differ_caution(runs->run, runs->n, key))
        log_warn("%s: %s", word, differ_caution(runs->run, runs->n, key));
    if (e->kind)
        return -1;
    if (best == runs->n)
        return 0;
    chosen[best] = true;
    return 1;
}

static bool is_filter(const char *word)
{
    return strpbrk(word, "=<> ") || strncmp(word, "stalled(", 8) == 0;
}

/* Mark the runs of a filter.  Returns 1, 0 if the word is not a filter, or -1.
 * */
static int match_filter(const struct runs *runs, const char *word, bool *chosen,
                        struct err *e)
{
    struct filter *f;
    bool any = false;
    int ret = 0;

    if (!is_filter(word))
        return 0;
    f = filter_parse(word, e);
    if (!f || filter_resolve(f, runs, e) < 0) {
        filter_free(f);
        return -1;
    }
    for (size_t i = 0; i < runs->n && ret >= 0; i++) {
        ret = filter_match(f, &runs->run[i], e);
        if (ret > 0)
            any = chosen[i] = true;
    }
    filter_free(f);
    if (ret < 0)
        return -1;
    return any ? 1 : err_set(e, ERR_MISSING, "no run matches %s", word);
}

static int match_prefix(const struct runs *runs, const char *word, bool *chosen,
                        struct err *e)
{
    const size_t n = strlen(word);
    AUTO(buf_clear) struct buf which = BUF_INIT;
    size_t found = 0, last = 0;

    if (n < PREFIX_MIN)
        return 0;
    for (size_t i = 0; i < runs->n; i++) {
        if (strncmp(runs->run[i].id, word, n) != 0)
            continue;
        last = i;
        if (found++ < CANDIDATES)
            buf_printf(&which, " %s", runs->run[i].id);
    }
    if (found == 1)
        chosen[last] = true;
    else if (found > 1)
        err_usage(e, "%s is the beginning of %zu run ids:%s", word, found,
                  which.s);
    return found > 1 ? -1 : (int)found;
}

static int no_such_run(const struct runs *runs, const char *word, struct err *e)
{
    struct opt_nearest near = { .word = word };

    if (runs->unread.kind) { /* it may be the one */
        *e = runs->unread;
        return -1;
    }
    for (size_t i = 0; i < runs->n; i++)
        opt_nearest_try(&near, runs->run[i].name);
    err_set(e, ERR_MISSING, "there is no run named %s", word);
    return opt_nearest_add(&near, e);
}

/* Refuse a name that several runs have. */
static int check_shared(const struct runs *runs, const char *word,
                        struct err *e)
{
    const char *id[2] = { "", "" };
    size_t n = 0;

    for (size_t i = 0; i < runs->n; i++)
        if (strcmp(runs->run[i].name, word) == 0 && n++ < 2)
            id[n - 1] = runs->run[i].id;
    if (n < 2)
        return 0;
    return err_usage(e,
                     "%zu runs are named %s; give the id of one (%.8s, "
                     "%.8s%s), or name all with \"name = '%s'\"",
                     n, word, id[0], id[1], n > 2 ? ", ..." : "", word);
}

static int match(const struct runs *runs, const char *word, bool *chosen,
                 int flags, struct err *e)
{
    static fits_fn *const ways[] = { fits_id, fits_name, fits_pattern };
    int found = 0;

    /* a run of the name @latest or @best:... would take its place */
    if (strcmp(word, "@latest") == 0 && runs->n > 0) {
        chosen[runs->n - 1] = true;
        return 0;
    }
    for (size_t k = 0; k < sizeof ways / sizeof ways[0] && !found; k++) {
        for (size_t i = 0; i < runs->n; i++)
            if (ways[k](&runs->run[i], word))
                found = chosen[i] = true;
        if (found && ways[k] == fits_name && (flags & LOAD_ONE_NAMED))
            return check_shared(runs, word, e);
    }
    if (found)
        return 0;
    found = match_best(runs, word, chosen, e);
    if (found == 0)
        found = match_prefix(runs, word, chosen, e);
    if (found == 0)
        found = match_filter(runs, word, chosen, e);
    if (found == 0)
        return no_such_run(runs, word, e);
    return found < 0 ? -1 : 0;
}

/* A word names deleted runs only if it names no other. */
static int match_live(const struct runs *runs, const char *word, bool *chosen,
                      int flags, struct err *e)
{
    struct runs live = { .run = xcalloc(runs->n, sizeof *live.run),
                         .unread = runs->unread };
    size_t *at = xcalloc(runs->n, sizeof *at);
    bool *found = xcalloc(runs->n, sizeof *found);
    struct err why = { 0 };
    int ret;

    for (size_t i = 0; i < runs->n; i++) {
        if (runs->run[i].deleted)
            continue;
        at[live.n] = i;
        live.run[live.n++] = runs->run[i];
    }
    ret = match(&live, word, found, flags, &why);
    for (size_t i = 0; ret == 0 && i < live.n; i++)
        if (found[i])
            chosen[at[i]] = true;
    if (ret < 0 && live.n < runs->n)
        ret = match(runs, word, chosen, flags, e);
    if (ret < 0 && (live.n == runs->n || e->kind == ERR_MISSING))
        *e = why;
    FREE(found, at, live.run);
    return ret;
}

/* If all words are whole ids, no other run has to be loaded. */
static bool load_by_id(struct runs *runs, const char *root, char **words, int n,
                       int flags)
{
    for (int i = 0; i < n; i++)
        if (!store_is_id(words[i]))
            return false;
    if (n == 0 || runs_load_ids(runs, root, words, n, flags, ERR_IGNORED) < 0)
        return false;
    for (int i = 0; i < n; i++) {
        size_t k = 0;

        while (k < runs->n && strcmp(runs->run[k].id, words[i]) != 0)
            k++;
        if (k == runs->n) { /* it may be a name */
            runs_free(runs);
            return false;
        }
    }
    return true;
}

/* Does a word refer to the values of metrics? */
static bool needs_metrics(char **words, int n)
{
    for (int i = 0; i < n; i++)
        if (strncmp(words[i], "@best:", 6) == 0 || is_filter(words[i]))
            return true;
    return false;
}

int runs_select(struct runs *runs, const char *root, char **words, int n,
                int flags, struct err *e)
{
    AUTO_FREE bool *chosen = NULL;
    size_t kept = 0;
    int ret = 0;

    if (!(flags & LOAD_FRESH) && load_by_id(runs, root, words, n, flags))
        return 0;
    if (needs_metrics(words, n))
        flags &= ~LOAD_NO_METRICS;
    if (runs_load(runs, root, flags, e) < 0)
        return -1;
    chosen = xcalloc(runs->n, sizeof *chosen);
    for (int i = 0; i < n && ret == 0; i++)
        ret = match_live(runs, words[i], chosen, flags, e);
    for (size_t i = 0; i < runs->n; i++)
        if (chosen[i])
            runs->run[kept++] = runs->run[i];
    runs->n = kept;
    if (ret < 0)
        runs_free(runs);
    return ret;
}

int runs_word(const struct run_info *run, char **words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(run->name, words[i]) == 0 ||
            (strlen(words[i]) >= PREFIX_MIN &&
             strncmp(run->id, words[i], strlen(words[i])) == 0))
            return i;
    return n;
}

/* The word that named a run or, if it is none of them, the first filter or
 * @word. */
static int find_word(const struct run_info *run, char **words, int n)
{
    int word = runs_word(run, words, n);

    if (word == n)
        for (word = 0; word < n && !strpbrk(words[word], "@<>=( ");)
            word++;
    return word;
}

void runs_sort_as_named(struct runs *runs, char **words, int n)
{
    AUTO_FREE struct run_info *out = xcalloc(runs->n, sizeof *out);
    AUTO_FREE int *word = xcalloc(runs->n, sizeof *word);
    size_t filled = 0;

    for (size_t i = 0; i < runs->n; i++)
        word[i] = find_word(&runs->run[i], words, n);
    for (int w = 0; w <= n; w++)
        for (size_t i = 0; i < runs->n; i++)
            if (word[i] == w)
                out[filled++] = runs->run[i];
    memcpy(runs->run, out, runs->n * sizeof *out);
}

/* Is this a cell of the sweep called `name`, as gtrain tags them? */
static bool in_sweep(const struct run_info *r, const char *name)
{
    const char *sweep = run_info_tag(r, "sweep");

    return r->parent && sweep && strcmp(sweep, name) == 0;
}

int runs_keep_sweep(struct runs *runs, const char *root, const char *name,
                    int flags, struct err *e)
{
    AUTO(runs_free) struct runs one = { 0 };
    AUTO_FREE char *word = xstrdup(name);
    bool named = false;
    size_t kept = 0;
    int ret = 0;

    for (size_t i = 0; i < runs->n; i++)
        named |= in_sweep(&runs->run[i], name);
    if (!named)
        ret = runs_select(&one, root, &word, 1,
                          flags | LOAD_ONE_NAMED | LOAD_NO_METRICS, e);
    if (ret == 0 && one.n > 1)
        ret = err_usage(e, "'%s' names %zu runs; only one is expected", name,
                        one.n);
    for (size_t i = 0; ret == 0 && i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        if (named ? in_sweep(r, name)
                  : r->parent && strcmp(r->parent, one.run[0].id) == 0)
            runs->run[kept++] = *r;
    }
    if (ret == 0)
        runs->n = kept;
    return ret;
}
