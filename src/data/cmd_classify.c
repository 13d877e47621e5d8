/*
 * gdata classify - add the label of each document, and its probability
 */
#include "config.h"

#include <stdlib.h>

#include "common/confine.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/output/emit.h"
#include "data/corpus/corpus.h"
#include "data/corpus/corpus_writer.h"
#include "data/corpus/fasttext.h"
#include "data/corpus/source/download.h"

static const char *output = "-", *column = "label";
static struct corpus_opts input = CORPUS_OPTS_INIT;
static int threads;

static const struct opt classify_opts[] = {
    { 'o', "output", "file", OPT_STRING, &output,
      "write JSON Lines to FILE (default: -, standard output)" },
    { 0, "as", "name", OPT_STRING, &column,
      "name the fields NAME and NAME_score (default: label)" },
    { 'j', "threads", "count", OPT_INT, &threads,
      "classify with COUNT threads (default: one per processor)",
      .range = { 0, 1024 } },
    CORPUS_OPTS(input),
    { 0 }
};

struct worker {
    const struct fasttext *model;
    const char *score; /* the name of the second field */
    struct corpus_join join;
    struct buf *lines;
};

static int classify_doc(void *arg, const struct corpus_doc *d, struct err *e)
{
    struct worker *w = arg;
    struct emit o = { .b = w->lines, .digits = 9 };
    float probability;
    const char *label =
        fasttext_predict(w->model, d->text, d->len, &probability);

    (void)e;
    if (d->whole) {
        buf_add(w->lines, d->whole, d->whole_len - 1);
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

static int classify_block(void *worker, void *place,
                          const struct corpus_block *b, struct err *e)
{
    struct worker *w = worker;

    w->lines = place;
    return corpus_join(&w->join, b, classify_doc, w, e);
}

static int write_lines(void *out, void *place, struct err *e)
{
    (void)e;
    return corpus_writer_add(out, place);
}

static int classify_corpus(const struct fasttext *model,
                           const struct corpus_conf *conf,
                           struct corpus_writer *out, struct err *e)
{
    const int n = threads ? threads : cores_processors();
    struct worker *w = xcalloc((size_t)n, sizeof *w);
    struct buf place[CORPUS_PLACES];
    const struct corpus_work work = { .find = classify_block,
                                      .write = write_lines,
                                      .worker = w,
                                      .arg = out,
                                      .place = place,
                                      .worker_size = sizeof *w,
                                      .place_size = sizeof *place,
                                      .threads = n,
                                      .whole = true };
    char *score = xasprintf("%s_score", column);
    struct corpus *corpus = NULL;
    int ret = corpus_open(&corpus, conf, e);

    for (int i = 0; i < CORPUS_PLACES; i++)
        place[i] = BUF_INIT;
    for (int i = 0; i < n; i++)
        w[i] = (struct worker){ model, score, CORPUS_JOIN_INIT, NULL };
    if (ret == 0)
        ret = corpus_work(corpus, &work, e);
    corpus_close(corpus);
    for (int i = 0; i < n; i++)
        buf_clear(&w[i].join.text);
    for (int i = 0; i < CORPUS_PLACES; i++)
        buf_clear(&place[i]);
    FREE(w, score);
    return ret;
}

static int classify_main(int argc, char **argv, struct err *e)
{
    struct corpus_writer out;
    struct corpus_conf conf;
    struct fasttext *model;
    int ret;

    if (argc == 0)
        return err_set(e, ERR_USAGE, "name the model, and the text to read");
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
    .args = "MODEL PATH...",
    .help = "add the label of each document, and its probability",
    .opts = classify_opts,
    .run = classify_main,
};
