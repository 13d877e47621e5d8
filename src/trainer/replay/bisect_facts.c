/*
 * bisect_facts - what two runs recorded differently
 */
#include "config.h"
#include "trainer/replay/bisect.h"

#include <string.h>

#include "common/buf.h"
#include "store/format/info.h"

/* Facts whose names begin so, the likeliest causes first.  A name that begins
 * like two rows belongs to the first. */
static const struct fact {
    const char *begins, *kind;
    unsigned places;
    bool of_build; /* counts only if the builds differ, too */
} facts[] = {
    { "train.seed", "seed", PART_ANYWHERE },
    { "derived.data.train", "data", PART_DATA },
    { "derived.tokenizer", "data", PART_DATA | PART_STATE },
    { "data.val", NULL, 0 },
    { "data.", "data", PART_DATA },
    { "optim.", "setting", PART_UPDATE },
    { "schedule.", "setting", PART_UPDATE },
    { "model.", "setting", PART_STATE | PART_COMPUTE },
    { "train.device", "device", PART_COMPUTE | PART_UPDATE },
    { "train.threads", NULL, 0 },
    { "train.", "setting", PART_DATA | PART_COMPUTE | PART_UPDATE },
    { "parallel.", "setting", PART_COMPUTE | PART_UPDATE },
    { "derived.device", "device", PART_COMPUTE | PART_UPDATE | PART_STATE },
    { "derived.instructions", "kernel",
      PART_COMPUTE | PART_UPDATE | PART_STATE },
    { "derived.ranks", "kernel", PART_COMPUTE },
    { "derived.threads", "kernel", PART_COMPUTE },
    { "mlflow.source.git.commit", "code", PART_ANYWHERE, true },
    { "mlflow.source.git.diff", "code", PART_ANYWHERE, true },
    { "derived.build", "build", PART_ANYWHERE },
    { "gtrack.libraries", "library", PART_COMPUTE | PART_UPDATE | PART_STATE },
    { "gtrack.driver", "library", PART_COMPUTE | PART_UPDATE | PART_STATE },
    { "gtrack.gpus", "machine", PART_COMPUTE | PART_UPDATE },
    { "gtrack.cpu", "machine", PART_COMPUTE | PART_UPDATE },
};

enum { FACTS = sizeof facts / sizeof facts[0] };

static const struct fact *find_fact(const char *key)
{
    for (int i = 0; i < FACTS; i++)
        if (strncmp(key, facts[i].begins, strlen(facts[i].begins)) == 0)
            return &facts[i];
    return NULL;
}

/* As it was at the step. */
static const char *find_value(const struct run_info *r, bool tag,
                              const char *key, int64_t step)
{
    return tag ? run_info_tag(r, key) : changed_param(r, key, step);
}

static bool has_word(const char *s, const char *word, size_t n)
{
    for (; *s; s += strspn(s, " ")) {
        const size_t len = strcspn(s, " ");

        if (len == n && strncmp(s, word, n) == 0)
            return true;
        s += len;
    }
    return false;
}

/* The words of a list, as of libraries, that the other list lacks. */
static void add_words(struct table *t, const char *s, const char *other)
{
    struct buf words = BUF_INIT;

    for (; *s; s += strspn(s, " ")) {
        const size_t len = strcspn(s, " ");

        if (!has_word(other, s, len))
            buf_printf(&words, "%s%.*s", words.len ? " " : "", (int)len, s);
        s += len;
    }
    table_text(t, words.s);
    buf_clear(&words);
}

/* A value in the table: its first line, or what the other value lacks. */
static void add_value(struct table *t, const char *key, const char *s,
                      const char *other)
{
    if (s && other && strcmp(key, "gtrack.libraries") == 0)
        add_words(t, s, other);
    else if (s)
        table_printf(t, "%.*s", (int)strcspn(s, "\n"), s);
    else
        table_none(t);
}

/* The pairs of one run, compared with the other's; with `only`, those alone
 * that the other lacks. */
static int add_pairs(struct table *t, const struct fact *f,
                     const struct run_info *r, const struct run_info *other,
                     int64_t step, bool tag, bool only)
{
    const struct pair *pair = tag ? r->tags : r->params;
    const size_t n = tag ? r->n_tags : r->n_params;
    int added = 0;

    for (size_t i = 0; i < n; i++) {
        const char *own = find_value(r, tag, pair[i].key, step);
        const char *value = find_value(other, tag, pair[i].key, step);

        if (find_fact(pair[i].key) != f || (only && value) ||
            (value && strcmp(value, own) == 0))
            continue;
        table_text(t, f->kind);
        table_text(t, pair[i].key);
        add_value(t, pair[i].key, only ? NULL : own, value);
        add_value(t, pair[i].key, only ? own : value, only ? NULL : own);
        added++;
    }
    return added;
}

/* Builds are compared by their programs, not by the commit of the folder. */
static bool is_same_build(const struct run_info *a, const struct run_info *b,
                          int64_t step)
{
    const char *x = changed_param(a, "derived.build", step);
    const char *y = changed_param(b, "derived.build", step);

    return x && y && strcmp(x, y) == 0;
}

int bisect_facts(struct table *t, const struct run_info *a,
                 const struct run_info *b, int64_t step,
                 enum bisect_place place)
{
    const bool same_build = is_same_build(a, b, step);
    int added = 0;

    for (int i = 0; i < FACTS; i++) {
        if (!(facts[i].places & place) || (facts[i].of_build && same_build))
            continue;
        for (int tag = 0; tag < 2; tag++) {
            added += add_pairs(t, &facts[i], a, b, step, tag, false);
            added += add_pairs(t, &facts[i], b, a, step, tag, true);
        }
    }
    return added;
}
