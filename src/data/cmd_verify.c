/*
 * gdata verify - compare files with a data.lock, and check shards
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/output/table.h"
#include "data/shards/lock.h"
#include "data/shards/shard.h"
#include "data/token/tokenizer.h"

static const char *tokenizer_path, *against, *no_output;
static struct tokenizer *tokenizer;
static int64_t vocab;
static struct table_style style;

static const struct opt verify_opts[] = {
    { 'T', "tokenizer", "path", OPT_STRING, &tokenizer_path,
      "check that shards were encoded with this tokenizer" },
    { 0, "vocab", "ids", OPT_LONG, &vocab, "check that all ids are below IDS" },
    { 0, "against", "lock", OPT_STRING, &against,
      "compare locks with LOCK, not with files" },
    TABLE_OPTS(style),
    { 0 }
};

/* With --quiet, only differences are printed. */
static void add_row(struct table *t, const char *path, const char *role,
                    const char *state, bool good)
{
    if (good && !log_shows(LOG_INFO))
        return;
    table_text(t, path);
    table_text(t, role);
    table_text(t, state);
    table_mark(t, good ? MARK_GOOD : MARK_BAD);
}

/* Add a row for an entry; `what` is how it differs, or NULL. */
static void add_entry(struct table *t, const char *path,
                      const struct lock_entry *l, const char *what, int *bad)
{
    AUTO_FREE char *role = xasprintf("%s%s%s", lock_roles[l->role],
                                     *l->source ? ":" : "", l->source);

    add_row(t, path, role, what ? what : "same", !what);
    *bad += what != NULL;
}

/* How a size and a hash differ from an entry in a lock, or NULL. */
static const char *compare(int64_t size, const char *sha256,
                           const struct lock_entry *was)
{
    if (size != was->size)
        return "another size";
    return strcmp(sha256, was->sha256) == 0 ? NULL : "another content";
}

static const char *compare_file(const char *path, const struct lock_entry *was)
{
    char sha256[SHA256_TEXT];
    struct err e = { 0 };
    int64_t size;

    if (sha256_file(path, sha256, &size, &e) < 0)
        return e.kind == ERR_MISSING ? "missing" : "unreadable";
    return compare(size, sha256, was);
}

/* The entry of the same role, source and path in another lock, or NULL. */
static const struct lock_entry *find_entry(const struct lock *l,
                                           const struct lock_entry *like)
{
    for (size_t i = 0; i < l->n; i++)
        if (l->entry[i].role == like->role &&
            strcmp(l->entry[i].path, like->path) == 0 &&
            strcmp(l->entry[i].source, like->source) == 0)
            return &l->entry[i];
    return NULL;
}

/* Compare two locks, whose paths are relative to their folders. */
static int compare_locks(struct table *t, const char *path, int *bad,
                         struct err *e)
{
    AUTO(lock_clear) struct lock l = { 0 }, old = { 0 };

    if (lock_load(&l, path, e) < 0 || lock_load(&old, against, e) < 0)
        return -1;
    if (strcmp(l.vocabulary, old.vocabulary) != 0) {
        add_row(t, path, "vocabulary", "another content", false);
        ++*bad;
    }
    if (strcmp(l.clean.s, old.clean.s) != 0) {
        add_row(t, path, "clean", "other rules or counts", false);
        ++*bad;
    }
    for (size_t i = 0; i < l.n; i++) {
        const struct lock_entry *now = &l.entry[i],
                                *was = find_entry(&old, now);

        add_entry(t, now->path, now,
                  was ? compare(now->size, now->sha256, was) : "added", bad);
    }
    for (size_t i = 0; i < old.n; i++)
        if (!find_entry(&l, &old.entry[i]))
            add_entry(t, old.entry[i].path, &old.entry[i], "removed", bad);
    return 0;
}

/* Add a row for each shard that is in a folder of the lock's shards, but not in
 * the lock.  A lock that gdata encode wrote lists only the shards it wrote. */
static void list_new(struct table *t, const struct lock *l)
{
    AUTO_FREE char *last = xstrdup("");

    for (size_t i = 0; i < l->n && l->ids == 0; i++) {
        char *file = lock_path(l, &l->entry[i]), *folder = path_parent(file);
        struct path_list names = { 0 };

        if (l->entry[i].role == LOCK_TOKENS && strcmp(folder, last) != 0)
            path_list(&names, folder, ERR_IGNORED);
        for (size_t k = 0; k < names.n; k++) {
            const char *path = path_listed(&names, k);

            if ((str_ends(path, ".bin") || str_ends(path, ".npy")) &&
                !lock_entry_of(l, path)) {
                add_row(t, path, lock_roles[LOCK_TOKENS], "not listed", false);
                table_mark(t, MARK_WARN);
            }
        }
        path_list_clear(&names);
        FREE(file, last);
        last = folder;
    }
}

static int verify_lock(struct table *t, const char *path, int *bad,
                       struct err *e)
{
    AUTO(lock_clear) struct lock l = { 0 };

    if (lock_load(&l, path, e) < 0)
        return -1;
    if (tokenizer && l.ids > 0 &&
        strcmp(l.vocabulary, tokenizer_hash(tokenizer)) != 0) {
        add_row(t, tokenizer_path, "vocabulary", "another content", false);
        ++*bad;
    }
    for (size_t i = 0; i < l.n; i++) {
        AUTO_FREE char *file = lock_path(&l, &l.entry[i]);
        AUTO_FREE char *real =
            strstr(file, "/../") ? realpath(file, NULL) : NULL;

        add_entry(t, real ? real : file, &l.entry[i],
                  compare_file(file, &l.entry[i]), bad);
    }
    list_new(t, &l);
    return 0;
}

/* Read all, and find the first token that is not in the vocabulary, or -1. */
static int find_invalid(const struct shard *s, int64_t *at, uint32_t *bad,
                        struct err *e)
{
    int32_t id[SHARD_BLOCK];

    *at = -1;
    for (int64_t i = 0; *at < 0 && i < s->n; i += SHARD_BLOCK) {
        const int64_t n = s->n - i < SHARD_BLOCK ? s->n - i : SHARD_BLOCK;
        uint32_t most;

        if (shard_copy(s, i, n, id, &most, e) < 0)
            return -1;
        for (int64_t k = 0; vocab && most >= vocab && *at < 0; k++)
            if ((uint32_t)id[k] >= vocab) {
                *at = i + k;
                *bad = (uint32_t)id[k];
            }
    }
    return shard_check(s, e);
}

static void verify_shard(struct table *t, const char *path, int *bad)
{
    struct err e = { 0 };
    AUTO(shard_close) struct shard s = { 0 };
    uint32_t id;
    int64_t at;

    if (shard_open(&s, path,
                   vocab ? shard_width(vocab) : lock_width(path, tokenizer),
                   &e) < 0 ||
        find_invalid(&s, &at, &id, &e) < 0) {
        log_error("%s", e.text);
        add_row(t, path, "tokens", "damaged", false);
        ++*bad;
        return;
    }
    if (at >= 0) {
        log_error("%s: token %lld has id %u, but the vocabulary has %lld ids",
                  path, (long long)at, id, (long long)vocab);
        ++*bad;
    }
    if (at < 0 && tokenizer && lock_same_tokenizer(path, tokenizer, &e) < 0) {
        log_error("%s", e.text);
        add_row(t, path, "tokens", "another tokenizer", false);
        ++*bad;
    } else {
        add_row(t, path, "tokens", at >= 0 ? "beyond the vocabulary" : "whole",
                at < 0);
    }
}

static int verify_main(int argc, char **argv, struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("gdata.verify/1");
    int ret = 0, bad = 0;

    if (argc == 0)
        return err_usage(e, "name a data.lock or shards to verify");
    if (tokenizer_path && tokenizer_load(&tokenizer, tokenizer_path, e) < 0)
        return -1;
    table_columns(&t, "file", "role", "state", NULL);
    for (int i = 0; i < argc && ret == 0; i++) {
        if (!path_exists(argv[i]))
            ret = err_set(e, ERR_MISSING, "%s: no such file", argv[i]);
        else if (against)
            ret = compare_locks(&t, argv[i], &bad, e);
        else if (str_ends(argv[i], ".lock"))
            ret = verify_lock(&t, argv[i], &bad, e);
        else
            verify_shard(&t, argv[i], &bad);
    }
    if (ret == 0 && (table_rows(&t) > 0 || log_shows(LOG_INFO)))
        ret = table_print(&t, &style, e);
    tokenizer_free(tokenizer);
    if (ret == 0 && bad)
        ret = err_input(e, "%d file%s not as expected", bad,
                        bad == 1 ? " is" : "s are");
    return ret;
}

const struct cmd cmd_verify = {
    .name = "verify",
    .args = "FILE...",
    .help = "compare files with a data.lock, and check shards",
    .opts = verify_opts,
    .output = &no_output,
    .run = verify_main,
};
