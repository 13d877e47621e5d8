/*
 * gtrain bisect - find where and why two runs diverge
 *
 * Finds the first recorded number that differs, has the steps before it
 * computed again for both runs, and compares the traces.
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
#include "common/spawn.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/replay/bisect.h"

static const char *root = "mlruns", *builds[2];
static struct opt_list sets;
static struct table_style style;

static const struct opt bisect_opts[] = {
    { 0, "build-a", "file", OPT_STRING, &builds[0],
      "compute the first run with FILE, another gtrain" },
    { 0, "build-b", "file", OPT_STRING, &builds[1],
      "compute the second run with FILE" },
    { 0, "root", "dir", OPT_STRING, &root,
      "look for the runs in the store DIR (default: mlruns)" },
    { 's', "set", "section.key=value", OPT_LIST, &sets,
      "change one setting of both (may be given many times)" },
    TABLE_OPTS(style),
    { 0 }
};

/* Two runs, and the steps between `same`, at which they begin or have written
 * the same checkpoint, and `last`, at which they have diverged. */
struct bisect {
    struct bisect_run of[2];
    struct table table;
    struct bisect_rows trace[2];
    int64_t same, last;
    bool record_differs;
    const struct bisect_row *row[2]; /* where they diverge */
};

static void add_row(struct bisect *b, const char *what, const char *where,
                    const char *of_a, const char *of_b)
{
    table_text(&b->table, what);
    table_text(&b->table, where);
    table_text(&b->table, of_a);
    table_text(&b->table, of_b);
}

/* ---- what the runs recorded ------------------------------------------- */

/* The first step of both at which a metric differs, or 0; *end is the last step
 * that both have. */
static int64_t find_difference(const struct series *a, const struct series *b,
                               int64_t *end, double values[2])
{
    for (size_t i = 0, k = 0; i < a->n && k < b->n;) {
        const double x = a->value[i], y = b->value[k];
        const int64_t step = a->step[i];

        if (step != b->step[k]) {
            *(step < b->step[k] ? &i : &k) += 1;
            continue;
        }
        *end = step;
        if (x < y || x > y || isnan(x) != isnan(y)) {
            values[0] = x;
            values[1] = y;
            return step;
        }
        i++;
        k++;
    }
    return 0;
}

/* Compare one metric; `last` becomes the first step at which one differs. */
static int compare_metric(struct bisect *b, const char *key, int flags,
                          int64_t *end, struct err *e)
{
    struct series s[2] = { { 0 }, { 0 } };
    int64_t step;
    double values[2];
    int ret = series_load(&s[0], b->of[0].run, key, flags, e);

    if (ret == 0)
        ret = series_load(&s[1], b->of[1].run, key, flags, e);
    step = ret == 0 ? find_difference(&s[0], &s[1], end, values) : 0;
    if (step > 0 && (b->last == 0 || step < b->last)) {
        b->last = step;
        table_text(&b->table, "recorded");
        table_printf(&b->table, "%s of step %" PRId64, key, step);
        table_real(&b->table, values[0]);
        table_real(&b->table, values[1]);
    }
    series_free(&s[0]);
    series_free(&s[1]);
    return ret;
}

/* Where one of the runs was resumed in another way, compute from there on. */
static int64_t last_resume(const struct bisect *b, int64_t same)
{
    for (int i = 0; i < 2; i++) {
        const int64_t first = certify_begins(b->of[i].run, b->last, NULL);

        same = first - 1 > same ? first - 1 : same;
    }
    return same;
}

/* Without a difference, other builds may still diverge: then up to the end. */
static int compare_records(struct bisect *b, struct err *e)
{
    const char *mine = b->of[0].run->artifacts,
               *other = b->of[1].run->artifacts;
    struct checkpoint_sums_pair pair;
    int64_t end = 0;

    if (compare_metric(b, "train/loss", 0, &end, e) < 0 ||
        compare_metric(b, "train/grad_norm", LOAD_MAY_LACK, &end, e) < 0 ||
        checkpoint_sums_compare(mine, other, 0, &pair, e) < 0)
        return -1;
    if (pair.differs > 0 && (b->last == 0 || pair.differs < b->last)) {
        b->last = pair.differs;
        table_text(&b->table, "recorded");
        table_printf(&b->table, "checkpoint of step %" PRId64, b->last);
        table_text(&b->table, "written");
        table_text(&b->table, "another");
    }
    b->record_differs = b->last > 0;
    if (!b->record_differs)
        b->last = end;
    if (checkpoint_sums_compare(mine, other, b->last - 1, &pair, e) < 0)
        return -1;
    b->same = last_resume(b, pair.same);
    return 0;
}

/* ---- what is computed ------------------------------------------------- */

static int trace_both(struct bisect *b, int64_t first, int64_t last,
                      enum trace_kind kind, struct err *e)
{
    for (int i = 0; i < 2; i++)
        if (bisect_trace(&b->trace[i], &b->of[i], first, last, kind, e) < 0)
            return -1;
    return 0;
}

static bool find_place(struct bisect *b)
{
    return bisect_trace_diverge(&b->trace[0], &b->trace[1], &b->row[0],
                                &b->row[1]);
}

/* Where in the step the row is that differs first. */
static enum bisect_place place_of(const struct bisect_row *r, int64_t step)
{
    if (strcmp(r->operation, "weights") == 0 ||
        str_ends(r->operation, " moments"))
        return r->step < step ? PART_STATE : PART_UPDATE;
    if (strcmp(r->operation, "input") == 0)
        return PART_DATA;
    return strcmp(r->tensor, "learning rate") == 0 ? PART_UPDATE : PART_COMPUTE;
}

static void add_part(struct bisect *b)
{
    const struct bisect_row *r = b->row[0];
    AUTO_FREE char *place = xasprintf("step %" PRId64 "%s%s: %s, %s", r->step,
                                      *r->micro ? ", micro-batch " : "",
                                      r->micro, r->operation, r->tensor);

    log_info("they diverge at %s", place);
    table_text(&b->table, "diverge at");
    table_text(&b->table, place);
    for (int i = 0; i < 2; i++)
        table_printf(&b->table, "%.8s", b->row[i]->hash);
    if (*r->size)
        add_row(b, "size", "root mean square", r->size, b->row[1]->size);
}

/* Find the first operation and tensor that differ.  *place is 0 if the runs do
 * not diverge when they are computed again. */
static int find_operation(struct bisect *b, unsigned *place, struct err *e)
{
    int64_t step = b->same + 1;

    log_info("computing steps %" PRId64 " to %" PRId64 " of both runs again",
             step, b->last);
    *place = 0;
    if (trace_both(b, step, b->last, TRACE_STEPS, e) < 0)
        return -1;
    if (!find_place(b))
        return 0;
    if (b->row[0]->step > step)
        step = b->row[0]->step;
    if (trace_both(b, step, step, TRACE_OPERATIONS, e) < 0)
        return -1;
    if (!find_place(b))
        return err_set(e, ERR_MISSING,
                       "they diverge at step %" PRId64
                       ", but not in a micro-batch of rank 0",
                       step);
    *place = place_of(b->row[0], step);
    add_part(b);
    return 0;
}

/* ---- the cause -------------------------------------------------------- */

static const char *find_hash(const struct bisect_rows *t, const char *tensor)
{
    for (size_t i = 0; i < t->n; i++)
        if (strcmp(t->row[i].tensor, tensor) == 0)
            return t->row[i].hash;
    return NULL;
}

/* The shards of run i whose content differs; of the second, those alone that
 * the first lacks. */
static void add_shards(struct bisect *b, int i)
{
    for (size_t k = 0; k < b->trace[i].n; k++) {
        const struct bisect_row *r = &b->trace[i].row[k];
        const char *other = find_hash(&b->trace[!i], r->tensor);

        if (!other || (i == 0 && strcmp(other, r->hash) != 0))
            add_row(b, "data", r->tensor, i == 0 ? r->hash : other,
                    i == 0 ? other : r->hash);
    }
}

/* The row of the ids names the step and, at its end, the sequence. */
static int add_document(struct bisect *b, struct err *e)
{
    const char *last = strrchr(b->row[0]->tensor, ' ');
    int64_t sequence;

    if (!last || !num_int(last + 1, &sequence))
        return 0;
    return bisect_document(&b->table, &b->of[0], &b->of[1], b->row[0]->step,
                           sequence, e);
}

static int compare_data(struct bisect *b, struct err *e)
{
    if (add_document(b, e) < 0)
        return -1;
    if (trace_both(b, b->last, b->last, TRACE_DATA, e) < 0)
        return -1;
    add_shards(b, 0);
    add_shards(b, 1);
    return 0;
}

/* Is a checkpoint of run i still what the run wrote? */
static const char *check_checkpoint(const struct bisect *b, int i)
{
    const struct run_info *run = b->of[i].run;
    struct checkpoint_sums then, now;
    AUTO_FREE char *folder =
        certify_folder(run_info_param(run, "checkpoint.folder"), run);
    AUTO_FREE char *path = xasprintf("%s/step-%08" PRId64, folder, b->same);
    const char *word = "as written";

    if (checkpoint_sums_find(run->artifacts, b->same, &then, ERR_IGNORED) < 0 ||
        checkpoint_sums_read(path, &now, ERR_IGNORED) < 0)
        word = "missing";
    else if (strcmp(then.model, now.model) != 0 ||
             strcmp(then.optim, now.optim) != 0)
        word = "changed since";
    return word;
}

static void add_checkpoints(struct bisect *b)
{
    table_text(&b->table, "checkpoint");
    table_printf(&b->table, "files of step %" PRId64, b->same);
    table_text(&b->table, check_checkpoint(b, 0));
    table_text(&b->table, check_checkpoint(b, 1));
}

static int add_causes(struct bisect *b, unsigned place, struct err *e)
{
    const bool builds_differ =
        strcmp(b->of[0].build, b->of[1].build) != 0 && place;

    if (place == PART_STATE && b->same > 0)
        add_checkpoints(b);
    else
        bisect_facts(&b->table, b->of[0].run, b->of[1].run, b->last,
                     place ? (enum bisect_place)place : PART_ANYWHERE);
    if (builds_differ)
        add_row(b, "build", "computed with", b->of[0].build, b->of[1].build);
    return place == PART_DATA ? compare_data(b, e) : 0;
}

/* ---- the verdict ------------------------------------------------------ */

static void tell_verdict(struct bisect *b, unsigned place, size_t causes)
{
    const char *x = b->of[0].run->name, *y = b->of[1].run->name;
    const size_t row = table_rows(&b->table) - causes;

    if (!place)
        log_warn("recomputed, the two runs agree: one of the records is not "
                 "what its settings and data give here");
    if (causes == 0)
        log_info("%s and %s recorded nothing that explains it", x, y);
    else
        log_info("the likeliest cause: %s, %s",
                 table_cell(&b->table, row, 0)->text,
                 table_cell(&b->table, row, 1)->text);
}

/* An error in the search leaves the causes that the records tell. */
static int find_place_and_cause(struct bisect *b, struct err *e)
{
    unsigned place = 0;
    size_t before;
    int ret = find_operation(b, &place, e);

    if (ret == 0 && !place && !b->record_differs) {
        log_info("recomputed, the two runs agree");
        return 0;
    }
    before = table_rows(&b->table);
    if (add_causes(b, place, ret < 0 ? ERR_IGNORED : e) < 0)
        ret = -1;
    if (table_print(&b->table, &style, ret < 0 ? ERR_IGNORED : e) < 0)
        ret = -1;
    if (ret == 0)
        tell_verdict(b, place, table_rows(&b->table) - before);
    return ret;
}

static int compare_runs(struct bisect *b, struct err *e)
{
    const struct run_info *x = b->of[0].run, *y = b->of[1].run;
    const bool same_name = strcmp(x->name, y->name) == 0;

    table_columns(&b->table, "what", "where", same_name ? x->id : x->name,
                  same_name ? strcmp(x->id, y->id) ? y->id : "again" : y->name,
                  NULL);
    if (compare_records(b, e) < 0)
        return -1;
    if (b->record_differs || builds[0] || builds[1])
        return find_place_and_cause(b, e);
    log_info("%s and %s do not diverge: all that both recorded up to step "
             "%" PRId64 " is equal",
             x->name, y->name, b->last);
    return 0;
}

/* ---- the command ------------------------------------------------------ */

static int open_runs(struct runs *runs, struct bisect *b, char **argv,
                     struct err *e)
{
    for (int i = 0; i < 2; i++) {
        if (runs_select(&runs[i], root, &argv[i], 1,
                        LOAD_NO_METRICS | LOAD_ONE_NAMED, e) < 0)
            return -1;
        b->of[i].run = runs[i].run;
        b->of[i].root = root;
        b->of[i].sets = &sets;
    }
    return 0;
}

static int bisect_runs(struct bisect *b, char **argv, struct err *e)
{
    struct runs runs[2] = { 0 };
    int ret = open_runs(runs, b, argv, e);

    if (ret == 0)
        ret = compare_runs(b, e);
    for (int i = 0; i < 2; i++) {
        bisect_trace_clear(&b->trace[i]);
        runs_free(&runs[i]);
    }
    return ret;
}

static int bisect_main(int argc, char **argv, struct err *e)
{
    char *own = argc == 2 ? spawn_find("gtrain", e) : NULL;
    struct bisect b = { .table = TABLE_INIT("gtrain.bisect/1"),
                        .trace = { BISECT_ROWS_INIT, BISECT_ROWS_INIT } };
    int ret = -1;

    for (int i = 0; i < 2; i++)
        b.of[i].build = builds[i] ? builds[i] : own;
    if (argc != 2)
        err_usage(e, "expected two runs");
    else if (own)
        ret = bisect_runs(&b, argv, e);
    table_clear(&b.table);
    FREE(sets.item, own);
    return ret;
}

const struct cmd cmd_bisect = {
    .name = "bisect",
    .args = "RUN RUN",
    .help = "find where and why two runs diverge",
    .opts = bisect_opts,
    .run = bisect_main,
};
