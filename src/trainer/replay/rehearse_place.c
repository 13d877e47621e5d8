#include "config.h"
#include "trainer/replay/rehearse_place.h"

#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/save.h"
#include "common/spawn.h"

/* ---- folders ---------------------------------------------------------- */

char *rehearse_existing(const char *path)
{
    char *at = xstrdup(path);

    while (!path_exists(at)) {
        char *parent = path_parent(at);

        free(at);
        at = parent;
    }
    return at;
}

static bool is_in_memory(const struct statfs *fs)
{
    return (unsigned long)fs->f_type == TMPFS_MAGIC ||
           (unsigned long)fs->f_type == RAMFS_MAGIC;
}

bool rehearse_place(const char *path, int64_t bytes, bool lasting,
                    struct buf *text)
{
    char *at = rehearse_existing(path);
    char free_text[NUM_TEXT], need[NUM_TEXT];
    struct statfs fs = { 0 };
    const bool known = statfs(at, &fs) == 0;
    const double room = (double)fs.f_bavail * (double)fs.f_bsize;
    bool good = false;

    num_bytes(free_text, room);
    num_bytes(need, (double)bytes);
    if (!known || access(at, W_OK | X_OK) < 0)
        buf_printf(text, "%s cannot be written to; choose another folder", at);
    else if (lasting && is_in_memory(&fs))
        buf_printf(text,
                   "%s is in memory and gone when the machine restarts; choose "
                   "another checkpoint.folder",
                   at);
    else if (room < (double)bytes)
        buf_printf(
            text,
            "%s has %s free, but the checkpoints need %s; choose another "
            "folder, or a lower checkpoint.keep_last",
            at, free_text, need);
    else
        good = true;
    if (good && bytes > 0)
        buf_printf(text, "%s has %s free, and the checkpoints need %s", at,
                   free_text, need);
    else if (good)
        buf_printf(text, "%s has %s free", at, free_text);
    free(at);
    return good;
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
        char *path = path_join(folder, names[i]);

        ret = save_text(path, text, e);
        if (ret == 0 && chmod(path, 0755) < 0)
            ret = err_sys(e, "cannot make %s executable", path);
        free(path);
    }
    return ret;
}

/* Run the script, and read what it has called. */
static int call_script(const char *script, const char *folder,
                       struct buf *calls, struct err *e)
{
    char *bin = path_join(folder, "bin"), *list = path_join(folder, "calls");
    char *record = xasprintf("GTRAIN_REHEARSAL=%s", list);
    char *path = xasprintf("PATH=%s:%s", bin, getenv("PATH"));
    const char *const argv[] = { "env",  record, path, "SLURM_JOB_ID=1",
                                 "bash", script, NULL };
    struct buf out = BUF_INIT, said = BUF_INIT;
    struct spawn s = { .out = &out, .words = &said, .secs = 60 };
    struct err ended = { 0 };
    int ret = write_programs(bin, e);

    if (ret == 0)
        spawn_run(argv, &s, &ended); /* its status is that of training */
    if (ret == 0 && buf_read_file(calls, list, 1 << 20, e) < 0)
        ret = err_set(e, ERR_INPUT, "%s starts no training: %s", script,
                      ended.text);
    buf_clear(&out);
    buf_clear(&said);
    free(bin);
    free(list);
    free(record);
    free(path);
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
    char *path = path_join(folder, "speed");
    const double began = clock_mono();
    struct buf some = BUF_INIT;
    int ret;

    for (int i = 0; i < 1 << 19; i++) /* 16 MiB */
        buf_str(&some, "0123456789abcdef0123456789ABCDEF");
    ret = save_bytes(path, some.s, some.len, e);
    *secs = (clock_mono() - began) * (double)bytes / (double)some.len;
    buf_clear(&some);
    unlink(path);
    free(path);
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
        return err_set(e, ERR_INPUT,
                       "no signal comes before the time limit; add: #SBATCH "
                       "--signal=USR1@120");
    if (time_checkpoint(folder, bytes, &secs, e) < 0)
        return -1;
    if (secs > before)
        return err_set(e, ERR_INPUT,
                       "writing a checkpoint takes about %.0f s in %s, but the "
                       "signal comes %.0f s before the time limit; change it "
                       "to --signal=USR1@%.0f",
                       secs, folder, before, 60 + 2 * secs);
    if (limit && read_limit(limit + 7) <= before + secs)
        return err_set(e, ERR_INPUT,
                       "the time limit of %.0f s leaves no time for training: "
                       "the signal comes %.0f s before it",
                       read_limit(limit + 7), before);
    return 0;
}

bool rehearse_script(const char *script, const char *folder,
                     const char *checkpoints, int64_t bytes, struct buf *text)
{
    char *full = realpath(folder, NULL);
    struct buf source = BUF_INIT, calls = BUF_INIT;
    struct err e = { 0 };
    int ret = buf_read_file(&source, script, 1 << 20, &e);

    if (ret == 0)
        ret = call_script(script, full ? full : folder, &calls, &e);
    if (ret == 0 && !strstr(calls.s, "--resume"))
        ret = err_set(&e, ERR_INPUT,
                      "training is started without --resume auto, and would "
                      "begin anew");
    if (ret == 0 && !strstr(calls.s, "scontrol requeue") &&
        !strstr(calls.s, "sbatch "))
        ret = err_set(&e, ERR_INPUT,
                      "training ended with status 75, and the job was not "
                      "queued again; add: test $? -ne 75 || scontrol requeue "
                      "\"$SLURM_JOB_ID\"");
    if (ret == 0 && strstr(source.s, "#SBATCH"))
        ret = check_times(source.s, checkpoints, bytes, &e);
    buf_str(text, ret < 0 ? e.text : "it resumes, and queues the job again");
    buf_clear(&source);
    buf_clear(&calls);
    free(full);
    return ret == 0;
}
