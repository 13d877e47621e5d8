/*
 * gdata dedup - leave out repeated documents
 */
#include "config.h"

#include "common/confine.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "data/corpus/corpus.h"
#include "data/corpus/corpus_writer.h"
#include "data/corpus/hashset.h"
#include "data/corpus/near.h"
#include "data/corpus/source/download.h"

static const char *output = "-";
static struct opt_list against;
static bool near, write_index;
static struct near_how how = { .similarity = 0.75,
                               .memory = (uint64_t)1 << 30 };
static struct corpus_opts input = CORPUS_OPTS_INIT;

static const struct opt dedup_opts[] = {
    { 'o', "output", "file", OPT_STRING, &output,
      "write JSON Lines to FILE (default: -, standard output)" },
    { 0, "against", "path", OPT_LIST, &against,
      "also leave out documents that the text in PATH has" },
    { 0, "near", NULL, OPT_FLAG, &near,
      "also leave out documents that are similar to an earlier one" },
    { 0, "similarity", "share", OPT_REAL, &how.similarity,
      "with --near: the share of text in common (default: 0.75)" },
    { 'm', "memory", "size", OPT_SIZE, &how.memory,
      "with --near: use this much memory (default: 1GiB)",
      .range = OPT_FROM(16 << 20) },
    { 'j', "threads", "count", OPT_INT, &how.threads,
      "with --near: use COUNT threads (default: one per processor)",
      .range = { 0, 1024 } },
    { 0, "index", "file", OPT_LIST, &how.index,
      "with --near: use FILE, an index, in place of the first files" },
    { 0, "write-index", NULL, OPT_FLAG, &write_index,
      "with --near: write an index in place of the documents" },
    CORPUS_OPTS(input),
    { 0 }
};

struct dedup {
    struct corpus_writer out;
    struct hashset seen;
    struct near *near; /* or NULL */
    bool writes;       /* what is read is not of --against */
    int64_t read, kept, omitted, similar, omitted_bytes;
};

static int write_if_new(void *arg, const struct corpus_doc *doc,
                        struct err *e UNUSED)
{
    struct dedup *d = arg;
    const int64_t number = d->read++;
    const bool is_new =
        hashset_add(&d->seen, hash128(doc->text, doc->len, 0).hi);
    const bool is_similar = d->near && near_drops(d->near, number);

    if (!d->writes)
        return 0;
    if (is_new && !is_similar) {
        d->kept++;
        return corpus_write(&d->out, doc, NULL, 0);
    }
    d->similar += is_similar;
    d->omitted++;
    d->omitted_bytes += (int64_t)doc->len;
    return 0;
}

/* The text of --against comes first. */
static int dedup_corpus(struct dedup *d, struct corpus_conf *conf,
                        struct err *e)
{
    struct corpus_conf first;

    if (write_index && d->out.fp == stdout)
        return err_usage(e, "name the index to write by -o");
    if (near) {
        how.write = write_index ? d->out.fp : NULL;
        d->near = near_find(conf, &how, e);
        if (!d->near || write_index)
            return d->near ? 0 : -1;
        conf->quiet = true; /* what is wrong with the input was said */
    }
    first = *conf;
    first.n = against.n;
    first.keep_lines = false;
    conf->path += against.n;
    conf->n -= against.n;
    if (first.n > 0 && corpus_each(&first, write_if_new, d, e) < 0)
        return -1;
    d->writes = true;
    if (corpus_each(conf, write_if_new, d, e) < 0)
        return -1;
    if (near && d->read != near_documents(d->near) && !ferror(d->out.fp))
        return err_input(e, "the input was changed while it was read");
    return 0;
}

static int dedup_main(int argc, char **argv, struct err *e)
{
    struct dedup d = { 0 };
    AUTO(path_list_clear) struct path_list all = { 0 };
    struct corpus_conf conf;
    char kept[NUM_TEXT], omitted[NUM_TEXT], bytes[NUM_TEXT];
    int ret;

    if (!(how.similarity > 0 && how.similarity <= 1))
        return err_usage(e, "--similarity expects a share from 0 to 1");
    if ((against.n > 0 || how.index.n > 0) && input.part)
        return err_usage(e, "--part excludes --against and --index");
    if ((write_index || how.index.n > 0) && !near)
        return err_usage(e, "--index and --write-index need --near");
    for (size_t i = 0; i < against.n; i++)
        path_list_add(&all, xstrdup(against.item[i]));
    for (int i = 0; i < argc; i++)
        path_list_add(&all, xstrdup(argv[i]));
    ret = corpus_conf_set(&conf, &input, all.name, argc ? (int)all.n : 0, e);
    confine_output(output, download_any(all.name, (int)all.n));
    conf.again = near ? "--near" : NULL;
    if (ret < 0 || corpus_writer_open(&d.out, output, &conf, e) < 0)
        return -1;
    ret = corpus_writer_close(&d.out, dedup_corpus(&d, &conf, e), e);
    if (ret == 0 && write_index)
        log_info("%s has %s", output,
                 num_count(kept, near_documents(d.near), "document"));
    else if (ret == 0)
        log_info("%s kept, %s left out (%s)",
                 num_count(kept, d.kept, "document"),
                 num_comma(omitted, d.omitted),
                 num_bytes(bytes, (double)d.omitted_bytes));
    if (ret == 0 && near && !write_index)
        log_info("%s of those left out are similar to others, but not equal",
                 num_comma(omitted, d.similar));
    near_free(d.near);
    hashset_clear(&d.seen);
    return ret;
}

const struct cmd cmd_dedup = {
    .name = "dedup",
    .args = "PATH...",
    .help = "leave out repeated documents",
    .opts = dedup_opts,
    .run = dedup_main,
};
