#include "config.h"
#include "data/shards/encode_block.h"

#include <stdbool.h>
#include <string.h>

#include "common/mem.h"
#include "data/shards/shard.h"
#include "data/token/chat_template.h"

struct block_task {
    struct encoder *enc;
    const struct encode_corpus_conf *conf;
    const struct corpus_block *from;
    struct encoded_block *to;
    int flags; /* of the encoder */
};

/* Where the tail begins that is held out for validation, and for a test. */
static int64_t val_from(const struct encode_corpus_conf *c)
{
    return (int64_t)((double)c->text * (1 - c->val - c->test));
}

static int64_t test_from(const struct encode_corpus_conf *c)
{
    return c->test > 0 ? (int64_t)((double)c->text * (1 - c->test)) : INT64_MAX;
}

static int subset_at(const struct encode_corpus_conf *c, int64_t at)
{
    if (at < val_from(c))
        return SUBSET_TRAIN;
    return at < test_from(c) ? SUBSET_VAL : SUBSET_TEST;
}

static int subset_of_hash(const struct encode_corpus_conf *c,
                          const struct corpus_doc *d)
{
    if (c->val > 0 && corpus_doc_in_share(d, c->val))
        return SUBSET_VAL;
    if (c->test > 0 && corpus_doc_in_share(d, c->val + c->test))
        return SUBSET_TEST;
    return SUBSET_TRAIN;
}

static void add_range(struct encoded_block *r, size_t n, int subset)
{
    struct id_range *last = r->n_ranges > 0 ? r->range + r->n_ranges - 1 : NULL;

    if (n == 0)
        return;
    if (last && (subset == ENCODE_SAME || last->subset == subset)) {
        last->n += n;
        return;
    }
    GROW(r->range, r->n_ranges, r->ranges_room);
    r->range[r->n_ranges++] = (struct id_range){ n, subset };
}

static void add_eot(const struct block_task *t)
{
    ids_add(&t->to->ids, tokenizer_eot(t->conf->tokenizer) |
                             (t->conf->chat ? SHARD_UNSCORED : 0));
}

/* The messages are as jsonl_row() has left them. */
static size_t encode_chat(const struct block_task *t, const char *text,
                          size_t n)
{
    const struct chat_template *c = t->conf->chat;
    struct ids *ids = &t->to->ids;
    size_t left_out = 0;

    chat_template_begin(c, SHARD_UNSCORED, ids);
    for (const char *const end = text + n; text < end;) {
        const char *role = text, *content = role + strlen(role) + 1;

        n = strlen(content);
        left_out += chat_template_message(c, t->enc, role, content, n,
                                          SHARD_UNSCORED, ids);
        text = content + n + 1;
    }
    return left_out;
}

static int encode_text(const struct block_task *t, const struct corpus_doc *d,
                       const char *text, size_t n, struct err *e)
{
    const bool begins = d->begins && text == d->text;
    const int flags = t->flags | (begins ? 0 : ENCODER_CONTINUE);
    size_t left_out;

    encoder_flags(t->enc, flags);
    left_out = t->conf->chat ? encode_chat(t, text, n)
                             : encoder_run(t->enc, text, n, &t->to->ids);
    if (left_out > 0)
        return err_set(e, ERR_INPUT,
                       "%s:%lld: the tokenizer has no id for %zu characters "
                       "of this document",
                       t->from->file, (long long)d->line, left_out);
    return 0;
}

/*
 * A document of plain text is divided, between two characters, where one subset
 * ends and the next begins.  Returns the length of the first part, or 0 if the
 * n bytes of text at position `at` belong to one subset.
 */
static size_t first_part(const struct block_task *t, const char *text, size_t n,
                         int64_t at)
{
    const int64_t ends[] = { val_from(t->conf), test_from(t->conf) };

    if (t->conf->text == 0 || t->from->json)
        return 0;
    for (size_t i = 0; i < 2; i++) {
        const int64_t left = ends[i] - at;

        if (left > 0 && left < (int64_t)n) {
            size_t k = (size_t)left;

            while (k > 0 && ((uint8_t)text[k] & 0xC0) == 0x80)
                k--;
            return k;
        }
    }
    return 0;
}

/* The subset of a document, or ENCODE_SAME if it began in the block before. */
static int subset_of(const struct block_task *t, const struct corpus_doc *d,
                     int64_t at)
{
    if (t->conf->text > 0 && (d->begins || !t->from->json))
        return subset_at(t->conf, at);
    return d->begins ? subset_of_hash(t->conf, d) : ENCODE_SAME;
}

static int encode_doc(const struct block_task *t, const struct corpus_doc *d,
                      int64_t at, struct err *e)
{
    const enum encode_eot eot = t->conf->eot;
    struct encoded_block *const r = t->to;
    int subset = subset_of(t, d, at);
    const char *text = d->text;
    size_t n = d->len, begin = r->ids.n, k;

    if (d->begins && eot == ENCODE_EOT_FIRST)
        add_eot(t);
    while ((k = first_part(t, text, n, at)) > 0) {
        if (encode_text(t, d, text, k, e) < 0)
            return -1;
        add_range(r, r->ids.n - begin, subset);
        begin = r->ids.n;
        text += k;
        n -= k;
        at += (int64_t)k;
        subset = subset_at(t->conf, at);
    }
    if (encode_text(t, d, text, n, e) < 0)
        return -1;
    if (d->ends && eot == ENCODE_EOT_LAST)
        add_eot(t);
    add_range(r, r->ids.n - begin, subset);
    r->documents += d->ends;
    return 0;
}

/* Convert ids to uint16 in place, eight at a time. */
static void pack_ids(struct ids *ids)
{
    typedef int32_t wide __attribute__((vector_size(32)));
    typedef uint16_t narrow __attribute__((vector_size(16)));
    const int32_t *from = ids->id;
    char *out = (char *)ids->id;
    size_t i = 0;

    for (; i + 8 <= ids->n; i += 8) {
        wide w;
        narrow n;

        memcpy(&w, from + i, sizeof w);
        n = __builtin_convertvector(w, narrow);
        memcpy(out + 2 * i, &n, sizeof n);
    }
    for (; i < ids->n; i++) {
        const uint16_t id = (uint16_t)from[i];

        memcpy(out + 2 * i, &id, sizeof id);
    }
}

int encode_block(struct encoder *enc, const struct encode_corpus_conf *c,
                 const struct corpus_block *b, int64_t at,
                 struct encoded_block *r, struct err *e)
{
    const bool replace = c->invalid == ENCODE_INVALID_REPLACE ||
                         (c->invalid == ENCODE_INVALID_AUTO && b->json);
    const struct block_task t = { enc, c, b, r,
                                  (replace ? ENCODER_REPLACE : 0) |
                                      (c->special ? ENCODER_SPECIAL : 0) };

    r->seq = b->seq;
    r->place = b->next;
    r->ids.n = 0;
    r->n_ranges = 0;
    r->documents = 0;
    r->bad = b->bad;
    r->text = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (encode_doc(&t, &b->doc[i], at + r->text, e) < 0)
            return -1;
        r->text += (int64_t)b->doc[i].len;
    }
    if (c->width == 2)
        pack_ids(&r->ids);
    return 0;
}
