/*
 * gdata leak - find evaluation text in the training text
 */
#include "config.h"

#include <string.h>

#include "common/confine.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/output/table.h"
#include "data/corpus/corpus.h"
#include "data/corpus/corpus_writer.h"
#include "data/corpus/leak.h"
#include "data/corpus/source/download.h"
#include "data/shards/lock.h"

/* The fields of published benchmarks that have the question. */
static const char published[] =
    "text|ctx|question|query|goal|sentence|problem|prompt|question_stem|"
    "context|passage";

enum remove { REMOVE_NOTHING, REMOVE_TEXT, REMOVE_DOCUMENTS };

static const char *const remove_words[] = { "nothing", "text", "documents",
                                            NULL };
static struct opt_list train, eval;
static const char *eval_field, *lock_file, *output;
static struct corpus_opts input = CORPUS_OPTS_INIT;
static int words, show = 10, removed; /* enum remove */
static bool by_benchmark;
static struct table_style style;

static const struct opt leak_opts[] = {
    { 't', "train", "path", OPT_LIST, &train, "read training text from PATH" },
    { 0, "eval", "path", OPT_LIST, &eval, "read evaluation text from PATH" },
    { 0, "lock", "file", OPT_STRING, &lock_file,
      "take both from a data.lock, and check the tokenizer's text" },
    { 'w', "words", "count", OPT_INT, &words,
      "compare sequences of COUNT words (default: by benchmark, 8 to 13)",
      .range = { 0, 64 } },
    { 0, "remove", "what", OPT_WORD, &removed,
      "remove nothing, the text around what is found, or documents with it",
      remove_words },
    { 'o', "output", "file", OPT_STRING, &output,
      "with --remove: write what remains to FILE, as JSON Lines" },
    { 0, "benchmarks", NULL, OPT_FLAG, &by_benchmark,
      "list benchmarks, not documents; --remove implies it" },
    { 'n', "show", "count", OPT_INT, &show,
      "list COUNT documents (default: 10)" },
    { 0, "eval-field", "name", OPT_STRING, &eval_field,
      "read this field of the evaluation text (default: that of --field, or "
      "what published benchmarks have)" },
    CORPUS_OPTS(input),
    TABLE_OPTS(style),
    { 0 }
};

/* Sort by the share that was found, largest first, then by the order of the
 * input. */
static int by_share(const void *a, const void *b)
{
    const struct leak_doc *x = *(const struct leak_doc *const *)a;
    const struct leak_doc *y = *(const struct leak_doc *const *)b;
    const double sx = x->whole ? 2 : (double)x->found / (double)x->sequences;
    const double sy = y->whole ? 2 : (double)y->found / (double)y->sequences;

    if (sx != sy)
        return sx > sy ? -1 : 1;
    return x < y ? -1 : 1;
}

static int print_documents(const struct leak_report *r, struct err *e)
{
    AUTO_FREE const struct leak_doc **doc =
        xcalloc((size_t)(r->all.whole + r->all.in_part), sizeof *doc);
    AUTO(table_clear) struct table t = TABLE_INIT("gdata.leak/1");
    size_t n = 0;

    for (int64_t i = 0; i < r->all.documents; i++)
        if (r->doc[i].whole || r->doc[i].found)
            doc[n++] = &r->doc[i];
    SORT(doc, n, by_share);
    table_columns(&t, "file", "line", "runs", "shared", "document", NULL);
    for (size_t i = 0; i < n && i < (size_t)show; i++) {
        table_text(&t, doc[i]->file);
        table_int(&t, doc[i]->line);
        table_int(&t, doc[i]->sequences);
        table_int(&t, doc[i]->found);
        table_text(&t, doc[i]->whole ? "whole" : "in part");
        table_mark(&t, doc[i]->whole ? MARK_BAD : MARK_WARN);
    }
    return n ? table_print(&t, &style, e) : 0;
}

static int print_benchmarks(const struct leak_report *r, struct err *e)
{
    struct table t = TABLE_INIT("gdata.leak-benchmarks/1");

    table_columns(&t, "benchmark", "documents", "whole", "in part",
                  "not checked", "words", "runs", "shared", "common", NULL);
    for (size_t i = 0; i < r->benchmarks; i++) {
        const struct leak_benchmark *b = &r->benchmark[i];
        const int64_t cell[] = { b->documents, b->whole, b->in_part,
                                 b->unchecked, b->n,     b->sequences,
                                 b->found,     b->common };

        table_text(&t, b->name);
        for (size_t k = 0; k < sizeof cell / sizeof *cell; k++)
            table_int(&t, cell[k]);
    }
    return table_finish(&t, 0, &style, e);
}

static void log_report(const struct leak_report *r)
{
    const struct leak_benchmark *all = &r->all;
    char documents[NUM_TEXT], sequences[NUM_TEXT], touched[NUM_TEXT];
    char length[NUM_TEXT] = "8 to 13";

    if (words)
        num_comma(length, words);
    log_info(
        "the training text contains %lld of %s evaluation documents and "
        "%lld of %s sequences of %s words (%.3g%%), from %s",
        (long long)all->whole, num_comma(documents, all->documents),
        (long long)all->found, num_comma(sequences, all->sequences), length,
        all->sequences ? 100 * (double)all->found / (double)all->sequences : 0,
        num_count(touched, all->whole + all->in_part, "document"));
    if (all->unchecked)
        log_warn("%s could not be checked: fewer than %d words, or a script "
                 "without spaces; equal training documents would be found",
                 num_count(documents, all->unchecked, "document"),
                 words && words < LEAK_LEAST ? words : LEAK_LEAST);
}

struct removal {
    struct leak *leak;
    struct corpus_writer out;
    int64_t documents, left_out, cut, pieces, bytes; /* bytes: removed */
};

static int remove_text(void *arg, const struct corpus_doc *d,
                       struct err *e UNUSED)
{
    struct removal *r = arg;
    const struct leak_span *piece;
    const size_t n =
        leak_remove(r->leak, d->text, d->len,
                    removed == REMOVE_TEXT ? LEAK_CUTS : 0, &piece);
    int ret = 0;

    r->documents++;
    if (n > 0 && !piece)
        return corpus_write(&r->out, d, NULL, 0);
    r->left_out += n == 0;
    r->cut += n > 0;
    r->pieces += (int64_t)n;
    r->bytes += (int64_t)d->len;
    for (size_t i = 0; i < n && ret == 0; i++) {
        const size_t len = piece[i].end - piece[i].begin;

        r->bytes -= (int64_t)len;
        ret = corpus_write(&r->out, d, d->text + piece[i].begin, len);
    }
    return ret;
}

static int remove_found(struct leak *l, struct corpus_conf *conf, struct err *e)
{
    struct removal r = { .leak = l };
    char documents[NUM_TEXT], left_out[NUM_TEXT], pieces[NUM_TEXT];
    char bytes[NUM_TEXT];
    int ret;

    conf->quiet = true; /* what is wrong with the text was said */
    if (corpus_writer_open(&r.out, output, conf, e) < 0)
        return -1;
    ret = corpus_each(conf, remove_text, &r, e);
    ret = corpus_writer_close(&r.out, ret, e);
    if (ret == 0)
        log_info("of %s, %s left out and %lld cut, of which %s remain (%s "
                 "removed)",
                 num_count(documents, r.documents, "document"),
                 num_comma(left_out, r.left_out), (long long)r.cut,
                 num_count(pieces, r.pieces, "piece"),
                 num_bytes(bytes, (double)r.bytes));
    return ret;
}

static int compare_texts(struct path_list *trains, struct path_list *evals,
                         int64_t *whole, struct err *e)
{
    struct corpus_conf conf;
    struct leak *l = leak_new(words);
    struct leak_report r;
    int ret = 0;

    for (size_t i = 0; i < evals->n && ret == 0; i++) {
        ret = corpus_conf_set(&conf, &input, &evals->name[i], 1, e);
        if (ret < 0)
            break;
        conf.where = conf.part = NULL; /* of the training text */
        if (eval_field || !conf.field)
            conf.field = eval_field ? eval_field : published;
        ret = leak_eval(l, evals->name[i], &conf, e);
    }
    if (ret == 0)
        ret = corpus_conf_set(&conf, &input, trains->name, (int)trains->n, e);
    conf.again = removed ? "--remove" : NULL;
    if (ret < 0 || leak_train(l, &conf, e) < 0) {
        leak_free(l);
        return -1;
    }
    leak_report(l, &r);
    ret = by_benchmark || removed ? print_benchmarks(&r, e)
                                  : print_documents(&r, e);
    if (ret == 0) {
        log_report(&r);
        *whole = removed ? 0 : r.all.whole;
    }
    if (ret == 0 && removed)
        ret = remove_found(l, &conf, e);
    leak_free(l);
    return ret;
}

/* Count the evaluation texts that the tokenizer was trained on. */
static int count_fitted(const struct lock *l)
{
    int found = 0;

    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < l->n; k++)
            if (l->entry[i].role == LOCK_EVAL && l->entry[k].role == LOCK_FIT &&
                strcmp(l->entry[i].sha256, l->entry[k].sha256) == 0) {
                log_error("the tokenizer was trained on the evaluation text %s "
                          "(listed as %s)",
                          l->entry[i].path, l->entry[k].path);
                found++;
            }
    return found;
}

static int add_lock(struct path_list *trains, struct path_list *evals,
                    int *fits, struct err *e)
{
    AUTO(lock_clear) struct lock l = { 0 };

    if (lock_load(&l, lock_file, e) < 0)
        return -1;
    *fits = count_fitted(&l);
    for (size_t i = 0; i < l.n; i++) {
        if (l.entry[i].role == LOCK_TEXT)
            path_list_add(trains, lock_path(&l, &l.entry[i]));
        if (l.entry[i].role == LOCK_EVAL)
            path_list_add(evals, lock_path(&l, &l.entry[i]));
    }
    return 0;
}

static int leak_main(int argc, char **argv, struct err *e)
{
    AUTO(path_list_clear) struct path_list trains = { 0 }, evals = { 0 };
    int64_t whole = 0;
    int fits = 0;

    if (argc)
        return err_usage(
            e, "unexpected argument '%s'; name texts with --train and --eval",
            argv[0]);
    for (size_t i = 0; i < train.n; i++)
        path_list_add(&trains, xstrdup(train.item[i]));
    for (size_t i = 0; i < eval.n; i++)
        path_list_add(&evals, xstrdup(eval.item[i]));
    confine_output(output, download_any(trains.name, (int)trains.n) ||
                               download_any(evals.name, (int)evals.n));
    if (lock_file && add_lock(&trains, &evals, &fits, e) < 0)
        return -1;
    if (!trains.n || !evals.n)
        return err_set(
            e, ERR_USAGE,
            "expected --train and --eval, or --lock with a file that "
            "lists text and eval");
    if (!removed != !output)
        return err_usage(e, "--remove and --output need each other");
    if (compare_texts(&trains, &evals, &whole, e) < 0)
        return -1;
    if (whole)
        return err_input(
            e, "the training text contains %lld evaluation document%s",
            (long long)whole, whole == 1 ? "" : "s");
    return fits ? err_input(e, "the tokenizer was trained on evaluation text")
                : 0;
}

const struct cmd cmd_leak = {
    .name = "leak",
    .args = "--train PATH --eval PATH",
    .help = "find evaluation text in the training text",
    .opts = leak_opts,
    .run = leak_main,
};
