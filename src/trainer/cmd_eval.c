/* cmd_eval - gtrain eval: validate a checkpoint, answer questions */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/table.h"
#include "trainer/cmds.h"
#include "trainer/training/eval.h"
#include "trainer/training/multiple_choice.h"

static const char *root, *device, *data, *questions;
static int64_t sequences, stride, limit, micro_batch;
static struct opt_list sets;
static struct table_style style;

static const struct opt eval_opts[] = {
    { 'd', "data", "glob", OPT_STRING, &data,
      "token files to score; as data.val if not given" },
    { 0, "sequences", "n", OPT_LONG, &sequences, "score the first N windows" },
    { 0, "stride", "n", OPT_LONG, &stride,
      "tokens from one window to the next; less gives more context" },
    { 'q', "questions", "file", OPT_STRING, &questions,
      "ask HellaSwag or other multiple-choice questions instead" },
    { 0, "limit", "n", OPT_LONG, &limit, "ask the first N questions" },
    { 'b', "micro-batch", "n", OPT_LONG, &micro_batch,
      "sequences at once; the result does not depend on it" },
    { 0, "device", "name", OPT_STRING, &device, "compute on NAME" },
    { 0, "root", "dir", OPT_STRING, &root, "look for runs in DIR" },
    { 's', "set", "section.key=value", OPT_LIST, &sets, "change a setting" },
    TABLE_OPTS(style),
    { 0 }
};

static int put_long(struct settings *s, const char *key, int64_t value,
                    struct err *e)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", (long long)value);
    return conf_put(&s->conf, key, text, "the command line", e);
}

static int score_text(struct job *j, struct table *t, struct err *e)
{
    struct settings *s = j->set;
    struct eval_result r;

    if ((data && conf_put(&s->conf, "data.val", data, "--data", e) < 0) ||
        put_long(s, "eval.sequences", sequences, e) < 0 ||
        (stride && put_long(s, "eval.stride", stride, e) < 0) ||
        conf_put(&s->conf, "eval.random", "no", "here", e) < 0)
        return -1;
    if (!*s->data.val)
        return err_set(e, ERR_USAGE, "which data? give --data GLOB");
    if (job_data_open_val(&j->data, s, e) < 0 || eval_loss(j, &r, e) < 0)
        return -1;
    table_column(t, "loss");
    table_column(t, "perplexity");
    table_column(t, "bits per byte");
    table_column(t, "tokens");
    table_column(t, "time");
    table_real(t, r.loss);
    table_real(t, exp(r.loss));
    if (isnan(r.bpb))
        table_none(t);
    else
        table_real(t, r.bpb);
    table_int(t, r.tokens);
    table_secs(t, r.seconds);
    return 0;
}

static int score_questions(struct job *j, struct table *t, struct err *e)
{
    struct multiple_choice_result r;

    if (multiple_choice_eval(j, questions, limit, &r, e) < 0)
        return -1;
    table_column(t, "questions");
    table_column(t, "acc");
    table_column(t, "acc_norm");
    table_column(t, "time");
    table_int(t, r.questions);
    table_real(t, r.acc);
    table_real(t, r.acc_norm);
    table_secs(t, r.seconds);
    return 0;
}

static int eval_main(int argc, char **argv, struct err *e)
{
    const struct model_word w = { .word = argc > 0 ? argv[0] : NULL,
                                  .root = root,
                                  .device = device,
                                  .sets = &sets,
                                  .micro_batch = micro_batch };
    struct table t = TABLE_INIT("gtrain.eval/1");
    struct settings s = { 0 };
    struct job j = { 0 };
    int ret;

    if (argc > 1)
        return err_set(e, ERR_USAGE, "one model at a time, not also %s",
                       argv[1]);
    ret = cmd_open_model(&j, &s, &w, e);
    if (ret == 0)
        ret = questions ? score_questions(&j, &t, e) : score_text(&j, &t, e);
    if (ret == 0 && j.coll.rank == 0)
        ret = table_print(&t, &style, e);
    table_clear(&t);
    job_close(&j);
    settings_clear(&s);
    free(sets.item);
    return ret;
}

const struct cmd cmd_eval = {
    .name = "eval",
    .args = "[MODEL]",
    .help = "score text or questions with a trained model",
    .opts = eval_opts,
    .run = eval_main,
};
