#include "config.h"
#include "data/corpus/fasttext.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/rng.h"
#include "common/save.h"
#include "data/corpus/hashset.h"
#include "data/token/words.h"

enum { MAGIC = 793712314, TREE = 1, SOFTMAX = 3, CLASSIFIER = 3 };
enum { WORDS = 32, ROWS = 2048, GROUP = 16, PAGE = 2 << 20 };
enum { LANES = 8, LINE = 16 }; /* numbers in a register; in a cache line */

/* What the file begins with. */
struct header {
    int32_t magic, version, dim, window, epochs, least_count, negatives;
    int32_t word_grams, loss, kind, bucket, char_least, char_most, rate;
    double sampling;
};

struct fasttext {
    struct header h;
    int32_t words, labels;
    struct hashset known; /* words, then labels */
    uint32_t *id;         /* of each in its slots */
    uint64_t factor;      /* 2^64 / h.bucket */
    const char **name;    /* of labels, without their mark */
    int64_t *count;       /* likewise */
    float *input;         /* rows: words, and n-grams by their hashes */
    float *output;        /* rows: labels */
    int32_t *branch;      /* TREE: two of each node, see make_tree() */
    struct buf head;      /* what a trained one begins with in its file */
    struct arena mem;
};

static const char label_mark[] = "__label__", text_end[] = "</s>";

enum { MARK = sizeof label_mark - 1, END = sizeof text_end - 1 };

struct word {
    const char *at;
    size_t n;
    uint64_t hash;
    uint32_t gram; /* the hash of which n-grams of words are made */
};

/* FNV-1a, but of bytes that are signed. */
static uint32_t hash_byte(uint32_t h, uint8_t c)
{
    return (h ^ (c | (c >> 7) * 0xffffff00U)) * 16777619U;
}

#define HASH_BEGIN 0x811c9dc5U

static bool is_space(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || c == '\0';
}

/* The next word of a text; after the last one, text_end itself. */
static struct word next_word(const char **p, const char *end)
{
    struct word w = { text_end, END, 0xcbf29ce484222325U, HASH_BEGIN };

    while (*p < end && is_space(**p))
        ++*p;
    if (*p < end)
        for (w.at = *p; *p < end && !is_space(**p); ++*p)
            w.n = (size_t)(*p + 1 - w.at);
    for (size_t i = 0; i < w.n; i++) {
        w.hash = (w.hash ^ (uint8_t)w.at[i]) * 0x100000001b3U;
        w.gram = hash_byte(w.gram, (uint8_t)w.at[i]);
    }
    return w;
}

/* ---- reading ------------------------------------------------------------- */

struct reader {
    const uint8_t *at, *end;
};

static bool take(struct reader *r, void *to, size_t n)
{
    if (n > (size_t)(r->end - r->at))
        return false;
    memcpy(to, r->at, n);
    r->at += n;
    return true;
}

static int damaged(struct err *e, const char *part)
{
    return err_input(e,
                     "the %s is damaged, incomplete or quantised (.ftz), which "
                     "is not supported",
                     part);
}

static int read_header(struct reader *r, struct header *h, struct err *e)
{
    if (!take(r, h, sizeof *h) || h->magic != MAGIC)
        return err_input(e, "this is not a model of fastText");
    if (h->kind != CLASSIFIER || (h->loss != TREE && h->loss != SOFTMAX))
        return err_input(e,
                         "only models with labels and the loss softmax or hs "
                         "are supported");
    if (h->version == 11)
        h->char_most = 0;
    return h->version < 11 || h->version > 12 || h->dim < 1 ||
                   h->dim > 1 << 16 || h->word_grams < 0 ||
                   h->word_grams > 64 || h->char_most < 0 ||
                   h->char_most > 64 ||
                   h->bucket < (h->word_grams > 1 || h->char_most > 0)
               ? damaged(e, "header")
               : 0;
}

/* Words, then labels; of words, only the hash is kept. */
static bool read_word(struct reader *r, struct fasttext *f, int32_t i)
{
    const int32_t label = i - f->words;
    const char *name = (const char *)r->at;
    const size_t n = strnlen(name, (size_t)(r->end - r->at));
    const uint64_t hash = next_word(&(const char *){ name }, name + n).hash;
    int64_t count;
    uint8_t kind;

    hashset_add(&f->known, hash);
    f->id[hashset_find(&f->known, hash)] = (uint32_t)i;
    r->at += n;
    if (!take(r, &kind, 1) || !take(r, &count, sizeof count) ||
        !take(r, &kind, 1) || kind != (label >= 0) || count < 0 ||
        count > INT64_MAX / f->labels)
        return false;
    if (label >= 0) {
        name += strncmp(name, label_mark, MARK) == 0 ? MARK : 0;
        f->name[label] = arena_strdup(&f->mem, name);
        f->count[label] = count;
    }
    return true;
}

static int read_words(struct reader *r, struct fasttext *f, struct err *e)
{
    int32_t n[3];      /* of both; words; labels */
    int64_t totals[2]; /* the second is -1, unless the model is quantised */
    bool good = take(r, n, sizeof n) && take(r, totals, sizeof totals) &&
                n[0] > 0 && n[0] <= (r->end - r->at) / 10 && n[2] > 0 &&
                n[2] <= n[0] && n[1] == n[0] - n[2] && totals[1] < 0;

    if (!good)
        return damaged(e, "list of words");
    f->words = n[1];
    f->labels = n[2];
    f->factor = f->h.bucket > 0 ? UINT64_MAX / (uint64_t)f->h.bucket : 0;
    for (f->known.room = 16; f->known.room < 2 * (size_t)n[0];)
        f->known.room *= 2;
    f->known.slot = xcalloc(f->known.room, sizeof *f->known.slot);
    f->id = arena_alloc(&f->mem, f->known.room * sizeof *f->id);
    f->name = arena_alloc(&f->mem, (size_t)n[2] * sizeof *f->name);
    f->count = arena_alloc(&f->mem, (size_t)n[2] * sizeof *f->count);
    for (int32_t i = 0; i < n[0] && good; i++)
        good = read_word(r, f, i);
    return good ? 0 : damaged(e, "list of words");
}

/* What is read after a row, to fill the lanes, has no effect. */
static float *new_matrix(size_t size, struct err *e)
{
    const size_t room = (size + LANES * sizeof(float) + PAGE - 1) / PAGE * PAGE;
    float *x = aligned_alloc(PAGE, room);

    if (x) {
        madvise(x, room, MADV_HUGEPAGE);
        memset(x, 0, room);
    } else {
        err_set(e, ERR_SYSTEM, "there is no memory for the model");
    }
    return x;
}

static int read_matrix(struct reader *r, int64_t rows, int32_t dim, float **x,
                       struct err *e)
{
    const size_t size = (size_t)rows * (size_t)dim * sizeof **x;
    int64_t n[2];
    uint8_t is_quantised;

    if (!take(r, &is_quantised, 1) || is_quantised || !take(r, n, sizeof n) ||
        n[0] != rows || n[1] != dim || size > (size_t)(r->end - r->at))
        return damaged(e, "matrix");
    *x = new_matrix(size, e);
    return *x && take(r, *x, size) ? 0 : -1;
}

/* The tree of labels by their counts, as Huffman's code has it: nodes are the
 * labels, and after them those that join two, the root last. */
static void make_tree(struct fasttext *f)
{
    const int32_t n = f->labels;
    AUTO_FREE int64_t *count = xcalloc((size_t)n * 2, sizeof *count);
    int32_t leaf = n - 1, node = n;

    f->branch = arena_alloc(&f->mem, (size_t)n * 2 * sizeof *f->branch);
    memcpy(count, f->count, (size_t)n * sizeof *count);
    for (int32_t i = n; i < 2 * n - 1; i++)
        for (int k = 0; k < 2; k++) {
            const bool is_leaf =
                leaf >= 0 && (node >= i || count[leaf] < count[node]);
            const int32_t next = is_leaf ? leaf-- : node++;

            f->branch[2 * (i - n) + k] = next;
            count[i] += count[next];
        }
}

static int read_model(struct fasttext *f, struct reader r, struct err *e)
{
    if (read_header(&r, &f->h, e) < 0 || read_words(&r, f, e) < 0 ||
        read_matrix(&r, (int64_t)f->words + f->h.bucket, f->h.dim, &f->input,
                    e) < 0 ||
        read_matrix(&r, f->labels, f->h.dim, &f->output, e) < 0)
        return -1;
    make_tree(f);
    return r.at == r.end ? 0 : damaged(e, "end of the model");
}

struct fasttext *fasttext_load(const char *path, struct err *e)
{
    struct fasttext *f = xcalloc(1, sizeof *f);
    const int fd = path_open(path, PATH_FOLLOW_LINKS, e);
    struct stat st = { 0 };
    struct reader r = { 0 };
    void *map;
    int ret = path_map(&map, &st, fd, path, e);

    if (map)
        r = (struct reader){ map, (uint8_t *)map + st.st_size };
    if (ret == 0 && read_model(f, r, e) < 0)
        ret = err_wrap(e, "%s", path);
    if (map)
        munmap(map, (size_t)st.st_size);
    if (ret == 0)
        return f;
    fasttext_free(f);
    return NULL;
}

void fasttext_free(struct fasttext *f)
{
    hashset_clear(&f->known);
    buf_clear(&f->head);
    arena_clear(&f->mem);
    FREE(f->input, f->output, f);
}

/* ---- the rows of a text -------------------------------------------------- */

struct sum {
    const struct fasttext *f;
    float *hidden;              /* the sum of rows, with room for all lanes */
    uint32_t row[ROWS + GROUP]; /* some are fetched beyond the last */
    size_t rows, all;
    struct buf word;   /* with what marks its ends */
    struct buf hashes; /* of words */
    struct buf *list;  /* in training: the rows, which are not added */
};

/* In the order of the text, as fastText does, while later rows are fetched. */
CLONES static void add_rows(struct sum *s)
{
    const size_t dim = (size_t)s->f->h.dim, n = s->rows;

    if (s->list)
        buf_add(s->list, s->row, n * sizeof *s->row);
    for (size_t i = 0, end; i < n && !s->list; i = end) {
        end = i + GROUP < n ? i + GROUP : n;
        for (size_t k = i; k < end; k++)
            for (size_t j = 0; j < dim; j += LINE)
                __builtin_prefetch(s->f->input + s->row[k + GROUP] * dim + j);
        for (size_t j = 0; j < dim; j += LANES) {
            float __attribute__((vector_size(4 * LANES))) sum, more;

            memcpy(&sum, s->hidden + j, sizeof sum);
            for (size_t k = i; k < end; k++) {
                memcpy(&more, s->f->input + s->row[k] * dim + j, sizeof more);
                sum += more;
            }
            memcpy(s->hidden + j, &sum, sizeof sum);
        }
    }
    s->all += n;
    s->rows = 0;
}

static void use_row(struct sum *s, uint32_t row)
{
    if (s->rows == ROWS)
        add_rows(s);
    s->row[s->rows++] = row;
}

/* That of an n-gram: the remainder of a hash, without a division. */
static void use_gram(struct sum *s, uint64_t hash)
{
    const uint64_t n = (uint64_t)s->f->h.bucket;
    const uint64_t q = (uint64_t)((unsigned __int128)hash * s->f->factor >> 64);
    const uint64_t left = hash - q * n;

    use_row(s, (uint32_t)s->f->words + (uint32_t)(left < n ? left : left - n));
}

/* The n-grams of characters of a word with what marks its ends, but not these
 * alone. */
static void use_characters(struct sum *s, const uint8_t *w, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t hash = HASH_BEGIN;
        size_t k = i;

        if ((w[i] & 0xc0) == 0x80)
            continue;
        for (int c = 1; k < n && c <= s->f->h.char_most; c++) {
            do
                hash = hash_byte(hash, w[k++]);
            while (k < n && (w[k] & 0xc0) == 0x80);
            if (c >= s->f->h.char_least && (c > 1 || (i > 0 && k < n)))
                use_gram(s, hash);
        }
    }
}

/* Returns false after the word that ends a text. */
static bool use_word(struct sum *s, const struct word *w)
{
    const size_t slot = hashset_find(&s->f->known, w->hash);
    const bool is_end = w->n == END && memcmp(w->at, text_end, END) == 0;

    if (slot != SIZE_MAX ? s->f->id[slot] >= (uint32_t)s->f->words
                         : w->n >= MARK && memcmp(w->at, label_mark, MARK) == 0)
        return true; /* a label */
    if (slot != SIZE_MAX)
        use_row(s, s->f->id[slot]);
    if (s->f->h.char_most > 0 && !is_end) {
        buf_trim(&s->word, 1);
        buf_add(&s->word, w->at, w->n);
        buf_char(&s->word, '>');
        use_characters(s, (const uint8_t *)s->word.s, s->word.len);
    }
    if (s->f->h.word_grams > 1)
        buf_add(&s->hashes, &w->gram, sizeof w->gram);
    return !is_end;
}

/* Add the rows of the words of a text, then those of their n-grams. */
static void add_text(struct sum *s, const char *p, const char *end)
{
    const struct hashset *known = &s->f->known;
    struct word w[WORDS] = { 0 };
    const int32_t *hash;
    size_t n;

    buf_trim(&s->hashes, 0);
    for (bool more = true; more;) {
        for (n = 0; n < WORDS && (n == 0 || w[n - 1].at != text_end); n++) {
            w[n] = next_word(&p, end);
            __builtin_prefetch(known->slot + (w[n].hash & (known->room - 1)));
            __builtin_prefetch(s->f->id + (w[n].hash & (known->room - 1)));
        }
        for (size_t i = 0; i < n && more; i++)
            more = use_word(s, &w[i]) && w[i].at != text_end;
    }
    hash = (const void *)s->hashes.s;
    n = s->hashes.len / sizeof *hash;
    for (size_t i = 0; i < n; i++) {
        uint64_t h = (uint64_t)hash[i];

        for (size_t k = i + 1; k < n && k < i + (size_t)s->f->h.word_grams;
             k++) {
            h = h * 116049371 + (uint64_t)hash[k];
            use_gram(s, h);
        }
    }
    add_rows(s);
}

/* ---- labels -------------------------------------------------------------- */

/* A label or a node, and the logarithm of its probability. */
struct guess {
    int32_t label;
    float log;
};

/* What fastText takes for the logarithm of a probability. */
static float log_of(float x)
{
    return (float)log((double)x + 1e-5);
}

static void score_labels(const struct fasttext *f, const float *x, float *score)
{
    const size_t dim = (size_t)f->h.dim;

    for (size_t i = 0; i < (size_t)f->labels; i++) {
        score[i] = 0;
        for (size_t j = 0; j < dim; j++)
            score[i] += f->output[i * dim + j] * x[j];
    }
}

/* Make probabilities of scores, but for a factor; returns their sum. */
static float soften(float *x, int32_t n)
{
    float most = x[0], sum = 0;

    for (int32_t i = 0; i < n; i++)
        most = x[i] > most ? x[i] : most;
    for (int32_t i = 0; i < n; i++) {
        x[i] = (float)exp((double)(x[i] - most));
        sum += x[i];
    }
    return sum;
}

/* The most probable label, the last of equals. */
static struct guess search_softmax(const struct fasttext *f, float *x)
{
    struct guess best = { 0, -INFINITY };
    const float sum = soften(x, f->labels);

    for (int32_t i = 0; i < f->labels; i++)
        if (log_of(x[i] / sum) >= best.log)
            best = (struct guess){ i, log_of(x[i] / sum) };
    return best;
}

/* The same; what is hardly probable is not visited. */
static struct guess search_tree(const struct fasttext *f, float *x)
{
    AUTO_FREE struct guess *open = xcalloc((size_t)f->labels + 1, sizeof *open);
    struct guess best = { 0, -INFINITY };

    *open = (struct guess){ 2 * f->labels - 2, 0 };
    for (size_t n = 1; n > 0;) {
        const struct guess o = open[--n];
        const int32_t join = o.label - f->labels;

        if (o.log < log_of(0) || o.log < best.log)
            continue;
        if (join >= 0) {
            const float p = (float)(1.0 / (double)(1 + expf(-x[join])));
            const float less = (float)(1.0 - (double)p);
            const int32_t *branch = f->branch + 2 * join;

            open[n++] = (struct guess){ branch[1], o.log + log_of(p) };
            open[n++] = (struct guess){ branch[0], o.log + log_of(less) };
        } else {
            best = o;
        }
    }
    return best;
}

/* The label of the average of the rows. */
const char *fasttext_predict(const struct fasttext *f, const char *text,
                             size_t n, float *probability)
{
    const size_t dim = (size_t)f->h.dim;
    struct sum s = { .f = f, .word = BUF_INIT, .hashes = BUF_INIT };
    struct guess best = { 0, -INFINITY };
    float *score = xcalloc((size_t)f->labels, sizeof *score);

    s.hidden = xcalloc(dim + LANES, sizeof *s.hidden);
    buf_char(&s.word, '<');
    add_text(&s, text, text + n);
    for (size_t j = 0; j < dim && s.all > 0; j++)
        s.hidden[j] *= (float)(1.0 / (double)s.all);
    score_labels(f, s.hidden, score);
    if (s.all > 0)
        best = (f->h.loss == TREE ? search_tree : search_softmax)(f, score);
    *probability = expf(best.log);
    FREE(score, s.hidden);
    buf_clear(&s.word);
    buf_clear(&s.hashes);
    return s.all > 0 ? f->name[best.label] : NULL;
}

/* ---- training ------------------------------------------------------------ */

static int count_words(struct word_list *list, const struct fasttext_text *t,
                       size_t n, struct err *e)
{
    AUTO(words_clear) struct words w = { 0 };
    int64_t left_out;

    words_init(&w, (size_t)1 << 30);
    for (size_t i = 0; i < n; i++) {
        const char *p = t[i].text, *const end = p + t[i].n;

        for (struct word x = { 0 }; x.at != text_end;) {
            x = next_word(&p, end);
            if (x.n < MARK || memcmp(x.at, label_mark, MARK) != 0)
                words_count(&w, (const uint8_t *)x.at,
                            (const uint8_t *)x.at + x.n,
                            &(uint32_t){ (uint32_t)x.n }, 1);
        }
        if (words_full(&w) && words_spill(&w, e) < 0)
            return -1;
    }
    return words_collect(list, &w, 1, 0, &left_out, e);
}

static void add_entry(struct buf *b, const char *mark, const char *word,
                      size_t n, int64_t count)
{
    buf_str(b, mark);
    buf_add(b, word, n);
    buf_char(b, '\0');
    buf_add(b, &count, sizeof count);
    buf_char(b, *mark ? 1 : 0);
}

/* What the file of a model begins with, before its matrices. */
static void make_head(struct buf *b, const struct fasttext_conf *c,
                      struct word_list *list, char *const *label,
                      int32_t labels, const struct fasttext_text *t, size_t n)
{
    const struct header h = {
        .magic = MAGIC,
        .version = 12,
        .dim = c->dim,
        .window = 5,
        .epochs = c->epochs,
        .least_count = 1,
        .negatives = 5,
        .word_grams = c->grams,
        .loss = SOFTMAX,
        .kind = CLASSIFIER,
        .bucket = c->grams > 1 ? c->buckets : 0,
        .rate = 100,
        .sampling = 1e-4,
    };
    const int32_t sizes[] = { (int32_t)list->n + labels, (int32_t)list->n,
                              labels };
    int64_t totals[] = { 0, -1 };

    word_list_sort(list);
    for (size_t i = 0; i < list->n; i++)
        totals[0] += (int64_t)list->word[i].count;
    buf_add(b, &h, sizeof h);
    buf_add(b, sizes, sizeof sizes);
    buf_add(b, totals, sizeof totals);
    for (size_t i = 0; i < list->n; i++)
        add_entry(b, "", list->text.s + list->word[i].at, list->word[i].len,
                  (int64_t)list->word[i].count);
    for (int32_t i = 0; i < labels; i++) {
        int64_t count = 0;

        for (size_t k = 0; k < n; k++)
            count += t[k].label == i;
        add_entry(b, label_mark, label[i], strlen(label[i]), count);
    }
}

/* One step of gradient descent, for a text whose rows are listed. */
static void step(struct fasttext *f, struct sum *s, float *grad, float *score,
                 int32_t label, float rate)
{
    const size_t dim = (size_t)f->h.dim, n = s->list->len / sizeof *s->row;
    const uint32_t *row = (const void *)s->list->s;
    float sum;

    memset(s->hidden, 0, dim * sizeof *s->hidden);
    memset(grad, 0, dim * sizeof *grad);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < dim; j++)
            s->hidden[j] += f->input[row[i] * dim + j] / (float)n;
    score_labels(f, s->hidden, score);
    sum = soften(score, f->labels);
    for (int32_t i = 0; i < f->labels; i++) {
        const float by = rate * ((float)(i == label) - score[i] / sum);
        float *out = f->output + (size_t)i * dim;

        for (size_t j = 0; j < dim; j++) {
            grad[j] += by * out[j];
            out[j] += by * s->hidden[j];
        }
    }
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < dim; j++)
            f->input[row[i] * dim + j] += grad[j] / (float)n;
}

static void learn(struct fasttext *f, const struct fasttext_conf *c,
                  const struct fasttext_text *t, size_t n)
{
    const size_t dim = (size_t)f->h.dim;
    AUTO(buf_clear) struct buf list = BUF_INIT;
    struct sum s = {
        .f = f, .word = BUF_INIT, .hashes = BUF_INIT, .list = &list
    };
    float *grad = xcalloc(dim, sizeof *grad);
    float *score = xcalloc((size_t)f->labels, sizeof *score);
    size_t *order = xcalloc(n, sizeof *order);

    s.hidden = xcalloc(dim + LANES, sizeof *s.hidden);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    for (int epoch = 0; epoch < c->epochs; epoch++) {
        const uint64_t stream = rng_stream(RNG_DATA, (uint64_t)epoch, 0);

        for (size_t i = n - 1; i > 0; i--) {
            const size_t k = rng_word(0, stream, i) % (i + 1), at = order[i];

            order[i] = order[k];
            order[k] = at;
        }
        for (size_t i = 0; i < n; i++) {
            const struct fasttext_text *x = &t[order[i]];
            const double done =
                (double)((size_t)epoch * n + i) / (double)n / c->epochs;

            buf_trim(&list, 0);
            add_text(&s, x->text, x->text + x->n);
            step(f, &s, grad, score, x->label, (float)(c->rate * (1 - done)));
        }
    }
    FREE(grad, score, order, s.hidden);
    buf_clear(&s.word);
    buf_clear(&s.hashes);
}

struct fasttext *fasttext_train(const struct fasttext_conf *c,
                                char *const *labels, int32_t n_labels,
                                const struct fasttext_text *t, size_t n,
                                struct err *e)
{
    const size_t dim = (size_t)c->dim;
    const uint64_t stream = rng_stream(RNG_INIT, 0, 0);
    struct fasttext *f = xcalloc(1, sizeof *f);
    AUTO(word_list_clear) struct word_list list = { .text = BUF_INIT };
    struct reader r;
    size_t size;

    if (count_words(&list, t, n, e) < 0)
        goto fail;
    f->head = BUF_INIT;
    make_head(&f->head, c, &list, labels, n_labels, t, n);
    r = (struct reader){ (const uint8_t *)f->head.s,
                         (const uint8_t *)f->head.s + f->head.len };
    if (read_header(&r, &f->h, e) < 0 || read_words(&r, f, e) < 0)
        goto fail;
    size = ((size_t)f->words + (size_t)f->h.bucket) * dim;
    f->input = new_matrix(size * sizeof *f->input, e);
    f->output = new_matrix((size_t)n_labels * dim * sizeof *f->output, e);
    if (!f->input || !f->output)
        goto fail;
    for (size_t i = 0; i < size; i++)
        f->input[i] = (2 * rng_uniform(0, stream, i) - 1) / (float)dim;
    learn(f, c, t, n);
    return f;

fail:
    fasttext_free(f);
    return NULL;
}

static void write_matrix(FILE *fp, const float *x, int64_t rows, int64_t dim)
{
    const int64_t n[] = { rows, dim };

    fputc(0, fp);
    fwrite(n, sizeof n, 1, fp);
    fwrite(x, sizeof *x, (size_t)(rows * dim), fp);
}

int fasttext_save(const struct fasttext *f, const char *path, struct err *e)
{
    struct save s;

    if (save_open(&s, path, e) < 0)
        return -1;
    fwrite(f->head.s, 1, f->head.len, s.fp);
    write_matrix(s.fp, f->input, (int64_t)f->words + f->h.bucket, f->h.dim);
    write_matrix(s.fp, f->output, f->labels, f->h.dim);
    return save_commit(&s, e);
}
