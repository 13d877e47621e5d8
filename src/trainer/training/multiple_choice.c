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

enum { MOST_ENDINGS = 16, MOST_TEXT = 1 << 30 };

struct question {
    const char *context;
    const char *ending[MOST_ENDINGS];
    double length[MOST_ENDINGS]; /* that a loss is divided by; 0: its tokens */
    int n, right;
    struct arena mem;
};

/* Sums over the questions. */
enum { ASKED, RIGHT, RIGHT_NORM, CUT, NONFINITE, TALLIES };

/* The first of several names that the object has. */
static const json_t *get_first(const json_t *o, const char *const *names)
{
    const json_t *found = NULL;

    for (; *names && !found; names++)
        found = json_object_get(o, *names);
    return found;
}

static int read_question(const json_t *o, struct question *q, struct err *e)
{
    static const char *const contexts[] = { "ctx",     "query", "question",
                                            "context", "goal",  NULL };
    static const char *const endings[] = { "endings", "choices", "options",
                                           NULL };
    static const char *const labels[] = { "label", "gold", "answer", NULL };
    const json_t *list = get_first(o, endings), *label = get_first(o, labels);
    int64_t right = -1;

    q->context = json_string_value(get_first(o, contexts));
    q->n = (int)json_array_size(list);
    if (!q->context || !*q->context || q->n < 2 || q->n > MOST_ENDINGS)
        return err_set(e, ERR_INPUT, "a question needs ctx and 2 to %d endings",
                       MOST_ENDINGS);
    for (int i = 0; i < q->n; i++) {
        q->ending[i] = json_string_value(json_array_get(list, (size_t)i));
        if (!q->ending[i])
            return err_set(e, ERR_INPUT, "ending %d is not a string", i + 1);
    }
    if (json_is_integer(label))
        right = json_integer_value(label);
    else if (json_is_string(label))
        num_int(json_string_value(label), &right);
    if (right < 0 || right >= q->n)
        return err_set(e, ERR_INPUT,
                       "the label does not name one of the %d endings", q->n);
    q->right = (int)right;
    return 0;
}

/* ---- the texts of lm-evaluation-harness -------------------------------- */

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

/* Remove [anything] within a line. */
static void remove_brackets(struct buf *b)
{
    struct buf out = BUF_INIT;

    for (const char *at = b->s; *at;) {
        const char *end = *at == '[' ? strpbrk(at, "]\n") : NULL;

        if (end && *end == ']')
            at = end + 1;
        else
            buf_char(&out, *at++);
    }
    buf_clear(b);
    *b = out;
}

/* Without blanks at its ends: those of Unicode and four more, as in Python. */
static void add_stripped(struct buf *b, const char *text)
{
    const char *from = NULL, *to = text;

    for (const char *at = text, *next = text; *at; at = next) {
        const int32_t c = utf8_next(&next);

        if (unicode_class((uint32_t)c) == UNICODE_SPACE ||
            (c >= 0x1c && c <= 0x1f))
            continue;
        from = from ? from : at;
        to = next;
    }
    buf_add(b, from ? from : to, from ? (size_t)(to - from) : 0);
}

static const char *clean_text(struct question *q, const char *text)
{
    struct buf b = BUF_INIT;
    const char *clean;

    add_stripped(&b, text);
    replace_text(&b, " [title]", ". ");
    remove_brackets(&b);
    replace_text(&b, "  ", " ");
    clean = arena_strndup(&q->mem, b.s, b.len);
    buf_clear(&b);
    return clean;
}

/* The first letter large, the others small. */
static void add_capitalized(struct buf *out, const char *text)
{
    if (*text)
        buf_char(out, (char)toupper((unsigned char)*text++));
    while (*text)
        utf8_add(out, utf8_fold(utf8_next(&text)));
}

static void prepare_as_harness(const json_t *o, struct question *q)
{
    const char *label = json_string_value(json_object_get(o, "activity_label"));
    const char *a = json_string_value(json_object_get(o, "ctx_a"));
    const char *b = json_string_value(json_object_get(o, "ctx_b"));
    struct buf text = BUF_INIT;

    if (label)
        buf_printf(&text, "%s: ", label);
    if (a && b) {
        buf_printf(&text, "%s ", a);
        add_capitalized(&text, b);
    } else {
        buf_str(&text, q->context);
    }
    q->context = clean_text(q, text.s);
    buf_clear(&text);
    for (int i = 0; i < q->n; i++) {
        q->ending[i] = clean_text(q, q->ending[i]);
        q->length[i] = (double)utf8_count(q->ending[i]);
        log_debug("'%s' + ' %s'", q->context, q->ending[i]);
    }
}

/* ---- scores ------------------------------------------------------------ */

/* Put the tokens of context and ending into a row of the batch, with targets on
 * the ending only.  A text that is too long loses its beginning; returns
 * whether the ending did, too. */
static bool set_row(struct engine *eng, int64_t row, const struct question *q,
                    int ending)
{
    const int64_t T = eng->gpt.T;
    int32_t *x = eng->batch.x + row * T, *y = eng->batch.y + row * T;
    char *tail = xasprintf(" %s", q->ending[ending]);
    struct ids ids = { 0 };
    int64_t from, begin, n;

    tokenizer_encode(eng->data.tokenizer, q->context, strlen(q->context), 0,
                     &ids);
    begin = (int64_t)ids.n;
    tokenizer_encode(eng->data.tokenizer, tail, strlen(tail), ENCODER_CONTINUE,
                     &ids);
    n = (int64_t)ids.n;
    from = n > T + 1 ? n - T - 1 : 0;
    for (int64_t t = 0; t < T; t++) {
        const int64_t at = from + t;

        x[t] = at < n ? ids.id[at] : 0;
        y[t] = at + 1 < n && at + 1 >= begin ? ids.id[at + 1] : -1;
    }
    free(tail);
    free(ids.id);
    return n - begin > T;
}

/* The losses of the first rows of the batch. */
static int score_rows(struct engine *eng, int64_t rows, double *sum,
                      double *mean, struct err *e)
{
    const int64_t T = eng->gpt.T;

    if (engine_forward(eng, rows, e) < 0)
        return -1;
    for (int64_t r = 0; r < rows; r++) {
        int64_t n = 0;

        sum[r] = 0;
        for (int64_t t = 0; t < T; t++)
            if (eng->batch.y[r * T + t] >= 0) {
                sum[r] += (double)eng->batch.losses[r * T + t];
                n++;
            }
        mean[r] = sum[r] / (double)(n ? n : 1);
    }
    return 0;
}

static int find_least(const double *x, int n)
{
    int best = 0;

    for (int i = 1; i < n; i++)
        if (x[i] < x[best])
            best = i;
    return best;
}

/* Score the endings of one question, as many at a time as a batch has rows. */
static int ask_question(struct engine *eng, const struct question *q,
                        double tally[TALLIES], struct err *e)
{
    double sum[MOST_ENDINGS], mean[MOST_ENDINGS];
    int64_t rows;

    for (int done = 0; done < q->n; done += (int)rows) {
        rows = q->n - done < eng->gpt.B ? q->n - done : eng->gpt.B;
        for (int i = 0; i < rows; i++)
            tally[CUT] += set_row(eng, i, q, done + i);
        if (score_rows(eng, rows, sum + done, mean + done, e) < 0)
            return -1;
    }
    for (int i = 0; i < q->n; i++) {
        if (q->length[i] > 0)
            mean[i] = sum[i] / q->length[i];
        tally[NONFINITE] += !isfinite(sum[i]);
    }
    tally[ASKED]++;
    tally[RIGHT] += find_least(sum, q->n) == q->right;
    tally[RIGHT_NORM] += find_least(mean, q->n) == q->right;
    return 0;
}

/* Without an engine, the line is only checked. */
static int ask_line(struct engine *eng, const char *line, size_t n,
                    double tally[TALLIES], struct err *e)
{
    json_error_t why;
    json_t *o = json_loadb(line, n, 0, &why);
    struct question q = { 0 };
    int ret = -1;

    if (!o)
        err_set(e, ERR_INPUT, "%s", why.text);
    else
        ret = read_question(o, &q, e);
    if (ret == 0 && eng) {
        if (eng->set->eval.hellaswag_style == HELLASWAG_HARNESS)
            prepare_as_harness(o, &q);
        ret = ask_question(eng, &q, tally, e);
    }
    arena_clear(&q.mem);
    json_decref(o);
    return ret;
}

static size_t line_length(const char *line)
{
    const size_t n = strcspn(line, "\n");

    return n + (line[n] == '\n');
}

/* Read the file, and check what will be asked. */
static int read_questions(struct buf *text, const char *path, int64_t limit,
                          struct err *e)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    int64_t at = 0;

    if (fd < 0)
        return err_open(e, "cannot open %s", path);
    if (buf_read_open(text, fd, path, MOST_TEXT, e) < 0)
        return -1;
    for (const char *line = text->s; *line && (limit == 0 || at < limit);) {
        const size_t n = line_length(line);

        at++;
        if (ask_line(NULL, line, n, NULL, e) < 0)
            return err_wrap(e, "%s:%lld", path, (long long)at);
        line += n;
    }
    return at > 0 ? 0 : err_set(e, ERR_INPUT, "%s contains no questions", path);
}

/* All ranks read the same, or none asks. */
static int agree_questions(struct engine *eng, const char *path, int64_t bytes,
                           bool *unread, struct err *e)
{
    int64_t most = bytes, least = -bytes;

    if (coll_max(&eng->coll, &most, e) < 0 ||
        coll_max(&eng->coll, &least, e) < 0) {
        *unread = false;
        return -1;
    }
    if (!*unread && most != -least)
        err_set(e, ERR_INPUT, "another rank does not read the same %s", path);
    *unread |= most != -least;
    return *unread ? -1 : 0;
}

static int ask_all(struct engine *eng, const char *text, int64_t limit,
                   double tally[TALLIES], bool *stopped, struct err *e)
{
    /* where a forward needs all ranks, all of them answer every question */
    const int shares = parallel_gathers(&eng->parallel) ? 1 : eng->coll.size;
    size_t n;

    for (int64_t at = 0; *text && (limit == 0 || at < limit); at++) {
        n = line_length(text);
        if (at % shares == 0 &&
            eval_check_signals(eng, at / shares, stopped, e) < 0)
            return -1;
        if (*stopped)
            return 0;
        if (at % shares == eng->coll.rank % shares &&
            ask_line(eng, text, n, tally, e) < 0)
            return -1;
        text += n;
    }
    return shares > 1 ? coll_sum_f64(&eng->coll, tally, TALLIES, e) : 0;
}

int multiple_choice_eval(struct engine *eng, const char *path, int64_t limit,
                         struct multiple_choice_result *r, struct err *e)
{
    const double before = clock_mono();
    double tally[TALLIES] = { 0 };
    struct buf text = BUF_INIT;
    int ret;

    *r = (struct multiple_choice_result){ 0 };
    if (!eng->data.tokenizer)
        return err_set(e, ERR_USAGE,
                       "questions need a tokenizer; set data.tokenizer");
    r->unread = read_questions(&text, path, limit, e) < 0;
    ret = agree_questions(eng, path, r->unread ? -1 : (int64_t)text.len,
                          &r->unread, e);
    if (ret == 0)
        ret = ask_all(eng, text.s, limit, tally, &r->stopped, e);
    buf_clear(&text);
    if (ret < 0 || r->stopped)
        return ret;
    if (tally[CUT] > 0 && eng->coll.rank == 0)
        log_warn("endings cut to the model's context of %lld tokens: %.0f",
                 (long long)eng->gpt.T, tally[CUT]);
    if (tally[NONFINITE] > 0) /* then no ending is the likeliest */
        tally[RIGHT] = tally[RIGHT_NORM] = (double)NAN;
    r->questions = (int64_t)tally[ASKED];
    r->acc = tally[RIGHT] / tally[ASKED];
    r->acc_norm = tally[RIGHT_NORM] / tally[ASKED];
    r->seconds = clock_mono() - before;
    return 0;
}
