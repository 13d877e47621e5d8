/*
 * gdata decode - turn shards back into text
 */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/save.h"
#include "data/corpus/jsonl.h"
#include "data/shards/lock.h"
#include "data/shards/shard.h"
#include "data/token/tokenizer.h"

static const char *tokenizer_path, *output, *separator = "\n";
static int64_t count;
static int width;
static bool jsonl, special;

static const struct opt decode_opts[] = {
    { 'T', "tokenizer", "path", OPT_STRING, &tokenizer_path,
      "decode with the tokenizer in this file or folder" },
    { 'o', "output", "file", OPT_STRING, &output,
      "write to FILE (default: standard output)" },
    { 0, "separator", "text", OPT_STRING, &separator,
      "write TEXT between documents (default: a newline)" },
    { 0, "jsonl", NULL, OPT_FLAG, &jsonl,
      "write JSON Lines with the field text, one per document" },
    { 0, "special", NULL, OPT_FLAG, &special,
      "write end-of-text tokens instead of separators" },
    { 'n', "tokens", "count", OPT_LONG, &count, "stop after COUNT tokens",
      .range = OPT_FROM(0) },
    { 0, "width", "bytes", OPT_INT, &width,
      "size of an id in raw files, 2 or 4 (default: by the tokenizer)" },
    { 0 }
};

/* Bytes of text that are buffered, few enough for the second-level cache. */
enum { FULL = 1 << 18 };

struct text_writer {
    const struct tokenizer *tokenizer;
    struct decoder *d;
    int32_t eot; /* or -1 */
    FILE *fp;
    struct buf text;   /* not written yet; with --jsonl, a document */
    int64_t documents; /* started */
    bool inside;       /* a document */
    bool eot_last;     /* the end-of-text token ends documents */
};

static void flush_text(struct text_writer *w)
{
    if (w->fp == stdout)
        pager_data(w->text.s, w->text.len, ERR_IGNORED);
    else
        fwrite(w->text.s, 1, w->text.len, w->fp);
    buf_trim(&w->text, 0);
}

static void begin_document(struct text_writer *w)
{
    if (!jsonl && w->documents > 0)
        buf_str(&w->text, separator);
    w->documents++;
    w->inside = true;
}

static void end_document(struct text_writer *w)
{
    if (jsonl && w->inside) {
        AUTO(buf_clear) struct buf line = BUF_INIT;

        jsonl_write(&line, w->text.s, w->text.len);
        fwrite(line.s, 1, line.len, w->fp);
        buf_trim(&w->text, 0);
    }
    w->inside = false;
}

/* Without --jsonl, empty documents leave no trace. */
static void decode_eot(struct text_writer *w)
{
    if (jsonl && w->eot_last && !w->inside)
        begin_document(w);
    end_document(w);
    if (jsonl && !w->eot_last)
        begin_document(w);
}

/* Those of a shard from number `at` on. */
static int decode_ids(struct text_writer *w, const struct shard *s, int64_t at,
                      const int32_t *id, int64_t n, struct err *e)
{
    for (int64_t i = 0; i < n;) {
        const bool begins = !w->inside;
        size_t from;
        int64_t got;

        if (w->eot >= 0 && id[i] == w->eot) {
            decode_eot(w);
            i++;
            continue;
        }
        if (!w->inside)
            begin_document(w);
        from = w->text.len;
        got = decoder_run(w->d, id + i, n - i, &w->text);
        if (got == 0)
            return err_input(e,
                             "%s: token %" PRId64 " has id %" PRIu32
                             ", but the tokenizer has only ids below %" PRId64,
                             s->path, at + i, (uint32_t)id[i],
                             tokenizer_vocab(w->tokenizer));
        if (begins)
            tokenizer_drop_space(w->tokenizer, &w->text, from);
        i += got;
        if (!jsonl && w->text.len >= FULL)
            flush_text(w);
    }
    return 0;
}

static int decode_tokens(struct text_writer *w, const struct shard *s,
                         int64_t end, struct err *e)
{
    int32_t id[SHARD_BLOCK];

    for (int64_t i = 0; i < end && !ferror(w->fp); i += SHARD_BLOCK) {
        const int64_t n = end - i < SHARD_BLOCK ? end - i : SHARD_BLOCK;

        if (shard_copy(s, i, n, id, NULL, e) < 0 ||
            decode_ids(w, s, i, id, n, e) < 0)
            return -1;
    }
    return shard_check(s, e);
}

/* Does the end-of-text token end documents, rather than begin them?  If no lock
 * records this, it does unless the tokens begin with one. */
static int find_eot(struct text_writer *w, const struct shard *s, struct err *e)
{
    AUTO(lock_clear) struct lock l = { 0 };
    int32_t id = -1;

    if (lock_find(&l, s->path))
        w->eot_last = l.eot && strcmp(l.eot, "last") == 0;
    else if (s->n > 0 && shard_copy(s, 0, 1, &id, NULL, e) < 0)
        return -1;
    if (!l.path)
        w->eot_last = id < 0 || id != w->eot;
    return 0;
}

/* Returns the number of tokens that were decoded, or -1. */
static int64_t decode_file(struct text_writer *w, const char *path,
                           int64_t most, struct err *e)
{
    AUTO(shard_close) struct shard s = { 0 };

    if (lock_same_tokenizer(path, w->tokenizer, e) < 0 ||
        shard_open(&s, path, width ? width : lock_width(path, w->tokenizer),
                   e) < 0)
        return -1;
    if (w->documents == 0 && find_eot(w, &s, e) < 0) /* the first file */
        return -1;
    most = most < s.n ? most : s.n;
    return decode_tokens(w, &s, most, e) < 0 ? -1 : most;
}

static int decode_files(struct text_writer *w, char **path, int n,
                        struct err *e)
{
    int64_t left = count > 0 ? count : INT64_MAX;

    for (int i = 0; i < n && left > 0; i++) {
        const int64_t got = decode_file(w, path[i], left, e);

        if (got < 0)
            return -1;
        left -= got;
    }
    end_document(w);
    flush_text(w);
    return 0;
}

static int decode_to(const struct tokenizer *t, int argc, char **argv,
                     struct err *e)
{
    AUTO(save_abandon) struct save save = { 0 };
    struct text_writer w = {
        .tokenizer = t,
        .eot = special ? -1 : tokenizer_eot(t),
        .text = BUF_INIT,
    };
    int got;

    if (output && save_open(&save, output, e) < 0)
        return -1;
    w.fp = output ? save.fp : stdout;
    w.d = decoder_new(t, w.eot);
    got = decode_files(&w, argv, argc, e);
    decoder_free(w.d);
    buf_clear(&w.text);
    if (output && got == 0)
        return save_commit(&save, e);
    return got;
}

static int decode_main(int argc, char **argv, struct err *e)
{
    struct tokenizer *t;
    int got;

    if (!tokenizer_path)
        return err_usage(e, "name the tokenizer with -T PATH");
    if (argc == 0)
        return err_usage(e, "name the shards to decode");
    if (width != 0 && width != 2 && width != 4)
        return err_usage(e, "--width expects 2 or 4");
    if (tokenizer_load(&t, tokenizer_path, e) < 0)
        return -1;
    got = decode_to(t, argc, argv, e);
    tokenizer_free(t);
    return got;
}

const struct cmd cmd_decode = {
    .name = "decode",
    .args = "-T TOKENIZER FILE...",
    .help = "turn shards back into text",
    .opts = decode_opts,
    .output = &output,
    .run = decode_main,
};
