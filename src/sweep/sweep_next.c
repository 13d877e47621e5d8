#include "config.h"
#include "sweep/sweep_next.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/path.h"
#include "store/read/runs.h"

/* The cells that differ in their seed alone, and what a rung did to them. */
struct sweep_group {
    size_t n, passed, failed;
    double value;   /* the mean of those that passed */
    bool in;        /* this rung */
    bool continued; /* has begun the next one */
    bool dropped;   /* is worse than the best, in any rung */
};

/* ---- rungs ------------------------------------------------------------- */

static bool halves(const struct sweep_next *n)
{
    return n->run->sweep.method == SWEEP_HALVING;
}

static int64_t count_rungs(const struct sweep_next *n)
{
    return halves(n) ? n->run->sweep.rungs : 1;
}

/* The last step of a rung, as a part of those of the cell that has most. */
static int64_t rung_end(const struct sweep_next *n, int64_t rung)
{
    const struct sweep *w = &n->run->sweep;
    const double part = pow((double)w->eta, (double)(rung - w->rungs + 1));

    return (int64_t)ceil((double)n->run->most_steps * part);
}

int64_t sweep_next_stop(const struct sweep_next *n, size_t cell)
{
    const int64_t rung = n->run->sweep.cell[cell].tried - 1;

    return rung + 1 == count_rungs(n) ? 0 : rung_end(n, rung);
}

static bool has_passed(const struct sweep_next *n, size_t c, int64_t rung)
{
    const struct outcome *o = &n->run->outcome[c];
    const struct sweep_cell *cell = &n->run->sweep.cell[c];
    const int64_t end = halves(n) ? rung_end(n, rung) : 0;
    const bool last = rung + 1 == count_rungs(n);

    if (cell->tried > rung + 1)
        return true;
    if (cell->busy && cell->tried == rung + 1)
        return false;
    if (o->state == CELL_DONE)
        return o->step >= end || (last && cell->tried > rung) || !halves(n);
    return !last && o->run && o->step > end && cell->tried != rung + 1;
}

/* Count what became of each group in a rung.  The value of a group that has
 * continued does not matter. */
static void tally(struct sweep_next *n, int64_t rung)
{
    const struct sweep *w = &n->run->sweep;

    for (size_t g = 0; g < w->n_groups; g++)
        n->group[g] = (struct sweep_group){ .in = n->group[g].in,
                                            .dropped = n->group[g].dropped };
    for (size_t c = 0; c < w->n_cells; c++) {
        const struct sweep_cell *cell = &w->cell[c];
        struct sweep_group *g = &n->group[cell->group];
        const struct outcome *o = &n->run->outcome[c];

        g->n++;
        g->continued |= cell->tried > rung + 1 ||
                        (halves(n) && o->run && o->step > rung_end(n, rung));
        if (has_passed(n, c, rung))
            g->value += (o->best - g->value) / (double)++g->passed;
        else if (!cell->busy && (o->state == CELL_FAILED ||
                                 (o->state == CELL_MISSING && cell->ended)))
            g->failed += cell->tried == rung + 1;
    }
}

static bool group_passed(const struct sweep_group *g)
{
    return g->in && g->passed == g->n;
}

/* A group that has continued was among the best. */
static int by_value(const void *a, const void *b, void *next)
{
    const struct sweep_next *n = next;
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const struct sweep_group *p = &n->group[x], *q = &n->group[y];
    int order = sweep_run_better(&n->run->sweep, q->value, p->value) -
                sweep_run_better(&n->run->sweep, p->value, q->value);

    if (n->run->sweep.drop <= 0 && p->continued != q->continued)
        order = q->continued - p->continued;
    return order ? order : x < y ? -1 : x > y;
}

/* The groups that have passed the rung, the best first; the caller frees it. */
static size_t *rank_groups(struct sweep_next *n, size_t *count)
{
    const size_t most = n->run->sweep.n_groups;
    size_t *order = xcalloc(most, sizeof *order);

    *count = 0;
    for (size_t g = 0; g < most; g++)
        if (group_passed(&n->group[g]))
            order[(*count)++] = g;
    qsort_r(order, *count, sizeof *order, by_value, n);
    return order;
}

/* ---- groups that are worse --------------------------------------------- */

static size_t list_runs(const struct sweep_next *n, size_t group,
                        const struct run_info **run)
{
    const struct sweep *w = &n->run->sweep;
    size_t count = 0;

    for (size_t c = 0; c < w->n_cells; c++)
        if (w->cell[c].group == group)
            run[count++] = n->run->outcome[c].run;
    return count;
}

/* Is a group worse than another one at equal steps?  The training loss has more
 * values than the metric, but not every program has it. */
static int is_worse(bool *worse, const struct sweep_next *n, size_t group,
                    size_t best, double error, struct err *e)
{
    const struct sweep *w = &n->run->sweep;
    AUTO_FREE const struct run_info **run =
        xcalloc(2 * w->n_cells, sizeof(struct run_info *));
    const size_t count = list_runs(n, group, run);
    const size_t others = list_runs(n, best, run + count);
    const bool loss = run_info_metric(run[0], "train/loss");
    struct paired p;
    const int ret = paired_groups(&p, run, count, run + count, others,
                                  loss ? "train/loss" : w->metric, e);

    *worse = (!loss && w->goal == SWEEP_MAX ? -p.mean : p.mean) >
             paired_half(&p, error);
    return ret;
}

/* Drop the ranked groups that are worse than the first one. */
static int drop_worse(struct sweep_next *n, const size_t *order, size_t count,
                      struct err *e)
{
    const double error = paired_error(n->run->sweep.drop, count);
    size_t kept = count;
    int ret = 0;

    for (size_t i = 1; ret == 0 && i < count; i++) {
        bool *dropped = &n->group[order[i]].dropped;

        ret = is_worse(dropped, n, order[i], order[0], error, e);
        kept -= *dropped;
    }
    log_info("%zu of %zu %s are not worse than the best", kept, count, n->what);
    return ret;
}

/* Leave those groups in that take part in the next rung. */
static int promote(struct sweep_next *n, int64_t rung, struct err *e)
{
    const struct sweep *w = &n->run->sweep;
    const size_t eta = (size_t)w->eta;
    size_t count, ended, open = 0, most, *order = rank_groups(n, &count);
    int ret = 0;

    ended = count;
    for (size_t g = 0; g < n->n_groups; g++) {
        struct sweep_group *group = &n->group[g];

        ended += group->in && group->failed > 0;
        open += group->in && group->failed == 0 && group->passed < group->n;
        group->in = group->in && group->continued;
    }
    n->complete &= open == 0;
    most = (ended + (n->complete ? eta - 1 : 0)) / eta;
    if (most > count || w->drop > 0)
        most = count;
    if (n->complete && n->told == rung && count > 0) {
        if (w->drop > 0)
            ret = drop_worse(n, order, count, e);
        else
            log_info("rung %lld of %lld is complete: %zu of %zu %s continue",
                     (long long)rung + 1, (long long)w->rungs, most, ended,
                     n->what);
        n->told++;
    }
    for (size_t i = 0; i < most; i++)
        n->group[order[i]].in |=
            w->drop <= 0 || (n->complete && !n->group[order[i]].dropped);
    free(order);
    return ret;
}

/* ---- claims ------------------------------------------------------------ */

static char *claim_path(const struct sweep_next *n, size_t cell, int64_t tried)
{
    return xasprintf("%s/claims/%s.%lld", n->run->folder,
                     n->run->sweep.cell[cell].id, (long long)tried);
}

/* Look in which rungs the cells were begun, by whichever process. */
static void read_claims(struct sweep_next *n)
{
    for (size_t c = 0; c < n->run->sweep.n_cells; c++) {
        struct sweep_cell *cell = &n->run->sweep.cell[c];

        for (int64_t r = cell->busy ? 0 : count_rungs(n); r > 0; r--) {
            AUTO_FREE char *path = claim_path(n, c, r);
            struct stat st = { 0 };

            cell->tried = stat(path, &st) == 0 ? r : 0;
            cell->ended = st.st_size > 0;
            if (cell->tried)
                break;
        }
    }
}

/* 1 if no other process has claimed the cell in this rung. */
static int claim(const struct sweep_next *n, size_t cell, struct err *e)
{
    AUTO_FREE char *path = claim_path(n, cell, n->run->sweep.cell[cell].tried);
    int ret = path_make_parent(path, e);
    AUTO(path_close)
    const int fd =
        ret < 0 ? -1 : open(path, O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (fd < 0 && ret == 0 && errno != EEXIST)
        ret = err_sys(e, "cannot create %s", path);
    return ret < 0 ? -1 : fd >= 0;
}

void sweep_next_ended(struct sweep_next *n, size_t cell, bool stopped)
{
    AUTO_FREE char *path = claim_path(n, cell, n->run->sweep.cell[cell].tried);

    n->run->sweep.cell[cell].busy = false;
    if (stopped)
        unlink(path);
    else if (truncate(path, 1) < 0 && errno != ENOENT)
        log_warn("%s: %s", path, strerror(errno));
}

/* ---- the choice -------------------------------------------------------- */

/* Read the outcomes of the cells, of which there may be more than before. */
static int look(struct sweep_next *n, struct err *e)
{
    const struct sweep *w = &n->run->sweep;

    if (sweep_run_look(n->run, e) < 0)
        return -1;
    n->complete = true;
    n->what = w->n_groups < w->n_cells ? "groups of seeds" : "cells";
    n->group = xrealloc(n->group, w->n_groups, sizeof *n->group);
    for (size_t g = 0; g < w->n_groups; g++) {
        n->group[g].in = true;
        if (g < n->n_groups)
            continue;
        n->group[g].dropped = false;
        n->told = 0; /* with more groups, others may be worse */
    }
    n->n_groups = w->n_groups;
    return 0;
}

/* Find a cell to run in a rung. */
static int find_cell(struct sweep_next *n, int64_t rung, size_t *cell,
                     struct err *e)
{
    for (size_t c = 0; c < n->run->sweep.n_cells; c++) {
        struct sweep_cell *one = &n->run->sweep.cell[c];
        const struct sweep_group *g = &n->group[one->group];
        int mine;

        if (!g->in || one->busy || one->tried > rung ||
            n->run->outcome[c].state == CELL_RUNNING ||
            has_passed(n, c, rung) || (halves(n) && g->failed > 0))
            continue;
        one->tried = rung + 1;
        *cell = c;
        mine = claim(n, c, e);
        one->busy = mine > 0;
        if (mine)
            return mine;
    }
    return 0;
}

/* Choose a group by the results so far; those without one come last. */
static int draw_group(struct sweep_next *n, struct err *e)
{
    const struct sweep *w = &n->run->sweep;
    const size_t n_cells = w->n_cells;
    size_t count;
    AUTO_FREE size_t *seen = rank_groups(n, &count);

    for (size_t g = 0; g < n->n_groups; g++)
        if (!group_passed(&n->group[g]))
            seen[count++] = g;
    for (size_t i = 0; i < count; i++) {
        size_t c = 0;

        while (w->cell[c].group != seen[i])
            c++;
        seen[i] = c;
    }
    return sweep_run_draw(n->run, seen, count, e) < 0
               ? -1
               : sweep_run_add(n->run, n_cells, e);
}

int sweep_next_choose(struct sweep_next *n, size_t *cell, struct err *e)
{
    int64_t rung = 0;

    if (look(n, e) < 0)
        return -1;
    while (rung < count_rungs(n)) {
        int found;

        if (rung == 0)
            read_claims(n);
        tally(n, rung);
        found = find_cell(n, rung, cell, e);
        if (found)
            return found;
        if (rung == 0 && sweep_run_may_draw(n->run)) {
            if (draw_group(n, e) < 0 || look(n, e) < 0)
                return -1;
            continue;
        }
        if (rung + 1 < count_rungs(n) && promote(n, rung, e) < 0)
            return -1;
        rung++;
    }
    return 0;
}

int sweep_next_take(struct sweep_next *n, size_t cell, struct err *e)
{
    if (look(n, e) < 0)
        return -1;
    n->run->sweep.cell[cell].tried = count_rungs(n);
    n->run->sweep.cell[cell].busy = true;
    return 1;
}

void sweep_next_clear(struct sweep_next *n)
{
    free(n->group);
    *n = (struct sweep_next){ 0 };
}
