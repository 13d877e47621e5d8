#include "config.h"
#include "store/format/rewind.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "store/format/key.h"
#include "store/format/metric.h"
#include "store/format/store.h"

enum { REWINDS_MAX = 64 << 20 };

static char *rewinds_path(const char *run)
{
    return path_join(run, STORE_OWN "/rewinds");
}

/* A decimal number and the one character after it. */
static bool take_int(char **at, char after, int64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoll(*at, &end, 10);
    if (end == *at || *end != after || errno)
        return false;
    *at = end + 1;
    return true;
}

static void add_cut(struct rewind_list *list, struct arena *mem,
                    const char *key, int64_t offset, int64_t step)
{
    list->cut = arena_grow(mem, list->cut, list->n, sizeof *list->cut);
    list->cut[list->n] =
        (struct rewind_cut){ arena_strdup(mem, key), list->n, offset, step };
    list->n++;
}

/* One block; false at the end, or where it is not whole.  The marks of this key
 * are added to the list, or all of them if it is NULL. */
static bool take_block(struct rewind_list *list, struct arena *mem, char **at,
                       const char *end, const char *key)
{
    int64_t step, ms, attempt, count, offset;
    const size_t before = list->n;
    char *s = *at;

    if (strncmp(s, "rewind ", 7) != 0)
        return false;
    s += 7;
    if (!take_int(&s, ' ', &step) || !take_int(&s, ' ', &ms) ||
        !take_int(&s, ' ', &attempt) || !take_int(&s, '\n', &count) ||
        count < 0 || count > (end - s) / 4)
        return false;
    for (int64_t i = 0; i < count; i++) {
        char *newline;

        if (!take_int(&s, ' ', &offset) || !(newline = strchr(s, '\n'))) {
            list->n = before;
            return false;
        }
        *newline = '\0';
        if (!key || strcmp(s, key) == 0)
            add_cut(list, mem, s, offset, step);
        *newline = '\n';
        s = newline + 1;
    }
    *at = s;
    return true;
}

static int by_key(const void *a, const void *b)
{
    const struct rewind_cut *x = a, *y = b;
    const int order = strcmp(x->key, y->key);

    return order ? order : (x->place > y->place) - (x->place < y->place);
}

/* By key; a later cut cuts earlier points, too. */
static void sort(struct rewind_list *list)
{
    struct rewind_cut *cut = list->cut;

    SORT(cut, list->n, by_key);
    for (size_t i = list->n; i-- > 1;)
        if (cut[i].step < cut[i - 1].step &&
            strcmp(cut[i].key, cut[i - 1].key) == 0)
            cut[i - 1].step = cut[i].step;
}

const struct rewind_cut *rewind_cuts(const struct rewind_list *list,
                                     const char *key, size_t *n)
{
    size_t from = 0, to = list->n;

    while (from < to) {
        const size_t mid = from + (to - from) / 2;

        if (strcmp(list->cut[mid].key, key) < 0)
            from = mid + 1;
        else
            to = mid;
    }
    while (to < list->n && strcmp(list->cut[to].key, key) == 0)
        to++;
    *n = to - from;
    return list->n ? list->cut + from : NULL;
}

int rewinds_load(struct rewind_list *list, struct arena *mem, const char *run,
                 const char *key, enum path_links links, struct err *e)
{
    char *path = rewinds_path(run);
    struct buf b = BUF_INIT;
    const int ret =
        buf_read_open(&b, path_open(path, links, e), path, REWINDS_MAX, e);

    *list = (struct rewind_list){ 0 };
    if (ret == 0) {
        char *at = b.s;

        while (take_block(list, mem, &at, b.s + b.len, key))
            ;
        sort(list);
    }
    buf_clear(&b);
    free(path);
    return err_allow(ret, ERR_MISSING, e);
}

/* Metrics of the machine count steps of their own, which a rewind leaves. */
static bool has_own_steps(const char *key)
{
    return strncmp(key, "system/", 7) == 0;
}

/* One line for each metric that has become longer since the last cut: how long
 * its file is. */
static int mark_files(struct buf *marks, size_t *n,
                      const struct rewind_list *before, const char *run,
                      struct err *e)
{
    char *folder = path_join(run, "metrics");
    struct path_list keys;
    int ret = key_list(&keys, NULL, folder, PATH_NO_LINKS, e);

    *n = 0;
    for (size_t i = 0; ret == 0 && i < keys.n; i++) {
        const char *path = path_listed(&keys, i);
        size_t cuts;
        const struct rewind_cut *cut = rewind_cuts(before, keys.name[i], &cuts);
        int64_t size;

        if (!has_own_steps(keys.name[i])) {
            ret = metric_repair(path, &size, e);
            if (cuts == 0 || cut[cuts - 1].offset < size) {
                buf_printf(marks, "%lld %s\n", (long long)size, keys.name[i]);
                ++*n;
            }
        }
    }
    path_list_clear(&keys);
    free(folder);
    return ret;
}

/* The blocks that cut back to before this step.  A cut back to it cuts all that
 * the others did. */
static void keep_blocks(struct buf *kept, struct rewind_list *list,
                        struct arena *mem, const struct buf *text, int64_t step)
{
    char *at = text->s, *from = at;
    size_t before = 0;

    while (take_block(list, mem, &at, text->s + text->len, NULL)) {
        if (list->n > before && list->cut[before].step < step)
            buf_add(kept, from, (size_t)(at - from));
        else
            list->n = before;
        before = list->n;
        from = at;
    }
    sort(list);
}

int rewind_add(const char *run, int attempt, int64_t step, int64_t ms,
               struct err *e)
{
    char *path = rewinds_path(run);
    struct rewind_list list = { 0 };
    struct arena mem = { 0 };
    struct buf was = BUF_INIT, marks = BUF_INIT, b = BUF_INIT;
    size_t n;
    int ret = err_allow(buf_read_unlinked(&was, path, REWINDS_MAX, e),
                        ERR_MISSING, e);

    keep_blocks(&b, &list, &mem, &was, step);
    if (ret == 0)
        ret = mark_files(&marks, &n, &list, run, e);
    if (ret == 0) {
        buf_printf(&b, "rewind %lld %lld %d %zu\n", (long long)step,
                   (long long)ms, attempt, n);
        buf_add(&b, marks.s, marks.len);
        if (b.len > REWINDS_MAX)
            ret = err_set(e, ERR_INPUT,
                          "%s would be larger than %d bytes: the run was "
                          "resumed too often",
                          path, REWINDS_MAX);
    }
    if (ret == 0)
        ret = store_write_below(run, path, NULL, b.s, b.len, true, e);
    buf_clear(&b);
    buf_clear(&marks);
    buf_clear(&was);
    arena_clear(&mem);
    free(path);
    return ret;
}
