#include "config.h"
#include "data/cmds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/save.h"
#include "data/json.h"
#include "data/shard.h"
#include "data/tokenizer.h"

static const char *tokenizer_path, *output, *separator = "\n";
static int64_t first, count;
static int width;
static bool jsonl, special;

const struct opt decode_opts[] = {
    { 'T', "tokenizer", "path", OPT_STRING, &tokenizer_path,
      "the tokenizer: a file, or a folder with one" },
    { 'o', "output", "file", OPT_STRING, &output,
      "write there instead of standard output" },
    { 0, "separator", "text", OPT_STRING, &separator,
      "put this between documents (a newline)" },
    { 0, "jsonl", NULL, OPT_FLAG, &jsonl,
      "one document a line, as JSON with a field text" },
    { 0, "special", NULL, OPT_FLAG, &special,
      "write <|endoftext|> as it is, and no separators" },
    { 0, "first", "number", OPT_LONG, &first, "begin with this token (0)" },
    { 'n', "tokens", "count", OPT_LONG, &count, "stop after so many" },
    { 0, "width", "bytes", OPT_INT, &width,
      "of an id in a raw file: 2 or 4 (2)" },
    { 0 }
};

enum { AT_ONCE = 1 << 16 };

struct writer {
    const struct tokenizer *t;
    FILE *fp;
    struct buf text;
    int64_t documents; /* begun */
    bool inside;       /* of a document */
};

static void flush_text(struct writer *w)
{
    fwrite(w->text.s, 1, w->text.len, w->fp);
    buf_trim(&w->text, 0);
}

/* What the buffer holds is the end of a document, or all of it. */
static void end_document(struct writer *w)
{
    struct buf line = BUF_INIT;

    if (!jsonl || !w->inside)
        return;
    buf_str(&line, "{\"text\": ");
    json_quote(&line, w->text.s, w->text.len);
    buf_str(&line, "}\n");
    fwrite(line.s, 1, line.len, w->fp);
    buf_clear(&line);
    buf_trim(&w->text, 0);
}

static void begin_document(struct writer *w)
{
    if (!jsonl && w->documents > 0)
        buf_str(&w->text, separator);
    w->documents++;
    w->inside = true;
}

/* Ids of one document, or of part of one. */
static void add_ids(struct writer *w, const int32_t *id, size_t n)
{
    if (n == 0)
        return;
    if (!w->inside)
        begin_document(w);
    tokenizer_decode(w->t, id, n, &w->text);
    if (!jsonl)
        flush_text(w);
}

static void add_all(struct writer *w, const int32_t *id, size_t n)
{
    const int32_t eot = special ? -1 : tokenizer_eot(w->t);
    size_t from = 0;

    for (size_t i = 0; i < n; i++) {
        if (id[i] != eot || eot < 0)
            continue;
        add_ids(w, id + from, i - from);
        end_document(w);
        w->inside = false;
        from = i + 1;
    }
    add_ids(w, id + from, n - from);
}

/* Returns how many tokens were taken, or -1. */
static int64_t decode_file(struct writer *w, const char *path, int64_t skip,
                           int64_t most, struct err *e)
{
    const int64_t vocab = tokenizer_vocab(w->t);
    int32_t *id;
    struct shard s;
    int64_t i = skip, end;

    if (shard_open(&s, path, width, e) < 0)
        return -1;
    end = most < s.n - skip ? skip + most : s.n;
    id = xmalloc(AT_ONCE * sizeof *id);
    while (i < end && !ferror(w->fp)) {
        const int64_t n = end - i < AT_ONCE ? end - i : AT_ONCE;
        const uint32_t max = shard_copy(&s, i, n, id);

        if (max >= vocab) {
            err_set(e, ERR_INPUT,
                    "%s: id %" PRIu32 " within tokens %" PRId64 " to %" PRId64
                    ", but the tokenizer has ids below %" PRId64,
                    path, max, i, i + n - 1, vocab);
            end = -1;
            break;
        }
        add_all(w, id, (size_t)n);
        i += n;
    }
    free(id);
    shard_close(&s);
    return end < 0 ? -1 : i - skip;
}

static int decode_files(struct writer *w, char **path, int n, struct err *e)
{
    int64_t skip = first, left = count > 0 ? count : INT64_MAX;

    for (int i = 0; i < n && left > 0; i++) {
        struct shard s;
        int64_t got;

        if (skip > 0) { /* are there so many in this file? */
            if (shard_open(&s, path[i], width, e) < 0)
                return -1;
            got = s.n;
            shard_close(&s);
            if (got <= skip) {
                skip -= got;
                continue;
            }
        }
        got = decode_file(w, path[i], skip, left, e);
        if (got < 0)
            return -1;
        left -= got;
        skip = 0;
    }
    end_document(w);
    return 0;
}

static int decode_to(const struct tokenizer *t, int argc, char **argv,
                     struct err *e)
{
    struct save save = SAVE_INIT;
    struct writer w = { .t = t, .fp = stdout, .text = BUF_INIT };
    int got;

    if (output) {
        if (save_open(&save, output, e) < 0)
            return -1;
        w.fp = save.fp;
    }
    got = decode_files(&w, argv, argc, e);
    buf_clear(&w.text);
    if (output && got == 0)
        return save_commit(&save, e);
    save_abandon(&save);
    return got;
}

int cmd_decode(int argc, char **argv, struct err *e)
{
    struct tokenizer *t;
    int got;

    if (!tokenizer_path)
        return err_set(e, ERR_USAGE, "-T PATH names the tokenizer");
    if (argc == 0)
        return err_set(e, ERR_USAGE, "no files to decode");
    if (first < 0 || count < 0)
        return err_set(e, ERR_USAGE, "--first and --tokens count from 0 up");
    if (width != 0 && width != 2 && width != 4)
        return err_set(e, ERR_USAGE, "--width is 2 or 4");
    if (tokenizer_load(&t, tokenizer_path, e) < 0)
        return -1;
    got = decode_to(t, argc, argv, e);
    tokenizer_free(t);
    return got;
}
