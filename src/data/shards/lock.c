#include "config.h"
#include "data/shards/lock.h"

#include <glob.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/format/source_list.h"
#include "common/num.h"
#include "common/path.h"
#include "common/save.h"
#include "common/machine/threads.h"

enum { LOCK_MAX = 16 << 20 };

static const char first_line[] = "# data.lock 1";

const char *const lock_roles[LOCK_ROLES] = {
    [LOCK_TEXT] = "text",     [LOCK_FIT] = "fit",
    [LOCK_EVAL] = "eval",     [LOCK_TOKENIZER] = "tokenizer",
    [LOCK_TOKENS] = "tokens",
};

void lock_init(struct lock *l, const char *path)
{
    char *folder = path_parent(path);

    *l = (struct lock){ 0 };
    l->path = arena_strdup(&l->mem, path);
    l->folder = arena_strdup(&l->mem, folder);
    free(folder);
}

void lock_clear(struct lock *l)
{
    free(l->entry);
    arena_clear(&l->mem);
    *l = (struct lock){ 0 };
}

/* The path relative to a folder; both must exist. */
static char *relative_path(const char *folder, const char *path)
{
    char *from = realpath(folder, NULL), *to = realpath(path, NULL);
    struct buf b = BUF_INIT;
    size_t same = 0;

    if (!from || !to) {
        FREE(from, to);
        return xstrdup(path);
    }
    if (strcmp(from, "/") == 0)
        from[0] = '\0';
    for (size_t i = 0;; i++) { /* find the last common slash */
        const bool ends = from[i] == '\0' || from[i] == '/';

        if (ends && to[i] == '/')
            same = i;
        if (from[i] != to[i] || from[i] == '\0')
            break;
    }
    for (const char *p = from + same; *p; p++)
        if (*p == '/')
            buf_str(&b, "../");
    buf_str(&b, to + same + 1);
    FREE(from, to);
    return buf_detach(&b);
}

/* A new entry, without hash and size. */
static int add_entry(struct lock *l, enum lock_role role, const char *path,
                     struct err *e)
{
    struct lock_entry *entry;
    char *relative;

    if (strchr(path, '\n'))
        return err_set(e, ERR_USAGE, "the name of a file has a line break: %s",
                       path);
    entry = &APPEND(l->entry, l->n, l->room);
    relative = relative_path(l->folder, path);
    *entry = (struct lock_entry){ .role = role, .source = "" };
    entry->path = arena_strdup(&l->mem, relative);
    free(relative);
    return 0;
}

static int add_file(struct lock *l, enum lock_role role, const char *path,
                    struct err *e)
{
    struct lock_entry *entry;

    if (add_entry(l, role, path, e) < 0)
        return -1;
    entry = &l->entry[l->n - 1];
    return sha256_file(path, entry->sha256, &entry->size, e);
}

/* Shards whose hashes are computed. */
struct hashing {
    char *const *path;
    struct lock_entry *entry;
    size_t n;
    atomic_size_t next;
};

static void hash_shards(void *arg)
{
    struct hashing *h = arg;
    size_t i;

    while ((i = atomic_fetch_add(&h->next, 1)) < h->n)
        if (sha256_file(h->path[i], h->entry[i].sha256, &h->entry[i].size,
                        ERR_IGNORED) < 0)
            h->entry[i].size = -1;
}

int lock_add_shards(struct lock *l, char *const *path, size_t n, int threads,
                    struct err *e)
{
    struct hashing h = { .path = path, .n = n };
    const size_t had = l->n;

    for (size_t i = 0; i < n; i++)
        if (add_entry(l, LOCK_TOKENS, path[i], e) < 0)
            return -1;
    h.entry = l->entry + had;
    threads_run(hash_shards, &h, 0, n < (size_t)threads ? (int)n : threads);
    for (size_t i = 0; i < n; i++) /* the error is that of another try */
        if (h.entry[i].size < 0 &&
            sha256_file(path[i], h.entry[i].sha256, &h.entry[i].size, e) < 0)
            return -1;
    return 0;
}

static int add_source(struct lock *l, const struct source_part *p,
                      struct err *e)
{
    glob_t found = { 0 };
    int ret = glob(p->files, GLOB_BRACE, NULL, &found);

    if (ret)
        ret = err_set(e, ERR_MISSING, "%s: no shard matches %s", p->name,
                      p->files);
    for (size_t i = 0; ret == 0 && i < found.gl_pathc; i++) {
        ret = add_file(l, LOCK_TOKENS, found.gl_pathv[i], e);
        if (ret == 0)
            l->entry[l->n - 1].source = arena_strdup(&l->mem, p->name);
    }
    globfree(&found);
    return ret;
}

int lock_add_sources(struct lock *l, const char *sources, struct err *e)
{
    struct source_list list;
    int ret = source_list_parse(&list, sources, e);

    if (ret < 0)
        return -1;
    for (size_t k = 0; k < list.sources && ret == 0; k++)
        ret = add_source(l, source_list_first(&list, k), e);
    source_list_clear(&list);
    return ret;
}

int lock_add(struct lock *l, enum lock_role role, const char *path,
             struct err *e)
{
    struct path_list names;
    int ret = 0;

    if (!path_is_folder(path))
        return add_file(l, role, path, e);
    if (path_list(&names, path, e) < 0)
        return -1;
    for (size_t i = 0; i < names.n && ret == 0; i++) {
        if (names.name[i][0] != '.' && !str_ends(names.name[i], ".lock"))
            ret = lock_add(l, role, path_listed(&names, i), e);
    }
    path_list_clear(&names);
    return ret;
}

static int by_role_and_path(const void *a, const void *b)
{
    const struct lock_entry *x = a, *y = b;

    if (x->role != y->role)
        return x->role < y->role ? -1 : 1;
    return strcmp(x->path, y->path);
}

int lock_write(struct lock *l, const char *path, struct err *e)
{
    struct save s = { 0 };

    if (save_open(&s, path, e) < 0)
        return -1;
    SORT(l->entry, l->n, by_role_and_path);
    fprintf(s.fp, "%s\n", first_line);
    if (l->command)
        fprintf(s.fp, "command %s\n", l->command);
    if (l->ids > 0)
        fprintf(s.fp, "vocabulary %s %lld\n", l->vocabulary, (long long)l->ids);
    if (l->eot)
        fprintf(s.fp, "eot %s\n", l->eot);
    if (l->clean)
        fputs(l->clean, s.fp);
    for (size_t i = 0; i < l->n; i++) {
        const struct lock_entry *entry = &l->entry[i];

        if (i && by_role_and_path(entry - 1, entry) == 0)
            continue;
        fprintf(s.fp, "%s%s%s %s %lld %s\n", lock_roles[entry->role],
                *entry->source ? ":" : "", entry->source, entry->sha256,
                (long long)entry->size, entry->path);
    }
    return save_commit(&s, e);
}

/* The next word of a line, which ends at a blank. */
static char *next_word(char **at)
{
    char *start = *at;
    const size_t n = strcspn(start, " ");

    *at = start + n + (start[n] == ' ');
    start[n] = '\0';
    return start;
}

/* Parse a line: 0, or -1 if lock_write() would not write it. */
static int load_line(struct lock *l, char *line)
{
    struct lock_entry entry = { .role = LOCK_ROLES, .source = "" };
    char *role = next_word(&line), *source = strchr(role, ':');
    const char *sha256, *size;

    if (!*role || *role == '#' || strcmp(role, "clean") == 0 ||
        strcmp(role, "dropped") == 0)
        return 0;
    if (strcmp(role, "command") == 0 || strcmp(role, "eot") == 0) {
        *(*role == 'c' ? &l->command : &l->eot) = arena_strdup(&l->mem, line);
        return 0;
    }
    if (strcmp(role, "vocabulary") == 0) {
        sha256 = next_word(&line);
        if (!sha256_is_text(sha256) || !num_int(line, &l->ids) || l->ids < 1)
            return -1;
        memcpy(l->vocabulary, sha256, SHA256_TEXT);
        return 0;
    }
    if (source) {
        *source++ = '\0';
        entry.source = arena_strdup(&l->mem, source);
    }
    for (int i = 0; i < LOCK_ROLES; i++)
        if (strcmp(role, lock_roles[i]) == 0)
            entry.role = (enum lock_role)i;
    sha256 = next_word(&line);
    size = next_word(&line);
    if (entry.role == LOCK_ROLES ||
        (source && (entry.role != LOCK_TOKENS || !*source)) ||
        !sha256_is_text(sha256) || !num_int(size, &entry.size) || !*line)
        return -1;
    memcpy(entry.sha256, sha256, SHA256_TEXT);
    entry.path = arena_strdup(&l->mem, line);
    APPEND(l->entry, l->n, l->room) = entry;
    return 0;
}

int lock_load(struct lock *l, const char *path, struct err *e)
{
    struct buf text = BUF_INIT;
    char *at, *next;
    int ret = buf_read_file(&text, path, LOCK_MAX, e);

    lock_init(l, path);
    at = text.s;
    if (ret == 0 && strncmp(at, first_line, sizeof first_line - 1) != 0)
        ret = err_set(e, ERR_INPUT,
                      "%s:1: expected \"%s\", the first line of a data.lock",
                      path, first_line);
    for (int line = 1; *at && ret == 0; at = next, line++) {
        const size_t n = strcspn(at, "\n");

        next = at + n + (at[n] == '\n');
        at[n] = '\0';
        if (load_line(l, at) < 0)
            ret = err_set(e, ERR_INPUT,
                          "%s:%d: expected role, SHA-256, size and path", path,
                          line);
    }
    buf_clear(&text);
    if (ret < 0)
        lock_clear(l);
    return ret;
}

char *lock_path(const struct lock *l, const struct lock_entry *entry)
{
    if (entry->path[0] == '/' || strcmp(l->folder, ".") == 0)
        return xstrdup(entry->path);
    return path_join(l->folder, entry->path);
}
