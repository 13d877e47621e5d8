#include "config.h"
#include "store/write/edit.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/utf8.h"
#include "common/format/yaml.h"
#include "store/format/key.h"
#include "store/format/meta.h"
#include "store/read/runs.h"
#include "store/write/new_run.h"

/* ---- moves --------------------------------------------------------------- */

/* A folder of their own: that of the names has a file for each run. */
static const char MOVES[] = "moves";

void edit_move_begin(struct edit_move *m, const char *root, const char *id)
{
    AUTO_FREE char *name = path_join(MOVES, id);

    m->mark = store_names_file(root, name, ERR_IGNORED);
    m->fd =
        m->mark
            ? open(m->mark,
                   O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666)
            : -1;
    if (m->fd >= 0)
        flock(m->fd, LOCK_EX);
}

void edit_move_end(struct edit_move *m)
{
    if (m->fd >= 0) {
        unlink(m->mark);
        close(m->fd);
    }
    free(m->mark);
}

/* Wherever the run is now. */
static void place_run(const char *root, const char *id)
{
    AUTO(experiments_free) struct experiments all = { 0 };

    if (experiments_load(&all, root, PATH_NO_LINKS, ERR_IGNORED) == 0)
        for (size_t i = 0; i < all.n; i++) {
            AUTO_FREE char *run = path_join(all.item[i].folder, id);

            if (path_exists(run) && !path_is_link(run))
                meta_change(run, NULL, NULL, ERR_IGNORED);
        }
}

void edit_finish_moves(const char *root)
{
    AUTO_FREE char *parent = path_join(root, STORE_NAMES);
    AUTO_FREE char *folder = path_join(parent, MOVES);
    AUTO(path_list_clear) struct path_list names = { 0 };

    if (!path_is_link(parent) && !path_is_link(folder))
        path_list(&names, folder, ERR_IGNORED);
    for (size_t i = 0; i < names.n; i++) {
        const char *id = names.name[i];
        struct edit_move m;

        if (!store_is_id(id))
            continue;
        m.mark = path_join(folder, id);
        m.fd = open(m.mark, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (m.fd >= 0 && flock(m.fd, LOCK_EX | LOCK_NB) == 0) {
            place_run(root, id);
            edit_move_end(&m);
            continue;
        }
        if (m.fd >= 0)
            close(m.fd);
        free(m.mark);
    }
}

#define NAME_TAG "mlflow.runName"

/* ---- runs ---------------------------------------------------------------- */

/* Complete what killed processes left of moves in the store of this run. */
static void finish_moves(const struct run_info *run)
{
    AUTO_FREE char *experiment = path_parent(run->folder);
    AUTO_FREE char *root = path_parent(experiment);

    edit_finish_moves(root);
}

/* Where the names of files ignore case, a tag would replace its twin. */
static int check_twin(const struct run_info *run, const char *key,
                      struct err *e)
{
    AUTO_FREE char *path = xasprintf("%s/tags/%s", run->folder, key);
    const bool there = !run_info_tag(run, key) && path_exists(path);
    int ret = 0;

    for (size_t i = 0; there && ret == 0 && i < run->n_tags; i++)
        if (strcasecmp(run->tags[i].key, key) == 0)
            ret = err_usage(e,
                            "the run has the tag %s, and the names of files "
                            "ignore case here; choose another name than %s",
                            run->tags[i].key, key);
    return ret;
}

static int put_tag(const struct run_info *run, const char *key,
                   const char *value, struct err *e)
{
    enum { MOST = 8000 }; /* characters, as in MLflow */
    const char *problem = key_problem(key);

    if (problem)
        return err_usage(e, "the tag \"%s\" %s", key, problem);
    if (value && !utf8_valid(value))
        return err_usage(e, "the value of the tag %s is not UTF-8", key);
    if (value && utf8_count(value) > MOST)
        return err_usage(e,
                         "the value of the tag %s is longer than "
                         "%d characters",
                         key, MOST);
    if (check_twin(run, key, e) < 0)
        return -1;
    finish_moves(run);
    return store_value(run->folder, "tags", key, value, true, e);
}

static int change(const struct run_info *run, meta_change_fn *fn,
                  const void *arg, struct err *e)
{
    finish_moves(run);
    return meta_change(run->folder, fn, arg, e);
}

static void set_name(struct meta *m, const void *name)
{
    m->name = name;
}

int edit_name(const struct run_info *run, const char *name, struct err *e)
{
    if (*name == '\0' || !utf8_valid(name))
        return err_usage(e,
                         "the name of a run must be UTF-8 text and not empty");
    if (change(run, set_name, name, e) < 0)
        return -1;
    return put_tag(run, NAME_TAG, name, e);
}

int edit_tag(const struct run_info *run, const char *key, const char *value,
             struct err *e)
{
    return value && strcmp(key, NAME_TAG) == 0 ? edit_name(run, value, e)
                                               : put_tag(run, key, value, e);
}

static void set_deleted(struct meta *m, const void *arg)
{
    const int64_t *ms = arg;

    m->deleted = *ms != 0;
    m->deleted_ms = *ms;
}

static int check_idle(const struct run_info *run, struct err *e)
{
    if (run->status != RUN_RUNNING || run->attempts == 0)
        return 0;
    return err_usage(e, "run %s is being written", run->name);
}

int edit_delete(const struct run_info *run, struct err *e)
{
    const int64_t now = clock_wall_ms();

    return check_idle(run, e) < 0 ? -1 : change(run, set_deleted, &now, e);
}

int edit_restore(const struct run_info *run, struct err *e)
{
    const int64_t none = 0;

    return change(run, set_deleted, &none, e);
}

int edit_remove(const char *root, const struct run_info *run, struct err *e)
{
    if (check_idle(run, e) < 0)
        return -1;
    if (!run->deleted)
        return err_usage(e, "run %s is not deleted", run->name);
    edit_finish_moves(root);
    return staging_remove(root, run->folder, e);
}

/* ---- experiments --------------------------------------------------------- */

/* New values of an experiment's keys; all others of its meta.yaml are kept. */
struct patch {
    const char *id, *name, *stage, *location; /* NULL: as it was */
};

static void put_pair(struct buf *b, const struct yaml_pair *p,
                     const struct patch *patch)
{
    const char *value = p->value;

    if (strchr(p->key, '.')) /* "tags: {a: b}", which readers ignore */
        return;
    if (patch->id && strcmp(p->key, "experiment_id") == 0)
        value = patch->id;
    if (patch->name && strcmp(p->key, "name") == 0)
        value = patch->name;
    if (patch->stage && strcmp(p->key, "lifecycle_stage") == 0)
        value = patch->stage;
    if (patch->location && strcmp(p->key, "artifact_location") == 0)
        value = patch->location;
    if (value && p->plain && value == p->value &&
        value[strspn(value, "0123456789")] == '\0')
        yaml_put_raw(b, p->key, value);
    else if (value && strcmp(value, "[]") == 0 && p->plain)
        yaml_put_raw(b, p->key, value);
    else
        yaml_put(b, p->key, value);
}

/* Write meta.yaml anew.  If the experiment is given, what is missing comes from
 * it, and a file that cannot be read is put aside. */
static int rewrite_experiment(const char *folder, struct patch patch,
                              const struct experiment *x, struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    const char *path = arena_printf(&mem, "%s/" STORE_META, folder);
    char *temp = arena_printf(&mem, "%s/.meta", folder);
    AUTO_FREE char *uri = store_uri(folder);
    const struct yaml_pair need[] = {
        { "artifact_location", uri, false },
        { "creation_time",
          arena_printf(&mem, "%" PRId64, x ? x->created_ms : 0), true },
        { "experiment_id", patch.id, false },
        { "last_update_time",
          arena_printf(&mem, "%" PRId64, x ? x->updated_ms : 0), true },
        { "lifecycle_stage", x && x->deleted ? "deleted" : "active", false },
        { "name", patch.name, false },
    };
    AUTO(buf_clear) struct buf b = BUF_INIT;
    struct yaml y = { NULL, 0 };
    int ret = yaml_load(&y, &mem, path, PATH_NO_LINKS, false, e);

    if (ret < 0)
        y.n = 0;
    if (ret < 0 && x) {
        *e = (struct err){ 0 };
        ret = store_rename_damaged(path, e);
    }
    if (x && !yaml_get(&y, "artifact_location"))
        patch.location = uri; /* it is null */
    if (x && !yaml_get(&y, "lifecycle_stage"))
        patch.stage = x->deleted ? "deleted" : "active";
    for (size_t i = 0; i < y.n; i++)
        put_pair(&b, &y.pair[i], &patch);
    for (size_t i = 0; x && i < sizeof need / sizeof need[0]; i++)
        if (!yaml_find(&y, need[i].key))
            put_pair(&b, &need[i], &patch);
    if (ret == 0)
        ret = store_write(path, temp, b.s, b.len, true, NULL, e);
    return ret;
}

int edit_experiment_repair(const struct experiment *x, struct err *e)
{
    const struct patch patch = { .id = x->id, .name = x->name };

    return rewrite_experiment(x->folder, patch, x, e);
}

/* ---- a tree that was moved ----------------------------------------------- */

static bool is_local(const char *uri)
{
    return uri && (uri[0] == '/' || strncmp(uri, "file:", 5) == 0);
}

static void set_uri(struct meta *m, const void *uri)
{
    m->artifact_uri = uri;
}

/* Is it the URI of this folder in a store elsewhere, which is gone? */
static bool was_moved(const char *uri, const char *root, const char *folder)
{
    const char *below = folder + strlen(root);
    AUTO_FREE char *path = NULL, *own = NULL;

    if (!is_local(uri))
        return false;
    path = xstrdup(uri + (strncmp(uri, "file://", 7) == 0 ? 7 : 0));
    percent_decode(path);
    own = store_absolute(folder);
    return str_ends(path, below) && strcmp(path, own) != 0 &&
           !path_exists(path);
}

struct uris {
    const char *root;
    bool correct;
    int64_t count;
};

/* Look at the URI of a folder, that of a run's artifacts or an experiment. */
static int look_at_uri(struct uris *u, const char *folder, const char *uri,
                       const struct run_info *run, struct err *e)
{
    AUTO_FREE char *now = store_uri(folder);
    const struct patch patch = { .location = now };
    const bool wrong = u->correct ? is_local(uri) && strcmp(uri, now) != 0
                                  : was_moved(uri, u->root, folder);
    int ret = 0;

    if (wrong && u->correct)
        ret = run ? change(run, set_uri, now, e)
                  : rewrite_experiment(folder, patch, NULL, e);
    u->count += wrong && ret == 0;
    return ret;
}

int edit_uris(const char *root, bool correct, int64_t *count, struct err *e)
{
    struct uris u = { root, correct, 0 };
    AUTO(experiments_free) struct experiments all = { 0 };
    AUTO(runs_free) struct runs runs = { 0 };
    int ret = experiments_load(&all, root, PATH_NO_LINKS, e);

    for (size_t i = 0; i < all.n && ret == 0; i++)
        ret =
            look_at_uri(&u, all.item[i].folder, all.item[i].location, NULL, e);
    if (ret == 0)
        ret = runs_load(&runs, root, LOAD_DELETED | LOAD_NO_METRICS, e);
    for (size_t i = 0; i < runs.n && ret == 0; i++) {
        const struct run_info *r = &runs.run[i];

        if (!correct || !r->damage)
            ret = look_at_uri(&u, r->artifacts, r->artifact_uri, r, e);
    }
    *count = u.count;
    return ret;
}
