/*
 * gtrain eval - evaluate a trained model on text or on questions
 */
#include "config.h"
#include "trainer/cmds.h"

#include <math.h>

#include "common/output/table.h"
#include "trainer/trained_model.h"
#include "trainer/training/eval.h"
#include "trainer/training/job_agree.h"
#include "trainer/training/multiple_choice.h"

static const char *data, *questions;
static int64_t sequences, stride, limit;
static struct trained_model model;
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
    { 'b', "micro-batch", "n", OPT_LONG, &model.micro_batch,
      "process N sequences at a time (default: train.micro_batch)" },
    TRAINED_MODEL_OPT_DEVICE(model),
    TRAINED_MODEL_OPTS(model),
    TABLE_OPTS(style),
    { 0 }
};

static int evaluate_text(struct job *j, struct table *t, struct err *e)
{
    struct settings *s = j->set;
    struct eval_result r;

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
    if (job_data_open_val(&j->data, s, e) < 0 || job_agree(j, e) < 0 ||
        eval_loss(j, &r, e) < 0)
        return -1;
    table_columns(t, "loss", "perplexity", "bits per byte", "tokens", "time",
                  NULL);
    table_real(t, r.loss);
    table_real(t, exp(r.loss));
    table_real_or_none(t, r.bpb);
    table_int(t, r.tokens);
    table_secs(t, r.seconds);
    return 0;
}

static int evaluate_questions(struct job *j, struct table *t, struct err *e)
{
    struct multiple_choice_result r;

    if (multiple_choice_eval(j, questions, limit, &r, e) < 0)
        return -1;
    table_columns(t, "questions", "acc", "acc_norm", "time", NULL);
    table_int(t, r.questions);
    table_real(t, r.acc);
    table_real(t, r.acc_norm);
    table_secs(t, r.seconds);
    return 0;
}

static int evaluate(struct job *j, struct err *e)
{
    struct table t = TABLE_INIT("gtrain.eval/1");
    int ret =
        questions ? evaluate_questions(j, &t, e) : evaluate_text(j, &t, e);

    if (ret == 0 && j->coll.rank == 0)
        ret = table_print(&t, &style, e);
    table_clear(&t);
    return ret;
}

static int eval_main(int argc, char **argv, struct err *e)
{
    return trained_model_run(&model, argc, argv, evaluate, e);
}

const struct cmd cmd_eval = {
    .name = "eval",
    .args = "[MODEL]",
    .help = "evaluate a trained model on text or on questions",
    .opts = eval_opts,
    .run = eval_main,
};
