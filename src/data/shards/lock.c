#include "config.h"
#include "data/shards/lock.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/format/source_list.h"
#include "common/log.h"
#include "common/num.h"
#include "common/path.h"
#include "common/save.h"
#include "data/shards/loader.h"
#include "data/shards/shard.h"
#include "data/token/tokenizer.h"

enum { LOCK_MAX = 16 << 20 };

static const char first_line[] = "# data.lock 1";

const char *const lock_roles[LOCK_ROLES] = {
    [LOCK_TEXT] = "text",     [LOCK_FIT] = "fit",
    [LOCK_EVAL] = "eval",     [LOCK_TOKENIZER] = "tokenizer",
    [LOCK_TOKENS] = "tokens",
};

void lock_init(struct lock *l, const char *path)
{
    AUTO_FREE char *folder = path_parent(path);

    *l = (struct lock){ .clean = BUF_INIT };
    l->path = arena_strdup(&l->mem, path);
    l->folder = arena_strdup(&l->mem, folder);
}

void lock_clear(struct lock *l)
{
    free(l->entry);
    buf_clear(&l->clean);
    arena_clear(&l->mem);
    *l = (struct lock){ 0 };
}

/* The path relative to a folder; both must exist. */
static char *relative_path(const char *folder, const char *path)
{
    AUTO_FREE char *from = realpath(folder, NULL), *to = realpath(path, NULL);
    struct buf b = BUF_INIT;
    size_t same = 0;

    if (!from || !to)
        return xstrdup(path);
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
    return buf_detach(&b);
}

/* A new entry, without hash and size. */
static int add_entry(struct lock *l, enum lock_role role, const char *path,
                     struct err *e)
{
    struct lock_entry *entry;
    AUTO_FREE char *relative = NULL;

    if (strchr(path, '\n'))
        return err_usage(e, "the name of a file has a line break: %s", path);
    entry = &APPEND(l->entry, l->n, l->room);
    relative = relative_path(l->folder, path);
    *entry = (struct lock_entry){ .role = role, .source = "" };
    entry->path = arena_strdup(&l->mem, relative);
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

int lock_add_shard(struct lock *l, const char *path, const char *sha256,
                   int64_t size, struct err *e)
{
    struct lock_entry *entry;

    if (!*sha256)
        return add_file(l, LOCK_TOKENS, path, e);
    if (add_entry(l, LOCK_TOKENS, path, e) < 0)
        return -1;
    entry = &l->entry[l->n - 1];
    memcpy(entry->sha256, sha256, sizeof entry->sha256);
    entry->size = size;
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
    AUTO(source_list_clear) struct source_list list = { 0 };
    int ret = source_list_parse(&list, sources, e);

    if (ret < 0)
        return -1;
    for (size_t k = 0; k < list.sources && ret == 0; k++)
        ret = add_source(l, source_list_first(&list, k), e);
    return ret;
}

int lock_add(struct lock *l, enum lock_role role, const char *path,
             struct err *e)
{
    AUTO(path_list_clear) struct path_list names = { 0 };
    int ret = 0;

    if (!path_is_folder(path))
        return add_file(l, role, path, e);
    if (path_list(&names, path, e) < 0)
        return -1;
    for (size_t i = 0; i < names.n && ret == 0; i++) {
        if (names.name[i][0] != '.' && !str_ends(names.name[i], ".lock"))
            ret = lock_add(l, role, path_listed(&names, i), e);
    }
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
    if (l->chat)
        fprintf(s.fp, "chat %s\n", l->chat);
    fputs(l->clean.s, s.fp);
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

    if (!*role || *role == '#')
        return 0;
    if (strcmp(role, "clean") == 0 || strcmp(role, "dropped") == 0) {
        buf_printf(&l->clean, "%s %s\n", role, line);
        return 0;
    }
    if (strcmp(role, "command") == 0 || strcmp(role, "eot") == 0) {
        *(*role == 'c' ? &l->command : &l->eot) = arena_strdup(&l->mem, line);
        return 0;
    }
    if (strcmp(role, "chat") == 0) {
        l->chat = arena_strdup(&l->mem, line);
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
    AUTO(buf_clear) struct buf text = BUF_INIT;
    char *at, *next;
    int ret = buf_read_file(&text, path, LOCK_MAX, e);

    lock_init(l, path);
    at = text.s;
    if (ret == 0 && strncmp(at, first_line, sizeof first_line - 1) != 0)
        ret =
            err_input(e, "%s:1: expected \"%s\", the first line of a data.lock",
                      path, first_line);
    for (int line = 1; *at && ret == 0; at = next, line++) {
        const size_t n = strcspn(at, "\n");

        next = at + n + (at[n] == '\n');
        at[n] = '\0';
        if (load_line(l, at) < 0)
            ret = err_input(e, "%s:%d: expected role, SHA-256, size and path",
                            path, line);
    }
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

/* ---- one shard --------------------------------------------------------- */

static bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;

    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
           x.st_ino == y.st_ino;
}

const struct lock_entry *lock_entry_of(const struct lock *l, const char *shard)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct lock_entry *entry = &l->entry[i];
        AUTO_FREE char *file = NULL;

        if (entry->role != LOCK_TOKENS ||
            strcmp(path_name(entry->path), path_name(shard)) != 0)
            continue;
        file = lock_path(l, entry);
        if (is_same_file(file, shard))
            return entry;
    }
    return NULL;
}

/* The lock of this name lists all shards of its folder. */
static const char whole_lock[] = "data.lock";

struct locks {
    struct lock *lock;
    size_t n, room;
};

/* The locks in the folder of a shard.  A file that is not a data.lock is left
 * out, because other programs have files with this suffix, too; but if it has
 * that name, it is an error, which callers may ignore. */
static int load_locks(struct locks *l, const char *shard, struct err *e)
{
    AUTO_FREE char *folder = path_parent(shard);
    AUTO(path_list_clear) struct path_list names = { 0 };
    struct err why = { 0 };
    struct lock lock;
    int ret = 0;

    *l = (struct locks){ 0 };
    path_list(&names, folder, &why);
    for (size_t i = 0; i < names.n; i++) {
        const char *path = path_listed(&names, i);

        if (str_ends(path, ".lock") && lock_load(&lock, path, &why) == 0) {
            APPEND(l->lock, l->n, l->room) = lock;
        } else if (strcmp(names.name[i], whole_lock) == 0) {
            *e = why;
            ret = -1;
        }
    }
    return ret;
}

static void clear_locks(struct locks *l)
{
    for (size_t i = 0; i < l->n; i++)
        lock_clear(&l->lock[i]);
    free(l->lock);
}

bool lock_find(struct lock *found, const char *shard)
{
    struct locks locks;

    *found = (struct lock){ 0 };
    load_locks(&locks, shard, ERR_IGNORED);
    for (size_t i = 0; i < locks.n && !found->path; i++)
        if (locks.lock[i].ids > 0 && lock_entry_of(&locks.lock[i], shard)) {
            *found = locks.lock[i];
            locks.lock[i] = (struct lock){ 0 };
        }
    clear_locks(&locks);
    return found->path;
}

int lock_width(const char *shard, const struct tokenizer *t)
{
    AUTO(lock_clear) struct lock l = { 0 };

    return lock_find(&l, shard) ? shard_width(l.ids)
           : t                  ? shard_width(tokenizer_vocab(t))
                                : 0;
}

int lock_same_tokenizer(const char *shard, const struct tokenizer *t,
                        struct err *e)
{
    AUTO(lock_clear) struct lock l = { 0 };
    int ret = 0;

    if (lock_find(&l, shard) && strcmp(l.vocabulary, tokenizer_hash(t)) != 0)
        ret =
            err_input(e,
                      "%s was encoded with another tokenizer, according to %s; "
                      "if this is intended, move that file away",
                      shard, l.path);
    return ret;
}

/* ---- the data of a run ------------------------------------------------- */

static int set_different(const struct lock *l, const char *path,
                         const char *what, struct err *e)
{
    return err_set(
        e, ERR_INPUT,
        "%s: the %s differs from %s; if this is intended, move that file away",
        path, what, l->path);
}

/* Compare the size of a file, and optionally its content. */
static int check_file(const struct lock *l, const struct lock_entry *was,
                      const char *path, bool content, struct err *e)
{
    char sha256[SHA256_TEXT];
    int64_t size;
    struct stat st;

    if (stat(path, &st) < 0)
        return err_sys(e, "cannot open %s", path);
    if (st.st_size != was->size)
        return set_different(l, path, "size", e);
    if (!content)
        return 0;
    if (sha256_file(path, sha256, &size, e) < 0)
        return -1;
    return strcmp(sha256, was->sha256) == 0
               ? 0
               : set_different(l, path, "content", e);
}

/* Returns the number of shards that the lock lists, or -1. */
static int64_t check_tokens(const struct lock *l, const struct loader *data,
                            const char *source, struct err *e)
{
    const bool lists_all = strcmp(path_name(l->path), whole_lock) == 0;
    const int64_t n = loader_shards(data);
    const struct lock_entry *least = NULL;
    const char *least_path = NULL;
    int64_t listed = 0;

    for (int64_t i = 0; i < n; i++) {
        const char *path = loader_path(data, i);
        const struct lock_entry *was = lock_entry_of(l, path);

        if (!was && lists_all)
            log_warn("%s does not list %s", l->path, path);
        if (!was)
            continue;
        if (*source && *was->source && strcmp(source, was->source) != 0)
            return err_input(e,
                             "%s is of the source %s, not %s, according to %s; "
                             "if this is intended, move that file away",
                             path, was->source, source, l->path);
        if (check_file(l, was, path, false, e) < 0)
            return -1;
        listed++;
        if (!least || was->size < least->size) {
            least = was;
            least_path = path;
        }
    }
    if (least && check_file(l, least, least_path, true, e) < 0)
        return -1;
    return listed;
}

/* Compare the tokenizer, which is the file in the lock or a folder that has a
 * file of this name. */
static int check_tokenizer(const struct lock *l, const char *tokenizer,
                           struct err *e)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct lock_entry *was = &l->entry[i];
        const char *name = path_name(was->path);
        AUTO_FREE char *path = path_is_folder(tokenizer)
                                   ? path_join(tokenizer, name)
                                   : xstrdup(tokenizer);

        if (was->role == LOCK_TOKENIZER && strcmp(path_name(path), name) == 0 &&
            path_exists(path) && check_file(l, was, path, true, e) < 0)
            return -1;
    }
    return 0;
}

static int check_lock(const struct lock *l, const struct loader *data,
                      const char *source, const struct tokenizer *t,
                      const char *tokenizer, char **chat, struct err *e)
{
    const int64_t listed = check_tokens(l, data, source, e);

    if (listed < 0)
        return -1;
    if (!t || listed == 0)
        return 0;
    if (l->chat && !*chat)
        *chat = xstrdup(l->chat);
    else if (l->chat && strcmp(l->chat, *chat) != 0)
        log_warn("%s: these conversations have another template than others "
                 "of the run, which the model will carry",
                 l->path);
    if (l->ids == 0)
        return check_tokenizer(l, tokenizer, e);
    if (strcmp(l->vocabulary, tokenizer_hash(t)) == 0)
        return 0;
    return err_input(e,
                     "%s: the tokens were encoded with another tokenizer, "
                     "according to %s; if this is intended, move that file "
                     "away",
                     tokenizer, l->path);
}

int lock_check(const struct loader *data, const char *source,
               const struct tokenizer *t, const char *tokenizer, char **chat,
               struct err *e)
{
    struct locks locks;
    int ret = load_locks(&locks, loader_path(data, 0), e);

    for (size_t i = 0; i < locks.n && ret == 0; i++)
        ret = check_lock(&locks.lock[i], data, source, t, tokenizer, chat, e);
    clear_locks(&locks);
    return ret;
}

/* The path of a shard that is listed and does not exist, or NULL. */
static char *find_missing(const struct lock *l)
{
    for (size_t i = 0; i < l->n; i++) {
        char *path = lock_path(l, &l->entry[i]);

        if (l->entry[i].role == LOCK_TOKENS && !path_exists(path))
            return path;
        free(path);
    }
    return NULL;
}

char *lock_missing(const struct loader *data)
{
    struct locks locks;
    char *path = NULL;

    load_locks(&locks, loader_path(data, 0), ERR_IGNORED);
    for (size_t i = 0; i < locks.n && !path; i++)
        path = find_missing(&locks.lock[i]);
    clear_locks(&locks);
    return path;
}

bool lock_recorded(const struct loader *data, char out[SHA256_TEXT])
{
    const int64_t n = loader_shards(data);
    struct locks locks;
    struct sha256 h;
    bool all = n > 0;

    load_locks(&locks, loader_path(data, 0), ERR_IGNORED);
    sha256_init(&h);
    for (int64_t i = 0; i < n && all; i++) {
        const struct lock_entry *was = NULL;

        for (size_t k = 0; k < locks.n && !was; k++)
            was = lock_entry_of(&locks.lock[k], loader_path(data, i));
        all = was != NULL;
        if (all)
            sha256_add(&h, was->sha256, strlen(was->sha256));
    }
    sha256_text(&h, out);
    clear_locks(&locks);
    return all;
}
