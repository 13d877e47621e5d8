/*
 * report_facts - what a report says of the runs besides their metrics
 */
#include "config.h"
#include "track/report/report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/path.h"
#include "plot/curve_kind.h"
#include "plot/draw/axis.h"
#include "plot/history.h"
#include "store/format/attempt.h"
#include "store/query/differ.h"

/* The metric by which all runs are compared: bits per byte if only they do
 * compare. */
static const char *const *compared(const struct run_set *set)
{
    static const char *const bits[] = { "val/bpb", NULL };
    const struct curve_kind *k = curve_kind_find("loss");
    size_t with = 0;

    while (with < set->n && run_info_metric(&set->run[with], bits[0]))
        with++;
    if (with == set->n && differ_caution(set->run, set->n, "val/loss") !=
                              differ_caution(set->run, set->n, bits[0]))
        return bits;
    for (int i = KIND_LINES - 1; i >= 0; i--)
        for (size_t r = 0; r < set->n && k->line[i].label; r++)
            if (history_find(&set->run[r], k->line[i].names))
                return k->line[i].names;
    return k->line[0].names;
}

size_t facts_best(const struct run_set *set, struct buf *out)
{
    const char *const *names = compared(set);
    const struct metric_sum *least = NULL;
    size_t best = set->n, differ = 0;
    struct differ d = { 0 };
    const char *caution;
    char value[32];

    for (size_t i = 0; i < set->n; i++) {
        const char *key = history_find(&set->run[i], names);
        const struct metric_sum *m =
            key ? run_info_metric(&set->run[i], key) : NULL;

        if (!m || !isfinite(m->min) || (least && m->min >= least->min))
            continue;
        least = m;
        best = i;
    }
    if (!least || set->n < 2)
        return best;
    caution = differ_caution(set->run, set->n, least->key);
    if (caution)
        buf_printf(out, "Note that %s. ", caution);
    buf_printf(out, "The best run is %s: its lowest %s is %s, at step %lld",
               set->name[best], least->key,
               axis_value(value, UNIT_NONE, least->min),
               (long long)least->min_step);
    differ_params(&d, set->run, set->n);
    for (size_t i = 0; i < d.n && differ < 6; i++) {
        const char *key = d.item[i].key,
                   *with = run_info_param(&set->run[best], key);

        if (with)
            buf_printf(out, "%s%s = %s", differ++ ? ", " : "; it has ", key,
                       with);
    }
    differ_clear(&d);
    buf_char(out, '.');
    return best;
}

/* Hours of all GPUs in all attempts; 0 without GPUs. */
static double gpu_hours(const struct run_info *run)
{
    double sum = 0;

    for (int i = 0; i < run->attempts; i++) {
        const struct attempt *a = &run->attempt[i];

        sum += (double)a->gpus *
               attempt_seconds(run->folder, a, clock_wall_ms()) / 3600;
    }
    return sum;
}

/* "tiny 3f2a..., val 77c0...": the data and their hashes. */
static void add_data(struct table *t, const struct run_info *run)
{
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < run->n_inputs; i++)
        buf_printf(&b, "%s%s %.12s", i ? ", " : "", run->inputs[i].name,
                   run->inputs[i].digest ? run->inputs[i].digest : "");
    table_text(t, b.len ? b.s : NULL);
    buf_clear(&b);
}

void facts_table(const struct run_set *set, struct table *t)
{
    table_columns(t, "run", "status", "host", "GPU", "GPU hours", "time",
                  "commit", "data", NULL);
    for (size_t i = 0; i < set->n; i++) {
        const struct run_info *run = &set->run[i];
        const char *commit = run_info_tag(run, "mlflow.source.git.commit");
        const double hours = gpu_hours(run);

        table_text(t, set->name[i]);
        table_text(t, run_status_word(run->status));
        table_text(t, run_info_tag(run, "gtrack.host"));
        table_text(t, run_info_tag(run, "gtrack.gpus"));
        table_real_or_none(t,
                           hours > 0 ? round(hours * 100) / 100 : (double)NAN);
        table_secs(t, (double)(run->seen_ms - run->start_ms) / 1e3);
        if (commit)
            table_printf(t, "%.12s", commit);
        else
            table_none(t);
        add_data(t, run);
    }
}

void facts_commands(const struct run_set *set, struct buf *out)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct run_info *run = &set->run[i];
        const char *command = run->attempts > 0 && run->attempt[0].command
                                  ? run->attempt[0].command
                                  : run_info_tag(run, "mlflow.source.name");

        if (command)
            buf_printf(out, "%s: %s\n", set->name[i], command);
    }
}

void facts_sample(const struct run_info *run, struct buf *out)
{
    enum { MOST = 1500 };
    char *folder = path_join(run->artifacts, "samples");
    struct path_list l = { 0 };
    const char *path = NULL;

    path_list(&l, folder, ERR_IGNORED);
    /* steps have eight digits, so that names are in their order */
    for (size_t i = 0; i < l.n; i++)
        if (str_ends(l.name[i], ".txt"))
            path = path_listed(&l, i);
    if (path &&
        buf_read_open(out,
                      path_open_inside(path, run_info_inside(run), ERR_IGNORED),
                      path, (size_t)1 << 20, ERR_IGNORED) == 0 &&
        out->len > MOST) {
        buf_trim(out, MOST);
        buf_str(out, "\n...\n");
    }
    path_list_clear(&l);
    free(folder);
}
