/*
 * gtrack hours - print the wall-clock, CPU and GPU hours of runs
 */
#include "config.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/spawn.h"
#include "store/analysis/spent.h"
#include "store/format/attempt.h"
#include "track/runs/column.h"
#include "track/runs/track.h"

/* ---- what sacct knows of the Slurm jobs of runs -------------------------- */

/* What runs use: seconds, and joules of GPUs.  The first ones are measured. */
enum { WALL, CPU, GPU, MEASURED, FAILED_GPU = MEASURED, JOULES, USES };

static void add_uses(double *to, const double *uses, int n)
{
    for (int i = 0; i < n; i++)
        to[i] += uses[i];
}

struct slurm_job {
    const char *id, *account;
    double used[MEASURED]; /* in all its attempts */
};

struct slurm_jobs {
    struct slurm_job *item; /* by id, once all are there */
    size_t n, room;
};

/* NULL if sacct does not know the job, or the id is NULL. */
static const struct slurm_job *find_job(const struct slurm_jobs *jobs,
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

    SORT(jobs->item, jobs->n, str_compare);
    for (size_t i = 0; i < jobs->n; i++) {
        const struct slurm_job *from = &jobs->item[i];
        struct slurm_job *to = &jobs->item[kept - (kept > 0)];

        if (kept == 0 || str_compare(to, from) != 0) {
            jobs->item[kept++] = *from;
            continue;
        }
        add_uses(to->used, from->used, MEASURED);
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
    APPEND(jobs->item, jobs->n, jobs->room) = (struct slurm_job){
        .id = arena_strdup(mem, field[0]),
        .account = arena_strdup(mem, field[1]),
        .used = { (double)secs,
                  (double)secs * (double)parse_tres(field[3], "cpu"),
                  (double)secs * (double)parse_tres(field[3], "gres/gpu") },
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
    AUTO(buf_clear) struct buf out = BUF_INIT;
    struct spawn s = { .out = &out, .quiet = true, .secs = 60 };
    const int ret = spawn_run(argv, &s, e);
    char *at = out.s, *line;

    while (ret == 0 && (line = strsep(&at, "\n")))
        add_job(jobs, line, mem);
    merge_jobs(jobs);
    return ret;
}

/* The jobs of all attempts, separated by commas. */
static void list_jobs(struct buf *ids, const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++)
        for (int j = 0; j < runs->run[i].attempts; j++) {
            const char *job = runs->run[i].attempt[j].job;

            if (job && isdigit((unsigned char)job[0]))
                buf_printf(ids, "%s%s", ids->len ? "," : "", job);
        }
}

/* Ask sacct, if one of the runs was a Slurm job.  The strings belong to the
 * arena. */
static int load_jobs(struct slurm_jobs *jobs, const struct runs *runs,
                     struct arena *mem, struct err *e)
{
    AUTO(buf_clear) struct buf ids = BUF_INIT;
    int ret = 0;

    list_jobs(&ids, runs);
    if (ids.len)
        ret = ask_sacct(jobs, ids.s, mem, e);
    else
        log_info("none of the runs was a Slurm job");
    return ret;
}

/* ---- the options --------------------------------------------------------- */

static struct track_selection selection = TRACK_SELECTION_INIT;
static struct table_style style;
static const char *group_text = "name";
static bool ask_slurm, why, energy;
static double price, co2;

static const struct opt hours_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPT_LINKS,
    TRACK_OPTS_SELECTION(selection),
    { 'g', "group-by", "list", OPT_STRING, &group_text,
      "print the sum over runs with the same values in these columns, or the "
      "same job or account (default: name)" },
    { 0, "sacct", NULL, OPT_FLAG, &ask_slurm,
      "take the hours of Slurm jobs from sacct" },
    { 0, "price", "money", OPT_REAL, &price,
      "also print the cost, at this price of a GPU hour" },
    { 0, "why", NULL, OPT_FLAG, &why,
      "print what the wall-clock hours were spent on" },
    { 0, "energy", NULL, OPT_FLAG, &energy,
      "also print the energy that GPUs used, in kWh" },
    { 0, "co2", "g", OPT_REAL, &co2,
      "also print the energy, and its CO2 at G grams per kWh",
      .range = OPT_FROM(0) },
    TABLE_OPTS(style),
    { 0 }
};

/* ---- the hours of a run -------------------------------------------------- */

struct run_use {
    struct run_info run;
    const char *job, *account;
    size_t parent; /* its index plus 1; 0: not among the runs */
    int64_t attempts;
    double used[USES];
    bool measured; /* the joules are known */
    struct spent spent;
};

static void measure_run(struct run_use *u, const struct slurm_jobs *jobs,
                        struct arena *mem)
{
    const struct attempt *list = spent_attempts(mem, &u->run);
    const char *counted = NULL;
    const bool failed =
        u->run.status == RUN_FAILED || u->run.status == RUN_STALE;

    u->attempts = u->run.attempts ? u->run.attempts : 1;
    if (u->run.attempts == 0)
        u->used[WALL] = run_info_seconds(&u->run);
    for (int i = 0; i < u->run.attempts; i++) {
        const struct attempt *a = &list[i];
        const struct slurm_job *j = find_job(jobs, a->job);
        const double secs = attempt_seconds(u->run.folder, a, clock_wall_ms());
        const double own[MEASURED] = { secs, secs * (double)a->cpus,
                                       secs * (double)a->gpus };

        if (a->job)
            u->job = a->job;
        if (j && counted && strcmp(counted, j->id) == 0)
            continue; /* it was requeued, and was counted as a whole */
        if (j) {
            counted = j->id;
            u->account = j->account;
        }
        add_uses(u->used, j ? j->used : own, MEASURED);
    }
    if (failed)
        u->used[FAILED_GPU] = u->used[GPU];
}

static int explain_run(struct run_use *u, struct err *e)
{
    if (why && spent_load(&u->spent, &u->run, u->used[WALL], e) < 0)
        return -1;
    if (!energy && co2 <= 0)
        return 0;
    if (spent_joules(&u->used[JOULES], &u->run, u->used[WALL], e) < 0)
        return -1;
    u->measured = !isnan(u->used[JOULES]);
    if (!u->measured)
        u->used[JOULES] = 0;
    return 0;
}

/* ---- groups -------------------------------------------------------------- */

/* Columns of this command, besides the attributes of a run. */
enum { JOB = -1, ACCOUNT = -2 };

static int parse_keys(struct columns *k, const struct runs *runs, struct err *e)
{
    const char *p = group_text;

    while (*p) {
        const size_t n = strcspn(p, ",");
        AUTO_FREE char *word = xstrndup(p, n);
        int ret = 0;

        if (strcmp(word, "job") == 0)
            columns_append(k, word, word)->attribute = JOB;
        else if (strcmp(word, "account") == 0)
            columns_append(k, word, word)->attribute = ACCOUNT;
        else
            ret = columns_parse(k, word, runs, e);
        if (ret < 0)
            return -1;
        p += n + (p[n] == ',');
    }
    return 0;
}

static struct table_cell key_cell(const struct column *k,
                                  const struct run_use *u)
{
    if (k->attribute >= 0)
        return column_cell(k, &u->run);
    return table_text_cell(k->attribute == JOB ? u->job : u->account);
}

static void add_columns(struct table *t, const struct columns *k)
{
    for (size_t i = 0; i < k->n; i++)
        table_column(t, k->item[i].title);
    if (why) {
        table_columns(t, "spent_on", "hours", "percent", NULL);
        return;
    }
    table_columns(t, "runs", "attempts", "wall_hours", "cpu_hours", "gpu_hours",
                  "failed_gpu_hours", NULL);
    if (price > 0)
        table_column(t, "cost");
    if (energy || co2 > 0)
        table_column(t, "gpu_kwh");
    if (co2 > 0)
        table_column(t, "co2_kg");
}

static void add_sums(struct table *t, int64_t runs, const struct run_use *u)
{
    const double kwh = u->measured ? u->used[JOULES] / 3.6e6 : (double)NAN;

    table_int(t, runs);
    table_int(t, u->attempts);
    for (int i = 0; i < JOULES; i++)
        table_real(t, u->used[i] / 3600);
    if (price > 0)
        table_real(t, u->used[GPU] / 3600 * price);
    if (energy || co2 > 0)
        table_real_or_none(t, kwh);
    if (co2 > 0)
        table_real_or_none(t, kwh * co2 / 1000);
}

static void add_use(struct run_use *to, const struct run_use *u)
{
    to->attempts += u->attempts;
    add_uses(to->used, u->used, USES);
    to->measured |= u->measured;
    for (int i = 0; i < SPENT_PARTS; i++)
        to->spent.secs[i] += u->spent.secs[i];
}

struct id_place {
    const char *id;
    size_t place;
};

static void find_parents(struct run_use *use, size_t n)
{
    AUTO_FREE struct id_place *ids = xcalloc(n, sizeof *ids);

    for (size_t i = 0; i < n; i++)
        ids[i] = (struct id_place){ use[i].run.id, i };
    SORT(ids, n, str_compare);
    for (size_t i = 0; i < n; i++) {
        const struct id_place key = { use[i].run.parent, 0 }, *found = NULL;

        if (key.id)
            found = bsearch(&key, ids, n, sizeof key, str_compare);
        if (found)
            use[i].parent = found->place + 1;
    }
}

struct group_use {
    struct run_use sum;
    int64_t runs;
    size_t first; /* run */
};

/* Sum each group.  The wall time of a run that waits for its children is not
 * added to theirs. */
static void sum_groups(struct group_use *g, const struct run_use *use,
                       const size_t *group, size_t n)
{
    AUTO_FREE bool *waits = xcalloc(n, sizeof *waits);

    for (size_t i = 0; i < n; i++) {
        const size_t parent = use[i].parent;

        if (parent && group[parent - 1] == group[i])
            waits[parent - 1] = true;
    }
    for (size_t i = 0; i < n; i++) {
        struct group_use *to = &g[group[i]];
        struct run_use one = use[i];

        if (waits[i]) {
            one.used[WALL] = 0;
            one.spent = (struct spent){ { 0 } };
        }
        if (to->runs++ == 0)
            to->first = i;
        add_use(&to->sum, &one);
    }
}

/* The keys of a group, or "total" and nothing. */
static void add_keys(struct table *t, const struct table_cell *cell, size_t n)
{
    for (size_t c = 0; c < n; c++)
        if (cell)
            table_add(t, cell[c]);
        else
            table_text(t, c ? "" : "total");
}

/* A row for each part that took any time.  The time between attempts is no part
 * of the others. */
static void add_parts(struct table *t, const struct table_cell *keys, size_t n,
                      const struct spent *s)
{
    double sum = 0;

    for (int i = 0; i < SPENT_QUEUE; i++)
        sum += s->secs[i];
    for (int i = 0; i < SPENT_PARTS; i++) {
        if (s->secs[i] <= 0)
            continue;
        add_keys(t, keys, n);
        table_text(t, spent_words[i]);
        table_real(t, s->secs[i] / 3600);
        table_int_or_none(t, i < SPENT_QUEUE ? llround(100 * s->secs[i] / sum)
                                             : -1);
    }
}

/* Add the row of a group; keys: NULL for the total. */
static void add_group(struct table *t, const struct table_cell *keys, size_t n,
                      const struct group_use *g)
{
    if (why) {
        add_parts(t, keys, n, &g->sum.spent);
        return;
    }
    add_keys(t, keys, n);
    add_sums(t, g->runs, &g->sum);
}

static void fill_table(struct table *t, const struct columns *k,
                       const struct run_use *use, size_t n)
{
    struct group_use total = { .runs = 0 };
    struct group_use *g = xcalloc(n, sizeof *g);
    struct table_cell *cell = xcalloc(n * k->n, sizeof *cell);
    size_t *group = xcalloc(n, sizeof *group), groups;

    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < k->n; c++)
            cell[i * k->n + c] = key_cell(&k->item[c], &use[i]);
    groups = column_group_cells(cell, n, k->n, group);
    sum_groups(g, use, group, n);
    add_columns(t, k);
    for (size_t i = 0; i < groups; i++)
        add_group(t, cell + g[i].first * k->n, k->n, &g[i]);
    if (groups > 1 && table_form(&style, ERR_IGNORED) == TABLE_ALIGNED) {
        memset(group, 0, n * sizeof *group);
        sum_groups(&total, use, group, n);
        add_group(t, NULL, k->n, &total);
    }
    FREE(group, cell, g);
}

static int check_options(struct err *e)
{
    return why && (price > 0 || energy || co2 > 0)
               ? err_usage(e, "--why prints hours alone; use --price, --energy "
                              "and --co2 without it")
               : 0;
}

static int hours_main(int argc, char **argv, struct err *e)
{
    AUTO(table_clear)
    struct table t = TABLE_INIT(why ? "gtrack.hours-why/1" : "gtrack.hours/1");
    AUTO(runs_free) struct runs runs = { 0 };
    AUTO(arena_clear) struct arena mem = { 0 };
    struct slurm_jobs jobs = { 0 };
    AUTO(columns_clear) struct columns keys = { 0 };
    struct run_use *use = NULL;
    int ret = -1;

    if (check_options(e) < 0 || table_form(&style, e) < 0 ||
        track_select(&runs, &selection, argc, argv, e) < 0 ||
        parse_keys(&keys, &runs, e) < 0)
        goto out;
    if (ask_slurm && load_jobs(&jobs, &runs, &mem, e) < 0)
        goto out;
    use = xcalloc(runs.n, sizeof *use);
    for (size_t i = 0; i < runs.n; i++) {
        use[i].run = runs.run[i];
        measure_run(&use[i], &jobs, &mem);
        if (explain_run(&use[i], e) < 0)
            goto out;
    }
    find_parents(use, runs.n);
    fill_table(&t, &keys, use, runs.n);
    ret = table_print(&t, &style, e);

out:
    FREE(jobs.item, use);
    return ret;
}

/* sacct opens connections. */
static void confine_hours(void)
{
    if (!ask_slurm)
        track_confine_reader();
}

const struct cmd cmd_hours = {
    .name = "hours",
    .args = "[RUN|FILTER]...",
    .help = "print the wall-clock, CPU and GPU hours of runs",
    .opts = hours_opts,
    .confine = confine_hours,
    .run = hours_main,
};
