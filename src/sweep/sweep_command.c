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

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "common/sig.h"
#include "common/spawn.h"

/* ---- Slurm ------------------------------------------------------------- */

/* sbatch splits lines into words by the rules of shells. */
static void write_option(FILE *fp, const char *name, const char *value)
{
    struct buf b = BUF_INIT;

    buf_shell_short(&b, value);
    if (*value)
        fprintf(fp, "#SBATCH --%s=%s\n", name, b.s);
    buf_clear(&b);
}

/* Write the script of an array job, whose tasks are the cells.  It requests the
 * resources of section [slurm] and runs this program with `sweep --cell N
 * WORDS`; the words are quoted for the shell.  Some time before the time
 * limit, or when the job is preempted, the program gets SIGUSR1 and stops its
 * cell; if it ends with status 75, the cell is queued again and resumes the
 * same run. */
static int write_script(const struct sweep *w, const char *folder,
                        const char *words, const char *path, struct err *e)
{
    struct save s = { 0 };
    char *self = realpath("/proc/self/exe", NULL), cpus[24] = "";
    char *log = xasprintf("%s/cells/%%x-%%a.out", folder);
    struct buf program = BUF_INIT;
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
                "%s sweep --cell \"$SLURM_ARRAY_TASK_ID\"%s &\n"
                "child=$!\n"
                "trap 'kill -USR1 $child' USR1 TERM\n"
                "status=129\n"
                "while test $status -gt 128; do wait $child; status=$?; "
                "done\n"
                "test $status -ne 75 || scontrol requeue "
                "\"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n"
                "exit $status\n",
                program.s, words);
        ret = save_commit(&s, e);
    }
    buf_clear(&program);
    free(log);
    free(self);
    return ret;
}

/* Run sbatch --array=CELLS PATH, and log the number of the job. */
static int submit_job(const char *path, const char *cells, struct err *e)
{
    char *array = xasprintf("--array=%s", cells);
    struct buf answer = BUF_INIT;
    struct spawn run = { .out = &answer };
    const char *const argv[] = { "sbatch", "--parsable", array, path, NULL };
    int ret = spawn_run(argv, &run, e);

    buf_trim(&answer, strcspn(answer.s, "\n"));
    if (ret == 0)
        log_info("submitted as job %s", answer.s);
    buf_clear(&answer);
    free(array);
    return ret;
}

/* ---- the sweep --------------------------------------------------------- */

/* The options that describe the sweep, each given any number of times. */
enum { PARTS = 3 };

struct part {
    const char *option;
    const struct opt_list *list;
    sweep_fn *add;
};

static void list_parts(const struct sweep_command *c, struct part out[PARTS])
{
    out[0] = (struct part){ "--grid", &c->grids, sweep_grid };
    out[1] = (struct part){ "--random", &c->randoms, sweep_random };
    out[2] = (struct part){ "--set", &c->sets, sweep_set };
}

int sweep_command_read(struct sweep_run *s, const struct sweep_command *c,
                       const char *file, struct err *e)
{
    struct sweep *w = &s->sweep;
    struct part part[PARTS];

    if (file && sweep_read(w, file, e) < 0)
        return -1;
    list_parts(c, part);
    for (int k = 0; k < PARTS; k++)
        for (size_t i = 0; i < part[k].list->n; i++)
            if (part[k].add(w, part[k].list->item[i], part[k].option, e) < 0)
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

/* The cells to run, and up to which step. */
struct running {
    struct sweep_run *sweep_run;
    size_t *todo, n;
    int64_t stop_at; /* the end of this rung; 0: of the whole training */
    int failed;      /* cells, so far */
};

static int start_cell(void *arg, size_t i, struct child *c, struct err *e)
{
    const struct running *r = arg;
    char *log = sweep_run_cell_path(r->sweep_run, r->todo[i], ".log");

    arena_take(&c->mem, log);
    c->log = log;
    return r->sweep_run->program->start(r->sweep_run, r->todo[i], r->stop_at, c,
                                        e);
}

/* The last line of a cell's log, which says why the cell failed. */
static void read_last_line(const char *path, struct buf *out)
{
    char tail[1024], *line = tail;
    FILE *fp = fopen(path, "r");
    size_t n;

    if (!fp)
        return;
    if (fseek(fp, -(long)(sizeof tail - 1), SEEK_END) < 0)
        rewind(fp);
    n = fread(tail, 1, sizeof tail - 1, fp);
    fclose(fp);
    while (n && strchr("\r\n ", tail[n - 1]))
        n--;
    tail[n] = '\0';
    for (char *at = tail; (at = strpbrk(at, "\r\n"));)
        line = ++at;
    if (strncmp(line, "gtrain: ", 8) == 0)
        line += 8;
    buf_str(out, line);
}

static int cell_ended(void *arg, size_t i, int status, struct err *e)
{
    struct running *r = arg;
    struct sweep_run *s = r->sweep_run;
    const size_t cell = r->todo[i];
    const char *id = s->sweep.cell[cell].id;
    char *log = sweep_run_cell_path(s, cell, ".log");
    struct buf why = BUF_INIT;

    read_last_line(log, &why);
    if (status == 0) {
        log_info("cell %zu (%s) is done", cell, id);
    } else if (status == err_status(ERR_STOPPED) ||
               (sig_caught() && status > 128)) {
        log_info("cell %zu (%s) was stopped", cell, id);
    } else {
        r->failed++;
        log_warn("cell %zu (%s) failed with status %d: %s; see %s", cell, id,
                 status, why.len ? why.s : "no message", log);
    }
    buf_clear(&why);
    free(log);
    return s->program->ended ? s->program->ended(s, cell, r->stop_at, status, e)
                             : 0;
}

/* Seconds in which a cell may stop: longer than what gtrack exec allows, which
 * may be the cell, and shorter than write_script() has of Slurm. */
enum { CELL_GRACE = 90 };

static int run_todo(struct running *r, struct err *e)
{
    const struct sweep *w = &r->sweep_run->sweep;
    const struct child_pool p = {
        .n = r->n,
        .parallel = (int)w->parallel,
        .gpus = (int)w->gpus,
        .grace = CELL_GRACE,
        .start = start_cell,
        .ended = cell_ended,
        .arg = r,
    };

    return child_pool_run(&p, e);
}

static bool to_do(const struct outcome *o)
{
    return o->state == CELL_MISSING || o->state == CELL_FAILED;
}

static int run_all(struct running *r, struct err *e)
{
    const struct sweep_run *s = r->sweep_run;

    if (sweep_run_look(r->sweep_run, e) < 0)
        return -1;
    for (size_t c = 0; c < s->sweep.n_cells; c++)
        if (to_do(&s->outcome[c]))
            r->todo[r->n++] = c;
    log_info("%zu of %zu cells to run, %lld at a time", r->n, s->sweep.n_cells,
             (long long)s->sweep.parallel);
    return run_todo(r, e);
}

/* ---- successive halving ------------------------------------------------ */

static int by_metric(const void *a, const void *b, void *arg)
{
    const struct sweep_run *s = arg;
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const double p = s->outcome[x].best, q = s->outcome[y].best;
    const int order =
        sweep_run_better(&s->sweep, q, p) - sweep_run_better(&s->sweep, p, q);

    return order ? order : x < y ? -1 : x > y;
}

/* Of n cells, choose the ones that have not reached the end of this rung. */
static void choose_rung(struct running *r, const size_t *alive, size_t n,
                        int64_t end)
{
    r->n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct outcome *o = &r->sweep_run->outcome[alive[i]];

        if (o->state != CELL_RUNNING &&
            (o->state != CELL_DONE || o->step < end))
            r->todo[r->n++] = alive[i];
    }
}

static int run_rung(struct running *r, int64_t rung, int64_t steps,
                    size_t *alive, size_t n, struct err *e)
{
    const struct sweep *w = &r->sweep_run->sweep;
    const double part = pow((double)w->eta, (double)(rung - w->rungs + 1));
    const bool last = rung == w->rungs - 1;
    const int64_t end = last ? steps : (int64_t)ceil((double)steps * part);

    r->stop_at = last ? 0 : end;
    if (sweep_run_look(r->sweep_run, e) < 0)
        return -1;
    choose_rung(r, alive, n, end);
    log_info("rung %lld of %lld: %zu cells, to step %lld", (long long)rung + 1,
             (long long)w->rungs, n, (long long)end);
    if (run_todo(r, e) < 0 || sweep_run_look(r->sweep_run, e) < 0)
        return -1;
    qsort_r(alive, n, sizeof *alive, by_metric, r->sweep_run);
    return 0;
}

/* A rung is a part of the steps of the cell that has most of them.  A cell that
 * has failed takes no part in later ones. */
static int run_halving(struct running *r, struct err *e)
{
    const struct sweep *w = &r->sweep_run->sweep;
    size_t *alive = xcalloc(w->n_cells, sizeof *alive), n = w->n_cells;
    int ret = 0;

    for (size_t c = 0; c < n; c++)
        alive[c] = c;
    for (int64_t rung = 0; ret == 0 && n > 0 && rung < w->rungs; rung++) {
        const size_t was = n, most = (n + (size_t)w->eta - 1) / (size_t)w->eta;

        ret = run_rung(r, rung, r->sweep_run->most_steps, alive, n, e);
        if (ret < 0 || rung + 1 == w->rungs)
            break;
        for (size_t i = n = 0; i < was; i++)
            if (r->sweep_run->outcome[alive[i]].state != CELL_FAILED)
                alive[n++] = alive[i];
        if (w->drop == 0 && n > most)
            n = most;
        else if (w->drop > 0 && n > 0)
            ret = sweep_run_drop_worse(r->sweep_run, alive, &n, e);
    }
    free(alive);
    return ret;
}

/* ---- Slurm ------------------------------------------------------------- */

void sweep_command_word(struct buf *words, const char *option,
                        const char *value)
{
    buf_printf(words, " %s ", option);
    buf_shell_word(words, value);
}

/* The arguments that describe this sweep. */
static void describe_command(const struct sweep_run *s,
                             const struct sweep_command *c, struct buf *words)
{
    struct part part[PARTS];

    list_parts(c, part);
    for (int k = 0; k < PARTS; k++)
        for (size_t i = 0; i < part[k].list->n; i++)
            sweep_command_word(words, part[k].option, part[k].list->item[i]);
    sweep_command_word(words, "--folder", s->folder);
    buf_printf(words, " --seeds %lld", (long long)s->sweep.seeds);
    s->program->describe(s, words);
}

static int submit_cells(struct sweep_run *s, const struct sweep_command *c,
                        struct err *e)
{
    char *path = path_join(s->folder, "job.sh");
    struct buf cells = BUF_INIT, words = BUF_INIT;
    int ret = sweep_run_begin(s, false, e);
    size_t n = 0;

    if (ret == 0)
        ret = sweep_run_look(s, e);
    for (size_t i = 0; i < s->sweep.n_cells; i++)
        if (to_do(&s->outcome[i]))
            buf_printf(&cells, "%s%zu", n++ ? "," : "", i);
    if (ret == 0 && s->sweep.method == SWEEP_HALVING)
        ret = err_set(e, ERR_USAGE,
                      "sweep.method = halving compares cells while it runs, "
                      "which an array job cannot do; run it on one machine");
    describe_command(s, c, &words);
    if (ret == 0 && n == 0)
        log_info("all cells are done or running");
    if (ret == 0 && n > 0 &&
        (ret = write_script(&s->sweep, s->folder, words.s, path, e)) == 0)
        ret = submit_job(path, cells.s, e);
    if (ret == 0 && n > 0)
        log_info("%zu cells; 'sweep status' shows their progress", n);
    buf_clear(&cells);
    buf_clear(&words);
    free(path);
    return ret;
}

/* ---- what a command does ----------------------------------------------- */

/* Run the cell of --cell, as a task of an array job does. */
static int run_one_cell(struct running *r, int64_t one_cell, struct err *e)
{
    if (one_cell >= (int64_t)r->sweep_run->sweep.n_cells)
        return err_set(e, ERR_USAGE,
                       "--cell expects a number below %zu, not %lld",
                       r->sweep_run->sweep.n_cells, (long long)one_cell);
    r->todo[r->n++] = (size_t)one_cell;
    return sweep_run_look(r->sweep_run, e) < 0 ? -1 : run_todo(r, e);
}

/* Run the cells that are not done, and then record the outcome in the parent,
 * also after a failure. */
static int run_cells(struct sweep_run *s, const struct sweep_command *c,
                     struct err *e)
{
    struct running r = { .sweep_run = s };
    struct err why = { 0 };
    int ret;

    if (sweep_run_begin(s, c->cell < 0, e) < 0)
        return -1;
    r.todo = xcalloc(s->sweep.n_cells, sizeof *r.todo);
    ret = c->cell >= 0                       ? run_one_cell(&r, c->cell, e)
          : s->sweep.method == SWEEP_HALVING ? run_halving(&r, e)
                                             : run_all(&r, e);
    free(r.todo);
    if (sweep_run_look(s, &why) < 0 || sweep_run_end(s, ret < 0, &why) < 0) {
        if (ret == 0)
            *e = why;
        return -1;
    }
    if (ret == 0 && c->cell < 0)
        ret = sweep_run_status(s, &c->style, e);
    if (ret == 0 && r.failed > 0)
        ret = err_set(e, ERR_SYSTEM,
                      "%d of %zu cells failed; the same command tries them "
                      "again",
                      r.failed, s->sweep.n_cells);
    if (ret == 0 && c->cell < 0 && s->count[CELL_RUNNING] > 0)
        ret = err_set(e, ERR_BUSY,
                      "%zu of %zu cells are run by other processes; the same "
                      "command tries them again when those have ended",
                      s->count[CELL_RUNNING], s->sweep.n_cells);
    return ret;
}

static int open_and_run(struct sweep_run *s, const struct sweep_command *c,
                        const char *action, struct err *e)
{
    const bool look = action[0] || c->dry_run;

    s->folder =
        c->folder ? xstrdup(c->folder) : path_join("sweeps", s->sweep.name);
    if (sweep_run_open(s, e) < 0 || (look && sweep_run_look(s, e) < 0))
        return -1;
    if (strcmp(action, "report") == 0)
        return sweep_run_report(s, c->by, &c->style, e);
    if (look)
        return sweep_run_status(s, &c->style, e);
    return c->to_slurm ? submit_cells(s, c, e) : run_cells(s, c, e);
}

int sweep_command_run(struct sweep_run *s, struct sweep_command *c,
                      const char *action, struct err *e)
{
    if (table_form(&c->style, e) < 0 || sweep_expand(&s->sweep, e) < 0)
        return -1;
    return open_and_run(s, c, action, e);
}

const char *sweep_command_action(int argc, char **argv)
{
    static const char *const actions[] = { "status", "report" };

    for (int i = 0; argc > 0 && i < 2; i++)
        if (strcmp(argv[0], actions[i]) == 0)
            return actions[i];
    return "";
}
