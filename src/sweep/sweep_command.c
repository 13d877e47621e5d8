/*
 * sweep_command - read a sweep, run its cells, and show them
 */
#include "config.h"
#include "sweep/sweep_command.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/save.h"
#include "common/sig.h"
#include "common/spawn.h"
#include "sweep/sweep_next.h"

/* ---- tables -------------------------------------------------------------- */

/* Print a row for each cell. */
static int print_status(const struct sweep_run *s,
                        const struct table_style *style, struct err *e)
{
    const struct sweep *w = &s->sweep;
    struct table t = TABLE_INIT("sweep/1");
    const struct outcome *best = NULL;
    int ret;

    table_columns(&t, "cell", "run", "status", NULL);
    for (size_t i = 0; i < w->n_axes; i++)
        table_column(&t, w->axis[i].key);
    table_columns(&t, "step", w->metric, NULL);
    for (size_t c = 0; c < w->n_cells; c++) {
        const struct outcome *o = &s->outcome[c];

        table_int(&t, (int64_t)c);
        table_text(&t, o->run ? o->run->name : NULL);
        table_text(&t, o->run ? run_status_word(o->run->status) : "missing");
        for (size_t i = 0; i < w->n_axes; i++)
            table_text(&t, w->cell[c].value[i]);
        table_int_or_none(&t, o->run ? o->step : -1);
        table_real_or_none(&t, o->best);
        if (!isnan(o->best) &&
            (!best || sweep_run_better(w, o->best, best->best)))
            best = o;
    }
    table_mark_best(&t, 3 + w->n_axes + 1, w->goal == SWEEP_MAX);
    ret = table_finish(&t, 0, style, e);
    log_info("%zu of %zu cells are done", s->count[CELL_DONE], w->n_cells);
    if (best)
        log_info("best %s: %g, %s", w->metric, best->best, best->run->name);
    return ret;
}

/* ---- the report -------------------------------------------------------- */

enum { MOST_COLUMNS = 24 };

struct sweep_table {
    const struct sweep_run *s;
    size_t by;          /* the axis */
    const char **value; /* its values; the grid's, or those drawn */
    size_t n_values;
    size_t *row_of; /* of each cell */
    size_t *first;  /* cell of each row */
    size_t n_rows;
    bool wide;  /* a column for each value */
    bool sized; /* the runs tell how many parameters their models have */
};

static int find_axis(struct sweep_table *r, const char *by, struct err *e)
{
    const struct sweep *w = &r->s->sweep;
    const char *want = by ? by : "optim.lr";

    for (r->by = 0; r->by < w->n_axes; r->by++)
        if (strcmp(w->axis[r->by].key, want) == 0)
            return 0;
    if (by)
        return err_usage(e, "--by expects an axis of this sweep, not '%s'", by);
    r->by = 0;
    return 0;
}

/* Does an axis have a column?  One of a single value says nothing. */
static bool has_column(const struct sweep_table *r, size_t axis)
{
    const struct sweep *w = &r->s->sweep;

    return axis != r->by && strcmp(w->axis[axis].key, w->seed_key) != 0 &&
           w->axis[axis].n != 1;
}

/* Cells of one row agree in all axes but this one and the seed. */
static bool same_row(const struct sweep_table *r, size_t x, size_t y)
{
    const struct sweep *w = &r->s->sweep;

    for (size_t i = 0; i < w->n_axes; i++)
        if (has_column(r, i) &&
            strcmp(w->cell[x].value[i], w->cell[y].value[i]) != 0)
            return false;
    return true;
}

static void find_rows(struct sweep_table *r)
{
    const size_t n = r->s->sweep.n_cells;

    r->row_of = xcalloc(n, sizeof *r->row_of);
    r->first = xcalloc(n, sizeof *r->first);
    for (size_t c = 0; c < n; c++) {
        size_t row = 0;

        while (row < r->n_rows && !same_row(r, r->first[row], c))
            row++;
        if (row == r->n_rows)
            r->first[r->n_rows++] = c;
        r->row_of[c] = row;
    }
}

static void find_values(struct sweep_table *r)
{
    const struct sweep *w = &r->s->sweep;
    size_t n = 0;

    r->value = xcalloc(w->n_cells, sizeof *r->value);
    for (size_t c = 0; c < w->n_cells; c++)
        r->value[c] = w->cell[c].value[r->by];
    SORT(r->value, w->n_cells, num_by_text);
    for (size_t i = 0; i < w->n_cells; i++)
        if (*r->value[i] &&
            (n == 0 || strcmp(r->value[n - 1], r->value[i]) != 0))
            r->value[n++] = r->value[i];
    r->n_values = n;
}

/* The metric in a row at a value, averaged over seeds; NaN if no cell has it.
 * *run is the run of one of these cells. */
static double mean_at(const struct sweep_table *r, size_t row,
                      const char *value, const struct run_info **run)
{
    const struct sweep *w = &r->s->sweep;
    double sum = 0;
    int n = 0;

    for (size_t c = 0; c < w->n_cells; c++) {
        const struct outcome *o = &r->s->outcome[c];

        if (r->row_of[c] != row || isnan(o->best) ||
            strcmp(w->cell[c].value[r->by], value) != 0)
            continue;
        *run = o->run;
        sum += o->best;
        n++;
    }
    return n ? sum / n : (double)NAN;
}

/* The loss of a uniform guess, where the metric is a loss in nats. */
static double guess_loss(const struct sweep *w, const struct run_info *run)
{
    const char *vocab = run ? run_info_param(run, "model.vocab") : NULL;
    int64_t n;

    if (w->goal != SWEEP_MIN || !vocab || !num_int(vocab, &n) || n < 2 ||
        (strcmp(w->metric, "val/loss") != 0 &&
         strcmp(w->metric, "train/loss") != 0))
        return INFINITY;
    return log((double)n);
}

static void add_row(const struct sweep_table *r, struct table *t, size_t row)
{
    const struct sweep *w = &r->s->sweep;
    const struct run_info *run = NULL;
    const char *parameters, *best_value = NULL;
    AUTO_FREE double *x = xcalloc(r->n_values, sizeof *x);
    double best = (double)NAN, most, worse = 0;
    int64_t count = -1;
    int n = 0;

    for (size_t v = 0; v < r->n_values; v++) {
        x[v] = mean_at(r, row, r->value[v], &run);
        if (sweep_run_better(w, x[v], best)) {
            best = x[v];
            best_value = r->value[v];
        }
    }
    most = guess_loss(w, run);
    for (size_t v = 0; v < r->n_values; v++) {
        if (isnan(x[v]))
            continue;
        worse += fmax(0, w->goal == SWEEP_MAX ? best - x[v]
                                              : fmin(x[v], most) - best);
        n++;
    }
    for (size_t i = 0; i < w->n_axes; i++)
        if (has_column(r, i))
            table_text(t, w->cell[r->first[row]].value[i]);
    parameters = run ? run_info_param(run, "derived.parameters") : NULL;
    if (parameters)
        num_int(parameters, &count);
    if (r->sized)
        table_int_or_none(t, count);
    for (size_t v = 0; r->wide && v < r->n_values; v++) {
        table_real_or_none(t, x[v]);
        if (r->value[v] == best_value)
            table_mark(t, MARK_BEST);
    }
    table_text(t, best_value);
    table_real_or_none(t, best);
    table_real_or_none(t, n > 1 ? worse / n : (double)NAN);
}

static void name_columns(const struct sweep_table *r, struct table *t)
{
    const struct sweep *w = &r->s->sweep;
    const char *key = w->axis[r->by].key;

    for (size_t i = 0; i < w->n_axes; i++)
        if (has_column(r, i))
            table_column(t, w->axis[i].key);
    if (r->sized)
        table_column(t, "parameters");
    for (size_t v = 0; r->wide && v < r->n_values; v++)
        table_column(t, arena_printf(&t->mem, "%s=%s", key, r->value[v]));
    table_columns(t, arena_printf(&t->mem, "best %s", key), w->metric,
                  "sensitivity", NULL);
}

/* Failed cells are in the means, too, and so are those that halving ended. */
static void warn_unequal(const struct sweep_run *s)
{
    int64_t least = INT64_MAX, most = 0;
    size_t n = 0;

    for (const struct outcome *o = s->outcome;
         o < s->outcome + s->sweep.n_cells; o++) {
        if (!o->run || isnan(o->best))
            continue;
        n += o->run->status != RUN_FINISHED;
        least = o->step < least ? o->step : least;
        most = o->step > most ? o->step : most;
    }
    if (least < most)
        log_warn("the values are not at equal steps: the cells have %lld to "
                 "%lld steps",
                 (long long)least, (long long)most);
    if (n)
        log_warn("counted, but not finished: %zu of %zu cells; "
                 "'gtrain sweep status' lists them",
                 n, s->sweep.n_cells);
}

/*
 * Print how the metric depends on one axis (by; NULL: optim.lr, or the first).
 * There is a row for each combination of the other axes, averaged over seeds,
 * with the number of the model's parameters if it is known, the metric at each
 * value of the axis, the best value, and the sensitivity: how much worse than
 * the best the values are on average (Wortsman et al., "Small-scale proxies for
 * large-scale Transformer training instabilities", 2023, section 2.2).  A loss
 * above ln(vocabulary), which is that of a random guess, counts as
 * ln(vocabulary).
 */
static int print_report(const struct sweep_run *s, const char *by,
                        const struct table_style *style, struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("sweep.report/1");
    struct sweep_table r = { .s = s };
    int ret = find_axis(&r, by, e);

    if (ret == 0) {
        find_rows(&r);
        find_values(&r);
        r.wide = r.n_values <= MOST_COLUMNS && !s->sweep.axis[r.by].random;
        for (size_t c = 0; c < s->sweep.n_cells; c++)
            r.sized |= s->outcome[c].run &&
                       run_info_param(s->outcome[c].run, "derived.parameters");
        name_columns(&r, &t);
        for (size_t row = 0; row < r.n_rows; row++)
            add_row(&r, &t, row);
        ret = table_print(&t, style, e);
        warn_unequal(s);
    }
    FREE(r.value, r.row_of, r.first);
    return ret;
}

/* ---- Slurm ------------------------------------------------------------- */

/* sbatch splits lines into words by the rules of shells. */
static void write_option(FILE *fp, const char *name, const char *value)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    buf_shell_short(&b, value);
    if (*value)
        fprintf(fp, "#SBATCH --%s=%s\n", name, b.s);
}

/* Do cells depend on the results of others? */
static bool depends_on_results(const struct sweep *w)
{
    return w->method == SWEEP_HALVING || w->sampler == SAMPLER_TPE;
}

/* Write the script of an array job, whose tasks are the cells or, in a search,
 * take one after another.  It requests the resources of section [slurm] and
 * runs this program with `sweep --cell N WORDS` or `sweep --join WORDS`; the
 * words are quoted for the shell.  Some time before the time limit, or when the
 * job is preempted, the program gets SIGUSR1 and stops its cell; if it ends
 * with status 75, the cell is queued again and resumes the same run. */
static int write_script(const struct sweep *w, const char *folder,
                        const char *words, const char *path, struct err *e)
{
    struct save s = { 0 };
    char *self = realpath("/proc/self/exe", NULL), cpus[24] = "";
    char *log = xasprintf("%s/cells/%%x-%%a.out", folder);
    AUTO(buf_clear) struct buf program = BUF_INIT;
    int ret = save_open(&s, path, e);

    buf_shell_word(&program, self ? self : program_invocation_name);
    if (w->cpus > 0)
        snprintf(cpus, sizeof cpus, "%lld", (long long)w->cpus);
    if (ret == 0) {
        fputs("#!/bin/sh\n", s.fp);
        write_option(s.fp, "job-name", w->name);
        write_option(s.fp, "account", w->account);
        write_option(s.fp, "partition", w->partition);
        write_option(s.fp, "time", w->time);
        write_option(s.fp, "gres", w->gres);
        write_option(s.fp, "cpus-per-task", cpus);
        if (w->extra[0])
            fprintf(s.fp, "#SBATCH %s\n", w->extra);
        fprintf(s.fp,
                "#SBATCH --requeue\n"
                "#SBATCH --open-mode=append\n"
                "#SBATCH --signal=B:USR1@%lld\n",
                (long long)w->signal);
        write_option(s.fp, "output", log);
        fprintf(s.fp,
                "\n"
                "%s sweep %s%s &\n"
                "child=$!\n"
                "trap 'kill -USR1 $child' USR1 TERM\n"
                "status=129\n"
                "while test $status -gt 128; do wait $child; status=$?; "
                "done\n"
                "test $status -ne 75 || scontrol requeue "
                "\"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n"
                "exit $status\n",
                program.s,
                depends_on_results(w) ? "--join -j 1"
                                      : "--cell \"$SLURM_ARRAY_TASK_ID\"",
                words);
        ret = save_commit(&s, e);
    }
    FREE(log, self);
    return ret;
}

/* Run sbatch --array=CELLS PATH, and log the number of the job. */
static int submit_job(const char *path, const char *cells, struct err *e)
{
    AUTO_FREE char *array = xasprintf("--array=%s", cells);
    AUTO(buf_clear) struct buf answer = BUF_INIT;
    struct spawn run = { .out = &answer };
    const char *const argv[] = { "sbatch", "--parsable", array, path, NULL };
    int ret = spawn_run(argv, &run, e);

    buf_trim(&answer, strcspn(answer.s, "\n"));
    if (ret == 0)
        log_info("submitted as job %s", answer.s);
    return ret;
}

/* ---- the sweep --------------------------------------------------------- */

/* The options that describe the sweep, each given any number of times. */
static const char *const part_options[] = {
    [SWEEP_GRID] = "--grid", [SWEEP_RANDOM] = "--random", [SWEEP_SET] = "--set"
};

int sweep_command_read(struct sweep_run *s, const struct sweep_command *c,
                       struct err *e)
{
    struct sweep *w = &s->sweep;

    if (c->file && sweep_read(w, c->file, e) < 0)
        return -1;
    for (enum sweep_part k = 0; k <= SWEEP_SET; k++)
        for (size_t i = 0; i < c->part[k].n; i++)
            if (sweep_assign(w, k, c->part[k].item[i], part_options[k], e) < 0)
                return -1;
    if (c->seeds > 0)
        w->seeds = c->seeds;
    if (c->parallel > 0)
        w->parallel = c->parallel;
    if (!w->name[0])
        w->name = "sweep";
    return 0;
}

/* ---- running ----------------------------------------------------------- */

struct running {
    struct sweep_run *run;
    const struct sweep_command *command;
    struct sweep_next next;
    int failed;       /* cells, so far */
    struct stat file; /* as it was read */
};

/* The cells of a file that has changed are added to those of the sweep. */
static void read_again(struct running *r)
{
    const char *path = r->command->file;
    struct sweep *w = &r->run->sweep;
    const size_t from = w->n_cells, groups = w->n_groups;
    struct sweep_run more = SWEEP_RUN_INIT(r->run->program);
    struct err e = { 0 };
    struct stat now;

    if (!path || stat(path, &now) < 0 ||
        (now.st_ino == r->file.st_ino && now.st_size == r->file.st_size &&
         memcmp(&now.st_mtim, &r->file.st_mtim, sizeof now.st_mtim) == 0))
        return;
    r->file = now;
    sweep_init(&more.sweep, w->seed_key);
    if (sweep_command_read(&more, r->command, &e) < 0 ||
        sweep_expand(&more.sweep, &e) < 0 ||
        sweep_add(w, &more.sweep, &e) < 0 ||
        sweep_run_add(r->run, from, &e) < 0) {
        log_warn("%s has changed, but this sweep goes on as before: %s", path,
                 e.text);
        w->n_cells = from;
        w->n_groups = groups;
    } else if (w->n_cells > from) {
        log_info("%zu cells were added", w->n_cells - from);
    }
    sweep_clear(&more.sweep);
}

/* The cell of --cell, as a task of an array job runs it, or any. */
static int start_cell(void *arg, struct child *c, struct err *e)
{
    struct running *r = arg;
    int found = 0;

    c->number = (size_t)r->command->cell;
    if (r->command->cell < 0) {
        read_again(r);
        found = sweep_next_choose(&r->next, &c->number, e);
    } else if (r->next.n_groups == 0) {
        found = sweep_next_take(&r->next, c->number, e);
    }
    if (found <= 0)
        return found < 0                               ? -1
               : r->command->join && !r->next.complete ? CHILD_LATER
                                                       : CHILD_NONE;
    c->log = sweep_run_cell_path(r->run, c->number, ".log");
    arena_take(&c->mem, (char *)(uintptr_t)c->log);
    return r->run->program->start(r->run, c->number,
                                  sweep_next_stop(&r->next, c->number), c, e);
}

/* The last line of a cell's log, which says why the cell failed; the caller
 * frees it. */
static char *read_last_line(const char *path)
{
    char tail[1024];
    FILE *fp = fopen(path, "r");
    AUTO(buf_clear) struct buf text = BUF_INIT;

    if (fp && fseek(fp, -(long)sizeof tail, SEEK_END) < 0)
        rewind(fp);
    if (fp) {
        buf_add(&text, tail, fread(tail, 1, sizeof tail, fp));
        fclose(fp);
    }
    return spawn_last_line(&text, "gtrain");
}

static int cell_ended(void *arg, size_t cell, int status, struct err *e)
{
    struct running *r = arg;
    struct sweep_run *s = r->run;
    const int64_t stop_at = sweep_next_stop(&r->next, cell);
    const bool stopped =
        status == err_status(ERR_STOPPED) || (sig_caught() && status > 128);
    const char *id = s->sweep.cell[cell].id;
    AUTO_FREE char *log = sweep_run_cell_path(s, cell, ".log");
    AUTO_FREE char *why = read_last_line(log);

    if (status == 0) {
        log_info("cell %zu (%s) is done", cell, id);
    } else if (stopped) {
        log_info("cell %zu (%s) was stopped", cell, id);
    } else {
        r->failed++;
        log_warn("cell %zu (%s) failed with status %d: %s; see %s", cell, id,
                 status, *why ? why : "no message", log);
    }
    sweep_next_ended(&r->next, cell, stopped);
    return s->program->ended ? s->program->ended(s, cell, stop_at, status, e)
                             : 0;
}

/* ---- Slurm ------------------------------------------------------------- */

/* The arguments that describe this sweep. */
static void describe_command(const struct sweep_run *s,
                             const struct sweep_command *c, struct buf *words)
{
    for (enum sweep_part k = 0; k <= SWEEP_SET; k++)
        for (size_t i = 0; i < c->part[k].n; i++)
            buf_shell_option(words, part_options[k], c->part[k].item[i]);
    buf_shell_option(words, "--folder", s->folder);
    buf_printf(words, " --seeds %lld", (long long)s->sweep.seeds);
    s->program->describe(s, words);
}

/* What earlier commands have claimed is free again, but for cells that run. */
static int forget_claims(const struct sweep_run *s, struct err *e)
{
    AUTO_FREE char *path = path_join(s->folder, "claims");

    return path_exists(path) ? path_remove(path, e) : 0;
}

/* The cells that are to be run, at most `most` of them at a time (0: all); of a
 * search, as many tasks. */
static size_t list_tasks(const struct sweep_run *s, int64_t most,
                         struct buf *tasks)
{
    const struct sweep *w = &s->sweep;
    size_t n = 0;

    if (depends_on_results(w)) {
        n = most ? (size_t)most : w->n_cells;
        buf_printf(tasks, "0-%zu", n - 1);
        return n;
    }
    for (size_t c = 0; c < w->n_cells; c++)
        if (s->outcome[c].state == CELL_MISSING ||
            s->outcome[c].state == CELL_FAILED)
            buf_printf(tasks, "%s%zu", n++ ? "," : "", c);
    if (most)
        buf_printf(tasks, "%%%lld", (long long)most);
    return n;
}

static int submit_cells(struct sweep_run *s, const struct sweep_command *c,
                        struct err *e)
{
    const struct sweep *w = &s->sweep;
    const bool limited =
        c->parallel > 0 || conf_origin(&w->conf, "sweep.parallel");
    AUTO_FREE char *path = path_join(s->folder, "job.sh");
    AUTO(buf_clear) struct buf tasks = BUF_INIT, words = BUF_INIT;
    int ret = sweep_run_begin(s, false, e);
    size_t n = 0;

    if (ret == 0)
        ret = sweep_run_look(s, e);
    if (ret == 0)
        ret = forget_claims(s, e);
    if (ret == 0)
        n = list_tasks(s, limited ? w->parallel : 0, &tasks);
    describe_command(s, c, &words);
    if (ret == 0 && n == 0)
        log_info("all cells are done or running");
    if (ret == 0 && n > 0 &&
        (ret = write_script(w, s->folder, words.s, path, e)) == 0)
        ret = submit_job(path, tasks.s, e);
    if (ret == 0 && n > 0)
        log_info("%zu %s; 'sweep status' shows the progress", n,
                 depends_on_results(w) ? "tasks share the cells" : "cells");
    return ret;
}

/* ---- what a command does ----------------------------------------------- */

/* Seconds in which a cell may stop: longer than what gtrack exec allows, which
 * may be the cell, and shorter than write_script() has of Slurm. */
enum { CELL_GRACE = 90 };

static int run_pool(struct running *r, struct err *e)
{
    const struct sweep *w = &r->run->sweep;
    const struct child_pool p = {
        .parallel = (int)w->parallel,
        .gpus = (int)w->gpus,
        .grace = CELL_GRACE,
        .start = start_cell,
        .ended = cell_ended,
        .arg = r,
    };

    if (r->command->file && stat(r->command->file, &r->file) < 0)
        return err_sys(e, "cannot read %s", r->command->file);
    return child_pool_run(&p, e);
}

/* Run the cells that are not done, and then record the outcome in the parent,
 * also after a failure. */
static int run_cells(struct sweep_run *s, const struct sweep_command *c,
                     struct err *e)
{
    struct running r = { .run = s, .command = c, .next = { .run = s } };
    const bool owns = c->cell < 0 && !c->join;
    int ret;

    if (c->cell >= (int64_t)s->sweep.n_cells)
        return err_usage(e, "--cell expects a number below %zu, not %lld",
                         s->sweep.n_cells, (long long)c->cell);
    if (sweep_run_begin(s, owns, e) < 0)
        return -1;
    ret = owns ? forget_claims(s, e) : 0;
    if (ret == 0)
        ret = sweep_run_look(s, e);
    if (ret == 0 && c->cell < 0)
        log_info("%zu of %zu cells to run, %lld at a time",
                 s->sweep.most_cells - s->sweep.n_cells +
                     s->count[CELL_MISSING] + s->count[CELL_FAILED],
                 s->sweep.most_cells, (long long)s->sweep.parallel);
    if (ret == 0)
        ret = run_pool(&r, e);
    sweep_next_clear(&r.next);
    if (sweep_run_look(s, ret == 0 ? e : ERR_IGNORED) < 0 ||
        sweep_run_end(s, ret < 0, ret == 0 ? e : ERR_IGNORED) < 0)
        return -1;
    if (ret == 0 && owns)
        ret = print_status(s, &c->style, e);
    if (ret == 0 && r.failed > 0)
        ret = err_set(e, ERR_SYSTEM,
                      "%d of %zu cells failed; the same command tries them "
                      "again",
                      r.failed, s->sweep.n_cells);
    if (ret == 0 && owns && s->count[CELL_RUNNING] > 0)
        ret = err_set(e, ERR_BUSY,
                      "%zu of %zu cells are run by other processes; the same "
                      "command tries them again when those have ended",
                      s->count[CELL_RUNNING], s->sweep.n_cells);
    return ret;
}

int sweep_command_run(struct sweep_run *s, const struct sweep_command *c,
                      const char *action, struct err *e)
{
    const bool look = action[0] || c->dry_run;

    if (table_form(&c->style, e) < 0 || sweep_expand(&s->sweep, e) < 0)
        return -1;
    s->folder =
        c->folder ? xstrdup(c->folder) : path_join("sweeps", s->sweep.name);
    if (sweep_run_open(s, e) < 0 || (look && sweep_run_look(s, e) < 0))
        return -1;
    if (strcmp(action, "report") == 0)
        return print_report(s, c->by, &c->style, e);
    if (look)
        return print_status(s, &c->style, e);
    return c->to_slurm ? submit_cells(s, c, e) : run_cells(s, c, e);
}

const char *sweep_command_action(int argc, char **argv)
{
    static const char *const actions[] = { "status", "report", NULL };

    return argc > 0 && opt_find_word(actions, argv[0]) >= 0 ? argv[0] : "";
}
