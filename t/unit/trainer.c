/*
 * Tests of parts of the trainer: the gradient of dropout against differences,
 * the layout of memory, the check of a step, drawing a token, the peak rate,
 * safetensors files.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/rng.h"
#include "t/lib/tap.h"
#include "trainer/model/gpt.h"
#include "trainer/model/graph.h"
#include "trainer/model/graph_calls.h"
#include "trainer/model/resolve.h"
#include "trainer/model/tensors.h"
#include "trainer/training/meter.h"
#include "trainer/training/sampler.h"
#include "trainer/training/step.h"

static const char *const small[] = {
    "model.layers=3",    "model.heads=2",          "model.width=16",
    "model.context=8",   "model.vocab=29",         "model.dropout=0.2",
    "model.qk_norm=yes", "model.init_residual=no", "model.init_std=0.3",
    "schedule.steps=10", "train.micro_batch=2",
};

enum { N_SMALL = sizeof small / sizeof small[0] };

/* ---- gradients by differences ----------------------------------------- */

struct trial {
    struct settings set;
    struct dev dev;
    struct gpt gpt;
    float *weights, *direction; /* the loss is compared along it */
    int32_t x[16], y[16];
    float losses[16];
};

static double loss_at(struct trial *t, double h)
{
    struct graph *g = &t->gpt.graph;
    float *moved = xcalloc((size_t)g->count, sizeof *moved);
    struct err e = { 0 };
    double sum = 0;

    for (int64_t i = 0; i < g->count; i++)
        moved[i] = t->weights[i] + (float)h * t->direction[i];
    t->dev.type->put(&t->dev, g->weights.data, moved,
                     (size_t)g->count * sizeof *moved);
    free(moved);
    gpt_set_inputs(&t->gpt, t->x, t->y);
    g->step = 3;
    g->seed = 11;
    g->first_micro = true;
    g->head_scale = 1;
    graph_run_train(g, NULL, NULL);
    t->dev.type->get(&t->dev, t->losses, graph_val(g, t->gpt.output)->data,
                     sizeof t->losses);
    if (dev_sync(&t->dev, &e) < 0)
        diag("%s", e.text);
    for (int i = 0; i < 16; i++)
        sum += (double)t->losses[i];
    return sum;
}

static void test_differences(void)
{
    const struct graph_conf how = { .training = true, .fuse = true };
    struct trial t = { 0 };
    struct graph *g = &t.gpt.graph;
    struct err e = { 0 };
    const size_t bytes_of = sizeof(float);
    float *grad;
    double slope = 0, measured;

    if (!ok(settings_load(&t.set, NULL, small, N_SMALL, &e) == 0 &&
                resolve_settings(&t.set, 0, 1, &e) == 0 &&
                dev_open(&t.dev, "cpu", &e) == 0,
            "a model with dropout opens")) {
        diag("%s", e.text);
        return;
    }
    gpt_build(&t.gpt, &t.set, 2);
    ok(graph_memory_alloc(g, &t.dev, &how, &e) == 0,
       "the memory of a model with dropout is allocated");
    t.weights = xcalloc((size_t)g->count, bytes_of);
    t.direction = xcalloc((size_t)g->count, bytes_of);
    for (int i = 0; i < g->n_params; i++)
        gpt_init_weights(&t.gpt, i, 0, g->param[i].count, 5, &t.dev,
                         t.weights + g->param[i].at);
    grad = xcalloc((size_t)g->count, bytes_of);
    t.dev.type->put(&t.dev, g->weights.data, t.weights,
                    (size_t)g->count * bytes_of);
    for (int i = 0; i < 16; i++) {
        t.x[i] = i * 7 % 29;
        t.y[i] = i == 5 ? -1 : i * 11 % 29;
    }
    for (int p = 0; p < g->n_params; p++)
        for (int64_t i = 0; i < g->param[p].count; i++)
            t.direction[g->param[p].at + i] =
                rng_uniform(9, (uint64_t)p, (uint64_t)i) - 0.5f;
    loss_at(&t, 0);
    t.dev.type->get(&t.dev, grad, g->grads.data, (size_t)g->count * bytes_of);
    dev_sync(&t.dev, &e);
    for (int64_t i = 0; i < g->count; i++)
        slope += (double)grad[i] * (double)t.direction[i];
    measured = (loss_at(&t, 1e-3) - loss_at(&t, -1e-3)) / 2e-3;
    if (!ok(fabs(slope - measured) < 5e-3 * fabs(measured) + 1e-3,
            "the gradient along a direction, with dropout and a masked "
            "token, agrees with differences"))
        diag("%.6f, measured %.6f", slope, measured);
    ok(t.losses[5] == 0.0f, "a masked token has no loss");
    free(t.weights);
    free(t.direction);
    free(grad);
    graph_clear(g);
    dev_close(&t.dev);
    settings_clear(&t.set);
}

/* ---- the layout of memory --------------------------------------------- */

struct region_sizes {
    size_t weights, copies, grads, activations;
    unsigned recomputed; /* layers, as bits */
};

/* The layers of which backward computes values again. */
static unsigned recomputed_layers(const struct graph *g)
{
    unsigned layers = 0;

    for (int t = g->n_forward; t < g->n_calls; t++) {
        const int layer = g->node[g->call[t].node].layer;

        if (!graph_call_is_backward(&g->call[t]) && layer >= 0)
            layers |= 1u << layer;
    }
    return layers;
}

static struct region_sizes sizes_with(const char *setting, bool training)
{
    const struct graph_conf how = { .training = training, .fuse = true };
    const char *sets[N_SMALL + 1];
    struct settings s;
    struct err e = { 0 };
    struct gpt gpt;
    struct region_sizes sizes = { 0 };

    memcpy(sets, small, sizeof small);
    sets[N_SMALL] = setting;
    if (settings_load(&s, NULL, sets, N_SMALL + 1, &e) == 0 &&
        resolve_settings(&s, 0, 1, &e) == 0) {
        gpt_build(&gpt, &s, 4);
        graph_memory_size(&gpt.graph, &how);
        sizes = (struct region_sizes){ gpt.graph.weights.bytes,
                                       gpt.graph.copies.bytes,
                                       gpt.graph.grads.bytes,
                                       gpt.graph.activations.bytes,
                                       recomputed_layers(&gpt.graph) };
        graph_clear(&gpt.graph);
    } else {
        diag("%s", e.text);
    }
    settings_clear(&s);
    return sizes;
}

static void test_memory(void)
{
    const struct region_sizes train = sizes_with("model.layers=12", true);
    const struct region_sizes again = sizes_with("model.layers=12", true);
    const struct region_sizes infer = sizes_with("model.layers=12", false);
    const struct region_sizes none = sizes_with("train.recompute=none", true);
    const struct region_sizes bf16 = sizes_with("train.precision=bf16", true);

    ok(train.activations == again.activations,
       "the layout of memory is the same each time");
    ok(sizes_with("train.recompute=layer", true).activations < none.activations,
       "recomputing layers takes less memory");
    ok(none.recomputed == 0 &&
           sizes_with("train.recompute=layer", true).recomputed == 3,
       "of three layers, the last is never computed again");
    ok(sizes_with("train.recompute=pointwise", true).activations <
           none.activations,
       "recomputing norms and activations takes less memory");
    ok(infer.activations * 8 < train.activations && infer.grads == 0,
       "inference takes less than an eighth of the memory for activations");
    ok(train.grads == train.weights && train.copies == 0,
       "fp32 weights have no copies");
    ok(bf16.copies * 2 == bf16.weights,
       "the bf16 copies take half the memory of the weights");
}

/* ---- the check of a step ------------------------------------------- */

static void test_step_check(void)
{
    struct train_settings c = { .on_nonfinite = POLICY_SKIP,
                                .on_spike = POLICY_ROLLBACK,
                                .spike_loss = 4,
                                .spike_norm = 4,
                                .spike_window = 16,
                                .max_skips = 2 };
    double loss[16], norm[16];
    struct engine_recent r = { .loss = loss, .norm = norm };
    char what[80];
    bool good = true;

    ok(step_judge(&r, &c, 50, 1, false, what) == STEP_GOOD,
       "before the window is full nothing is a spike");
    for (int i = 0; i < 40; i++)
        good = good && step_judge(&r, &c, 3 + 0.01 * (i % 5),
                                  1 + 0.01 * (i % 3), false, what) == STEP_GOOD;
    ok(good && !*what, "steady steps are good");
    ok(step_judge(&r, &c, 3.5, 1, false, what) == STEP_ROLLBACK &&
           strstr(what, "the loss 3.5"),
       "a loss far above its mean is a spike");
    ok(step_judge(&r, &c, 3, 9, false, what) == STEP_ROLLBACK,
       "a norm far above its mean is a spike");
    ok(step_judge(&r, &c, 3.5, 1, false, what) == STEP_ROLLBACK,
       "a spike does not enter the mean");
    ok(step_judge(&r, &c, (double)NAN, 1, false, what) == STEP_SKIP,
       "a loss that is not finite has its own policy");
    ok(step_judge(&r, &c, (double)NAN, 1, false, what) == STEP_SKIP &&
           step_judge(&r, &c, (double)NAN, 1, false, what) == STEP_STOP,
       "more skipped steps in a row than max_skips end the run");
    c.on_nonfinite = POLICY_STOP;
    ok(step_judge(&r, &c, 3, (double)INFINITY, false, what) == STEP_STOP,
       "the policy stop ends the training");
    ok(step_judge(&r, &c, 3, (double)INFINITY, true, what) == STEP_SKIP,
       "an overflow under a loss scale is only skipped");
}

/* ---- the noise of the gradient --------------------------------------- */

/* A gradient has 100 components of mean 0.3, and those of a token deviate from
 * it with variance 2, so that the noise scale is 200 / 9. */
enum { NOISY = 100, NOISY_STEPS = 4000 };

static double sum_of_squares(const double *x)
{
    double sum = 0;

    for (int k = 0; k < NOISY; k++)
        sum += x[k] * x[k];
    return sum;
}

/* The sum of 12 uniform numbers, less their mean, is nearly normal. */
static double draw_normal(uint64_t *state)
{
    double sum = -6;

    for (int i = 0; i < 12; i++) {
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        sum += (double)(*state >> 11) * 0x1p-53;
    }
    return sum;
}

static void test_noise(void)
{
    const double batch[2] = { 8, 32 }, want = 200.0 / 9;
    double mean[2] = { 0 }, sum = 0, one[2] = { 0 };
    const double exact[2] = { 9 + 200.0 / 8, 9 + 200.0 / 32 };
    const double equal[2] = { 32, 32 }, bad[2] = { 1, (double)INFINITY };
    uint64_t state = 7;

    ok(isnan(step_noise_scale(mean)),
       "before the first step, no noise is known");
    step_add_noise(one, batch, exact);
    ok(fabs(step_noise_scale(one) - want) < 1e-9,
       "the noise scale of expected norms is that of the gradient");
    step_add_noise(one, equal, exact);
    step_add_noise(one, batch, bad);
    ok(fabs(step_noise_scale(one) - want) < 1e-9,
       "a step of one micro-batch, or with a norm that is infinite, adds no "
       "noise");
    for (int i = 0; i < NOISY_STEPS; i++) {
        double part[NOISY], whole[NOISY], sumsq[2];

        /* the large batch has the small one in it */
        for (int k = 0; k < NOISY; k++) {
            part[k] = 0.3 + draw_normal(&state) * sqrt(2 / batch[0]);
            whole[k] = (part[k] + 3 * (0.3 + draw_normal(&state) *
                                                 sqrt(2 / (3 * batch[0])))) /
                       4;
        }
        sumsq[0] = sum_of_squares(part);
        sumsq[1] = sum_of_squares(whole);
        step_add_noise(mean, batch, sumsq);
        sum += step_noise_scale(mean) / NOISY_STEPS;
    }
    ok(fabs(sum / want - 1) < 0.02,
       "the noise scale of random gradients is 200 / 9, but for 2 %%");
    diag("it is %g on average", sum);
}

/* Logits of a model that has diverged.  A comparison with NaN is always false,
 * so sorting them might never end. */
static void test_nonfinite(void)
{
    static const float bad[] = { NAN, INFINITY, -INFINITY };
    struct sample_settings c = { .temperature = 1, .top_p = 0.9, .top_k = 3 };
    struct sampler_token scratch[64];
    float logits[64];

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        for (int all = 0; all < 2; all++) {
            for (int k = 0; k < 64; k++)
                logits[k] = all || k == 40 ? bad[i] : (float)k;
            for (c.temperature = 0; c.temperature < 2; c.temperature++)
                ok(sampler_draw(logits, 64, scratch, &c, 0.5f) == -1,
                   "nothing is drawn from logits with %g, temperature %g",
                   (double)bad[i], c.temperature);
        }
    }
}

/* ---- a draw ----------------------------------------------------------- */

enum { MANY = 1000 };

static int by_likelihood(const void *a, const void *b)
{
    const struct sampler_token *x = a, *y = b;

    if (x->p != y->p)
        return x->p < y->p ? 1 : -1;
    return x->id - y->id;
}

/* What sampler_draw() must draw from the k likeliest: all tokens are sorted. */
static int32_t draw_sorted(const float *logits, int64_t k, float uniform)
{
    struct sampler_token c[MANY];
    double total = 0, at;

    for (int i = 0; i < MANY; i++)
        c[i] = (struct sampler_token){ logits[i], i };
    qsort(c, MANY, sizeof *c, by_likelihood);
    for (int64_t i = k - 1; i >= 0; i--)
        c[i].p = (float)exp((double)(c[i].p - c[0].p));
    for (int64_t i = 0; i < k; i++)
        total += (double)c[i].p;
    at = (double)uniform * total;
    for (int64_t i = 0; i < k; i++) {
        at -= (double)c[i].p;
        if (at < 0)
            return c[i].id;
    }
    return c[k - 1].id;
}

/* Many logits are equal, and of those the first ids are the likeliest. */
static void test_many(void)
{
    static const int64_t likeliest[] = { 1, 2, 7, 50, 64, MANY - 1 };
    struct sample_settings c = { .temperature = 1, .top_p = 1 };
    struct sampler_token scratch[MANY];
    float logits[MANY];
    int wrong = 0;

    for (int i = 0; i < MANY; i++)
        logits[i] = floorf(40 * rng_uniform(3, 4, (uint64_t)i)) / 16;
    for (size_t j = 0; j < sizeof likeliest / sizeof likeliest[0]; j++) {
        c.top_k = likeliest[j];
        for (int u = 0; u < 200; u++) {
            const float uniform = (float)u / 200;

            wrong += sampler_draw(logits, MANY, scratch, &c, uniform) !=
                     draw_sorted(logits, c.top_k, uniform);
        }
    }
    ok(wrong == 0, "top-k draws what a draw from sorted tokens draws");
}

static void test_draw(void)
{
    const float logits[] = { 0, 1, 2, 3, 4, -9, 2.5f, -1 };
    struct sampler_token scratch[8];
    struct sample_settings c = { .temperature = 1, .top_p = 1, .top_k = 3 };
    int count[8] = { 0 };
    const int draws = 20000;
    double sum = 0, most = 0;

    for (int i = 0; i < draws; i++)
        count[sampler_draw(logits, 8, scratch, &c,
                           rng_uniform(1, 2, (uint64_t)i))]++;
    ok(count[3] + count[4] + count[6] == draws,
       "top-k draws only from the k likeliest tokens");
    sum = exp(3) + exp(4) + exp(2.5);
    most = fmax(fabs(count[4] / (double)draws - exp(4) / sum),
                fabs(count[6] / (double)draws - exp(2.5) / sum));
    ok(most < 0.01, "top-k draws as often as the probabilities say");
    c.top_k = 0;
    c.top_p = 0.5;
    memset(count, 0, sizeof count);
    for (int i = 0; i < 1000; i++)
        count[sampler_draw(logits, 8, scratch, &c,
                           rng_uniform(1, 3, (uint64_t)i))]++;
    ok(count[4] == 1000,
       "top-p = 0.5 draws only the likeliest token if it has more than half");
    c.temperature = 0;
    ok(sampler_draw(logits, 8, scratch, &c, 0.99f) == 4,
       "temperature 0 draws the likeliest token");
    c = (struct sample_settings){ .temperature = 1, .top_p = 1, .top_k = 1 };
    ok(sampler_draw(logits, 8, scratch, &c, 0.99f) == 4,
       "top-k = 1 draws the likeliest token");
    test_many();
    test_nonfinite();
}

/* ---- files of tensors ------------------------------------------------- */

/* Write a file with two arrays of two floats at these offsets, and `bytes`
 * bytes in all; say whether it is rejected with this reason. */
static bool layout_is_rejected(const char *path, int a, int b, size_t bytes,
                               const char *why)
{
    static const char zeros[64];
    struct err e = { 0 };
    struct tensors *t = NULL;
    FILE *fp = fopen(path, "w");
    char header[256];
    const int n = snprintf(header, sizeof header,
                           "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],"
                           "\"data_offsets\":[%d,%d]},"
                           "\"b\":{\"dtype\":\"F32\",\"shape\":[2],"
                           "\"data_offsets\":[%d,%d]}}",
                           a, a + 8, b, b + 8);
    bool rejected;

    fwrite((char[8]){ (char)n }, 1, 8, fp);
    fwrite(header, 1, (size_t)n, fp);
    fwrite(zeros, 1, bytes, fp);
    fclose(fp);
    rejected = tensors_open(&t, path, &e) < 0;
    tensors_close(t);
    return why ? rejected && strstr(e.text, why) : !rejected;
}

static void test_peak(void)
{
    struct dev dev = { .threads = 1 };
    struct err e = { 0 };
    struct meter m = { .dev = &dev,
                       .type = DT_F32,
                       .ranks = 2,
                       .flops_per_token = 100,
                       .peak_flops = 1000 };

    if (dev_open(&dev, "cpu", &e) < 0)
        abort();
    meter_correct_peak(&m, 11);
    ok(m.peak_flops == 1000, "a peak that was not measured is not corrected");
    m.measured = true;
    meter_correct_peak(&m, 9);
    ok(m.peak_flops == 1000, "a peak that was not exceeded is not corrected");
    meter_correct_peak(&m, 11);
    ok(meter_mfu(&m, 11) < 0.01, "an exceeded peak is measured again");
    meter_correct_peak(&m, 1e30);
    ok(meter_mfu(&m, 1e30) == 1, "the peak is at least what was reached");
    dev_close(&dev);
}

static void test_layout(const char *path)
{
    ok(layout_is_rejected(path, 8, 0, 16, NULL),
       "arrays may be in any order in a file");
    ok(layout_is_rejected(path, 0, 4, 12, "a and b overlap"),
       "arrays that overlap are rejected by their names");
    ok(layout_is_rejected(path, 0, 0, 8, "overlap"),
       "two arrays in the same place are rejected");
    ok(layout_is_rejected(path, 0, 12, 20, "4 bytes before b"),
       "a hole between arrays is rejected");
    ok(layout_is_rejected(path, 4, 12, 20, "4 bytes before a"),
       "a hole before the first array is rejected");
    ok(layout_is_rejected(path, 0, 8, 19, "3 bytes after the last"),
       "bytes after the last array are rejected");
}

static void test_tensors(void)
{
    const float a[6] = { 1, 2, 3, 4, 5, 6 }, b[2] = { -1, 0.5f };
    const struct tensors_array both[] = {
        { "a", "F32", 2, { 2, 3 }, a, sizeof a },
        { "b", "F32", 1, { 2 }, b, sizeof b },
    };
    char folder[] = "/tmp/gtrain-t-XXXXXX";
    struct err e = { 0 };
    struct tensors *t = NULL;
    char *path, bytes[512];
    const struct tensors_array *x;
    size_t n;
    int opened = 0, silent = 0;
    FILE *fp;

    if (!mkdtemp(folder))
        return;
    path = path_join(folder, "x.safetensors");
    ok(tensors_write(path, both, 2, &e) == 0 &&
           tensors_open(&t, path, &e) == 0 && tensors_count(t) == 2,
       "two arrays are written and found");
    x = tensors_find(t, "a");
    ok(x && x->rank == 2 && x->dim[1] == 3 && memcmp(x->data, a, sizeof a) == 0,
       "an array has its shape and numbers");
    ok(!tensors_find(t, "c"), "an array that was not written is not found");
    tensors_close(t);
    fp = fopen(path, "r");
    n = fread(bytes, 1, sizeof bytes, fp);
    fclose(fp);
    /* a truncated file is rejected; a changed one does no harm */
    for (size_t i = 0; i < n; i++) {
        fp = fopen(path, "w");
        fwrite(bytes, 1, i, fp);
        fclose(fp);
        e = (struct err){ 0 };
        if (tensors_open(&t, path, &e) == 0) {
            opened++;
            tensors_close(t);
        }
    }
    ok(opened == 0, "a truncated file is rejected, wherever it ends");
    for (size_t i = 0; i < n; i++) {
        char changed[512];

        memcpy(changed, bytes, n);
        changed[i] = (char)(changed[i] ^ 0x15);
        fp = fopen(path, "w");
        fwrite(changed, 1, n, fp);
        fclose(fp);
        e = (struct err){ 0 };
        if (tensors_open(&t, path, &e) == 0) {
            for (int k = 0; k < tensors_count(t); k++) {
                float out[64];

                x = tensors_at(t, k);
                if (tensors_array_count(x) <= 64)
                    tensors_array_floats(x, out, &e);
            }
            tensors_close(t);
        } else {
            silent += !e.text[0];
        }
    }
    ok(silent == 0, "a changed file is read, or rejected with a reason");
    test_layout(path);
    free(path);
    path_remove(folder, &e);
}

int main(void)
{
    test_differences();
    test_memory();
    test_step_check();
    test_noise();
    test_draw();
    test_peak();
    test_tensors();
    return done_testing();
}
