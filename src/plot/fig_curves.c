#include "config.h"

#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "plot/curve_groups.h"
#include "plot/curves.h"
#include "plot/figures.h"
#include "plot/history.h"

/* Where on the command line a run is named, by name or id; past the end when
 * a filter found it. */
static int place(const struct run_info *run, char **words, int n)
{
    for (int i = 0; i < n; i++)
        if (strcmp(run->name, words[i]) == 0 ||
            (strlen(words[i]) >= 4 &&
             strncmp(run->id, words[i], strlen(words[i])) == 0))
            return i;
    return n;
}

/* The legend follows the command line.  The sort is stable: runs that one
 * filter found stay in the order they began. */
static void order(struct runs *runs, char **words, int n)
{
    for (size_t i = 1; i < runs->n; i++) {
        const struct run_info run = runs->run[i];
        const int at = place(&run, words, n);
        size_t k = i;

        while (k > 0 && place(&runs->run[k - 1], words, n) > at) {
            runs->run[k] = runs->run[k - 1];
            k--;
        }
        runs->run[k] = run;
    }
}

/* Runs that cannot be in any group are left out, and that is said. */
static int check_group(const struct runs *runs, const char *param,
                       struct err *e)
{
    struct buf names = BUF_INIT;
    size_t without = 0;

    for (size_t i = 0; i < runs->n; i++) {
        if (group_value(&runs->run[i], param))
            continue;
        if (++without <= 3)
            buf_printf(&names, "%s%s", without > 1 ? ", " : "",
                       runs->run[i].name);
    }
    if (without > 3)
        buf_printf(&names, " and %zu others", without - 3);
    if (without > 0 && without < runs->n)
        log_warn("without a parameter %s, and left out: %s", param, names.s);
    buf_clear(&names);
    return without < runs->n ? 0
                             : err_set(e, ERR_MISSING,
                                       "no run here has a parameter %s", param);
}

int cmd_runs(struct runs *runs, char **words, int n, const struct request *r,
             bool *going, struct err *e)
{
    const int ret = n > 0 ? runs_select(runs, r->root, words, n, 0, e)
                          : runs_load(runs, r->root, 0, e);

    for (size_t i = 0; i < runs->n && ret == 0; i++)
        *going = *going || runs->run[i].status == RUN_RUNNING;
    if (ret == 0 && n > 1)
        order(runs, words, n);
    if (ret == 0 && runs->n == 0)
        return err_set(e, ERR_MISSING, "there are no runs in %s", r->root);
    if (ret == 0 && r->group_by)
        return check_group(runs, r->group_by, e);
    return ret;
}

/* In a figure of one kind it matters that a run is not there. */
static void warn_of_missing(const struct cast *cast, const struct kind *k)
{
    for (size_t n = 0; n < cast->n; n++) {
        bool any = false;

        for (int i = 0; i < KIND_LINES && k->line[i].label; i++)
            any = any || history_find(&cast->run[n], k->line[i].names);
        if (!any)
            log_warn("%s has no metric for %s and is left out", cast->name[n],
                     k->name);
    }
}

int build_kind(struct figure *f, struct table *summary, const char *kind,
               char **words, int n, const struct request *r, bool *going,
               struct err *e)
{
    const struct kind *k = kind_find(kind);
    struct runs runs = RUNS_INIT;
    struct cast cast;
    struct panel *p;
    int ret;

    if (n == 0)
        return err_set(e, ERR_USAGE, "which run? gplot %s RUN...", kind);
    if (cmd_runs(&runs, words, n, r, going, e) < 0)
        return -1;
    cast_init(&cast, runs.run, runs.n, &f->mem);
    p = figure_panel(f, k->title);
    ret = curves_kind(f, p, k, &cast, r, summary, e);
    if (ret == 0)
        warn_of_missing(&cast, k);
    runs_free(&runs);
    return ret;
}

int build_metric(struct figure *f, struct table *summary, const char *kind,
                 char **words, int n, const struct request *r, bool *going,
                 struct err *e)
{
    struct runs runs = RUNS_INIT;
    struct cast cast;
    struct panel *p;
    int ret;

    (void)kind;
    if (n < 2)
        return err_set(e, ERR_USAGE,
                       "which metric of which run? "
                       "gplot metric NAME[,NAME...] RUN...");
    if (cmd_runs(&runs, words + 1, n - 1, r, going, e) < 0)
        return -1;
    cast_init(&cast, runs.run, runs.n, &f->mem);
    p = figure_panel(f, NULL);
    ret = curves_metrics(f, p, words[0], &cast, r, summary, e);
    runs_free(&runs);
    return ret;
}
