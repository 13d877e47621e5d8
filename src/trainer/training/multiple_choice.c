#include "config.h"
#include "trainer/training/multiple_choice.h"

#include <ctype.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/format/unicode.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/utf8.h"
#include "trainer/training/eval.h"

enum { MOST_CHOICES = 64, MOST_TEXT = 1 << 30, STEP = 16 };

/* What the loss of a choice is divided by: 1, and for acc_norm and acc_bytes
 * its characters and bytes; instead of characters, 0 stands for its tokens. */
enum { LENGTHS = 3 };

struct choice {
    const char *context, *continuation;
    double length[LENGTHS];
};

/* A question while it is read. */
struct reading {
    const json_t *line;
    struct choice choice[MOST_CHOICES];
    int n, right;
    bool bad; /* e is set */
    struct arena mem;
    struct err *e;
};

/* ---- fields of a line -------------------------------------------------- */

/* Add the texts that a path leads to: of an array, those of all its elements.
 * Yes and no are 1 and 0. */
static int find_texts(struct reading *r, const json_t *from, const char *path,
                      const char *out[MOST_CHOICES], int n)
{
    const size_t len = strcspn(path, ".");
    char name[64];

    for (size_t i = 0; i < json_array_size(from); i++)
        n = find_texts(r, json_array_get(from, i), path, out, n);
    if (*path && json_is_object(from)) {
        snprintf(name, sizeof name, "%.*s", (int)len, path);
        n = find_texts(r, json_object_get(from, name),
                       path + len + (path[len] == '.'), out, n);
    } else if (!*path && n < MOST_CHOICES) {
        if (json_is_string(from))
            out[n++] = json_string_value(from);
        else if (json_is_integer(from))
            out[n++] = arena_printf(&r->mem, "%lld",
                                    (long long)json_integer_value(from));
        else if (json_is_boolean(from))
            out[n++] = json_is_true(from) ? "1" : "0";
    }
    return n;
}

/* Of several things that are wrong, the first counts. */
static void refuse(struct reading *r, const char *what, int n, const char *name)
{
    if (!r->bad)
        err_set(r->e, ERR_INPUT, "%s %.*s", what, n, name);
    r->bad = true;
}

/* The texts of the first of "path|path" that the line has. */
static int list(struct reading *r, const char *paths,
                const char *out[MOST_CHOICES])
{
    char *own = xstrdup(paths), *rest = own, *path;
    int n = 0;

    while (n == 0 && (path = strsep(&rest, "|")))
        n = find_texts(r, r->line, path, out, 0);
    free(own);
    if (n == 0)
        refuse(r, "there is no", (int)strcspn(paths, "|"), paths);
    return n;
}

static const char *text(struct reading *r, const char *paths)
{
    const char *all[MOST_CHOICES];

    return list(r, paths, all) ? all[0] : "";
}

/* ---- texts as the harness has them ------------------------------------- */

/* The text between the blanks at its ends: those of Unicode and four more, as
 * in Python. */
static const char *find_stripped(const char *s, const char **end)
{
    const char *from = NULL;

    *end = s;
    for (const char *at = s, *next = s; *at; at = next) {
        const int32_t c = utf8_next(&next);

        if (unicode_class((uint32_t)c) == UNICODE_SPACE ||
            (c >= 0x1c && c <= 0x1f))
            continue;
        from = from ? from : at;
        *end = next;
    }
    return from ? from : *end;
}

static const char *strip(struct reading *r, const char *s)
{
    const char *end, *from = find_stripped(s, &end);

    return arena_strndup(&r->mem, from, (size_t)(end - from));
}

/* The first letter large, if it is one of ASCII, and the others small. */
static void add_capitalized(struct buf *out, const char *s)
{
    const char *first = s;

    if (*s)
        utf8_next(&s);
    buf_add(out, first, (size_t)(s - first));
    if (s - first == 1)
        out->s[out->len - 1] = (char)toupper((unsigned char)*first);
    while (*s)
        utf8_add(out, utf8_fold(utf8_next(&s)));
}

static void replace_text(struct buf *b, const char *from, const char *to)
{
    struct buf out = BUF_INIT;
    const char *at = b->s;

    for (const char *hit; (hit = strstr(at, from)); at = hit + strlen(from)) {
        buf_add(&out, at, (size_t)(hit - at));
        buf_str(&out, to);
    }
    buf_str(&out, at);
    buf_clear(b);
    *b = out;
}

/* Stripped, and without [anything] within a line, which HellaSwag's texts from
 * WikiHow have. */
static const char *clean(struct reading *r, const char *s)
{
    struct buf b = BUF_INIT, out = BUF_INIT;
    const char *result;

    buf_str(&b, strip(r, s));
    replace_text(&b, " [title]", ". ");
    for (const char *at = b.s; *at;) {
        const char *end = *at == '[' ? strpbrk(at, "]\n") : NULL;

        if (end && *end == ']')
            at = end + 1;
        else
            buf_char(&out, *at++);
    }
    replace_text(&out, "  ", " ");
    result = arena_strdup(&r->mem, out.s);
    buf_clear(&b);
    buf_clear(&out);
    return result;
}

/* ---- questions --------------------------------------------------------- */

/* Add a choice, whose continuation follows a blank.  White space at the end of
 * the context goes to the continuation, because tokens begin with it. */
static void add_choice(struct reading *r, const char *context,
                       const char *choice, const char *continuation)
{
    struct choice *c = &r->choice[r->n++];
    const char *end;

    find_stripped(context, &end);
    c->context = arena_strndup(&r->mem, context, (size_t)(end - context));
    c->continuation = arena_printf(&r->mem, "%s %s", end, continuation);
    c->length[0] = 1;
    c->length[1] = (double)utf8_count(choice);
    c->length[2] = (double)strlen(choice);
}

/* The right choice is that of the same label or, without a list, that of the
 * number. */
static void set_right(struct reading *r, const char *label,
                      const char *const *labels, int n)
{
    int64_t right = -1;

    if (!labels)
        num_int(label, &right);
    for (int i = 0; labels && i < n; i++)
        right = strcmp(labels[i], label) == 0 ? i : right;
    r->right = (int)right;
    if (r->n < 2)
        refuse(r, "there must be two choices or more, not only", 7, "one");
    if (right < 0 || right >= r->n)
        refuse(r, "no choice has the label", 40, label);
}

/* A question with a list of answers, and the number of the right one. */
static void ask(struct reading *r, const char *context, const char *answers,
                const char *label)
{
    const char *all[MOST_CHOICES];
    const int n = list(r, answers, all);

    for (int i = 0; i < n; i++)
        add_choice(r, context, all[i], all[i]);
    set_right(r, text(r, label), NULL, 0);
}

static void read_plain(struct reading *r)
{
    ask(r, text(r, "ctx|query|question|context|goal"),
        "endings|choices|options", "label|gold|answer");
    for (int i = 0; i < r->n; i++)
        r->choice[i].length[1] = 0;
}

static void read_hellaswag(struct reading *r)
{
    const char *all[MOST_CHOICES];
    const int n = list(r, "endings", all);
    struct buf b = BUF_INIT;

    buf_printf(&b, "%s: %s ", text(r, "activity_label"), text(r, "ctx_a"));
    add_capitalized(&b, text(r, "ctx_b"));
    for (int i = 0; i < n; i++) {
        all[i] = clean(r, all[i]);
        add_choice(r, clean(r, b.s), all[i], all[i]);
    }
    set_right(r, text(r, "label"), NULL, 0);
    buf_clear(&b);
}

/* Answers with letters, which the right one is named by. */
static void ask_lettered(struct reading *r, bool is_arc)
{
    const char *label[MOST_CHOICES], *all[MOST_CHOICES];
    const int n = list(r, "question.choices.text|choices.text", all);
    const int labels = list(r, "question.choices.label|choices.label", label);
    const char *stem = text(r, "question.stem|question_stem|question");

    if (is_arc)
        stem = arena_printf(&r->mem, "Question: %s\nAnswer:", stem);
    for (int i = 0; i < n; i++)
        add_choice(r, stem, all[i], all[i]);
    set_right(r, strip(r, text(r, "answerKey")), label, labels);
}

static void read_arc(struct reading *r)
{
    ask_lettered(r, true);
}

static void read_openbookqa(struct reading *r)
{
    ask_lettered(r, false);
}

static void add_two(struct reading *r, const char *context, const char *a,
                    const char *b)
{
    add_choice(r, context, a, a);
    add_choice(r, context, b, b);
}

static void read_piqa(struct reading *r)
{
    add_two(r, arena_printf(&r->mem, "Question: %s\nAnswer:", text(r, "goal")),
            text(r, "sol1"), text(r, "sol2"));
    set_right(r, text(r, "label"), NULL, 0);
}

static void read_boolq(struct reading *r)
{
    add_two(r,
            arena_printf(&r->mem, "%s\nQuestion: %s?\nAnswer:",
                         text(r, "passage"), text(r, "question")),
            "no", "yes");
    set_right(r, text(r, "label|answer"), NULL, 0);
}

/* Each option takes the place of the gap, and what follows is the same. */
static void read_winogrande(struct reading *r)
{
    static const char *const labels[] = { "1", "2" };
    const char *all = text(r, "sentence"), *gap = strchr(all, '_');

    for (int i = 0; i < 2; i++) {
        const char *option = text(r, i ? "option2" : "option1");
        const char *context = arena_printf(&r->mem, "%.*s%s",
                                           (int)strcspn(all, "_"), all, option);

        add_choice(r, context, context, gap ? strip(r, gap + 1) : "");
    }
    if (!gap)
        refuse(r, "there is no _ in the", 8, "sentence");
    set_right(r, text(r, "answer"), labels, 2);
}

/* Without the full stop of the premise, and with small letters after the
 * connective. */
static void read_copa(struct reading *r)
{
    const char *premise = strip(r, text(r, "premise")), *choice[2];
    const bool cause = strcmp(text(r, "question"), "cause") == 0;
    const int n = (int)strlen(premise);

    for (int i = 0; i < 2; i++) {
        const char *s = text(r, i ? "choice2" : "choice1");

        choice[i] =
            arena_printf(&r->mem, " %c%s",
                         *s ? tolower((unsigned char)*s) : ' ', *s ? s + 1 : s);
    }
    add_two(r,
            arena_printf(&r->mem, "%.*s %s", n > 0 ? n - 1 : 0, premise,
                         cause ? "because" : "therefore"),
            choice[0], choice[1]);
    set_right(r, text(r, "label"), NULL, 0);
}

static void read_sciq(struct reading *r)
{
    static const char *const keys[] = { "distractor1", "distractor2",
                                        "distractor3", "correct_answer" };
    const char *support = text(r, "support"), *end;
    const char *context = arena_printf(
        &r->mem, "%s\nQuestion: %s\nAnswer:", find_stripped(support, &end),
        text(r, "question"));

    for (int i = 0; i < 4; i++)
        add_choice(r, context, text(r, keys[i]), text(r, keys[i]));
    r->right = 3;
}

enum { HELLASWAG, TASKS = 10, PLAIN = TASKS - 1 };

static const struct task {
    const char *file;
    void (*read)(struct reading *);
} tasks[TASKS] = {
    [HELLASWAG] = { "hellaswag_val.jsonl", read_hellaswag },
    { "ARC-Easy-Test.jsonl", read_arc },
    { "ARC-Challenge-Test.jsonl", read_arc },
    { "openbookqa.jsonl", read_openbookqa },
    { "piqa.jsonl", read_piqa },
    { "boolq.jsonl", read_boolq },
    { "winogrande.jsonl", read_winogrande },
    { "copa.jsonl", read_copa },
    { "sciq.jsonl", read_sciq },
    [PLAIN] = { "questions.jsonl", read_plain },
};

const char *const multiple_choice_tasks[] = {
    "hellaswag",           "arc_easy", "arc_challenge",
    "openbookqa",          "piqa",     "boolq",
    "winogrande",          "copa",     "sciq",
    MULTIPLE_CHOICE_PLAIN, NULL,
};

const char *multiple_choice_file(int task)
{
    return tasks[task].file;
}

static int read_line(struct reading *r, const struct task *task,
                     const char *line, size_t n, struct err *e)
{
    json_error_t why;
    json_t *o = json_loadb(line, n, 0, &why);

    *r = (struct reading){ .line = o, .e = e };
    if (!o)
        return err_set(e, ERR_INPUT, "%s", why.text);
    task->read(r);
    json_decref(o);
    return r->bad ? -1 : 0;
}

/* Sums over the questions. */
enum { ASKED, RIGHT, CUT = RIGHT + LENGTHS, NONFINITE, TALLIES };

/* A continuation after its context, and its loss. */
struct request {
    int32_t *id; /* at most one more than the context of the model */
    int64_t n, begin;
    double length[LENGTHS];
    double loss;
    int of, right; /* of the first of a question: its choices */
};

struct questions {
    struct engine *engine;
    const struct task *task;
    struct request *request;
    struct request **longest; /* the same, the longest first */
    size_t n, room;
    double tally[TALLIES];
};

/* ---- questions --------------------------------------------------------- */

/* As the harness does: the tokens of the context, and of both together those
 * behind that many. */
static void add_request(struct questions *q, const struct choice *c)
{
    const struct tokenizer *t = q->engine->data.tokenizer;
    const size_t room = (size_t)q->engine->gpt.T + 1;
    char *both = xasprintf("%s%s", c->context, c->continuation);
    struct ids ids = { 0 }, all = { 0 };
    struct request *r;
    size_t begin, cut;

    if (!*c->context && tokenizer_eot(t) >= 0)
        ids_add(&ids, tokenizer_eot(t));
    tokenizer_encode(t, c->context, strlen(c->context), 0, &ids);
    tokenizer_encode(t, both, strlen(both), 0, &all);
    begin = ids.n ? ids.n : 1;
    for (size_t i = *c->context ? ids.n : 0; i < all.n; i++)
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
    for (int k = 0; k < LENGTHS; k++)
        r->length[k] =
            c->length[k] > 0 ? c->length[k] : (double)(r->n - r->begin);
    FREE(both, all.id);
}

static int add_question(struct questions *q, const char *line, size_t n,
                        bool own, struct err *e)
{
    const size_t at = q->n;
    struct reading r;
    int ret = read_line(&r, q->task, line, n, e);

    for (int i = 0; ret == 0 && own && i < r.n; i++) {
        log_debug("'%s' + '%s'", r.choice[i].context, r.choice[i].continuation);
        add_request(q, &r.choice[i]);
        q->request[at].of = r.n;
        q->request[at].right = r.right;
    }
    arena_clear(&r.mem);
    return ret;
}

/* Read all questions, and keep those of this rank, which has a share; *bytes is
 * the size of the file. */
static int read_questions(struct questions *q, const char *path, int64_t limit,
                          int shares, int64_t *bytes, struct err *e)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct buf text = BUF_INIT;
    int64_t at = 0;
    int ret = 0;

    if (fd < 0)
        return err_open(e, "cannot open %s", path);
    if (buf_read_open(&text, fd, path, MOST_TEXT, e) < 0)
        return -1;
    *bytes = (int64_t)text.len;
    for (const char *line = text.s;
         *line && (limit == 0 || at < limit) && ret == 0; at++) {
        const size_t n = strcspn(line, "\n");

        ret = add_question(q, line, n,
                           at % shares == q->engine->coll.rank % shares, e);
        if (ret < 0)
            err_wrap(e, "%s:%lld", path, (long long)at + 1);
        line += n + (line[n] == '\n');
    }
    buf_clear(&text);
    return ret < 0 || at > 0
               ? ret
               : err_set(e, ERR_INPUT, "%s contains no questions", path);
}

/* All ranks read the same, or none asks. */
static int agree_questions(struct questions *q, const char *path, int64_t bytes,
                           bool *unread, struct err *e)
{
    struct coll *c = &q->engine->coll;
    int64_t most = bytes, least = -bytes;

    if (coll_max(c, &most, e) < 0 || coll_max(c, &least, e) < 0) {
        *unread = false;
        return -1;
    }
    if (!*unread && most != -least)
        err_set(e, ERR_INPUT, "another rank does not read the same %s", path);
    *unread |= most != -least;
    return *unread ? -1 : 0;
}

/* ---- losses ------------------------------------------------------------ */

static int by_length(const void *a, const void *b)
{
    const struct request *x = *(struct request *const *)a;
    const struct request *y = *(struct request *const *)b;

    return x->n != y->n ? (x->n < y->n) - (x->n > y->n) : (x > y) - (x < y);
}

/* Score some requests, of which the first is the longest, in sequences that are
 * no longer than it needs, unless the device wants all of one size; returns how
 * many. */
static int score(struct engine *eng, struct request **r, size_t n,
                 struct err *e)
{
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
            done = score(eng, q->longest + at, q->n - at, e);
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
        for (int k = 0; k < LENGTHS; k++)
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
    /* without a loss, no choice is the likeliest */
    const double bad = t[NONFINITE] > 0 ? (double)NAN : 0;

    r->questions = (int64_t)n;
    r->acc = t[RIGHT] / n + bad;
    r->acc_stderr = sqrt(r->acc * (1 - r->acc) / (n - 1));
    r->acc_norm = t[RIGHT + 1] / n + bad;
    r->acc_bytes = t[RIGHT + 2] / n + bad;
    if (t[CUT] > 0 && q->engine->coll.rank == 0)
        log_warn("%.0f texts have lost their beginning to the model's context "
                 "of %lld tokens",
                 t[CUT], (long long)q->engine->gpt.T);
}

int multiple_choice_eval(struct engine *eng, int task, const char *path,
                         int64_t limit, struct multiple_choice_result *r,
                         struct err *e)
{
    /* where a forward needs all ranks, all of them answer every question */
    const int shares = parallel_gathers(&eng->parallel) ? 1 : eng->coll.size;
    struct questions q = { .engine = eng, .task = &tasks[task] };
    int64_t bytes = -1;
    int ret;

    *r = (struct multiple_choice_result){ .seconds = clock_mono() };
    if (!eng->data.tokenizer)
        return err_set(e, ERR_USAGE,
                       "questions need a tokenizer; set data.tokenizer");
    r->unread = read_questions(&q, path, limit, shares, &bytes, e) < 0;
    ret = agree_questions(&q, path, r->unread ? -1 : bytes, &r->unread, e);
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
    FREE(q.request, q.longest);
    r->seconds = clock_mono() - r->seconds;
    return ret;
}

int multiple_choice_set(struct engine *eng, struct multiple_choice_result *r,
                        struct err *e)
{
    const struct eval_settings *s = &eng->set->eval;
    const bool plain = s->hellaswag_style == HELLASWAG_PLAIN;

    return multiple_choice_eval(eng, plain ? PLAIN : HELLASWAG, s->hellaswag,
                                s->hellaswag_limit, r, e);
}
