/*
 * schedule - golden values of every curve, and lengths in every unit
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "t/lib/tap.h"
#include "trainer/model/resolve.h"

struct point {
    double step, lr;
};

/* That of GPT-2, 6e-4 to 6e-5, in a short and in full length. */
static const struct point toy[] = {
    { 0, 6.0000e-5 },     { 1, 1.2000e-4 },
    { 4, 3.0000e-4 },     { 9, 6.0000e-4 },
    { 10, 6.0000e-4 },    { 11, 5.9916768e-4 },
    { 20, 5.2091883e-4 }, { 30, 3.3000e-4 },
    { 40, 1.3908117e-4 }, { 47, 6.7460121e-5 },
    { 49, 6.0832320e-5 }, { 50, 6.0000e-5 },
    { 60, 6.0000e-5 },    { -1, 0 },
};
static const struct point whole[] = {
    { 0, 8.3916084e-7 },     { 1, 1.6783217e-6 },     { 200, 1.6867133e-4 },
    { 201, 1.6951049e-4 },   { 250, 2.1062937e-4 },   { 714, 6.0e-4 },
    { 715, 6.0e-4 },         { 1000, 5.9967894e-4 },  { 5000, 5.3060375e-4 },
    { 9894, 3.3e-4 },        { 10364, 3.0830709e-4 }, { 15000, 1.2297343e-4 },
    { 19072, 6.0000004e-5 }, { 19073, 6.0e-5 },       { -1, 0 },
};
/* The others: peak 1, minimum 0.1, 10 steps of warm-up, 110 steps in total. */
static const struct point linear[] = {
    { 0, 0.1 },   { 10, 1.0 },  { 35, 0.775 },
    { 60, 0.55 }, { 110, 0.1 }, { -1, 0 },
};
static const struct point constant[] = {
    { 4, 0.5 }, { 10, 1 }, { 60, 1 }, { 110, 1 }, { 500, 1 }, { -1, 0 },
};
static const struct point wsd_linear[] = {
    { 10, 1 },     { 89, 1 },    { 90, 1 },    { 95, 0.775 },
    { 100, 0.55 }, { 110, 0.1 }, { 200, 0.1 }, { -1, 0 },
};
static const struct point wsd_cosine[] = {
    { 90, 1 }, { 95, 0.868198052 }, { 100, 0.55 }, { 110, 0.1 }, { -1, 0 },
};
static const struct point wsd_sqrt[] = {
    { 90, 1 }, { 95, 0.55 }, { 110, 0.1 }, { 91, 0.798753882 }, { -1, 0 },
};
/* These are the values of transformers 5.23, whose warm-up is a step later. */
static const struct point invsqrt[] = {
    { 9, 1 },    { 10, 1 },           { 11, 0.953462589 },
    { 40, 0.5 }, { 90, 0.333333333 }, { 9999, 0.1 },
    { -1, 0 },
};
static const struct point invsqrt_slow[] = {
    { 10, 1 }, { 50, 0.707106781 }, { 130, 0.5 }, { 370, 0.316227766 },
    { -1, 0 },
};
static const struct point invsqrt_cold[] = {
    { 0, 1 },
    { 100, 0.99503719 },
    { 30000, 0.5 },
    { -1, 0 },
};
static const struct point warm_cosine[] = {
    { 0, 0.122024568 }, { 2, 0.285496636 }, { 4, 0.55 }, { 7, 0.914057647 },
    { 9, 1 },           { 10, 1 },          { -1, 0 },
};
static const struct point warm_sqrt[] = {
    { 0, 0.146185032 }, { 2, 0.247005976 }, { 4, 0.363603897 },
    { 7, 0.597507764 }, { 9, 1 },           { -1, 0 },
};
static const struct point one_period[] = {
    { 10, 1 },
    { 30, 0.689057647 },
    { 60, 0.1 },
    { 77, 0.333210847 },
    { 109, 0.999112028 },
    { 110, 1 },
    { 200, 1 },
    { -1, 0 },
};
static const struct point three_halves[] = {
    { 10, 1 },           { 30, 0.410942353 },  { 60, 0.55 },
    { 77, 0.999777952 }, { 109, 0.101997116 }, { 110, 0.1 },
    { -1, 0 },
};
static const struct point three_cycles[] = {
    { 30, 0.410942353 },  { 43, 0.100222048 }, { 44, 0.999112028 },
    { 100, 0.285496636 }, { 110, 0.1 },        { -1, 0 },
};
static const struct point polynomial[] = {
    { 10, 1 }, { 60, 0.325 }, { 85, 0.15625 }, { 110, 0.1 }, { -1, 0 },
};
static const struct point steps[] = {
    { 32, 1 },     { 33, 0.5 },    { 65, 0.5 },     { 66, 0.25 },
    { 99, 0.125 }, { 109, 0.125 }, { 9999, 0.125 }, { -1, 0 },
};
static const struct point restarts[] = {
    { 10, 1 },    { 20, 0.55 }, { 29, 0.105540247 }, { 30, 1 },
    { 50, 0.55 }, { 70, 1 },    { -1, 0 },
};

#define OTHER                                                                  \
    "optim.lr=1", "schedule.min_lr=0.1", "schedule.warmup=10",                 \
        "schedule.steps=110"

static const struct {
    const char *name;
    const char *set[8];
    const struct point *points;
} curves[] = {
    { "cosine, 10 of 50 steps",
      { "schedule.steps=50", "schedule.warmup=10", "schedule.min_lr=6e-5" },
      toy },
    { "cosine, in tokens",
      { "schedule.tokens=10B", "schedule.warmup=375M tokens",
        "schedule.min_lr=6e-5", "train.tokens_per_step=524288" },
      whole },
    { "linear", { OTHER, "schedule.kind=linear" }, linear },
    { "constant", { OTHER, "schedule.kind=constant" }, constant },
    { "wsd, linear",
      { OTHER, "schedule.kind=wsd", "schedule.decay=20" },
      wsd_linear },
    { "wsd, cosine",
      { OTHER, "schedule.kind=wsd", "schedule.decay=20",
        "schedule.decay_shape=cosine" },
      wsd_cosine },
    { "wsd, 1 - sqrt",
      { OTHER, "schedule.kind=wsd", "schedule.decay=20",
        "schedule.decay_shape=sqrt" },
      wsd_sqrt },
    { "inverse square root", { OTHER, "schedule.kind=invsqrt" }, invsqrt },
    { "inverse square root with a timescale",
      { OTHER, "schedule.kind=invsqrt", "schedule.timescale=40" },
      invsqrt_slow },
    { "inverse square root without warm-up",
      { OTHER, "schedule.kind=invsqrt", "schedule.warmup=0" },
      invsqrt_cold },
    { "warm-up along a cosine",
      { OTHER, "schedule.warmup_lr=0.1", "schedule.warmup_shape=cosine" },
      warm_cosine },
    { "warm-up along a square root",
      { OTHER, "schedule.warmup_lr=0.1", "schedule.warmup_shape=sqrt" },
      warm_sqrt },
    { "cosine of one period", { OTHER, "schedule.cycles=1" }, one_period },
    { "cosine of one and a half periods",
      { OTHER, "schedule.cycles=1.5" },
      three_halves },
    { "restarts, three cycles",
      { OTHER, "schedule.kind=restarts", "schedule.cycles=3" },
      three_cycles },
    { "polynomial",
      { OTHER, "schedule.kind=polynomial", "schedule.power=2" },
      polynomial },
    { "step", { OTHER, "schedule.kind=step", "schedule.factor=0.5" }, steps },
    { "restarts",
      { OTHER, "schedule.kind=restarts", "schedule.cycle=20",
        "schedule.cycle_growth=2" },
      restarts },
};

static bool load(struct settings *s, const char *const *set, struct err *e)
{
    const char *all[16] = { "model.layers=1", "model.width=16", "model.heads=1",
                            "model.vocab=32" };
    size_t n = 4;

    for (; *set; set++)
        all[n++] = *set;
    *e = (struct err){ 0 };
    return settings_load(s, NULL, all, n, e) == 0 &&
           resolve_settings(s, 0, 1, e) == 0;
}

static void test_curves(void)
{
    for (size_t i = 0; i < sizeof curves / sizeof curves[0]; i++) {
        struct settings s;
        struct schedule schedule;
        struct err e;
        int bad = 0;

        if (!ok(load(&s, curves[i].set, &e), "the settings of %s are valid",
                curves[i].name)) {
            diag("%s", e.text);
            continue;
        }
        schedule_init(&schedule, &s);
        for (const struct point *p = curves[i].points; p->step >= 0; p++) {
            const double lr = schedule_at(&schedule, p->step);

            if (fabs(lr - p->lr) > 5e-8 * p->lr + 1e-12) {
                diag("step %g: %.9g, not %.9g", p->step, lr, p->lr);
                bad++;
            }
        }
        ok(bad == 0, "%s has the golden values", curves[i].name);
        settings_clear(&s);
    }
}

static void test_decay(void)
{
    static const char *const fixed[] = { "schedule.steps=100", NULL };
    static const char *const moving[] = { "schedule.steps=100",
                                          "optim.decay_end=0.5", NULL };
    struct settings s;
    struct err e;

    ok(load(&s, fixed, &e) && fabs(schedule_decay_left(&s, 60) - 1) < 1e-15,
       "the decay stays as it is by default");
    settings_clear(&s);
    ok(load(&s, moving, &e) && fabs(schedule_decay_left(&s, 0) - 1) < 1e-15 &&
           fabs(schedule_decay_left(&s, 50) - 0.75) < 1e-15 &&
           fabs(schedule_decay_left(&s, 120) - 0.5) < 1e-15,
       "the decay falls linearly to decay_end of it");
    settings_clear(&s);
}

static void test_lengths(void)
{
    static const char *const percent[] = { "schedule.steps=4400",
                                           "schedule.warmup=1%", NULL };
    static const char *const tokens[] = { "schedule.tokens=10B",
                                          "train.tokens_per_step=524288",
                                          "schedule.warmup=375M tokens", NULL };
    static const char *const odd[] = { "schedule.steps=10",
                                       "train.tokens_per_step=100000", NULL };
    static const char *const ramp[] = { "schedule.steps=100",
                                        "train.micro_batch=2", "train.batch=16",
                                        "train.ramp=8", NULL };
    struct settings s;
    struct err e;
    int64_t sum = 0;

    ok(load(&s, percent, &e) && s.is.warmup == 44,
       "a warm-up of 1%% of 4,400 steps has 44");
    settings_clear(&s);
    ok(load(&s, tokens, &e) && s.is.steps == 19073 && s.is.warmup == 715,
       "10B tokens are 19,073 steps, and 375M are 715");
    settings_clear(&s);
    ok(!load(&s, odd, &e) && e.kind == ERR_USAGE &&
           strstr(e.text, "98304 and 106496"),
       "a step must be a whole number of micro-batches; the error names the "
       "nearest ones");
    diag("%s", e.text);
    settings_clear(&s);
    ok(load(&s, ramp, &e) && resolve_sequences(&s, 0) == 2 &&
           resolve_sequences(&s, 4) == 8 && resolve_sequences(&s, 8) == 16 &&
           resolve_sequences(&s, 99) == 16,
       "the batch ramp grows by whole micro-batches");
    for (int64_t i = 0; i < 20; i++)
        sum += resolve_sequences(&s, i);
    ok(resolve_sequences_before(&s, 20) == sum,
       "the sequences before a step are the sum of its batches");
    settings_clear(&s);
}

int main(void)
{
    test_curves();
    test_decay();
    test_lengths();
    return done_testing();
}
