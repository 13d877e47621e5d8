/*
 * gtrain batch - show the documents of a step, and their losses
 *
 * Computes the step again from the nearest checkpoint before it, so that the
 * losses are the ones that training had.
 */
#include "config.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/output/table.h"
#include "common/utf8.h"
#include "store/analysis/spike.h"
#include "trainer/replay/certify.h"
#include "trainer/replay/recorded_run.h"
#include "data/corpus/corpus.h"

static struct recorded_run recorded = RECORDED_RUN_INIT;
static bool list_spikes, whole;
static int64_t limit = 20;
static const char *field;
static struct opt_list sources;
static struct table_style style;
static int64_t wanted; /* the step */

static const struct opt batch_opts[] = {
    { 0, "spikes", NULL, OPT_FLAG, &list_spikes,
      "list the steps with a spike, instead of a batch" },
    { 'n', "limit", "n", OPT_LONG, &limit,
      "show the N documents with the highest loss; 0: all (default: 20)",
      .range = OPT_FROM(0) },
    { 0, "whole", NULL, OPT_FLAG, &whole,
      "show the whole text, not only its beginning" },
    { 0, "source", "path", OPT_LIST, &sources,
      "find the file and line of each document in PATH (may be repeated)" },
    { 0, "field", "name", OPT_STRING, &field,
      "read this field of JSON or column of Parquet (default: text)" },
    RECORDED_RUN_OPTS(recorded),
    TABLE_OPTS(style),
    { 0 }
};

/* A document, or the part of it that lies in one sequence. */
struct part {
    int64_t sequence, position; /* of its first token */
    int64_t targets;            /* tokens that have a loss */
    double loss;                /* their sum */
    const char *source;         /* of a mixture, or "" */
    struct buf text;
    char *file;   /* where it was found, or NULL */
    int64_t line; /* of the part in plain text, else of its document; in
                   * Parquet, the row */
};

struct parts {
    struct part *part;
    size_t n, room;
};

/* ---- where they come from ---------------------------------------------- */

/*
 * The documents are read once, until all parts are found.  A part is found
 * where its first LOCATE_MOST bytes occur within a document; the first such
 * place counts.  Parts shorter than LOCATE_LEAST bytes are not looked for.
 * Longer pieces would take memmem() more than twice the time.
 */
enum { LOCATE_LEAST = 24, LOCATE_MOST = 256 };

/* Does the document have the part?  Then note the place. */
static bool look_for(struct part *p, const struct corpus_block *b,
                     const struct corpus_doc *d)
{
    const size_t all = p->text.len;
    const char *at = memmem(d->text, d->len, p->text.s,
                            all < LOCATE_MOST ? all : LOCATE_MOST);

    if (!at)
        return false;
    p->file = xstrdup(b->file);
    p->line =
        d->line +
        (b->json ? 0 : boundary_count_lines(d->text, (size_t)(at - d->text)));
    return true;
}

/* Find the first n parts in --source. */
static int locate(struct part *part, size_t n, struct err *e)
{
    const struct corpus_conf conf = {
        .path = (char *const *)(uintptr_t)sources.item,
        .n = sources.n,
        .field = field
    };
    AUTO_FREE struct part **left = xcalloc(n + 1, sizeof *left);
    struct corpus *corpus = NULL;
    struct corpus_block *b;
    int got = corpus_open(&corpus, &conf, e);
    size_t k = 0;

    for (size_t i = 0; i < n; i++)
        if (part[i].text.len >= LOCATE_LEAST)
            left[k++] = &part[i];
    while (got >= 0 && k > 0 && (got = corpus_next(corpus, &b, e)) > 0) {
        for (size_t i = 0; i < b->n; i++)
            for (size_t j = k; j-- > 0;)
                if (look_for(left[j], b, &b->doc[i]))
                    left[j] = left[--k];
        corpus_done(corpus, b);
    }
    corpus_close(corpus);
    return got < 0 ? -1 : 0;
}

/* ---- the documents ---------------------------------------------------- */

static struct part *add_part(struct parts *p, int64_t sequence, int64_t at,
                             const char *source)
{
    GROW(p->part, p->n, p->room);
    p->part[p->n] = (struct part){
        .sequence = sequence, .position = at, .source = source, .text = BUF_INIT
    };
    return &p->part[p->n++];
}

/* A target belongs to a new document if the token before it ends one. */
static void add_sequence(struct parts *p, const struct engine *eng,
                         int64_t sequence, const int32_t *x, const int32_t *y,
                         const float *losses)
{
    const char *source = mixture_name(
        eng->data.train,
        mixture_source(eng->data.train, engine_sequences(eng) + sequence));
    const struct tokenizer *t = eng->data.tokenizer;
    const int32_t eot = t ? tokenizer_eot(t) : -1;
    struct part *part = NULL;

    for (int64_t i = 0; i < eng->gpt.T; i++) {
        if (!part || (eot >= 0 && x[i] == eot))
            part = add_part(p, sequence, i, source);
        if (y[i] < 0)
            continue;
        part->loss += (double)losses[i];
        part->targets++;
        if (t && y[i] != eot)
            tokenizer_decode(t, &y[i], 1, &part->text);
    }
}

/* Read the batch of the step that was just computed once more. */
static int list_parts(struct parts *p, struct engine *eng, const struct step *s,
                      struct err *e)
{
    const int64_t B = eng->gpt.B, T = eng->gpt.T;

    for (int64_t i = 0; i * B * T < s->tokens; i++) {
        if (engine_read_train(eng, step_first_window(eng, i), B, e) < 0)
            return -1;
        for (int64_t b = 0; b < B && (i * B + b) * T < s->tokens; b++)
            add_sequence(p, eng, i * B + b, eng->batch.x + b * T,
                         eng->batch.y + b * T,
                         eng->batch.losses + (i * B + b) * T);
    }
    return 0;
}

static double mean_loss(const struct part *p)
{
    return p->targets ? p->loss / (double)p->targets : 0;
}

static int compare_losses(const void *a, const void *b)
{
    const double x = mean_loss(a), y = mean_loss(b);

    return (x < y) - (x > y);
}

static void clear_parts(struct parts *p)
{
    for (size_t i = 0; i < p->n; i++) {
        buf_clear(&p->part[i].text);
        free(p->part[i].file);
    }
    free(p->part);
}

/* ---- the table -------------------------------------------------------- */

enum { TEXT_SHOWN = 200 };

static void add_text(struct table *t, const struct buf *text)
{
    const size_t n = whole || text->len < TEXT_SHOWN ? text->len : TEXT_SHOWN;
    AUTO(buf_clear) struct buf clean = BUF_INIT;

    utf8_clean(&clean, text->s, n);
    table_text(t, clean.s);
}

static void add_row(struct table *t, const struct part *p)
{
    table_real(t, mean_loss(p));
    table_int(t, p->targets);
    table_int(t, p->sequence);
    table_int(t, p->position);
    if (p->file)
        table_printf(t, "%s:%" PRId64, p->file, p->line);
    else if (sources.n > 0)
        table_none(t);
    if (*p->source)
        table_text(t, p->source);
    add_text(t, &p->text);
}

static int print_parts(struct parts *p, struct err *e)
{
    const size_t n = limit > 0 && (size_t)limit < p->n ? (size_t)limit : p->n;
    struct table t = TABLE_INIT("gtrain.batch/1");
    int ret;

    qsort(p->part, p->n, sizeof *p->part, compare_losses);
    ret = sources.n > 0 ? locate(p->part, n, e) : 0;
    table_columns(&t, "loss", "tokens", "sequence", "position", NULL);
    if (sources.n > 0)
        table_column(&t, "place");
    if (p->n > 0 && *p->part[0].source)
        table_column(&t, "source");
    table_column(&t, "text");
    for (size_t i = 0; i < n; i++)
        add_row(&t, &p->part[i]);
    ret = table_finish(&t, ret, &style, e);
    if (ret == 0 && n < p->n)
        log_info("%zu of %zu documents; -n 0 shows all", n, p->n);
    return ret;
}

static int show_batch(struct engine *eng, const struct run_info *run,
                      struct err *e)
{
    AUTO(clear_parts) struct parts p = { 0 };
    AUTO(certify_close) struct certify c = { 0 };

    if (certify_open(&c, eng, run, wanted, e) < 0)
        return -1;
    if (wanted > eng->set->is.steps)
        return err_usage(e, "%s has %" PRId64 " steps", run->name,
                         eng->set->is.steps);
    if (certify_advance(&c, wanted, e) < 0)
        return -1;
    c.step.keep_losses = true;
    if (step_compute(&c.step, eng, NULL, e) < 0 ||
        list_parts(&p, eng, &c.step, e) < 0)
        return -1;
    log_info("%s, step %" PRId64 ": loss %.4f", run->name, wanted, c.step.loss);
    return print_parts(&p, e);
}

/* ---- spikes ----------------------------------------------------------- */

/* The metrics that record an event at a step. */
static const char *const events[] = { "event/ignored", "event/skipped",
                                      "event/rollback", "event/stopped" };

enum { EVENTS = sizeof events / sizeof events[0] };

static const char *event_word(int k)
{
    return strchr(events[k], '/') + 1;
}

static const char *find_event(const struct series *event, int64_t step)
{
    double value;

    for (int k = 0; k < EVENTS; k++)
        if (series_value(&event[k], step, &value))
            return event_word(k);
    return NULL;
}

static void add_point(struct table *t, const struct series *loss, size_t i,
                      struct spike_window *window, const struct series *event)
{
    const char *what = find_event(event, loss->step[i]);
    double mid;
    const double z = spike_score(window, loss->value[i], &mid);

    if (isfinite(loss->value[i]) && !(z > SPIKE_DEVIATIONS) && !what)
        return;
    table_int(t, loss->step[i]);
    table_real(t, loss->value[i]);
    table_real_or_none(t, mid);
    table_real_or_none(t, z);
    table_text(t, what);
}

/* Training does not record the loss of a step that stopped it. */
static void add_lost(struct table *t, const struct series *loss, int k,
                     const struct series *event)
{
    double value;

    for (size_t i = 0; i < event->n; i++) {
        if (series_value(loss, event->step[i], &value))
            continue;
        table_int(t, event->step[i]);
        for (int n = 0; n < 3; n++)
            table_none(t);
        table_text(t, event_word(k));
    }
}

/* The steps with a spike, with a loss that is not finite, or at which training
 * recorded an event. */
static int fill_spikes(struct table *t, const struct run_info *run,
                       struct err *e)
{
    struct series loss = { 0 }, event[EVENTS] = { { 0 } };
    struct spike_window window = { .n = 0 };
    int ret = series_load(&loss, run, "train/loss", 0, e);

    for (int k = 0; k < EVENTS && ret == 0; k++)
        ret = series_load(&event[k], run, events[k],
                          LOAD_MAY_LACK | LOAD_ALL_ATTEMPTS, e);
    table_columns(t, "step", "loss", "median before", "deviations", "event",
                  NULL);
    for (size_t i = 0; i < loss.n && ret == 0; i++)
        add_point(t, &loss, i, &window, event);
    for (int k = 0; k < EVENTS && ret == 0; k++)
        add_lost(t, &loss, k, &event[k]);
    series_free(&loss);
    for (int k = 0; k < EVENTS; k++)
        series_free(&event[k]);
    return ret;
}

static int show_spikes(const char *word, struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("gtrain.spikes/1");
    AUTO(runs_free) struct runs runs = { 0 };
    int ret = recorded_run_find(&runs, &recorded, word, e);

    if (ret == 0)
        ret = fill_spikes(&t, runs.run, e);
    if (ret == 0)
        ret = table_print(&t, &style, e);
    if (ret == 0 && table_rows(&t) == 0)
        log_info("%s has no spikes", runs.run->name);
    free(recorded.sets.item);
    return ret;
}

/* ---- the command ------------------------------------------------------ */

static int batch_main(int argc, char **argv, struct err *e)
{
    const int args = list_spikes ? 1 : 2;
    int ret;

    if (argc > args)
        return err_usage(e, "unexpected argument '%s'", argv[args]);
    if (list_spikes)
        return show_spikes(argc > 0 ? argv[0] : NULL, e);
    if (argc < 2 || !num_int(argv[1], &wanted) || wanted < 1)
        return err_usage(e, "expected a run and a step; --spikes lists steps");
    recorded.ranks = 1;
    recorded.step = wanted;
    ret = recorded_run_open(&recorded, argv[0], show_batch, e);
    free(sources.item);
    return ret;
}

const struct cmd cmd_batch = {
    .name = "batch",
    .args = "RUN STEP",
    .help = "show the documents of a step, and their losses",
    .opts = batch_opts,
    .run = batch_main,
};
