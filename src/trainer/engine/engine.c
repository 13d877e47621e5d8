#include "config.h"
#include "trainer/engine/engine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/machine/limits.h"
#include "common/mem.h"
#include "common/program.h"
#include "common/sha256.h"
#include "data/shards/lock.h"
#include "trainer/device/device_check.h"
#include "trainer/device/hardware.h"
#include "trainer/model/graph.h"
#include "trainer/model/resolve.h"

/* ---- the model -------------------------------------------------------- */

/* Draw what this rank keeps of parameter i. */
static int draw_weights(struct engine *eng, int i, struct dev *cpu,
                        float *values, struct err *e)
{
    const struct graph_param *p = &eng->gpt.graph.param[i];
    const uint64_t seed = (uint64_t)eng->set->train.seed;
    int64_t at, count;

    for (int k = 0; parallel_kept_weights(&eng->parallel, k, &at, &count);
         k++) {
        const int64_t from = at > p->at ? (at - p->at) & ~1 : 0;
        int64_t n = at + count - p->at - from;

        n = n < p->count - from ? n : p->count - from;
        if (n <= 0)
            continue;
        gpt_init_weights(&eng->gpt, i, from, n, seed, cpu, values);
        if (parallel_load(&eng->parallel, PARALLEL_WEIGHTS, p->at + from,
                          values, n, e) < 0)
            return -1;
    }
    return 0;
}

/* One parameter after another, so that no rank ever holds all of them twice. */
static int init_weights(struct engine *eng, struct err *e)
{
    const struct graph *g = &eng->gpt.graph;
    AUTO(dev_close) struct dev cpu = { .threads = eng->dev.threads };
    AUTO_FREE float *values =
        mem_alloc((size_t)graph_largest(g), sizeof *values, "a parameter", e);
    int ret = values ? dev_open(&cpu, "cpu", e) : -1;

    for (int i = 0; i < g->n_params && ret == 0; i++)
        ret = draw_weights(eng, i, &cpu, values, e);
    if (ret == 0)
        ret = parallel_loaded(&eng->parallel, e);
    return ret;
}

static int open_batch(struct engine_batch *b, const struct settings *s,
                      struct err *e)
{
    const size_t n = (size_t)(s->train.micro_batch * s->model.context);

    b->x = mem_alloc(n, sizeof *b->x, "tokens", e);
    b->y = mem_alloc(n, sizeof *b->y, "tokens", e);
    b->losses =
        mem_alloc(n * (size_t)s->is.accumulate, sizeof *b->losses, "losses", e);
    if (s->is.teacher_k)
        b->teacher = mem_alloc(n * (size_t)(1 + s->is.teacher_k),
                               sizeof *b->teacher, "a teacher", e);
    return b->x && b->y && b->losses && (b->teacher || !s->is.teacher_k) ? 0
                                                                         : -1;
}

static int open_optim(struct engine *eng, struct err *e)
{
    const struct settings *s = eng->set;
    struct graph *g = &eng->gpt.graph;

    if (g->training)
        optim_lay_out(&eng->optim, &s->optim, g);
    eng->optim.rounds_randomly =
        g->training && s->train.stochastic_rounding && g->type == DT_BF16;
    eng->optim.seed = (uint64_t)s->train.seed;
    if (parallel_attach(&eng->parallel, g, &eng->optim, e) < 0)
        return -1;
    return g->training ? optim_open(&eng->optim, e) : 0;
}

/* Find the memory of the rank that needs most. */
static int agree_memory(struct engine *eng, struct err *e)
{
    parallel_memory(&eng->parallel, eng->memory);
    for (int i = 0; i < DEV_MODEL_USES; i++)
        if (coll_max(&eng->coll, &eng->memory[i], e) < 0)
            return -1;
    return 0;
}

static int open_model(struct engine *eng, bool training, struct err *e)
{
    const struct settings *s = eng->set;
    struct graph_conf how = { .training = training, .fuse = true };
    struct graph *g = &eng->gpt.graph;

    parallel_open(&eng->parallel, s, &eng->coll, training);
    parallel_configure(&eng->parallel, &how);
    gpt_build(&eng->gpt, s, s->train.micro_batch);
    if (eng->weights.folder && eng->weights.check(eng, e) < 0)
        return -1;
    if (graph_memory_alloc(g, &eng->dev, &how, e) < 0)
        return -1;
    g->seed = (uint64_t)s->train.seed;
    if (open_batch(&eng->batch, s, e) < 0 || open_optim(eng, e) < 0 ||
        agree_memory(eng, e) < 0)
        return -1;
    if (!training)
        return 0; /* the weights are loaded from a file */
    eng->recent.loss = xcalloc((size_t)s->train.spike_window, sizeof(double));
    eng->recent.norm = xcalloc((size_t)s->train.spike_window, sizeof(double));
    recording_open(&eng->recording, g, s->train.cuda_graphs,
                   gpt_flops_per_token(&eng->gpt) *
                       (double)(s->train.micro_batch * s->model.context));
    return init_weights(eng, e);
}

/* ---- ranks and devices ------------------------------------------------ */

/* The hash lets coll_open() check that all ranks have the same settings. */
static int open_ranks(struct engine *eng, struct coll_conf *conf, struct err *e)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;
    char sum[SHA256_TEXT];

    conf_dump(&eng->set->conf, &text);
    sha256_of(text.s, text.len, sum);
    conf->agree = sum;
    return coll_open(&eng->coll, conf, e);
}

static int device_failed(const struct engine *eng, bool own,
                         const struct err *why, struct err *e)
{
    err_set(e, why->kind, "%s%s", why->text,
            own ? "; --ranks trains without a GPU" : "");
    return conf_wrap(&eng->set->conf, "train.device", e);
}

/* Each rank of a machine takes a GPU of its own: "cuda" is "cuda:2" for the
 * third of them.  If there are fewer, the settings name it or it is the only
 * one that each rank sees. */
static int open_device(struct engine *eng, struct err *e)
{
    const struct settings *s = eng->set;
    const char *name = s->train.device;
    const char *origin = conf_origin(&s->conf, "train.device");
    const bool own = origin && strcmp(origin, ENGINE_GPUS) == 0;
    struct err why = { 0 };
    char its[32];

    eng->dev.threads = hardware_threads(eng->set, eng->coll.local_size,
                                        eng->launch.shared_cores);
    eng->dev.deterministic = s->train.deterministic;
    eng->dev.tf32 = s->train.tf32;
    eng->dev.fp8 = s->train.fp8 != FP8_OFF;
    snprintf(its, sizeof its, "cuda:%d", eng->coll.local_rank);
    if (eng->coll.local_rank > 0 &&
        (strcmp(name, "cuda") == 0 || strcmp(name, "auto") == 0)) {
        if (dev_open(&eng->dev, its, &why) == 0)
            return 0;
        if (own || why.kind == ERR_SYSTEM) /* it exists, but fails */
            return device_failed(eng, own, &why, e);
    }
    why = (struct err){ 0 };
    return dev_open(&eng->dev, name, &why) < 0
               ? device_failed(eng, own, &why, e)
               : 0;
}

/* Each rank checks its own GPU before it trains. */
static int check_device(struct engine *eng, enum engine_purpose why,
                        struct err *e)
{
    if (why != ENGINE_TRAIN) {
        device_check_remind(&eng->dev, eng->set);
        return 0;
    }
    if (device_check_once(&eng->dev, eng->set, e) < 0)
        return -1;
    return device_check_sum(&eng->dev, &eng->coll, e);
}

/* ---- do all ranks compute the same? ----------------------------------- */

/* A property of a rank, as a text that identifies it. */
struct engine_fact {
    const char *what; /* another one */
    char text[256];
};

/* The first rank with another text than rank 0 is described in `who`, which is
 * empty if there is none. */
static int compare_fact(struct engine *eng, const struct engine_fact *f,
                        char who[sizeof *eng->coll.peer], struct err *e)
{
    int rank;

    if (coll_compare(&eng->coll, f->text, sizeof f->text, &rank, e) < 0)
        return -1;
    snprintf(who, sizeof *eng->coll.peer, "%s",
             rank ? eng->coll.peer[rank] : "");
    return 0;
}

static int check_input(struct engine *eng, const struct engine_fact *f,
                       struct err *e)
{
    char who[sizeof *eng->coll.peer];

    if (compare_fact(eng, f, who, e) < 0)
        return -1;
    return *who ? err_set(e, ERR_RANK, "%s has %s than rank 0", who, f->what)
                : 0;
}

/* Only the last bits of results depend on what computes them. */
static int compare_device(struct engine *eng, struct err *e)
{
    struct engine_fact f = { .what =
                                 "another GPU, or other instructions of the "
                                 "CPU (GTRAIN_ISA)," };
    char who[sizeof *eng->coll.peer];

    engine_instructions(eng, f.text, sizeof f.text);
    if (eng->set->train.deterministic)
        return check_input(eng, &f, e);
    if (compare_fact(eng, &f, who, e) < 0)
        return -1;
    if (*who && eng->coll.rank == 0)
        log_warn("%s has %s than rank 0; they round differently", who, f.what);
    return 0;
}

/* The hashes of whole files, if all ranks have a lock with them. */
static int check_locks(struct engine *eng, const struct mixture *data,
                       const char *what, struct err *e)
{
    const size_t n = data ? mixture_sources(data) : 0;

    for (size_t k = 0; k < n; k++) {
        struct engine_fact f = { .what = what };
        int64_t lacking = !lock_recorded(mixture_loader(data, k), f.text);

        if (coll_max(&eng->coll, &lacking, e) < 0 ||
            (!lacking && check_input(eng, &f, e) < 0))
            return -1;
    }
    return 0;
}

int engine_agree(struct engine *eng, struct err *e)
{
    const struct engine_data *d = &eng->data;
    char build[SHA256_TEXT], tasks[24];
    const char *const fact[][2] = {
        { "another build of gtrain", build },
        { "another data.tokenizer",
          d->tokenizer ? tokenizer_hash(d->tokenizer) : "" },
        { "other files in data.train", d->train ? mixture_hash(d->train) : "" },
        { "other files in data.val", d->val ? mixture_hash(d->val) : "" },
        { "another number of tasks", tasks },
        { "another train.teacher", d->teacher.sum },
    };

    if (eng->coll.size == 1)
        return 0;
    program_hash(build);
    snprintf(tasks, sizeof tasks, "%zu", d->tasks.n);
    for (size_t i = 0; i < sizeof fact / sizeof fact[0]; i++) {
        struct engine_fact f = { .what = fact[i][0] };

        snprintf(f.text, sizeof f.text, "%s", fact[i][1]);
        if (check_input(eng, &f, e) < 0)
            return -1;
    }
    if (check_locks(eng, d->train, "another data.lock of data.train", e) < 0 ||
        check_locks(eng, d->val, "another data.lock of data.val", e) < 0)
        return -1;
    return compare_device(eng, e);
}

/* ---- the engine ------------------------------------------------------- */

/* Training ends where the sources of a mixture do. */
static void stop_with_data(struct engine *eng)
{
    struct settings *s = eng->set;
    const int64_t steps = engine_data_steps(&eng->data, s);

    if (steps >= s->is.stop_at)
        return;
    if (eng->coll.rank == 0)
        log_warn("the sources of data.train end after step %lld of %lld, and "
                 "training stops there",
                 (long long)steps, (long long)s->is.stop_at);
    s->is.stop_at = steps;
}

int engine_open(struct engine *eng, struct settings *s, enum engine_purpose why,
                struct err *e)
{
    struct coll_conf conf = { .launch = &eng->launch,
                              .timeout = s->parallel.timeout,
                              .native = !s->train.deterministic,
                              .bf16 = s->parallel.sum_type == SUM_BF16 };

    *eng = (struct engine){ .set = s,
                            .weights = eng->weights,
                            .clock.started = clock_mono() };
    eng->state.best_loss = INFINITY;
    if (launch_detect(&eng->launch, s->parallel.launcher, e) < 0 ||
        open_ranks(eng, &conf, e) < 0 ||
        engine_data_open_tokenizer(&eng->data, s, e) < 0 ||
        open_device(eng, e) < 0)
        return -1;
    /* a trained model says in which precision it is evaluated */
    resolve_precision(s, why != ENGINE_INFER && eng->dev.type != &cpu_dev);
    eng->state.loss_scale =
        s->train.precision == PRECISION_FP16 ? s->train.loss_scale : 1;
    if (resolve_settings(s, engine_data_vocab(&eng->data), eng->coll.size, e) <
        0) {
        launch_mute(e);
        return -1;
    }
    s->is.eot = eng->data.tokenizer ? tokenizer_eot(eng->data.tokenizer) : -1;
    if (why != ENGINE_INFER && coll_use_device(&eng->coll, &eng->dev, e) < 0)
        return -1;
    if (why == ENGINE_TRAIN) {
        if (engine_data_open_train(&eng->data, s, e) < 0)
            return -1;
        stop_with_data(eng);
    }
    s->is.teacher_k = eng->data.teacher.k;
    if (engine_agree(eng, e) < 0 || check_device(eng, why, e) < 0)
        return -1;
    if (why != ENGINE_INFER && !eng->dev.memory.total &&
        eng->coll.local_rank == 0)
        rank_memory_warn(s, eng->coll.size, eng->coll.local_size);
    return open_model(eng, why != ENGINE_INFER, e);
}

void engine_close(struct engine *eng)
{
    if (eng->dev.type) {
        recording_close(&eng->recording);
        parallel_close(&eng->parallel);
        coll_leave_device(&eng->coll);
        optim_close(&eng->optim);
        graph_clear(&eng->gpt.graph);
        dev_close(&eng->dev);
    }
    engine_data_close(&eng->data);
    coll_close(&eng->coll);
    FREE(eng->batch.x, eng->batch.y, eng->batch.losses, eng->batch.teacher,
         eng->recent.loss, eng->recent.norm);
    *eng = (struct engine){ 0 };
}

/* Without targets where data.ignore says so. */
static void mask_targets(struct engine *eng, int64_t n)
{
    const int64_t ignore = eng->set->data.ignore;
    int32_t *y = eng->batch.y;

    if (ignore >= 0)
        for (int64_t i = 0; i < n * eng->gpt.T; i++)
            y[i] = y[i] == ignore ? -1 : y[i];
}

int engine_read(struct engine *eng, struct loader *from, int64_t window,
                int64_t n, struct err *e)
{
    if (loader_get(from, window, n, eng->batch.x, eng->batch.y, e) < 0)
        return -1;
    loader_touch(from, window + n, n);
    mask_targets(eng, n);
    return 0;
}

int engine_read_train(struct engine *eng, int64_t first, int64_t n,
                      struct err *e)
{
    if (mixture_get(eng->data.train, first, n, eng->batch.x, eng->batch.y, e) <
        0)
        return -1;
    mask_targets(eng, n);
    return eng->batch.teacher
               ? engine_data_teach(&eng->data, first, n, eng->gpt.T,
                                   eng->batch.x, eng->batch.teacher, e)
               : 0;
}

int64_t engine_sequences(const struct engine *eng)
{
    return resolve_sequences_before(eng->set, eng->state.step) +
           eng->state.skipped;
}

bool engine_has_data(const struct engine *eng)
{
    return mixture_length(eng->data.train) - engine_sequences(eng) >=
           resolve_sequences(eng->set, eng->state.step);
}

void engine_pad(struct engine *eng, int64_t from, int64_t to)
{
    for (int64_t i = from * eng->gpt.T; i < to * eng->gpt.T; i++) {
        eng->batch.x[i] = 0;
        eng->batch.y[i] = -1;
    }
}

int engine_forward(struct engine *eng, int64_t n, struct err *e)
{
    const int64_t B = eng->gpt.B, some = n > 0 ? n : 1;
    const int64_t rows = eng->dev.type->any_size ? some : B;
    struct graph *g = &eng->gpt.graph;
    const struct tensor *loss = graph_val(g, eng->gpt.output);
    int ret;

    engine_pad(eng, n, rows);
    gpt_resize(&eng->gpt, rows, eng->gpt.T);
    gpt_set_inputs(&eng->gpt, eng->batch.x, eng->batch.y);
    graph_run_forward(g);
    eng->dev.type->get(&eng->dev, eng->batch.losses, loss->data,
                       tensor_bytes(loss));
    ret = dev_sync(&eng->dev, e);
    gpt_resize(&eng->gpt, B, eng->gpt.T);
    return ret;
}

char *engine_instructions(struct engine *eng, char *out, size_t room)
{
    const struct dev_type *type = eng->dev.type;
    const bool bf16 = eng->set->train.precision == PRECISION_BF16;

    if (!type->instructions)
        return type->describe(&eng->dev, out, room);
    snprintf(out, room, "%s",
             type->instructions(&eng->dev, bf16 ? DT_BF16 : DT_F32));
    return out;
}

char *engine_build(char *out, size_t room)
{
    char sum[SHA256_TEXT];

    snprintf(out, room, "%s %.16s", PACKAGE_VERSION, program_hash(sum));
    return out;
}

char *engine_libraries(char *out, size_t room)
{
    static const char *const begins[] = { "glibc-", "libm", "libgomp", "libcu",
                                          "libnccl" };
    AUTO(buf_clear) struct buf all = BUF_INIT;
    char *rest, *word;
    size_t n = 0;

    *out = '\0';
    usage_libraries(&all);
    rest = all.s;
    while ((word = strsep(&rest, " ")))
        for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++)
            if (strncmp(word, begins[i], strlen(begins[i])) == 0 && n < room)
                n += (size_t)snprintf(out + n, room - n, "%s%s", n ? " " : "",
                                      word);
    return out;
}

/* ---- time ------------------------------------------------------------- */

double engine_seconds(const struct engine *eng)
{
    return eng->state.seconds + clock_mono() - eng->clock.started;
}

double engine_position(const struct engine *eng)
{
    const double limit = eng->set->train.max_time;
    const double by_step = (double)eng->state.step;
    double by_time;

    if (limit <= 0)
        return by_step;
    by_time = (eng->coll.size > 1 ? eng->clock.agreed : engine_seconds(eng)) /
              limit * (double)eng->set->is.steps;
    return fmax(by_step, by_time);
}
