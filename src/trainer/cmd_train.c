#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/sig.h"
#include "trainer/cmds.h"
#include "trainer/ranks/launch.h"
#include "trainer/ranks/local_ranks.h"
#include "trainer/training/checkpoint_files.h"
#include "trainer/training/checkpoint_find.h"
#include "trainer/training/checkpoint_state.h"
#include "trainer/training/train.h"

static const char *config, *resume, *name, *root;
static struct opt_list sets;
static bool show_config, anomaly;
static int64_t ranks = -1;

static const struct opt train_opts[] = {
    { 'c', "config", "file", OPT_STRING, &config, "read settings from FILE" },
    { 's', "set", "section.key=value", OPT_LIST, &sets,
      "change one setting; may be given many times" },
    { 0, "resume", "checkpoint", OPT_STRING, &resume,
      "go on from a checkpoint, a run, or auto" },
    { 'n', "name", "name", OPT_STRING, &name, "call the run NAME" },
    { 0, "root", "dir", OPT_STRING, &root, "keep the run in DIR" },
    { 0, "ranks", "count", OPT_LONG, &ranks,
      "train with COUNT processes on this machine" },
    { 0, "gpus", "count", OPT_LONG, &ranks,
      "the same: a process for each GPU" },
    { 0, "show-config", NULL, OPT_FLAG, &show_config,
      "print every setting, and stop" },
    { 0, "detect-anomaly", NULL, OPT_FLAG, &anomaly,
      "look for the first operation whose result is not finite" },
    { 0 }
};

static int load_settings(struct settings *s, const char *path, struct err *e)
{
    if (settings_load(s, path, sets.item, sets.n, e) < 0)
        return -1;
    if (name && conf_put(&s->conf, "run.name", name, "--name", e) < 0)
        return -1;
    if (root && conf_put(&s->conf, "run.root", root, "--root", e) < 0)
        return -1;
    return 0;
}

static void print_settings(const struct settings *s)
{
    struct buf text = BUF_INIT;

    conf_dump(&s->conf, &text);
    fputs(text.s, stdout);
    buf_clear(&text);
}

/* Where the checkpoints of a run are. */
static char *folder_of(const struct settings *s, struct report *r)
{
    if (*s->checkpoint.folder)
        return xstrdup(s->checkpoint.folder);
    return r->run ? run_artifact(r->run, "checkpoints") : NULL;
}

/* What the run records of it. */
static char *command_line(void)
{
    struct buf b = BUF_INIT;

    buf_str(&b, "gtrain");
    if (config)
        buf_printf(&b, " --config %s", config);
    for (size_t i = 0; i < sets.n; i++)
        buf_printf(&b, " --set %s", sets.item[i]);
    if (resume)
        buf_printf(&b, " --resume %s", resume);
    if (name)
        buf_printf(&b, " --name %s", name);
    if (root)
        buf_printf(&b, " --root %s", root);
    if (ranks > 0)
        buf_printf(&b, " --ranks %lld", (long long)ranks);
    return buf_detach(&b);
}

/* Rank 0 names the folder of checkpoints; all go on from the same step. */
static int agree(struct job *j, char **folder, struct err *e)
{
    char text[4096] = "";
    int64_t most = j->state.step, least = -j->state.step;

    if (j->coll.rank == 0)
        snprintf(text, sizeof text, "%s", *folder ? *folder : "");
    coll_bcast(&j->coll, text, sizeof text, 0);
    if (coll_max(&j->coll, &most, e) < 0 || coll_max(&j->coll, &least, e) < 0)
        return -1;
    if (most != -least)
        return err_set(e, ERR_RANK,
                       "ranks found checkpoints of steps %lld "
                       "and %lld; all must see the same folder",
                       (long long)-least, (long long)most);
    free(*folder);
    *folder = xstrdup(text);
    return 0;
}

/* The run, the loop, and the end of both, whatever happened. */
static int run_job(struct job *j, const char *from, struct err *e)
{
    struct report report = { 0 };
    struct checkpoint checkpoint = { 0 };
    struct step_check check = { 0 };
    struct train t = {
        .job = j, .report = &report, .checkpoint = &checkpoint, .check = &check
    };
    char *id = NULL, *command = command_line(), *folder = NULL;
    int ret = from ? checkpoint_run_id(from, &id, e) : 0, agreed;

    if (ret == 0 && from)
        ret = checkpoint_load(from, j, e);
    if (ret == 0)
        ret = report_open(&report, j, command, id && *id ? id : NULL, e);
    if (ret == 0) {
        if (from && report.run)
            run_rewind(report.run, j->state.step);
        folder = folder_of(j->set, &report);
        agreed = agree(j, &folder, e);
        if (checkpoint_open(&checkpoint, j, folder ? folder : "", report.run,
                            e) < 0)
            agreed = -1;
        step_check_init(&check, &j->set->train);
        report_begin(&report, j);
        if (agreed == 0)
            train_run(&t, e);
        checkpoint_close(&checkpoint);
        step_check_clear(&check);
        ret = report_close(&report, j, e);
    }
    free(id);
    free(command);
    free(folder);
    return ret;
}

/* This very command again, as so many ranks. */
static int start_ranks(struct err *e)
{
    struct buf words = BUF_INIT;
    char **argv = NULL;
    size_t n = 0, room = 0;
    int ret = buf_read_file(&words, "/proc/self/cmdline", 1 << 20, e);

    for (size_t at = 0; ret == 0 && at < words.len;
         at += strlen(words.s + at) + 1) {
        GROW(argv, n, room);
        argv[n++] = words.s + at;
    }
    GROW(argv, n, room);
    argv[n] = NULL;
    if (ret == 0 && (ranks < 1 || ranks > 1024))
        ret = err_set(e, ERR_USAGE, "--ranks=%lld: want 1 to 1024",
                      (long long)ranks);
    if (ret == 0)
        ret = local_ranks_run(argv, (int)ranks, e);
    free(argv);
    buf_clear(&words);
    return ret;
}

static int train(struct err *e)
{
    struct settings s = { 0 };
    struct job j = { 0 };
    char *from = NULL, *own = NULL;
    int ret = load_settings(&s, config, e);
    if (ret == 0 && show_config) {
        print_settings(&s);
        settings_clear(&s);
        return 0;
    }
    if (ret == 0 && resume)
        ret = checkpoint_find(&s, resume, &from, e);
    if (ret == 0 && from && !config) {
        own = path_join(from, "config.ini");
        settings_clear(&s);
        ret = load_settings(&s, own, e);
    }
    if (ret == 0 && !config && !from)
        ret = err_set(e, ERR_USAGE, "which settings? give --config FILE");
    if (ret < 0)
        launch_mute(e);
    if (ret == 0)
        ret = job_open(&j, &s, JOB_TRAIN, e);
    j.detect_anomaly = anomaly;
    if (ret == 0 && resume && !from && j.coll.rank == 0)
        log_info("no checkpoint yet; starting anew");
    if (ret == 0)
        ret = run_job(&j, from, e);
    if (ret < 0)
        local_ranks_report(e); /* before the others see us go */
    job_close(&j);
    settings_clear(&s);
    free(from);
    free(own);
    return ret;
}

static int train_main(int argc, char **argv, struct err *e)
{
    int ret;

    if (argc > 0)
        return err_set(e, ERR_USAGE,
                       "'%s' is no option; settings are given "
                       "by --config FILE and --set",
                       argv[0]);
    if (ranks != -1 && !show_config && !getenv("GTRAIN_SIZE"))
        return start_ranks(e);
    sig_watch();
    ret = train(e);
    free(sets.item);
    return ret;
}

const struct cmd cmd_train = {
    .name = "train",
    .help = "train a model; the command when none is given",
    .opts = train_opts,
    .run = train_main,
};
