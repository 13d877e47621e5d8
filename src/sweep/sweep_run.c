#include "config.h"
#include "sweep/sweep_run.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/hash.h"
#include "common/machine/cores.h"
#include "common/num.h"
#include "common/path.h"
#include "common/save.h"
#include "common/sig.h"
#include "common/spawn.h"
#include "store/alert/alert_list.h"
#include "store/write/new_run.h"

char *sweep_run_cell_path(const struct sweep_run *s, size_t cell,
                          const char *end)
{
    return xasprintf("%s/cells/%s%s", s->folder, s->sweep.cell[cell].id, end);
}

/* ---- the folder -------------------------------------------------------- */

static int write_manifest(struct sweep_run *s, struct err *e)
{
    const struct sweep *w = &s->sweep;
    AUTO_FREE char *path = path_join(s->folder, "manifest.tsv");
    AUTO(buf_clear) struct buf text = BUF_INIT;

    buf_str(&text, "cell\tid");
    for (size_t i = 0; i < w->n_axes; i++)
        buf_printf(&text, "\t%s", w->axis[i].key);
    for (size_t c = 0; c < w->n_cells; c++) {
        buf_printf(&text, "\n%zu\t%s", c, w->cell[c].id);
        for (size_t i = 0; i < w->n_axes; i++)
            buf_printf(&text, "\t%s", w->cell[c].value[i]);
    }
    buf_char(&text, '\n');
    return save_text(path, text.s, e);
}

/* The files of the cells from a number on. */
static int write_folder(struct sweep_run *s, size_t from, struct err *e)
{
    AUTO_FREE char *cells = path_join(s->folder, "cells");
    int ret = path_make(cells, e);

    for (size_t c = from; ret == 0 && s->program->write && c < s->sweep.n_cells;
         c++)
        ret = s->program->write(s, c, e);
    return ret < 0 ? -1 : write_manifest(s, e);
}

/* ---- draws ------------------------------------------------------------- */

/* The file of the next draw; its name tells axes apart. */
static char *draw_path(const struct sweep_run *s)
{
    return xasprintf("%s/draws/%08x-%llu", s->folder,
                     hash_name32(s->sweep.keys), (unsigned long long)s->draws);
}

bool sweep_run_may_draw(const struct sweep_run *s)
{
    return s->sweep.sampler == SAMPLER_TPE &&
           s->draws + SWEEP_FIRST_SAMPLES < (uint64_t)s->sweep.samples;
}

int sweep_run_draw(struct sweep_run *s, const size_t *cell, size_t n,
                   struct err *e)
{
    struct sweep *w = &s->sweep;
    const char **value = arena_alloc(&w->mem, w->n_axes * sizeof *value);
    char *path = draw_path(s), *line;
    AUTO(buf_clear) struct buf text = BUF_INIT;
    int ret = path_make_parent(path, e);

    sweep_tpe_draw(w, cell, n, s->draws, value);
    for (size_t i = 0; i < w->n_axes; i++)
        buf_printf(&text, "%s\n", value[i]);
    if (ret == 0)
        ret = save_create(path, text.s, e);
    buf_trim(&text, 0);
    if (ret == 0 && (ret = buf_read_file(&text, path, 1 << 20, e)) == 0) {
        line = arena_strdup(&w->mem, text.s);
        for (size_t i = 0; i < w->n_axes; i++)
            value[i] = line ? strsep(&line, "\n") : "";
        sweep_add_group(w, value);
        s->draws++;
    }
    free(path);
    return ret;
}

/* Add the groups that earlier commands have drawn. */
static int read_draws(struct sweep_run *s, struct err *e)
{
    while (sweep_run_may_draw(s)) {
        AUTO_FREE char *path = draw_path(s);

        if (!path_exists(path))
            return 0;
        if (sweep_run_draw(s, NULL, 0, e) < 0)
            return -1;
    }
    return 0;
}

int sweep_run_add(struct sweep_run *s, size_t from, struct err *e)
{
    s->outcome = xrealloc(s->outcome, s->sweep.n_cells, sizeof *s->outcome);
    return s->program->check(s, from, e) < 0 ? -1 : write_folder(s, from, e);
}

/* ---- the parent -------------------------------------------------------- */

/* The id of the parent, which an earlier command has written, or else this one
 * if it runs cells.  Of several processes that choose it at once, the first
 * one's holds for all. */
static int find_parent(struct sweep_run *s, bool create, struct err *e)
{
    AUTO_FREE char *path = path_join(s->folder, "parent");
    int ret = create ? path_make(s->folder, e) : 0;

    if (ret == 0)
        ret = claimed_run_id(path, create, &s->parent, e);
    if (ret == 0 && create)
        ret = save_sync_all(s->folder, e); /* the folder has its name, too */
    return create ? ret : err_allow(ret, ERR_MISSING, e);
}

/* The parent has no metrics and uses no cores; its cells do.  A sweep that
 * another process runs is refused, since that writes the parent. */
static int begin_parent(struct sweep_run *s, struct err *e)
{
    const struct run_conf conf = { .root = s->root,
                                   .experiment = s->experiment,
                                   .name = s->sweep.name,
                                   .no_cpus = true };
    struct alert_writer alerts;
    bool made = false;
    int ret;

    if (!s->parent && find_parent(s, true, e) < 0)
        return -1;
    alert_writer_fork(&alerts);
    ret = claimed_run_begin(&s->own, &conf, s->parent, &made, e);
    alert_writer_begin(&alerts, ret == 0 ? run_folder(s->own) : NULL);
    if (ret < 0)
        return err_wrap(e, "sweep %s", s->sweep.name);
    if (!made)
        return 0;
    run_tag(s->own, "sweep", s->sweep.name);
    run_tag(s->own, "sweep.folder", s->folder);
    run_paramf(s->own, "sweep.cells", "%zu", s->sweep.most_cells);
    return 0;
}

static enum run_status status_of(const struct sweep_run *s, bool stopped)
{
    if (s->count[CELL_DONE] == s->sweep.n_cells)
        return RUN_FINISHED;
    if (stopped)
        return RUN_KILLED;
    if (s->count[CELL_MISSING] || s->count[CELL_RUNNING])
        return s->own ? RUN_FAILED : RUN_SCHEDULED;
    return RUN_FAILED;
}

/* Where cells run in processes of their own, each of them updates the status of
 * the parent, unless a process writes that. */
static int set_parent_status(struct sweep_run *s, enum run_status status,
                             struct err *e)
{
    struct stored_run parent;
    AUTO(runs_free) struct runs one = { 0 };
    int ret = runs_load_ids(&one, s->root, &s->parent, 1, LOAD_NO_METRICS, e);

    if (ret == 0 && one.n == 1 && one.run[0].status != RUN_RUNNING &&
        one.run[0].status != status) {
        ret = stored_run_open(&parent, one.run[0].folder, e);
        if (ret == 0)
            ret = stored_run_end(&parent, status, one.run[0].seen_ms, 0, e);
    }
    return ret;
}

int sweep_run_end(struct sweep_run *s, bool stopped, struct err *e)
{
    const enum run_status status = status_of(s, stopped);
    struct run *own = s->own;

    if (!own)
        return s->parent ? set_parent_status(s, status, e) : 0;
    if (status == RUN_FAILED)
        run_reason(own, "not all cells are done");
    s->own = NULL;
    return run_end(own, status, e);
}

/* ---- beginning and end ------------------------------------------------- */

int sweep_run_open(struct sweep_run *s, struct err *e)
{
    int ret = s->program->open(s, e);

    if (ret == 0)
        ret = find_parent(s, false, e);
    if (ret == 0)
        ret = read_draws(s, e);
    s->outcome = xcalloc(s->sweep.n_cells, sizeof *s->outcome);
    s->began_ms = clock_wall_ms();
    return ret;
}

int sweep_run_begin(struct sweep_run *s, bool runs, struct err *e)
{
    struct run *own;

    if (s->program->check(s, 0, e) < 0)
        return -1;
    if (runs ? begin_parent(s, e) < 0
             : !s->parent && /* another process may be making it */
                   err_allow(begin_parent(s, e), ERR_BUSY, e) < 0)
        return -1;
    if (write_folder(s, 0, e) < 0)
        return -1;
    if (runs || !s->own)
        return 0;
    own = s->own;
    s->own = NULL;
    return run_end(own, RUN_SCHEDULED, e);
}

void sweep_run_close(struct sweep_run *s)
{
    run_end(s->own, RUN_FAILED, ERR_IGNORED);
    runs_free(&s->runs);
    sweep_clear(&s->sweep);
    FREE(s->folder, s->root, s->experiment, s->parent, s->outcome);
}

/* ---- outcomes ---------------------------------------------------------- */

bool sweep_run_better(const struct sweep *w, double a, double b)
{
    if (isnan(a) || isnan(b))
        return !isnan(a) && isnan(b);
    return w->goal == SWEEP_MAX ? a > b : a < b;
}

/* The step that a cell has reached: what the sweep noted when it ended, or else
 * the last one that it logged. */
static int64_t last_step(const struct run_info *r)
{
    const struct metric_sum *loss = run_info_metric(r, "train/loss");
    const char *steps = run_info_tag(r, "sweep.steps");
    int64_t last = 0;

    if (steps && num_int(steps, &last))
        return last;
    if (loss)
        return loss->last_step;
    for (size_t i = 0; i < r->n_metrics; i++)
        if (r->metrics[i].last_step > last)
            last = r->metrics[i].last_step;
    return last;
}

/* Nobody but this process runs cells, and it looks when none of them runs.  Of
 * a run that no process writes, as those of gtrack run, nobody else can tell
 * that its command was killed. */
static bool is_abandoned(const struct sweep_run *s, const struct run_info *r)
{
    return s->own && run_info_is_unattended(r);
}

static int set_outcome(const struct sweep_run *s, struct outcome *o,
                       const struct run_info *r, struct err *e)
{
    const struct sweep *w = &s->sweep;

    o->run = r;
    o->best = run_rate_best(r, w->metric, w->goal == SWEEP_MAX, e);
    o->step = last_step(r);
    o->state = r->status == RUN_FINISHED                         ? CELL_DONE
               : r->status == RUN_RUNNING && !is_abandoned(s, r) ? CELL_RUNNING
               : r->status == RUN_SCHEDULED                      ? CELL_MISSING
                                                                 : CELL_FAILED;
    return e->kind ? -1 : 0;
}

int sweep_run_look(struct sweep_run *s, struct err *e)
{
    const struct sweep *w = &s->sweep;

    runs_free(&s->runs);
    s->runs = (struct runs){ 0 };
    memset(s->count, 0, sizeof s->count);
    if (err_allow(runs_load(&s->runs, s->root, 0, e), ERR_MISSING, e) < 0)
        return -1;
    if (s->own && !s->looked) /* which cells are written elsewhere? */
        runs_await_beats(&s->runs, s->root);
    s->looked = true;
    if (s->runs.unread.kind) { /* it may be a cell */
        *e = s->runs.unread;
        return -1;
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
            if (strcmp(w->cell[c].id, cell) == 0 &&
                set_outcome(s, &s->outcome[c], r, e) < 0)
                return -1;
    }
    for (size_t c = 0; c < w->n_cells; c++)
        s->count[s->outcome[c].state]++;
    return 0;
}

/* ---- the processes ------------------------------------------------------ */

/* Leave n of the devices that this process sees, from the given one on. */
static void set_devices(int first, int n)
{
    const char *seen = getenv("CUDA_VISIBLE_DEVICES");
    AUTO(buf_clear) struct buf list = BUF_INIT;
    int at = 0;

    if (!seen) {
        for (int i = 0; i < n; i++)
            buf_printf(&list, "%s%d", i ? "," : "", first + i);
    }
    for (; seen && *seen; at++) {
        const size_t len = strcspn(seen, ",");

        if (at >= first && at < first + n)
            buf_printf(&list, "%s%.*s", list.len ? "," : "", (int)len, seen);
        seen += len + (seen[len] == ',');
    }
    setenv("CUDA_VISIBLE_DEVICES", list.s, 1);
}

static void set_threads(int slot, int parallel)
{
    char text[16];

    if (parallel < 2 || cores_place(slot, parallel))
        return;
    snprintf(text, sizeof text, "%d", cores_of_rank(parallel, true));
    setenv("OMP_NUM_THREADS", text, 0);
}

void child_arg(struct child *c, const char *text)
{
    c->arg = arena_grow(&c->mem, c->arg, c->n_args, sizeof *c->arg);
    c->arg[c->n_args++] = text ? arena_strdup(&c->mem, text) : NULL;
}

void child_env(struct child *c, const char *text)
{
    c->env = arena_grow(&c->mem, c->env, c->n_env, sizeof *c->env);
    c->env[c->n_env++] = arena_strdup(&c->mem, text);
}

/* Called in the child; never returns. */
static void become_command(const struct child_pool *p, int slot,
                           const struct child *c)
{
    const int out = open(c->log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    const int in = open("/dev/null", O_RDONLY);

    if (out < 0 || in < 0)
        _exit(1);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    set_threads(slot, p->parallel);
    if (p->gpus > 0)
        set_devices(slot * p->gpus, p->gpus);
    for (size_t i = 0; i < c->n_env; i++)
        putenv(c->env[i]);
    execvp(c->program, c->arg);
    dprintf(2, "cannot run %s: %s\n", c->program, strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

struct children {
    const struct child_pool *pool;
    struct spawn_group *group; /* of each slot; pid 0: it is free */
    struct child *child;       /* in each slot */
    int n_slots, running;
    int answer;    /* of start(), the last time */
    double again;  /* when to ask it again */
    bool stopping; /* all were asked to stop */
};

/* Seconds after which there may be a child to start though none has ended. */
enum { ASK_AGAIN = 5 };

static int start_child(struct children *c, int slot, struct err *e)
{
    const struct child_pool *p = c->pool;
    struct child *child = &c->child[slot];
    pid_t pid;

    arena_clear(&child->mem);
    *child = (struct child){ 0 };
    c->answer = p->start(p->arg, child, e);
    c->again = clock_mono() + ASK_AGAIN;
    if (c->answer != CHILD_STARTS)
        return c->answer;
    child_arg(child, NULL);
    pid = spawn_group_fork(&c->group[slot], true);
    if (pid == 0)
        become_command(p, slot, child);
    if (pid < 0) {
        c->group[slot].pid = 0;
        return err_sys(e, "cannot fork");
    }
    c->running++;
    return 0;
}

/* Start a child in every free slot, as long as there are some. */
static int fill_slots(struct children *c, struct err *e)
{
    int answer = CHILD_STARTS;

    if (c->answer != CHILD_STARTS && clock_mono() < c->again)
        return 0;
    for (int i = 0; i < c->n_slots && answer == CHILD_STARTS; i++)
        if (c->group[i].pid == 0)
            answer = start_child(c, i, e);
    return answer < 0 ? -1 : 0;
}

static void stop_children(struct children *c)
{
    for (int i = 0; i < c->n_slots && !c->stopping; i++)
        if (c->group[i].pid > 0)
            spawn_group_signal(&c->group[i], SIGTERM, c->pool->grace);
    c->stopping = true;
}

/* Free the slot of a child that has ended; *ended is false if none has. */
static int free_slot(struct children *c, bool *ended, struct err *e)
{
    const struct child_pool *p = c->pool;
    int status, i = 0;

    spawn_group_reap(c->group, (size_t)c->n_slots);
    while (i < c->n_slots &&
           (c->group[i].pid == 0 || !spawn_group_ended(&c->group[i])))
        i++;
    *ended = i < c->n_slots;
    if (!*ended)
        return 0;
    status = c->group[i].status;
    c->group[i].pid = 0;
    c->running--;
    c->again = 0;
    return p->ended(
        p->arg, c->child[i].number,
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), e);
}

/* By the clock of the file system, which all machines share. */
static void touch_beats(struct children *c)
{
    for (int i = 0; i < c->n_slots; i++) {
        struct child *one = &c->child[i];

        if (c->group[i].pid <= 0 || !one->beats || clock_mono() < one->due)
            continue;
        one->due = clock_mono() + one->beat_secs;
        utimensat(AT_FDCWD, one->beats, NULL, AT_SYMLINK_NOFOLLOW);
    }
}

int child_pool_run(const struct child_pool *p, struct err *e)
{
    struct children c = { .pool = p,
                          .n_slots = p->parallel < 1 ? 1 : p->parallel };
    int ret = 0;

    c.group = xcalloc((size_t)c.n_slots, sizeof *c.group);
    c.child = xcalloc((size_t)c.n_slots, sizeof *c.child);
    sig_watch();
    while (c.running > 0 || (!c.stopping && c.answer != CHILD_NONE)) {
        bool ended;

        if (ret < 0 || sig_caught())
            stop_children(&c);
        if (ret == 0 && !c.stopping)
            ret = fill_slots(&c, e);
        if (free_slot(&c, &ended, ret < 0 ? ERR_IGNORED : e) < 0)
            ret = -1;
        touch_beats(&c);
        if (!ended)
            clock_pause(0.05);
    }
    for (int i = 0; i < c.n_slots; i++)
        arena_clear(&c.child[i].mem);
    FREE(c.child, c.group);
    if (ret == 0 && sig_caught())
        ret = err_set(e, ERR_STOPPED,
                      "stopped by a signal; run the same command again to "
                      "resume");
    return ret;
}
