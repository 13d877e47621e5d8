#include "config.h"
#include "trainer/training/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/sha256.h"
#include "data/shards/lock.h"
#include "trainer/model/graph_memory.h"
#include "trainer/model/resolve.h"
#include "trainer/ranks/coll_device.h"

/* Whose fault it is: "c.ini:12: data.train: ...". */
static int blame(const struct settings *s, const char *key, struct err *e)
{
    const char *where = conf_origin(&s->conf, key);

    return err_wrap(e, "%s%s%s", where ? where : "", where ? ": " : "", key);
}

/* ---- tokens ----------------------------------------------------------- */

/* How many bytes of text each id stands for, for bits per byte. */
static void measure_tokens(struct job *j)
{
    const int64_t n = tokenizer_vocab(j->tokenizer);
    const int32_t eot = tokenizer_eot(j->tokenizer);
    struct buf text = BUF_INIT;

    j->token_bytes = xcalloc((size_t)n, sizeof *j->token_bytes);
    for (int32_t id = 0; id < n; id++) {
        buf_trim(&text, 0);
        tokenizer_decode(j->tokenizer, &id, 1, &text);
        j->token_bytes[id] = id == eot ? 0 : (int32_t)text.len;
    }
    buf_clear(&text);
}

static int open_tokenizer(struct job *j, int64_t *vocab, struct err *e)
{
    const char *path = j->set->data.tokenizer;

    *vocab = 0;
    if (!*path)
        return 0;
    if (tokenizer_load(&j->tokenizer, path, e) < 0)
        return blame(j->set, "data.tokenizer", e);
    *vocab = tokenizer_vocab(j->tokenizer);
    measure_tokens(j);
    return 0;
}

/* ---- data ------------------------------------------------------------- */

int job_open_val(struct job *j, struct err *e)
{
    const struct settings *s = j->set;
    const struct loader_conf c = {
        .files = s->data.val,
        .context = s->model.context,
        .stride = s->eval.stride,
        .order = s->eval.random ? LOADER_RANDOM : LOADER_SEQUENTIAL,
        .seed = (uint64_t)s->train.seed,
        .vocab = s->model.vocab,
    };

    if (!*c.files)
        return 0;
    if (loader_open(&j->val, &c, e) < 0 ||
        lock_check(j->val, s->data.tokenizer, e) < 0)
        return blame(j->set, "data.val", e);
    return 0;
}

/* Whoever asks for early stopping must have what it looks at. */
static int check_patience(const struct settings *c, struct err *e)
{
    if (c->eval.patience > 0 && (!*c->data.val || c->eval.every == 0))
        return conf_fail(&c->conf, "eval.patience", e,
                         "there is no validation to wait for: %s",
                         *c->data.val ? "eval.every is 0"
                                      : "data.val is not given");
    return 0;
}

/* Questions that will be asked during training. */
static int check_questions(const struct job *j, struct err *e)
{
    const struct eval_settings *c = &j->set->eval;

    if (!*c->hellaswag || c->hellaswag_every == 0)
        return 0;
    if (!*j->set->data.tokenizer)
        return conf_fail(&j->set->conf, "eval.hellaswag", e,
                         "data.tokenizer must be set to read questions");
    if (path_exists(c->hellaswag))
        return 0;
    err_set(e, ERR_MISSING, "there is no file %s", c->hellaswag);
    return blame(j->set, "eval.hellaswag", e);
}

static int no_steps(const struct settings *s, struct err *e)
{
    return conf_fail(&s->conf, "schedule.steps", e,
                     "give it, or schedule.tokens, or .chinchilla");
}

static int open_train(struct job *j, struct err *e)
{
    const struct settings *s = j->set;
    const struct loader_conf c = {
        .files = s->data.train,
        .context = s->model.context,
        .stride = s->data.stride,
        .order = (enum loader_order)s->data.order,
        .seed = (uint64_t)s->train.seed,
        .vocab = s->model.vocab,
        .eot = j->tokenizer ? tokenizer_eot(j->tokenizer) : -1,
    };

    if (s->is.steps == 0)
        return no_steps(s, e);
    if (!*c.files)
        return conf_fail(&s->conf, "data.train", e,
                         "name the token files to train on");
    if (c.order == LOADER_DOCUMENTS && c.eot < 0)
        return conf_fail(&s->conf, "data.order", e,
                         "documents are told apart by a token, which "
                         "data.tokenizer must name and have");
    if (loader_open(&j->train, &c, e) < 0 ||
        lock_check(j->train, s->data.tokenizer, e) < 0)
        return blame(j->set, "data.train", e);
    if (check_patience(s, e) < 0 || check_questions(j, e) < 0)
        return -1;
    return job_open_val(j, e);
}

/* ---- the whole -------------------------------------------------------- */

/* One parameter after the other: no rank ever has all of them twice. */
static int draw_weights(struct job *j, struct err *e)
{
    const struct graph *g = &j->gpt.graph;
    const uint64_t seed = (uint64_t)j->set->train.seed;
    struct dev cpu = { .threads = j->dev.threads };
    float *room =
        mem_alloc((size_t)graph_largest(g), sizeof *room, "a parameter", e);
    int ret = room ? dev_open(&cpu, "cpu", e) : -1;

    for (int i = 0; i < g->n_params && ret == 0; i++) {
        gpt_init_weights(&j->gpt, i, seed, &cpu, room);
        ret = parallel_load(&j->parallel, PARALLEL_WEIGHTS, g->param[i].at,
                            room, g->param[i].count, e);
    }
    if (ret == 0)
        ret = parallel_loaded(&j->parallel, e);
    dev_close(&cpu);
    free(room);
    return ret;
}

static int open_model(struct job *j, enum job_for why, struct err *e)
{
    const struct settings *s = j->set;
    struct graph_conf how = { .training = why != JOB_INFER, .fuse = true };
    struct graph *g = &j->gpt.graph;
    const size_t rows = (size_t)(s->train.micro_batch * s->model.context);

    parallel_open(&j->parallel, s, &j->coll, how.training);
    parallel_configure(&j->parallel, &how);
    gpt_build(&j->gpt, s, s->train.micro_batch);
    if (graph_memory_alloc(g, &j->dev, &how, e) < 0)
        return -1;
    g->seed = (uint64_t)s->train.seed;
    j->x = mem_alloc(rows, sizeof *j->x, "tokens", e);
    j->y = mem_alloc(rows, sizeof *j->y, "tokens", e);
    j->losses = mem_alloc(rows * (size_t)s->is.accumulate, sizeof *j->losses,
                          "losses", e);
    if (!j->x || !j->y || !j->losses)
        return -1;
    if (how.training)
        optim_lay_out(&j->optim, &s->optim, g);
    j->optim.rounds_randomly =
        how.training && s->train.stochastic_rounding && g->type == DT_BF16;
    j->optim.seed = (uint64_t)s->train.seed;
    if (parallel_attach(&j->parallel, g, &j->optim, e) < 0 ||
        (how.training && optim_open(&j->optim, e) < 0))
        return -1;
    parallel_memory(&j->parallel, j->kept);
    for (int i = 0; i < DEV_MODEL_USES; i++)
        if (coll_max(&j->coll, &j->kept[i], e) < 0)
            return -1;
    if (how.training)
        replay_open(&j->replay, g, s->train.cuda_graphs,
                    gpt_flops_per_token(&j->gpt) * (double)rows);
    if (!how.training)
        return 0; /* what is read from a file takes their place */
    return draw_weights(j, e);
}

/* Ranks of one machine share its cores; 0 leaves it to the device. */
static int threads_of(const struct job *j)
{
    const char *env = getenv("OMP_NUM_THREADS");
    int64_t n;

    if (j->set->train.threads > 0)
        return (int)j->set->train.threads;
    if (env && num_int(env, &n) && n > 0 && n < 4096)
        return (int)n;
    if (j->coll.local_size < 2)
        return 0;
    n = sysconf(_SC_NPROCESSORS_ONLN) / j->coll.local_size;
    return n > 0 ? (int)n : 1;
}

/* All ranks must have been given the same settings. */
static int open_ranks(struct job *j, struct coll_conf *conf, struct err *e)
{
    struct buf text = BUF_INIT;
    struct sha256 h;
    char sum[SHA256_TEXT];

    conf_dump(&j->set->conf, &text);
    sha256_init(&h);
    sha256_add(&h, text.s, text.len);
    sha256_text(&h, sum);
    buf_clear(&text);
    conf->agree = sum;
    return coll_open(&j->coll, conf, e);
}

/* Ranks of one machine have a GPU each, unless they see one alone or the
 * settings name it: "cuda" is then "cuda:2" for the third of them. */
static int open_device(struct job *j, struct err *e)
{
    const struct settings *s = j->set;
    const char *name = s->train.device;
    struct err why = ERR_INIT;
    char own[32];

    snprintf(own, sizeof own, "cuda:%d", j->coll.local_rank);
    if (j->coll.local_rank > 0 &&
        (strcmp(name, "cuda") == 0 || strcmp(name, "auto") == 0)) {
        if (dev_open(&j->dev, own, &why) == 0)
            return 0;
        if (why.kind == ERR_SYSTEM) { /* it is there, and fails */
            *e = why;
            return blame(s, "train.device", e);
        }
    }
    if (dev_open(&j->dev, name, e) < 0)
        return blame(s, "train.device", e);
    return 0;
}

int job_open(struct job *j, struct settings *s, enum job_for why, struct err *e)
{
    struct coll_conf conf = { .launch = &j->launch,
                              .timeout = s->parallel.timeout,
                              .native = !s->train.deterministic };
    int64_t vocab;

    *j = (struct job){ .set = s, .started = clock_mono() };
    j->state.best_loss = INFINITY;
    j->state.loss_scale =
        s->train.precision == PRECISION_FP16 ? s->train.loss_scale : 1;
    if (launch_detect(&j->launch, s->parallel.launcher, e) < 0 ||
        open_ranks(j, &conf, e) < 0 || open_tokenizer(j, &vocab, e) < 0)
        return -1;
    if (resolve_settings(s, vocab, j->coll.size, e) < 0) {
        launch_mute(e);
        return -1;
    }
    j->dev.threads = threads_of(j);
    j->dev.deterministic = s->train.deterministic;
    j->dev.tf32 = s->train.tf32;
    if (open_device(j, e) < 0 ||
        (why != JOB_INFER && coll_use_device(&j->coll, &j->dev, e) < 0))
        return -1;
    if (why == JOB_TRAIN && open_train(j, e) < 0)
        return -1;
    if (open_model(j, why, e) < 0)
        return -1;
    schedule_init(&j->schedule, s);
    return 0;
}

void job_close(struct job *j)
{
    if (j->dev.type) {
        replay_close(&j->replay);
        parallel_close(&j->parallel);
        coll_leave_device(&j->coll);
        optim_close(&j->optim);
        graph_clear(&j->gpt.graph);
        dev_close(&j->dev);
    }
    loader_close(j->train);
    loader_close(j->val);
    tokenizer_free(j->tokenizer);
    coll_close(&j->coll);
    free(j->token_bytes);
    free(j->x);
    free(j->y);
    free(j->losses);
    *j = (struct job){ 0 };
}

int job_read(struct job *j, struct loader *from, int64_t first, int64_t n,
             struct err *e)
{
    const int64_t ignore = j->set->data.ignore;

    if (loader_get(from, first, n, j->x, j->y, e) < 0)
        return -1;
    for (int64_t i = 0; ignore >= 0 && i < n * j->gpt.T; i++)
        if (j->y[i] == ignore)
            j->y[i] = -1;
    return 0;
}

/* ---- before the start ------------------------------------------------- */

/* Another tokenizer, if it is another. */
static int check_tokenizer(struct settings *s, struct job_checked *seen,
                           struct err *e)
{
    struct job j = { .set = s };
    int ret;

    if (seen->path && strcmp(seen->path, s->data.tokenizer) == 0)
        return 0;
    free(seen->path);
    seen->path = NULL;
    tokenizer_free(seen->tokenizer);
    ret = open_tokenizer(&j, &seen->vocab, e);
    seen->tokenizer = j.tokenizer;
    free(j.token_bytes);
    if (ret == 0)
        seen->path = xstrdup(s->data.tokenizer);
    return ret;
}

static int check_data(struct settings *s, struct job_checked *seen,
                      struct err *e)
{
    struct job j = { .set = s, .tokenizer = seen->tokenizer };
    char *data =
        xasprintf("%s\n%s\n%s\n%lld\n%lld\n%lld\n%lld\n%d", s->data.train,
                  s->data.val, s->data.tokenizer, (long long)s->model.context,
                  (long long)s->model.vocab, (long long)s->data.stride,
                  (long long)s->eval.stride, s->data.order);
    int ret = 0;

    if (!seen->data || strcmp(seen->data, data) != 0)
        ret = open_train(&j, e);
    loader_close(j.train);
    loader_close(j.val);
    free(seen->data);
    seen->data = ret == 0 ? data : NULL;
    if (ret < 0)
        free(data);
    return ret;
}

int job_check(struct settings *s, int ranks, struct job_checked *seen,
              struct err *e)
{
    if (dev_known(s->train.device, e) < 0)
        return blame(s, "train.device", e);
    if (check_tokenizer(s, seen, e) < 0 ||
        resolve_settings(s, seen->vocab, ranks, e) < 0)
        return -1;
    if (s->is.steps == 0)
        return no_steps(s, e);
    return check_data(s, seen, e);
}

void job_checked_clear(struct job_checked *seen)
{
    tokenizer_free(seen->tokenizer);
    free(seen->path);
    free(seen->data);
    *seen = (struct job_checked){ 0 };
}

/* ---- time ------------------------------------------------------------- */

double job_seconds(const struct job *j)
{
    return j->state.seconds + clock_mono() - j->started;
}

double job_position(const struct job *j)
{
    const double limit = j->set->train.max_time;
    const double by_step = (double)j->state.step;
    double by_time;

    if (limit <= 0)
        return by_step;
    by_time = (j->coll.size > 1 ? j->agreed : job_seconds(j)) / limit *
              (double)j->set->is.steps;
    return fmax(by_step, by_time);
}
