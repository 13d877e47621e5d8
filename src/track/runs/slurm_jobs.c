#include "config.h"
#include "track/runs/slurm_jobs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/num.h"
#include "common/spawn.h"
#include "store/format/attempt.h"

const struct slurm_job *slurm_jobs_find(const struct slurm_jobs *jobs,
                                        const char *id)
{
    const struct slurm_job key = { .id = id };

    return id && jobs->n
               ? bsearch(&key, jobs->item, jobs->n, sizeof key, str_compare)
               : NULL;
}

/* Sort the jobs, and add up those that sacct lists several times because they
 * were requeued. */
static void merge_jobs(struct slurm_jobs *jobs)
{
    size_t kept = 0;

    if (jobs->n)
        qsort(jobs->item, jobs->n, sizeof *jobs->item, str_compare);
    for (size_t i = 0; i < jobs->n; i++) {
        const struct slurm_job *from = &jobs->item[i];
        struct slurm_job *to = &jobs->item[kept - (kept > 0)];

        if (kept == 0 || str_compare(to, from) != 0) {
            jobs->item[kept++] = *from;
            continue;
        }
        to->secs += from->secs;
        to->cpu_secs += from->cpu_secs;
        to->gpu_secs += from->gpu_secs;
    }
    jobs->n = kept;
}

/* The count of a resource in "cpu=8,gres/gpu=2,gres/gpu:a100=2"; if there is no
 * total, the sum over its types. */
static int64_t parse_tres(const char *text, const char *name)
{
    const size_t n = strlen(name);
    int64_t total = -1, types = 0;

    for (const char *p = text; *p; p += strcspn(p, ","), p += *p == ',') {
        if (strncmp(p, name, n) != 0)
            continue;
        if (p[n] == '=')
            total = strtoll(p + n + 1, NULL, 10);
        else if (p[n] == ':' && strchr(p, '='))
            types += strtoll(strchr(p, '=') + 1, NULL, 10);
    }
    return total >= 0 ? total : types;
}

/* A line of sacct: JobIDRaw|Account|ElapsedRaw|AllocTRES. */
static void add_job(struct slurm_jobs *jobs, char *line, struct arena *mem)
{
    char *field[4];
    int64_t secs;

    for (int i = 0; i < 4; i++) {
        field[i] = strsep(&line, "|");
        if (!field[i])
            return;
    }
    if (!num_int(field[2], &secs) || secs < 0)
        return;
    GROW(jobs->item, jobs->n, jobs->room);
    jobs->item[jobs->n++] = (struct slurm_job){
        .id = arena_strdup(mem, field[0]),
        .account = arena_strdup(mem, field[1]),
        .secs = (double)secs,
        .cpu_secs = (double)secs * (double)parse_tres(field[3], "cpu"),
        .gpu_secs = (double)secs * (double)parse_tres(field[3], "gres/gpu"),
    };
}

static int ask_sacct(struct slurm_jobs *jobs, const char *ids,
                     struct arena *mem, struct err *e)
{
    const char *const argv[] = { "sacct",
                                 "--allocations",
                                 "--duplicates",
                                 "--parsable2",
                                 "--noheader",
                                 "--format",
                                 "JobIDRaw,Account,ElapsedRaw,AllocTRES",
                                 "--jobs",
                                 ids,
                                 NULL };
    struct buf out = BUF_INIT, words = BUF_INIT;
    struct spawn s = { .out = &out, .words = &words, .secs = 60 };
    const int ret = spawn_run(argv, &s, e);
    char *at = out.s, *line;

    while (ret == 0 && (line = strsep(&at, "\n")))
        add_job(jobs, line, mem);
    merge_jobs(jobs);
    buf_clear(&out);
    buf_clear(&words);
    return ret;
}

/* The jobs of all attempts, separated by commas. */
static int list_jobs(struct buf *ids, const struct runs *runs,
                     struct arena *mem, struct err *e)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];
        struct attempt_list list;

        if (attempts_load(&list, mem, r->folder, r->links, e) < 0)
            return -1;
        for (size_t j = 0; j < list.n; j++)
            if (list.item[j].job && isdigit((unsigned char)list.item[j].job[0]))
                buf_printf(ids, "%s%s", ids->len ? "," : "", list.item[j].job);
    }
    return 0;
}

int slurm_jobs_load(struct slurm_jobs *jobs, const struct runs *runs,
                    struct arena *mem, struct err *e)
{
    struct buf ids = BUF_INIT;
    int ret = list_jobs(&ids, runs, mem, e);

    if (ret == 0 && ids.len == 0)
        log_info("none of the runs was a Slurm job");
    else if (ret == 0)
        ret = ask_sacct(jobs, ids.s, mem, e);
    buf_clear(&ids);
    return ret;
}
