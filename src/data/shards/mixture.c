#include "config.h"
#include "data/shards/mixture.h"

#include <assert.h>
#include <string.h>

#include "common/hash.h"
#include "common/mem.h"

struct mixture {
    struct loader *loader[SOURCE_LIST_MOST];
    char name[SOURCE_LIST_MOST][SOURCE_LIST_NAME];
    size_t n;
    struct shares *shares; /* NULL: all is from the first */
    int64_t context, last; /* the first sequence of the last call */
    char hash[SHA256_TEXT];
};

static void hash_sources(struct mixture *m)
{
    struct sha256 h;

    if (!*m->name[0]) {
        memcpy(m->hash, loader_hash(m->loader[0]), SHA256_TEXT);
        return;
    }
    sha256_init(&h);
    for (size_t k = 0; k < m->n; k++) {
        sha256_add(&h, m->name[k], strlen(m->name[k]) + 1);
        sha256_add(&h, loader_hash(m->loader[k]), SHA256_TEXT);
    }
    sha256_text(&h, m->hash);
}

static int open_source(struct mixture *m, const struct source_part *p,
                       const struct loader_conf *conf, struct err *e)
{
    struct loader_conf c = *conf;
    const size_t len = strlen(p->name);

    c.files = p->files;
    if (len > 0)
        c.seed = hash128(p->name, len, conf->seed).lo;
    memcpy(m->name[m->n], p->name, len + 1);
    if (loader_open(&m->loader[m->n], &c, e) < 0)
        return len > 0 ? err_wrap(e, "%s", p->name) : -1;
    m->n++;
    return 0;
}

/* How often a source is read at most. */
static int64_t limit_of(const struct mixture *m, const struct source_list *l,
                        size_t k)
{
    const int64_t epochs = source_list_first(l, k)->epochs;
    const int64_t windows = loader_windows(m->loader[k]);

    return epochs < INT64_MAX / windows ? epochs * windows : 0;
}

static struct shares *make_shares(const struct mixture *m,
                                  const struct source_list *l,
                                  const struct mixture_conf *c)
{
    struct shares_part part[SOURCE_LIST_MOST];
    int64_t most[SOURCE_LIST_MOST];

    for (size_t k = 0; k < m->n; k++)
        most[k] = limit_of(m, l, k);
    for (size_t i = 0; i < l->n; i++) {
        const struct source_part *p = &l->part[i];

        part[i] = (struct shares_part){
            .source = p->source,
            .weight = p->share ? p->share : 1,
            .from = c->sequences(c->arg, &p->from),
            .until =
                p->until.n > 0 ? c->sequences(c->arg, &p->until) : INT64_MAX,
        };
    }
    return shares_new(&(struct shares_conf){ .sources = m->n,
                                             .part = part,
                                             .parts = l->n,
                                             .most = most,
                                             .stops = c->stops });
}

int mixture_open(struct mixture **out, const struct source_list *l,
                 const struct mixture_conf *c, struct err *e)
{
    struct mixture *m = xcalloc(1, sizeof *m);

    m->context = c->loader.context;
    for (size_t k = 0; k < l->sources; k++)
        if (open_source(m, source_list_first(l, k), &c->loader, e) < 0) {
            mixture_close(m);
            return -1;
        }
    if (c->shares && *m->name[0])
        m->shares = make_shares(m, l, c);
    hash_sources(m);
    *out = m;
    return 0;
}

void mixture_close(struct mixture *m)
{
    if (!m)
        return;
    for (size_t k = 0; k < m->n; k++)
        loader_close(m->loader[k]);
    shares_free(m->shares);
    free(m);
}

size_t mixture_sources(const struct mixture *m)
{
    return m->n;
}

struct loader *mixture_loader(const struct mixture *m, size_t source)
{
    return m->loader[source];
}

const char *mixture_name(const struct mixture *m, size_t source)
{
    return m->name[source];
}

int mixture_check(const struct mixture *m, struct err *e)
{
    for (size_t k = 0; k < m->n; k++)
        if (loader_check(m->loader[k], e) < 0)
            return -1;
    return 0;
}

const char *mixture_hash(const struct mixture *m)
{
    return m->hash;
}

static struct shares_place place_of(struct mixture *m, int64_t i)
{
    return m->shares ? shares_at(m->shares, i) : (struct shares_place){ 0, i };
}

size_t mixture_source(struct mixture *m, int64_t i)
{
    return place_of(m, i).source;
}

int64_t mixture_count(struct mixture *m, size_t source, int64_t n)
{
    return m->shares ? shares_count(m->shares, source, n) : n;
}

double mixture_due(const struct mixture *m, size_t source, int64_t n)
{
    return m->shares ? shares_due(m->shares, source, n) : (double)n;
}

int64_t mixture_length(const struct mixture *m)
{
    return m->shares ? shares_length(m->shares) : INT64_MAX;
}

/* Touch the windows of the next call, which is probably as far from this one as
 * this one was from the last.  Those of a source follow one another. */
static void touch_next(struct mixture *m, int64_t first, int64_t n)
{
    int64_t next[SOURCE_LIST_MOST], count[SOURCE_LIST_MOST] = { 0 };
    const int64_t step = first - m->last, from = first + step;

    m->last = first;
    if (step <= 0 || from + n > mixture_length(m))
        return;
    for (int64_t i = from; i < from + n; i++) {
        const struct shares_place p = place_of(m, i);

        if (count[p.source]++ == 0)
            next[p.source] = p.nth;
    }
    for (size_t k = 0; k < m->n; k++)
        if (count[k] > 0)
            loader_touch(m->loader[k], next[k], count[k]);
}

int mixture_get(struct mixture *m, int64_t first, int64_t n, int32_t *x,
                int32_t *y, struct err *e)
{
    if (first + n > mixture_length(m))
        return err_input(e,
                         "the sources of data.train end after %lld sequences",
                         (long long)mixture_length(m));
    for (int64_t i = 0; i < n; i++) {
        const struct shares_place p = place_of(m, first + i);

        if (loader_get(m->loader[p.source], p.nth, 1, x + i * m->context,
                       y + i * m->context, e) < 0)
            return -1;
    }
    touch_next(m, first, n);
    return 0;
}

/* ---- the source of a sequence ------------------------------------------- */

enum { BLOCK = 4096, KEPT = 4 };

/* What is due is counted in units of 2^-62, so that it adds up exactly. */
typedef unsigned __int128 due;
static const uint64_t one = (uint64_t)1 << 62;

/* A source in a phase. */
struct line {
    due before;    /* the phase */
    uint64_t rate; /* of each sequence; the sum is one */
};

struct phase {
    int64_t from;
    struct line *line; /* of each source */
};

/* The next sequence of a source. */
struct turn {
    int64_t count; /* before it */
    int64_t release, deadline;
    size_t phase; /* the deadline is in it, or at its end */
};

/* Where the sequences of a block come from. */
struct block {
    int64_t number; /* of the block; -1: none */
    uint16_t source[BLOCK];
    uint16_t nth[BLOCK]; /* since the block began */
};

struct shares {
    size_t n;
    struct phase *phase;
    size_t phases, phase_room;
    int64_t length;
    int64_t *count; /* before each block, n numbers */
    size_t blocks, count_n, count_room;
    struct turn *turn;
    int64_t turn_at; /* the block that turn[] is at the beginning of */
    struct block *kept;
    size_t replace; /* the next of these */
    struct arena mem;
};

/* ---- phases ------------------------------------------------------------- */

/* The first sequence after `at` at which a part begins or ends. */
static int64_t next_change(const struct shares_conf *c, int64_t at)
{
    int64_t next = INT64_MAX;

    for (size_t i = 0; i < c->parts; i++) {
        const struct shares_part *p = &c->part[i];

        if (p->from > at && p->from < next)
            next = p->from;
        if (p->until > at && p->until < next)
            next = p->until;
    }
    return next;
}

/* What is left of each source; the largest number if there is no limit. */
static void set_left(due *left, const struct shares_conf *c)
{
    for (size_t k = 0; k < c->sources; k++)
        left[k] = c->most && c->most[k] > 0 ? (due)c->most[k] * one : ~(due)0;
}

/* Set the weights at a sequence; true if a source has one, but has ended. */
static bool set_weights(int64_t *weight, const struct shares_conf *c,
                        const due *left, int64_t at)
{
    bool ended = false;

    memset(weight, 0, c->sources * sizeof *weight);
    for (size_t i = 0; i < c->parts; i++) {
        const struct shares_part *p = &c->part[i];

        if (at < p->from || at >= p->until)
            continue;
        if (left[p->source] > 0)
            weight[p->source] += p->weight;
        else
            ended = true;
    }
    return ended;
}

/* Divide an amount by the weights, whose sum must not be 0. */
static void divide(struct line *line, const int64_t *weight, size_t n,
                   uint64_t amount)
{
    uint64_t rest = amount;
    size_t most = 0;
    int64_t sum = 0;

    for (size_t k = 0; k < n; k++)
        sum += weight[k];
    for (size_t k = 0; k < n; k++) {
        if (!weight[k])
            continue;
        line[k].rate = (uint64_t)((due)weight[k] * amount / (due)sum);
        rest -= line[k].rate;
        most = weight[k] > weight[most] ? k : most;
    }
    line[most].rate += rest;
}

/* Divide one sequence in which some sources end: these get what is left of
 * them.  False if the others have no weight. */
static bool divide_last(struct line *line, int64_t *weight, const due *left,
                        size_t n)
{
    uint64_t amount = one;
    bool again = true;

    while (again) {
        int64_t sum = 0;

        again = false;
        for (size_t k = 0; k < n; k++)
            sum += weight[k];
        if (sum == 0)
            return amount == 0;
        divide(line, weight, n, amount);
        for (size_t k = 0; k < n; k++) {
            if (!weight[k] || line[k].rate <= left[k])
                continue;
            line[k].rate = (uint64_t)left[k];
            amount -= line[k].rate;
            weight[k] = 0;
            again = true;
        }
    }
    return true;
}

/* The sequences, at most `most`, after which no source has less than what it
 * gets of one. */
static int64_t count_whole(const struct line *line, const due *left, size_t n,
                           int64_t most)
{
    for (size_t k = 0; k < n; k++)
        if (line[k].rate > 0 && left[k] / line[k].rate < (due)most)
            most = (int64_t)(left[k] / line[k].rate);
    return most;
}

/* Add a phase of some sequences, and take them from what is left. */
static void add_phase(struct shares *s, struct line *line, int64_t from,
                      int64_t count, due *left, due *before)
{
    struct line *own = arena_alloc(&s->mem, s->n * sizeof *own);

    for (size_t k = 0; k < s->n; k++) {
        own[k] = line[k];
        own[k].before = before[k];
        if (!own[k].rate)
            continue;
        before[k] += (due)count * own[k].rate;
        left[k] -= left[k] == ~(due)0 ? 0 : (due)count * own[k].rate;
    }
    APPEND(s->phase, s->phases, s->phase_room) = (struct phase){ from, own };
}

/* Returns where the sequences end. */
static int64_t add_phases(struct shares *s, const struct shares_conf *c)
{
    const size_t n = c->sources;
    int64_t *weight = arena_alloc(&s->mem, n * sizeof *weight);
    due *left = arena_alloc(&s->mem, n * sizeof *left);
    due *before = arena_alloc(&s->mem, n * sizeof *before);
    struct line *line = arena_alloc(&s->mem, n * sizeof *line);
    int64_t at = 0;

    set_left(left, c);
    while (at < INT64_MAX) {
        const int64_t next = next_change(c, at);
        const bool ended = set_weights(weight, c, left, at);
        int64_t sum = 0, count;

        for (size_t k = 0; k < n; k++)
            sum += weight[k];
        if (sum == 0 || (ended && c->stops))
            return at;
        memset(line, 0, n * sizeof *line);
        divide(line, weight, n, one);
        count = count_whole(line, left, n, next - at);
        if (count == 0) {
            memset(line, 0, n * sizeof *line);
            if (c->stops || !divide_last(line, weight, left, n))
                return at;
            count = 1;
        }
        add_phase(s, line, at, count, left, before);
        at += count;
    }
    return at;
}

/* ---- turns -------------------------------------------------------------- */

/* The first sequence before which so much is due of source k, from phase *p
 * on, which becomes the one that it is in; INT64_MAX if it never is. */
static int64_t find_due(const struct shares *s, size_t k, due much, size_t *p)
{
    for (size_t i = *p; i < s->phases; i++) {
        const struct line *line = &s->phase[i].line[k];
        const int64_t end =
            i + 1 < s->phases ? s->phase[i + 1].from : s->length;
        const int64_t lasts = end - s->phase[i].from;
        due steps;

        if (!line->rate)
            continue;
        steps = (much - line->before + line->rate - 1) / line->rate;
        if (steps > (due)lasts)
            continue;
        *p = i;
        return s->phase[i].from + (int64_t)steps;
    }
    *p = s->phases - 1;
    return INT64_MAX;
}

/* Set the turn of source k by its count and a phase at or before it. */
static void find_turn(const struct shares *s, size_t k, struct turn *t)
{
    const due much = (due)t->count * one;
    const int64_t at = find_due(s, k, much + 1, &t->phase);

    t->release = at == INT64_MAX ? at : at - 1;
    t->deadline = find_due(s, k, much + one, &t->phase);
}

static size_t choose_source(const struct shares *s, int64_t at)
{
    int64_t first = INT64_MAX;
    size_t best = s->n;

    for (size_t k = 0; k < s->n; k++) {
        const struct turn *t = &s->turn[k];

        if (t->release > at || (best < s->n && t->deadline >= first))
            continue;
        best = k;
        first = t->deadline;
    }
    assert(best < s->n);
    return best;
}

/* ---- blocks ------------------------------------------------------------- */

static void add_counts(struct shares *s)
{
    for (size_t k = 0; k < s->n; k++) {
        APPEND(s->count, s->count_n, s->count_room) = s->turn[k].count;
    }
    s->blocks++;
}

static void go_to(struct shares *s, int64_t block)
{
    if (s->turn_at == block)
        return;
    for (size_t k = 0; k < s->n; k++) {
        s->turn[k] =
            (struct turn){ .count = s->count[(size_t)block * s->n + k] };
        find_turn(s, k, &s->turn[k]);
    }
}

/* Assign the sequences of a block whose counts are known. */
static struct block *fill_block(struct shares *s, int64_t number)
{
    struct block *b = &s->kept[s->replace++ % KEPT];
    const int64_t *before = &s->count[(size_t)number * s->n];
    const int64_t first = number * BLOCK;

    go_to(s, number);
    b->number = number;
    for (int64_t i = 0; i < BLOCK && first + i < s->length; i++) {
        const size_t k = choose_source(s, first + i);

        b->source[i] = (uint16_t)k;
        b->nth[i] = (uint16_t)(s->turn[k].count - before[k]);
        s->turn[k].count++;
        find_turn(s, k, &s->turn[k]);
    }
    s->turn_at = number + 1;
    if ((size_t)s->turn_at == s->blocks)
        add_counts(s);
    return b;
}

static const struct block *find_block(struct shares *s, int64_t number)
{
    for (int i = 0; i < KEPT; i++)
        if (s->kept[i].number == number)
            return &s->kept[i];
    while ((int64_t)s->blocks <= number)
        fill_block(s, (int64_t)s->blocks - 1);
    return fill_block(s, number);
}

struct shares_place shares_at(struct shares *s, int64_t i)
{
    const struct block *b = find_block(s, i / BLOCK);
    const size_t k = b->source[i % BLOCK];

    return (struct shares_place){ k, s->count[(size_t)(i / BLOCK) * s->n + k] +
                                         b->nth[i % BLOCK] };
}

int64_t shares_count(struct shares *s, size_t source, int64_t i)
{
    const struct block *b = find_block(s, i / BLOCK);
    int64_t n = s->count[(size_t)(i / BLOCK) * s->n + source];

    for (int64_t k = 0; k < i % BLOCK; k++)
        n += b->source[k] == source;
    return n;
}

double shares_due(const struct shares *s, size_t source, int64_t i)
{
    size_t p = s->phases;

    while (p > 0 && s->phase[p - 1].from > i)
        p--;
    if (p-- == 0)
        return 0;
    return ((double)s->phase[p].line[source].before +
            (double)(i - s->phase[p].from) *
                (double)s->phase[p].line[source].rate) /
           (double)one;
}

int64_t shares_length(const struct shares *s)
{
    return s->length;
}

struct shares *shares_new(const struct shares_conf *c)
{
    struct shares *s = xcalloc(1, sizeof *s);

    s->n = c->sources;
    s->turn = xcalloc(s->n, sizeof *s->turn);
    s->kept = xcalloc(KEPT, sizeof *s->kept);
    for (int i = 0; i < KEPT; i++)
        s->kept[i].number = -1;
    s->length = add_phases(s, c);
    for (size_t k = 0; k < s->n && s->phases > 0; k++)
        find_turn(s, k, &s->turn[k]);
    add_counts(s);
    return s;
}

void shares_free(struct shares *s)
{
    if (!s)
        return;
    FREE(s->phase, s->count, s->turn, s->kept);
    arena_clear(&s->mem);
    free(s);
}
