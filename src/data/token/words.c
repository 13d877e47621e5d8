#include "config.h"
#include "data/token/words.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "data/token/pretokenize.h"

enum { AHEAD = 16 };

void words_init(struct words *w, size_t limit)
{
    *w = (struct words){ .limit = limit };
}

static void free_tables(struct words *w)
{
    free(w->small);
    free(w->large);
    free(w->text);
    w->small = NULL;
    w->large = NULL;
    w->text = NULL;
    w->n_small = w->small_room = w->n_large = w->large_room = 0;
    w->n_text = w->text_room = 0;
}

void words_clear(struct words *w)
{
    free_tables(w);
    for (size_t i = 0; i < w->n_spills; i++)
        fclose(w->spill[i]);
    free(w->spill);
    *w = (struct words){ 0 };
}

/* The slot where the search for a short word begins. */
static size_t small_first(const struct words *w, struct word_key k)
{
    return (size_t)((word_key_hash(k) >> 32) * w->small_room >> 32);
}

static struct short_word *small_slot(struct words *w, struct word_key k)
{
    const size_t mask = w->small_room - 1;
    size_t i = small_first(w, k);

    while (w->small[i].count > 0 &&
           (w->small[i].key.a != k.a || w->small[i].key.b != k.b))
        i = (i + 1) & mask;
    return &w->small[i];
}

static void small_grow(struct words *w)
{
    struct short_word *old = w->small;
    const size_t n = w->small_room;

    w->small_room = n ? 2 * n : 1 << 14;
    w->small = xcalloc(w->small_room, sizeof *w->small);
    for (size_t i = 0; i < n; i++)
        if (old[i].count > 0)
            *small_slot(w, old[i].key) = old[i];
    free(old);
}

static struct long_word *large_slot(struct words *w, uint64_t hash,
                                    const uint8_t *s, uint32_t n)
{
    const size_t mask = w->large_room - 1;
    size_t i = (size_t)hash & mask;

    for (; w->large[i].count > 0; i = (i + 1) & mask) {
        const struct long_word *l = &w->large[i];

        if (l->hash == hash && l->len == n &&
            memcmp(w->text + l->at, s, n) == 0)
            break;
    }
    return &w->large[i];
}

static void large_grow(struct words *w)
{
    struct long_word *old = w->large;
    const size_t n = w->large_room;

    w->large_room = n ? 2 * n : 1 << 10;
    w->large = xcalloc(w->large_room, sizeof *w->large);
    for (size_t i = 0; i < n; i++) {
        if (old[i].count > 0) {
            size_t k = (size_t)old[i].hash & (w->large_room - 1);

            while (w->large[k].count > 0)
                k = (k + 1) & (w->large_room - 1);
            w->large[k] = old[i];
        }
    }
    free(old);
}

static void add_text(uint8_t **text, size_t *n, size_t *room, const void *s,
                     size_t len)
{
    if (*n + len > *room) {
        *room = *n + len > 2 * *room ? *n + len + 4096 : 2 * *room;
        *text = xrealloc(*text, *room, 1);
    }
    memcpy(*text + *n, s, len);
    *n += len;
}

static void count_large(struct words *w, const uint8_t *s, uint32_t n)
{
    const uint64_t hash = word_key_hash_bytes(s, n);
    struct long_word *l;

    if (2 * w->n_large >= w->large_room)
        large_grow(w);
    l = large_slot(w, hash, s, n);
    if (l->count++ > 0)
        return;
    l->hash = hash;
    l->at = w->n_text;
    l->len = n;
    w->n_large++;
    add_text(&w->text, &w->n_text, &w->text_room, s, n);
}

void words_count(struct words *w, const uint8_t *text, const uint8_t *end,
                 const uint32_t *stop, size_t n)
{
    struct word_key key[PRETOKENIZE_BATCH];
    size_t count = 0;
    uint32_t at = 0;

    w->pieces += (int64_t)n;
    for (size_t i = 0; i < n; i++) {
        const uint32_t len = stop[i] - at;

        if (len <= WORD_MAX)
            key[count++] = word_key_last(text + at, end, len);
        else
            count_large(w, text + at, len);
        at = stop[i];
    }
    while (2 * (w->n_small + count) >= w->small_room)
        small_grow(w);
    for (size_t i = 0; i < count; i++) {
        struct short_word *s;

        if (i + AHEAD < count)
            __builtin_prefetch(&w->small[small_first(w, key[i + AHEAD])]);
        s = small_slot(w, key[i]);
        w->n_small += s->count == 0;
        s->key = key[i];
        s->count++;
    }
}

/* The memory of the tables, also while they are being doubled. */
static size_t memory_size(const struct words *w)
{
    return w->small_room * sizeof *w->small * 3 +
           w->large_room * sizeof *w->large * 3 + w->text_room;
}

bool words_full(const struct words *w)
{
    return w->limit > 0 && memory_size(w) > w->limit;
}

/* A word of either table, for sorting and adding up. */
struct word_view {
    const uint8_t *s;
    uint32_t len;
    uint64_t count;
};

static int compare_views(const void *x, const void *y)
{
    const struct word_view *a = x, *b = y;
    const int c = memcmp(a->s, b->s, a->len < b->len ? a->len : b->len);

    return c ? c : (a->len > b->len) - (a->len < b->len);
}

static struct word_view *sorted_views(const struct words *w)
{
    struct word_view *v = xmalloc((w->n_small + w->n_large + 1) * sizeof *v);
    size_t n = 0;

    for (size_t i = 0; i < w->small_room; i++)
        if (w->small[i].count > 0)
            v[n++] = (struct word_view){ (const uint8_t *)&w->small[i].key,
                                         (uint32_t)(w->small[i].key.b >> 56),
                                         w->small[i].count };
    for (size_t i = 0; i < w->large_room; i++)
        if (w->large[i].count > 0)
            v[n++] = (struct word_view){ w->text + w->large[i].at,
                                         w->large[i].len, w->large[i].count };
    qsort(v, n, sizeof *v, compare_views);
    return v;
}

/* A file without a name, which disappears when it is closed. */
static FILE *temp_file(void)
{
    char *name = xasprintf("%s/gdata.XXXXXX", path_temp());
    const int fd = mkostemp(name, O_CLOEXEC);
    FILE *fp = NULL;

    if (fd >= 0) {
        unlink(name);
        fp = fdopen(fd, "w+");
        if (!fp)
            close(fd);
    }
    free(name);
    return fp;
}

int words_spill(struct words *w, struct err *e)
{
    const size_t n = w->n_small + w->n_large;
    struct word_view *v;
    FILE *fp;

    if (n == 0)
        return 0;
    fp = temp_file();
    if (!fp)
        return err_sys(e, "cannot create a temporary file in %s", path_temp());
    v = sorted_views(w);
    for (size_t i = 0; i < n && !ferror(fp); i++) {
        fwrite(&v[i].len, sizeof v[i].len, 1, fp);
        fwrite(&v[i].count, sizeof v[i].count, 1, fp);
        fwrite(v[i].s, 1, v[i].len, fp);
    }
    free(v);
    if (fflush(fp) != 0 || ferror(fp)) {
        err_sys(e, "cannot write a temporary file in %s", path_temp());
        fclose(fp);
        return -1;
    }
    free_tables(w);
    GROW(w->spill, w->n_spills, w->spills_room);
    w->spill[w->n_spills++] = fp;
    return 0;
}

static void list_add(struct word_list *l, const void *s, uint32_t n,
                     uint64_t count)
{
    GROW(l->word, l->n, l->room);
    l->word[l->n++] = (struct counted){ l->n_text, n, count };
    add_text(&l->text, &l->n_text, &l->text_room, s, n);
}

/* Nothing was spilled: add everything to the first counter and list it. */
static void collect_tables(struct word_list *all, struct words *w, size_t n)
{
    for (size_t k = 1; k < n; k++) {
        for (size_t i = 0; i < w[k].small_room; i++) {
            const struct short_word *s = &w[k].small[i];
            struct short_word *to;

            if (s->count == 0)
                continue;
            if (2 * w->n_small + 2 >= w->small_room)
                small_grow(w);
            to = small_slot(w, s->key);
            w->n_small += to->count == 0;
            *to = (struct short_word){ s->key, to->count + s->count };
        }
        for (size_t i = 0; i < w[k].large_room; i++) {
            const struct long_word *l = &w[k].large[i];

            if (l->count == 0)
                continue;
            count_large(w, w[k].text + l->at, l->len);
            large_slot(w, l->hash, w[k].text + l->at, l->len)->count +=
                l->count - 1;
        }
        free_tables(&w[k]);
    }
    for (size_t i = 0; i < w->small_room; i++)
        if (w->small[i].count > 0)
            list_add(all, &w->small[i].key, (uint32_t)(w->small[i].key.b >> 56),
                     w->small[i].count);
    for (size_t i = 0; i < w->large_room; i++)
        if (w->large[i].count > 0)
            list_add(all, w->text + w->large[i].at, w->large[i].len,
                     w->large[i].count);
    free_tables(w);
}

/* A spill while it is read, and its next word. */
struct spill {
    FILE *fp;
    struct word_view word;
    uint8_t *s;
    size_t room;
};

static int spill_next(struct spill *r, struct err *e)
{
    uint32_t n;

    if (fread(&n, sizeof n, 1, r->fp) != 1) {
        r->word.s = NULL;
        return ferror(r->fp) ? err_sys(e, "cannot read a temporary file") : 0;
    }
    if (n > r->room) {
        r->room = 2 * (size_t)n;
        r->s = xrealloc(r->s, r->room, 1);
    }
    if (fread(&r->word.count, sizeof r->word.count, 1, r->fp) != 1 ||
        fread(r->s, 1, n, r->fp) != n)
        return err_sys(e, "cannot read a temporary file");
    r->word.s = r->s;
    r->word.len = n;
    return 0;
}

static struct spill *open_spills(struct words *w, size_t n, size_t *count)
{
    struct spill *r;

    *count = 0;
    for (size_t k = 0; k < n; k++)
        *count += w[k].n_spills;
    r = xcalloc(*count, sizeof *r);
    *count = 0;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < w[k].n_spills; i++)
            r[(*count)++].fp = w[k].spill[i];
    return r;
}

typedef void word_fn(void *arg, const struct word_view *word);

/* Call fn once for every word of all spills, with the sum of its counts. */
static int merge_spills(struct spill *r, size_t n, word_fn *fn, void *arg,
                        struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        rewind(r[i].fp);
        if (spill_next(&r[i], e) < 0)
            return -1;
    }
    for (;;) {
        struct word_view least = { NULL, 0, 0 };
        uint64_t sum = 0;
        uint8_t *s;

        for (size_t i = 0; i < n; i++)
            if (r[i].word.s &&
                (!least.s || compare_views(&r[i].word, &least) < 0))
                least = r[i].word;
        if (!least.s)
            return 0;
        s = xmalloc(least.len);
        memcpy(s, least.s, least.len);
        least.s = s;
        for (size_t i = 0; i < n; i++) {
            if (r[i].word.s && compare_views(&r[i].word, &least) == 0) {
                sum += r[i].word.count;
                if (spill_next(&r[i], e) < 0) {
                    free(s);
                    return -1;
                }
            }
        }
        least.count = sum;
        fn(arg, &least);
        free(s);
    }
}

/*
 * The memory that a word takes in the BPE trainer: a record, and for each byte
 * a symbol and an entry in the lists of its pairs.
 */
static size_t train_cost(uint32_t len)
{
    return sizeof(struct counted) + 24 + 16 * (size_t)len;
}

enum { COUNTS = 4096 };

struct selection {
    size_t cost[COUNTS]; /* by count; the last is for all higher counts */
    uint64_t least;      /* rarer words are left out */
    struct word_list *all;
    int64_t left_out;
};

static void add_cost(void *arg, const struct word_view *w)
{
    struct selection *c = arg;

    c->cost[w->count < COUNTS ? w->count : COUNTS - 1] += train_cost(w->len);
}

static void list_frequent(void *arg, const struct word_view *w)
{
    struct selection *c = arg;

    if (w->count >= c->least)
        list_add(c->all, w->s, w->len, w->count);
    else
        c->left_out++;
}

static int collect_spills(struct word_list *all, struct words *w, size_t n,
                          size_t limit, int64_t *left_out, struct err *e)
{
    struct selection c = { .least = COUNTS - 1, .all = all };
    size_t n_spills, total;
    struct spill *r;
    int got = 0;

    for (size_t k = 0; k < n && got == 0; k++)
        got = words_spill(&w[k], e);
    if (got < 0)
        return -1;
    r = open_spills(w, n, &n_spills);
    got = merge_spills(r, n_spills, add_cost, &c, e);
    total = c.cost[COUNTS - 1];
    while (c.least > 1 && (limit == 0 || total + c.cost[c.least - 1] <= limit))
        total += c.cost[--c.least];
    if (got == 0)
        got = merge_spills(r, n_spills, list_frequent, &c, e);
    *left_out = c.left_out;
    for (size_t i = 0; i < n_spills; i++)
        free(r[i].s);
    free(r);
    return got;
}

int words_collect(struct word_list *all, struct words *w, size_t n,
                  size_t limit, int64_t *left_out, struct err *e)
{
    size_t spills = 0;

    *left_out = 0;
    for (size_t k = 0; k < n; k++)
        spills += w[k].n_spills;
    if (spills > 0)
        return collect_spills(all, w, n, limit, left_out, e);
    collect_tables(all, w, n);
    return 0;
}

void word_list_clear(struct word_list *l)
{
    free(l->word);
    free(l->text);
    *l = (struct word_list){ 0 };
}
