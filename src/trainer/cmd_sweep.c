/*
 * cmd_sweep - search over settings
 *
 * A folder holds what a search needs to be gone on with: manifest.tsv, a line
 * for each cell; cells/ID.ini, the whole configuration of one; cells/ID.log,
 * what it printed; cells/ID/, its checkpoints; parent, the id of the run that
 * all of them belong to.  What has been done is not written there: it is read
 * from the store, where each cell is a run with the tags sweep and sweep.cell.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/num.h"
#include "common/path.h"
#include "common/prog.h"
#include "common/save.h"
#include "common/table.h"
#include "store/load.h"
#include "trainer/cmds.h"
#include "trainer/queue.h"
#include "trainer/settings.h"
#include "trainer/slurm.h"
#include "trainer/sweep.h"

static const char *base, *folder_name;
static struct opt_list grids, randoms, sets;
static int64_t seeds, parallel, one_cell = -1;
static bool dry_run, to_slurm;
static int failed;              /* cells, in this process */
static struct table_style style;

/* clang-format off */
const struct opt cmd_sweep_opts[] = {
    { 'c', "config", "file", OPT_STRING, &base,
      "start every cell from FILE" },
    { 'g', "grid", "key=a,b", OPT_LIST, &grids,
      "try each value; more than one makes all combinations" },
    { 'r', "random", "key=range", OPT_LIST, &randoms,
      "draw values: loguniform(1e-4,1e-2)" },
    { 's', "set", "key=value", OPT_LIST, &sets,
      "change a setting of every cell, or of [sweep] and [slurm]" },
    { 'n', "seeds", "count", OPT_LONG, &seeds,
      "train each cell with so many seeds" },
    { 'j', "parallel", "count", OPT_LONG, &parallel,
      "run so many cells at a time" },
    { 'o', "folder", "dir", OPT_STRING, &folder_name,
      "keep the search in DIR (sweeps/NAME)" },
    { 0, "slurm", NULL, OPT_FLAG, &to_slurm,
      "submit the cells as one array to Slurm" },
    { 0, "cell", "number", OPT_LONG, &one_cell,
      "run one cell, as the array does" },
    { 0, "dry-run", NULL, OPT_FLAG, &dry_run,
      "print the cells and run nothing" },
    TABLE_OPTS(style),
    { 0 }
};
/* clang-format on */

enum cell_state { CELL_MISSING, CELL_FAILED, CELL_RUNNING, CELL_DONE };

/* A cell as the store knows it. */
struct outcome {
    enum cell_state state;
    const struct run_info *run;
    double best;                /* of the metric; NaN without */
    int64_t step;               /* reached */
};

struct search {
    struct sweep sweep;
    struct settings settings;   /* of the base, for root and experiment */
    char *folder, *parent;
    struct runs runs;
    struct outcome *outcome;    /* one for each cell */
    size_t *todo, n_todo;
    int64_t stop_at;            /* of this rung; 0: the configuration's own */
};

/* ---- opening ----------------------------------------------------------- */

static int read_spec(struct search *s, const char *file, struct err *e)
{
    struct sweep *w = &s->sweep;

    sweep_init(w);
    if (file && sweep_read(w, file, e) < 0)
        return -1;
    for (size_t i = 0; i < grids.n; i++)
        if (sweep_grid(w, grids.item[i], "--grid", e) < 0)
            return -1;
    for (size_t i = 0; i < randoms.n; i++)
        if (sweep_random(w, randoms.item[i], "--random", e) < 0)
            return -1;
    for (size_t i = 0; i < sets.n; i++) {
        const char *set = sets.item[i];

        if (strncmp(set, "sweep.", 6) == 0 || strncmp(set, "slurm.", 6) == 0) {
            if (conf_set(&w->conf, set, e) < 0)
                return -1;
            continue;
        }
        GROW(w->sets.item, w->sets.n, w->sets.room);
        w->sets.item[w->sets.n++] = set;
    }
    if (seeds > 0)
        w->seeds = seeds;
    if (parallel > 0)
        w->parallel = parallel;
    if (base)
        w->base = base;
    if (!w->name[0])
        w->name = "sweep";
    return sweep_expand(w, e);
}

/* The settings of a cell: the base, the file's own, the cell's values. */
static int cell_settings(const struct search *s, size_t cell,
                         struct settings *out, struct err *e)
{
    const struct sweep *w = &s->sweep;
    const size_t most = w->sets.n + w->n_axes;
    const char **set = xcalloc(most + 1, sizeof *set);
    char **own = xcalloc(w->n_axes + 1, sizeof *own);
    size_t n = 0;
    int ret;

    for (size_t i = 0; i < w->sets.n; i++)
        set[n++] = w->sets.item[i];
    for (size_t i = 0; i < w->n_axes && cell < w->n_cells; i++) {
        own[i] = xasprintf("%s=%s", w->axis[i].key, w->cell[cell].value[i]);
        set[n++] = own[i];
    }
    ret = settings_load(out, w->base[0] ? w->base : NULL, set, n, e);
    for (size_t i = 0; i < w->n_axes; i++)
        free(own[i]);
    free(own);
    free(set);
    return ret;
}

static char *cell_path(const struct search *s, size_t cell, const char *end)
{
    return xasprintf("%s/cells/%s%s", s->folder, s->sweep.cell[cell].id, end);
}

static int write_cell(struct search *s, size_t cell, struct err *e)
{
    struct save save = SAVE_INIT;
    struct settings set;
    struct buf text = BUF_INIT;
    char *path = cell_path(s, cell, ".ini");
    int ret = cell_settings(s, cell, &set, e);

    if (ret == 0) {
        conf_dump(&set.conf, &text);
        ret = save_open(&save, path, e);
    }
    if (ret == 0) {
        fwrite(text.s, 1, text.len, save.fp);
        ret = save_commit(&save, e);
    }
    settings_clear(&set);
    buf_clear(&text);
    free(path);
    return ret;
}

static int write_manifest(struct search *s, struct err *e)
{
    const struct sweep *w = &s->sweep;
    struct save save = SAVE_INIT;
    char *path = path_join(s->folder, "manifest.tsv");
    int ret = save_open(&save, path, e);

    free(path);
    if (ret < 0)
        return -1;
    fputs("cell\tid", save.fp);
    for (size_t i = 0; i < w->n_axes; i++)
        fprintf(save.fp, "\t%s", w->axis[i].key);
    for (size_t c = 0; c < w->n_cells; c++) {
        fprintf(save.fp, "\n%zu\t%s", c, w->cell[c].id);
        for (size_t i = 0; i < w->n_axes; i++)
            fprintf(save.fp, "\t%s", w->cell[c].value[i]);
    }
    fputc('\n', save.fp);
    return save_commit(&save, e);
}

/* The run that the cells belong to; made once, and done at once: it has no
 * points of its own. */
static int find_parent(struct search *s, struct err *e)
{
    char *path = path_join(s->folder, "parent");
    struct buf text = BUF_INIT;
    struct save save = SAVE_INIT;
    struct run *run = NULL;
    int ret = 0;

    if (buf_read_file(&text, path, 256, e) == 0) {
        buf_trim(&text, strcspn(text.s, "\n"));
        s->parent = buf_detach(&text);
        free(path);
        return 0;
    }
    if (e->kind != ERR_MISSING) {
        free(path);
        return -1;
    }
    *e = (struct err)ERR_INIT;
    ret = run_begin(&run,
                    &(struct run_conf){
                        .root = s->settings.run.root,
                        .experiment = s->settings.run.experiment,
                    },
                    e);
    if (ret == 0) {
        s->parent = xstrdup(run_id(run));
        run_tag(run, "sweep", s->sweep.name);
        run_tag(run, "sweep.folder", s->folder);
        run_paramf(run, "sweep.cells", "%zu", s->sweep.n_cells);
        ret = run_end(run, RUN_FINISHED, e);
    }
    if (ret == 0)
        ret = save_open(&save, path, e);
    if (ret == 0) {
        fprintf(save.fp, "%s\n", s->parent);
        ret = save_commit(&save, e);
    }
    free(path);
    return ret;
}

static int open_search(struct search *s, const char *file, struct err *e)
{
    if (read_spec(s, file, e) < 0)
        return -1;
    s->folder = folder_name ? xstrdup(folder_name)
                            : path_join("sweeps", s->sweep.name);
    s->outcome = xcalloc(s->sweep.n_cells, sizeof *s->outcome);
    s->todo = xcalloc(s->sweep.n_cells, sizeof *s->todo);
    return cell_settings(s, 0, &s->settings, e);
}

static void close_search(struct search *s)
{
    settings_clear(&s->settings);
    runs_free(&s->runs);
    sweep_clear(&s->sweep);
    free(s->folder);
    free(s->parent);
    free(s->outcome);
    free(s->todo);
}

/* Every cell must be one that can be trained, before the first one is. */
static int prepare(struct search *s, struct err *e)
{
    char *cells = path_join(s->folder, "cells");
    int ret = path_make(cells, e);

    free(cells);
    for (size_t c = 0; ret == 0 && c < s->sweep.n_cells; c++) {
        ret = write_cell(s, c, e);
        if (ret < 0)
            err_wrap(e, "cell %zu", c);
    }
    if (ret < 0 || write_manifest(s, e) < 0)
        return -1;
    return find_parent(s, e);
}

/* ---- what the store says ----------------------------------------------- */

static void judge(struct outcome *o, const struct run_info *r,
                  const struct sweep *w)
{
    const struct metric_sum *m = run_info_metric(r, w->metric);
    const struct metric_sum *loss = run_info_metric(r, "train/loss");

    o->run = r;
    o->best = !m ? (double)NAN : w->goal == SWEEP_MAX ? m->max : m->min;
    o->step = loss ? loss->last_step : 0;
    o->state = r->status == RUN_FINISHED  ? CELL_DONE
               : r->status == RUN_RUNNING ? CELL_RUNNING
                                          : CELL_FAILED;
}

static int look(struct search *s, struct err *e)
{
    const struct sweep *w = &s->sweep;

    runs_free(&s->runs);
    s->runs = (struct runs)RUNS_INIT;
    if (runs_load(&s->runs, s->settings.run.root, 0, e) < 0) {
        if (e->kind != ERR_MISSING)
            return -1;
        *e = (struct err)ERR_INIT;
    }
    for (size_t c = 0; c < w->n_cells; c++)
        s->outcome[c] = (struct outcome){ .best = (double)NAN };
    for (size_t i = 0; i < s->runs.n; i++) {
        const struct run_info *r = &s->runs.run[i];
        const char *cell = run_info_tag(r, "sweep.cell");

        if (!cell || !s->parent || !r->parent ||
            strcmp(r->parent, s->parent) != 0)
            continue;
        for (size_t c = 0; c < w->n_cells; c++)
            if (strcmp(w->cell[c].id, cell) == 0)
                judge(&s->outcome[c], r, w);
    }
    return 0;
}

static bool better(const struct sweep *w, double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) && isnan(b);
    return w->goal == SWEEP_MAX ? a > b : a < b;
}

/* ---- the table --------------------------------------------------------- */

static const char *state_word(const struct outcome *o)
{
    if (!o->run)
        return "missing";
    return run_status_word(o->run->status);
}

static int show(struct search *s, struct err *e)
{
    const struct sweep *w = &s->sweep;
    struct table t = TABLE_INIT("gtrain.sweep/1");
    const struct outcome *best = NULL;
    size_t done = 0;
    int ret;

    table_column(&t, "cell");
    table_column(&t, "run");
    table_column(&t, "status");
    for (size_t i = 0; i < w->n_axes; i++)
        table_column(&t, w->axis[i].key);
    table_column(&t, "step");
    table_column(&t, w->metric);
    for (size_t c = 0; c < w->n_cells; c++) {
        const struct outcome *o = &s->outcome[c];

        table_int(&t, (int64_t)c);
        table_text(&t, o->run ? o->run->name : NULL);
        table_text(&t, state_word(o));
        for (size_t i = 0; i < w->n_axes; i++)
            table_text(&t, w->cell[c].value[i]);
        if (o->run)
            table_int(&t, o->step);
        else
            table_none(&t);
        if (isnan(o->best))
            table_none(&t);
        else
            table_real(&t, o->best);
        done += o->state == CELL_DONE;
        if (!isnan(o->best) && (!best || better(w, o->best, best->best)))
            best = o;
    }
    table_mark_best(&t, 3 + w->n_axes + 1, w->goal == SWEEP_MAX);
    ret = table_print(&t, &style, e);
    table_clear(&t);
    log_info("%zu of %zu cells are done", done, w->n_cells);
    if (best)
        log_info("best %s: %g, %s", w->metric, best->best, best->run->name);
    return ret;
}

/* ---- running ----------------------------------------------------------- */

static char **cell_words(void *arg, size_t i, char **log)
{
    struct search *s = arg;
    const size_t cell = s->todo[i];
    char **words = xcalloc(20, sizeof *words);
    size_t n = 0;

    *log = cell_path(s, cell, ".log");
    words[n++] = xstrdup("train");
    words[n++] = xstrdup("--config");
    words[n++] = cell_path(s, cell, ".ini");
    words[n++] = xstrdup("--resume=auto");
    words[n++] = xstrdup("--set");
    words[n++] = xasprintf("run.parent=%s", s->parent);
    words[n++] = xstrdup("--set");
    words[n++] = xasprintf("run.tags=sweep=%s, sweep.cell=%s", s->sweep.name,
                           s->sweep.cell[cell].id);
    words[n++] = xstrdup("--set");
    words[n++] = xasprintf("checkpoint.folder=%s/cells/%s", s->folder,
                           s->sweep.cell[cell].id);
    if (s->stop_at > 0) {
        words[n++] = xstrdup("--set");
        words[n++] =
            xasprintf("train.stop_at=%lld", (long long)s->stop_at);
    }
    return words;
}

static void cell_ended(void *arg, size_t i, int status)
{
    const struct search *s = arg;
    const char *id = s->sweep.cell[s->todo[i]].id;

    failed += status != 0 && status != err_status(ERR_STOPPED);
    if (status == 0)
        log_info("cell %zu (%s) is done", s->todo[i], id);
    else if (status == err_status(ERR_STOPPED))
        log_info("cell %zu (%s) was stopped", s->todo[i], id);
    else
        log_warn("cell %zu (%s) ended with status %d; see %s/cells/%s.log",
                 s->todo[i], id, status, s->folder, id);
}

static int run_todo(struct search *s, struct err *e)
{
    const struct queue q = {
        .n = s->n_todo,
        .parallel = (int)s->sweep.parallel,
        .gpus = (int)s->sweep.gpus,
        .start = cell_words,
        .ended = cell_ended,
        .arg = s,
    };

    return queue_run(&q, e);
}

static int run_all(struct search *s, struct err *e)
{
    if (look(s, e) < 0)
        return -1;
    s->n_todo = 0;
    for (size_t c = 0; c < s->sweep.n_cells; c++)
        if (s->outcome[c].state == CELL_MISSING ||
            s->outcome[c].state == CELL_FAILED)
            s->todo[s->n_todo++] = c;
    log_info("%zu of %zu cells to run, %lld at a time", s->n_todo,
             s->sweep.n_cells, (long long)s->sweep.parallel);
    return run_todo(s, e);
}

/* ---- successive halving ------------------------------------------------ */

/* Steps of the whole training, which may differ by cell: the rungs are parts
 * of the longest. */
static int whole_steps(struct search *s, int64_t *steps, struct err *e)
{
    *steps = 0;
    for (size_t c = 0; c < s->sweep.n_cells; c++) {
        struct settings set;
        int ret = cell_settings(s, c, &set, e);

        if (ret == 0)
            ret = settings_resolve(&set, 0, 1, e);
        if (ret == 0 && set.is.steps > *steps)
            *steps = set.is.steps;
        settings_clear(&set);
        if (ret < 0)
            return err_wrap(e, "cell %zu", c);
    }
    return 0;
}

static const struct search *sorting;

static int by_metric(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const double p = sorting->outcome[x].best, q = sorting->outcome[y].best;

    if (better(&sorting->sweep, p, q))
        return -1;
    if (better(&sorting->sweep, q, p))
        return 1;
    return x < y ? -1 : x > y;
}

static int run_halving(struct search *s, struct err *e)
{
    const struct sweep *w = &s->sweep;
    size_t *alive = xcalloc(w->n_cells, sizeof *alive), n = w->n_cells;
    int64_t steps;
    int ret = whole_steps(s, &steps, e);

    for (size_t c = 0; c < n; c++)
        alive[c] = c;
    for (int64_t rung = 0; ret == 0 && rung < w->rungs; rung++) {
        const double part =
            pow((double)w->eta, (double)(rung - w->rungs + 1));

        s->stop_at = rung == w->rungs - 1
                         ? 0
                         : (int64_t)ceil((double)steps * part);
        ret = look(s, e);
        s->n_todo = 0;
        for (size_t i = 0; ret == 0 && i < n; i++) {
            const struct outcome *o = &s->outcome[alive[i]];

            if (o->state == CELL_RUNNING ||
                (o->state == CELL_DONE &&
                 o->step >= (s->stop_at ? s->stop_at : steps)))
                continue;
            s->todo[s->n_todo++] = alive[i];
        }
        if (ret == 0)
            log_info("rung %lld of %lld: %zu cells, to step %lld",
                     (long long)rung + 1, (long long)w->rungs, n,
                     (long long)(s->stop_at ? s->stop_at : steps));
        if (ret == 0)
            ret = run_todo(s, e);
        if (ret == 0)
            ret = look(s, e);
        sorting = s;
        qsort(alive, n, sizeof *alive, by_metric);
        n = (n + (size_t)w->eta - 1) / (size_t)w->eta;
    }
    free(alive);
    return ret;
}

/* ---- Slurm ------------------------------------------------------------- */

/* The words that make this very search again. */
static void same_search(const struct search *s, const char *file,
                        struct slurm_words *w)
{
    if (file)
        slurm_word(w, NULL, file);
    if (s->sweep.base[0])
        slurm_word(w, "--config", s->sweep.base);
    for (size_t i = 0; i < grids.n; i++)
        slurm_word(w, "--grid", grids.item[i]);
    for (size_t i = 0; i < randoms.n; i++)
        slurm_word(w, "--random", randoms.item[i]);
    for (size_t i = 0; i < sets.n; i++)
        slurm_word(w, "--set", sets.item[i]);
    slurm_word(w, "--folder", s->folder);
    buf_printf(&w->text, " --seeds %lld", (long long)s->sweep.seeds);
}

static int submit(struct search *s, const char *file, struct err *e)
{
    char *path = path_join(s->folder, "job.sh");
    struct buf cells = BUF_INIT;
    struct slurm_words words = { BUF_INIT };
    int ret = look(s, e);
    size_t n = 0;

    for (size_t c = 0; c < s->sweep.n_cells; c++)
        if (s->outcome[c].state == CELL_MISSING ||
            s->outcome[c].state == CELL_FAILED)
            buf_printf(&cells, "%s%zu", n++ ? "," : "", c);
    if (s->sweep.method == SWEEP_HALVING)
        ret = err_set(e, ERR_USAGE, "sweep.method = halving compares cells "
                      "while it runs; an array cannot: run it on one machine");
    same_search(s, file, &words);
    if (ret == 0 && n == 0)
        log_info("all cells are done or running");
    if (ret == 0 && n > 0 &&
        (ret = slurm_script(&s->sweep, s->folder, &words, path, e)) == 0)
        ret = slurm_submit(path, cells.s, e);
    if (ret == 0 && n > 0)
        log_info("%zu cells; 'gtrain sweep status %s' tells how far they are",
                 n, file ? file : s->folder);
    buf_clear(&cells);
    buf_clear(&words.text);
    free(path);
    return ret;
}

/* One cell, in this process' place: what the array runs. */
static int run_one(struct search *s, struct err *e)
{
    if (one_cell >= (int64_t)s->sweep.n_cells)
        return err_set(e, ERR_USAGE, "there is no cell %lld of %zu",
                       (long long)one_cell, s->sweep.n_cells);
    s->todo[0] = (size_t)one_cell;
    s->n_todo = 1;
    return run_todo(s, e);
}

int cmd_sweep(int argc, char **argv, struct err *e)
{
    const bool status = argc > 0 && strcmp(argv[0], "status") == 0;
    const char *file = argc > status ? argv[status] : NULL;
    struct search s = { .runs = RUNS_INIT };
    int ret;

    if (argc > status + 1)
        return err_set(e, ERR_USAGE, "one search at a time, not '%s'",
                       argv[status + 1]);
    ret = open_search(&s, file, e);
    if (ret == 0 && (status || dry_run)) {
        char *parent = path_join(s.folder, "parent");

        if (path_exists(parent))
            ret = find_parent(&s, e);
        if (ret == 0)
            ret = look(&s, e);
        free(parent);
    } else if (ret == 0) {
        ret = prepare(&s, e);
        if (ret == 0)
            ret = to_slurm        ? submit(&s, file, e)
                  : one_cell >= 0 ? run_one(&s, e)
                  : s.sweep.method == SWEEP_HALVING ? run_halving(&s, e)
                                                    : run_all(&s, e);
        if (ret == 0)
            ret = look(&s, e);
    }
    if (ret == 0 && one_cell < 0 && !to_slurm)
        ret = show(&s, e);
    if (ret == 0 && failed > 0)
        ret = err_set(e, ERR_SYSTEM, "%d cells failed; the same command tries "
                      "them again", failed);
    close_search(&s);
    return ret;
}
