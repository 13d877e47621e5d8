/*
 * gtrack sweep - run a command for each combination of values
 *
 * The words of the command and its environment get the values of the cell, as
 * gtrack(1) describes.
 *
 * The run of a cell is created before its command starts, which takes it over
 * (run_take_handed()).  When a cell is tried again, the points of its run are
 * retracted, unless sweep.resume is set.  When the command has ended, a run
 * that it left open ends as the command did.
 */
#include "config.h"

#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/output/emit.h"
#include "common/path.h"
#include "common/sig.h"
#include "store/format/attempt.h"
#include "store/format/metric.h"
#include "store/write/new_run.h"
#include "sweep/sweep_command.h"
#include "track/runs/track.h"

static struct sweep_command command = SWEEP_COMMAND_INIT;

struct sweep_cells {
    const char *root, *experiment; /* or NULL */
    const char *const *command;
    size_t n;
};

/* ---- values ------------------------------------------------------------ */

typedef int value_fn(void *arg, const char *key, const char *value,
                     struct err *);

/* Call a function for each setting of the file and each axis, but not for a
 * setting whose key an axis or a later setting has, too. */
static int each_value(const struct sweep *w, size_t cell, value_fn *call,
                      void *arg, struct err *e)
{
    int ret = 0;

    for (size_t i = 0; ret == 0 && i < w->n_sets; i++)
        if (sweep_value(w, cell, w->set[i].key) == w->set[i].value)
            ret = call(arg, w->set[i].key, w->set[i].value, e);
    for (size_t i = 0; ret == 0 && i < w->n_axes; i++)
        if (*w->cell[cell].value[i])
            ret = call(arg, w->axis[i].key, w->cell[cell].value[i], e);
    return ret;
}

/* ---- the command ------------------------------------------------------- */

/* What the command of a cell is made of. */
struct filling {
    const struct sweep_run *s;
    size_t cell;
    const char *folder, *steps; /* of the cell */
};

static bool find_filling(void *arg, const char *name, size_t n, struct buf *out)
{
    const struct filling *f = arg;
    const struct sweep *w = &f->s->sweep;
    const struct {
        const char *name, *value;
    } own[] = {
        { "sweep.cell", w->cell[f->cell].id },
        { "sweep.folder", f->folder },
        { "sweep.steps", f->steps },
    };
    AUTO_FREE char *key = xstrndup(name, n);
    const char *value = sweep_value(w, f->cell, key);

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(own[i].name, key) == 0)
            value = own[i].value;
    if (value)
        buf_str(out, value);
    return value;
}

static int add_words(struct filling *f, struct child *c, struct err *e)
{
    const struct sweep_cells *cells = f->s->arg;
    AUTO(buf_clear) struct buf word = BUF_INIT;
    int ret = 0;

    for (size_t i = 0; i < cells->n && ret == 0; i++) {
        buf_trim(&word, 0);
        ret = sweep_fill(&word, cells->command[i], find_filling, f, e);
        child_arg(c, word.s);
    }
    return ret < 0 ? err_wrap(e, "the command") : 0;
}

/* ---- the environment --------------------------------------------------- */

static int add_variable(void *arg, const char *key, const char *value,
                        struct err *e UNUSED)
{
    struct child *c = arg;
    char *line = arena_printf(&c->mem, "GTRACK_VALUE_%s=%s", key, value);

    for (char *at = line; *at != '='; at++)
        *at = isalnum((unsigned char)*at) ? (char)toupper((unsigned char)*at)
                                          : '_';
    child_env(c, line);
    return 0;
}

static int add_json(void *arg, const char *key, const char *value,
                    struct err *e UNUSED)
{
    struct emit *o = arg;
    int64_t n;
    double x;

    if (value[strspn(value, "+-0123456789")] == '\0' && num_int(value, &n))
        emit_int(o, key, n);
    else if (num_real(value, &x))
        emit_real(o, key, x);
    else if (strcmp(value, "true") == 0 || strcmp(value, "false") == 0)
        emit_bool(o, key, *value == 't');
    else
        emit_text(o, key, value);
    return 0;
}

static void add_environment(const struct filling *f, const char *id,
                            struct child *c)
{
    const struct sweep *w = &f->s->sweep;
    struct arena *a = &c->mem;
    AUTO(buf_clear) struct buf json = BUF_INIT;
    struct emit o = { .b = &json };
    AUTO_FREE char *root = realpath(f->s->root, NULL);

    emit_object(&o, NULL);
    each_value(w, f->cell, add_json, &o, ERR_IGNORED);
    emit_object_end(&o);
    each_value(w, f->cell, add_variable, c, ERR_IGNORED);
    child_env(c, arena_printf(a, "GTRACK_ROOT=%s", root ? root : f->s->root));
    child_env(c, arena_printf(a, "GTRACK_RESUME=%s", id));
    child_env(c, arena_printf(a, "GTRACK_SWEEP_ID=%s", f->s->parent));
    child_env(c, arena_printf(a, "GTRACK_SWEEP_PID=%d", (int)getpid()));
    child_env(c, arena_printf(a, "GTRACK_SWEEP_CELL=%s", w->cell[f->cell].id));
    child_env(c, arena_printf(a, "GTRACK_SWEEP_FOLDER=%s", f->folder));
    child_env(c, arena_printf(a, "GTRACK_SWEEP_VALUES=%s", json.s));
    if (f->steps)
        child_env(c, arena_printf(a, "GTRACK_SWEEP_STEPS=%s", f->steps));
}

/* ---- the run of a cell ------------------------------------------------- */

static int set_param(void *arg, const char *key, const char *value,
                     struct err *e)
{
    return stored_run_param(arg, key, value, e);
}

static int new_run(const struct filling *f, const char *source, char **folder,
                   struct err *e)
{
    const struct sweep_run *s = f->s;
    AUTO_FREE char *name = sweep_cell_name(&s->sweep, f->cell, s->sweep.name);
    const struct run_conf conf = { .root = s->root,
                                   .name = name,
                                   .experiment = s->experiment,
                                   .parent = s->parent,
                                   .source = source };
    struct stored_run b;
    int ret = stored_run_create(&b, &conf, e);

    if (ret < 0)
        return -1;
    *folder = xstrdup(b.place);
    if (stored_run_tag(&b, "sweep", s->sweep.name, e) < 0 ||
        stored_run_tag(&b, "sweep.cell", s->sweep.cell[f->cell].id, e) < 0 ||
        stored_run_tag(&b, "sweep.keys", s->sweep.keys, e) < 0 ||
        each_value(&s->sweep, f->cell, set_param, &b, e) < 0)
        ret = -1;
    return stored_run_end(&b, RUN_SCHEDULED, 0, ret, e);
}

/* The run of a cell that is tried again has no points, unless it resumes. */
static int find_or_make_run(const struct filling *f, const char *source,
                            char **folder, int *attempt, struct err *e)
{
    const struct run_info *run = f->s->outcome[f->cell].run;

    *attempt = 1;
    if (!run)
        return new_run(f, source, folder, e);
    *folder = xstrdup(run->folder);
    if (run->attempts == 0)
        return 0;
    *attempt = run->attempt[run->attempts - 1].number;
    if (f->s->sweep.resume)
        return 0;
    return rewind_add(run->folder, *attempt, -1, clock_wall_ms(), e);
}

static enum run_status status_of(int exit_status)
{
    return exit_status == 0 ? RUN_FINISHED
           : exit_status == err_status(ERR_STOPPED)
               ? (sig_caught() == SIGINT ? RUN_STOPPED : RUN_PREEMPTED)
           : exit_status > 128 ? RUN_KILLED
                               : RUN_FAILED;
}

/* Has the run not been ended since this sweep began, and does no process write
 * it? */
static bool is_left_open(const struct sweep_run *s, const struct run_info *r)
{
    return r->status == RUN_SCHEDULED || r->status == RUN_STALE ||
           (r->end_ms > 0 && r->end_ms < s->began_ms) ||
           run_info_is_unattended(r);
}

/* A run that its program has ended otherwise stays as it is, but a program that
 * has failed has no finished run. */
static int end_run(const struct sweep_run *s, const struct run_info *r,
                   int64_t steps, int exit_status, struct err *e)
{
    char code[24], reached[24];
    struct stored_run b;
    int ret;

    snprintf(code, sizeof code, "%d", exit_status);
    snprintf(reached, sizeof reached, "%lld", (long long)steps);
    if (stored_run_open(&b, r->folder, e) < 0)
        return -1;
    ret = stored_run_tag(&b, "gtrack.exit_status", code, e);
    if (ret == 0 && steps > 0 && exit_status == 0)
        ret = stored_run_tag(&b, "sweep.steps", reached, e);
    if (is_left_open(s, r) || (r->status == RUN_FINISHED && exit_status != 0))
        return stored_run_end(&b, status_of(exit_status), 0, ret, e);
    stored_run_close(&b);
    return ret;
}

/* ---- for the sweep ----------------------------------------------------- */

static int open_cells(struct sweep_run *s, struct err *e UNUSED)
{
    const struct sweep_cells *c = s->arg;

    s->root = xstrdup(c->root);
    s->experiment = xstrdup(c->experiment ? c->experiment : "Default");
    return 0;
}

static int check_cells(struct sweep_run *s, size_t from UNUSED, struct err *e)
{
    const struct sweep *w = &s->sweep;
    const struct sweep_cells *c = s->arg;
    struct filling f = { .s = s, .folder = "", .steps = w->steps ? "" : NULL };
    struct child unused = { .n_args = 0 };
    int ret;

    if (c->n == 0)
        return err_usage(e,
                         "no command; give it after --, as in: gtrack sweep -c "
                         "sweep.ini -- python train.py --lr {optim.lr}");
    if (w->base[0])
        return conf_fail(&w->conf, "sweep.base", e,
                         "only gtrain sweep has this setting");
    if (w->method == SWEEP_HALVING && w->steps == 0)
        return err_usage(
            e, "sweep.method = halving needs sweep.steps, the steps of "
               "a whole training, for {sweep.steps} in the command");
    if ((command.join || command.to_slurm) && w->drop > 0 && !w->resume)
        return conf_fail(&w->conf, "sweep.drop", e,
                         "compares runs that other processes may begin again; "
                         "set sweep.resume = yes");
    s->most_steps = w->steps;
    ret = add_words(&f, &unused, e);
    arena_clear(&unused.mem);
    return ret;
}

static int start_cell(struct sweep_run *s, size_t cell, int64_t stop_at,
                      struct child *c, struct err *e)
{
    const int64_t steps = stop_at > 0 ? stop_at : s->sweep.steps;
    AUTO_FREE char *folder = sweep_run_cell_path(s, cell, ""), *run = NULL;
    struct filling f = { .s = s, .cell = cell };
    int attempt, ret = path_make(folder, e);

    if (ret == 0) {
        char *whole = realpath(folder, NULL);

        arena_take(&c->mem, whole);
        f.folder = whole;
    }
    if (steps > 0)
        f.steps = arena_printf(&c->mem, "%lld", (long long)steps);
    if (ret == 0)
        ret = add_words(&f, c, e);
    if (ret == 0) {
        c->program = c->arg[0];
        ret = find_or_make_run(&f, c->program, &run, &attempt, e);
    }
    if (ret == 0) {
        char *beats = attempt_path(run, attempt);

        arena_take(&c->mem, beats);
        c->beats = beats;
        c->beat_secs = ATTEMPT_BEAT_MS / 1000.0;
        add_environment(&f, path_name(run), c);
    }
    return ret;
}

static int cell_ended(struct sweep_run *s, size_t cell, int64_t stop_at,
                      int status, struct err *e)
{
    const int64_t steps = stop_at > 0 ? stop_at : s->sweep.steps;

    if (sweep_run_look(s, e) < 0)
        return -1;
    return s->outcome[cell].run
               ? end_run(s, s->outcome[cell].run, steps, status, e)
               : 0;
}

static void describe_cells(const struct sweep_run *s, struct buf *words)
{
    const struct sweep_cells *c = s->arg;

    buf_shell_option(words, "--config", command.file);
    buf_shell_option(words, "--root", s->root);
    buf_shell_option(words, "--experiment", s->experiment);
    buf_str(words, " --");
    for (size_t i = 0; i < c->n; i++)
        buf_shell_option(words, "", c->command[i]);
}

static const struct sweep_run_program sweep_cells = {
    .open = open_cells,
    .check = check_cells,
    .start = start_cell,
    .ended = cell_ended,
    .describe = describe_cells,
};

/* ---- the command line -------------------------------------------------- */

static const char *experiment;

static const struct opt sweep_opts[] = {
    TRACK_OPT_ROOT,
    { 'c', "config", "file", OPT_STRING, &command.file,
      "read the sweep from FILE, which may be one of W&B" },
    { 'e', "experiment", "name", OPT_STRING, &experiment,
      "create the runs in this experiment (default: Default)" },
    SWEEP_OPTS(command),
    SWEEP_OPT_RANDOM(command, 0),
    { 0 }
};

static int sweep_main(int argc, char **argv, struct err *e)
{
    const char *action = sweep_command_action(argc, argv);
    const int at = action[0] != '\0';
    struct sweep_cells cells = {
        .root = track_store(),
        .experiment = experiment,
        .command = (const char *const *)argv + at,
        .n = (size_t)(argc - at),
    };
    AUTO(sweep_run_close) struct sweep_run s = SWEEP_RUN_INIT(&sweep_cells);

    s.arg = &cells;
    sweep_init(&s.sweep, "seed");
    if (sweep_command_read(&s, &command, e) < 0)
        return -1;
    if (cells.n == 0) {
        cells.command = s.sweep.command;
        cells.n = s.sweep.n_command;
    }
    return sweep_command_run(&s, &command, action, e);
}

const struct cmd cmd_sweep = {
    .name = "sweep",
    .args = "[status|report] [-- COMMAND...]",
    .help = "run a command for each combination of values",
    .opts = sweep_opts,
    .run = sweep_main,
};
