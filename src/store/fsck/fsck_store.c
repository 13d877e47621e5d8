/*
 * fsck_store - compare checkpoints with the sums that training noted; find and
 * repair damage in a store outside its runs
 */
#include "config.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/format/yaml.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/sha256.h"
#include "store/format/chain.h"
#include "store/format/store.h"
#include "store/fsck/fsck.h"
#include "store/write/edit.h"
#include "store/write/new_run.h"

enum { SUMS_MAX = 256 << 20 };

struct compared {
    const struct run_info *run;
    fsck_fn *fn;
    void *arg;
};

/* The argument is a struct compared, also for chain_check(). */
static void tell_file(void *arg, const char *file, const char *what)
{
    const struct compared *c = arg;

    c->fn(c->arg, &(struct fsck_finding){ .name = c->run->name,
                                          .id = c->run->id,
                                          .file = file,
                                          .what = what });
}

/* Does one of the sums of this file fit?  *known if it has any; a step that was
 * written twice has two. */
static bool fits(const char *sums, const char *file, const char *sum,
                 bool *known)
{
    AUTO_FREE char *line = xasprintf("%s  %s\n", sum, file);
    AUTO_FREE char *tail = xasprintf("  %s\n", file);
    const bool found = strstr(sums, line) != NULL;

    *known = strstr(sums, tail) != NULL;
    return found;
}

static int check_file(struct compared *c, const char *sums, const char *file,
                      struct err *e)
{
    char *path = path_join(c->run->artifacts, file), sum[SHA256_TEXT];
    char *shown = path_join("artifacts", file);
    bool known = false;
    int64_t size;
    int ret = 0;

    if (path_is_link(path)) {
        tell_file(c, shown, "it is a link, and was not compared");
    } else if (path_exists(path)) {
        ret = sha256_file(path, sum, &size, e);
        if (ret == 0 && !fits(sums, file, sum, &known))
            tell_file(c, shown,
                      known ? "its SHA-256 is not that of checkpoints.sha256"
                            : "it is not in checkpoints.sha256");
    }
    FREE(shown, path);
    return ret;
}

int fsck_checkpoints(const struct run_info *run, fsck_fn *fn, void *arg,
                     struct err *e)
{
    struct compared c = { run, fn, arg };
    static const char *const files[] = { "model.safetensors",
                                         "optim.safetensors", "state.json" };
    AUTO_FREE char *path = path_join(run->artifacts, "checkpoints.sha256");
    AUTO_FREE char *folder = path_join(run->artifacts, "checkpoints");
    AUTO(path_list_clear) struct path_list steps = { 0 };
    AUTO(buf_clear) struct buf sums = BUF_INIT;
    int ret = buf_read_unlinked(&sums, path, SUMS_MAX, e);

    if (ret == 0 && !path_is_link(folder) && path_is_folder(folder))
        ret = path_list(&steps, folder, e);
    else
        ret = err_allow(ret, ERR_MISSING, e);
    for (size_t i = 0; i < steps.n && ret == 0; i++)
        for (size_t k = 0; k < 3 && ret == 0; k++) {
            AUTO_FREE char *file =
                xasprintf("checkpoints/%s/%s", steps.name[i], files[k]);

            if (strncmp(steps.name[i], "step-", 5) == 0)
                ret = check_file(&c, sums.s, file, e);
        }
    if (ret == 0)
        ret = chain_check(run, tell_file, &c, e);
    return ret;
}

struct check {
    const char *root;
    bool repair;
    fsck_fn *tell;
    void *arg;
};

static void tell(const struct check *c, const char *file, const char *what,
                 bool repaired)
{
    const struct fsck_finding f = { "(store)", "", file, what, repaired };

    c->tell(c->arg, &f);
}

/* ---- names of folders ---- */

/* MLflow fails on each other name of an experiment or a run. */
static bool is_id(const char *name, size_t most)
{
    size_t n = strlen(name);

    if (n == 0 || n > most || !isalnum((unsigned char)*name))
        return false;
    while (n > 0 && (isalnum((unsigned char)name[n - 1]) ||
                     strchr("_-", name[n - 1]) || (name[n - 1] & 0x80)))
        n--;
    return n == 0;
}

/* The folder gets the id that its meta.yaml has under this key, or a new
 * one. */
static char *find_place(const char *parent, const char *meta, const char *key,
                        size_t most)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    const char *id = NULL;
    char fresh[33], *place;
    struct yaml y;

    if (yaml_load(&y, &mem, meta, PATH_NO_LINKS, false, ERR_IGNORED) == 0)
        id = yaml_get(&y, key);
    store_new_id(fresh);
    place = path_join(parent, id && is_id(id, most) ? id : fresh);
    if (path_exists(place)) {
        free(place);
        place = path_join(parent, fresh);
    }
    return place;
}

/* Only an empty folder is removed: one that has no meta.yaml, such as .git, is
 * not ours. */
static int check_name(const struct check *c, const char *parent,
                      const char *from, const char *key, size_t most,
                      struct err *e)
{
    AUTO_FREE char *meta = path_join(from, STORE_META);
    AUTO_FREE char *to = find_place(parent, meta, key, most);
    bool repaired = false;
    int ret = 0;

    if (c->repair && !path_exists(meta))
        repaired = rmdir(from) == 0;
    else if (c->repair)
        repaired =
            (ret = store_rename_below(c->root, from, c->root, to, e)) == 0;
    if (ret == 0)
        tell(c, from + strlen(c->root) + 1,
             path_exists(meta) || repaired
                 ? "MLflow fails on a folder of this name"
                 : "MLflow fails on a folder of this name; move it out of the "
                   "store",
             repaired);
    return ret;
}

static int check_runs_of(const struct check *c, const char *folder,
                         struct err *e)
{
    enum { MOST = 256 };
    AUTO(path_list_clear) struct path_list l = { 0 };
    int ret = path_list(&l, folder, e);

    for (size_t i = 0; ret == 0 && i < l.n; i++) {
        const char *run = path_listed(&l, i);
        AUTO_FREE char *meta = path_join(run, STORE_META);

        if (!is_id(l.name[i], MOST) && path_exists(meta))
            ret = check_name(c, folder, run, "run_id", MOST, e);
    }
    return ret;
}

static int check_names(const struct check *c, struct err *e)
{
    enum { MOST = 64 };
    AUTO(path_list_clear) struct path_list l = { 0 };
    int ret = path_list(&l, c->root, e);

    for (size_t i = 0; ret == 0 && i < l.n; i++) {
        const char *folder = path_listed(&l, i);

        if (!path_is_folder(folder) || str_ends(l.name[i], STORE_TRASH))
            ;
        else if (is_id(l.name[i], MOST))
            ret = path_is_link(folder) ? 0 : check_runs_of(c, folder, e);
        else
            ret = check_name(c, c->root, folder, "experiment_id", MOST, e);
    }
    return ret;
}

/* ---- experiments ---- */

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
    AUTO(runs_free) struct runs runs = { 0 };

    if (is_taken(all, i, x->name))
        x->name = arena_printf(&all->mem, "%s (%s)", x->name, x->id);
    if (runs_load(&runs, root, LOAD_DELETED | LOAD_NO_METRICS, e) < 0)
        return -1;
    date(x, &runs);
    return edit_experiment_repair(x, e);
}

static int check_experiments(const struct check *c, struct err *e)
{
    AUTO(experiments_free) struct experiments all = { 0 };
    int ret = experiments_load(&all, c->root, PATH_NO_LINKS, e);

    for (size_t i = 0; ret == 0 && i < all.n; i++) {
        const struct experiment *x = &all.item[i];
        const char *what = find_problem(&all, i);
        struct err why = { 0 };
        struct fsck_finding f = { NULL, x->id, STORE_META, what, false };
        AUTO_FREE char *name = NULL;

        if (!what)
            continue;
        f.repaired = c->repair && repair(c->root, &all, i, &why) == 0;
        if (c->repair && !f.repaired)
            f.what = why.text;
        f.name = name = xasprintf("(experiment %s)", x->name);
        c->tell(c->arg, &f);
    }
    return ret;
}

static int check_leftover(void *arg, const char *folder, struct err *e)
{
    const struct check *c = arg;
    AUTO_FREE char *file = xasprintf(STORE_NAMES "/%s", path_name(folder));
    const int ret = c->repair ? path_remove(folder, e) : 0;
    const struct fsck_finding f = {
        "(store)",
        "",
        file,
        "a run that was begun or removed, but its process was killed before "
        "the end",
        c->repair,
        true
    };

    if (ret == 0)
        c->tell(c->arg, &f);
    return ret;
}

int fsck_store(const char *root, bool repair, fsck_fn *fn, void *arg,
               struct err *e)
{
    struct check c = { root, repair, fn, arg };

    return check_names(&c, e) < 0 || check_experiments(&c, e) < 0
               ? -1
               : staging_leftovers(root, check_leftover, &c, e);
}

int fsck_moved(const char *root, fsck_fn *fn, void *arg, struct err *e)
{
    const struct check c = { root, false, fn, arg };
    int64_t wrong;
    AUTO_FREE char *what = NULL;

    if (edit_uris(root, false, &wrong, e) < 0)
        return -1;
    what =
        xasprintf("paths of artifacts lead to folders that do not exist: "
                  "%" PRId64 "; if the store was moved, use --repair --moved",
                  wrong);
    if (wrong)
        tell(&c, STORE_META, what, false);
    return 0;
}
