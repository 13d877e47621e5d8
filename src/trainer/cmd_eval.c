/*
 * gtrain eval - evaluate a trained model on text or on questions
 */
#include "config.h"

#include <math.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/output/table.h"
#include "common/path.h"
#include "common/save.h"
#include "data/corpus/corpus.h"
#include "data/corpus/leak.h"
#include "data/shards/shard.h"
#include "store/read/runs.h"
#include "store/write/new_run.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/engine/task.h"
#include "trainer/model/graph.h"
#include "trainer/trained_model.h"
#include "trainer/training/eval.h"
#include "trainer/training/multiple_choice.h"
#include "trainer/training/sampler.h"

static const char *data, *task_list, *documents, *train_text;
static const char *per_token, *logits, *output;
static int64_t sequences, stride, limit, shots = -1, top_logits;
static struct trained_model model;
static struct table_style style;

static const struct opt eval_opts[] = {
    { 'd', "data", "glob", OPT_STRING, &data,
      "evaluate the token files that match GLOB (default: data.val); with "
      "--tasks, the folder of their files (default: eval.tasks_data)" },
    { 0, "sequences", "n", OPT_LONG, &sequences,
      "evaluate the first N windows only (default: all)" },
    { 0, "stride", "n", OPT_LONG, &stride,
      "start a window every N tokens (default: eval.stride)" },
    { 0, "limit", "n", OPT_LONG, &limit,
      "use the first N questions only (default: all)", .range = OPT_FROM(0) },
    { 0, "tasks", "list", OPT_STRING, &task_list,
      "evaluate on tasks, such as hellaswag,piqa, or those of INI files" },
    { 0, "shots", "n", OPT_LONG, &shots,
      "put N answered questions before each (default: as the task says)",
      .range = { 0, TASK_SHOTS_MOST } },
    { 0, "documents", "path", OPT_STRING, &documents,
      "evaluate on the documents in PATH, and keep the losses of each" },
    { 0, "train-text", "path", OPT_STRING, &train_text,
      "with --documents, mark those that occur in this training text" },
    { 0, "per-token", "file", OPT_STRING, &per_token,
      "with --documents, write the log-probability of each token to FILE" },
    { 0, "logits", "file.npy", OPT_STRING, &logits,
      "with --documents, write the logits of each token to FILE.npy" },
    { 0, "top-logits", "k", OPT_LONG, &top_logits,
      "write the K likeliest ids after each token to the file of -o",
      .range = { 1, HEAD_TEACHER_MOST } },
    { 'o', "output", "file", OPT_STRING, &output,
      "with --top-logits, write FILE, for train.teacher" },
    { 'b', "micro-batch", "n", OPT_LONG, &model.micro_batch,
      "process N sequences at a time (default: train.micro_batch)" },
    TRAINED_MODEL_OPTS_TO_COMPUTE(model),
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

/* ---- the likeliest ids ------------------------------------------------- */

/* A file for train.teacher while it is written (engine_data.c). */
struct likeliest {
    struct sampler sampler;
    struct shard_out out;
    double loss, mass; /* sums; mass: of the probabilities of these ids */
    int64_t scored;
};

/* Add the row of position t of the window. */
static int add_likeliest(struct likeliest *w, const struct engine *eng,
                         int64_t t, struct err *e)
{
    const int64_t V = eng->set->model.vocab;
    const float *l = w->sampler.logits + t * eng->set->is.vocab_padded;
    struct sampler_token best[HEAD_TEACHER_MOST];
    uint32_t word[1 + HEAD_TEACHER_MOST] = { (uint32_t)eng->batch.x[t] };
    int64_t likeliest;
    const double sum = sampler_log_sum(l, V, &likeliest);

    if (sampler_likeliest(best, top_logits, l, V) < 0)
        return check_finite((double)NAN, e);
    for (int64_t i = 0; i < top_logits; i++) {
        const double logp = (double)best[i].p - sum;
        const double units = rint(-logp * HEAD_UNITS);

        word[1 + i] = (uint32_t)best[i].id +
                      HEAD_IDS * (uint32_t)fmin(units, UINT32_MAX / HEAD_IDS);
        w->mass += exp(logp);
    }
    if (eng->batch.y[t] >= 0) {
        w->loss += sum - (double)l[eng->batch.y[t]];
        w->scored++;
    }
    shard_add(&w->out, word, (size_t)(1 + top_logits));
    return 0;
}

/* Of each window, the positions that no earlier one has predicted. */
static int add_windows(struct likeliest *w, struct engine *eng, struct err *e)
{
    struct loader *from = mixture_loader(eng->data.val, 0);
    const int64_t T = eng->set->model.context;

    for (int64_t i = 0; i < loader_windows(from); i++) {
        if (loader_get(from, i, 1, eng->batch.x, eng->batch.y, e) < 0 ||
            sampler_window(&w->sampler, eng->batch.x, e) < 0)
            return -1;
        for (int64_t t = T - loader_fresh(from, i); t < T; t++)
            if (add_likeliest(w, eng, t, e) < 0)
                return -1;
    }
    return loader_check(from, e);
}

static int write_top_logits(struct engine *eng, struct table *t, struct err *e)
{
    const int64_t vocab = eng->set->model.vocab;
    const int64_t rows = loader_tokens(mixture_loader(eng->data.val, 0)) - 1;
    const uint32_t head[] = { (uint32_t)vocab, (uint32_t)top_logits };
    struct likeliest w = { .loss = 0 };
    int ret;

    if (eng->coll.size > 1 || mixture_sources(eng->data.val) > 1 ||
        vocab < top_logits || vocab > HEAD_IDS)
        return err_usage(e,
                         "--top-logits needs one process, one source, and a "
                         "vocabulary of %lld to %d ids; the model has %lld",
                         (long long)top_logits, HEAD_IDS, (long long)vocab);
    ret = sampler_open_window(&w.sampler, eng, e);
    if (ret == 0)
        ret = shard_begin(&w.out, output, SHARD_NPY, sizeof *head, 0, e);
    if (ret == 0) {
        shard_add(&w.out, head, sizeof head / sizeof *head);
        ret = add_windows(&w, eng, e);
        if (ret == 0)
            ret = shard_commit(&w.out, e);
        else
            save_abandon(&w.out.save);
    }
    sampler_close(&w.sampler);
    table_columns(t, "tokens", "loss", "mass", NULL);
    table_int(t, rows);
    table_real(t, w.loss / (double)w.scored);
    table_real(t, w.mass / (double)rows);
    return ret;
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
        return err_usage(e, "no data; use --data GLOB to name token files");
    if (top_logits && !s->eval.stride) /* only the last windows overlap */
        s->eval.stride = s->model.context;
    eng->data.whole_val = true;
    if (engine_data_open_val(&eng->data, s, e) < 0 || engine_agree(eng, e) < 0)
        return -1;
    if (top_logits)
        return write_top_logits(eng, t, e);
    if (eval_loss(eng, &r, e) < 0 || check_finite(r.loss, e) < 0)
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

static void add_answers(struct table *t, const struct task *task,
                        const struct multiple_choice_result *r)
{
    table_text(t, task->name);
    table_int(t, r->questions);
    table_real(t, r->of[ANSWER_ACC]);
    table_real_or_none(t, r->of[ANSWER_ACC_NORM]);
    table_secs(t, r->seconds);
    table_real_or_none(t, r->of[ANSWER_ACC_STDERR]);
    table_real_or_none(t, r->of[ANSWER_ACC_BYTES]);
    table_real_or_none(t, r->of[ANSWER_PERPLEXITY]);
    table_real_or_none(t, r->of[ANSWER_ACC_NORM_STDERR]);
    table_real_or_none(t, r->of[ANSWER_CENTRED]);
}

static int evaluate_tasks(struct engine *eng, struct table *t, struct err *e)
{
    const struct task_conf conf = {
        .list = task_list,
        .folder = data ? data : eng->set->eval.tasks_data,
        .limit = limit,
        .shots = shots,
    };
    AUTO(tasks_clear) struct tasks tasks = { 0 };
    int ret = tasks_add(&tasks, &conf, e);
    AUTO_FREE struct multiple_choice_result *of =
        xcalloc(tasks.n + 1, sizeof *of);

    table_columns(t, "task", "questions", "acc", "acc_norm", "time",
                  "acc_stderr", "acc_bytes", "perplexity", "acc_norm_stderr",
                  "centred", NULL);
    for (size_t i = 0; i < tasks.n && ret == 0; i++) {
        ret = multiple_choice_eval(eng, &tasks, i, of, NULL, e);
        if (ret == 0)
            ret = check_finite(of[i].of[ANSWER_ACC], e);
        if (ret == 0)
            add_answers(t, &tasks.task[i], &of[i]);
    }
    return ret;
}

/* ---- documents -------------------------------------------------------- */

/*
 * A document is divided into sequences as long as the context.  The end-of-text
 * token stands before its first token, so that it has a loss, too; without such
 * a token, the first token has none.
 *
 * The artifact has a line for each document, with tabs between: FILE:LINE, the
 * number of losses, their mean, "whole" or "part" if the text of --train-text
 * contains so much of it, and the losses with blanks between them.
 *
 * With --per-token, there is a file instead, with a line for each token; with
 * --logits, one with a row for each.
 */
enum { POSITIONS = 24 }; /* 1, 2-3, 4-7 ... */

/* The documents so far, and the one being read: its text, and where it began.
 */
struct reading {
    struct engine *engine;
    const struct leak_report *leaks; /* or NULL */
    int64_t leak;                    /* the one to look at first */
    struct ids ids;

    int64_t documents;
    double loss[POSITIONS]; /* sums by the position in a document */
    int64_t tokens[POSITIONS];
    struct buf kept;        /* the text of the artifact, or the logits */
    struct sampler sampler; /* for these */
};

static struct corpus_conf conf_of(const char *const *path)
{
    return (struct corpus_conf){ .path = (char *const *)(uintptr_t)path,
                                 .n = 1 };
}

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
    const int k = 63 - __builtin_clzll((uint64_t)position);

    return k < POSITIONS ? k : POSITIONS - 1;
}

/* Append the losses, or lines of --per-token, to a text, and add them up. */
static double score_tokens(struct reading *r, const struct corpus_doc *d,
                           int64_t at, struct buf *losses)
{
    const struct engine *eng = r->engine;
    const int64_t left = (int64_t)r->ids.n - 1 - at;
    double sum = 0;

    for (int64_t t = 0; t < eng->gpt.B * eng->gpt.T && t < left; t++) {
        const double loss = (double)eng->batch.losses[t];
        const int k = bucket_of(at + t + 1);

        sum += loss;
        r->loss[k] += loss;
        r->tokens[k]++;
        if (per_token)
            buf_printf(&r->kept, "%s:%lld\t%lld\t%d\t%.9g\n", d->file,
                       (long long)d->line, (long long)(at + t + 1),
                       r->ids.id[at + t + 1], -loss);
        else if (!logits)
            buf_printf(losses, "%s%.5g", losses->len ? " " : "", loss);
    }
    return sum;
}

/* Does the training text contain the document?  The report has the documents in
 * the same order, except for those without words. */
static const char *find_leak(struct reading *r, const struct corpus_doc *doc)
{
    const struct leak_report *l = r->leaks;

    if (!l)
        return "";
    for (int64_t i = r->leak; i < l->all.documents; i++) {
        const struct leak_doc *d = &l->doc[i];

        if (d->line != doc->line || strcmp(d->file, doc->file) != 0)
            continue;
        r->leak = i + 1;
        return d->whole ? "whole" : d->found ? "part" : "";
    }
    return "";
}

/* Keep the logits after each token of the document but the last. */
static int keep_logits(struct reading *r, struct err *e)
{
    const size_t row = (size_t)r->engine->set->model.vocab * sizeof(float);
    const int64_t n = (int64_t)r->ids.n - 1, T = r->engine->gpt.T;

    if (r->kept.len + r->ids.n * row > (size_t)2 << 30)
        return err_usage(e,
                         "the logits take more than 2 GiB; evaluate fewer or "
                         "shorter documents");
    for (int64_t at = 0; at < n; at += T) {
        set_sequences(r->engine, &r->ids, at);
        if (sampler_window(&r->sampler, r->engine->batch.x, e) < 0)
            return -1;
        for (int64_t t = 0; t < T && at + t < n; t++)
            buf_add(&r->kept,
                    r->sampler.logits + t * r->engine->set->is.vocab_padded,
                    row);
    }
    return 0;
}

static int save_logits(const struct reading *r, struct err *e)
{
    const size_t vocab = (size_t)r->engine->set->model.vocab;
    char shape[2 * NUM_TEXT];
    struct save s = { 0 };

    if (save_open(&s, logits, e) < 0)
        return -1;
    snprintf(shape, sizeof shape, "%zu, %zu",
             r->kept.len / (vocab * sizeof(float)), vocab);
    shard_npy_header(s.fp, "<f4", shape);
    fwrite(r->kept.s, 1, r->kept.len, s.fp);
    return save_commit(&s, e);
}

static int score_document(void *arg, const struct corpus_doc *d, struct err *e)
{
    struct reading *r = arg;
    struct engine *eng = r->engine;
    const int32_t eot = tokenizer_eot(eng->data.tokenizer);
    AUTO(buf_clear) struct buf losses = BUF_INIT;
    double sum = 0;
    int ret;

    r->ids.n = 0;
    if (eot >= 0)
        ids_add(&r->ids, eot);
    tokenizer_encode(eng->data.tokenizer, d->text, d->len, 0, &r->ids);
    ret = logits ? keep_logits(r, e) : 0;
    for (int64_t at = 0; ret == 0 && at + 1 < (int64_t)r->ids.n;
         at += eng->gpt.B * eng->gpt.T) {
        ret = engine_forward(eng, set_sequences(eng, &r->ids, at), e);
        if (ret == 0)
            sum += score_tokens(r, d, at, &losses);
    }
    r->documents += r->ids.n > 1;
    if (ret == 0 && losses.len > 0) {
        const int64_t n = (int64_t)r->ids.n - 1;

        buf_printf(&r->kept, "%s:%lld\t%lld\t%.9g\t%s\t%s\n", d->file,
                   (long long)d->line, (long long)n, sum / (double)n,
                   find_leak(r, d), losses.s);
    }
    return ret;
}

static int read_documents(struct reading *r, struct err *e)
{
    struct leak *leak = train_text ? leak_new(0) : NULL;
    const struct corpus_conf own = conf_of(&documents);
    const struct corpus_conf train = conf_of(&train_text);
    struct leak_report report;
    int ret = 0;

    if (leak && (leak_eval(leak, documents, &own, e) < 0 ||
                 leak_train(leak, &train, e) < 0))
        ret = -1;
    if (leak && ret == 0) {
        leak_report(leak, &report);
        r->leaks = &report;
    }
    if (ret == 0)
        ret = corpus_each(&own, score_document, r, e);
    if (ret == 0 && r->documents == 0)
        ret = err_input(e, "there are no documents to evaluate");
    if (leak)
        leak_free(leak);
    ids_clear(&r->ids);
    return ret;
}

static void add_positions(struct table *t, const struct reading *r)
{
    double loss = 0;
    int64_t tokens = 0;

    table_columns(t, "positions", "tokens", "loss", NULL);
    for (int k = 0; k < POSITIONS; k++) {
        if (r->tokens[k] == 0)
            continue;
        table_printf(t, "%lld-%lld", 1LL << k, (2LL << k) - 1);
        table_int(t, r->tokens[k]);
        table_real(t, r->loss[k] / (double)r->tokens[k]);
        loss += r->loss[k];
        tokens += r->tokens[k];
    }
    table_text(t, "all");
    table_int(t, tokens);
    table_real(t, loss / (double)tokens);
}

/* Save the losses as an artifact of the run that trained the model. */
static int keep_documents(const struct run_info *run, const struct buf *text,
                          struct err *e)
{
    AUTO_FREE char *name = xasprintf("documents/%s.tsv", path_name(documents));
    struct stored_run b;
    int ret = stored_run_open(&b, run->folder, e);

    if (ret == 0) {
        ret = stored_run_artifact(&b, name, text->s, text->len, e);
        if (ret == 0)
            log_info("kept in %s of %s", name, run->name);
        stored_run_close(&b);
    }
    return ret;
}

static int keep_in_run(const struct buf *text, struct err *e)
{
    AUTO_FREE char *root = trained_model_store(&model);
    AUTO(runs_free) struct runs runs = { 0 };
    AUTO_FREE char *id = NULL;
    int ret = checkpoint_text(model.path, "run_id", &id, e);

    if (ret == 0)
        ret = runs_load_ids(&runs, root, &id, 1, LOAD_NO_METRICS, e);
    if (ret == 0 && runs.n == 1)
        ret = keep_documents(&runs.run[0], text, e);
    else if (ret == 0 || e->kind == ERR_MISSING)
        ret = err_set(e, ERR_MISSING,
                      "the losses are not kept: the run of %s is not in %s; "
                      "name its store by --root",
                      model.path, root);
    return ret;
}

static int evaluate_documents(struct engine *eng, struct table *t,
                              struct err *e)
{
    struct reading r = { .engine = eng, .kept = BUF_INIT };
    double sum = 0;
    int ret;

    if (!eng->data.tokenizer)
        return err_usage(e, "documents need a tokenizer; set data.tokenizer");
    if (per_token)
        buf_str(&r.kept, "document\ttoken\tid\tlogprob\n");
    ret = logits ? sampler_open_window(&r.sampler, eng, e) : 0;
    if (ret == 0)
        ret = read_documents(&r, e);
    for (int k = 0; k < POSITIONS; k++)
        sum += r.loss[k];
    if (ret == 0)
        ret = check_finite(sum, e);
    if (ret == 0)
        add_positions(t, &r);
    if (ret == 0 && eng->coll.rank == 0)
        ret = per_token ? save_bytes(per_token, r.kept.s, r.kept.len, e)
              : logits  ? save_logits(&r, e)
                        : keep_in_run(&r.kept, e);
    sampler_close(&r.sampler);
    buf_clear(&r.kept);
    return ret;
}

/* ---- the command ------------------------------------------------------ */

static int evaluate(struct engine *eng, struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("gtrain.eval/1");
    const int bits = trained_model_bits[model.weights];
    int ret;

    if (bits && quantize_weights(&eng->gpt.graph, bits, e) < 0)
        return -1;
    ret = documents   ? evaluate_documents(eng, &t, e)
          : task_list ? evaluate_tasks(eng, &t, e)
                      : evaluate_text(eng, &t, e);
    if (ret == 0 && eng->coll.rank == 0)
        ret = table_print(&t, &style, e);
    return ret;
}

static int eval_main(int argc, char **argv, struct err *e)
{
    if ((train_text || per_token || logits) && !documents)
        return err_usage(e, "%s needs --documents",
                         train_text  ? "--train-text"
                         : per_token ? "--per-token"
                                     : "--logits");
    if (shots >= 0 && !task_list)
        return err_usage(e, "--shots needs --tasks");
    if (!!train_text + !!per_token + !!logits > 1)
        return err_usage(e,
                         "--train-text, --per-token and --logits exclude each "
                         "other");
    if (!top_logits != !output ||
        (output && (documents || task_list || sequences)))
        return err_usage(
            e, "--top-logits needs -o, and is for all tokens of --data alone");
    return trained_model_run(&model, argc, argv, evaluate, e);
}

static void confine_eval(void)
{
    const char *file = output ? output : per_token ? per_token : logits;
    AUTO_FREE char *folder = file        ? path_of_output(file)
                             : documents ? trained_model_store(&model)
                                         : NULL;

    trained_model_confine(&model, folder);
}

const struct cmd cmd_eval = {
    .name = "eval",
    .args = "[MODEL]",
    .help = "evaluate a trained model on text or on questions",
    .opts = eval_opts,
    .confine = confine_eval,
    .run = eval_main,
};
