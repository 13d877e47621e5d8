/*
 * fsck_store - find and repair damage in a store outside its runs
 */
#include "config.h"
#include "store/fsck.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/path.h"
#include "store/edit.h"
#include "store/stage.h"
#include "store/store.h"

struct check {
    const char *root;
    bool repair;
    fsck_fn *tell;
    void *arg;
};

static bool is_taken(const struct experiments *all, size_t but,
                     const char *name)
{
    for (size_t i = 0; i < all->n; i++)
        if (i != but && strcmp(all->item[i].name, name) == 0)
            return true;
    return false;
}

/* A second experiment of a name, such as a copied folder, breaks migration. */
static const char *find_problem(const struct experiments *all, size_t i)
{
    const char *name = all->item[i].name;

    if (all->item[i].damage)
        return all->item[i].damage;
    for (size_t k = 0; k < i; k++)
        if (!all->item[k].damage && strcmp(all->item[k].name, name) == 0)
            return "another experiment has the same name";
    return NULL;
}

/* Take its dates from its runs. */
static void date(struct experiment *x, const struct runs *runs)
{
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        if (strcmp(r->experiment_id, x->id) != 0)
            continue;
        if (r->start_ms && (!x->created_ms || r->start_ms < x->created_ms))
            x->created_ms = r->start_ms;
        if (r->seen_ms > x->updated_ms)
            x->updated_ms = r->seen_ms;
    }
}

static int repair(const char *root, struct experiments *all, size_t i,
                  struct err *e)
{
    struct experiment *x = &all->item[i];
    struct runs runs = RUNS_INIT;
    int ret;

    if (is_taken(all, i, x->name))
        x->name = arena_printf(&all->mem, "%s (%s)", x->name, x->id);
    ret = runs_load(&runs, root, LOAD_DELETED | LOAD_NO_METRICS, e);
    if (ret == 0) {
        date(x, &runs);
        ret = edit_experiment_repair(x, e);
    }
    runs_free(&runs);
    return ret;
}

static int check_experiments(const struct check *c, struct err *e)
{
    struct experiments all = EXPERIMENTS_INIT;
    int ret = experiments_load(&all, c->root, e);

    for (size_t i = 0; ret == 0 && i < all.n; i++) {
        const struct experiment *x = &all.item[i];
        const char *what = find_problem(&all, i);
        struct err why = ERR_INIT;
        struct fsck_finding f = { NULL, x->id, STORE_META, what, false };
        char *name;

        if (!what)
            continue;
        f.repaired = c->repair && repair(c->root, &all, i, &why) == 0;
        if (c->repair && !f.repaired)
            f.what = why.text;
        f.name = name = xasprintf("(experiment %s)", x->name);
        c->tell(c->arg, &f);
        free(name);
    }
    experiments_free(&all);
    return ret;
}

static int check_leftover(void *arg, const char *folder, struct err *e)
{
    const struct check *c = arg;
    char *file = xasprintf(STORE_NAMES "/%s", path_name(folder));
    const struct fsck_finding f = { "(store)", "", file,
                                    "a run that was begun or removed, but its "
                                    "process was killed before the end",
                                    c->repair };
    const int ret = c->repair ? path_remove(folder, e) : 0;

    if (ret == 0)
        c->tell(c->arg, &f);
    free(file);
    return ret;
}

int fsck_store(const char *root, bool repair, fsck_fn *fn, void *arg,
               struct err *e)
{
    struct check c = { root, repair, fn, arg };

    return check_experiments(&c, e) < 0
               ? -1
               : stage_leftovers(root, check_leftover, &c, e);
}
