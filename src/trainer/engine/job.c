#include "config.h"
#include "trainer/engine/job.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/sha256.h"
#include "trainer/device/device_check.h"
#include "trainer/device/hardware.h"
#include "trainer/engine/job_agree.h"
#include "trainer/model/graph_memory.h"
#include "trainer/model/graph_run.h"
#include "trainer/model/resolve.h"
#include "trainer/ranks/coll_device.h"

/* ---- the model -------------------------------------------------------- */

/* Draw what this rank keeps of parameter i. */
static int draw_weights(struct job *j, int i, struct dev *cpu, float *values,
                        struct err *e)
{
    const struct graph_param *p = &j->gpt.graph.param[i];
    const uint64_t seed = (uint64_t)j->set->train.seed;
    int64_t at, count;

    for (int k = 0; parallel_kept_weights(&j->parallel, k, &at, &count); k++) {
        const int64_t from = at > p->at ? (at - p->at) & ~1 : 0;
        int64_t n = at + count - p->at - from;

        n = n < p->count - from ? n : p->count - from;
        if (n <= 0)
            continue;
        gpt_init_weights(&j->gpt, i, from, n, seed, cpu, values);
        if (parallel_load(&j->parallel, PARALLEL_WEIGHTS, p->at + from, values,
                          n, e) < 0)
            return -1;
    }
    return 0;
}

/* One parameter after another, so that no rank ever holds all of them twice. */
static int init_weights(struct job *j, struct err *e)
{
    const struct graph *g = &j->gpt.graph;
    struct dev cpu = { .threads = j->dev.threads };
    float *values =
        mem_alloc((size_t)graph_largest(g), sizeof *values, "a parameter", e);
    int ret = values ? dev_open(&cpu, "cpu", e) : -1;

    for (int i = 0; i < g->n_params && ret == 0; i++)
        ret = draw_weights(j, i, &cpu, values, e);
    if (ret == 0)
        ret = parallel_loaded(&j->parallel, e);
    dev_close(&cpu);
    free(values);
    return ret;
}

static int open_batch(struct job_batch *b, const struct settings *s,
                      struct err *e)
{
    const size_t n = (size_t)(s->train.micro_batch * s->model.context);

    b->x = mem_alloc(n, sizeof *b->x, "tokens", e);
    b->y = mem_alloc(n, sizeof *b->y, "tokens", e);
    b->losses =
        mem_alloc(n * (size_t)s->is.accumulate, sizeof *b->losses, "losses", e);
    return b->x && b->y && b->losses ? 0 : -1;
}

static int open_optim(struct job *j, struct err *e)
{
    const struct settings *s = j->set;
    struct graph *g = &j->gpt.graph;

    if (g->training)
        optim_lay_out(&j->optim, &s->optim, g);
    j->optim.rounds_randomly =
        g->training && s->train.stochastic_rounding && g->type == DT_BF16;
    j->optim.seed = (uint64_t)s->train.seed;
    if (parallel_attach(&j->parallel, g, &j->optim, e) < 0)
        return -1;
    return g->training ? optim_open(&j->optim, e) : 0;
}

/* Find the memory of the rank that needs most. */
static int agree_memory(struct job *j, struct err *e)
{
    parallel_memory(&j->parallel, j->memory);
    for (int i = 0; i < DEV_MODEL_USES; i++)
        if (coll_max(&j->coll, &j->memory[i], e) < 0)
            return -1;
    return 0;
}

static int open_model(struct job *j, bool training, struct err *e)
{
    const struct settings *s = j->set;
    struct graph_conf how = { .training = training, .fuse = true };
    struct graph *g = &j->gpt.graph;

    parallel_open(&j->parallel, s, &j->coll, training);
    parallel_configure(&j->parallel, &how);
    gpt_build(&j->gpt, s, s->train.micro_batch);
    if (graph_memory_alloc(g, &j->dev, &how, e) < 0)
        return -1;
    g->seed = (uint64_t)s->train.seed;
    if (open_batch(&j->batch, s, e) < 0 || open_optim(j, e) < 0 ||
        agree_memory(j, e) < 0)
        return -1;
    if (!training)
        return 0; /* the weights are loaded from a file */
    recording_open(&j->recording, g, s->train.cuda_graphs,
                   gpt_flops_per_token(&j->gpt) *
                       (double)(s->train.micro_batch * s->model.context));
    return init_weights(j, e);
}

/* ---- ranks and devices ------------------------------------------------ */

/* The hash lets coll_open() check that all ranks have the same settings. */
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

static int device_failed(const struct job *j, bool own, const struct err *why,
                         struct err *e)
{
    err_set(e, why->kind, "%s%s", why->text,
            own ? "; --ranks trains without a GPU" : "");
    return conf_wrap(&j->set->conf, "train.device", e);
}

/* Each rank of a machine takes a GPU of its own: "cuda" is "cuda:2" for the
 * third of them.  If there are fewer, the settings name it or it is the only
 * one that each rank sees. */
static int open_device(struct job *j, struct err *e)
{
    const struct settings *s = j->set;
    const char *name = s->train.device;
    const char *origin = conf_origin(&s->conf, "train.device");
    const bool own = origin && strcmp(origin, JOB_GPUS) == 0;
    struct err why = ERR_INIT;
    char its[32];

    j->dev.threads =
        hardware_threads(j->set, j->coll.local_size, j->launch.shared_cores);
    j->dev.deterministic = s->train.deterministic;
    j->dev.tf32 = s->train.tf32;
    j->dev.fp8 = s->train.fp8 != FP8_OFF;
    snprintf(its, sizeof its, "cuda:%d", j->coll.local_rank);
    if (j->coll.local_rank > 0 &&
        (strcmp(name, "cuda") == 0 || strcmp(name, "auto") == 0)) {
        if (dev_open(&j->dev, its, &why) == 0)
            return 0;
        if (own || why.kind == ERR_SYSTEM) /* it exists, but fails */
            return device_failed(j, own, &why, e);
    }
    why = (struct err)ERR_INIT;
    return dev_open(&j->dev, name, &why) < 0 ? device_failed(j, own, &why, e)
                                             : 0;
}

/* Each rank checks its own GPU before it trains. */
static int check_device(struct job *j, enum job_purpose why, struct err *e)
{
    if (why != JOB_TRAIN) {
        device_check_remind(&j->dev, j->set);
        return 0;
    }
    if (device_check_once(&j->dev, j->set, e) < 0)
        return -1;
    return device_check_sum(&j->dev, &j->coll, e);
}

/* ---- the job ---------------------------------------------------------- */

int job_open(struct job *j, struct settings *s, enum job_purpose why,
             struct err *e)
{
    struct coll_conf conf = { .launch = &j->launch,
                              .timeout = s->parallel.timeout,
                              .native = !s->train.deterministic,
                              .bf16 = s->parallel.sum_type == SUM_BF16 };

    *j = (struct job){ .set = s, .clock.started = clock_mono() };
    j->state.best_loss = INFINITY;
    j->state.loss_scale =
        s->train.precision == PRECISION_FP16 ? s->train.loss_scale : 1;
    if (launch_detect(&j->launch, s->parallel.launcher, e) < 0 ||
        open_ranks(j, &conf, e) < 0 ||
        job_data_open_tokenizer(&j->data, s, e) < 0)
        return -1;
    if (resolve_settings(s, job_data_vocab(&j->data), j->coll.size, e) < 0) {
        launch_mute(e);
        return -1;
    }
    if (open_device(j, e) < 0 ||
        (why != JOB_INFER && coll_use_device(&j->coll, &j->dev, e) < 0))
        return -1;
    if (why == JOB_TRAIN && job_data_open_train(&j->data, s, e) < 0)
        return -1;
    if (job_agree(j, e) < 0 || check_device(j, why, e) < 0)
        return -1;
    return open_model(j, why != JOB_INFER, e);
}

void job_close(struct job *j)
{
    if (j->dev.type) {
        recording_close(&j->recording);
        parallel_close(&j->parallel);
        coll_leave_device(&j->coll);
        optim_close(&j->optim);
        graph_clear(&j->gpt.graph);
        dev_close(&j->dev);
    }
    job_data_close(&j->data);
    coll_close(&j->coll);
    free(j->batch.x);
    free(j->batch.y);
    free(j->batch.losses);
    *j = (struct job){ 0 };
}

int job_read(struct job *j, struct loader *from, int64_t window, int64_t n,
             struct err *e)
{
    const int64_t ignore = j->set->data.ignore;
    int32_t *y = j->batch.y;

    if (loader_get(from, window, n, j->batch.x, y, e) < 0)
        return -1;
    for (int64_t i = 0; ignore >= 0 && i < n * j->gpt.T; i++)
        if (y[i] == ignore)
            y[i] = -1;
    return 0;
}

int job_forward(struct job *j, int64_t n, struct err *e)
{
    const int64_t B = j->gpt.B, T = j->gpt.T, some = n > 0 ? n : 1;
    const int64_t rows = j->dev.type->any_size ? some : B;
    struct graph *g = &j->gpt.graph;
    const struct tensor *loss = graph_val(g, j->gpt.output);
    int ret;

    for (int64_t i = n * T; i < rows * T; i++) {
        j->batch.x[i] = 0;
        j->batch.y[i] = -1;
    }
    graph_resize(g, B, rows);
    gpt_set_inputs(&j->gpt, j->batch.x, j->batch.y);
    graph_run_forward(g);
    j->dev.type->get(&j->dev, j->batch.losses, loss->data, tensor_bytes(loss));
    ret = dev_sync(&j->dev, e);
    graph_resize(g, rows, B);
    return ret;
}

char *job_instructions(struct job *j, char *out, size_t room)
{
    const struct dev_type *type = j->dev.type;
    const bool bf16 = j->set->train.precision == PRECISION_BF16;

    if (!type->instructions)
        return type->describe(&j->dev, out, room);
    snprintf(out, room, "%s",
             type->instructions(&j->dev, bf16 ? DT_BF16 : DT_F32));
    return out;
}

/* ---- time ------------------------------------------------------------- */

double job_seconds(const struct job *j)
{
    return j->state.seconds + clock_mono() - j->clock.started;
}

double job_position(const struct job *j)
{
    const double limit = j->set->train.max_time;
    const double by_step = (double)j->state.step;
    double by_time;

    if (limit <= 0)
        return by_step;
    by_time = (j->coll.size > 1 ? j->clock.agreed : job_seconds(j)) / limit *
              (double)j->set->is.steps;
    return fmax(by_step, by_time);
}
