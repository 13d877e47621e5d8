/*
 * gtrain rehearse - try a job in miniature, with the accidents it may have
 *
 * Starts gtrain with the settings of the job and a tiny model, disturbs it by
 * signals, limits, missing files and a huge learning rate, and resumes it.
 */
#include "config.h"

#include <inttypes.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/random.h"
#include "common/save.h"
#include "common/sig.h"
#include "common/spawn.h"
#include "common/output/table.h"
#include "kernels/dev.h"
#include "trainer/engine/engine_data.h"
#include "trainer/replay/rehearse_scene.h"
#include "trainer/settings/settings.h"

static const char *config, *script;
static struct opt_list sets, chosen;
static int64_t ranks = 1;
static struct table_style style;

static const struct opt rehearse_opts[] = {
    SETTINGS_OPTS(config, sets),
    { 0, "ranks", "count", OPT_LONG, &ranks,
      "rehearse with COUNT processes (default: 1)", .range = { 1, 1024 } },
    { 0, "scene", "name", OPT_LIST, &chosen,
      "rehearse only this one (may be given many times)" },
    { 0, "script", "file", OPT_STRING, &script,
      "try whether the job script FILE queues the job again" },
    TABLE_OPTS(style),
    { 0 }
};

/* ---- folders ---------------------------------------------------------- */

/* The nearest folder above a path, or the path itself, that exists; the caller
 * frees it. */
static char *find_existing(const char *path)
{
    char *at = xstrdup(path);

    while (!path_exists(at)) {
        char *parent = path_parent(at);

        free(at);
        at = parent;
    }
    return at;
}

/* Can files be written below the path, which need not exist, and is there room
 * for `bytes` bytes?  `lasting`: it must not be in memory. */
static void check_place(struct rehearsal *r, const char *what, const char *path,
                        int64_t bytes, bool lasting)
{
    AUTO_FREE char *at = find_existing(path);
    char free_text[NUM_TEXT], need[NUM_TEXT];
    struct statfs fs = { 0 };
    const bool known = statfs(at, &fs) == 0;
    const double room = (double)fs.f_bavail * (double)fs.f_bsize;
    AUTO(buf_clear) struct buf text = BUF_INIT;
    bool good = false;

    num_bytes(free_text, room);
    num_bytes(need, (double)bytes);
    if (!known || access(at, W_OK | X_OK) < 0)
        buf_printf(&text, "%s cannot be written to; choose another folder", at);
    else if (lasting && ((unsigned long)fs.f_type == TMPFS_MAGIC ||
                         (unsigned long)fs.f_type == RAMFS_MAGIC))
        buf_printf(&text,
                   "%s is in memory and gone when the machine restarts; choose "
                   "another checkpoint.folder",
                   at);
    else if (room < (double)bytes)
        buf_printf(
            &text,
            "%s has %s free, but the checkpoints need %s; choose another "
            "folder, or a lower checkpoint.keep_last",
            at, free_text, need);
    else
        good = true;
    if (good && bytes > 0)
        buf_printf(&text, "%s has %s free, and the checkpoints need %s", at,
                   free_text, need);
    else if (good)
        buf_printf(&text, "%s has %s free", at, free_text);
    rehearsal_result(r, what, good ? "passed" : "failed", text.s);
}

/* ---- job scripts ------------------------------------------------------ */

/* Programs for the script, which write down their names and arguments. */
static int write_programs(const char *folder, struct err *e)
{
    static const char text[] =
        "#!/bin/sh\n"
        "echo ${0##*/} \"$@\" >>\"$GTRAIN_REHEARSAL\"\n"
        "case $0 in */scontrol | */sbatch) exit 0 ;; *) exit 75 ;; esac\n";
    static const char *const names[] = { "gtrain",  "srun",     "mpirun",
                                         "mpiexec", "scontrol", "sbatch" };
    int ret = path_make(folder, e);

    for (size_t i = 0; i < sizeof names / sizeof names[0] && ret == 0; i++) {
        AUTO_FREE char *path = path_join(folder, names[i]);

        ret = save_text(path, text, e);
        if (ret == 0 && chmod(path, 0755) < 0)
            ret = err_sys(e, "cannot make %s executable", path);
    }
    return ret;
}

/* Run the script, and read what it has called. */
static int call_script(const char *folder, struct buf *calls, struct err *e)
{
    AUTO_FREE char *bin = path_join(folder, "bin");
    AUTO_FREE char *list = path_join(folder, "calls");
    AUTO_FREE char *record = xasprintf("GTRAIN_REHEARSAL=%s", list);
    AUTO_FREE char *path = xasprintf("PATH=%s:%s", bin, getenv("PATH"));
    const char *const argv[] = { "env",  record, path, "SLURM_JOB_ID=1",
                                 "bash", script, NULL };
    AUTO(buf_clear) struct buf out = BUF_INIT;
    struct spawn s = { .out = &out, .quiet = true, .secs = 60 };
    struct err ended = { 0 };
    int ret = write_programs(bin, e);

    if (ret == 0)
        spawn_run(argv, &s, &ended); /* its status is that of training */
    if (ret == 0 && buf_read_file(calls, list, 1 << 20, e) < 0)
        ret = err_input(e, "%s starts no training: %s", script, ended.text);
    return ret;
}

/* As Slurm reads it: minutes, M:S, H:M:S, or after D- hours, H:M or H:M:S. */
static double read_limit(const char *text)
{
    double days = 0, part[3] = { 0 };
    int used = 0, n;

    sscanf(text, "%lf-%n", &days, &used);
    n = sscanf(text + used, "%lf:%lf:%lf", &part[0], &part[1], &part[2]);
    return used > 0 || n == 3 ? (used > 0 ? days * 86400 : 0) + part[0] * 3600 +
                                    part[1] * 60 + part[2]
                              : part[0] * 60 + part[1];
}

/* The seconds that writing so many bytes takes. */
static int time_checkpoint(const char *folder, int64_t bytes, double *secs,
                           struct err *e)
{
    AUTO_FREE char *path = path_join(folder, "speed");
    const double began = clock_mono();
    AUTO(buf_clear) struct buf some = BUF_INIT;
    int ret;

    for (int i = 0; i < 1 << 19; i++) /* 16 MiB */
        buf_str(&some, "0123456789abcdef0123456789ABCDEF");
    ret = save_bytes(path, some.s, some.len, e);
    *secs = (clock_mono() - began) * (double)bytes / (double)some.len;
    unlink(path);
    return ret;
}

/* The signal leaves time for a checkpoint, and the limit for training. */
static int check_times(const char *source, const char *folder, int64_t bytes,
                       struct err *e)
{
    const char *signal = strstr(source, "--signal");
    const char *limit = strstr(source, "--time=");
    const char *at = signal ? strpbrk(signal, "@\n") : NULL;
    const double before = at && *at == '@' ? strtod(at + 1, NULL) : 60;
    double secs;

    if (!signal)
        return err_input(e,
                         "no signal comes before the time limit; add: #SBATCH "
                         "--signal=USR1@120");
    if (time_checkpoint(folder, bytes, &secs, e) < 0)
        return -1;
    if (secs > before)
        return err_input(e,
                         "writing a checkpoint takes about %.0f s in %s, but "
                         "the signal comes %.0f s before the time limit; "
                         "change it to --signal=USR1@%.0f",
                         secs, folder, before, 60 + 2 * secs);
    if (limit && read_limit(limit + 7) <= before + secs)
        return err_input(e,
                         "the time limit of %.0f s leaves no time for "
                         "training: the signal comes %.0f s before it",
                         read_limit(limit + 7), before);
    return 0;
}

/*
 * Run the job script with srun, mpirun and gtrain replaced by programs that end
 * with status 75, as after a signal, and with a scontrol and an sbatch that
 * only record how they are called.  The script must resume automatically and
 * queue the job again, and for Slurm ask for a signal before the time limit,
 * early enough to write a checkpoint of so many bytes.
 */
static void check_script(struct rehearsal *r, int64_t bytes)
{
    AUTO_FREE char *full = realpath(r->store, NULL);
    AUTO(buf_clear) struct buf source = BUF_INIT, calls = BUF_INIT;
    struct err e = { 0 };
    int ret = buf_read_file(&source, script, 1 << 20, &e);

    if (ret == 0)
        ret = call_script(full ? full : r->store, &calls, &e);
    if (ret == 0 && !strstr(calls.s, "--resume"))
        ret = err_input(&e,
                        "training is started without --resume auto, and would "
                        "begin anew");
    if (ret == 0 && !strstr(calls.s, "scontrol requeue") &&
        !strstr(calls.s, "sbatch "))
        ret = err_input(&e,
                        "training ended with status 75, and the job was not "
                        "queued again; add: test $? -ne 75 || scontrol requeue "
                        "\"$SLURM_JOB_ID\"");
    if (ret == 0 && strstr(source.s, "#SBATCH"))
        ret = check_times(source.s, r->checkpoints, bytes, &e);
    rehearsal_result(r, "script", ret < 0 ? "failed" : "passed",
                     ret < 0 ? e.text : "it resumes, and queues the job again");
}

/* ---- before the first scene ------------------------------------------- */

/* The gtrain whose GPU is emulated: of the build tree, or installed. */
static char *find_emulated(void)
{
    struct err none = { 0 };
    char *path = spawn_find("gtrain-emulated", &none);

    return path ? path : spawn_find("../libexec/gtrain/gtrain-emulated", &none);
}

/* Without the device of the settings, an emulated GPU or the CPU takes its
 * place: say why.  NULL if the device is there.  The caller frees. */
static char *replace_device(struct rehearsal *r)
{
    const char *name = r->set.train.device;
    struct dev dev = { .threads = 1 };
    struct err e = { 0 };
    const bool there = dev_open(&dev, name, &e) == 0;
    const bool gpu = strcmp(there ? dev.type->name : name, "cuda") == 0;
    char *emulated = gpu && !there ? find_emulated() : NULL;

    r->exact = !gpu || r->set.train.deterministic;
    dev_close(&dev);
    if (there)
        return NULL;
    if (emulated) {
        free(r->program);
        r->program = emulated;
        r->set.train.device = "cpu"; /* this program may not know another */
    } else {
        path_list_add(&r->sets, xstrdup("train.device=cpu"));
    }
    return xasprintf("%s; %s is used", e.text,
                     emulated ? "an emulated GPU" : "the CPU");
}

/* The weights and two moments. */
static int64_t checkpoint_bytes(const struct settings *s)
{
    return 12 * s->is.parameters;
}

static int check_settings(struct rehearsal *r, struct err *e)
{
    AUTO(engine_check_clear) struct engine_check seen = { .scans = true };
    AUTO_FREE char *replaced = NULL;
    int ret = settings_load(&r->set, r->config, sets.item, sets.n, e);

    if (ret == 0) {
        replaced = replace_device(r);
        ret = engine_check(&seen, &r->set, (int)ranks, e);
    }
    rehearsal_result(r, "settings", ret < 0 ? "failed" : "passed",
                     ret < 0 ? e->text
                             : "the files that they name can be read, and the "
                               "vocabulary has all of their ids");
    if (ret == 0)
        rehearsal_result(r, "device", replaced ? "skipped" : "passed",
                         replaced ? replaced : r->set.train.device);
    return ret;
}

static int make_folders(struct rehearsal *r, struct err *e)
{
    const struct settings *s = &r->set;
    const char *to = *s->checkpoint.folder ? s->checkpoint.folder : s->run.root;
    AUTO_FREE char *kept = find_existing(to);
    AUTO_FREE char *root = find_existing(s->run.root);
    char word[RANDOM_WORD];

    random_word(word);
    r->store = xasprintf("%s/rehearsal-%s", root, word);
    r->checkpoints = xasprintf("%s/rehearsal-%s/checkpoints", kept, word);
    r->log = path_join(r->store, "output");
    return path_make(r->store, e) < 0 ? -1 : path_make(r->checkpoints, e);
}

static void remove_folders(struct rehearsal *r)
{
    char *parent = r->checkpoints ? path_parent(r->checkpoints) : NULL;

    if (r->store)
        path_remove(r->store, ERR_IGNORED);
    if (parent)
        path_remove(parent, ERR_IGNORED);
    FREE(parent, r->store, r->checkpoints, r->log);
}

/* ---- the whole -------------------------------------------------------- */

static bool is_chosen(const char *scene)
{
    for (size_t i = 0; i < chosen.n; i++)
        if (strcmp(chosen.item[i], scene) == 0)
            return true;
    return chosen.n == 0;
}

static int check_chosen(struct err *e)
{
    for (size_t i = 0; i < chosen.n; i++) {
        struct opt_nearest near = { .word = chosen.item[i] };
        bool known = false;

        for (size_t k = 0; rehearsal_scene(k); k++) {
            known = known || strcmp(rehearsal_scene(k), near.word) == 0;
            opt_nearest_try(&near, rehearsal_scene(k));
        }
        if (!known) {
            err_usage(e, "there is no scene '%s'", near.word);
            return opt_nearest_add(&near, e);
        }
    }
    return 0;
}

static int play_scenes(struct rehearsal *r, struct err *e)
{
    const struct settings *s = &r->set;
    /* one more is being written */
    const int64_t checkpoints =
        s->checkpoint.keep_last + 1 + s->checkpoint.keep_best;
    struct err why = { 0 };

    check_place(r, "store", s->run.root, 0, false);
    check_place(r, "checkpoints",
                *s->checkpoint.folder ? s->checkpoint.folder : s->run.root,
                checkpoints * checkpoint_bytes(s), true);
    if (make_folders(r, &why) < 0) {
        rehearsal_result(r, "folders", "failed", why.text);
        return 0;
    }
    rehearsal_shrink(r);
    for (size_t i = 0; rehearsal_scene(i); i++) {
        if (!is_chosen(rehearsal_scene(i)))
            continue;
        rehearsal_play(r, i);
        if (sig_caught())
            return err_set(e, ERR_INTERRUPTED, "stopped by a signal");
        if (i == 0 && r->table.cell[r->table.n_cells - 2].mark == MARK_BAD)
            break; /* then nothing can work */
    }
    if (script)
        check_script(r, checkpoint_bytes(s));
    return 0;
}

static int rehearse_main(int argc, char **argv, struct err *e)
{
    struct rehearsal r = { .config = argc > 0 ? argv[0] : config,
                           .given = &sets,
                           .ranks = ranks,
                           .table = TABLE_INIT("gtrain.rehearse/1") };
    struct err why = { 0 };
    int ret;

    if (argc > 1)
        return err_usage(e, "unexpected argument '%s'", argv[1]);
    if (!r.config)
        return err_usage(e, "name the settings of the job with --config FILE");
    if (check_chosen(e) < 0 || !(r.program = spawn_find("gtrain", e)))
        return -1;
    sig_watch();
    table_columns(&r.table, "what", "result", "reason", NULL);
    ret = check_settings(&r, &why) == 0 ? play_scenes(&r, e)
          : why.kind == ERR_INTERRUPTED ? err_set(e, why.kind, "%s", why.text)
                                        : 0;
    if (ret == 0)
        ret = table_print(&r.table, &style, e);
    if (ret == 0 && r.failed > 0)
        ret = err_input(e, "%" PRId64 " of %zu rehearsals failed", r.failed,
                        table_rows(&r.table));
    remove_folders(&r);
    path_list_clear(&r.sets);
    settings_clear(&r.set);
    table_clear(&r.table);
    FREE(r.program, sets.item, chosen.item);
    return ret;
}

const struct cmd cmd_rehearse = {
    .name = "rehearse",
    .args = "[FILE]",
    .help = "try a job in miniature, with accidents",
    .opts = rehearse_opts,
    .run = rehearse_main,
};
