#include "config.h"
#include "store/format/key.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/format/unicode.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/utf8.h"

/* -- what a key may be ------------------------------------------------- */

enum { PART_MAX = 255 };

/* MLflow accepts what Python's \w matches, and a few signs. */
static bool is_allowed(int32_t c)
{
    if (c <= 0)
        return false;
    switch (unicode_class((uint32_t)c)) {
    case UNICODE_LETTER:
    case UNICODE_NUMBER:
        return true;
    default:
        return c < 0x80 && strchr("_.- :/", c);
    }
}

/* May this stand between two slashes? */
static bool is_part(const char *s, size_t n)
{
    return n > 0 && n <= PART_MAX && !(n == 1 && s[0] == '.') &&
           !(n == 2 && s[0] == '.' && s[1] == '.');
}

const char *key_problem(const char *key)
{
    for (const char *s = key; *s;)
        if (!is_allowed(utf8_next(&s)))
            return "has a character that is not allowed";
    for (const char *s = key;; s++) {
        const size_t part = strcspn(s, "/");

        if (!is_part(s, part))
            return part > PART_MAX ? "has a part longer than 255 bytes"
                                   : "is not a path in its simplest form";
        s += part;
        if (*s == '\0')
            break;
    }
    return utf8_count(key) > KEY_MAX ? "is longer than 250 characters" : NULL;
}

/* Append one part, made legal. */
static void clean_part(struct buf *b, const char *s, size_t n)
{
    const size_t start = b->len;
    const char *const end = s + n;

    while (s < end) {
        const char *const from = s;
        const int32_t c = utf8_next(&s);

        if (b->len - start + (size_t)(s - from) > PART_MAX)
            break;
        if (is_allowed(c))
            buf_add(b, from, (size_t)(s - from));
        else
            buf_char(b, '_');
    }
    if (!is_part(b->s + start, b->len - start)) {
        buf_trim(b, start);
        buf_char(b, '_');
    }
}

/* Cut to KEY_MAX characters; if nothing or only dots remain after the last
 * slash, cut before it. */
static void cut(struct buf *b)
{
    const char *s = b->s, *slash;

    for (int i = 0; i < KEY_MAX && *s; i++)
        utf8_next(&s);
    buf_trim(b, (size_t)(s - b->s));
    slash = strrchr(b->s, '/');
    if (slash && !is_part(slash + 1, strlen(slash + 1)))
        buf_trim(b, (size_t)(slash - b->s));
}

char *key_clean(const char *key)
{
    struct buf b = BUF_INIT;

    for (const char *s = key;;) {
        const size_t part = strcspn(s, "/");

        if (part > 0) {
            if (b.len)
                buf_char(&b, '/');
            clean_part(&b, s, part);
        }
        s += part;
        if (*s == '\0')
            break;
        s++;
    }
    if (b.len == 0)
        buf_char(&b, '_');
    cut(&b);
    return buf_detach(&b);
}

/* -- the files of a folder --------------------------------------------- */

bool key_list_full(const struct path_list *keys,
                   const struct path_list *folders)
{
    return keys->n + (folders ? folders->n : 0) >= KEYS_MOST;
}

struct listing {
    struct path_list *keys, *folders;
    const char *folder;
    int fd; /* of the folder: its name may be changed meanwhile */
};

static int list_below(const struct listing *l, const char *prefix,
                      struct err *e)
{
    const size_t more =
        KEYS_MOST - l->keys->n - (l->folders ? l->folders->n : 0);
    AUTO(path_list_clear) struct path_list names = { 0 };
    int ret =
        path_list_at(&names, l->fd, *prefix ? prefix : ".", l->folder, more, e);

    for (size_t i = 0;
         i < names.n && ret == 0 && !key_list_full(l->keys, l->folders); i++) {
        AUTO_FREE char *key = xasprintf("%s%s", prefix, names.name[i]);
        struct stat st;
        const bool folder =
            fstatat(l->fd, key, &st, 0) == 0 && S_ISDIR(st.st_mode);

        if (folder && fstatat(l->fd, key, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISLNK(st.st_mode)) {
            ; /* MLflow does not go there; it may lead back here */
        } else if (folder) {
            AUTO_FREE char *deeper = xasprintf("%s/", key);

            ret = list_below(l, deeper, e);
            if (l->folders)
                path_list_put(l->folders, l->folder, key);
        } else {
            path_list_put(l->keys, l->folder, key);
        }
    }
    return ret;
}

int key_list(struct path_list *keys, struct path_list *folders,
             const char *folder, enum path_links links, struct err *e)
{
    const int flag = links == PATH_NO_LINKS ? O_NOFOLLOW : 0;
    const struct listing l = { keys, folders, folder,
                               open(folder,
                                    O_PATH | O_DIRECTORY | O_CLOEXEC | flag) };
    int ret = 0;

    *keys = (struct path_list){ 0 };
    if (folders)
        *folders = (struct path_list){ 0 };
    if (l.fd < 0) {
        ret = err_sys(e, "cannot list %s", folder);
        if (e->sys == ENOENT || e->sys == ENOTDIR)
            e->kind = ERR_MISSING;
    } else {
        ret = list_below(&l, "", e);
        close(l.fd);
    }
    if (ret < 0) {
        path_list_clear(keys);
        if (folders)
            path_list_clear(folders);
        return -1;
    }
    path_list_sort(keys);
    return 0;
}

/* -- the files of keys ------------------------------------------------- */

const char *const key_folders[KINDS] = { "params", "tags", "metrics" };

/* Are the first n bytes the name of a file, in the table or on disk? */
static bool is_file(const struct key_table *t, const char *file, size_t n)
{
    AUTO_FREE char *part = xstrndup(file, n),
                   *path = path_join(t->folder, part);
    struct stat st;
    bool found = stat(path, &st) == 0 && !S_ISDIR(st.st_mode);

    for (size_t i = 0; i < t->n && !found; i++)
        found = strcmp(t->item[i].file, part) == 0;
    return found;
}

/* Where names ignore case: are the first n bytes those of another file but for
 * the case? */
static bool is_other_case(const struct key_table *t, const char *file, size_t n)
{
    for (size_t i = 0; t->folds && i < t->n; i++) {
        const char *a = t->item[i].file, *b = file;
        bool same = true;

        while (same && *a && b < file + n)
            same = utf8_fold(utf8_next(&a)) == utf8_fold(utf8_next(&b));
        if (same && b == file + n && (*a == '\0' || *a == '/') &&
            strncmp(t->item[i].file, file, n) != 0)
            return true;
    }
    return false;
}

/* Is this so of the whole, or of a folder in it? */
static bool has_twin(const struct key_table *t, const char *file)
{
    for (size_t i = 0; file[i]; i++)
        if (file[i] == '/' && is_other_case(t, file, i))
            return true;
    return is_other_case(t, file, strlen(file));
}

/* Is it the file of another key, or a folder? */
static bool is_taken(const struct key_table *t, const char *file)
{
    const size_t n = strlen(file);
    AUTO_FREE char *path = path_join(t->folder, file);
    const bool folder = path_is_folder(path);

    for (size_t i = 0; i < t->n; i++) {
        const char *other = t->item[i].file;

        if (strncmp(other, file, n) == 0 &&
            (other[n] == '\0' || other[n] == '/'))
            return true;
    }
    return folder;
}

/* The end of the part that conflicts with another file or folder, or 0. */
static size_t conflict(const struct key_table *t, const char *file)
{
    for (size_t i = 1; file[i]; i++)
        if (file[i] == '/' &&
            (is_file(t, file, i) || is_other_case(t, file, i)))
            return i;
    return is_taken(t, file) || is_other_case(t, file, strlen(file))
               ? strlen(file)
               : 0;
}

/* The file of a legal key: a part that conflicts is made longer. */
static char *file_path(const struct key_table *t, char *file)
{
    size_t at;

    while ((at = conflict(t, file)) > 0) {
        char *wide = xasprintf("%.*s_%s", (int)at, file, file + at);

        free(file);
        file = wide;
    }
    return file;
}

static void add_file(struct key_table *t, const char *key, char *file)
{
    APPEND(t->item, t->n, t->room).key = xstrdup(key);
    t->item[t->n - 1].file = file;
}

/* The beginning of the tags that note the keys of a kind. */
static char *note_prefix(enum key_kind kind)
{
    return xasprintf("gtrack.key.%s.", key_folders[kind]);
}

/* Read the tags that note the keys of a kind. */
static void recall(struct key_table *t, enum key_kind kind,
                   const struct path_list *tags)
{
    AUTO_FREE char *prefix = note_prefix(kind);
    const size_t n = strlen(prefix);

    for (size_t i = 0; i < tags->n; i++) {
        AUTO(buf_clear) struct buf key = BUF_INIT;

        if (strncmp(tags->name[i], prefix, n) == 0 &&
            buf_read_unlinked(&key, path_listed(tags, i), 65536, ERR_IGNORED) ==
                0)
            add_file(t, key.s, xstrdup(tags->name[i] + n));
    }
}

/* Is a run the same folder by its name in capitals? */
static bool ignores_case(const char *run)
{
    AUTO_FREE char *capitals = xstrdup(run);
    struct stat a, b;

    for (char *s = capitals + (path_name(run) - run); *s; s++)
        *s = (char)toupper((unsigned char)*s);
    return strcmp(capitals, run) != 0 && stat(run, &a) == 0 &&
           stat(capitals, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

/* Where names ignore case, those of all files count. */
static void add_files(struct key_table *t)
{
    AUTO(path_list_clear) struct path_list names = { 0 };

    if (key_list(&names, NULL, t->folder, PATH_NO_LINKS, ERR_IGNORED) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        size_t k = 0;

        while (k < t->n && strcmp(t->item[k].file, names.name[i]) != 0)
            k++;
        if (k == t->n)
            add_file(t, names.name[i], xstrdup(names.name[i]));
    }
}

void key_files_load(struct key_files *files, const char *run)
{
    const bool folds = ignores_case(run);
    AUTO_FREE char *folder = path_join(run, key_folders[TAG]);
    AUTO(path_list_clear) struct path_list tags = { 0 };

    key_list(&tags, NULL, folder, PATH_NO_LINKS, ERR_IGNORED);
    for (enum key_kind kind = 0; kind < KINDS; kind++) {
        struct key_table *t = &files->table[kind];

        *t = (struct key_table){ .folder = path_join(run, key_folders[kind]),
                                 .folds = folds };
        recall(t, kind, &tags);
        if (folds)
            add_files(t);
    }
}

void key_files_clear(struct key_files *files)
{
    for (int kind = 0; kind < KINDS; kind++) {
        struct key_table *t = &files->table[kind];

        for (size_t i = 0; i < t->n; i++)
            FREE(t->item[i].key, t->item[i].file);
        FREE(t->item, t->folder);
    }
    *files = (struct key_files){ 0 };
}

const char *key_file(struct key_files *files, enum key_kind kind,
                     const char *key, char **tag)
{
    struct key_table *t = &files->table[kind];
    char *file;
    bool twin;

    *tag = NULL;
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->item[i].key, key) == 0)
            return t->item[i].file;
    file = key_problem(key) ? key_clean(key) : xstrdup(key);
    twin = has_twin(t, file);
    file = file_path(t, file);
    if (twin)
        log_warn("the names of files ignore case here, so %s is kept as %s in "
                 "%s",
                 key, file, t->folder);
    add_file(t, key, file);
    if (strcmp(file, key) != 0) {
        AUTO_FREE char *prefix = note_prefix(kind);

        *tag = xasprintf("%s%s", prefix, file);
    }
    if (*tag && key_problem(*tag)) { /* it is too long: the key is lost */
        free(*tag);
        *tag = NULL;
    }
    return file;
}
