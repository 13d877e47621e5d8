#include "config.h"
#include "trainer/eval_documents.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "data/corpus/leak.h"

/* ---- one document ----------------------------------------------------- */

/* A document being read: its text so far, and where it began. */
struct reading {
    struct eval_documents *all;
    struct engine *engine;
    const struct leak_report *leaks; /* or NULL */
    int64_t leak;                    /* the one to look at first */
    struct buf text;
    char *file;
    int64_t line;
    struct ids ids;
};

/* Fill the batch with the sequences from `at` on; returns how many there are.
 * The rest of the last one has no targets. */
static int64_t set_sequences(struct engine *eng, const struct ids *ids,
                             int64_t at)
{
    const int64_t n = (int64_t)ids->n, T = eng->gpt.T;
    const int64_t left = (n - 1 - at + T - 1) / T;
    const int64_t rows = left < eng->gpt.B ? left : eng->gpt.B;

    for (int64_t t = 0; t < rows * T; t++) {
        const bool has = at + t + 1 < n;

        eng->batch.x[t] = has ? ids->id[at + t] : 0;
        eng->batch.y[t] = has ? ids->id[at + t + 1] : -1;
    }
    return rows;
}

static int bucket_of(int64_t position)
{
    int k = 0;

    while (k < EVAL_POSITIONS - 1 && position >= (int64_t)2 << k)
        k++;
    return k;
}

/* Append the losses to a text, and add them up. */
static double add_losses(struct reading *r, int64_t at, struct buf *losses)
{
    const struct engine *eng = r->engine;
    const int64_t left = (int64_t)r->ids.n - 1 - at;
    double sum = 0;

    for (int64_t t = 0; t < eng->gpt.B * eng->gpt.T && t < left; t++) {
        const double loss = (double)eng->batch.losses[t];
        const int k = bucket_of(at + t + 1);

        sum += loss;
        r->all->loss[k] += loss;
        r->all->tokens[k]++;
        buf_printf(losses, "%s%.5g", losses->len ? " " : "", loss);
    }
    return sum;
}

/* Does the training text contain the document?  The report has the documents in
 * the same order, except for those without words. */
static const char *find_leak(struct reading *r)
{
    const struct leak_report *l = r->leaks;

    if (!l)
        return "";
    for (int64_t i = r->leak; i < l->documents; i++) {
        const struct leak_doc *d = &l->doc[i];

        if (d->line != r->line || strcmp(d->file, r->file) != 0)
            continue;
        r->leak = i + 1;
        return d->whole ? "whole" : d->found ? "part" : "";
    }
    return "";
}

static int score_document(struct reading *r, struct err *e)
{
    struct engine *eng = r->engine;
    const int32_t eot = tokenizer_eot(eng->data.tokenizer);
    struct buf losses = BUF_INIT;
    double sum = 0;
    int ret = 0;

    r->ids.n = 0;
    ids_reserve(&r->ids, 1);
    if (eot >= 0)
        r->ids.id[r->ids.n++] = eot;
    tokenizer_encode(eng->data.tokenizer, r->text.s, r->text.len, 0, &r->ids);
    for (int64_t at = 0; ret == 0 && at + 1 < (int64_t)r->ids.n;
         at += eng->gpt.B * eng->gpt.T) {
        ret = engine_forward(eng, set_sequences(eng, &r->ids, at), e);
        if (ret == 0)
            sum += add_losses(r, at, &losses);
    }
    if (ret == 0 && losses.len > 0) {
        const int64_t n = (int64_t)r->ids.n - 1;

        r->all->documents++;
        buf_printf(&r->all->kept, "%s:%lld\t%lld\t%.9g\t%s\t%s\n", r->file,
                   (long long)r->line, (long long)n, sum / (double)n,
                   find_leak(r), losses.s);
    }
    buf_clear(&losses);
    return ret;
}

/* ---- all documents ---------------------------------------------------- */

static int add_part(struct reading *r, const struct corpus_block *b,
                    const struct corpus_doc *d, struct err *e)
{
    if (d->begins) {
        buf_trim(&r->text, 0);
        free(r->file);
        r->file = xstrdup(b->file);
        r->line = d->line;
    }
    buf_add(&r->text, d->text, d->len);
    return d->ends ? score_document(r, e) : 0;
}

static int score_all(struct reading *r, struct err *e)
{
    struct corpus *corpus;
    struct corpus_block *b;
    int got, ret = 0;

    if (corpus_open(&corpus, r->all->conf, e) < 0)
        return -1;
    while (ret == 0 && (got = corpus_next(corpus, &b, e)) != 0) {
        if (got < 0) {
            ret = -1;
            break;
        }
        for (size_t i = 0; ret == 0 && i < b->n; i++)
            ret = add_part(r, b, &b->doc[i], e);
        corpus_done(corpus, b);
    }
    corpus_close(corpus);
    return ret;
}

int eval_documents_run(struct eval_documents *d, struct engine *eng,
                       struct err *e)
{
    struct reading r = { .all = d, .engine = eng, .text = BUF_INIT };
    struct leak *leak = d->train_conf ? leak_new(13) : NULL;
    struct leak_report report;
    int ret = 0;

    d->kept = BUF_INIT;
    if (!eng->data.tokenizer)
        ret = err_set(e, ERR_USAGE,
                      "documents need a tokenizer; set data.tokenizer");
    if (ret == 0 && leak) {
        ret = leak_eval(leak, d->conf, e);
        if (ret == 0)
            ret = leak_train(leak, d->train_conf, e);
        if (ret == 0)
            leak_report(leak, &report);
        r.leaks = &report;
    }
    if (ret == 0)
        ret = score_all(&r, e);
    if (ret == 0 && d->documents == 0)
        ret = err_set(e, ERR_INPUT, "there are no documents to evaluate");
    if (leak)
        leak_free(leak);
    buf_clear(&r.text);
    free(r.file);
    ids_clear(&r.ids);
    return ret;
}

void eval_documents_print(const struct eval_documents *d, struct table *t)
{
    double loss = 0;
    int64_t tokens = 0;

    table_columns(t, "positions", "tokens", "loss", NULL);
    for (int k = 0; k < EVAL_POSITIONS; k++) {
        if (d->tokens[k] == 0)
            continue;
        table_printf(t, "%lld-%lld", 1LL << k, (2LL << k) - 1);
        table_int(t, d->tokens[k]);
        table_real(t, d->loss[k] / (double)d->tokens[k]);
        loss += d->loss[k];
        tokens += d->tokens[k];
    }
    table_text(t, "all");
    table_int(t, tokens);
    table_real(t, loss / (double)tokens);
}

void eval_documents_clear(struct eval_documents *d)
{
    buf_clear(&d->kept);
}
