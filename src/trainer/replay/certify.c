#include "config.h"
#include "trainer/replay/certify.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/rng.h"
#include "store/format/info.h"
#include "trainer/checkpoint/checkpoint_files.h"
#include "trainer/checkpoint/checkpoint_find.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/training/eval.h"
#include "trainer/training/multiple_choice.h"
#include "trainer/training/sampler.h"

/* What is judged beside the numbers; weights, and the noise of their gradient,
 * may be this much farther off than the losses that they give. */
enum { WEIGHTS = CERTIFY_NUMBERS, FARTHER = 100 };
static const char other_weights[] =
    "the weights are not those of the checkpoint that training wrote";

char *certify_folder(const char *folder, const struct run_info *run)
{
    return folder && *folder ? xstrdup(folder)
                             : path_join(run->artifacts, "checkpoints");
}

/* ---- the record ------------------------------------------------------- */

/* The sources of data.val that have names. */
static size_t count_sources(const struct certify *c)
{
    const struct mixture *val = c->engine->data.val;

    return val && *mixture_name(val, 0) ? mixture_sources(val) : 0;
}

static size_t count_more(const struct certify *c)
{
    return count_sources(c) + c->engine->data.tasks.n * ANSWERS;
}

static int load_more(struct certify *c, struct err *e)
{
    const struct task *task = c->engine->data.tasks.task;
    const size_t sources = count_sources(c), n = count_more(c);
    int ret = 0;

    c->source = xcalloc(n + 1, sizeof *c->source);
    c->answer = c->source + sources;
    for (size_t k = 0; k < n && ret == 0; k++) {
        const size_t i = k - sources;
        AUTO_FREE char *key =
            k < sources
                ? eval_source_metric(c->engine->data.val, k)
                : multiple_choice_metric(&task[i / ANSWERS], i % ANSWERS);

        ret = series_load(&c->source[k], c->run, key, LOAD_MAY_LACK, e);
    }
    return ret;
}

int certify_open(struct certify *c, struct engine *eng,
                 const struct run_info *run, int64_t step, struct err *e)
{
    *c = (struct certify){ .engine = eng,
                           .run = run,
                           .same = -1,
                           .lost = -1,
                           .begins = certify_begins(run, step, NULL) };
    step_open(&c->step, eng);
    if (eng->set->train.max_time > 0)
        return err_input(e,
                         "train.max_time makes the learning rate depend on the "
                         "clock");
    if (certify_record(c, e) < 0)
        return -1;
    for (int i = 0; i < CERTIFY_NUMBERS; i++)
        if (series_load(&c->number[i], run, run_info_provable[i],
                        i == CERTIFY_LOSS ? 0 : LOAD_MAY_LACK, e) < 0)
            return -1;
    if (series_load(&c->skipped, run, "event/skipped", LOAD_MAY_LACK, e) < 0 ||
        series_load(&c->rollback, run, "event/rollback",
                    LOAD_MAY_LACK | LOAD_ALL_ATTEMPTS, e) < 0)
        return -1;
    return load_more(c, e);
}

void certify_close(struct certify *c)
{
    step_close(&c->step);
    for (int i = 0; i < CERTIFY_NUMBERS; i++)
        series_free(&c->number[i]);
    for (size_t k = 0; c->source && k < count_more(c); k++)
        series_free(&c->source[k]);
    free(c->source);
    checkpoint_copy_clear(&c->start);
    series_free(&c->skipped);
    series_free(&c->rollback);
}

/* ---- where to begin --------------------------------------------------- */

/* A rollback skips data; only checkpoints after it know how much. */
static int check_rollbacks(const struct certify *c, int64_t last, struct err *e)
{
    const struct engine_state *now = &c->engine->state;

    if (now->skipped != 0)
        return 0;
    for (size_t i = 0; i < c->rollback.n; i++)
        if (c->rollback.step[i] > now->step && now->step < last)
            return err_set(e, ERR_MISSING,
                           "training rolled back at step %" PRId64
                           ", and step %" PRId64
                           " is before it; name steps after a later checkpoint",
                           c->rollback.step[i], now->step);
    return 0;
}

/* The newest checkpoint up to a step: of the run, or handed over. */
static int find_checkpoint(const struct certify *c, int64_t step, char **path,
                           struct err *e)
{
    AUTO_FREE char *folder =
        certify_folder(c->engine->set->checkpoint.folder, c->run);
    AUTO_FREE char *handed = NULL;
    int ret = checkpoint_newest(folder, step, path, e);

    if (ret == 0 && c->handover)
        ret = checkpoint_newest(c->handover, step, &handed, e);
    if (handed && (!*path || checkpoint_step(path_name(handed)) >
                                 checkpoint_step(path_name(*path))))
        xreplace(path, handed);
    return ret;
}

/* Without a checkpoint before `first`, the initial weights are the beginning;
 * but an attempt that resumed the run began with a checkpoint. */
static int go_to(struct certify *c, int64_t first, struct err *e)
{
    struct engine_state *now = &c->engine->state;
    const struct series *loss = &c->number[CERTIFY_LOSS];
    const char *sum = run_info_tag(c->run, CHECKPOINT_FROM_SHA256);
    AUTO_FREE char *path = NULL;
    int ret = find_checkpoint(c, first - 1, &path, e);

    if (path && checkpoint_step(path_name(path)) > now->step)
        ret = checkpoint_load(path, c->engine, e), c->since = now->step;
    else if (ret == 0 && now->step == 0 && c->begins == 0)
        ret = checkpoint_from_load(c->engine, sum ? sum : "", e);
    if (ret == 0 && !path && loss->n > 0 && loss->step[0] > 1)
        ret = err_set(e, ERR_MISSING,
                      "the run begins at step %" PRId64
                      ", and has no checkpoint before step %" PRId64,
                      loss->step[0], first);
    if (ret == 0 && now->step < c->begins - 1)
        ret =
            err_set(e, ERR_MISSING,
                    "training was resumed at step %" PRId64
                    ", and there is no checkpoint from there to step %" PRId64,
                    c->begins, first - 1);
    return ret;
}

/* ---- comparing -------------------------------------------------------- */

static bool is_fp32(const struct certify *c)
{
    return c->engine->set->train.precision == PRECISION_FP32;
}

/* What rounding explains after the steps since the weights were equal. */
static double tolerance(const struct certify *c)
{
    const double steps = (double)(c->engine->state.step - c->since);

    if (!*c->other)
        return 0;
    return (is_fp32(c) ? CERTIFY_ROUNDING : CERTIFY_ROUNDING_16) *
           (1 + fmin(steps, 20) / 10);
}

static double relative(double is, double was)
{
    return fabs(is - was) / fmax(fabs(was), 1e-30);
}

/* Something differs.  Of what rounds differently here, judge() says whether
 * rounding may explain it; the learning rate and counts do not round. */
static void note_difference(const struct certify *c, struct certify_result *r,
                            int which, double off, const char *what)
{
    if (r->differs >= 0 || r->doubt >= 0)
        return;
    snprintf(r->what, sizeof r->what, "%s", what);
    r->off = off;
    if (*c->other && (which < CERTIFY_LR || which > CERTIFY_FLOPS))
        r->doubt = which;
    else
        r->differs = c->engine->state.step;
}

static void compare_point(const struct certify *c, struct certify_result *r,
                          const struct series *record, int which,
                          const char *metric, double value)
{
    const int64_t step = c->engine->state.step;
    char is[NUM_TEXT], was[NUM_TEXT], what[160];
    double then, off;

    if (!series_value(record, step, &then))
        return;
    r->numbers++;
    if (then == value || (isnan(then) && isnan(value)))
        return;
    r->rounded = true;
    off = str_ends(metric, "perplexity") /* which is exp(loss) */
              ? relative(log(value), log(then))
              : relative(value, then) / (which == CERTIFY_NOISE ? FARTHER : 1);
    if (!(off <= r->furthest))
        r->furthest = off;
    if (off <= tolerance(c))
        return;
    num_shortest(is, value);
    num_shortest(was, then);
    snprintf(what, sizeof what, "%s is %s, but the run recorded %s", metric, is,
             was);
    note_difference(c, r, which, isnan(off) ? HUGE_VAL : off, what);
}

static void compare_number(const struct certify *c, struct certify_result *r,
                           int which, double value)
{
    compare_point(c, r, &c->number[which], which, run_info_provable[which],
                  value);
}

/* Write a copy of the state as a checkpoint, into a new folder.  Read the sums
 * of its files or, without `sums`, let all ranks load it. */
static int write_copy(struct certify *c, const struct checkpoint_copy *s,
                      struct checkpoint_sums *sums, struct err *e)
{
    struct coll *coll = &c->engine->coll;
    const bool writes = coll->rank == 0;
    char folder[4096];
    int64_t done = 1;
    int ret = 0;

    snprintf(folder, sizeof folder, "%s/gtrain-XXXXXX", path_temp());
    if (writes && !mkdtemp(folder))
        return err_sys(e, "cannot create %s", folder);
    if (writes)
        ret = checkpoint_write(s, folder, e);
    if (writes && sums && ret == 0)
        ret = checkpoint_sums_read(folder, sums, e);
    coll_bcast(coll, folder, sizeof folder, 0);
    if (coll_check(coll, ret < 0 ? ERR_IGNORED : e) == 0 && ret == 0 && !sums)
        ret = checkpoint_load(folder, c->engine, e);
    if (ret == 0) /* others may still be reading */
        ret = coll_max(coll, &done, e);
    if (writes)
        path_remove(folder, ERR_IGNORED);
    return ret;
}

static int compare_state(struct certify *c, struct certify_result *r,
                         const struct checkpoint_sums *then, struct err *e)
{
    AUTO(checkpoint_copy_clear) struct checkpoint_copy here = { 0 };
    struct checkpoint_sums now;
    bool weights, moments;
    int ret = checkpoint_copy_take(&here, c->engine, "", e);

    if (ret == 0)
        ret = write_copy(c, &here, &now, e);
    if (ret < 0 || c->engine->coll.rank > 0)
        return ret;
    weights = strcmp(now.model, then->model) != 0;
    moments = strcmp(now.optim, then->optim) != 0;
    if ((weights || moments) && *c->other) { /* hop() tells how far off */
        r->rounded = true;
        return 0;
    }
    c->same = c->engine->state.step;
    r->states++;
    if (weights || moments)
        note_difference(c, r, WEIGHTS, 1,
                        weights ? other_weights
                                : "the moments of the optimiser are not those "
                                  "of the checkpoint that training wrote");
    return 0;
}

/* Where training validated; all ranks have the record. */
static int compare_validation(struct certify *c, struct certify_result *r,
                              struct err *e)
{
    struct eval_result now;
    double any;

    if (!c->engine->data.val || !series_value(&c->number[CERTIFY_VAL_LOSS],
                                              c->engine->state.step, &any))
        return 0;
    if (eval_loss(c->engine, &now, e) < 0)
        return -1;
    if (now.stopped)
        return err_set(e, ERR_INTERRUPTED, "stopped by a signal");
    if (c->engine->coll.rank > 0)
        return 0;
    c->val = now.loss;
    compare_number(c, r, CERTIFY_VAL_LOSS, now.loss);
    compare_number(c, r, CERTIFY_VAL_PERPLEXITY, exp(now.loss));
    compare_number(c, r, CERTIFY_VAL_BPB, now.bpb);
    for (size_t k = 0; k < count_sources(c); k++) {
        AUTO_FREE char *metric = eval_source_metric(c->engine->data.val, k);

        compare_point(c, r, &c->source[k], CERTIFY_VAL_LOSS, metric,
                      now.source_loss[k]);
    }
    return 0;
}

/* Is an artifact of the run what it would be now?  Rounding may turn an answer,
 * or a token, and then all that follow it are others. */
static void compare_text(const struct certify *c, struct certify_result *r,
                         const char *name, const struct buf *then,
                         const struct buf *now)
{
    if (now->len == then->len && memcmp(now->s, then->s, now->len) == 0) {
        r->numbers++;
    } else if (*c->other) {
        r->rounded = true;
    } else if (r->differs < 0) {
        r->differs = c->engine->state.step;
        snprintf(r->what, sizeof r->what, "%s is not what the model writes",
                 name);
    }
}

/* Where training asked questions; the artifact has the last answers. */
static int compare_questions(struct certify *c, struct certify_result *r,
                             struct err *e)
{
    const struct tasks *all = &c->engine->data.tasks;
    const int64_t step = c->engine->state.step;
    AUTO_FREE struct multiple_choice_result *of =
        xcalloc(all->n + 1, sizeof *of);
    AUTO_FREE char *path = path_join(c->run->artifacts, RUN_INFO_TASKS);
    AUTO(buf_clear) struct buf text = BUF_INIT, now = BUF_INIT;
    double then;
    int ret = 0;

    for (size_t i = 0; i < all->n && ret == 0; i++) {
        const struct series *record = &c->answer[i * ANSWERS];

        if (!series_value(&record[ANSWER_ACC], step, &then))
            continue;
        ret = multiple_choice_eval(c->engine, all, i, of, &now, e);
        if (ret == 0 && of[i].stopped)
            ret = err_set(e, ERR_INTERRUPTED, "stopped by a signal");
        for (int k = 0; k < ANSWERS && c->engine->coll.rank == 0 && ret == 0;
             k++) {
            AUTO_FREE char *metric = multiple_choice_metric(&all->task[i], k);

            if (*c->other && series_value(&record[k], step, &then) &&
                then != of[i].of[k])
                r->rounded = true;
            else
                compare_point(c, r, &record[k], CERTIFY_LR, metric,
                              of[i].of[k]);
        }
    }
    if (ret == 0 && now.len && c->engine->coll.rank == 0 && path_exists(path))
        ret = buf_read_unlinked(&text, path, 1 << 30, e);
    if (ret == 0 && text.len && strtoll(text.s, NULL, 10) == step)
        compare_text(c, r, RUN_INFO_TASKS, &text, &now);
    return ret;
}

/* Where training wrote samples. */
static int compare_samples(struct certify *c, struct certify_result *r,
                           struct err *e)
{
    struct engine *eng = c->engine;
    AUTO_FREE char *name = xasprintf(SAMPLER_FILE, (long long)eng->state.step);
    AUTO_FREE char *path = path_join(c->run->artifacts, name);
    AUTO(buf_clear) struct buf then = BUF_INIT, now = BUF_INIT;
    size_t last;
    int ret = 0;

    if (eng->data.tokenizer && path_exists(path) &&
        (eng->coll.rank == 0 || parallel_gathers(&eng->parallel))) {
        ret = sampler_texts(eng, &now, &last, e);
        if (ret >= 0)
            ret = buf_read_unlinked(&then, path, 64 << 20, e);
        if (ret == 0)
            compare_text(c, r, name, &then, &now);
    }
    return ret;
}

/* What training did after the step, in its order. */
static int compare_due(struct certify *c, struct certify_result *r,
                       struct err *e)
{
    return compare_validation(c, r, e) < 0 || compare_questions(c, r, e) < 0
               ? -1
               : compare_samples(c, r, e);
}

/* Rank 0 reads the record and tells the others what it found. */
static int compare_step(struct certify *c, struct certify_result *r,
                        struct err *e)
{
    struct coll *coll = &c->engine->coll;
    const double tokens = (double)c->engine->state.tokens;
    struct {
        int64_t differs;
        bool has_sums;
    } found = { -1, false };
    struct checkpoint_sums sums;

    if (coll->rank == 0) {
        compare_number(c, r, CERTIFY_LOSS, c->step.loss);
        compare_number(c, r, CERTIFY_NORM, c->step.norm);
        compare_number(c, r, CERTIFY_LR, c->step.lr);
        compare_number(c, r, CERTIFY_TOKENS, tokens);
        compare_number(c, r, CERTIFY_FLOPS,
                       tokens * gpt_flops_per_token(&c->engine->gpt));
        compare_number(c, r, CERTIFY_NOISE,
                       step_noise_scale(c->engine->state.noise));
        compare_number(c, r, CERTIFY_PERPLEXITY, exp(c->step.loss));
        found.differs = r->differs;
        found.has_sums =
            checkpoint_sums_find(c->run->artifacts, c->engine->state.step,
                                 &sums, ERR_IGNORED) == 0;
    }
    coll_bcast(coll, &found, sizeof found, 0);
    if (coll_check(coll, e) < 0 ||
        (found.has_sums && compare_state(c, r, &sums, e) < 0))
        return -1;
    return found.differs < 0 ? compare_due(c, r, e) : 0;
}

/* ---- computing -------------------------------------------------------- */

int certify_compute(struct certify *c, struct err *e)
{
    struct engine *eng = c->engine;
    double any;

    if (step_compute(&c->step, eng, NULL, e) < 0)
        return -1;
    if (c->step.abandoned)
        return err_set(e, ERR_INTERRUPTED, "stopped by a signal");
    if (series_value(&c->skipped, eng->state.step + 1, &any))
        step_skip_update(&c->step, eng);
    else
        step_update(&c->step, eng);
    step_end(&c->step, eng);
    return dev_sync(&eng->dev, e);
}

int certify_advance(struct certify *c, int64_t step, struct err *e)
{
    struct engine_state *now = &c->engine->state;

    if (go_to(c, step, e) < 0 || check_rollbacks(c, step, e) < 0)
        return -1;
    while (now->step + 1 < step)
        if (certify_compute(c, e) < 0)
            return err_wrap(e, "step %" PRId64, now->step + 1);
    return 0;
}

/* The root mean square of the difference of the weights, in parts of theirs. */
static double distance(const struct checkpoint_copy *a,
                       const struct checkpoint_copy *b)
{
    const struct graph *g = &a->engine->gpt.graph;
    const struct graph_param *last = &g->param[g->n_params - 1];
    const int64_t n = last->at + last->count;
    double off = 0, all = 0;

    for (int64_t i = 0; i < n; i++) {
        off += pow((double)a->weights[i] - (double)b->weights[i], 2);
        all += pow((double)b->weights[i], 2);
    }
    return all > 0 ? sqrt(off / all) : off;
}

/* ---- how far rounding may lead ---------------------------------------- */

/* The state is that of the run. */
static int begin_here(struct certify *c, struct err *e)
{
    c->since = c->engine->state.step;
    return *c->other ? checkpoint_copy_take(&c->start, c->engine, "", e) : 0;
}

/* Change the weights from which the last steps began, by a few last bits. */
static void nudge(struct certify *c, uint64_t seed)
{
    const float by = is_fp32(c) ? 0x1p-20f : 0x1p-8f;

    for (int64_t i = 0; c->start.weights && i < c->engine->gpt.graph.count; i++)
        c->start.weights[i] *=
            1 + (rng_uniform(seed, 1, (uint64_t)i) < 0.5f ? by : -by);
}

/* How far does a result of this step move if the weights from which the last
 * steps began are a little different?  `here` is the state that was computed;
 * the one to go on with is `next`. */
static int measure(struct certify *c, int which,
                   const struct checkpoint_copy *here,
                   const struct checkpoint_copy *next, double *moved,
                   struct err *e)
{
    const int64_t step = c->engine->state.step;
    const double loss = c->step.loss, norm = c->step.norm;
    const bool validates = which >= CERTIFY_VAL_LOSS && which < WEIGHTS;
    struct checkpoint_copy there = { 0 };
    struct eval_result now = { 0 };
    int ret = write_copy(c, &c->start, NULL, e);

    while (ret == 0 && c->engine->state.step < step)
        ret = certify_compute(c, e);
    if (ret == 0 && validates)
        ret = eval_loss(c->engine, &now, e);
    if (ret == 0)
        ret = checkpoint_copy_take(&there, c->engine, "", e);
    if (ret == 0 && c->engine->coll.rank == 0)
        *moved = which == WEIGHTS        ? distance(&there, here) / FARTHER
                 : validates             ? relative(now.loss, c->val)
                 : which == CERTIFY_NORM ? relative(c->step.norm, norm)
                                         : relative(c->step.loss, loss);
    coll_bcast(&c->engine->coll, moved, sizeof *moved, 0);
    checkpoint_copy_clear(&there);
    c->step.loss = loss;
    c->step.norm = norm;
    return ret == 0 ? write_copy(c, next, NULL, e) : -1;
}

/* All ranks learn what was found.  May a difference be rounding that has grown?
 * Where it may, later steps cannot be told, either, until the state is that of
 * the run again.  `here` and `next` are those of measure(), or NULL. */
static int judge(struct certify *c, struct certify_result *r,
                 const struct checkpoint_copy *here,
                 const struct checkpoint_copy *next, struct err *e)
{
    const int64_t step = c->engine->state.step;
    struct {
        int64_t differs, same;
        double off;
        int doubt;
    } found = { r->differs, c->same, r->off, r->doubt };
    AUTO(checkpoint_copy_clear) struct checkpoint_copy mine = { 0 };
    double limit = c->lost == c->since ? HUGE_VAL : 10 * tolerance(c);
    int ret;

    coll_bcast(&c->engine->coll, &found, sizeof found, 0);
    ret = coll_check(&c->engine->coll, e);
    r->differs = found.differs;
    r->doubt = -1;
    c->same = found.same;
    if (ret < 0 || r->differs >= 0 || found.doubt < 0)
        return ret;
    if (!here)
        ret = checkpoint_copy_take(&mine, c->engine, "", e);
    for (int i = 1; i <= 3 && ret == 0 && found.off > limit; i++) {
        double moved = 0;

        nudge(c, (uint64_t)i);
        ret = measure(c, found.doubt, here ? here : &mine, here ? next : &mine,
                      &moved, e);
        limit = moved < 0.1 ? fmax(limit, (is_fp32(c) ? 1000 : 10) * moved)
                            : HUGE_VAL;
    }
    if (ret < 0)
        return -1;
    if (found.off > limit) {
        r->differs = step;
        return 0;
    }
    c->lost = c->since;
    if (!*r->unknown)
        snprintf(r->unknown, sizeof r->unknown,
                 "step %" PRId64 " is %" PRId64
                 " steps after a checkpoint, and %s",
                 step, step - c->since, c->other);
    return 0;
}

/* Continue with the state of a checkpoint of this step.  Weights may be farther
 * off than the losses that they give. */
static int hop_to(struct certify *c, const char *path, struct certify_result *r,
                  struct err *e)
{
    AUTO(checkpoint_copy_clear)
    struct checkpoint_copy here = { 0 }, then = { 0 };
    int ret = checkpoint_copy_take(&here, c->engine, "", e);
    double off;

    if (ret == 0)
        ret = checkpoint_sums_check(c->run->artifacts, path,
                                    c->engine->state.step, e);
    if (ret == 0)
        ret = checkpoint_load(path, c->engine, e);
    if (ret == 0)
        ret = checkpoint_copy_take(&then, c->engine, "", e);
    if (ret == 0 && c->engine->coll.rank == 0) {
        off = distance(&here, &then);
        r->states++;
        r->rounded = r->rounded || off > 0;
        if (!(off <= r->furthest))
            r->furthest = off;
        if (!(off <= FARTHER * tolerance(c)))
            note_difference(c, r, WEIGHTS, off / FARTHER, other_weights);
    }
    if (ret == 0)
        ret = judge(c, r, &here, &then, e);
    return ret == 0 ? begin_here(c, e) : -1;
}

/* Where rounding differs, go from checkpoint to checkpoint. */
static int hop(struct certify *c, struct certify_result *r, struct err *e)
{
    const int64_t step = c->engine->state.step;
    AUTO_FREE char *folder =
        certify_folder(c->engine->set->checkpoint.folder, c->run);
    AUTO_FREE char *path = xasprintf("%s/step-%08" PRId64, folder, step);
    AUTO_FREE char *found = NULL;
    int ret = 0;

    if (path_is_folder(path))
        ret = checkpoint_newest(folder, step, &found, e);
    if (found && checkpoint_step(path_name(found)) == step)
        ret = hop_to(c, found, r, e);
    return ret;
}

/* ---- the steps --------------------------------------------------------- */

int certify_steps(struct certify *c, int64_t first, int64_t last,
                  struct certify_result *r, struct err *e)
{
    struct engine_state *now = &c->engine->state;

    *r = (struct certify_result){ .differs = -1, .doubt = -1 };
    if (go_to(c, first, e) < 0 || check_rollbacks(c, last, e) < 0 ||
        (c->since == now->step && begin_here(c, e) < 0))
        return -1;
    r->from = now->step;
    if (first == 1 && now->step == 0 &&
        (compare_due(c, r, e) < 0 || judge(c, r, NULL, NULL, e) < 0))
        return -1;
    while (now->step < last && r->differs < 0) {
        if (certify_compute(c, e) < 0 ||
            (now->step >= first &&
             (compare_step(c, r, e) < 0 || judge(c, r, NULL, NULL, e) < 0)) ||
            (c->same == now->step && begin_here(c, e) < 0) ||
            (*c->other && now->step < last && c->same < now->step &&
             hop(c, r, e) < 0))
            return err_wrap(e, "step %" PRId64, now->step);
    }
    return 0;
}

int certify_hand_over(struct certify *c, struct err *e)
{
    AUTO(checkpoint_copy_clear) struct checkpoint_copy s = { 0 };
    AUTO_FREE char *folder =
        xasprintf("%s/step-%08" PRId64, c->handover, c->engine->state.step);
    int ret = checkpoint_copy_take(&s, c->engine, "", e);

    if (c->engine->coll.rank == 0 && ret == 0)
        ret = path_make(folder, e) < 0 ? -1 : checkpoint_write(&s, folder, e);
    return ret;
}
