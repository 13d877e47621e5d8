#include "config.h"
#include "trainer/device/device_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/program.h"
#include "common/rng.h"
#include "common/save.h"
#include "common/sha256.h"
#include "kernels/ref.h"
#include "trainer/model/gpt.h"
#include "trainer/model/graph.h"
#include "trainer/model/graph_calls.h"
#include "trainer/model/optim.h"
#include "trainer/ranks/parallel.h"

/* The longest sequence that is tried: in attention, and half of it in the
 * rest. */
enum { CONTEXT = 4096, SEQUENCES = 2, SEED = 20, TAUGHT = 2 };

/* The same model on the CPU and on the device. */
struct comparison {
    struct dev *dev;
    struct dev cpu;
    struct gpt model[2]; /* on the CPU, on the device */
    double tolerance;
    char *host;             /* room for a tensor of the device */
    const struct attn *qkv; /* tensors are rows of queries, keys and values */
    bool wrong_attention;
    bool overlap; /* kernels may start before others end */
    int without;  /* what the device stopped using, DEVICE_ values */
};

/* ---- two models ------------------------------------------------------- */

/* Random weights: those at the start of a training, and noise, so that no bias
 * is 0 and no gain is 1; values then have a mean, which part of attention's
 * gradient depends on. */
static void draw_weights(struct comparison *c)
{
    struct graph *g = &c->model[0].graph;

    for (int i = 0; i < g->n_params; i++) {
        const struct graph_param *p = &g->param[i];
        float *w = (float *)g->weights.data + p->at;
        struct tensor wide = tensor_vector(w, DT_F32, p->count);
        struct tensor copy =
            tensor_vector(g->node[p->node].val.data, g->type, p->count);

        gpt_init_weights(&c->model[0], i, 0, p->count, SEED, &c->cpu, w);
        if (p->std <= 0)
            for (int64_t k = 0; k < p->count; k++)
                w[k] += rng_uniform(SEED, (uint64_t)i, (uint64_t)k) - 0.5f;
        copy.overwrite = true;
        if (g->copies.data)
            c->cpu.ops->accum(&c->cpu, &copy, &wide);
    }
}

/* Every second row has a teacher, which knows the target. */
static void draw_tokens(struct comparison *c, const struct settings *s)
{
    const int64_t n = c->model[0].B * c->model[0].T;
    AUTO_FREE int32_t *x = xcalloc((size_t)n, sizeof *x);
    AUTO_FREE int32_t *y = xcalloc((size_t)n, sizeof *y);
    AUTO_FREE int32_t *words = xcalloc((size_t)n, (1 + TAUGHT) * sizeof *words);

    for (int64_t i = 0, k = 0; i < n; i++) {
        x[i] = (int32_t)(rng_word(1, SEED, (uint64_t)i) %
                         (uint32_t)s->model.vocab);
        y[i] = (int32_t)(rng_word(2, SEED, (uint64_t)i) %
                         (uint32_t)s->model.vocab);
        words[k++] = -(int32_t)(i % 2);
        words[k++] = y[i] + HEAD_UNITS * HEAD_IDS;
        words[k++] = (y[i] + 1) % (int32_t)s->model.vocab;
    }
    for (int i = 0; i < 2; i++) {
        gpt_set_inputs(&c->model[i], x, y);
        gpt_set_teacher(&c->model[i], words);
    }
}

static void copy_region(struct comparison *c, const struct region *to,
                        const struct region *from)
{
    if (from->bytes)
        c->dev->type->put(c->dev, to->data, from->data, from->bytes);
}

static size_t largest_tensor(const struct graph *g)
{
    size_t most = 0;

    for (int i = 0; i < g->n; i++) {
        const struct tensor *all[] = { &g->node[i].val, &g->node[i].grad,
                                       &g->node[i].aux };

        for (int k = 0; k < 3; k++)
            if (all[k]->rank && tensor_bytes(all[k]) > most)
                most = tensor_bytes(all[k]);
    }
    return most;
}

static int open_models(struct comparison *c, const struct settings *all,
                       struct err *e)
{
    const struct graph_conf how = { .training = true, .fuse = true };
    AUTO_FREE struct settings *s = xmalloc(sizeof *s);

    *s = *all; /* the texts still belong to `all` */
    s->model.layers = 1;
    s->is.teacher_k = TAUGHT;
    if (s->model.context > CONTEXT)
        s->model.context = CONTEXT;
    s->model.context = (s->model.context + 1) / 2;
    for (int i = 0; i < 2; i++) {
        struct graph *g = &c->model[i].graph;

        gpt_build(&c->model[i], s, SEQUENCES);
        if (graph_memory_alloc(g, i ? c->dev : &c->cpu, &how, e) < 0)
            return -1;
        g->first_micro = true;
        g->seed = SEED;
        g->head_scale = 1.0f; /* no gradient is too small for fp16 */
    }
    c->host = mem_alloc(largest_tensor(&c->model[0].graph), 1,
                        "the check of the device", e);
    if (!c->host)
        return -1;
    draw_weights(c);
    draw_tokens(c, s);
    copy_region(c, &c->model[1].graph.weights, &c->model[0].graph.weights);
    copy_region(c, &c->model[1].graph.copies, &c->model[0].graph.copies);
    return dev_sync(c->dev, e);
}

/* ---- one tensor ------------------------------------------------------- */

/* Whether numbers agree but for rounding, in these columns of all rows: the
 * difference as a whole, and each one of them. */
static bool columns_agree(const struct tensor *is, const struct tensor *want,
                          int64_t from, int64_t to, double tolerance)
{
    const int64_t C = tensor_cols(want), rows = tensor_count(want) / C;
    double squares = 0, wrong = 0, rms;

    for (int64_t i = 0; i < rows * (to - from); i++) {
        const int64_t at = i / (to - from) * C + from + i % (to - from);
        const double x = ref_get(want, at), d = ref_get(is, at) - x;

        squares += x * x;
        wrong += d * d;
    }
    if (!(wrong <= squares * tolerance * tolerance))
        return false;
    rms = sqrt(squares / (double)(rows * (to - from)));
    for (int64_t i = 0; i < rows * (to - from); i++) {
        const int64_t at = i / (to - from) * C + from + i % (to - from);
        const double x = ref_get(want, at);

        if (fabs(ref_get(is, at) - x) > 10 * tolerance * (fabs(x) + rms))
            return false;
    }
    return true;
}

bool device_numbers_agree(const struct tensor *is, const struct tensor *want,
                          const struct attn *qkv, double tolerance)
{
    const int64_t cols = tensor_cols(want);
    int64_t k, v;

    if (!qkv)
        return columns_agree(is, want, 0, cols, tolerance);
    k = (int64_t)qkv->H * qkv->D;
    v = k + (int64_t)qkv->K * qkv->D;
    return columns_agree(is, want, 0, k, tolerance) &&
           columns_agree(is, want, k, v, tolerance) &&
           columns_agree(is, want, v, cols, tolerance);
}

/* Compare a tensor of the device with that of the CPU, then replace it. */
static int compare_tensor(struct comparison *c, const struct tensor *on_dev,
                          const struct tensor *want, bool *good, struct err *e)
{
    struct tensor is = *want;

    if (!want->rank || !want->data)
        return 0;
    is.data = c->host;
    c->dev->type->get(c->dev, c->host, on_dev->data, tensor_bytes(want));
    if (dev_sync(c->dev, e) < 0)
        return -1;
    if (!device_numbers_agree(&is, want, c->qkv, c->tolerance))
        *good = false;
    c->dev->type->put(c->dev, on_dev->data, want->data, tensor_bytes(want));
    return 0;
}

/* ---- one call --------------------------------------------------------- */

static int compare_values(struct comparison *c, int node, bool *good,
                          struct err *e)
{
    const struct graph_node *want = &c->model[0].graph.node[node];
    const struct graph_node *is = &c->model[1].graph.node[node];

    if (compare_tensor(c, &is->val, &want->val, good, e) < 0)
        return -1;
    return compare_tensor(c, &is->aux, &want->aux, good, e);
}

static int compare_gradient(struct comparison *c, int node, bool *good,
                            struct err *e)
{
    const struct graph_node *want =
        node == GRAPH_NONE ? NULL : &c->model[0].graph.node[node];

    if (!want || want->no_grad)
        return 0;
    return compare_tensor(c, &c->model[1].graph.node[node].grad, &want->grad,
                          good, e);
}

/* Everything that a call computes. */
static int compare_call(struct comparison *c, int call, bool *good,
                        struct err *e)
{
    const struct graph *g = &c->model[0].graph;
    const struct graph_call *of = &g->call[call];
    const struct graph_node *n = &g->node[of->node];
    int ret = 0;

    if (!graph_call_is_backward(of))
        ret = compare_values(c, of->node, good, e);
    if (ret == 0 && (of->kind == CALL_ADD_NORM || of->kind == CALL_LINEAR_ACT))
        ret = compare_values(c, n->src[0], good, e);
    if (of->kind == CALL_ACT_LINEAR_BACK && ret == 0)
        ret = compare_gradient(c, g->node[n->src[0]].src[0], good, e);
    if (of->kind == CALL_BACKWARD && n->op == OP_ATTENTION)
        c->qkv = &n->attr.attn;
    for (int i = 0; i < n->n_src && ret == 0; i++)
        if (of->kind == CALL_BACKWARD || of->kind == CALL_HEAD ||
            (of->kind == CALL_ACT_LINEAR_BACK && i > 0))
            ret = compare_gradient(c, n->src[i], good, e);
    c->qkv = NULL;
    return ret;
}

static int check_calls(struct comparison *c, struct err *e)
{
    struct graph *g = &c->model[0].graph, *on_dev = &c->model[1].graph;

    graph_run_begin(g);
    graph_run_begin(on_dev);
    for (int i = 0; i < g->n_calls; i++) {
        bool good = true;

        graph_run_call(g, i);
        graph_run_call(on_dev, i);
        if (compare_call(c, i, &good, e) < 0)
            return err_wrap(e, "the check of %s", graph_call_name(g, i));
        if (good)
            continue;
        c->wrong_attention = g->node[g->call[i].node].op == OP_ATTENTION;
        return err_set(e, ERR_SYSTEM,
                       "%s computes wrong numbers in %s (%s, %s)",
                       c->dev->type->name, graph_call_name(g, i),
                       g->node[g->call[i].node].name,
                       g->type == DT_F32    ? "fp32"
                       : g->type == DT_BF16 ? "bf16"
                                            : "fp16");
    }
    return 0;
}

/* ---- the optimiser ---------------------------------------------------- */

/* The largest part of itself by which a weight may differ after a step: all is
 * in F32, but for Muon's products. */
#define STEP_TOLERANCE 1e-2

static int step_weights(struct graph *g, const struct settings *s, double *norm,
                        struct err *e)
{
    AUTO(optim_close) struct optim o = { .conf = NULL };

    optim_lay_out(&o, &s->optim, g);
    if (optim_open(&o, e) < 0)
        return -1;
    optim_measure(&o);
    if (dev_sync(g->dev, e) < 0)
        return -1;
    *norm = optim_norm(&o, 1);
    optim_step(&o, 0.01, 1);
    return dev_sync(g->dev, e);
}

static struct tensor weights_of(const struct graph *g, int i)
{
    return tensor_vector((float *)g->weights.data + g->param[i].at, DT_F32,
                         g->param[i].count);
}

/* A large step, from weights and gradients that are the same on both. */
static int check_optimiser(struct comparison *c, const struct settings *s,
                           struct err *e)
{
    const double tolerance = c->tolerance;
    double norm[2] = { 0 };
    int ret = 0;

    for (int i = 0; i < 2 && ret == 0; i++)
        ret = step_weights(&c->model[i].graph, s, &norm[i], e);
    if (ret == 0 && !(fabs(norm[1] - norm[0]) <= 1e-4 * norm[0]))
        ret = err_set(e, ERR_SYSTEM,
                      "%s computes a wrong norm of the gradient in the "
                      "optimiser",
                      c->dev->type->name);
    c->tolerance = STEP_TOLERANCE;
    for (int i = 0; i < c->model[0].graph.n_params && ret == 0; i++) {
        const struct tensor want = weights_of(&c->model[0].graph, i);
        const struct tensor is = weights_of(&c->model[1].graph, i);
        bool good = true;

        ret = compare_tensor(c, &is, &want, &good, e);
        if (ret == 0 && !good)
            ret = err_set(e, ERR_SYSTEM,
                          "%s computes wrong numbers in the optimiser (%s)",
                          c->dev->type->name, c->model[0].graph.param[i].name);
    }
    c->tolerance = tolerance;
    return ret;
}

/* ---- a micro-step as a whole ------------------------------------------ */

/* A micro-step that is recorded and replayed, or that runs as it is if it
 * cannot be recorded, which costs speed and nothing else. */
static int run_recorded(struct comparison *c, struct err *e)
{
    struct graph *g = &c->model[1].graph;
    const struct dev_type *type = c->dev->type;
    struct err why = { 0 };
    bool waits = false;
    struct dev_capture *work = recording_make(g, NULL, NULL, &waits, &why);

    if (waits)
        c->without |= DEVICE_WAITS;
    if (!work) {
        log_warn("a micro-step cannot be recorded as a CUDA graph (%s)",
                 why.text);
        c->without |= DEVICE_WITHOUT_GRAPHS;
        graph_run_train(g, NULL, NULL);
    } else {
        type->capture_run(c->dev, work);
    }
    if (dev_sync(c->dev, e) < 0)
        return -1;
    type->capture_free(c->dev, work);
    return 0;
}

/* The gradients of a micro-step. */
static int run_whole(struct comparison *c, bool record, struct tensor *to,
                     struct err *e)
{
    struct graph *g = &c->model[1].graph;

    c->dev->type->zero(c->dev, g->grads.data, g->grads.bytes);
    if (!record)
        graph_run_train(g, NULL, NULL);
    else if (run_recorded(c, e) < 0)
        return -1;
    c->dev->type->get(c->dev, to->data, g->grads.data, g->grads.bytes);
    return dev_sync(c->dev, e);
}

/* Compare a micro-step in which each kernel waits for the end of the one before
 * it with one where they overlap, and with one that is replayed as a graph. */
static int compare_whole(struct comparison *c, struct tensor *want,
                         struct tensor *is, struct err *e)
{
    const struct dev_type *type = c->dev->type;

    if (run_whole(c, false, want, e) < 0)
        return -1;
    if (c->overlap) {
        type->overlap(c->dev, true);
        if (run_whole(c, false, is, e) < 0)
            return -1;
        if (!device_numbers_agree(is, want, NULL, c->tolerance)) {
            log_warn("%s computes other gradients when kernels overlap; they "
                     "do not overlap now, which GT_OVERLAP=off asks for",
                     type->name);
            type->overlap(c->dev, false);
            c->overlap = false;
            c->without |= DEVICE_WAITS;
        }
    }
    if (c->dev->deterministic) {
        if (run_whole(c, false, want, e) < 0 || run_whole(c, false, is, e) < 0)
            return -1;
        if (memcmp(want->data, is->data, (size_t)tensor_bytes(is)) != 0)
            return err_set(e, ERR_SYSTEM,
                           "%s computes other bits when a micro-step is "
                           "repeated, in spite of train.deterministic",
                           type->name);
    }
    if (!type->capture_begin)
        return 0;
    if (run_whole(c, true, is, e) < 0)
        return -1;
    if (device_numbers_agree(is, want, NULL, c->tolerance))
        return 0;
    return err_set(e, ERR_SYSTEM,
                   "%s computes other gradients when a micro-step is replayed "
                   "as a graph; set train.cuda_graphs = no",
                   type->name);
}

static int check_whole(struct comparison *c, struct err *e)
{
    const int64_t bytes = (int64_t)c->model[1].graph.grads.bytes;
    struct tensor t[2];
    int ret = -1;

    for (int i = 0; i < 2; i++)
        t[i] = tensor_vector(mem_alloc((size_t)bytes, 1, "gradients", e),
                             DT_F32, bytes / (int64_t)sizeof(float));
    if (t[0].data && t[1].data)
        ret = compare_whole(c, &t[0], &t[1], e);
    for (int i = 0; i < 2; i++)
        free(t[i].data);
    return ret;
}

/* ---- the check -------------------------------------------------------- */

/* The part of the whole by which results may differ: kernels keep intermediate
 * values in 16 bits where the activations have them. */
static double tolerance_of(const struct dev *dev, const struct settings *s)
{
    return s->train.precision == PRECISION_BF16   ? 5e-2
           : s->train.precision == PRECISION_FP16 ? 1e-2
           : dev->tf32                            ? 5e-3
                                                  : 2e-4;
}

static int check_model(struct comparison *c, const struct settings *s,
                       struct err *e)
{
    int ret;

    c->wrong_attention = false;
    ret = open_models(c, s, e);
    if (ret == 0)
        ret = check_calls(c, e);
    if (ret == 0)
        ret = device_check_attention(c->dev, &c->cpu, s, CONTEXT, c->tolerance,
                                     &c->wrong_attention, e);
    if (ret == 0)
        ret = check_optimiser(c, s, e);
    if (ret == 0)
        ret = check_whole(c, e);
    for (int i = 0; i < 2; i++)
        graph_clear(&c->model[i].graph);
    free(c->host);
    c->host = NULL;
    return ret;
}

int device_check(struct dev *dev, const struct settings *s, struct err *e)
{
    struct comparison c = { .dev = dev, .tolerance = tolerance_of(dev, s) };
    int ret;

    c.cpu.threads = dev->threads;
    if (dev_open(&c.cpu, "cpu", e) < 0)
        return -1;
    c.overlap = dev->type->overlap && dev->type->overlap(dev, false);
    ret = check_model(&c, s, e);
    if (ret < 0 && c.wrong_attention && dev->type->own_attention &&
        dev->type->own_attention(dev)) {
        log_warn("%s; using a slower kernel for attention instead", e->text);
        *e = (struct err){ 0 };
        c.without |= DEVICE_WITHOUT_CUDNN;
        ret = check_model(&c, s, e);
    }
    dev_close(&c.cpu);
    return ret < 0 ? ret : c.without;
}

/* ---- the file of devices that have passed ----------------------------- */

/*
 * The devices that have passed are kept in $XDG_CACHE_HOME/gtrain/checked, or
 * under ~/.cache: one line for each program, GPU, which its UUID names, driver,
 * libraries and kind of model.  If the file cannot be read or written,
 * the check is repeated.  It can be deleted at any time.  A device that stopped
 * using something is not added, since each program has to learn that; one
 * without graphs is, since training finds that out by itself.
 */
enum { MOST_BYTES = 1 << 20 };

/* The settings that choose operations, their widths and their types. */
static bool is_of_model(const char *key)
{
    return (strncmp(key, "model.", 6) == 0 &&
            strcmp(key, "model.layers") != 0) ||
           strcmp(key, "optim.name") == 0 ||
           strcmp(key, "train.micro_batch") == 0 ||
           strcmp(key, "train.precision") == 0 ||
           strcmp(key, "train.tf32") == 0 || strcmp(key, "train.fp8") == 0 ||
           strcmp(key, "train.deterministic") == 0;
}

/* The version of the driver of NVIDIA's GPUs, where it tells it. */
static void add_driver(struct buf *b)
{
    struct err e = { 0 };
    AUTO(buf_clear) struct buf text = BUF_INIT;

    if (buf_read_file(&text, "/proc/driver/nvidia/version", 4096, &e) == 0)
        buf_str(b, text.s);
}

/* The hash of all that a result of the check depends on. */
static void hash_of(struct dev *dev, const struct settings *s,
                    char out[SHA256_TEXT])
{
    AUTO(buf_clear) struct buf b = BUF_INIT;
    char program[SHA256_TEXT], text[512];

    buf_printf(&b, "%s\n%s\n%s\n", program_hash(program),
               dev->type->describe(dev, text, sizeof text), dev->unit);
    add_driver(&b);
    for (const struct setting *row = settings_table; row->key; row++) {
        if (!is_of_model(row->key))
            continue;
        buf_printf(&b, "%s=", row->key);
        conf_text(&s->conf, row, &b);
        buf_char(&b, '\n');
    }
    sha256_of(b.s, b.len, out);
}

/* The file, or NULL if there is no folder for it; its lines, none if it cannot
 * be read. */
static char *read_passed(struct buf *lines)
{
    char *path = path_cache("gtrain", "checked");

    if (path)
        buf_read_file(lines, path, MOST_BYTES, ERR_IGNORED);
    return path;
}

static bool device_passed(struct dev *dev, const struct settings *s)
{
    AUTO(buf_clear) struct buf lines = BUF_INIT;
    AUTO_FREE char *path = read_passed(&lines);
    char hash[SHA256_TEXT];

    hash_of(dev, s, hash);
    return path && strstr(lines.s, hash);
}

void device_passed_add(struct dev *dev, const struct settings *s, int result)
{
    char *path, hash[SHA256_TEXT];
    AUTO(buf_clear) struct buf lines = BUF_INIT;

    if (result & ~DEVICE_WITHOUT_GRAPHS)
        return;
    path = read_passed(&lines);
    hash_of(dev, s, hash);
    buf_printf(&lines, "%s\n", hash);
    if (path)
        save_text(path, lines.s, ERR_IGNORED);
    free(path);
}

int device_check_once(struct dev *dev, const struct settings *s, struct err *e)
{
    const double before = clock_mono();
    const char *off = getenv("GT_DEVICE_CHECK");
    int ret;

    if (dev->type == &cpu_dev || device_passed(dev, s))
        return 0;
    if (off && strcmp(off, "off") == 0) {
        device_check_remind(dev, s);
        return 0;
    }
    ret = device_check(dev, s, e);
    if (ret < 0)
        return -1;
    log_info("the device computes this model as the CPU does (checked in "
             "%.1f s)",
             clock_mono() - before);
    device_passed_add(dev, s, ret);
    return 0;
}

void device_check_remind(struct dev *dev, const struct settings *s)
{
    if (dev->type != &cpu_dev && !device_passed(dev, s))
        log_warn("this device has not been checked with this model; gtrain "
                 "devices --check does that");
}

int device_check_sum(struct dev *dev, struct coll *c, struct err *e)
{
    enum { N = 1000 };
    const double ranks = (double)c->size;
    const double part = c->bf16 ? 1.0 / 32 : 0;
    float x[N];
    float *on_dev;
    int ret;

    if (c->size < 2 || dev->type == &cpu_dev)
        return 0;
    on_dev = dev_alloc(dev, sizeof x, DEV_TRIALS, e);
    if (!on_dev)
        return -1;
    for (int i = 0; i < N; i++)
        x[i] = (float)(c->rank + i);
    dev->type->put(dev, on_dev, x, sizeof x);
    coll_sum(c, on_dev, N);
    ret = coll_check(c, e);
    dev->type->get(dev, x, on_dev, sizeof x);
    if (ret == 0)
        ret = dev_sync(dev, e);
    for (int i = 0; i < N && ret == 0; i++) {
        const double want = ranks * ((ranks - 1) / 2 + i);

        if (fabs((double)x[i] - want) > 0.5 + part * want)
            ret = err_set(e, ERR_SYSTEM,
                          "the GPUs of %d ranks add numbers wrongly over %s",
                          c->size, c->device ? c->device->name : c->type->name);
    }
    dev_free(dev, on_dev);
    return ret;
}
