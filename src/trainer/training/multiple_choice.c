#include "config.h"
#include "trainer/training/multiple_choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/output/table.h"
#include "common/sha256.h"
#include "store/format/info.h"
#include "trainer/engine/python_random.h"
#include "trainer/training/eval.h"
#include "trainer/training/sampler.h"

/* Texts are read in sequences of a multiple of so many tokens, and so many of
 * those that choices share are read once, so that many texts are alike. */
enum { STEP = 16 };

/*
 * How many sequences have a cache: as many as CACHED tokens suffice for, within
 * bounds.  Fewer than MANY are never read at once, since a product of few rows
 * adds in another order, and ranks have different numbers of texts.
 */
enum { CACHED = 4096, MANY = 9, SEQUENCES = 32 };

/* Losses are added up in units of 2^-24, so that the sum is exact, and the same
 * for any number of ranks. */
enum { LOSS_BITS = 24 };

/* Sums over the questions. */
enum { ASKED, RIGHT, CUT = RIGHT + TASK_LENGTHS, NONFINITE, LOSS, TALLIES };

/* A continuation after its context, and its loss. */
struct request {
    int32_t *id;
    int64_t n, begin;
    double length[TASK_LENGTHS];
    double loss;
    int of, right;  /* of the first of a question: its choices */
    int64_t shared; /* tokens that the choices share before the first loss */
    int64_t most;   /* of the longest of those with which it is read */
    bool cached;    /* what they share is read only once */
};

struct questions {
    struct engine *engine;
    const struct task *task;
    int shares; /* this rank has one of so many */
    int64_t at; /* the question being read */
    struct shot {
        const char *line, *text, *same;
    } * shot;
    size_t shots, shots_room;
    struct arena mem; /* of the shots */
    struct python_random random;
    struct sampler sampler; /* for requests that are cached */
    bool caches;            /* may they be? */
    int sequences;          /* that it reads at once */
    struct request *request;
    struct request **longest; /* the same, as they are read */
    size_t n, room;
    double tally[TALLIES];
    struct sha256 asked; /* the questions, what precedes them, the templates */
    double *right; /* for each question, of any rank: a bit for each RIGHT */
};

/* ---- shots -------------------------------------------------------------- */

/*
 * The answered questions that a model reads before another one, each with an
 * empty line behind it, are those of lm-evaluation-harness: drawn as Python
 * draws, from the task's shots_file or, without one, from the other questions;
 * or the first with the question's text of shots_same.  For a task of CORE they
 * are drawn from the other questions by a generator that begins anew for each.
 */
enum { SHOTS_SEED = 1234 };

static int add_shot(void *arg, const struct task_question *from,
                    const char *line, struct err *e UNUSED)
{
    const struct task_choice *right = &from->choice[from->right];
    struct questions *q = arg;

    APPEND(q->shot, q->shots, q->shots_room) = (struct shot){
        .line = arena_strdup(&q->mem, line),
        .text = arena_printf(&q->mem, "%s%s\n\n", right->context,
                             right->continuation),
        .same = arena_strdup(&q->mem, from->same),
    };
    return 0;
}

static int refuse_few(size_t count, struct err *e)
{
    return err_input(e, "there are too few questions for %zu shots", count);
}

/* Append the text before the question of a line. */
static int put_shots(struct questions *q, const struct task_question *r,
                     const char *line, struct buf *out, struct err *e)
{
    const char *const *is = q->task->is;
    const bool first = is[TASK_SHOTS_SAME];
    const bool others =
        !first && (is[TASK_SHOTS_OTHERS] || !is[TASK_SHOTS_FILE]);
    const size_t count = (size_t)q->task->shots, start = out->len;
    const struct shot **list = xcalloc(q->shots + 1, sizeof *list);
    size_t *drawn = xcalloc(count + 1, sizeof *drawn), added = 0;

    /* Where the question may be among them, one more is drawn; if it was drawn
     * more than once, all are drawn again, from the others. */
    for (size_t want = count + others; added < count && want >= count; want--) {
        size_t n = 0;

        for (size_t i = 0; i < q->shots; i++)
            if (strcmp(q->shot[i].same, r->same) == 0 &&
                (!others || want > count || strcmp(q->shot[i].line, line) != 0))
                list[n++] = &q->shot[i];
        if (!first && n >= want)
            python_random_sample(&q->random, n, want, drawn);
        buf_trim(out, start);
        added = 0;
        for (size_t i = 0; i < want && n >= want && added < count; i++) {
            const struct shot *shot = list[first ? i : drawn[i]];

            if (!others || strcmp(shot->line, line) != 0) {
                buf_str(out, shot->text);
                added++;
            }
        }
    }
    FREE(list, drawn);
    return added == count ? 0 : refuse_few(count, e);
}

/* The same of a task of CORE, whose questions are those that may be drawn. */
static int put_shots_of_core(struct questions *q, struct buf *out,
                             struct err *e)
{
    const size_t count = (size_t)q->task->shots, at = (size_t)q->at;
    AUTO_FREE size_t *drawn = NULL;

    if (count == 0)
        return 0;
    if (q->shots <= count)
        return refuse_few(count, e);
    drawn = xcalloc(count, sizeof *drawn);
    python_random_seed(&q->random, SHOTS_SEED + (uint32_t)at);
    python_random_sample(&q->random, q->shots - 1, count, drawn);
    for (size_t i = 0; i < count; i++)
        buf_str(out, q->shot[drawn[i] + (drawn[i] >= at)].text);
    return 0;
}

/* ---- questions --------------------------------------------------------- */

/* As the harness does: the tokens of the context, and of both together those
 * behind that many; of CORE, those of both together. */
static void add_request(struct questions *q, const char *before,
                        const struct task_choice *c)
{
    const struct tokenizer *t = q->engine->data.tokenizer;
    char *context = xasprintf("%s%s", before, c->context);
    char *both = xasprintf("%s%s", context, c->continuation);
    struct ids ids = { 0 }, all = { 0 };
    size_t same = 0;

    log_debug("'%s' + '%s'", context, c->continuation);
    if ((q->task->core || !*context) && tokenizer_eot(t) >= 0) {
        ids_add(&ids, tokenizer_eot(t));
        ids_add(&all, tokenizer_eot(t));
    }
    tokenizer_encode(t, context, strlen(context), 0, &ids);
    tokenizer_encode(t, both, strlen(both), 0, &all);
    while (same < ids.n && same < all.n && ids.id[same] == all.id[same])
        same++;
    ids.n = q->task->core ? same : ids.n;
    same = ids.n;
    for (size_t i = same; i < all.n; i++)
        ids_add(&ids, all.id[i]);
    APPEND(q->request, q->n, q->room) = (struct request){
        .id = ids.id, .n = (int64_t)ids.n, .begin = same > 0 ? (int64_t)same : 1
    };
    FREE(context, both, all.id);
}

/* The tokens that the choices of a question share at their beginning or end. */
static int64_t count_shared(const struct request *r, bool end)
{
    int64_t n = r->n;

    for (int i = 1; i < r->of; i++) {
        int64_t k = 0;

        while (k < n && k < r[i].n &&
               r->id[end ? r->n - 1 - k : k] ==
                   r[i].id[end ? r[i].n - 1 - k : k])
            k++;
        n = k;
    }
    return n;
}

/* Leave as many tokens as the model reads; the harness does not count the last,
 * which needs no prediction after it. */
static void cut_request(struct questions *q, struct request *r,
                        const struct task_choice *c)
{
    const int64_t room = q->engine->gpt.T + !q->task->core;
    const int64_t cut = r->n > room ? r->n - room : 0;

    q->tally[CUT] += cut > 0;
    r->n -= cut;
    memmove(r->id, r->id + cut, (size_t)r->n * sizeof *r->id);
    r->begin = r->begin > cut ? r->begin - cut : 1;
    for (int k = 0; k < TASK_LENGTHS; k++)
        r->length[k] =
            c->length[k] > 0 ? c->length[k] : (double)(r->n - r->begin);
}

/* Keep the question if it is one of this rank. */
static int add_question(void *arg, const struct task_question *r,
                        const char *line, struct err *e)
{
    struct questions *q = arg;
    const bool own = q->at % q->shares == q->engine->coll.rank % q->shares;
    const bool end = q->task->is[TASK_CONTINUATION];
    AUTO(buf_clear) struct buf before = BUF_INIT;
    const size_t first = q->n;
    struct request *of;
    int64_t shared, most = 0;
    int ret;

    buf_str(&before, r->description);
    ret = q->task->core ? put_shots_of_core(q, &before, e)
                        : put_shots(q, r, line, &before, e);
    sha256_add(&q->asked, before.s, before.len + 1);
    sha256_add(&q->asked, line, strlen(line) + 1);
    q->at++;
    for (int i = 0; ret == 0 && own && i < r->n; i++)
        add_request(q, before.s, &r->choice[i]);
    if (q->n == first)
        return ret;
    of = &q->request[first];
    of->of = r->n;
    of->right = r->right;
    shared = count_shared(of, end);
    for (int i = 0; i < r->n; i++) {
        if (q->task->core && r->n > 1)
            of[i].begin = end ? of[i].n - shared : shared;
        cut_request(q, &of[i], &r->choice[i]);
    }
    shared = count_shared(of, false);
    for (int i = 0; i < r->n; i++) {
        shared = of[i].begin <= shared ? of[i].begin - 1 : shared;
        most = of[i].n > most ? of[i].n : most;
    }
    shared = q->task->is[TASK_LABEL] ? shared / STEP * STEP : shared;
    for (int i = 0; i < r->n; i++) {
        of[i].cached = q->caches && (shared > 0 || !q->task->is[TASK_LABEL]);
        of[i].shared = shared;
        of[i].most = of[i].cached ? most : of[i].n;
    }
    return ret;
}

/* Read the questions, and the answered ones to put before them.  Returns the
 * size of these files and of the task, or -1. */
static int64_t read_questions(struct questions *q, struct err *e)
{
    const struct task *t = q->task;
    int64_t shots = 0, bytes = 0;

    python_random_seed(&q->random, SHOTS_SEED);
    if (t->shots > 0)
        shots =
            task_each(t, t->shots_path, t->core ? t->limit : 0, add_shot, q, e);
    if (shots >= 0)
        bytes = task_each(t, t->path, t->limit, add_question, q, e);
    for (int i = 0; i < TASK_KEYS && bytes >= 0; i++) {
        const char *key = str_or_empty(t->is[i]);

        bytes += (int64_t)strlen(key);
        if (i != TASK_FILE && i != TASK_SHOTS_FILE)
            sha256_add(&q->asked, key, strlen(key) + 1);
    }
    return bytes < 0 || shots < 0 ? -1 : bytes + shots;
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
        err_input(e, "another rank does not read the same %s", q->task->path);
    return *unread ? -1 : 0;
}

/* ---- losses ------------------------------------------------------------ */

static int by_length(const void *a, const void *b)
{
    const struct request *x = *(struct request *const *)a;
    const struct request *y = *(struct request *const *)b;

    if (x->cached != y->cached)
        return x->cached ? -1 : 1;
    if (x->cached && x->shared != y->shared)
        return x->shared > y->shared ? -1 : 1;
    if (x->most != y->most)
        return x->most > y->most ? -1 : 1;
    return (x > y) - (x < y);
}

/* The n tokens of a request from `at` on, and what follows each, or NULL. */
static void set_tokens(int32_t *x, int32_t *y, const struct request *r,
                       int64_t at, int64_t n)
{
    for (int64_t k = 0; k < n; k++, at++) {
        x[k] = at < r->n ? r->id[at] : 0;
        if (y)
            y[k] = at + 1 >= r->begin && at + 1 < r->n ? r->id[at + 1] : -1;
    }
}

/* Those of the n tokens, whose results begin with number `first`; without
 * labels, a request is right if the model would write it. */
static void add_losses(const struct questions *q, struct request *r, int64_t at,
                       int64_t first, int64_t n)
{
    const struct settings *set = q->engine->set;
    int64_t best;

    for (int64_t k = first; k < first + n && ++at < r->n; k++) {
        const float *row = q->sampler.logits + k * set->is.vocab_padded;
        const int32_t id = r->id[at];

        if (q->sampler.targets) {
            r->loss += (double)q->sampler.logits[k];
            continue;
        }
        r->loss +=
            sampler_log_sum(row, set->model.vocab, &best) - (double)row[id];
        r->right = best == id ? r->right : -1;
    }
}

/* Read what requests share with the other choices of their questions, and then
 * the rest of each, of as many as there are caches for, or share as many tokens
 * as the first.  Returns how many. */
static int read_cached(struct questions *q, struct request **r, size_t n,
                       struct err *e)
{
    struct sampler *s = &q->sampler;
    const int64_t shared = r[0]->shared, end = r[0]->most - 1;
    struct ids prompt[SEQUENCES];
    int now = 1;

    while (now < q->sequences && (size_t)now < n && r[now]->cached &&
           r[now]->shared == shared)
        now++;
    s->count = now < MANY && q->sequences > 1 ? MANY : now;
    for (int i = 0; i < s->count; i++)
        prompt[i].id = r[i < now ? i : now - 1]->id;
    s->read = 0;
    if (shared > 0 && sampler_read_prompts(s, prompt, shared, e) < 0)
        return -1;
    for (int64_t at = shared, step; at < end; at += step) {
        step = end - at < s->block ? end - at : s->block;
        for (int i = 0; i < s->count; i++)
            set_tokens(s->last + i * step,
                       s->targets ? s->targets + i * step : NULL,
                       r[i < now ? i : now - 1], at, step);
        if (sampler_read_block(s, step, e) < 0)
            return -1;
        for (int i = 0; i < now; i++)
            add_losses(q, r[i], at, i * step, step);
    }
    return now;
}

/* Score some requests as the first of them is read; without caches, it is the
 * longest, and the sequences are no longer than it needs, unless the device
 * wants all of one size.  Returns how many. */
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

    if (r[0]->cached)
        return read_cached(q, r, n, e);
    for (int64_t i = 0; i < now; i++)
        set_tokens(eng->batch.x + i * t, eng->batch.y + i * t, r[i], 0, t);
    gpt_resize(&eng->gpt, rows, t);
    ret = engine_forward(eng, now, e);
    gpt_resize(&eng->gpt, B, T);
    for (int64_t at = 0; at < now * t && ret == 0; at++)
        if (eng->batch.y[at] >= 0)
            r[at / t]->loss += (double)eng->batch.losses[at];
    for (int64_t i = 0; i < now && !q->task->is[TASK_LABEL] && ret == 0; i++) {
        const double loss = r[i]->loss;

        ret = read_cached(q, &r[i], 1, e) < 0 ? -1 : 0;
        r[i]->loss = loss;
    }
    return ret < 0 ? -1 : (int)now;
}

/* Ranks may have different numbers of batches, and of cached requests, which
 * come first. */
static int score_all(struct questions *q, bool *stopped, struct err *e)
{
    struct engine *eng = q->engine;
    const size_t n = q->n;
    int64_t turn = 0;

    q->longest = xcalloc(n + 1, sizeof *q->longest);
    for (size_t i = 0; i < n; i++)
        q->longest[i] = &q->request[i];
    qsort(q->longest, n, sizeof *q->longest, by_length);
    for (size_t at = 0;;) {
        int64_t left = (int64_t)(n - at);
        int done = 0;

        if (coll_max(&eng->coll, &left, e) < 0)
            return -1;
        if (left == 0)
            return 0;
        if (eval_check_signals(eng, turn++, stopped, e) < 0)
            return -1;
        if (*stopped)
            return 0;
        if (at < n)
            done = score(q, q->longest + at, n - at, e);
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
    int64_t number = q->engine->coll.rank % q->shares;
    const struct request *r;

    q->right = xcalloc((size_t)q->at + 1, sizeof *q->right);
    for (size_t at = 0; at < q->n; at += (size_t)r->of) {
        r = &q->request[at];
        q->tally[ASKED]++;
        q->tally[LOSS] += rint(ldexp(r->loss, LOSS_BITS));
        for (int k = 0; k < TASK_LENGTHS; k++) {
            const bool right = find_answer(r, k) == r->right;

            q->tally[RIGHT + k] += right;
            q->right[number] += right << k;
        }
        number += q->shares;
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
    const double norm = labels && !q->task->core ? 0 : (double)NAN;
    /* without a loss, no choice is the likeliest */
    const double bad = t[NONFINITE] > 0 ? (double)NAN : 0;

    r->questions = (int64_t)n;
    r->of[ANSWER_ACC] = t[RIGHT] / n + bad;
    r->of[ANSWER_ACC_NORM] = t[RIGHT + 1] / n + bad + norm;
    r->of[ANSWER_ACC_BYTES] = t[RIGHT + 2] / n + bad + norm;
    r->of[ANSWER_PERPLEXITY] =
        labels ? (double)NAN : exp(ldexp(t[LOSS] / n, -LOSS_BITS));
    r->of[ANSWER_CENTRED] =
        q->task->core
            ? (r->of[ANSWER_ACC] - q->task->baseline) / (1 - q->task->baseline)
            : (double)NAN;
    for (int k = ANSWER_ACC; k <= ANSWER_ACC_NORM; k++)
        r->of[ANSWER_ACC_STDERR + k] =
            sqrt(r->of[k] * (1 - r->of[k]) / (n - 1));
    if (t[CUT] > 0 && q->engine->coll.rank == 0)
        log_warn("%.0f texts have lost their beginning to the model's context "
                 "of %lld tokens",
                 t[CUT], (long long)q->engine->gpt.T);
}

/* Append a line for acc, and one for acc_norm where the task has it. */
static int list_answers(struct questions *q,
                        const struct multiple_choice_result *r, struct buf *out,
                        struct err *e)
{
    char sum[SHA256_TEXT];

    if (q->shares > 1 &&
        coll_sum_f64(&q->engine->coll, q->right, (size_t)q->at, e) < 0)
        return -1;
    sha256_text(&q->asked, sum);
    for (int k = ANSWER_ACC; k <= ANSWER_ACC_NORM; k++) {
        if (isnan(r->of[k]))
            continue;
        buf_printf(out, "%lld\t", (long long)q->engine->state.step);
        table_tsv_text(out, q->task->name);
        buf_printf(out, "\t%s\t%s\t", run_info_answers[k], sum);
        for (int64_t i = 0; i < q->at; i++)
            buf_char(out, (int)q->right[i] >> k & 1 ? '1' : '0');
        buf_char(out, '\n');
    }
    return 0;
}

/* There is none if a part was not asked. */
static void set_mean(const struct tasks *all, size_t i,
                     struct multiple_choice_result *of)
{
    struct multiple_choice_result r = { 0 };
    double n = 0, squares = 0;
    bool lacks = false;

    for (size_t k = 0; k < i; k++) {
        if (!task_has_part(&all->task[i], &all->task[k]))
            continue;
        n++;
        lacks = lacks || of[k].questions == 0;
        r.questions += of[k].questions;
        r.seconds += of[k].seconds;
        for (int a = 0; a < ANSWERS; a++)
            r.of[a] += of[k].of[a];
        squares += pow(of[k].of[ANSWER_ACC_STDERR], 2);
    }
    for (int a = 0; a < ANSWERS; a++)
        r.of[a] /= n;
    r.of[ANSWER_ACC_STDERR] = sqrt(squares) / n;
    r.questions = lacks ? 0 : r.questions;
    of[i] = r;
}

int multiple_choice_eval(struct engine *eng, const struct tasks *all, size_t i,
                         struct multiple_choice_result *of, struct buf *answers,
                         struct err *e)
{
    const struct task *task = &all->task[i];
    struct multiple_choice_result *r = &of[i];
    const bool labels = task->is[TASK_LABEL];
    /* where a forward needs all ranks, all of them answer every question */
    const int shares = parallel_gathers(&eng->parallel) ? 1 : eng->coll.size;
    struct questions q = {
        .engine = eng,
        .task = task,
        .shares = shares,
        .caches = eng->dev.type->any_size &&
                  (labels || eng->gpt.graph.type == DT_F32),
    };
    int64_t longest = 1;
    int ret;

    if (task->is[TASK_MEAN]) {
        set_mean(all, i, of);
        return 0;
    }
    *r = (struct multiple_choice_result){ .seconds = clock_mono() };
    if (!eng->data.tokenizer)
        return err_usage(e, "questions need a tokenizer; set data.tokenizer");
    sha256_init(&q.asked);
    ret = agree_questions(&q, read_questions(&q, e), &r->unread, e);
    for (size_t k = 0; k < q.n; k++)
        longest = q.request[k].n > longest ? q.request[k].n : longest;
    q.sequences = !labels                         ? 1
                  : longest * SEQUENCES <= CACHED ? SEQUENCES
                  : longest * MANY >= CACHED      ? MANY
                                                  : (int)(CACHED / longest);
    if (ret == 0 && (q.caches || !labels))
        ret = sampler_open(&q.sampler, eng, q.sequences, longest, 0, labels, e);
    if (ret == 0)
        ret = score_all(&q, &r->stopped, e);
    if (ret == 0 && !r->stopped) {
        count_answers(&q);
        ret = shares > 1 ? coll_sum_f64(&eng->coll, q.tally, TALLIES, e) : 0;
    }
    if (ret == 0 && !r->stopped)
        set_result(&q, r);
    if (ret == 0 && !r->stopped && answers)
        ret = list_answers(&q, r, answers, e);
    for (size_t k = 0; k < q.n; k++)
        free(q.request[k].id);
    sampler_close(&q.sampler);
    arena_clear(&q.mem);
    FREE(q.request, q.longest, q.shot, q.right);
    r->seconds = clock_mono() - r->seconds;
    return ret;
}

char *multiple_choice_metric(const struct task *t,
                             enum multiple_choice_answer a)
{
    return xasprintf("task/%s/%s", t->name, run_info_answers[a]);
}
