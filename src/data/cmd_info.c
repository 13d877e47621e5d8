/*
 * gdata info - describe shards and texts
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/output/table.h"
#include "data/corpus/clean.h"
#include "data/corpus/corpus.h"
#include "data/corpus/corpus_files.h"
#include "data/corpus/hashset.h"
#include "data/corpus/roll.h"
#include "data/shards/lock.h"
#include "data/shards/shard.h"
#include "data/token/tokenizer.h"
#include "data/token/words.h"

enum { TOP_WORDS = 64, TOP_MEMORY = 256 << 20, REPEATS_MOST = 1024 };

static const char *tokenizer_path, *top, *no_output;
static struct corpus_opts input = CORPUS_OPTS_INIT;
static int head = 100, top_words, repeats;
static bool describe, top_lines;
static struct table_style style;

static const struct opt info_opts[] = {
    { 'T', "tokenizer", "path", OPT_STRING, &tokenizer_path,
      "also count documents, and decode the first tokens" },
    { 'n', "head", "count", OPT_INT, &head,
      "decode COUNT tokens, or list COUNT values (default: 100)" },
    { 0, "stats", NULL, OPT_FLAG, &describe,
      "also print repetitions and lengths of texts; with -T, bytes per token" },
    { 0, "top", "field", OPT_STRING, &top,
      "list the most frequent values of FIELD, of URLs their hosts" },
    { 0, "top-lines", NULL, OPT_FLAG, &top_lines,
      "list the lines that most documents have" },
    { 0, "top-words", "count", OPT_INT, &top_words,
      "list the sequences of COUNT words that most documents have",
      .range = { 1, TOP_WORDS } },
    { 0, "repeats", "count", OPT_INT, &repeats,
      "find spans of tokens that repeat", .range = { 1, REPEATS_MOST } },
    CORPUS_OPTS(input),
    TABLE_OPTS(style),
    { 0 }
};

struct counts {
    int64_t distinct, max, documents;
};

static int count_ids(const struct shard *s, int32_t eot, struct counts *c,
                     struct err *e)
{
    enum { IDS = 1 << 24 }; /* more than any vocabulary has */
    AUTO_FREE unsigned char *seen = xcalloc(IDS, 1);
    int32_t id[SHARD_BLOCK];

    *c = (struct counts){ 0, -1, eot >= 0 ? 0 : -1 };
    for (int64_t i = 0; i < s->n; i += SHARD_BLOCK) {
        const int64_t n = s->n - i < SHARD_BLOCK ? s->n - i : SHARD_BLOCK;
        uint32_t most = 0;

        if (shard_copy(s, i, n, id, &most, e) < 0)
            return -1;
        c->max = most > c->max ? most : c->max;
        for (int64_t k = 0; k < n; k++) {
            c->documents += id[k] == eot;
            c->distinct += !seen[id[k] % IDS];
            seen[id[k] % IDS] = 1;
        }
    }
    if (c->max >= IDS)
        c->distinct = -1;
    return shard_check(s, e);
}

/* Places of tokens, from 1: where a sequence of `repeats` was first, or 0. */
struct slot {
    uint32_t place;
    uint8_t tag; /* bits of its hash */
} __attribute__((packed));

struct span {
    int64_t n, at, first;
};

/* Returns the first place of the tokens, which is `at` if they are new. */
static int64_t find_first(const struct shard *s, struct slot *slot, size_t room,
                          uint64_t hash, int64_t at, const int32_t *ids,
                          struct err *e)
{
    int32_t other[REPEATS_MOST];
    size_t i = (hash >> 8) % room;

    for (; slot[i].place; i = i + 1 < room ? i + 1 : 0) {
        if (slot[i].tag != (uint8_t)hash)
            continue;
        if (shard_copy(s, slot[i].place - 1, repeats, other, NULL, e) < 0)
            return -1;
        if (memcmp(other, ids, (size_t)repeats * sizeof *ids) == 0)
            return slot[i].place;
    }
    slot[i] = (struct slot){ (uint32_t)at, (uint8_t)hash };
    return at;
}

/* A span is as long as each sequence of `repeats` tokens in it was before. */
static int add_spans(struct table *t, const struct shard *s, int32_t eot,
                     struct err *e)
{
    const size_t room = (size_t)s->n / 8 * 9 + 9;
    AUTO_FREE struct slot *slot = mem_alloc(room, sizeof *slot, s->path, e);
    int64_t n, spans = 0, tokens = 0, last = INT32_MIN;
    struct span span = { 0 }, longest = span;
    AUTO_FREE uint64_t *hash = xcalloc(SHARD_BLOCK + 1, sizeof *hash);
    uint64_t power[ROLL_MAX + 1], highest = 1; /* for roll.h */
    int32_t id[SHARD_BLOCK];

    if (s->n >= UINT32_MAX)
        return err_input(e, "%s: --repeats takes fewer than 2^32 tokens",
                         s->path);
    if (!slot)
        return -1;
    memset(slot, 0, room * sizeof *slot);
    roll_powers(power);
    for (int i = 0; i < repeats; i++)
        highest *= power[1];
    for (int64_t i = 0; i + repeats <= s->n; i += n - repeats + 1) {
        n = s->n - i < SHARD_BLOCK ? s->n - i : SHARD_BLOCK;
        if (shard_copy(s, i, n, id, NULL, e) < 0)
            return -1;
        for (int64_t j = 0; j < n; j++)
            hash[j + 1] = hash[j] * power[1] + (uint64_t)id[j] + 1;
        for (int64_t j = 0; j + repeats <= n; j++) {
            hash[j] = roll_hash(hash[j], hash[j + repeats], highest, repeats);
            __builtin_prefetch(&slot[(hash[j] >> 8) % room]);
        }
        for (int64_t j = 0, inside = 0; j < n; j++) {
            int64_t b = j + 1 - repeats, at = i + b + 1, first = at;

            inside = id[j] == eot ? 0 : inside + 1;
            if (inside >= repeats &&
                (first = find_first(s, slot, room, hash[b], at, id + b, e)) < 0)
                return -1;
            if (first == at)
                continue;
            if (at != last + 1)
                span = (struct span){ repeats - 1, at, first };
            spans += span.n++ < repeats;
            tokens += at - last < repeats ? at - last : repeats;
            last = at;
            if (span.n > longest.n)
                longest = span;
        }
    }
    table_int(t, tokens);
    table_real_or_none(t, (double)tokens / (double)s->n);
    table_int(t, spans);
    table_int(t, longest.n);
    table_int_or_none(t, longest.at - 1);
    table_int_or_none(t, longest.first - 1);
    return shard_check(s, e);
}

static int add_shard(struct table *t, const char *path,
                     const struct tokenizer *tok, bool column, struct err *e)
{
    AUTO_FREE char *format = NULL;
    AUTO(shard_close) struct shard s = { 0 };
    char sha256[SHA256_TEXT];
    struct err other = { 0 };
    struct counts c;
    int64_t size;

    if (sha256_file(path, sha256, &size, e) < 0 ||
        shard_open(&s, path, lock_width(path, tok), e) < 0)
        return -1;
    if (tok && lock_same_tokenizer(path, tok, &other) < 0)
        log_warn("%s", other.text);
    if (count_ids(&s, tok ? tokenizer_eot(tok) : -1, &c, e) < 0)
        return -1;
    format = xasprintf("%s uint%d", shard_formats[s.format], 8 * s.width);
    table_text(t, path);
    table_text(t, format);
    table_bytes(t, size);
    table_int(t, s.n);
    table_int_or_none(t, c.documents);
    table_int_or_none(t, c.distinct);
    table_int_or_none(t, c.max);
    table_text(t, sha256);
    if (repeats && add_spans(t, &s, tok ? tokenizer_eot(tok) : -1, e) < 0)
        return -1;
    if (tok && head > 0) {
        const int64_t n = s.n < head ? s.n : head;
        AUTO_FREE int32_t *ids = xmalloc((size_t)n * sizeof *ids);
        AUTO(buf_clear) struct buf text = BUF_INIT;

        if (shard_copy(&s, 0, n, ids, NULL, e) < 0)
            return -1;
        tokenizer_decode(tok, ids, (size_t)n, &text);
        tokenizer_drop_space(tok, &text, 0);
        if (column) {
            table_text(t, text.s);
        } else {
            pager_print(ERR_IGNORED, "%s begins:\n", s.path);
            pager_data(text.s, text.len, ERR_IGNORED);
            printf("\n\n");
        }
    }
    for (int i = 0; describe && i < 5; i++)
        table_none(t);
    return 0;
}

struct lengths {
    const struct tokenizer *tokenizer; /* or NULL */
    struct hashset seen;
    int64_t text, documents;
    double tokens, *bytes; /* of each document */
    size_t n, room;
};

static int add_length(void *arg, const struct corpus_doc *d,
                      struct err *e UNUSED)
{
    struct lengths *l = arg;
    AUTO(ids_clear) struct ids ids = { 0 };

    l->text += (int64_t)d->len;
    l->documents++;
    if (!describe)
        return 0;
    if (l->tokenizer)
        tokenizer_encode(l->tokenizer, d->text, d->len, 0, &ids);
    l->tokens += (double)ids.n;
    hashset_add(&l->seen, hash128(d->text, d->len, 0).hi);
    APPEND(l->bytes, l->n, l->room) = (double)d->len;
    return 0;
}

static int add_text(struct table *t, char *path, const struct tokenizer *tok,
                    bool column, struct err *e)
{
    struct lengths l = { .tokenizer = tok };
    struct corpus_conf conf;
    char sha256[SHA256_TEXT];
    int64_t size;
    int ret;

    if (sha256_file(path, sha256, &size, e) < 0 ||
        corpus_conf_set(&conf, &input, &path, 1, e) < 0)
        return -1;
    ret = corpus_each(&conf, add_length, &l, e);
    table_text(t, path);
    table_text(t, corpus_files_format(path) == CORPUS_JSONL ? "JSON Lines"
                                                            : "text");
    table_bytes(t, l.text);
    table_none(t);
    table_int(t, l.documents);
    table_none(t);
    table_none(t);
    table_text(t, sha256);
    for (int i = column ? -1 : 0; i < (repeats ? 6 : 0); i++)
        table_none(t);
    if (!describe)
        return ret;
    if (l.n > 0)
        num_sort(l.bytes, l.n);
    table_int(t, (int64_t)(l.n - l.seen.n));
    for (size_t i = 0; i < 3; i++)
        table_int_or_none(t, l.n ? (int64_t)l.bytes[(l.n - 1) * i / 2] : -1);
    table_real_or_none(t, tok ? (double)l.text / l.tokens : (double)NAN);
    hashset_clear(&l.seen);
    free(l.bytes);
    return ret;
}

/* ---- the most frequent values, lines and sequences of words -------------- */

struct tally {
    struct words *words;
    int64_t documents;
};

/* Count once what a document has: the value that was read in place of the text,
 * each of its lines, or each sequence of words. */
static int count_parts(void *arg, const struct corpus_doc *d, struct err *e)
{
    const char *const end = d->text + d->len, *stop;
    const char *const breaks = top ? "" : top_lines ? "\n" : " \t\n\v\f\r";
    const size_t most = top || top_lines ? 1 : (size_t)top_words;
    AUTO(hashset_clear) struct hashset seen = { 0 };
    AUTO(buf_clear) struct buf all = BUF_INIT;
    size_t begin[TOP_WORDS] = { 0 }, n = 0, len;
    struct tally *t = arg;

    t->documents++;
    for (const char *s = d->text; s < end; s = stop + 1) {
        for (stop = s; stop < end && !strchr(breaks, *stop);)
            stop++;
        len = (size_t)(stop - s);
        str_trim(&s, &len);
        if (top && memmem(s, len, "://", 3))
            s = clean_host(s, &len);
        if (len == 0)
            continue;
        begin[n++ % most] = all.len;
        buf_add(&all, s, len);
        s = all.s + begin[n % most];
        len = (size_t)(all.s + all.len - s);
        if (n >= most && hashset_add(&seen, hash128(s, len, 0).hi))
            words_count(t->words, (const uint8_t *)s, (const uint8_t *)s + len,
                        &(uint32_t){ (uint32_t)len }, 1);
        buf_char(&all, ' ');
    }
    return words_full(t->words) ? words_spill(t->words, e) : 0;
}

static int list_values(int argc, char **argv, struct err *e)
{
    struct table table = TABLE_INIT("gdata.info-top/1");
    AUTO(word_list_clear) struct word_list list = { .text = BUF_INIT };
    AUTO(words_clear) struct words w = { 0 };
    struct tally t = { &w, 0 };
    struct corpus_conf conf;
    int64_t left_out;

    words_init(&w, TOP_MEMORY);
    if (corpus_conf_set(&conf, &input, argv, argc, e) < 0)
        return -1;
    conf.field = top ? top : conf.field;
    if (corpus_each(&conf, count_parts, &t, e) < 0 ||
        words_collect(&list, &w, 1, TOP_MEMORY, &left_out, e) < 0)
        return -1;
    word_list_sort(&list);
    table_columns(&table, "value", "documents", "share", NULL);
    for (size_t i = 0; i < list.n && i < (size_t)head; i++) {
        const struct counted *c = &list.word[i];

        table_printf(&table, "%.*s", (int)c->len, list.text.s + c->at);
        table_int(&table, (int64_t)c->count);
        table_real(&table, (double)c->count / (double)t.documents);
    }
    return table_finish(&table, 0, &style, e);
}

static int info_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gdata.info/1");
    const int form = table_form(&style, e);
    /* formats for programs have the first tokens in their last column; people
     * see them above the table */
    const bool column =
        tokenizer_path && head > 0 &&
        (form == TABLE_JSON || form == TABLE_CSV || form == TABLE_TSV);
    struct tokenizer *tok = NULL;
    int ret = 0;

    if (argc == 0)
        return err_usage(e, "name the files to describe");
    if (top || top_words || top_lines)
        return list_values(argc, argv, e);
    if (form < 0 ||
        (tokenizer_path && tokenizer_load(&tok, tokenizer_path, e) < 0))
        return -1;
    table_columns(&t, "file", "format", "bytes", "tokens", "documents",
                  "distinct", "largest", "sha256", NULL);
    if (repeats)
        table_columns(&t, "in_spans", "share", "spans", "longest_span",
                      "span_at", "first_at", NULL);
    if (column)
        table_column(&t, "head");
    if (describe)
        table_columns(&t, "repeated", "shortest", "median", "longest",
                      "bytes/token", NULL);
    for (int i = 0; i < argc && ret == 0; i++)
        ret = corpus_files_format(argv[i]) == CORPUS_AUTO &&
                      input.format == CORPUS_AUTO
                  ? add_shard(&t, argv[i], tok, column, e)
                  : add_text(&t, argv[i], tok, column, e);
    ret = table_finish(&t, ret, &style, e);
    tokenizer_free(tok);
    return ret;
}

const struct cmd cmd_info = {
    .name = "info",
    .args = "FILE...",
    .help = "describe shards and texts",
    .opts = info_opts,
    .output = &no_output,
    .run = info_main,
};
