#include "config.h"
#include "store/query/differ.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"

/* Is this the run of a whole sweep? */
static bool is_sweep(const struct run_info *r)
{
    return run_info_param(r, "sweep.cells") != NULL;
}

/* Does the parameter say how the run was trained? */
static bool is_setting(const char *key)
{
    static const char *const others[] = { "derived.", "run.", "sweep.",
                                          "checkpoint." };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strncmp(key, others[i], strlen(others[i])) == 0)
            return false;
    return strcmp(str_after(key, '.'), "folder") != 0;
}

/* ---- all keys ---------------------------------------------------------- */

static int by_rank(const void *a, const void *b)
{
    const struct differ_key *x = a, *y = b;

    return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
                              : strcmp(x->key, y->key);
}

static int by_use(const void *a, const void *b)
{
    const struct differ_key *x = a, *y = b;

    if (x->runs != y->runs)
        return x->runs < y->runs ? 1 : -1;
    return strcmp(x->key, y->key);
}

static bool values_differ(const char *a, const char *b)
{
    return a && b && strcmp(a, b) != 0;
}

/* Sort, and merge the entries of equal keys. */
static void merge(struct differ *d)
{
    size_t kept = 0;

    if (d->n == 0)
        return;
    SORT(d->item, d->n, str_compare);
    for (size_t i = 1; i < d->n; i++) {
        struct differ_key *k = &d->item[kept], *x = &d->item[i];

        if (strcmp(k->key, x->key) != 0) {
            d->item[++kept] = *x;
            continue;
        }
        k->runs += x->runs;
        k->differs |= x->differs || values_differ(k->value, x->value);
    }
    d->n = kept + 1;
}

/* The keys of a run are sorted, and mostly equal to those of the first run. */
static void count_key(struct differ *d, const char *key, const char *value)
{
    int c = 1;

    while (d->next < d->first && (c = strcmp(d->item[d->next].key, key)) < 0)
        d->next++;
    if (c == 0) {
        struct differ_key *k = &d->item[d->next++];

        k->runs++;
        k->differs = k->differs || values_differ(k->value, value);
        return;
    }
    APPEND(d->item, d->n, d->room) =
        (struct differ_key){ .key = key, .value = value, .runs = 1 };
}

static void count_run(struct differ *d, const struct run_info *r, bool metrics)
{
    const bool is_first = d->n == 0;

    d->next = 0;
    for (size_t j = 0; metrics && j < r->n_metrics; j++)
        count_key(d, r->metrics[j].key, NULL);
    for (size_t j = 0; !metrics && j < r->n_params; j++)
        count_key(d, r->params[j].key, r->params[j].value);
    if (is_first)
        d->first = d->n;
}

void differ_count(struct differ *d, const struct run_info *run, size_t n,
                  bool metrics)
{
    for (size_t i = 0; i < n; i++)
        count_run(d, &run[i], metrics);
    merge(d);
}

const struct differ_key *differ_find(const struct differ *d, const char *key)
{
    for (size_t i = 0; i < d->n; i++)
        if (strcmp(d->item[i].key, key) == 0)
            return &d->item[i];
    return NULL;
}

void differ_by_use(struct differ *d)
{
    SORT(d->item, d->n, by_use);
}

void differ_keep(struct differ *d, size_t most)
{
    if (d->n <= most)
        return;
    differ_by_use(d);
    d->n = most;
    SORT(d->item, d->n, by_rank);
}

void differ_clear(struct differ *d)
{
    free(d->item);
    *d = (struct differ){ 0 };
}

/* ---- those that differ --------------------------------------------------- */

/* Where a word stands in a text of words, or -1; `after` follows the word. */
static int find_word(const char *text, const char *word, const char *after)
{
    const size_t n = strlen(word);

    for (const char *p = text; p && (p = strstr(p, word)); p += n)
        if ((p == text || strchr(" ='\"", p[-1])) &&
            (p[n] ? strchr(after, p[n]) != NULL : *after == ' '))
            return (int)(p - text);
    return -1;
}

/* What was set by --set comes after what was swept. */
static int rank_of(const char *key, const struct run_info *run, size_t n)
{
    const char *keys = NULL, *command = NULL;
    int rank = INT_MAX;

    for (size_t i = 0; i < n; i++) {
        const char *tag = run_info_tag(&run[i], DIFFER_KEYS_TAG),
                   *line = run_info_command(&run[i]);

        /* the runs of a sweep have the same tag, and mostly equal commands */
        if (tag && (!keys || strcmp(tag, keys) != 0)) {
            const int at = find_word(tag, key, " ");

            keys = tag;
            if (at >= 0 && at < rank)
                rank = at;
        }
        if (rank == INT_MAX && line &&
            (!command || strcmp(line, command) != 0)) {
            command = line;
            if (find_word(line, key, "=") >= 0)
                rank = INT_MAX - 1;
        }
    }
    return rank;
}

void differ_params(struct differ *d, const struct run_info *run, size_t n)
{
    size_t runs = 0, kept = 0;

    for (size_t i = 0; i < n; i++)
        if (!is_sweep(&run[i])) {
            count_run(d, &run[i], false);
            runs++;
        }
    merge(d);
    for (size_t i = 0; i < d->n; i++) {
        struct differ_key *k = &d->item[i];

        if (!is_setting(k->key) ||
            !(k->differs || (k->runs < runs && 2 * k->runs >= runs)))
            continue;
        k->rank = rank_of(k->key, run, n);
        d->swept += k->rank < INT_MAX - 1;
        d->item[kept++] = *k;
    }
    d->n = kept;
    SORT(d->item, kept, by_rank);
}

/* ---- labels -------------------------------------------------------------- */

static size_t count_texts(const char *const *text, size_t n)
{
    AUTO_FREE const char **sorted = xcalloc(n + 1, sizeof *sorted);
    size_t different = n > 0;

    memcpy(sorted, text, n * sizeof *sorted);
    SORT(sorted, n, str_compare);
    for (size_t i = 1; i < n; i++)
        different += strcmp(sorted[i], sorted[i - 1]) != 0;
    return different;
}

size_t differ_labels(const struct differ *d, const struct run_info *run,
                     size_t n, size_t most, struct arena *mem,
                     const char **label)
{
    AUTO_FREE const char **longer = xcalloc(n + 1, sizeof *longer);
    size_t different = n > 0, used = 0;

    for (size_t i = 0; i < n; i++)
        label[i] = "";
    for (size_t k = 0; k < d->n && used < most && different < n; k++) {
        const char *key = d->item[k].key;
        size_t now;

        for (size_t i = 0; i < n; i++) {
            const char *value = run_info_param(&run[i], key);

            longer[i] = !value ? label[i]
                               : arena_printf(mem, "%s%s%s %s", label[i],
                                              *label[i] ? ", " : "",
                                              str_after(key, '.'), value);
        }
        now = count_texts(longer, n);
        if (now <= different)
            continue;
        memcpy(label, longer, n * sizeof *label);
        different = now;
        used++;
    }
    return different;
}

/* Do two runs of these have different values of a parameter? */
static bool param_differs(const struct run_info *run, size_t n,
                          const char *metric, const char *key)
{
    const char *first = NULL;

    for (size_t i = 0; i < n; i++) {
        const char *value = run_info_metric(&run[i], metric)
                                ? run_info_param(&run[i], key)
                                : NULL;

        if (values_differ(first, value))
            return true;
        first = value ? value : first;
    }
    return false;
}

const char *differ_caution(const struct run_info *run, size_t n,
                           const char *metric)
{
    static const struct {
        const char *key, *caution;
    } ways[] = {
        { "derived.tokenizer",
          "the runs have different tokenizers: their losses and perplexities "
          "do not compare, val/bpb does" },
        { "derived.data.val", "the runs have different validation data" },
        { "model.context", "the runs were evaluated with different contexts" },
        { "eval.sequences",
          "the runs were evaluated on different numbers of windows" },
    };
    const bool bits = strcmp(metric, "val/bpb") == 0;
    const size_t n_ways = strncmp(metric, "val/", 4) == 0 ? 4
                          : strcmp(metric, "train/loss") == 0 ||
                                  strcmp(metric, "train/perplexity") == 0
                              ? 1
                              : 0;

    /* tokens of different tokenizers are different data, too */
    for (size_t i = 0; i < n_ways; i++)
        if (param_differs(run, n, metric, ways[i].key)) {
            if (i > 0 || !bits)
                return ways[i].caution;
            i++;
        }
    return NULL;
}

void differ_drop_sweeps(struct runs *runs, char **words, int n)
{
    size_t kept = 0;

    for (size_t i = 0; i < runs->n; i++)
        kept += !is_sweep(&runs->run[i]);
    if (kept == 0 || kept == runs->n)
        return;
    kept = 0;
    for (size_t i = 0; i < runs->n; i++)
        if (!is_sweep(&runs->run[i]) || runs_word(&runs->run[i], words, n) < n)
            runs->run[kept++] = runs->run[i];
    runs->n = kept;
}
