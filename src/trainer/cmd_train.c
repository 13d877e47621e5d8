/*
 * gtrain train - train a model
 *
 * Reads the settings, from a file or from the checkpoint that training resumes
 * from, opens the engine and trains; or starts itself as several ranks.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/path.h"
#include "common/program.h"
#include "common/sig.h"
#include "store/read/runs.h"
#include "trainer/checkpoint/checkpoint_files.h"
#include "trainer/checkpoint/checkpoint_find.h"
#include "trainer/checkpoint/checkpoint_state.h"
#include "trainer/plan/plan_step.h"
#include "trainer/ranks/launch.h"
#include "trainer/settings/settings.h"
#include "trainer/training/train.h"

static const char *config, *resume, *name, *root;
static struct opt_list sets;
static bool show_config, detect_anomaly, steal;
static int64_t ranks = -1, gpus = -1;

static const struct opt train_opts[] = {
    SETTINGS_OPTS(config, sets),
    { 0, "resume", "checkpoint", OPT_STRING, &resume,
      "resume from a checkpoint, a run, or auto" },
    { 0, "steal", NULL, OPT_FLAG, &steal,
      "take the run and its checkpoints from another process" },
    { 'n', "name", "name", OPT_STRING, &name, "name the run NAME" },
    { 0, "root", "dir", OPT_STRING, &root, "record the run in the store DIR" },
    { 0, "ranks", "count", OPT_LONG, &ranks,
      "train with COUNT processes on this machine", .range = { 1, 1024 } },
    { 0, "gpus", "count", OPT_LONG, &gpus,
      "the same on GPUs; each process uses its own", .range = { 1, 1024 } },
    { 0, "show-config", NULL, OPT_FLAG, &show_config,
      "print every setting with its value and exit" },
    { 0, "detect-anomaly", NULL, OPT_FLAG, &detect_anomaly,
      "stop at the first operation whose result is not finite" },
    { 0 }
};

/* With --gpus, a device that is not a GPU is an error. */
static int put_gpus(struct settings *s, struct err *e)
{
    const char *device = s->train.device;

    if (strcmp(device, "auto") == 0 || strcmp(device, "cuda") == 0)
        return conf_put(&s->conf, "train.device", "cuda", ENGINE_GPUS, e);
    if (strncmp(device, "cuda", 4) == 0)
        return 0;
    return err_usage(e,
                     "--gpus: train.device is %s; use --ranks %lld to train "
                     "there",
                     device, (long long)gpus);
}

static int load_settings(struct settings *s, const char *path, struct err *e)
{
    if (settings_load(s, path, sets.item, sets.n, e) < 0)
        return -1;
    if (name && conf_put(&s->conf, "run.name", name, "--name", e) < 0)
        return -1;
    if (root && conf_put(&s->conf, "run.root", root, "--root", e) < 0)
        return -1;
    return gpus == -1 ? 0 : put_gpus(s, e);
}

static void print_settings(const struct settings *s)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;

    conf_dump(&s->conf, &text);
    pager_print(ERR_IGNORED, "%s", text.s);
}

/* The command as the run records it, with another checkpoint. */
static char *command_line(const char *from)
{
    struct buf b = BUF_INIT;

    buf_str(&b, "gtrain");
    buf_shell_option(&b, "--config", config);
    for (size_t i = 0; i < sets.n; i++)
        buf_shell_option(&b, "--set", sets.item[i]);
    buf_shell_option(&b, "--name", name);
    buf_shell_option(&b, "--root", root);
    if (ranks > 0)
        buf_printf(&b, " --ranks %lld", (long long)ranks);
    if (gpus > 0)
        buf_printf(&b, " --gpus %lld", (long long)gpus);
    buf_shell_option(&b, "--resume", from);
    return buf_detach(&b);
}

/* Training anew leaves a run behind that may have been meant. */
static void mention_stopped(const struct settings *s)
{
    AUTO_FREE char *command = command_line(NULL);
    const size_t n = strlen(command);
    AUTO(runs_free) struct runs runs = { 0 };

    if (runs_load(&runs, s->run.root, LOAD_NO_METRICS, ERR_IGNORED) < 0)
        runs.n = 0;
    for (size_t i = runs.n; i-- > 0;) {
        const struct run_info *const run = &runs.run[i];
        const char *const was = run_info_command(run);

        if (!was || strncmp(was, command, n) != 0 || (was[n] && was[n] != ' '))
            continue;
        if (run->status == RUN_PREEMPTED || run->status == RUN_STOPPED) {
            AUTO(buf_clear) struct buf word = BUF_INIT;

            buf_shell_short(&word, run->name);
            log_info("starting a new run; %s, which was stopped, resumes with "
                     "'%s --resume %s'",
                     run->name, command, word.s);
        }
        break;
    }
}

/* Jobs of a batch system are started by other commands. */
static int say_how_to_resume(const struct coll *coll, struct err *e)
{
    AUTO_FREE char *command = command_line(resume ? resume : "auto");
    const struct err why = *e;

    if (coll->size == 1 || ranks > 0 || gpus > 0)
        err_set(e, why.kind, "%s; '%s' resumes it", why.text, command);
    else
        err_set(e, why.kind, "%s; start it with --resume auto to resume it",
                why.text);
    return -1;
}

/* Start this command again as several ranks. */
static int start_ranks(struct err *e)
{
    const int64_t count = gpus == -1 ? ranks : gpus;

    if (ranks != -1 && gpus != -1)
        return err_usage(e, "--ranks and --gpus exclude each other");
    return local_ranks_run(program_words(), (int)count, e);
}

/* A run goes on in the precision it began with, and its model started from what
 * it did. */
static int keep_beginning(struct settings *s, const char *checkpoint,
                          struct err *e)
{
    AUTO(settings_clear) struct settings then = { 0 };
    int ret = 0;

    if (checkpoint_settings(&then, checkpoint, ERR_IGNORED) == 0) {
        if (s->train.precision == PRECISION_AUTO)
            s->train.precision = then.train.precision;
        if (*then.train.from || *s->train.from)
            ret = conf_put(&s->conf, "train.from", then.train.from,
                           "train.from", e);
        if (ret == 0 && *then.train.from && !*s->run.parent)
            ret = conf_put(&s->conf, "run.parent", then.run.parent,
                           "train.from", e);
    }
    return ret;
}

/* Load the settings, and find the checkpoint to resume from, if any. */
static int open_settings(struct settings *s, char **checkpoint, struct err *e)
{
    AUTO_FREE char *stored = NULL;

    if (load_settings(s, config, e) < 0)
        return -1;
    if (resume && !show_config && checkpoint_find(s, resume, checkpoint, e) < 0)
        return -1;
    if (*checkpoint && keep_beginning(s, *checkpoint, e) < 0)
        return -1;
    if (show_config)
        return 0;
    if (config)
        return *checkpoint ? 0 : checkpoint_from_find(s, e);
    if (!*checkpoint)
        return err_usage(e, "no settings; use --config FILE to name them");
    stored = path_join(*checkpoint, "config.ini");
    settings_clear(s);
    return load_settings(s, stored, e);
}

/* After the memory of a device was too small. */
static void advise_batch(const struct engine *eng, struct settings *s,
                         struct err *e)
{
    const struct err why = *e;
    const double gib = (double)eng->dev.memory.total / 0x1p30;
    const int64_t fits =
        gib > 0 ? plan_memory_batch(s, eng->coll.size, gib) : 0;

    if (fits > 0 && fits < s->train.micro_batch)
        err_set(e, why.kind, "%s; train.micro_batch = %lld should fit",
                why.text, (long long)fits);
}

static int open_and_train(struct settings *s, const char *checkpoint,
                          struct err *e)
{
    AUTO_FREE char *command = command_line(resume);
    struct alert_writer alerts;
    struct train_conf conf = { .checkpoint = checkpoint,
                               .command = command,
                               .alerts = &alerts,
                               .start =
                                   (steal ? REPORT_STEAL : 0) |
                                   (resume && !checkpoint ? REPORT_AGAIN : 0),
                               .detect_anomaly = detect_anomaly };
    const char *from = *s->train.from ? s->train.from : NULL;
    struct engine eng = { .weights = { checkpoint ? checkpoint : from,
                                       checkpoint_fits } };
    int ret;

    alert_writer_fork(&alerts);
    ret = engine_open(&eng, s, ENGINE_TRAIN, e);
    if (ret == 0 && !resume && eng.coll.rank == 0 && log_shows(LOG_INFO))
        mention_stopped(s);
    if (ret == 0)
        ret = train_run(&eng, &conf, e);
    if (ret < 0 && eng.dev.memory.refused)
        advise_batch(&eng, s, e);
    if (ret < 0 && e->kind == ERR_STOPPED)
        say_how_to_resume(&eng.coll, e);
    if (ret < 0)
        local_ranks_report(e); /* before the other ranks notice the end */
    engine_close(&eng);
    return ret;
}

static int train_main(int argc, char **argv, struct err *e)
{
    struct settings s = { 0 };
    char *checkpoint = NULL;
    int ret;

    if (argc > 0)
        return err_usage(e,
                         "unexpected argument '%s'; use --config FILE and "
                         "--set for settings",
                         argv[0]);
    if ((ranks != -1 || gpus != -1) && !show_config && !getenv("GTRAIN_SIZE"))
        return start_ranks(e);
    sig_watch();
    ret = open_settings(&s, &checkpoint, e);
    if (ret < 0) {
        launch_mute(e);
        local_ranks_report(e);
    } else if (show_config) {
        print_settings(&s);
    } else {
        ret = open_and_train(&s, checkpoint, e);
    }
    settings_clear(&s);
    FREE(checkpoint, sets.item);
    return ret;
}

const struct cmd cmd_train = {
    .name = "train",
    .help = "train a model (the default command)",
    .opts = train_opts,
    .run = train_main,
};
