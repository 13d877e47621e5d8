/*
 * gdata dedup - leave out repeated documents
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/confine.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/save.h"
#include "data/corpus/corpus.h"
#include "data/corpus/hashset.h"
#include "data/corpus/jsonl.h"
#include "data/corpus/source/download.h"

static const char *output = "-";
static struct corpus_opts input = CORPUS_OPTS_INIT;

static const struct opt dedup_opts[] = {
    { 'o', "output", "file", OPT_STRING, &output,
      "write JSON Lines to FILE (default: -, standard output)" },
    CORPUS_OPTS(input),
    { 0 }
};

enum { DOCUMENT_MAX = 1 << 30 };

struct dedup {
    FILE *fp;
    struct hashset seen;
    struct buf doc, line; /* a document in parts; a line of output */
    int64_t kept, omitted, omitted_bytes;
};

/* Write bytes to the file or, if it is a terminal, what that may show. */
static void write_bytes(struct dedup *d, const char *s, size_t n)
{
    if (d->fp == stdout)
        pager_data(s, n, ERR_IGNORED);
    else
        fwrite(s, 1, n, d->fp);
}

/* Write a document that did not occur before, as the line that it was read from
 * if there is one. */
static void write_if_new(struct dedup *d, const char *text, size_t n,
                         const struct corpus_doc *from)
{
    if (!hashset_add(&d->seen, hash128(text, n, 0).hi)) {
        d->omitted++;
        d->omitted_bytes += (int64_t)n;
        return;
    }
    d->kept++;
    if (from->whole) {
        write_bytes(d, from->whole, from->whole_len);
        fputc('\n', d->fp);
        return;
    }
    buf_trim(&d->line, 0);
    jsonl_write(&d->line, text, n);
    write_bytes(d, d->line.s, d->line.len);
}

/* The parts of a document are joined first. */
static int add_part(struct dedup *d, const struct corpus_block *b,
                    const struct corpus_doc *doc, struct err *e)
{
    if (doc->begins && doc->ends) {
        write_if_new(d, doc->text, doc->len, doc);
        return 0;
    }
    if (d->doc.len + doc->len > DOCUMENT_MAX)
        return err_set(e, ERR_INPUT,
                       "%s: a document has more than %d MiB; does the input "
                       "need a --separator?",
                       b->file, DOCUMENT_MAX >> 20);
    buf_add(&d->doc, doc->text, doc->len);
    if (doc->ends) {
        write_if_new(d, d->doc.s, d->doc.len, doc);
        buf_trim(&d->doc, 0);
    }
    return 0;
}

static int dedup_corpus(struct dedup *d, struct corpus *corpus, struct err *e)
{
    struct corpus_block *b;
    int got;

    while ((got = corpus_next(corpus, &b, e)) > 0) {
        for (size_t i = 0; i < b->n && got > 0; i++)
            if (add_part(d, b, &b->doc[i], e) < 0)
                got = -1;
        corpus_done(corpus, b);
        if (got < 0 || ferror(d->fp))
            break;
    }
    return got < 0 ? -1 : 0;
}

static int dedup_main(int argc, char **argv, struct err *e)
{
    const bool to_stdout = strcmp(output, "-") == 0;
    struct corpus_conf conf;
    struct dedup d = { .doc = BUF_INIT, .line = BUF_INIT };
    struct corpus *corpus = NULL;
    struct save s = { 0 };
    char kept[NUM_TEXT], omitted[NUM_TEXT], bytes[NUM_TEXT];
    int ret = -1;

    if (argc == 0)
        return err_set(e, ERR_USAGE, "name the text to read");
    if (corpus_conf_set(&conf, &input, argv, argc, e) < 0)
        return -1;
    confine_output(output, download_any(argv, argc));
    conf.keep_lines = true;
    if (!to_stdout && save_open(&s, output, e) < 0)
        return -1;
    d.fp = to_stdout ? stdout : s.fp;
    if (corpus_open(&corpus, &conf, e) < 0)
        goto out;
    if (dedup_corpus(&d, corpus, e) < 0)
        goto out;
    if (!to_stdout && save_commit(&s, e) < 0)
        goto out;
    log_info("%s kept, %s left out (%s)", num_count(kept, d.kept, "document"),
             num_comma(omitted, d.omitted),
             num_bytes(bytes, (double)d.omitted_bytes));
    ret = 0;

out:
    corpus_close(corpus);
    save_abandon(&s);
    hashset_clear(&d.seen);
    buf_clear(&d.doc);
    buf_clear(&d.line);
    return ret;
}

const struct cmd cmd_dedup = {
    .name = "dedup",
    .args = "PATH...",
    .help = "leave out repeated documents",
    .opts = dedup_opts,
    .run = dedup_main,
};
