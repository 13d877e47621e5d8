#include "config.h"
#include "data/token/bpe_train.h"

#include <string.h>

#include "common/mem.h"

/*
 * Every pair has its count and a list of the words that contained it; a word
 * may have lost it since.  A merge visits only those words and changes the
 * counts of the pairs beside each occurrence.  The best pair is taken from a
 * heap whose entries may be out of date: the count of a pair falls when its
 * symbols are merged with others, and rises only while one of its symbols is
 * new, which adds a new entry to the heap.  An entry whose pair has fallen is
 * therefore put back with the current count.
 */
struct bpe_pair {
    int64_t count;
    uint16_t left, right;
    uint32_t last;    /* the last word that was listed, + 1 */
    size_t where;     /* its words begin at bpe_trainer.where[where] */
    uint32_t n, kept; /* words listed; before this merge */
};

struct heap_entry {
    int64_t count;
    uint32_t pair;
};

/* A word that got a pair in this merge. */
struct occurrence {
    uint32_t pair, word;
};

struct bpe_trainer {
    const struct word_list *words;
    const struct bpe_train_conf *conf;
    struct tokenizer *t;
    uint16_t *sym; /* words as symbols, one after the other */
    size_t *start; /* where each begins */
    uint32_t *len; /* the number of symbols left in each */
    struct bpe_pair *pair;
    size_t n_pairs, pair_room;
    uint32_t *slot; /* hash table: left, right -> pair + 1 */
    size_t slot_room;
    uint32_t *where;
    size_t n_where, where_room;
    struct heap_entry *heap;
    size_t n_heap, heap_room;
    struct occurrence *found; /* in this merge */
    size_t n_found, found_room;
    uint32_t *risen; /* pairs to be added to the heap */
    size_t n_risen, risen_room;
};

static size_t pair_hash(uint32_t left, uint32_t right)
{
    return (size_t)(((uint64_t)left << 16 | right) * 0x9E3779B97F4A7C15 >> 20);
}

static void slots_grow(struct bpe_trainer *t)
{
    t->slot_room = t->slot_room ? 2 * t->slot_room : 1 << 16;
    free(t->slot);
    t->slot = xcalloc(t->slot_room, sizeof *t->slot);
    for (size_t k = 0; k < t->n_pairs; k++) {
        size_t i =
            pair_hash(t->pair[k].left, t->pair[k].right) & (t->slot_room - 1);

        while (t->slot[i])
            i = (i + 1) & (t->slot_room - 1);
        t->slot[i] = (uint32_t)k + 1;
    }
}

/* The index of a pair, which is added if it is new. */
static uint32_t pair_index(struct bpe_trainer *t, uint16_t left, uint16_t right)
{
    size_t i;

    if (2 * t->n_pairs >= t->slot_room)
        slots_grow(t);
    i = pair_hash(left, right) & (t->slot_room - 1);
    for (; t->slot[i]; i = (i + 1) & (t->slot_room - 1)) {
        const struct bpe_pair *p = &t->pair[t->slot[i] - 1];

        if (p->left == left && p->right == right)
            return t->slot[i] - 1;
    }
    APPEND(t->pair, t->n_pairs, t->pair_room) =
        (struct bpe_pair){ .left = left, .right = right };
    t->slot[i] = (uint32_t)t->n_pairs;
    return t->slot[i] - 1;
}

static int compare_tokens(const struct tokenizer *t, int32_t a, int32_t b)
{
    const struct token *x = &t->token[a], *y = &t->token[b];
    const int c = memcmp(token_text(t, a), token_text(t, b),
                         x->len < y->len ? x->len : y->len);

    return c ? c : (x->len > y->len) - (x->len < y->len);
}

/* Is entry a to be merged before b? */
static bool comes_before(const struct bpe_trainer *t, struct heap_entry a,
                         struct heap_entry b)
{
    const struct bpe_pair *p = &t->pair[a.pair], *q = &t->pair[b.pair];
    int c;

    if (a.count != b.count)
        return a.count > b.count;
    if (t->conf->ties == BPE_TIES_HF)
        return p->left != q->left ? p->left < q->left : p->right < q->right;
    c = compare_tokens(t->t, p->left, q->left);
    return c != 0 ? c > 0 : compare_tokens(t->t, p->right, q->right) > 0;
}

static void sift_down(struct bpe_trainer *t, size_t i)
{
    const struct heap_entry e = t->heap[i];

    for (;;) {
        size_t k = 2 * i + 1;

        if (k >= t->n_heap)
            break;
        if (k + 1 < t->n_heap && comes_before(t, t->heap[k + 1], t->heap[k]))
            k++;
        if (!comes_before(t, t->heap[k], e))
            break;
        t->heap[i] = t->heap[k];
        i = k;
    }
    t->heap[i] = e;
}

static void heap_add(struct bpe_trainer *t, uint32_t pair)
{
    const struct heap_entry e = { t->pair[pair].count, pair };
    size_t i = t->n_heap;

    GROW(t->heap, t->n_heap, t->heap_room);
    t->n_heap++;
    while (i > 0 && comes_before(t, e, t->heap[(i - 1) / 2])) {
        t->heap[i] = t->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    t->heap[i] = e;
}

/* The most frequent pair, or -1 when none is frequent enough. */
static int64_t best_pair(struct bpe_trainer *t)
{
    while (t->n_heap > 0) {
        struct heap_entry *top = &t->heap[0];
        const int64_t now = t->pair[top->pair].count;

        if (top->count < t->conf->least)
            return -1;
        if (top->count == now)
            return top->pair;
        if (now >= t->conf->least)
            top->count = now; /* it fell: move it down */
        else
            *top = t->heap[--t->n_heap];
        if (t->n_heap > 0)
            sift_down(t, 0);
    }
    return -1;
}

/* The words as sequences of symbols, one for each byte. */
static void spell_words(struct bpe_trainer *t)
{
    const struct word_list *l = t->words;

    t->sym = xmalloc((l->text.len + 1) * sizeof *t->sym);
    t->start = xmalloc((l->n + 1) * sizeof *t->start);
    t->len = xmalloc((l->n + 1) * sizeof *t->len);
    for (size_t i = 0; i < l->text.len; i++)
        t->sym[i] = (uint16_t)t->t->byte_id[(uint8_t)l->text.s[i]];
    for (size_t w = 0; w < l->n; w++) {
        t->start[w] = l->word[w].at;
        t->len[w] = l->word[w].len;
    }
}

/* Count the pairs of bytes, then list the words that contain each. */
static void list_pairs(struct bpe_trainer *t)
{
    /* pair + 1 */
    AUTO_FREE uint32_t *index = xcalloc(256 * 256, sizeof *index);
    size_t at = 0;

    for (size_t w = 0; w < t->words->n; w++) {
        const uint16_t *s = t->sym + t->start[w];

        for (uint32_t i = 0; i + 1 < t->len[w]; i++) {
            uint32_t *k = &index[s[i] << 8 | s[i + 1]];
            struct bpe_pair *p;

            if (*k == 0)
                *k = pair_index(t, s[i], s[i + 1]) + 1;
            p = &t->pair[*k - 1];
            p->count += (int64_t)t->words->word[w].count;
            p->n += p->last != (uint32_t)w + 1;
            p->last = (uint32_t)w + 1;
        }
    }
    for (size_t k = 0; k < t->n_pairs; k++) {
        t->pair[k].where = at;
        at += t->pair[k].n;
        t->pair[k].kept = t->pair[k].n;
        t->pair[k].n = 0;
        t->pair[k].last = 0;
    }
    t->where_room = 2 * at + 16;
    t->n_where = at;
    t->where = xmalloc(t->where_room * sizeof *t->where);
    for (size_t w = 0; w < t->words->n; w++) {
        const uint16_t *s = t->sym + t->start[w];

        for (uint32_t i = 0; i + 1 < t->len[w]; i++) {
            struct bpe_pair *p = &t->pair[index[s[i] << 8 | s[i + 1]] - 1];

            if (p->last != (uint32_t)w + 1)
                t->where[p->where + p->n++] = (uint32_t)w;
            p->last = (uint32_t)w + 1;
        }
    }
    for (size_t k = 0; k < t->n_pairs; k++) {
        t->pair[k].last = 0;
        heap_add(t, (uint32_t)k);
    }
}

static void remove_pair(struct bpe_trainer *t, uint16_t left, uint16_t right,
                        int64_t count)
{
    t->pair[pair_index(t, left, right)].count -= count;
}

static void add_pair(struct bpe_trainer *t, uint16_t left, uint16_t right,
                     uint32_t word, int64_t count)
{
    const uint32_t k = pair_index(t, left, right);
    struct bpe_pair *p = &t->pair[k];

    if (p->last == 0) {
        APPEND(t->risen, t->n_risen, t->risen_room) = k;
    }
    p->count += count;
    if (p->last == word + 1)
        return;
    p->last = word + 1;
    APPEND(t->found, t->n_found, t->found_room) =
        (struct occurrence){ k, word };
}

static void merge_word(struct bpe_trainer *t, uint32_t w, uint16_t left,
                       uint16_t right, uint16_t into)
{
    const int64_t count = (int64_t)t->words->word[w].count;
    uint16_t *s = t->sym + t->start[w];
    const uint32_t n = t->len[w];
    uint32_t out = 0;

    for (uint32_t i = 0; i < n; i++) {
        if (i + 1 == n || s[i] != left || s[i + 1] != right) {
            s[out++] = s[i];
            continue;
        }
        if (out > 0) {
            remove_pair(t, s[out - 1], left, count);
            add_pair(t, s[out - 1], into, w, count);
        }
        if (i + 2 < n) {
            remove_pair(t, right, s[i + 2], count);
            add_pair(t, into, s[i + 2], w, count);
        }
        s[out++] = into;
        i++;
    }
    t->len[w] = out;
}

/*
 * List the words of the pairs that this merge made.  The list of a pair that
 * already has one (two merges made its symbol) is extended.
 */
static void list_found(struct bpe_trainer *t)
{
    for (size_t i = 0; i < t->n_found; i++)
        t->pair[t->found[i].pair].n++;
    for (size_t i = 0; i < t->n_risen; i++) {
        struct bpe_pair *p = &t->pair[t->risen[i]];
        const size_t old = p->where;
        const uint32_t n = p->n;

        while (t->n_where + n > t->where_room) {
            t->where_room *= 2;
            t->where = xrealloc(t->where, t->where_room, sizeof *t->where);
        }
        p->where = t->n_where;
        t->n_where += n;
        p->n = p->kept;
        memcpy(t->where + p->where, t->where + old, p->kept * sizeof *t->where);
        p->last = 0;
    }
    for (size_t i = 0; i < t->n_found; i++) {
        struct bpe_pair *p = &t->pair[t->found[i].pair];

        t->where[p->where + p->n++] = t->found[i].word;
    }
    for (size_t i = 0; i < t->n_risen; i++) {
        struct bpe_pair *p = &t->pair[t->risen[i]];

        p->kept = p->n;
        if (p->count > 0)
            heap_add(t, t->risen[i]);
    }
    t->n_found = 0;
    t->n_risen = 0;
}

static void merge_everywhere(struct bpe_trainer *t, uint32_t k, uint16_t into)
{
    const struct bpe_pair p = t->pair[k];

    for (uint32_t i = 0; i < p.n; i++)
        merge_word(t, t->where[p.where + i], p.left, p.right, into);
    t->pair[k].count = 0;
    list_found(t);
}

/* The id of the bytes of left and right together; a new one if they have none.
 */
static int32_t joined_id(struct tokenizer *t, int32_t left, int32_t right,
                         struct err *e)
{
    const uint32_t a = t->token[left].len, b = t->token[right].len;
    AUTO_FREE uint8_t *s = xmalloc((size_t)a + b);
    int32_t id;

    memcpy(s, token_text(t, left), a);
    memcpy(s + a, token_text(t, right), b);
    id = tokenizer_find(t, s, (size_t)a + b);
    if (id < 0) {
        id = t->n_ids;
        if (tokenizer_add(t, id, s, (size_t)a + b, e) < 0)
            id = -1;
    }
    return id;
}

static int merge_all(struct bpe_trainer *t, struct err *e)
{
    const int64_t want = t->conf->vocab - (int64_t)t->conf->n_specials;

    while (t->t->n_ids < want) {
        const int64_t k = best_pair(t);
        int32_t left, right, into;

        if (k < 0)
            break;
        left = t->pair[k].left;
        right = t->pair[k].right;
        if (t->t->token[left].len + t->t->token[right].len >
            TOKENIZER_MAX_LEN) {
            t->pair[k].count = 0;
            continue;
        }
        into = joined_id(t->t, left, right, e);
        if (into < 0 || tokenizer_merge(t->t, left, right, into, e) < 0)
            return -1;
        merge_everywhere(t, (uint32_t)k, (uint16_t)into);
    }
    return 0;
}

static int add_specials(struct bpe_trainer *t, struct err *e)
{
    for (size_t i = 0; i < t->conf->n_specials; i++) {
        const struct boundary_word *s = &t->conf->special[i];

        if (tokenizer_special(t->t, t->t->n_ids, 0, s->text, s->len, e) < 0)
            return err_wrap(e, "special token '%s'", s->text);
    }
    return 0;
}

struct tokenizer *bpe_train(const struct word_list *words,
                            const struct bpe_train_conf *conf, struct err *e)
{
    struct bpe_trainer t = { .words = words, .conf = conf };
    int got;

    t.t = tokenizer_new(TOKENIZER_BPE, conf->pretokenizer);
    got = bpe_add_bytes(t.t, e);
    if (got == 0) {
        spell_words(&t);
        list_pairs(&t);
        got = merge_all(&t, e);
    }
    if (got == 0)
        got = add_specials(&t, e);
    if (got == 0)
        got = tokenizer_ready(t.t, e);
    if (got < 0) {
        tokenizer_free(t.t);
        t.t = NULL;
    }
    FREE(t.sym, t.start, t.len, t.pair, t.slot, t.where, t.heap, t.found,
         t.risen);
    return t.t;
}
