/*
 * gtrain eval - evaluate a trained model on text or on questions
 */
#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/opt.h"
#include "common/output/table.h"
#include "common/path.h"
#include "store/read/runs.h"
#include "store/write/stored_run.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/eval_documents.h"
#include "trainer/model/quantize.h"
#include "trainer/trained_model.h"
#include "trainer/training/eval.h"
#include "trainer/training/multiple_choice.h"

static const char *data, *questions, *documents, *train_text;
static int64_t sequences, stride, limit;
static struct trained_model model;
static int weights;
static struct table_style style;

static const struct opt eval_opts[] = {
    { 'd', "data", "glob", OPT_STRING, &data,
      "evaluate the token files that match GLOB (default: data.val)" },
    { 0, "sequences", "n", OPT_LONG, &sequences,
      "evaluate the first N windows only (default: all)" },
    { 0, "stride", "n", OPT_LONG, &stride,
      "start a window every N tokens (default: eval.stride)" },
    { 'q', "questions", "file", OPT_STRING, &questions,
      "evaluate on HellaSwag or other multiple-choice questions" },
    { 0, "limit", "n", OPT_LONG, &limit,
      "use the first N questions only (default: all)" },
    { 0, "documents", "path", OPT_STRING, &documents,
      "evaluate on the documents in PATH, and keep the losses of each" },
    { 0, "train-text", "path", OPT_STRING, &train_text,
      "with --documents, mark those that occur in this training text" },
    { 'b', "micro-batch", "n", OPT_LONG, &model.micro_batch,
      "process N sequences at a time (default: train.micro_batch)" },
    TRAINED_MODEL_OPT_WEIGHTS(weights),
    TRAINED_MODEL_OPT_DEVICE(model),
    TRAINED_MODEL_OPTS(model),
    TABLE_OPTS(style),
    { 0 }
};

static int check_finite(double x, struct err *e)
{
    if (isfinite(x))
        return 0;
    return err_set(e, ERR_NONFINITE,
                   "the loss is not finite: has %s weights "
                   "that are not?",
                   model.path);
}

/* A row for each source with a name, and one for all tokens. */
static void add_losses(struct table *t, const struct mixture *val,
                       const struct eval_result *r)
{
    const bool named = *mixture_name(val, 0);

    if (named)
        table_column(t, "source");
    table_columns(t, "loss", "perplexity", "bits per byte", "tokens", "time",
                  NULL);
    for (size_t k = 0; named && k < mixture_sources(val); k++) {
        table_text(t, mixture_name(val, k));
        table_real(t, r->source_loss[k]);
        table_real(t, exp(r->source_loss[k]));
        for (int i = 0; i < 3; i++)
            table_none(t);
    }
    if (named)
        table_text(t, "all");
    table_real(t, r->loss);
    table_real(t, exp(r->loss));
    table_real_or_none(t, r->bpb);
    table_int(t, r->tokens);
    table_secs(t, r->seconds);
}

static int evaluate_text(struct engine *eng, struct table *t, struct err *e)
{
    struct settings *s = eng->set;
    struct eval_result r;
    int64_t rest = 0;

    if ((data && conf_put(&s->conf, "data.val", data, "--data", e) < 0) ||
        conf_put_int(&s->conf, "eval.sequences", sequences, "--sequences", e) <
            0 ||
        (stride &&
         conf_put_int(&s->conf, "eval.stride", stride, "--stride", e) < 0) ||
        conf_put(&s->conf, "eval.random", "no", "gtrain eval", e) < 0)
        return -1;
    if (!*s->data.val)
        return err_set(e, ERR_USAGE,
                       "no data; use --data GLOB to name token files");
    eng->data.whole_val = true;
    if (engine_data_open_val(&eng->data, s, e) < 0 ||
        engine_agree(eng, e) < 0 || eval_loss(eng, &r, e) < 0 ||
        check_finite(r.loss, e) < 0)
        return -1;
    for (size_t k = 0; k < mixture_sources(eng->data.val); k++)
        rest += (loader_tokens(mixture_loader(eng->data.val, k)) - 1) %
                s->model.context;
    if (rest && !s->eval.stride && !sequences && eng->coll.rank == 0)
        log_info("the last %lld tokens fill no window and are not scored; with "
                 "--stride N, they are",
                 (long long)rest);
    add_losses(t, eng->data.val, &r);
    return 0;
}

static int evaluate_questions(struct engine *eng, struct table *t,
                              struct err *e)
{
    struct multiple_choice_result r;

    if (multiple_choice_eval(eng, questions, limit, &r, e) < 0 ||
        check_finite(r.acc, e) < 0)
        return -1;
    table_columns(t, "questions", "acc", "acc_norm", "time", NULL);
    table_int(t, r.questions);
    table_real(t, r.acc);
    table_real(t, r.acc_norm);
    table_secs(t, r.seconds);
    return 0;
}

/* Save the losses as an artifact of the run that trained the model. */
static int keep_documents(const struct run_info *run, const struct buf *text,
                          struct err *e)
{
    char *name = xasprintf("documents/%s.tsv", path_name(documents));
    struct stored_run b;
    int ret = stored_run_open(&b, run->folder, e);

    if (ret == 0) {
        ret = stored_run_artifact(&b, name, text->s, text->len, e);
        if (ret == 0)
            log_info("kept in %s of %s", name, run->name);
        stored_run_close(&b);
    }
    free(name);
    return ret;
}

static int keep_in_run(const struct buf *text, struct err *e)
{
    char *root = trained_model_store(&model);
    struct runs runs = { 0 };
    char *id = NULL;
    int ret = checkpoint_run_id(model.path, &id, e);

    if (ret == 0)
        ret = runs_load_ids(&runs, root, &id, 1, LOAD_NO_METRICS, e);
    if (ret == 0 && runs.n == 1)
        ret = keep_documents(&runs.run[0], text, e);
    else if (ret == 0 || e->kind == ERR_MISSING)
        ret = err_set(e, ERR_MISSING,
                      "the losses are not kept: the run of %s is not in %s; "
                      "name its store by --root",
                      model.path, root);
    runs_free(&runs);
    free(root);
    free(id);
    return ret;
}

static int evaluate_documents(struct engine *eng, struct table *t,
                              struct err *e)
{
    char *const paths[] = { (char *)(uintptr_t)documents,
                            (char *)(uintptr_t)train_text };
    const struct corpus_conf conf = { .path = paths, .n = 1 };
    const struct corpus_conf train = { .path = paths + 1, .n = 1 };
    struct eval_documents d = { .conf = &conf,
                                .train_conf = train_text ? &train : NULL };
    int ret = eval_documents_run(&d, eng, e);
    double sum = 0;

    for (int k = 0; k < EVAL_POSITIONS; k++)
        sum += d.loss[k];
    if (ret == 0)
        ret = check_finite(sum, e);
    if (ret == 0)
        eval_documents_print(&d, t);
    if (ret == 0 && eng->coll.rank == 0)
        ret = keep_in_run(&d.kept, e);
    eval_documents_clear(&d);
    return ret;
}

static int evaluate(struct engine *eng, struct err *e)
{
    struct table t = TABLE_INIT("gtrain.eval/1");
    const int bits = trained_model_bits[weights];
    int ret;

    if (bits && quantize_weights(&eng->gpt.graph, bits, e) < 0)
        return -1;
    ret = documents   ? evaluate_documents(eng, &t, e)
          : questions ? evaluate_questions(eng, &t, e)
                      : evaluate_text(eng, &t, e);

    if (ret == 0 && eng->coll.rank == 0)
        ret = table_print(&t, &style, e);
    table_clear(&t);
    return ret;
}

static int eval_main(int argc, char **argv, struct err *e)
{
    if (train_text && !documents)
        return err_set(e, ERR_USAGE, "--train-text needs --documents");
    return trained_model_run(&model, argc, argv, evaluate, e);
}

static void confine_eval(void)
{
    char *store = documents ? trained_model_store(&model) : NULL;

    trained_model_confine(&model, store);
    free(store);
}

const struct cmd cmd_eval = {
    .name = "eval",
    .args = "[MODEL]",
    .help = "evaluate a trained model on text or on questions",
    .opts = eval_opts,
    .confine = confine_eval,
    .run = eval_main,
};
