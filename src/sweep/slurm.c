#include "config.h"
#include "sweep/slurm.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/save.h"
#include "common/spawn.h"

static void write_option(FILE *fp, const char *name, const char *value)
{
    if (*value)
        fprintf(fp, "#SBATCH --%s=%s\n", name, value);
}

int slurm_script(const struct sweep *w, const char *folder, const char *words,
                 const char *path, struct err *e)
{
    struct save s = SAVE_INIT;
    char *self = realpath("/proc/self/exe", NULL), cpus[24] = "";
    struct buf program = BUF_INIT;
    int ret = save_open(&s, path, e);

    buf_shell_word(&program, self ? self : program_invocation_name);
    if (w->cpus > 0)
        snprintf(cpus, sizeof cpus, "%lld", (long long)w->cpus);
    if (ret == 0) {
        fputs("#!/bin/sh\n", s.fp);
        write_option(s.fp, "job-name", w->name);
        write_option(s.fp, "account", w->account);
        write_option(s.fp, "partition", w->partition);
        write_option(s.fp, "time", w->time);
        write_option(s.fp, "gres", w->gres);
        write_option(s.fp, "cpus-per-task", cpus);
        if (w->extra[0])
            fprintf(s.fp, "#SBATCH %s\n", w->extra);
        fprintf(s.fp,
                "#SBATCH --requeue\n"
                "#SBATCH --open-mode=append\n"
                "#SBATCH --signal=B:USR1@120\n"
                "#SBATCH --output=%s/cells/%%x-%%a.out\n\n"
                "%s sweep --cell \"$SLURM_ARRAY_TASK_ID\"%s &\n"
                "child=$!\n"
                "trap 'kill -USR1 $child' USR1 TERM\n"
                "status=129\n"
                "while test $status -gt 128; do wait $child; status=$?; "
                "done\n"
                "test $status -ne 75 || scontrol requeue "
                "\"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n"
                "exit $status\n",
                folder, program.s, words);
        ret = save_commit(&s, e);
    }
    buf_clear(&program);
    free(self);
    return ret;
}

int slurm_submit(const char *path, const char *cells, struct err *e)
{
    char *array = xasprintf("--array=%s", cells);
    struct buf answer = BUF_INIT;
    struct spawn run = { .out = &answer };
    const char *const argv[] = { "sbatch", "--parsable", array, path, NULL };
    int ret = spawn_run(argv, &run, e);

    buf_trim(&answer, strcspn(answer.s, "\n"));
    if (ret == 0)
        log_info("submitted as job %s", answer.s);
    buf_clear(&answer);
    free(array);
    return ret;
}
