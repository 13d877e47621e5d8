#include "config.h"
#include "trainer/training/multiple_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "store/format/info.h"
#include "trainer/engine/task_shots.h"
#include "trainer/training/eval.h"
#include "trainer/training/sampler.h"

enum { STEP = 16 };

/* Losses are added up in units of 2^-24, so that the sum is exact, and the same
 * for any number of ranks. */
enum { LOSS_BITS = 24 };

/* Sums over the questions. */
enum { ASKED, RIGHT, CUT = RIGHT + TASK_LENGTHS, NONFINITE, LOSS, TALLIES };

/* A continuation after its context, and its loss. */
struct request {
    int32_t *id; /* at most one more than the context of the model */
    int64_t n, begin;
    double length[TASK_LENGTHS];
    double loss;
    int of, right; /* of the first of a question: its choices */
};

struct questions {
    struct engine *engine;
    const struct task *task;
    int shares; /* this rank has one of so many */
    int64_t at; /* the question being read */
    struct task_shots shots;
    struct sampler greedy; /* of a task without labels */
    struct request *request;
    struct request **longest; /* the same, the longest first */
    size_t n, room;
    double tally[TALLIES];
};

/* ---- questions --------------------------------------------------------- */

/* As the harness does: the tokens of the context, and of both together those
 * behind that many. */
static void add_request(struct questions *q, const char *before,
                        const struct task_choice *c)
{
    const struct tokenizer *t = q->engine->data.tokenizer;
    const size_t room = (size_t)q->engine->gpt.T + 1;
    char *context = xasprintf("%s%s", before, c->context);
    char *both = xasprintf("%s%s", context, c->continuation);
    struct ids ids = { 0 }, all = { 0 };
    struct request *r;
    size_t begin, cut;

    log_debug("'%s' + '%s'", context, c->continuation);
    if (!*context && tokenizer_eot(t) >= 0)
        ids_add(&ids, tokenizer_eot(t));
    tokenizer_encode(t, context, strlen(context), 0, &ids);
    tokenizer_encode(t, both, strlen(both), 0, &all);
    begin = ids.n ? ids.n : 1;
    for (size_t i = *context ? ids.n : 0; i < all.n; i++)
        ids_add(&ids, all.id[i]);
    cut = ids.n > room ? ids.n - room : 0;
    memmove(ids.id, ids.id + cut, (ids.n - cut) * sizeof *ids.id);
    q->tally[CUT] += cut > 0;
    r = &APPEND(q->request, q->n, q->room);
    *r = (struct request){
        .id = ids.id,
        .n = (int64_t)(ids.n - cut),
        .begin = begin > cut ? (int64_t)(begin - cut) : 1,
    };
    for (int k = 0; k < TASK_LENGTHS; k++)
        r->length[k] =
            c->length[k] > 0 ? c->length[k] : (double)(r->n - r->begin);
    FREE(context, both, all.id);
}

/* Keep the question if it is one of this rank. */
static int add_question(void *arg, const struct task_question *r,
                        const char *line, struct err *e)
{
    struct questions *q = arg;
    const bool own = q->at++ % q->shares == q->engine->coll.rank % q->shares;
    struct buf before = BUF_INIT;
    const size_t first = q->n;
    int ret;

    buf_str(&before, r->description);
    ret = task_shots_add(&q->shots, r, line, &before, e);
    for (int i = 0; ret == 0 && own && i < r->n; i++) {
        add_request(q, before.s, &r->choice[i]);
        q->request[first].of = r->n;
        q->request[first].right = r->right;
    }
    buf_clear(&before);
    return ret;
}

/* Read the questions, and the answered ones to put before them.  Returns the
 * size of these files and of the task, or -1. */
static int64_t read_questions(struct questions *q, struct err *e)
{
    const struct task *t = q->task;
    const int64_t shots = task_shots_open(&q->shots, t, e);
    int64_t bytes =
        shots < 0 ? -1 : task_each(t, t->path, t->limit, add_question, q, e);

    for (int i = 0; i < TASK_KEYS && bytes >= 0; i++)
        bytes += (int64_t)strlen(str_or_empty(t->is[i]));
    return bytes < 0 ? -1 : bytes + shots;
}

/* All ranks read as many bytes, or none asks. */
static int agree_questions(struct questions *q, int64_t bytes, bool *unread,
                           struct err *e)
{
    struct coll *c = &q->engine->coll;
    int64_t most = bytes, least = -bytes;

    if (coll_max(c, &most, e) < 0 || coll_max(c, &least, e) < 0)
        return -1;
    *unread = bytes < 0 || most != -least;
    if (bytes >= 0 && *unread)
        err_set(e, ERR_INPUT, "another rank does not read the same %s",
                q->task->path);
    return *unread ? -1 : 0;
}

/* ---- losses ------------------------------------------------------------ */

static int by_length(const void *a, const void *b)
{
    const struct request *x = *(struct request *const *)a;
    const struct request *y = *(struct request *const *)b;

    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : (x > y) - (x < y);
}

/* With the matrices of the engine, which may be those of --weights. */
static int open_greedy(struct questions *q, struct err *e)
{
    static const struct sample_settings likeliest = { .top_p = 1 };
    struct engine *eng = q->engine;

    if (sampler_open(&q->greedy, eng, 1, eng->gpt.T, 0, e) < 0)
        return -1;
    quantize_borrow(&q->greedy.decoder.graph, &eng->gpt.graph);
    q->greedy.conf = &likeliest;
    return 0;
}

/* Without labels, the continuation is right if the model would write it. */
static int write_greedily(struct sampler *s, struct request *r, struct err *e)
{
    int64_t at = r->begin;
    int ret;

    s->read = 0;
    ret = sampler_read(s, r->id, (size_t)at, e);
    while (ret == 0 && at < r->n && sampler_next(s) == r->id[at])
        if (++at < r->n)
            ret = sampler_read(s, &r->id[at - 1], 1, e);
    r->right = at == r->n ? 0 : -1;
    return ret;
}

/* Score some requests, of which the first is the longest, in sequences that are
 * no longer than it needs, unless the device wants all of one size; returns how
 * many. */
static int score(struct questions *q, struct request **r, size_t n,
                 struct err *e)
{
    struct engine *eng = q->engine;
    const int64_t T = eng->gpt.T;
    const int64_t most =
        eng->dev.type->any_size ? (r[0]->n - 1 + STEP - 1) / STEP * STEP : T;
    const int64_t t = most > T ? T : most > 0 ? most : STEP;
    const int64_t B = eng->gpt.B, rows = t == T ? B : B * T / t;
    const int64_t now = (int64_t)n < rows ? (int64_t)n : rows;
    int ret;

    for (int64_t at = 0; at < now * t; at++) {
        const struct request *of = r[at / t];
        const int64_t next = at % t + 1;

        eng->batch.x[at] = next <= of->n ? of->id[next - 1] : 0;
        eng->batch.y[at] =
            next < of->n && next >= of->begin ? of->id[next] : -1;
    }
    gpt_resize(&eng->gpt, rows, t);
    ret = engine_forward(eng, now, e);
    gpt_resize(&eng->gpt, B, T);
    for (int64_t at = 0; at < now * t && ret == 0; at++)
        if (eng->batch.y[at] >= 0)
            r[at / t]->loss += (double)eng->batch.losses[at];
    for (int64_t i = 0; i < now && !q->task->is[TASK_LABEL] && ret == 0; i++)
        ret = write_greedily(&q->greedy, r[i], e);
    return ret < 0 ? -1 : (int)now;
}

/* Ranks may have different numbers of batches. */
static int score_all(struct questions *q, bool *stopped, struct err *e)
{
    struct engine *eng = q->engine;
    int64_t turn = 0;

    q->longest = xcalloc(q->n + 1, sizeof *q->longest);
    for (size_t i = 0; i < q->n; i++)
        q->longest[i] = &q->request[i];
    qsort(q->longest, q->n, sizeof *q->longest, by_length);
    for (size_t at = 0;;) {
        int64_t left = (int64_t)(q->n - at);
        int done = 0;

        if (coll_max(&eng->coll, &left, e) < 0)
            return -1;
        if (left == 0)
            return 0;
        if (eval_check_signals(eng, turn++, stopped, e) < 0)
            return -1;
        if (*stopped)
            return 0;
        if (at < q->n)
            done = score(q, q->longest + at, q->n - at, e);
        if (done < 0)
            return -1;
        at += (size_t)done;
    }
}

/* ---- answers ----------------------------------------------------------- */

static int find_answer(const struct request *r, int length)
{
    int best = 0;

    for (int i = 1; i < r->of; i++)
        if (r[i].loss / r[i].length[length] <
            r[best].loss / r[best].length[length])
            best = i;
    return best;
}

static void count_answers(struct questions *q)
{
    const struct request *r;

    for (size_t at = 0; at < q->n; at += (size_t)r->of) {
        r = &q->request[at];
        q->tally[ASKED]++;
        q->tally[LOSS] += rint(ldexp(r->loss, LOSS_BITS));
        for (int k = 0; k < TASK_LENGTHS; k++)
            q->tally[RIGHT + k] += find_answer(r, k) == r->right;
        for (int i = 0; i < r->of; i++) {
            q->tally[NONFINITE] += !isfinite(r[i].loss);
            log_debug("question %.0f: choice %d of %d: %.6f", q->tally[ASKED],
                      i + 1, r->of, -r[i].loss);
        }
    }
}

static void set_result(const struct questions *q,
                       struct multiple_choice_result *r)
{
    const double *t = q->tally, n = t[ASKED];
    const bool labels = q->task->is[TASK_LABEL];
    /* without a loss, no choice is the likeliest */
    const double bad = t[NONFINITE] > 0 ? (double)NAN : 0;

    r->questions = (int64_t)n;
    r->of[ANSWER_ACC] = t[RIGHT] / n + bad;
    r->of[ANSWER_ACC_NORM] = labels ? t[RIGHT + 1] / n + bad : (double)NAN;
    r->of[ANSWER_ACC_BYTES] = labels ? t[RIGHT + 2] / n + bad : (double)NAN;
    r->of[ANSWER_PERPLEXITY] =
        labels ? (double)NAN : exp(ldexp(t[LOSS] / n, -LOSS_BITS));
    for (int k = ANSWER_ACC; k <= ANSWER_ACC_NORM; k++)
        r->of[ANSWER_ACC_STDERR + k] =
            sqrt(r->of[k] * (1 - r->of[k]) / (n - 1));
    if (t[CUT] > 0 && q->engine->coll.rank == 0)
        log_warn("%.0f texts have lost their beginning to the model's context "
                 "of %lld tokens",
                 t[CUT], (long long)q->engine->gpt.T);
}

int multiple_choice_eval(struct engine *eng, const struct task *task,
                         struct multiple_choice_result *r, struct err *e)
{
    /* where a forward needs all ranks, all of them answer every question */
    const int shares = parallel_gathers(&eng->parallel) ? 1 : eng->coll.size;
    struct questions q = { .engine = eng, .task = task, .shares = shares };
    int ret;

    *r = (struct multiple_choice_result){ .seconds = clock_mono() };
    if (!eng->data.tokenizer)
        return err_set(e, ERR_USAGE,
                       "questions need a tokenizer; set data.tokenizer");
    ret = agree_questions(&q, read_questions(&q, e), &r->unread, e);
    if (ret == 0 && !task->is[TASK_LABEL])
        ret = open_greedy(&q, e);
    if (ret == 0)
        ret = score_all(&q, &r->stopped, e);
    if (ret == 0 && !r->stopped) {
        count_answers(&q);
        ret = shares > 1 ? coll_sum_f64(&eng->coll, q.tally, TALLIES, e) : 0;
    }
    if (ret == 0 && !r->stopped)
        set_result(&q, r);
    for (size_t i = 0; i < q.n; i++)
        free(q.request[i].id);
    sampler_close(&q.greedy);
    task_shots_close(&q.shots);
    FREE(q.request, q.longest);
    r->seconds = clock_mono() - r->seconds;
    return ret;
}

char *multiple_choice_metric(const struct task *t,
                             enum multiple_choice_answer a)
{
    return t->due == DUE_TASKS || a <= ANSWER_ACC_NORM
               ? xasprintf("%s/%s", t->group, run_info_answers[a])
               : NULL;
}
