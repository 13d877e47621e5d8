#include "config.h"
#include "trainer/replay/bisect.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/hash.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/sha256.h"
#include "common/spawn.h"
#include "common/utf8.h"
#include "store/format/info.h"
#include "trainer/checkpoint/checkpoint_files.h"

/* ---- computing -------------------------------------------------------- */

/* On a CPU, compute with the instructions of the run, if they are known. */
static int compute_as(const struct run_info *run, int64_t step,
                      const char *const *argv, struct spawn *s, struct err *e)
{
    const char *device = changed_param(run, "derived.device", step);
    const char *instructions = changed_param(run, "derived.instructions", step);
    const char *given = getenv("GTRAIN_ISA");
    AUTO_FREE char *before = given ? xstrdup(given) : NULL;
    int ret;

    if (device && instructions && strcmp(device, "cpu") == 0)
        setenv("GTRAIN_ISA", instructions, 1);
    ret = spawn_run(argv, s, e);
    if (before)
        setenv("GTRAIN_ISA", before, 1);
    else
        unsetenv("GTRAIN_ISA");
    return ret;
}

static void add_word(struct path_list *argv, const char *word)
{
    path_list_add(argv, xstrdup(word));
}

/* Run `gtrain WORDS` for a run, with the instructions that it had at a step;
 * `words` ends with NULL, and the rows that it prints are appended. */
static int compute(struct buf *out, const struct bisect_run *r, int64_t step,
                   const char *const *words, struct err *e)
{
    AUTO(path_list_clear) struct path_list argv = { 0 };
    struct spawn s = { .out = out, .quiet = true, .max = (size_t)2 << 30 };
    int ret;

    add_word(&argv, r->build);
    while (*words)
        add_word(&argv, *words++);
    add_word(&argv, "-q");
    add_word(&argv, "--tsv");
    add_word(&argv, "--no-header");
    add_word(&argv, "--root");
    add_word(&argv, r->root);
    for (size_t i = 0; i < r->sets->n; i++) {
        add_word(&argv, "--set");
        add_word(&argv, r->sets->item[i]);
    }
    path_list_add(&argv, NULL);
    ret = compute_as(r->run, step, (const char *const *)argv.name, &s, e);
    return ret < 0 ? err_wrap(e, "cannot compute %s again", r->run->name) : 0;
}

/* ---- reading ---------------------------------------------------------- */

static int read_rows(struct bisect_rows *t, struct err *e)
{
    char *at = t->text.s, *line;

    while ((line = strsep(&at, "\n")) && *line) {
        struct bisect_row row = { 0 };
        const char *step = strsep(&line, "\t");

        row.micro = strsep(&line, "\t");
        row.operation = strsep(&line, "\t");
        row.tensor = strsep(&line, "\t");
        row.hash = strsep(&line, "\t");
        row.size = line;
        if (!row.size || !num_int(step, &row.step))
            return err_input(e, "gtrain replay printed '%s'", step);
        APPEND(t->row, t->n, t->room) = row;
    }
    return 0;
}

int bisect_trace(struct bisect_rows *t, const struct bisect_run *r,
                 int64_t first, int64_t last, enum trace_kind kind,
                 struct err *e)
{
    AUTO_FREE char *steps = xasprintf("%" PRId64 ":%" PRId64, first, last);
    const char *const words[] = { "replay", r->run->id, "--steps",
                                  steps,    "--trace",  trace_words[kind],
                                  NULL };

    bisect_trace_clear(t);
    if (compute(&t->text, r, first, words, e) < 0)
        return -1;
    return read_rows(t, e);
}

void bisect_trace_clear(struct bisect_rows *t)
{
    buf_clear(&t->text);
    free(t->row);
    *t = BISECT_ROWS_INIT;
}

/* ---- comparing -------------------------------------------------------- */

static bool is_same_tensor(const struct bisect_row *a,
                           const struct bisect_row *b)
{
    return a->step == b->step && strcmp(a->tensor, b->tensor) == 0 &&
           strcmp(a->micro, b->micro) == 0 &&
           (*a->micro || strcmp(a->operation, b->operation) == 0);
}

bool bisect_trace_diverge(const struct bisect_rows *a,
                          const struct bisect_rows *b,
                          const struct bisect_row **row_a,
                          const struct bisect_row **row_b)
{
    size_t from = 0;

    for (size_t i = 0; i < a->n; i++) {
        size_t k = from;

        while (k < b->n && !is_same_tensor(&a->row[i], &b->row[k]))
            k++;
        if (k == b->n)
            continue;
        from = k + 1;
        *row_a = &a->row[i];
        *row_b = &b->row[k];
        if (strcmp((*row_a)->hash, (*row_b)->hash) != 0)
            return true;
    }
    return false;
}

/* ---- documents -------------------------------------------------------- */

/* The rows of a batch, one string after the other: the loss, the tokens, the
 * sequence, the position, the source of a mixture, and the text. */
static int compute_documents(struct buf *rows, const struct bisect_run *r,
                             int64_t step, struct err *e)
{
    AUTO_FREE char *number = xasprintf("%" PRId64, step);
    const char *const words[] = { "batch", r->run->id, number, "-n",
                                  "0",     "--whole",  NULL };
    const int ret = compute(rows, r, step, words, e);

    for (char *at = rows->s; (at = strchr(at, '\n')); at++)
        *at = '\0';
    return ret;
}

/* The text of the first document of a sequence at or after a position, which
 * becomes its own; or NULL. */
static const char *find_document(const struct buf *rows, int64_t sequence,
                                 int64_t *position)
{
    const int64_t from = *position;
    const char *text = NULL;

    for (const char *row = rows->s; row < rows->s + rows->len;
         row += strlen(row) + 1) {
        int64_t of, at;

        if (sscanf(row, "%*f %*d %" SCNd64 " %" SCNd64, &of, &at) == 2 &&
            of == sequence && at >= from && (!text || at < *position)) {
            text = str_after(row, '\t');
            *position = at;
        }
    }
    return text;
}

/* Some text from shortly before byte `at` on. */
static void add_text(struct table *t, const char *text, size_t at)
{
    enum { BEFORE = 20, SHOWN = 60 };
    const char *from = text + (at > BEFORE ? at - BEFORE : 0);
    AUTO(buf_clear) struct buf clean = BUF_INIT;

    utf8_clean(&clean, from, strnlen(from, SHOWN));
    table_text(t, clean.s);
}

int bisect_document(struct table *t, const struct bisect_run *a,
                    const struct bisect_run *b, int64_t step, int64_t sequence,
                    struct err *e)
{
    AUTO(buf_clear) struct buf of_a = BUF_INIT, of_b = BUF_INIT;
    int ret = compute_documents(&of_a, a, step, e);
    const char *x, *y;

    if (ret == 0)
        ret = compute_documents(&of_b, b, step, e);
    for (int64_t at = 0; ret == 0 && (x = find_document(&of_a, sequence, &at));
         at++) {
        int64_t other = at;
        size_t same = 0;

        y = find_document(&of_b, sequence, &other);
        y = y && other == at ? y : "";
        while (x[same] && x[same] == y[same])
            same++;
        if (x[same] == y[same])
            continue;
        table_text(t, "data");
        table_printf(t, "document at position %" PRId64 " of sequence %" PRId64,
                     at, sequence);
        add_text(t, x, same);
        add_text(t, y, same);
        break;
    }
    return ret;
}

/* ---- facts ------------------------------------------------------------ */

/* Facts whose names begin so, the likeliest causes first.  A name that begins
 * like two rows belongs to the first. */
static const struct fact {
    const char *begins, *kind;
    unsigned places;
    bool of_build; /* counts only if the builds differ, too */
} facts[] = {
    { "train.seed", "seed", PART_ANYWHERE },
    { "derived.data.train", "data", PART_DATA },
    { "derived.tokenizer", "data", PART_DATA | PART_STATE },
    { "derived.teacher", "data", PART_COMPUTE },
    { "data.val", NULL, 0 },
    { "data.", "data", PART_DATA },
    { "optim.", "setting", PART_UPDATE },
    { "schedule.", "setting", PART_UPDATE },
    { "model.", "setting", PART_STATE | PART_COMPUTE },
    { "train.device", "device", PART_COMPUTE | PART_UPDATE },
    { "train.threads", NULL, 0 },
    { "train.", "setting", PART_DATA | PART_COMPUTE | PART_UPDATE },
    { "parallel.", "setting", PART_COMPUTE | PART_UPDATE },
    { "derived.device", "device", PART_COMPUTE | PART_UPDATE | PART_STATE },
    { "derived.instructions", "kernel",
      PART_COMPUTE | PART_UPDATE | PART_STATE },
    { "derived.ranks", "kernel", PART_COMPUTE },
    { "derived.threads", "kernel", PART_COMPUTE },
    { "mlflow.source.git.commit", "code", PART_ANYWHERE, true },
    { "mlflow.source.git.diff", "code", PART_ANYWHERE, true },
    { "derived.build", "build", PART_ANYWHERE },
    { "gtrack.libraries", "library", PART_COMPUTE | PART_UPDATE | PART_STATE },
    { "gtrack.driver", "library", PART_COMPUTE | PART_UPDATE | PART_STATE },
    { "gtrack.gpus", "machine", PART_COMPUTE | PART_UPDATE },
    { "gtrack.cpu", "machine", PART_COMPUTE | PART_UPDATE },
};

enum { FACTS = sizeof facts / sizeof facts[0] };

static const struct fact *find_fact(const char *key)
{
    for (int i = 0; i < FACTS; i++)
        if (strncmp(key, facts[i].begins, strlen(facts[i].begins)) == 0)
            return &facts[i];
    return NULL;
}

/* As it was at the step. */
static const char *find_value(const struct run_info *r, bool tag,
                              const char *key, int64_t step)
{
    return tag ? run_info_tag(r, key) : changed_param(r, key, step);
}

static bool has_word(const char *s, const char *word, size_t n)
{
    for (; *s; s += strspn(s, " ")) {
        const size_t len = strcspn(s, " ");

        if (len == n && strncmp(s, word, n) == 0)
            return true;
        s += len;
    }
    return false;
}

/* The words of a list, as of libraries, that the other list lacks. */
static void add_words(struct table *t, const char *s, const char *other)
{
    AUTO(buf_clear) struct buf words = BUF_INIT;

    for (; *s; s += strspn(s, " ")) {
        const size_t len = strcspn(s, " ");

        if (!has_word(other, s, len))
            buf_printf(&words, "%s%.*s", words.len ? " " : "", (int)len, s);
        s += len;
    }
    table_text(t, words.s);
}

/* A value in the table: its first line, or what the other value lacks. */
static void add_value(struct table *t, const char *key, const char *s,
                      const char *other)
{
    if (s && other && strcmp(key, "gtrack.libraries") == 0)
        add_words(t, s, other);
    else
        table_text(t, s ? arena_strndup(&t->mem, s, strcspn(s, "\n")) : NULL);
}

/* The pairs of one run, compared with the other's; with `only`, those alone
 * that the other lacks. */
static void add_pairs(struct table *t, const struct fact *f,
                      const struct run_info *r, const struct run_info *other,
                      int64_t step, bool tag, bool only)
{
    const struct pair *pair = tag ? r->tags : r->params;
    const size_t n = tag ? r->n_tags : r->n_params;

    for (size_t i = 0; i < n; i++) {
        const char *own = find_value(r, tag, pair[i].key, step);
        const char *value = find_value(other, tag, pair[i].key, step);

        if (find_fact(pair[i].key) != f || (only && value) ||
            (value && strcmp(value, own) == 0))
            continue;
        table_text(t, f->kind);
        table_text(t, pair[i].key);
        add_value(t, pair[i].key, only ? NULL : own, value);
        add_value(t, pair[i].key, only ? own : value, only ? NULL : own);
    }
}

/* Builds are compared by their programs, not by the commit of the folder. */
static bool is_same_build(const struct run_info *a, const struct run_info *b,
                          int64_t step)
{
    const char *x = changed_param(a, "derived.build", step);
    const char *y = changed_param(b, "derived.build", step);

    return x && y && strcmp(x, y) == 0;
}

void bisect_facts(struct table *t, const struct run_info *a,
                  const struct run_info *b, int64_t step,
                  enum bisect_place place)
{
    const bool same_build = is_same_build(a, b, step);

    for (int i = 0; i < FACTS; i++) {
        if (!(facts[i].places & place) || (facts[i].of_build && same_build))
            continue;
        for (int tag = 0; tag < 2; tag++) {
            add_pairs(t, &facts[i], a, b, step, tag, false);
            add_pairs(t, &facts[i], b, a, step, tag, true);
        }
    }
}

/* ---- traces ------------------------------------------------------------- */

const char *const trace_words[] = { "none", "steps", "operations", "data",
                                    NULL };

struct trace {
    struct table *table;
    struct certify *c;
    enum trace_kind kind;
    int64_t step, micro; /* of the next row */
};

/* ---- rows ------------------------------------------------------------- */

static void begin_row(struct trace *t, int64_t micro, const char *operation,
                      const char *tensor)
{
    table_int(t->table, t->step);
    table_int_or_none(t->table, micro);
    table_text(t->table, operation);
    table_text(t->table, tensor);
}

static void end_row(struct trace *t, struct hash128 h, double size)
{
    table_printf(t->table, "%016" PRIx64 "%016" PRIx64, h.hi, h.lo);
    table_real_or_none(t->table, size);
}

static void add_number(struct trace *t, const char *name, double x)
{
    begin_row(t, -1, "step", name);
    end_row(t, hash128(&x, sizeof x, 0), x);
}

static double root_mean_square(const float *x, int64_t n)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++)
        sum += (double)x[i] * (double)x[i];
    return n ? sqrt(sum / (double)n) : 0;
}

/* ---- the weights and the moments -------------------------------------- */

/* One block of the state: a row for each parameter, or one for all. */
static void add_block(struct trace *t, const char *name, const float *block)
{
    const struct graph *g = &t->c->engine->gpt.graph;
    struct hash128 all = { 0, 0 };
    double squares = 0, count = 0;

    for (int i = 0; i < g->n_params; i++) {
        const struct graph_param *p = &g->param[i];
        const int64_t n = p->count;
        const float *x = block + p->at;
        const struct hash128 h = hash128(x, (size_t)n * sizeof *x, all.lo);
        const double size = root_mean_square(x, n);

        if (t->kind == TRACE_OPERATIONS) {
            begin_row(t, -1, name, p->name);
            end_row(t, hash128(x, (size_t)n * sizeof *x, 0), size);
        }
        all = h;
        squares += size * size * (double)n;
        count += (double)n;
    }
    if (t->kind == TRACE_STEPS) {
        begin_row(t, -1, "state", name);
        end_row(t, all, count > 0 ? sqrt(squares / count) : 0);
    }
}

static int add_state(struct trace *t, struct err *e)
{
    struct engine *eng = t->c->engine;
    AUTO(checkpoint_copy_clear) struct checkpoint_copy s = { 0 };
    const int ret = checkpoint_copy_take(&s, eng, "", e);

    if (ret == 0 && eng->coll.rank == 0) {
        add_block(t, "weights", s.weights);
        add_block(t, "first moments", s.m);
        if (s.v)
            add_block(t, "second moments", s.v);
    }
    return ret;
}

/* ---- operations ------------------------------------------------------- */

/* The ids of a micro-batch, a row for each sequence. */
static void add_ids(struct trace *t, const struct observed *o)
{
    struct mixture *m = t->c->engine->data.train;
    const struct engine *eng = t->c->engine;
    const int64_t T = eng->gpt.T;
    const int32_t *id = o->data;
    char name[128];

    for (int64_t i = 0; i < o->n / T; i++) {
        const int64_t at = t->micro * eng->gpt.B + i;
        const char *source =
            mixture_name(m, mixture_source(m, engine_sequences(eng) + at));

        snprintf(name, sizeof name, "%s of %s%ssequence %" PRId64, o->tensor,
                 source, *source ? " in " : "", at);
        begin_row(t, t->micro, o->operation, name);
        end_row(t, hash128(id + i * T, (size_t)T * sizeof *id, 0), (double)NAN);
    }
}

static int add_result(void *arg, const struct observed *o, struct err *e UNUSED)
{
    struct trace *t = arg;
    const size_t bytes = (size_t)o->n * (o->type == DT_F32 ? 4 : 2);
    double squares = 0;
    char name[96];

    if (o->type == DT_I32) {
        add_ids(t, o);
        return 0;
    }
    for (int64_t i = 0; i < o->n; i++)
        squares += pow(observed_number(o, i), 2);
    snprintf(name, sizeof name, "%s%s", o->gradient ? "gradient of " : "",
             o->tensor);
    begin_row(t, t->micro, o->operation, name);
    end_row(t, hash128(o->data, bytes, 0), sqrt(squares / (double)o->n));
    return 0;
}

static void begin_micro(void *arg, int64_t done, int64_t all UNUSED,
                        int64_t left UNUSED)
{
    struct trace *t = arg;
    const struct coll *coll = &t->c->engine->coll;

    t->micro = done * coll->size + coll->rank;
}

/* ---- the whole -------------------------------------------------------- */

static int add_step(struct trace *t, struct err *e)
{
    struct step *s = &t->c->step;

    t->step++;
    if (t->kind == TRACE_OPERATIONS && t->c->engine->coll.rank == 0) {
        s->on_micro = begin_micro;
        s->observe = add_result;
        s->arg = s->observe_arg = t;
    }
    if (certify_compute(t->c, e) < 0)
        return -1;
    if (t->c->engine->coll.rank == 0) {
        add_number(t, "loss", s->loss);
        add_number(t, "norm of the gradient", s->norm);
        add_number(t, "learning rate", s->lr);
    }
    return add_state(t, e);
}

/* The hash of each shard of a source. */
static int add_shards(struct trace *t, const char *source,
                      const struct loader *data, struct err *e)
{
    char sum[SHA256_TEXT], name[320];
    int64_t size;

    for (int64_t i = 0; i < loader_shards(data); i++) {
        const char *path = loader_path(data, i);

        if (sha256_file(path, sum, &size, e) < 0)
            return -1;
        snprintf(name, sizeof name, "%s%s%s", source, *source ? ": " : "",
                 path_name(path));
        begin_row(t, -1, "shard", name);
        table_text(t->table, sum);
        table_none(t->table);
    }
    return 0;
}

static int add_sources(struct trace *t, struct err *e)
{
    const struct mixture *m = t->c->engine->data.train;

    for (size_t k = 0; k < mixture_sources(m); k++)
        if (add_shards(t, mixture_name(m, k), mixture_loader(m, k), e) < 0)
            return -1;
    return 0;
}

int trace_steps(struct table *table, struct certify *c, int64_t first,
                int64_t last, enum trace_kind kind, struct err *e)
{
    struct trace t = {
        .table = table, .c = c, .kind = kind, .step = first - 1
    };

    table_columns(table, "step", "micro-batch", "operation", "tensor", "hash",
                  "size", NULL);
    if (kind == TRACE_DATA)
        return c->engine->coll.rank == 0 ? add_sources(&t, e) : 0;
    if (certify_advance(c, first, e) < 0 || add_state(&t, e) < 0)
        return -1;
    while (t.step < last)
        if (add_step(&t, e) < 0)
            return err_wrap(e, "step %" PRId64, t.step);
    return 0;
}
