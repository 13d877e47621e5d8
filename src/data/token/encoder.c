/*
 * encoder - text to ids, word by word, with a memory of words
 */
#include "config.h"
#include "data/token/tokenizer.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/format/unicode.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "data/token/bpe.h"
#include "data/token/nfc.h"
#include "data/token/pretokenize.h"
#include "data/token/word_key.h"

/*
 * added - find added tokens in a text
 *
 * As in Hugging Face's tokenizers: first the tokens that are not normalized are
 * found in the text, then the others (SPECIAL_NORMALIZED) in what is between
 * them, after it was normalized.  If several tokens begin at one position, the
 * longest is found; it hides the tokens that begin inside it, even if it is not
 * recognised itself.
 */
struct added_finder {
    const struct tokenizer *t;
    int flags;          /* ENCODER_SPECIAL: recognise special tokens */
    int normalized;     /* SPECIAL_NORMALIZED or 0: the tokens to find */
    bool any;           /* some of the tokens are recognised */
    uint8_t first[256]; /* 1 for the first byte of each token */
};

/* The token that was found, and the position to continue at. */
struct added_scan {
    size_t from, to, at;
    int32_t id;
};

static bool is_space(const struct added_finder *f, uint32_t c)
{
    /* in Hugging Face's normalized text, U+2581 stands for a space */
    const bool mark = c == ' ' && f->normalized && !f->t->metaspace &&
                      f->t->kind == TOKENIZER_SENTENCEPIECE;

    return c != UTF8_BAD && unicode_class(c) == UNICODE_SPACE && !mark;
}

static bool is_whole_word(const uint8_t *text, size_t n, size_t from, size_t to)
{
    uint32_t before = UTF8_BAD, after = UTF8_BAD;
    size_t len;

    if (from > 0)
        before = boundary_last_char(text, from, &len);
    if (to < n)
        utf8_decode(text + to, text + n, &after);
    return (before == UTF8_BAD || !unicode_is_word(before)) &&
           (after == UTF8_BAD || !unicode_is_word(after));
}

/* The longest token at text + at, or NULL. */
static const struct special *find_longest(const struct added_finder *f,
                                          const uint8_t *text, size_t n,
                                          size_t at)
{
    const struct tokenizer *const t = f->t;
    const struct special *best = NULL;

    for (size_t i = 0; i < t->n_specials; i++) {
        const struct special *s = &t->special[i];

        if ((s->flags & SPECIAL_NORMALIZED) == f->normalized &&
            s->match.len <= n - at &&
            (!best || s->match.len > best->match.len) &&
            memcmp(t->text + s->match.at, text + at, s->match.len) == 0)
            best = s;
    }
    return best;
}

static bool is_recognised(const struct special *s, int flags)
{
    return (s->flags & SPECIAL_ALWAYS) || (flags & ENCODER_SPECIAL);
}

/* Extend a match by the white space that belongs to the token. */
static void strip_spaces(const struct added_finder *f, const struct special *s,
                         const uint8_t *text, size_t n, struct added_scan *scan,
                         size_t least)
{
    size_t len;
    uint32_t c;

    if (s->flags & SPECIAL_LSTRIP)
        while (scan->from > least &&
               is_space(f, boundary_last_char(text, scan->from, &len)))
            scan->from -= len;
    if (s->flags & SPECIAL_RSTRIP)
        while (scan->to < n) {
            len = utf8_decode(text + scan->to, text + n, &c);
            if (!is_space(f, c))
                break;
            scan->to += len;
        }
}

static bool added_next(const struct added_finder *f, const uint8_t *text,
                       size_t n, struct added_scan *scan)
{
    while (scan->at < n) {
        const size_t from = scan->at, least = scan->to;
        const struct special *s =
            f->first[text[from]] ? find_longest(f, text, n, from) : NULL;

        scan->at += s ? s->match.len : 1;
        if (!s || !is_recognised(s, f->flags) ||
            ((s->flags & SPECIAL_WORD) &&
             !is_whole_word(text, n, from, scan->at)))
            continue;
        scan->id = s->id;
        scan->from = from;
        scan->to = scan->at;
        strip_spaces(f, s, text, n, scan, least);
        return true;
    }
    return false;
}

static void added_set_up(struct added_finder *f, const struct tokenizer *t,
                         int flags, int normalized)
{
    *f = (struct added_finder){ t, flags, normalized, false, { 0 } };
    for (size_t i = 0; i < t->n_specials; i++) {
        const struct special *s = &t->special[i];

        if ((s->flags & SPECIAL_NORMALIZED) != normalized)
            continue;
        f->any = f->any || is_recognised(s, flags);
        f->first[t->text[s->match.at]] = 1;
    }
}

size_t tokenizer_specials(const struct tokenizer *t, int flags,
                          struct boundary_word **out)
{
    size_t n = 0;

    *out = xcalloc(t->n_specials, sizeof **out);
    for (size_t i = 0; i < t->n_specials; i++) {
        const struct special *s = &t->special[i];

        if (is_recognised(s, flags))
            (*out)[n++] =
                (struct boundary_word){ (const char *)t->text + s->name.at,
                                        s->name.len };
    }
    return n;
}

/*
 * piece_cache - the words that encoders have met, and their ids
 *
 * A cache has a fixed number of lines of two slots each.  A word is kept in
 * the line that its hash selects, or in the neighbouring line if that is full.
 * Words are never removed, as frequent words come early.  This lets threads
 * share a cache without locks: a thread claims a free slot by marking its
 * key, and writes the complete key last.
 *
 * A word of up to WORD_MAX bytes (word_key.h) is kept if it has at most
 * CACHE_IDS ids.  The upper four bits of its key hold their number.  A word
 * with more ids leaves a mark: its key without the length.
 */
enum { CACHE_LINES = 1 << 19, CACHE_IDS = 4 };

struct cache_word {
    _Atomic uint64_t a, b; /* the key and the number of ids */
    int32_t id[CACHE_IDS];
};

struct cache_line {
    struct cache_word word[2];
};

struct piece_cache {
    struct cache_line line[CACHE_LINES];
};

static inline size_t line_number(struct word_key k)
{
    return (size_t)(word_key_hash(k) / (UINT64_MAX / CACHE_LINES + 1));
}

/* 0 if the slot holds this word; then its ids may be read. */
static inline uint64_t word_differs(const struct cache_word *w,
                                    struct word_key k)
{
    const uint64_t b = atomic_load_explicit(&w->b, memory_order_acquire);
    const uint64_t a = atomic_load_explicit(&w->a, memory_order_relaxed);

    return (a ^ k.a) | (b ^ k.b) << 4;
}

/* Copies all ids of the slot; returns how many of them belong to the word. */
static inline size_t copy_ids(int32_t *out, const struct cache_word *w)
{
    memcpy(out, w->id, sizeof w->id);
    return (size_t)(atomic_load_explicit(&w->b, memory_order_relaxed) >> 60);
}

/* The second half of the key of a slot that is being filled.  No word has this
 * key, because its length is 0. */
enum { TAKEN = 2 };

/* A key that no word has: the bytes after its length are not zero. */
static const struct word_key no_word = { 1 << 8, (uint64_t)1 << 56 };

static struct word_key mark_of(struct word_key k)
{
    return (struct word_key){ k.a, k.b & UINT64_MAX >> 8 };
}

/* Zeros in huge pages, if there are any; or NULL. */
static void *map_zeros(size_t size)
{
    void *map = mmap(NULL, size, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return NULL;
    madvise(map, size, MADV_HUGEPAGE);
    return map;
}

struct piece_cache *piece_cache_new(void)
{
    return map_zeros(sizeof(struct piece_cache));
}

void piece_cache_free(struct piece_cache *l)
{
    if (l)
        munmap(l, sizeof *l);
}

/* The word; or NULL, and a free slot for it, or NULL if it cannot be kept. */
static const struct cache_word *find_word(struct piece_cache *l,
                                          struct word_key k,
                                          struct cache_word **slot)
{
    const size_t i = line_number(k);
    struct cache_line *const first = &l->line[i], *const next = &l->line[i ^ 1];
    struct cache_word *const at[] = { &first->word[0], &first->word[1],
                                      &next->word[1], &next->word[0] };

    *slot = NULL;
    for (int p = 0; p < 4 && !*slot; p++) {
        if (word_differs(at[p], k) == 0)
            return at[p];
        if (word_differs(at[p], mark_of(k)) == 0)
            return NULL;
        if (atomic_load_explicit(&at[p]->b, memory_order_relaxed) == 0)
            *slot = at[p];
    }
    return NULL;
}

/* Keep a word in this slot, or its mark, unless another thread has taken it. */
static void keep_word(struct cache_word *slot, struct word_key k,
                      const int32_t *id, size_t n)
{
    uint64_t none = 0;

    if (n > CACHE_IDS) {
        k = mark_of(k);
        n = 1;
    }
    if (n == 0 ||
        !atomic_compare_exchange_strong_explicit(
            &slot->b, &none, TAKEN, memory_order_relaxed, memory_order_relaxed))
        return;
    atomic_store_explicit(&slot->a, k.a, memory_order_relaxed);
    memcpy(slot->id, id, n * sizeof *id);
    atomic_store_explicit(&slot->b, k.b | (uint64_t)n << 60,
                          memory_order_release);
}

/* Words are found in batches, small enough that the lines of two batches stay
 * in the first cache. */
enum { BATCH = 128 };

struct word_batch {
    const uint8_t *text;
    size_t n;
    uint32_t stop[BATCH];
    uint64_t a[BATCH], b[BATCH]; /* the keys, which are slower as pairs */
    const struct cache_line *line[BATCH];
};

/* A word that the cache has no room for.  An encoder keeps the latest one of
 * each hash. */
enum { PHRASE_MAX = 62, PHRASE_IDS = 16, PHRASES = 1 << 15 };

struct phrase {
    uint8_t text[PHRASE_MAX], len, n;
    int32_t id[PHRASE_IDS];
};

struct encoder {
    const struct tokenizer *t;
    pretokenize_fn *pretokenize;
    int flags;
    struct piece_cache *cache; /* shared; NULL: remember nothing */
    struct phrase *phrase;     /* with a cache */
    struct buf composed;       /* the text in NFC */
    struct buf spaced;         /* the text with spaces for U+2581 */
    struct buf clean;          /* the text with invalid UTF-8 replaced */
    struct added_finder plain; /* of the text, before it is normalized */
    struct added_finder normalized;
    size_t left_out;
};

void ids_reserve(struct ids *ids, size_t more)
{
    if (ids->n + more <= ids->room)
        return;
    ids->room = ids->n + more > 2 * ids->room ? ids->n + more : 2 * ids->room;
    ids->id = xrealloc(ids->id, ids->room, sizeof *ids->id);
}

void ids_add(struct ids *ids, int32_t id)
{
    ids_reserve(ids, 1);
    ids->id[ids->n++] = id;
}

void ids_clear(struct ids *ids)
{
    free(ids->id);
    *ids = (struct ids){ 0 };
}

static size_t encode_phrase(struct encoder *enc, const uint8_t *s, uint32_t n,
                            int32_t *out)
{
    struct phrase *const p =
        &enc->phrase[(word_key_hash_bytes(s, n) >> 32) % PHRASES];
    size_t count;

    if (p->len == n && memcmp(p->text, s, n) == 0) {
        memcpy(out, p->id, sizeof p->id);
        return p->n;
    }
    count = bpe_piece(enc->t, s, n, out);
    if (n <= PHRASE_MAX && count <= PHRASE_IDS) {
        memcpy(p->text, s, n);
        p->len = (uint8_t)n;
        p->n = (uint8_t)count;
        memcpy(p->id, out, count * sizeof *out);
    }
    return count;
}

/* Encode a piece that is not in the first two slots of its line. */
static __attribute__((noinline)) int32_t *encode_word(
    struct encoder *enc, const uint8_t *s, uint32_t n, struct word_key k,
    struct ids *ids, int32_t *out, size_t remaining)
{
    struct cache_word *slot = NULL;
    const struct cache_word *w =
        n <= WORD_MAX ? find_word(enc->cache, k, &slot) : NULL;
    size_t count;

    if (w)
        return out + copy_ids(out, w);
    ids->n = (size_t)(out - ids->id);
    ids_reserve(ids, n + PHRASE_IDS + remaining * CACHE_IDS);
    out = ids->id + ids->n;
    if (!slot)
        return out + encode_phrase(enc, s, n, out);
    count = bpe_piece(enc->t, s, n, out);
    keep_word(slot, k, out, count);
    return out + count;
}

/* The keys of the words from..to, and prefetches of their lines.  16 bytes must
 * be readable at each word, unless `end` is the end of the text. */
static inline __attribute__((always_inline)) void add_keys(
    const struct encoder *enc, struct word_batch *w, size_t from, size_t to,
    const uint8_t *end)
{
    const struct cache_line *const line = enc->cache->line;
    uint32_t at = from > 0 ? w->stop[from - 1] : 0;

    for (size_t i = from; i < to; i++) {
        const uint8_t *const s = w->text + at;
        const uint32_t len = w->stop[i] - at;
        struct word_key k = no_word;

        if (__builtin_expect(len <= WORD_MAX, 1))
            k = end ? word_key_last(s, end, len) : word_key(s, len);
        w->a[i] = k.a;
        w->b[i] = k.b;
        w->line[i] = &line[line_number(k)];
        __builtin_prefetch(w->line[i]);
        at = w->stop[i];
    }
}

/* Find the next words of a text, and prefetch their lines. */
static void find_words(const struct encoder *enc, struct word_batch *w,
                       const uint8_t *text, const uint8_t *end)
{
    size_t far;

    w->text = text;
    w->n = text < end ? enc->pretokenize(text, end, w->stop, BATCH) : 0;
    far = w->n;
    while (far > 0 && end - text - w->stop[far - 1] < 16)
        far--;
    add_keys(enc, w, 0, far, NULL);
    add_keys(enc, w, far, w->n, end);
}

static void encode_words(struct encoder *enc, const struct word_batch *b,
                         struct ids *ids)
{
    int32_t *out;

    ids_reserve(ids, b->n * CACHE_IDS);
    out = ids->id + ids->n;
    for (size_t i = 0; i < b->n; i++) {
        const struct word_key k = { b->a[i], b->b[i] };
        const struct cache_word *w = b->line[i]->word;

        /* a branch: frequent words come early, so they have the first slot */
        if (__builtin_expect(word_differs(w, k) != 0, 0) &&
            word_differs(++w, k) != 0) {
            const uint32_t at = i > 0 ? b->stop[i - 1] : 0;

            out = encode_word(enc, b->text + at, b->stop[i] - at, k, ids, out,
                              b->n - i);
            continue;
        }
        out += copy_ids(out, w);
    }
    ids->n = (size_t)(out - ids->id);
}

/* Encode words while the lines of the next ones are prefetched. */
static void encode_batches(struct encoder *enc, const uint8_t *text,
                           const uint8_t *end, struct ids *ids)
{
    struct word_batch batch[2], *now = &batch[0], *next = &batch[1];

    find_words(enc, now, text, end);
    while (now->n > 0) {
        struct word_batch *const done = now;

        find_words(enc, next, now->text + now->stop[now->n - 1], end);
        encode_words(enc, now, ids);
        now = next;
        next = done;
    }
}

/* Encode each piece by itself. */
static void encode_each(struct encoder *enc, const uint8_t *text,
                        const uint8_t *end, struct ids *ids)
{
    uint32_t stop[PRETOKENIZE_SPARE];

    while (text < end) {
        const size_t n = enc->pretokenize(text, end, stop, PRETOKENIZE_SPARE);
        uint32_t at = 0;

        for (size_t i = 0; i < n; i++) {
            ids_reserve(ids, stop[i] - at);
            ids->n +=
                bpe_piece(enc->t, text + at, stop[i] - at, ids->id + ids->n);
            at = stop[i];
        }
        text += at;
    }
}

static void encode_bpe(struct encoder *enc, const uint8_t *text, size_t n,
                       struct ids *ids)
{
    for (size_t i = 0; enc->t->bytes_missing && i < n; i++)
        enc->left_out += enc->t->byte_id[text[i]] < 0;
    (enc->cache ? encode_batches : encode_each)(enc, text, text + n, ids);
}

static void encode_chars(struct encoder *enc, const uint8_t *text, size_t n,
                         struct ids *ids)
{
    static const uint8_t replacement[] = { 0xEF, 0xBF, 0xBD };
    const uint8_t *const end = text + n;

    while (text < end) {
        uint32_t c;
        const size_t len = utf8_decode(text, end, &c);
        const int32_t id = c == UTF8_BAD
                               ? tokenizer_find(enc->t, replacement, 3)
                               : tokenizer_find(enc->t, text, len);

        if (id >= 0)
            ids_add(ids, id);
        else
            enc->left_out++;
        text += len;
    }
}

/* The text before a part of a text. */
enum part_place {
    PLACE_CONTINUES,    /* text that was encoded before */
    PLACE_BEGINS,       /* nothing */
    PLACE_AFTER_SPECIAL /* a special token */
};

static bool needs_prefix(const struct tokenizer *t, const uint8_t *text,
                         size_t n, enum part_place place)
{
    static const char mark[] = SENTENCEPIECE_SPACE;

    if (place == PLACE_CONTINUES || t->prefix == PREFIX_NONE)
        return false;
    if (t->prefix == PREFIX_ALWAYS)
        return true;
    return (t->prefix == PREFIX_UNLESS_SPACE || place == PLACE_BEGINS) &&
           *text != ' ' &&
           (n < sizeof mark - 1 || memcmp(text, mark, sizeof mark - 1) != 0);
}

/* Replace U+2581 by spaces, and add a space before the text if this tokenizer
 * has one there; the result may be in enc->spaced. */
static void set_spaces(struct encoder *enc, const uint8_t **text, size_t *n,
                       enum part_place place)
{
    static const char mark[] = SENTENCEPIECE_SPACE;
    const bool prefix = needs_prefix(enc->t, *text, *n, place);

    if (!prefix && !memmem(*text, *n, mark, sizeof mark - 1))
        return;
    buf_trim(&enc->spaced, 0);
    if (prefix)
        buf_char(&enc->spaced, ' ');
    sentencepiece_add_spaces(&enc->spaced, *text, *n);
    *text = (const uint8_t *)enc->spaced.s;
    *n = enc->spaced.len;
}

typedef void part_fn(struct encoder *, const uint8_t *text, size_t n,
                     enum part_place, struct ids *);

/* Encode the tokens that a finder finds, and the parts of the text between
 * them. */
static void encode_around(struct encoder *enc, const struct added_finder *f,
                          const uint8_t *text, size_t n, enum part_place place,
                          part_fn *part, struct ids *ids)
{
    struct added_scan s = { 0 };
    size_t from = 0;

    while (f->any && added_next(f, text, n, &s)) {
        if (from < s.from)
            part(enc, text + from, s.from - from, place, ids);
        ids_add(ids, s.id);
        from = s.to;
        place = PLACE_AFTER_SPECIAL;
    }
    if (from < n)
        part(enc, text + from, n - from, place, ids);
}

/* Encode normalized text without added tokens. */
static void encode_part(struct encoder *enc, const uint8_t *text, size_t n,
                        enum part_place place, struct ids *ids)
{
    if (enc->t->metaspace)
        set_spaces(enc, &text, &n, place);
    if (enc->t->kind == TOKENIZER_CHARS)
        encode_chars(enc, text, n, ids);
    else
        encode_bpe(enc, text, n, ids);
}

/* Encode text in which only the added tokens of normalized text are left. */
static void encode_text(struct encoder *enc, const uint8_t *text, size_t n,
                        enum part_place place, struct ids *ids)
{
    if (enc->t->nfc && nfc_may_change((const char *)text, n)) {
        buf_trim(&enc->composed, 0);
        nfc_add(&enc->composed, (const char *)text, n);
        text = (const uint8_t *)enc->composed.s;
        n = enc->composed.len;
    }
    if (enc->t->kind == TOKENIZER_SENTENCEPIECE && !enc->t->metaspace)
        set_spaces(enc, &text, &n, place);
    encode_around(enc, &enc->normalized, text, n, place, encode_part, ids);
}

/* Copy the text to enc->clean with U+FFFD in place of invalid UTF-8. */
static void replace_invalid(struct encoder *enc, const uint8_t *s, size_t n)
{
    buf_trim(&enc->clean, 0);
    while (n > 0) {
        const size_t valid = utf8_good(s, n);
        uint32_t c;
        size_t len;

        buf_add(&enc->clean, s, valid);
        s += valid;
        n -= valid;
        if (n == 0)
            break;
        len = utf8_decode(s, s + n, &c);
        buf_str(&enc->clean, "\xEF\xBF\xBD");
        s += len;
        n -= len;
    }
}

size_t encoder_run(struct encoder *enc, const char *text, size_t n,
                   struct ids *ids)
{
    const uint8_t *s = (const uint8_t *)text;

    enc->left_out = 0;
    if ((enc->flags & ENCODER_REPLACE) && utf8_good(s, n) < n) {
        replace_invalid(enc, s, n);
        s = (const uint8_t *)enc->clean.s;
        n = enc->clean.len;
    }
    encode_around(enc, &enc->plain, s, n,
                  enc->flags & ENCODER_CONTINUE ? PLACE_CONTINUES
                                                : PLACE_BEGINS,
                  encode_text, ids);
    return enc->left_out;
}

void encoder_flags(struct encoder *enc, int flags)
{
    if (enc->flags < 0 || ((flags ^ enc->flags) & ENCODER_SPECIAL)) {
        added_set_up(&enc->plain, enc->t, flags, 0);
        added_set_up(&enc->normalized, enc->t, flags, SPECIAL_NORMALIZED);
    }
    enc->flags = flags;
}

struct encoder *encoder_new(const struct tokenizer *t,
                            struct piece_cache *cache, int flags)
{
    struct encoder *enc = xmalloc(sizeof *enc);

    *enc = (struct encoder){
        .t = t,
        .pretokenize = pretokenize_by(t->pretokenizer),
        .flags = -1,
        .composed = BUF_INIT,
        .spaced = BUF_INIT,
        .clean = BUF_INIT,
    };
    encoder_flags(enc, flags);
    if (t->kind != TOKENIZER_CHARS && cache)
        enc->phrase = map_zeros(PHRASES * sizeof *enc->phrase);
    if (enc->phrase)
        enc->cache = cache;
    return enc;
}

void encoder_free(struct encoder *enc)
{
    if (!enc)
        return;
    buf_clear(&enc->composed);
    buf_clear(&enc->spaced);
    buf_clear(&enc->clean);
    if (enc->phrase)
        munmap(enc->phrase, PHRASES * sizeof *enc->phrase);
    free(enc);
}

size_t tokenizer_encode(const struct tokenizer *t, const char *text, size_t n,
                        int flags, struct ids *ids)
{
    struct encoder *enc = encoder_new(t, NULL, flags);
    const size_t left_out = encoder_run(enc, text, n, ids);

    encoder_free(enc);
    return left_out;
}
