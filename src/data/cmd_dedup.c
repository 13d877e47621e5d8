/*
 * gdata dedup - leave out repeated documents
 */
#include "config.h"

#include "common/confine.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "data/corpus/corpus.h"
#include "data/corpus/corpus_writer.h"
#include "data/corpus/hashset.h"
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
    struct corpus_writer out;
    struct hashset seen;
    int64_t kept, omitted, omitted_bytes;
};

static int write_if_new(void *arg, const struct corpus_doc *doc, struct err *e)
{
    struct dedup *d = arg;

    (void)e;
    if (hashset_add(&d->seen, hash128(doc->text, doc->len, 0).hi)) {
        d->kept++;
        return corpus_write(&d->out, doc);
    }
    d->omitted++;
    d->omitted_bytes += (int64_t)doc->len;
    return 0;
}

static int dedup_main(int argc, char **argv, struct err *e)
{
    struct dedup d = { 0 };
    struct corpus_conf conf;
    char kept[NUM_TEXT], omitted[NUM_TEXT], bytes[NUM_TEXT];
    int ret;

    if (argc == 0)
        return err_set(e, ERR_USAGE, "name the text to read");
    if (corpus_conf_set(&conf, &input, argv, argc, e) < 0)
        return -1;
    confine_output(output, download_any(argv, argc));
    if (corpus_writer_open(&d.out, output, &conf, e) < 0)
        return -1;
    ret = corpus_each(&conf, write_if_new, &d, e);
    ret = corpus_writer_close(&d.out, ret, e);
    hashset_clear(&d.seen);
    if (ret == 0)
        log_info("%s kept, %s left out (%s)",
                 num_count(kept, d.kept, "document"),
                 num_comma(omitted, d.omitted),
                 num_bytes(bytes, (double)d.omitted_bytes));
    return ret;
}

const struct cmd cmd_dedup = {
    .name = "dedup",
    .args = "PATH...",
    .help = "leave out repeated documents",
    .opts = dedup_opts,
    .run = dedup_main,
};
