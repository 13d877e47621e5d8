#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/path.h"
#include "common/sig.h"
#include "trainer/cmds.h"
#include "trainer/train.h"

static const char *config, *resume, *name, *root;
static struct opt_list sets;
static bool show_config, anomaly;

const struct opt cmd_train_opts[] = {
    { 'c', "config", "file", OPT_STRING, &config, "read settings from FILE" },
    { 's', "set", "section.key=value", OPT_LIST, &sets,
      "change one setting; may be given many times" },
    { 0, "resume", "checkpoint", OPT_STRING, &resume,
      "go on from a checkpoint, a run, or auto" },
    { 'n', "name", "name", OPT_STRING, &name, "call the run NAME" },
    { 0, "root", "dir", OPT_STRING, &root, "keep the run in DIR" },
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
        return path_join(s->checkpoint.folder, "");
    return r->run ? run_artifact(r->run, "checkpoints") : NULL;
}

static char *command_line(int argc, char **argv)
{
    struct buf b = BUF_INIT;

    buf_str(&b, "gtrain");
    (void)argc;
    (void)argv;
    if (config)
        buf_printf(&b, " --config %s", config);
    for (size_t i = 0; i < sets.n; i++)
        buf_printf(&b, " --set %s", sets.item[i]);
    if (resume)
        buf_printf(&b, " --resume %s", resume);
    return buf_detach(&b);
}

/* The run, the loop, and the end of both, whatever happened. */
static int run_job(struct job *j, const char *from, struct err *e)
{
    struct report report = { 0 };
    struct ckpt ckpt = { 0 };
    struct guard guard = { 0 };
    struct train t = {
        .job = j, .report = &report, .ckpt = &ckpt, .guard = &guard
    };
    char *id = from ? ckpt_run_id(from, e) : NULL;
    char *command = command_line(0, NULL), *folder = NULL;
    int ret = e->kind == ERR_NONE ? 0 : -1;

    if (ret == 0 && from)
        ret = ckpt_load(from, j, e);
    if (ret == 0)
        ret = report_open(&report, j, command, id && *id ? id : NULL, e);
    if (ret == 0) {
        if (from && report.run)
            run_rewind(report.run, j->at.step);
        folder = folder_of(j->set, &report);
        ckpt_open(&ckpt, j, folder ? folder : "", report.run);
        guard_init(&guard, &j->set->train);
        report_begin(&report, j);
        train_run(&t, e);
        ckpt_close(&ckpt);
        guard_clear(&guard);
        ret = report_close(&report, j, e);
    }
    free(id);
    free(command);
    free(folder);
    return ret;
}

int cmd_train(int argc, char **argv, struct err *e)
{
    struct settings s = { 0 };
    struct job j = { 0 };
    char *from = NULL, *own = NULL;
    int ret;

    if (argc > 0)
        return err_set(e, ERR_USAGE,
                       "'%s' is no option; settings are given "
                       "by --config FILE and --set",
                       argv[0]);
    ret = load_settings(&s, config, e);
    if (ret == 0 && show_config) {
        print_settings(&s);
        settings_clear(&s);
        return 0;
    }
    if (ret == 0 && resume) {
        from = ckpt_find(&s, resume, e);
        ret = from || e->kind == ERR_NONE ? 0 : -1;
        if (!from && ret == 0)
            log_info("no checkpoint yet; starting anew");
    }
    if (ret == 0 && from && !config) {
        own = path_join(from, "config.ini");
        settings_clear(&s);
        ret = load_settings(&s, own, e);
    }
    if (ret == 0 && !config && !from)
        ret = err_set(e, ERR_USAGE, "which settings? give --config FILE");
    sig_watch();
    if (ret == 0)
        ret = job_open(&j, &s, JOB_TRAIN, e);
    j.detect_anomaly = anomaly;
    if (ret == 0)
        ret = run_job(&j, from, e);
    job_close(&j);
    settings_clear(&s);
    free(from);
    free(own);
    free(sets.item);
    return ret;
}
