/*
 * gtrain sweep - train a model for each combination of settings
 *
 * search.h describes the files of a search.  This file prints its table, and
 * runs its cells in a pool of processes or submits them to Slurm.
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/path.h"
#include "common/program.h"
#include "common/output/table.h"
#include "trainer/cmds.h"
#include "trainer/search/child_pool.h"
#include "trainer/search/search.h"
#include "trainer/search/slurm.h"

static const char *base, *folder_name, *by;
static struct opt_list grids, randoms, sets;
static int64_t seeds, parallel, one_cell = -1;
static bool dry_run, to_slurm;
static struct table_style style;

/* clang-format off */
static const struct opt sweep_opts[] = {
    { 'c', "config", "file", OPT_STRING, &base,
      "start each cell from the settings in FILE" },
    { 'g', "grid", "key=a,b", OPT_LIST, &grids,
      "add an axis of the grid (may be given many times)" },
    { 'r', "random", "key=range", OPT_LIST, &randoms,
      "add an axis with random values (may be given many times)" },
    { 's', "set", "key=value", OPT_LIST, &sets,
      "change a setting of every cell, or of [sweep] and [slurm]" },
    { 'n', "seeds", "count", OPT_LONG, &seeds,
      "train each cell with COUNT different seeds" },
    { 'j', "parallel", "count", OPT_LONG, &parallel,
      "train COUNT cells at the same time" },
    { 'o', "folder", "dir", OPT_STRING, &folder_name,
      "keep the cells' files in DIR (default: sweeps/NAME)" },
    { 0, "slurm", NULL, OPT_FLAG, &to_slurm,
      "submit the cells to Slurm as one array job" },
    { 0, "cell", "number", OPT_LONG, &one_cell,
      "train only the cell with this number" },
    { 0, "by", "key", OPT_STRING, &by,
      "with report, use this axis (default: optim.lr)" },
    { 0, "dry-run", NULL, OPT_FLAG, &dry_run,
      "print the table of the cells and train nothing" },
    TABLE_OPTS(style),
    { 0 }
};
/* clang-format on */

/* The options that describe the sweep, each given any number of times. */
static const struct {
    const char *option;
    const struct opt_list *list;
    sweep_fn *add;
} parts[] = {
    { "--grid", &grids, sweep_grid },
    { "--random", &randoms, sweep_random },
    { "--set", &sets, sweep_set },
};

enum { PARTS = sizeof parts / sizeof parts[0] };

/* ---- opening ----------------------------------------------------------- */

static int read_spec(struct sweep *w, const char *file, struct err *e)
{
    sweep_init(w);
    if (file && sweep_read(w, file, e) < 0)
        return -1;
    for (int k = 0; k < PARTS; k++)
        for (size_t i = 0; i < parts[k].list->n; i++)
            if (parts[k].add(w, parts[k].list->item[i], parts[k].option, e) < 0)
                return -1;
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

static int open_search(struct search *s, const char *file, struct err *e)
{
    if (read_spec(&s->sweep, file, e) < 0)
        return -1;
    s->folder =
        folder_name ? xstrdup(folder_name) : path_join("sweeps", s->sweep.name);
    return search_open(s, e);
}

/* ---- the table --------------------------------------------------------- */

static int show_table(struct search *s, struct err *e)
{
    const struct sweep *w = &s->sweep;
    struct table t = TABLE_INIT("gtrain.sweep/1");
    const struct outcome *best = NULL;
    int ret;

    table_columns(&t, "cell", "run", "status", NULL);
    for (size_t i = 0; i < w->n_axes; i++)
        table_column(&t, w->axis[i].key);
    table_column(&t, "step");
    table_column(&t, w->metric);
    for (size_t c = 0; c < w->n_cells; c++) {
        const struct outcome *o = &s->outcome[c];

        table_int(&t, (int64_t)c);
        table_text(&t, o->run ? o->run->name : NULL);
        table_text(&t, o->run ? run_status_word(o->run->status) : "missing");
        for (size_t i = 0; i < w->n_axes; i++)
            table_text(&t, w->cell[c].value[i]);
        if (o->run)
            table_int(&t, o->step);
        else
            table_none(&t);
        table_real_or_none(&t, o->best);
        if (!isnan(o->best) && (!best || search_better(w, o->best, best->best)))
            best = o;
    }
    table_mark_best(&t, 3 + w->n_axes + 1, w->goal == SWEEP_MAX);
    ret = table_print(&t, &style, e);
    table_clear(&t);
    log_info("%zu of %zu cells are done", s->count[CELL_DONE], w->n_cells);
    if (best)
        log_info("best %s: %g, %s", w->metric, best->best, best->run->name);
    return ret;
}

/* ---- running ----------------------------------------------------------- */

/* The cells to train, and up to which step. */
struct running {
    struct search *search;
    size_t *todo, n;
    int64_t stop_at; /* the end of this rung; 0: of the whole training */
    int failed;      /* cells, so far */
};

/* The command that trains one cell. */
static char **cell_argv(void *arg, size_t i, char **log)
{
    const struct running *r = arg;
    const struct search *s = r->search;
    const size_t cell = r->todo[i];
    char **argv = xcalloc(20, sizeof *argv);
    size_t n = 0;

    *log = search_cell_path(s, cell, ".log");
    argv[n++] = xstrdup("gtrain");
    argv[n++] = xstrdup("train");
    argv[n++] = xstrdup("--config");
    argv[n++] = search_cell_path(s, cell, ".ini");
    argv[n++] = xstrdup("--resume=auto");
    argv[n++] = xasprintf("--set=run.parent=%s", s->parent);
    argv[n++] = xasprintf("--set=run.tags=sweep=%s, sweep.cell=%s",
                          s->sweep.name, s->sweep.cell[cell].id);
    argv[n++] = xasprintf("--set=checkpoint.folder=%s/cells/%s", s->folder,
                          s->sweep.cell[cell].id);
    if (s->sweep.gpus > 1)
        argv[n++] = xasprintf("--gpus=%lld", (long long)s->sweep.gpus);
    if (r->stop_at > 0)
        argv[n++] =
            xasprintf("--set=train.stop_at=%lld", (long long)r->stop_at);
    return argv;
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
    for (char *at = tail; *at; at++)
        if (*at == '\n' || *at == '\r')
            line = at + 1;
    if (strncmp(line, "gtrain: ", 8) == 0)
        line += 8;
    buf_str(out, line);
}

static void cell_ended(void *arg, size_t i, int status)
{
    struct running *r = arg;
    const struct search *s = r->search;
    const size_t cell = r->todo[i];
    const char *id = s->sweep.cell[cell].id;
    char *log = search_cell_path(s, cell, ".log");
    struct buf why = BUF_INIT;

    read_last_line(log, &why);
    if (status == 0) {
        log_info("cell %zu (%s) is done", cell, id);
    } else if (status == err_status(ERR_STOPPED)) {
        log_info("cell %zu (%s) was stopped", cell, id);
    } else {
        r->failed++;
        log_warn("cell %zu (%s) failed with status %d: %s; see %s", cell, id,
                 status, why.len ? why.s : "no message", log);
    }
    buf_clear(&why);
    free(log);
}

static int run_todo(struct running *r, struct err *e)
{
    const struct sweep *w = &r->search->sweep;
    const struct child_pool p = {
        .n = r->n,
        .parallel = (int)w->parallel,
        .gpus = (int)w->gpus,
        .argv = cell_argv,
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
    const struct search *s = r->search;

    if (search_look(r->search, e) < 0)
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
    const struct search *s = arg;
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const double p = s->outcome[x].best, q = s->outcome[y].best;

    if (search_better(&s->sweep, p, q))
        return -1;
    if (search_better(&s->sweep, q, p))
        return 1;
    return x < y ? -1 : x > y;
}

/* Of n cells, choose the ones that have not reached the end of this rung. */
static void choose_rung(struct running *r, const size_t *alive, size_t n,
                        int64_t end)
{
    r->n = 0;
    for (size_t i = 0; i < n; i++) {
        const struct outcome *o = &r->search->outcome[alive[i]];

        if (o->state != CELL_RUNNING &&
            (o->state != CELL_DONE || o->step < end))
            r->todo[r->n++] = alive[i];
    }
}

static int run_rung(struct running *r, int64_t rung, int64_t steps,
                    size_t *alive, size_t n, struct err *e)
{
    const struct sweep *w = &r->search->sweep;
    const double part = pow((double)w->eta, (double)(rung - w->rungs + 1));
    const bool last = rung == w->rungs - 1;
    const int64_t end = last ? steps : (int64_t)ceil((double)steps * part);

    r->stop_at = last ? 0 : end;
    if (search_look(r->search, e) < 0)
        return -1;
    choose_rung(r, alive, n, end);
    log_info("rung %lld of %lld: %zu cells, to step %lld", (long long)rung + 1,
             (long long)w->rungs, n, (long long)end);
    if (run_todo(r, e) < 0 || search_look(r->search, e) < 0)
        return -1;
    qsort_r(alive, n, sizeof *alive, by_metric, r->search);
    return 0;
}

/* A rung is a part of the steps of the cell that has most of them. */
static int run_halving(struct running *r, struct err *e)
{
    const struct sweep *w = &r->search->sweep;
    size_t *alive = xcalloc(w->n_cells, sizeof *alive), n = w->n_cells;
    int ret = 0;

    for (size_t c = 0; c < n; c++)
        alive[c] = c;
    for (int64_t rung = 0; ret == 0 && rung < w->rungs; rung++) {
        ret = run_rung(r, rung, r->search->most_steps, alive, n, e);
        n = (n + (size_t)w->eta - 1) / (size_t)w->eta;
    }
    free(alive);
    return ret;
}

/* ---- Slurm ------------------------------------------------------------- */

static void add_word(struct buf *words, const char *option, const char *value)
{
    buf_printf(words, " %s ", option);
    buf_shell_word(words, value);
}

/* The arguments of gtrain sweep that describe the same search. */
static void describe_search(const struct search *s, const char *file,
                            struct buf *words)
{
    if (file)
        add_word(words, "", file);
    if (s->sweep.base[0])
        add_word(words, "--config", s->sweep.base);
    for (int k = 0; k < PARTS; k++)
        for (size_t i = 0; i < parts[k].list->n; i++)
            add_word(words, parts[k].option, parts[k].list->item[i]);
    add_word(words, "--folder", s->folder);
    buf_printf(words, " --seeds %lld", (long long)s->sweep.seeds);
}

static int submit_cells(struct search *s, const char *file, struct err *e)
{
    char *path = path_join(s->folder, "job.sh");
    struct buf cells = BUF_INIT, words = BUF_INIT;
    int ret = search_begin(s, false, e);
    size_t n = 0;

    if (ret == 0)
        ret = search_look(s, e);
    for (size_t c = 0; c < s->sweep.n_cells; c++)
        if (to_do(&s->outcome[c]))
            buf_printf(&cells, "%s%zu", n++ ? "," : "", c);
    if (ret == 0 && s->sweep.method == SWEEP_HALVING)
        ret = err_set(e, ERR_USAGE,
                      "sweep.method = halving compares cells while it runs, "
                      "which an array job cannot do; run it on one machine");
    describe_search(s, file, &words);
    if (ret == 0 && n == 0)
        log_info("all cells are done or running");
    if (ret == 0 && n > 0 &&
        (ret = slurm_script(&s->sweep, s->folder, words.s, path, e)) == 0)
        ret = slurm_submit(path, cells.s, e);
    if (ret == 0 && n > 0)
        log_info("%zu cells; see 'gtrain sweep status %s'", n,
                 file ? file : s->folder);
    buf_clear(&cells);
    buf_clear(&words);
    free(path);
    return ret;
}

/* ---- the command ------------------------------------------------------- */

/* Run the cell of --cell, as a task of an array job does. */
static int run_one_cell(struct running *r, struct err *e)
{
    if (one_cell >= (int64_t)r->search->sweep.n_cells)
        return err_set(e, ERR_USAGE,
                       "--cell expects a number below %zu, not %lld",
                       r->search->sweep.n_cells, (long long)one_cell);
    r->todo[r->n++] = (size_t)one_cell;
    return run_todo(r, e);
}

/* Run the cells that are not done, and then record the outcome in the parent,
 * also after a failure. */
static int run_search(struct search *s, struct err *e)
{
    struct running r = { .search = s };
    struct err why = ERR_INIT;
    int ret;

    if (search_begin(s, one_cell < 0, e) < 0)
        return -1;
    r.todo = xcalloc(s->sweep.n_cells, sizeof *r.todo);
    ret = one_cell >= 0                      ? run_one_cell(&r, e)
          : s->sweep.method == SWEEP_HALVING ? run_halving(&r, e)
                                             : run_all(&r, e);
    free(r.todo);
    if (search_look(s, &why) < 0 || search_end(s, ret < 0, &why) < 0) {
        if (ret == 0)
            *e = why;
        return -1;
    }
    if (ret == 0 && one_cell < 0)
        ret = show_table(s, e);
    if (ret == 0 && r.failed > 0)
        ret = err_set(e, ERR_SYSTEM,
                      "%d of %zu cells failed; the same command tries them "
                      "again",
                      r.failed, s->sweep.n_cells);
    return ret;
}

static int sweep_main(int argc, char **argv, struct err *e)
{
    const char *verb = argc > 0 ? argv[0] : "";
    const bool status = strcmp(verb, "status") == 0;
    const bool report = strcmp(verb, "report") == 0;
    const bool look = status || report || dry_run;
    const int at = status || report;
    const char *file = argc > at ? argv[at] : NULL;
    struct search s = SEARCH_INIT;
    int ret;

    if (argc > at + 1)
        return err_set(e, ERR_USAGE, "unexpected argument '%s'", argv[at + 1]);
    if (table_form(&style, e) < 0)
        return -1;
    ret = open_search(&s, file, e);
    if (ret == 0 && look)
        ret = search_look(&s, e);
    if (ret == 0)
        ret = report     ? search_report(&s, by, &style, e)
              : look     ? show_table(&s, e)
              : to_slurm ? submit_cells(&s, file, e)
                         : run_search(&s, e);
    search_close(&s);
    return ret;
}

const struct cmd cmd_sweep = {
    .name = "sweep",
    .args = "[status|report] [FILE]",
    .help = "train a model for each combination of settings",
    .opts = sweep_opts,
    .run = sweep_main,
};
