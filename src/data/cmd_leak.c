/*
 * gdata leak - find evaluation text in the training text
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/confine.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/output/table.h"
#include "data/corpus/corpus.h"
#include "data/corpus/leak.h"
#include "data/corpus/source/download.h"
#include "data/shards/lock.h"

static struct opt_list train, eval;
static const char *eval_field, *lock_file;
static struct corpus_opts input = CORPUS_OPTS_INIT;
static int words = 13, show = 10;
static struct table_style style;

static const struct opt leak_opts[] = {
    { 't', "train", "path", OPT_LIST, &train, "read training text from PATH" },
    { 0, "eval", "path", OPT_LIST, &eval, "read evaluation text from PATH" },
    { 0, "lock", "file", OPT_STRING, &lock_file,
      "take both from a data.lock, and check the tokenizer's text" },
    { 'w', "words", "count", OPT_INT, &words,
      "compare sequences of COUNT words (default: 13)" },
    { 'n', "show", "count", OPT_INT, &show,
      "list COUNT documents (default: 10)" },
    { 0, "eval-field", "name", OPT_STRING, &eval_field,
      "read this field of the evaluation text (default: that of --field)" },
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

static int print_report(const struct leak_report *r, struct err *e)
{
    const struct leak_doc **doc = xcalloc((size_t)r->touched, sizeof *doc);
    struct table t = TABLE_INIT("gdata.leak/1");
    size_t n = 0;
    int ret;

    for (int64_t i = 0; i < r->documents; i++)
        if (r->doc[i].whole || r->doc[i].found)
            doc[n++] = &r->doc[i];
    if (n)
        qsort(doc, n, sizeof *doc, by_share);
    table_columns(&t, "file", "line", "runs", "shared", "document", NULL);
    for (size_t i = 0; i < n && i < (size_t)show; i++) {
        table_text(&t, doc[i]->file);
        table_int(&t, doc[i]->line);
        table_int(&t, doc[i]->sequences);
        table_int(&t, doc[i]->found);
        table_text(&t, doc[i]->whole ? "whole" : "in part");
        table_mark(&t, doc[i]->whole ? MARK_BAD : MARK_WARN);
    }
    ret = n ? table_print(&t, &style, e) : 0;
    table_clear(&t);
    free(doc);
    return ret;
}

static int compare_texts(const struct path_list *trains,
                         const struct path_list *evals, int64_t *whole,
                         struct err *e)
{
    struct corpus_conf train_conf, eval_conf;
    struct leak *l = leak_new(words);
    struct leak_report r;
    char documents[NUM_TEXT], sequences[NUM_TEXT], touched[NUM_TEXT];
    int ret = -1;

    if (corpus_conf_set(&train_conf, &input, trains->name, (int)trains->n, e) <
            0 ||
        corpus_conf_set(&eval_conf, &input, evals->name, (int)evals->n, e) < 0)
        goto out;
    if (eval_field)
        eval_conf.field = eval_field;
    if (leak_eval(l, &eval_conf, e) < 0 || leak_train(l, &train_conf, e) < 0)
        goto out;
    leak_report(l, &r);
    if (print_report(&r, e) < 0)
        goto out;
    *whole = r.whole;
    log_info("the training text contains %lld of %s evaluation documents and "
             "%lld of %s sequences of %d words (%.3g%%), from %s",
             (long long)r.whole, num_comma(documents, r.documents),
             (long long)r.found, num_comma(sequences, r.sequences), words,
             r.sequences ? 100 * (double)r.found / (double)r.sequences : 0,
             num_count(touched, r.touched, "document"));
    if (r.brief)
        log_warn("%s with fewer than %d words can be found only as a whole "
                 "training document",
                 num_count(documents, r.brief, "document"),
                 words < LEAK_LEAST ? words : LEAK_LEAST);
    ret = 0;

out:
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
    struct lock l;

    if (lock_load(&l, lock_file, e) < 0)
        return -1;
    *fits = count_fitted(&l);
    for (size_t i = 0; i < l.n; i++) {
        if (l.entry[i].role == LOCK_TEXT)
            path_list_add(trains, lock_path(&l, &l.entry[i]));
        if (l.entry[i].role == LOCK_EVAL)
            path_list_add(evals, lock_path(&l, &l.entry[i]));
    }
    lock_clear(&l);
    return 0;
}

static int leak_main(int argc, char **argv, struct err *e)
{
    struct path_list trains = { 0 }, evals = { 0 };
    int64_t whole = 0;
    int ret = 0, fits = 0;

    if (argc)
        return err_set(e, ERR_USAGE,
                       "unexpected argument '%s'; name texts with --train and "
                       "--eval",
                       argv[0]);
    if (words < 1 || words > 64)
        return err_set(e, ERR_USAGE, "--words expects 1 to 64, not %d", words);
    for (size_t i = 0; i < train.n; i++)
        path_list_add(&trains, xstrdup(train.item[i]));
    for (size_t i = 0; i < eval.n; i++)
        path_list_add(&evals, xstrdup(eval.item[i]));
    confine_output(NULL, download_any(trains.name, (int)trains.n) ||
                             download_any(evals.name, (int)evals.n));
    if (lock_file)
        ret = add_lock(&trains, &evals, &fits, e);
    if (ret == 0 && (!trains.n || !evals.n))
        ret = err_set(e, ERR_USAGE,
                      "expected --train and --eval, or --lock with a file that "
                      "lists text and eval");
    if (ret == 0)
        ret = compare_texts(&trains, &evals, &whole, e);
    if (ret == 0 && whole)
        ret = err_set(e, ERR_INPUT,
                      "the training text contains %lld evaluation document%s",
                      (long long)whole, whole == 1 ? "" : "s");
    else if (ret == 0 && fits)
        ret = err_set(e, ERR_INPUT,
                      "the tokenizer was trained on evaluation text");
    path_list_clear(&trains);
    path_list_clear(&evals);
    return ret;
}

const struct cmd cmd_leak = {
    .name = "leak",
    .args = "--train PATH --eval PATH",
    .help = "find evaluation text in the training text",
    .opts = leak_opts,
    .run = leak_main,
};
