/*
 * gdata classify - add the label of each document, and its probability
 */
#include "config.h"

#include <string.h>

#include "common/confine.h"
#include "common/log.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/output/emit.h"
#include "data/corpus/corpus.h"
#include "data/corpus/corpus_writer.h"
#include "data/corpus/fasttext.h"
#include "data/corpus/source/download.h"

static const char *output = "-", *column = "label";
static struct corpus_opts input = CORPUS_OPTS_INIT;
static int threads;
static bool train;
static struct fasttext_conf train_conf = {
    .dim = 64, .grams = 2, .epochs = 5, .buckets = 1 << 20, .rate = 0.1
};

static const struct opt classify_opts[] = {
    { 'o', "output", "file", OPT_STRING, &output,
      "write JSON Lines to FILE (default: -, standard output)" },
    { 0, "as", "name", OPT_STRING, &column,
      "name the fields NAME and NAME_score (default: label)" },
    { 'j', "threads", "count", OPT_INT, &threads,
      "classify with COUNT threads (default: one per processor)",
      .range = { 0, 1024 } },
    { 0, "train", NULL, OPT_FLAG, &train,
      "train a model on texts whose label is the name of their file" },
    { 0, "epochs", "count", OPT_INT, &train_conf.epochs,
      "with --train, read them COUNT times (default: 5)",
      .range = { 1, 100000 } },
    { 0, "rate", "number", OPT_REAL, &train_conf.rate,
      "with --train, the learning rate at the start (default: 0.1)",
      .range = OPT_FROM(0) },
    { 0, "dim", "count", OPT_INT, &train_conf.dim,
      "with --train, the size of a vector (default: 64)",
      .range = { 1, 4096 } },
    { 0, "grams", "count", OPT_INT, &train_conf.grams,
      "with --train, the words of an n-gram, at most (default: 2)",
      .range = { 1, 64 } },
    { 0, "buckets", "count", OPT_INT, &train_conf.buckets,
      "with --train, the vectors that n-grams share (default: 1048576)",
      .range = { 1, 1 << 30 } },
    CORPUS_OPTS(input),
    { 0 }
};

struct worker {
    struct corpus_rewriter base;
    const struct fasttext *model;
    const char *score; /* the name of the second field */
};

static int classify_doc(void *arg, const struct corpus_doc *d,
                        struct err *e UNUSED)
{
    struct worker *w = arg;
    struct buf *const lines = w->base.lines;
    struct emit o = { .b = lines, .digits = 9 };
    float probability;
    const char *label =
        fasttext_predict(w->model, d->text, d->len, &probability);

    if (d->whole) {
        buf_add(lines, d->whole, d->whole_len - 1);
        o.depth = 1;
        o.comma = true;
    } else {
        emit_object(&o, NULL);
        emit_bytes(&o, "text", d->text, d->len);
    }
    emit_text(&o, column, label);
    emit_real(&o, w->score, (double)probability);
    emit_object_end(&o);
    emit_newline(&o);
    return 0;
}

static int classify_corpus(const struct fasttext *model,
                           const struct corpus_conf *conf,
                           struct corpus_writer *out, struct err *e)
{
    const int n = threads ? threads : cores_processors();
    AUTO_FREE struct worker *w = xcalloc((size_t)n, sizeof *w);
    AUTO_FREE char *score = xasprintf("%s_score", column);

    for (int i = 0; i < n; i++)
        w[i] = (struct worker){ .model = model, .score = score };
    return corpus_rewrite(conf, classify_doc, w, sizeof *w, n,
                          (struct corpus_writer *[2]){ out }, e);
}

/* ---- training ------------------------------------------------------------ */

struct lesson {
    struct buf all; /* the texts, one after another */
    struct fasttext_text *text;
    size_t n, room;
    struct path_list labels;
};

/* good of dir/good.jsonl.gz */
static int add_lesson(void *arg, const struct corpus_doc *d,
                      struct err *e UNUSED)
{
    struct lesson *l = arg;
    const char *name = path_name(d->file);
    const size_t len = strcspn(name, ".");
    size_t i = 0;

    while (i < l->labels.n && (strncmp(l->labels.name[i], name, len) != 0 ||
                               l->labels.name[i][len]))
        i++;
    if (i == l->labels.n)
        path_list_add(&l->labels, xstrndup(name, len));
    APPEND(l->text, l->n, l->room) =
        (struct fasttext_text){ NULL, d->len, (int32_t)i };
    buf_add(&l->all, d->text, d->len);
    return 0;
}

static int train_model(const struct corpus_conf *conf, struct err *e)
{
    struct lesson l = { .all = BUF_INIT };
    struct fasttext *model = NULL;
    char texts[NUM_TEXT], labels[NUM_TEXT];
    const char *at;
    int ret = corpus_each(conf, add_lesson, &l, e);

    at = l.all.s;
    for (size_t i = 0; i < l.n; at += l.text[i++].n)
        l.text[i].text = at;
    if (ret == 0 && l.labels.n < 2)
        ret =
            err_usage(e, "training needs files of at least two labels, such as "
                         "good.jsonl and bad.jsonl");
    if (ret == 0)
        model = fasttext_train(&train_conf, l.labels.name, (int32_t)l.labels.n,
                               l.text, l.n, e);
    ret = model ? fasttext_save(model, output, e) : -1;
    if (ret == 0)
        log_info("%s: trained on %s of %s", output,
                 num_count(texts, (int64_t)l.n, "document"),
                 num_count(labels, (int64_t)l.labels.n, "label"));
    if (model)
        fasttext_free(model);
    buf_clear(&l.all);
    path_list_clear(&l.labels);
    free(l.text);
    return ret;
}

static int classify_main(int argc, char **argv, struct err *e)
{
    struct corpus_writer out;
    struct corpus_conf conf;
    struct fasttext *model;
    int ret;

    if (train && strcmp(output, "-") == 0)
        return err_usage(e, "name the model to write by -o");
    if (train) {
        confine_output(output, download_any(argv, argc));
        return corpus_conf_set(&conf, &input, argv, argc, e) < 0
                   ? -1
                   : train_model(&conf, e);
    }
    if (argc == 0)
        return err_usage(e, "name the model, and the text to read");
    if (corpus_conf_set(&conf, &input, argv + 1, argc - 1, e) < 0 ||
        !(model = fasttext_load(argv[0], e)))
        return -1;
    confine_output(output, download_any(argv + 1, argc - 1));
    ret = corpus_writer_open(&out, output, &conf, e);
    if (ret == 0)
        ret = corpus_writer_close(&out, classify_corpus(model, &conf, &out, e),
                                  e);
    fasttext_free(model);
    return ret;
}

const struct cmd cmd_classify = {
    .name = "classify",
    .args = "[MODEL] PATH...",
    .help = "add the label of each document, or train a model for it",
    .opts = classify_opts,
    .run = classify_main,
};
