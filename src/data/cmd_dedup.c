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

struct dedup {
    FILE *fp;
    struct hashset seen;
    struct buf line; /* of output */
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
static int write_if_new(void *arg, const struct corpus_doc *doc, struct err *e)
{
    struct dedup *d = arg;

    (void)e;
    if (!hashset_add(&d->seen, hash128(doc->text, doc->len, 0).hi)) {
        d->omitted++;
        d->omitted_bytes += (int64_t)doc->len;
        return 0;
    }
    d->kept++;
    buf_trim(&d->line, 0);
    if (doc->whole) {
        buf_add(&d->line, doc->whole, doc->whole_len);
        buf_char(&d->line, '\n');
    } else {
        jsonl_write(&d->line, doc->text, doc->len);
    }
    write_bytes(d, d->line.s, d->line.len);
    return ferror(d->fp) != 0;
}

static int dedup_main(int argc, char **argv, struct err *e)
{
    const bool to_stdout = strcmp(output, "-") == 0;
    struct corpus_conf conf;
    struct dedup d = { .line = BUF_INIT };
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
    if (corpus_each(&conf, write_if_new, &d, e) < 0)
        goto out;
    if (!to_stdout && save_commit(&s, e) < 0)
        goto out;
    log_info("%s kept, %s left out (%s)", num_count(kept, d.kept, "document"),
             num_comma(omitted, d.omitted),
             num_bytes(bytes, (double)d.omitted_bytes));
    ret = 0;

out:
    save_abandon(&s);
    hashset_clear(&d.seen);
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
