#include "config.h"
#include "data/token/words.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/path.h"
#include "data/token/pretokenize.h"
#include "data/token/word_key.h"

enum { AHEAD = 16 };

/*
 * A slot of the table; count 0: free.  The key of a word of more than WORD_MAX
 * bytes is a hash, and LONG, the number of bytes, and their place in
 * words.text.
 */
struct word_slot {
    struct word_key key;
    uint64_t count;
};

#define LONG ((uint64_t)1 << 63)
enum { AT_BITS = 48 };

void words_init(struct words *w, size_t limit)
{
    *w = (struct words){ .text = BUF_INIT, .limit = limit };
}

static void clear_table(struct words *w)
{
    free(w->slot);
    w->slot = NULL;
    w->n = w->room = 0;
    buf_clear(&w->text);
}

void words_clear(struct words *w)
{
    clear_table(w);
    for (size_t i = 0; i < w->n_spills; i++)
        fclose(w->spill[i]);
    free(w->spill);
    words_init(w, 0);
}

/* A word with its bytes, for sorting and adding up. */
struct word_view {
    const uint8_t *s;
    uint32_t len;
    uint64_t count;
};

static struct word_view view(const struct words *w, const struct word_slot *s)
{
    const uint8_t *const text = (const uint8_t *)w->text.s;
    const uint64_t b = s->key.b, at = b & (((uint64_t)1 << AT_BITS) - 1);

    if (b & LONG)
        return (struct word_view){ text + at,
                                   (uint32_t)((b & ~LONG) >> AT_BITS),
                                   s->count };
    return (struct word_view){ (const uint8_t *)&s->key, (uint32_t)(b >> 56),
                               s->count };
}

/* Is the word in a slot the one of this key, which has the bytes s if it is
 * long? */
static inline bool is_word(const struct words *w, const struct word_slot *slot,
                           struct word_key k, const uint8_t *s)
{
    struct word_view v;

    if (slot->key.a != k.a || !(k.b & LONG))
        return slot->key.a == k.a && slot->key.b == k.b;
    v = view(w, slot);
    return slot->key.b >> AT_BITS == k.b >> AT_BITS &&
           memcmp(v.s, s, v.len) == 0;
}

/* The slot where the search for a word begins. */
static inline size_t first_slot(const struct words *w, struct word_key k)
{
    const uint64_t hash = k.b & LONG ? k.a : word_key_hash(k);

    return (size_t)((hash >> 32) * w->room >> 32);
}

static inline struct word_slot *find_slot(const struct words *w,
                                          struct word_key k, const uint8_t *s)
{
    size_t i = first_slot(w, k);

    while (w->slot[i].count > 0 && !is_word(w, &w->slot[i], k, s))
        i = (i + 1) & (w->room - 1);
    return &w->slot[i];
}

static void grow(struct words *w)
{
    AUTO_FREE struct word_slot *old = w->slot;
    const size_t n = w->room;

    w->room = n ? 2 * n : 1 << 14;
    w->slot = xcalloc(w->room, sizeof *w->slot);
    for (size_t i = 0; i < n; i++)
        if (old[i].count > 0)
            *find_slot(w, old[i].key, view(w, &old[i]).s) = old[i];
}

/* Add to the count of a word; the key of a long one needs no place yet. */
static inline void add_word(struct words *w, struct word_key k,
                            const uint8_t *s, uint64_t count)
{
    struct word_slot *slot;

    if (2 * w->n + 2 >= w->room)
        grow(w);
    slot = find_slot(w, k, s);
    slot->count += count;
    if (slot->count > count)
        return;
    w->n++;
    slot->key = k;
    if (k.b & LONG) {
        slot->key.b = k.b >> AT_BITS << AT_BITS | w->text.len;
        buf_add(&w->text, s, (k.b & ~LONG) >> AT_BITS);
    }
}

void words_count(struct words *w, const uint8_t *text, const uint8_t *end,
                 const uint32_t *stop, size_t n)
{
    struct word_key key[PRETOKENIZE_BATCH];
    size_t count = 0;
    uint32_t at = 0;

    w->pieces += (int64_t)n;
    for (size_t i = 0; i < n; at = stop[i++]) {
        const uint8_t *const s = text + at;
        const uint32_t len = stop[i] - at;
        const uint64_t b = LONG | (uint64_t)len << AT_BITS;

        if (len <= WORD_MAX) {
            key[count++] = word_key_last(s, end, len);
        } else if (len <= WORDS_LONGEST) {
            const struct word_key k = { word_key_hash_bytes(s, len), b };

            add_word(w, k, s, 1);
        } else {
            w->pieces--;
            w->too_long++;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count && w->room)
            __builtin_prefetch(&w->slot[first_slot(w, key[i + AHEAD])]);
        add_word(w, key[i], text, 1);
    }
}

bool words_full(const struct words *w)
{
    /* also while the table is being doubled */
    const size_t size = w->room * sizeof *w->slot * 3 + w->text.room;

    return w->limit > 0 && size > w->limit;
}

static int compare_views(const void *x, const void *y)
{
    const struct word_view *a = x, *b = y;
    const int c = memcmp(a->s, b->s, a->len < b->len ? a->len : b->len);

    return c ? c : (a->len > b->len) - (a->len < b->len);
}

static struct word_view *sorted_views(const struct words *w)
{
    struct word_view *v = xmalloc((w->n + 1) * sizeof *v);
    size_t n = 0;

    for (size_t i = 0; i < w->room; i++)
        if (w->slot[i].count > 0)
            v[n++] = view(w, &w->slot[i]);
    SORT(v, n, compare_views);
    return v;
}

int words_spill(struct words *w, struct err *e)
{
    const size_t n = w->n;
    AUTO_FREE struct word_view *v = NULL;
    FILE *fp;

    if (n == 0)
        return 0;
    fp = path_temp_file(e);
    if (!fp)
        return -1;
    v = sorted_views(w);
    for (size_t i = 0; i < n && !ferror(fp); i++) {
        fwrite(&v[i].len, sizeof v[i].len, 1, fp);
        fwrite(&v[i].count, sizeof v[i].count, 1, fp);
        fwrite(v[i].s, 1, v[i].len, fp);
    }
    if (fflush(fp) != 0 || ferror(fp)) {
        err_sys(e, "cannot write a temporary file in %s", path_temp());
        fclose(fp);
        return -1;
    }
    clear_table(w);
    APPEND(w->spill, w->n_spills, w->spills_room) = fp;
    return 0;
}

static void list_add(struct word_list *l, const struct word_view *w)
{
    APPEND(l->word, l->n, l->room) =
        (struct counted){ l->text.len, w->len, w->count };
    buf_add(&l->text, w->s, w->len);
}

/* Nothing was spilled: add everything to the first counter and list it. */
static void collect_tables(struct word_list *all, struct words *w, size_t n)
{
    for (size_t k = 1; k < n; k++) {
        for (size_t i = 0; i < w[k].room; i++) {
            const struct word_slot *s = &w[k].slot[i];

            if (s->count > 0)
                add_word(w, s->key, view(&w[k], s).s, s->count);
        }
        clear_table(&w[k]);
    }
    for (size_t i = 0; i < w->room; i++) {
        const struct word_view v = view(w, &w->slot[i]);

        if (v.count > 0)
            list_add(all, &v);
    }
    clear_table(w);
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

static struct spill *open_spills(const struct words *w, size_t n, size_t *count)
{
    struct spill *r = NULL;
    size_t room = 0;

    *count = 0;
    for (size_t k = 0; k < n; k++)
        for (size_t i = 0; i < w[k].n_spills; i++)
            APPEND(r, *count, room) = (struct spill){ .fp = w[k].spill[i] };
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
        AUTO_FREE uint8_t *s = NULL;

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
                if (spill_next(&r[i], e) < 0)
                    return -1;
            }
        }
        least.count = sum;
        fn(arg, &least);
    }
}

enum { COUNTS = 4096 };

struct selection {
    size_t cost[COUNTS]; /* by count; the last is for all higher counts */
    uint64_t least;      /* rarer words are left out */
    struct word_list *all;
    int64_t left_out;
};

/* The memory that a word takes in the BPE trainer: a record, and for each byte
 * a symbol and an entry in the lists of its pairs. */
static void add_cost(void *arg, const struct word_view *w)
{
    struct selection *c = arg;

    c->cost[w->count < COUNTS ? w->count : COUNTS - 1] +=
        sizeof(struct counted) + 24 + 16 * (size_t)w->len;
}

static void list_frequent(void *arg, const struct word_view *w)
{
    struct selection *c = arg;

    if (w->count >= c->least)
        list_add(c->all, w);
    else
        c->left_out++;
}

static int collect_spills(struct word_list *all, struct words *w, size_t n,
                          size_t limit, int64_t *left_out, struct err *e)
{
    struct selection c = { .least = COUNTS - 1, .all = all };
    size_t n_spills, total;
    AUTO_FREE struct spill *r = NULL;
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
    return got;
}

int words_collect(struct word_list *all, struct words *w, size_t n,
                  size_t limit, int64_t *left_out, struct err *e)
{
    size_t spills = 0;

    *all = (struct word_list){ .text = BUF_INIT };
    *left_out = 0;
    for (size_t k = 0; k < n; k++)
        spills += w[k].n_spills;
    if (spills > 0)
        return collect_spills(all, w, n, limit, left_out, e);
    collect_tables(all, w, n);
    return 0;
}

/* Of equal counts, by bytes. */
static int by_count(const void *a, const void *b, void *text)
{
    const struct counted *x = a, *y = b;
    const size_t n = x->len < y->len ? x->len : y->len;
    int order;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    order = memcmp((char *)text + x->at, (char *)text + y->at, n);
    return order ? order : (x->len > y->len) - (x->len < y->len);
}

void word_list_sort(struct word_list *l)
{
    if (l->n > 0)
        qsort_r(l->word, l->n, sizeof *l->word, by_count, l->text.s);
}

void word_list_clear(struct word_list *l)
{
    free(l->word);
    buf_clear(&l->text);
}
