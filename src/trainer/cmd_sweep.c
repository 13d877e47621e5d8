/*
 * gtrain sweep - train a model for each combination of settings
 */
#include "config.h"

#include <string.h>

#include "common/buf.h"
#include "common/opt.h"
#include "common/save.h"
#include "sweep/sweep_command.h"
#include "trainer/engine/engine_data.h"
#include "trainer/sweep_cells.h"

static const char *base;
static struct sweep_command command = SWEEP_COMMAND_INIT;

static const struct opt sweep_opts[] = {
    { 'c', "config", "file", OPT_STRING, &base,
      "start each cell from the settings in FILE" },
    SWEEP_OPTS(command),
    SWEEP_OPT_RANDOM(command, 'r'),
    { 0 }
};

/* ---- checks ------------------------------------------------------------ */

/* Without validation no cell would have the metric to compare by. */
static int check_metric(const struct sweep_run *s, const struct settings *set,
                        struct err *e)
{
    const bool given = *set->data.val;

    if (strncmp(s->sweep.metric, "val/", 4) != 0 ||
        (given && set->eval.every.n > 0))
        return 0;
    return conf_fail(&set->conf, given ? "eval.every" : "data.val", e,
                     "comparing cells by %s needs validation", s->sweep.metric);
}

/* GPUs are those of this machine. */
static int check_ranks(const struct sweep *w, const struct settings *set,
                       struct err *e)
{
    const char *device = set->train.device;

    if (w->gpus > 0 && w->ranks > 0)
        return conf_fail(&w->conf, "sweep.ranks", e,
                         "cannot be used together with sweep.gpus");
    if (w->gpus > 0 && strncmp(device, "cuda", 4) != 0 &&
        strcmp(device, "auto") != 0)
        return conf_fail(&w->conf, "sweep.gpus", e,
                         "needs a GPU, but train.device is %s; sweep.ranks "
                         "gives each cell processes on it",
                         device);
    return 0;
}

static int check_cells(struct sweep_run *s, size_t from, struct err *e)
{
    const struct sweep *w = &s->sweep;
    const int ranks = (int)(w->gpus > w->ranks ? w->gpus : w->ranks);
    AUTO(engine_check_clear) struct engine_check seen = { 0 };

    for (size_t c = from; c < w->n_cells; c++) {
        AUTO(settings_clear) struct settings set = { 0 };

        if (sweep_cells_load(w, c, &set, e) < 0 ||
            check_ranks(w, &set, e) < 0 ||
            engine_check(&seen, &set, ranks > 1 ? ranks : 1, e) < 0 ||
            check_metric(s, &set, e) < 0)
            return -1;
        if (set.is.steps > s->most_steps)
            s->most_steps = set.is.steps;
    }
    return 0;
}

/* ---- the folder -------------------------------------------------------- */

static int write_cell(struct sweep_run *s, size_t cell, struct err *e)
{
    AUTO(settings_clear) struct settings set = { 0 };
    AUTO(buf_clear) struct buf text = BUF_INIT;
    AUTO_FREE char *path = sweep_run_cell_path(s, cell, ".ini");

    if (sweep_cells_load(&s->sweep, cell, &set, e) < 0)
        return -1;
    conf_dump(&set.conf, &text);
    return save_text(path, text.s, e);
}

/* ---- the cells for the sweep -------------------------------------------- */

static int open_cells(struct sweep_run *s, struct err *e)
{
    AUTO(settings_clear) struct settings set = { 0 };

    if (sweep_cells_load(&s->sweep, 0, &set, e) < 0 ||
        check_ranks(&s->sweep, &set, e) < 0)
        return -1;
    s->root = xstrdup(set.run.root);
    s->experiment = xstrdup(set.run.experiment);
    return 0;
}

/* The command that trains one cell. */
static int start_cell(struct sweep_run *s, size_t cell, int64_t stop_at,
                      struct child *c, struct err *e UNUSED)
{
    const struct sweep *w = &s->sweep;
    const char *id = w->cell[cell].id;
    struct arena *a = &c->mem;
    char *ini = sweep_run_cell_path(s, cell, ".ini");

    arena_take(a, ini);
    c->program = "/proc/self/exe";
    child_arg(c, "gtrain");
    child_arg(c, "train");
    child_arg(c, "--config");
    child_arg(c, ini);
    child_arg(c, "--resume=auto");
    child_arg(c, arena_printf(a, "--set=run.parent=%s", s->parent));
    child_arg(c, arena_printf(a,
                              "--set=run.tags=sweep=%s, sweep.cell=%s, "
                              "sweep.keys=%s",
                              w->name, id, w->keys));
    child_arg(c, arena_printf(a, "--set=checkpoint.folder=%s/cells/%s",
                              s->folder, id));
    if (w->gpus > 1)
        child_arg(c, arena_printf(a, "--gpus=%lld", (long long)w->gpus));
    if (w->ranks > 1)
        child_arg(c, arena_printf(a, "--ranks=%lld", (long long)w->ranks));
    if (stop_at > 0)
        child_arg(
            c, arena_printf(a, "--set=train.stop_at=%lld", (long long)stop_at));
    return 0;
}

static void describe_cells(const struct sweep_run *s, struct buf *words)
{
    buf_shell_option(words, "", command.file);
    if (s->sweep.base[0])
        buf_shell_option(words, "--config", s->sweep.base);
}

static const struct sweep_run_program program = {
    .open = open_cells,
    .check = check_cells,
    .write = write_cell,
    .start = start_cell,
    .describe = describe_cells,
};

/* Settings of a sweep that concern the commands of gtrack sweep. */
static int check_sweep(const struct sweep *w, struct err *e)
{
    static const char *const keys[] = { "sweep.steps", "sweep.resume" };

    for (int i = 0; i < 2; i++)
        if (conf_origin(&w->conf, keys[i]))
            return conf_fail(&w->conf, keys[i], e,
                             "only gtrack sweep has this setting");
    if (w->n_command)
        return err_usage(e, "%s has a command; run it with gtrack sweep",
                         command.file);
    return 0;
}

static int sweep_main(int argc, char **argv, struct err *e)
{
    const char *action = sweep_command_action(argc, argv);
    const int at = action[0] != '\0';
    AUTO(sweep_run_close) struct sweep_run s = SWEEP_RUN_INIT(&program);

    if (argc > at + 1)
        return err_usage(e, "unexpected argument '%s'", argv[at + 1]);
    command.file = argc > at ? argv[at] : NULL;
    sweep_init(&s.sweep, "train.seed");
    if (sweep_command_read(&s, &command, e) < 0)
        return -1;
    if (base)
        s.sweep.base = base;
    if (check_sweep(&s.sweep, e) < 0)
        return -1;
    return sweep_command_run(&s, &command, action, e);
}

const struct cmd cmd_sweep = {
    .name = "sweep",
    .args = "[status|report] [FILE]",
    .help = "train a model for each combination of settings",
    .opts = sweep_opts,
    .run = sweep_main,
};
