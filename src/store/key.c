#include "config.h"
#include "store/key.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/utf8.h"

enum { PART_MAX = 255 };

static bool is_letter(uint32_t c)
{
    size_t from = 0, to = key_letters_count;

    while (from < to) {
        const size_t mid = from + (to - from) / 2;

        if (c < key_letters[mid][0])
            to = mid;
        else if (c > key_letters[mid][1])
            from = mid + 1;
        else
            return true;
    }
    return false;
}

static bool is_allowed(int32_t c)
{
    if (c < 0)
        return false;
    if (c < 0x80)
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
               (c >= '0' && c <= '9') || (c && strchr("_.- :/", c));
    return is_letter((uint32_t)c);
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

/* Append one part, legal. */
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

/* Cut to the most characters a key may have, and where that leaves nothing or
 * only dots after the last slash, to the part before. */
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

static void append(struct path_list *l, char *name)
{
    GROW(l->name, l->n, l->room);
    l->name[l->n++] = name;
}

static int list_below(struct path_list *keys, struct path_list *folders,
                      const char *folder, const char *prefix, struct err *e)
{
    struct path_list names;
    int ret = path_list(&names, folder, e);

    for (size_t i = 0; i < names.n && ret == 0; i++) {
        char *path = path_join(folder, names.name[i]);
        char *key = xasprintf("%s%s", prefix, names.name[i]);

        if (path_is_folder(path) && path_is_link(path)) {
            free(key); /* MLflow does not go there; it may lead back here */
        } else if (path_is_folder(path)) {
            char *deeper = xasprintf("%s/", key);

            ret = list_below(keys, folders, path, deeper, e);
            free(deeper);
            if (folders)
                append(folders, key);
            else
                free(key);
        } else {
            append(keys, key);
        }
        free(path);
    }
    path_list_clear(&names);
    return ret;
}

static int by_byte(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

int key_list(struct path_list *keys, struct path_list *folders,
             const char *folder, struct err *e)
{
    *keys = (struct path_list)PATH_LIST_INIT;
    if (folders)
        *folders = (struct path_list)PATH_LIST_INIT;
    if (list_below(keys, folders, folder, "", e) < 0) {
        path_list_clear(keys);
        if (folders)
            path_list_clear(folders);
        return -1;
    }
    if (keys->n > 1)
        qsort(keys->name, keys->n, sizeof *keys->name, by_byte);
    return 0;
}
