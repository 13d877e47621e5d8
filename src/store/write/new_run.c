#include "config.h"
#include "store/write/new_run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/format/secret.h"
#include "common/path.h"
#include "common/save.h"
#include "store/format/store.h"
#include "store/write/edit.h"

enum { IDLE_SECS = 3600 };

/* A new unique name: "new.11aeb3..." for a run that is built.  NULL if there is
 * no folder for it. */
static char *fresh_name(const char *root, const char *what)
{
    char id[33], *name, *path;

    store_new_id(id);
    name = xasprintf("%s.%s", what, id);
    path = store_names_file(root, name, ERR_IGNORED);
    free(name);
    return path;
}

static bool is_beside(const char *root, const char *folder)
{
    AUTO_FREE char *parent = path_parent(folder);
    struct stat a, b;

    return stat(root, &a) == 0 && stat(parent, &b) == 0 && a.st_dev == b.st_dev;
}

char *staging_begin(const char *root, const char *folder, struct err *e)
{
    char *staged = fresh_name(root, "new");

    if (staged && is_beside(root, folder) &&
        path_make(staged, ERR_IGNORED) == 0)
        return staged;
    free(staged);
    return path_make(folder, e) == 0 ? xstrdup(folder) : NULL;
}

int staging_commit(const char *staged, const char *folder, struct err *e)
{
    if (strcmp(staged, folder) == 0 || rename(staged, folder) == 0)
        return 0;
    err_sys(e, "cannot move %s to %s", staged, folder);
    /* NFS may lose the reply to the first attempt and fail the second */
    return !path_exists(staged) && path_exists(folder) ? 0 : -1;
}

int staging_flush(struct staging_batch *b, struct err *e)
{
    bool synced = false;
    int ret = 0;

    for (size_t i = 0; i < b->n && ret == 0; i++) {
        const bool in_place = strcmp(b->folder[i], b->place[i]) == 0;

        /* all folders in ROOT/.gtrack.trash are on one file system */
        if (in_place || !synced)
            ret = save_sync_all(b->folder[i], e);
        synced = synced || !in_place;
    }
    for (size_t i = 0; i < b->n; i++) {
        if (ret == 0)
            ret = staging_commit(b->folder[i], b->place[i], e);
        if (ret < 0)
            path_remove(b->folder[i], ERR_IGNORED);
        FREE(b->folder[i], b->place[i]);
    }
    b->n = 0;
    return ret;
}

int staging_add(struct staging_batch *b, char *staged, char *folder,
                struct err *e)
{
    b->folder[b->n] = staged;
    b->place[b->n++] = folder;
    return b->n == sizeof b->place / sizeof b->place[0] ? staging_flush(b, e)
                                                        : 0;
}

int staging_remove(const char *root, const char *folder, struct err *e)
{
    AUTO_FREE char *away = fresh_name(root, "old");
    AUTO_FREE char *meta = path_join(folder, STORE_META);
    int ret = 0;

    if (away && rename(folder, away) == 0) {
        ret = path_remove(away, e);
    } else { /* without its meta.yaml it is no run at least */
        if (unlink(meta) < 0 && errno != ENOENT)
            ret = err_sys(e, "cannot remove %s", meta);
        if (ret == 0)
            ret = path_remove(folder, e);
    }
    return ret;
}

/* Seconds since anything in there was made, written or renamed. */
static int64_t idle_secs(const char *folder)
{
    AUTO(path_list_clear) struct path_list names = { 0 };
    struct stat st;
    int64_t least;

    if (lstat(folder, &st) < 0)
        return 0;
    least = clock_wall_ms() / 1000 - (int64_t)st.st_mtim.tv_sec;
    if (!S_ISDIR(st.st_mode) || path_list(&names, folder, ERR_IGNORED) < 0)
        return least;
    for (size_t i = 0; i < names.n; i++) {
        const int64_t idle = idle_secs(path_listed(&names, i));

        least = idle < least ? idle : least;
    }
    return least;
}

int staging_leftovers(const char *root, staging_fn *fn, void *arg,
                      struct err *e)
{
    AUTO_FREE char *folder = path_join(root, STORE_NAMES);
    AUTO(path_list_clear) struct path_list names = { 0 };
    int ret = 0;

    if (!path_is_link(folder) && path_is_folder(folder))
        ret = path_list(&names, folder, e);
    for (size_t i = 0; ret == 0 && i < names.n; i++) {
        const char *path = path_listed(&names, i);

        if ((strncmp(names.name[i], "new.", 4) == 0 ||
             strncmp(names.name[i], "old.", 4) == 0 ||
             strncmp(names.name[i], "begin.", 6) == 0 ||
             str_ends(names.name[i], ".tmp")) &&
            idle_secs(path) > IDLE_SECS)
            ret = fn(arg, path, e);
    }
    return ret;
}

int new_run_folders(const char *folder, struct err *e)
{
    static const char *const inside[] = { "metrics/", "params/", "tags/",
                                          "artifacts/", STORE_OWN "/" };

    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        AUTO_FREE char *path = path_join(folder, inside[i]);

        if (path_make_below(path, folder, e) < 0)
            return -1;
    }
    return 0;
}

static int write_tags(const struct new_run *n, const struct run_conf *c,
                      struct err *e)
{
    const int colour = store_next_colour(c->root);
    const char digit[] = { (char)('0' + colour), '\0' };
    const struct pair tags[] = {
        { "mlflow.runName", n->meta.name },
        { "mlflow.user", n->meta.user },
        { "mlflow.source.type", "LOCAL" },
        { "mlflow.source.name", c->source },
        { "mlflow.parentRunId", c->parent },
        { STORE_COLOUR_TAG, colour ? digit : NULL },
    };

    for (size_t i = 0; i < sizeof tags / sizeof tags[0]; i++)
        if (tags[i].value && store_value(n->folder, "tags", tags[i].key,
                                         tags[i].value, false, e) < 0)
            return -1;
    return 0;
}

static void fill_meta(struct new_run *n, struct arena *mem,
                      const struct run_conf *c, const char *id,
                      const char *experiment, const char *name)
{
    AUTO_FREE char *uri =
        store_uri(arena_printf(mem, "%s/artifacts", n->place));

    n->meta = (struct meta){
        .id = arena_strdup(mem, id),
        .name = arena_strdup(mem, name),
        .experiment_id = arena_strdup(mem, experiment),
        .user = c->user ? arena_strdup(mem, c->user) : n->self.user,
        .artifact_uri = arena_strdup(mem, uri),
        .source_type = 4,
        .status = RUN_RUNNING,
        .start_ms = c->start_ms ? c->start_ms : n->self.start_ms,
    };
}

static int choose_id(char id[33], const char *wanted, struct err *e)
{
    if (!wanted)
        store_new_id(id);
    else if (store_is_id(wanted))
        memcpy(id, wanted, 33);
    else
        return err_usage(e,
                         "the id of a run has 32 hexadecimal digits in lower "
                         "case, unlike '%.40s'",
                         wanted);
    return 0;
}

int new_run_stage(struct new_run *n, struct arena *mem,
                  const struct run_conf *c, struct err *e)
{
    char id[33], *experiment = NULL, *name = NULL;
    int ret = -1;

    *n = (struct new_run){ 0 };
    if (choose_id(id, c->id, e) < 0)
        return -1;
    if (store_make(c->root, e) < 0 ||
        store_experiment(c->root, c->experiment ? c->experiment : "Default",
                         &experiment, e) < 0)
        goto out;
    if (c->name)
        store_claimed(c->root, c->name);
    else if (store_claim(c->root, &name, e) < 0)
        goto out;
    attempt_self(&n->self, mem, 1);
    n->place = xasprintf("%s/%s/%s", c->root, experiment, id);
    if (path_exists(n->place)) {
        err_usage(e, "run %s exists already; resume it instead", id);
        goto out;
    }
    fill_meta(n, mem, c, id, experiment, c->name ? c->name : name);
    n->folder = staging_begin(c->root, n->place, e);
    if (n->folder && new_run_folders(n->folder, e) == 0)
        ret = write_tags(n, c, e);

out:
    if (ret < 0) {
        if (n->folder)
            path_remove(n->folder, ERR_IGNORED);
        FREE(n->folder, n->place);
        n->folder = n->place = NULL;
    }
    FREE(name, experiment);
    return ret;
}

/* ---- a run that is imported --------------------------------------------- */

enum {
    VALUE_MAX = 64 << 20,
    BEAT_MS = 8 * 3600 * 1000, /* of a run that no process stands for */
};

static const char *find_file(struct stored_run *p, enum key_kind kind,
                             const char *key, struct err *e)
{
    AUTO_FREE char *tag = NULL;
    const char *file = key_file(&p->files, kind, key, &tag);
    const int ret =
        tag ? store_value(p->folder, "tags", tag, key, false, e) : 0;

    return ret < 0 ? NULL : file;
}

/* A new run belongs to its keeper, or to nobody. */
static void begin_attempt(const struct stored_run *p, struct attempt *a,
                          struct arena *mem)
{
    const struct attempt was = *a;

    if (p->keeper)
        attempt_other(a, mem, was.number, p->keeper);
    else
        a->pid = a->pid_start = 0;
    a->start_ms = was.start_ms;
    a->cpus = was.cpus;
    a->lock = NULL;
    a->interval_ms = p->keeper ? ATTEMPT_BEAT_MS : BEAT_MS;
}

static int save_attempt(struct stored_run *p, enum run_status status,
                        int64_t end_ms, bool begins, struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    struct attempt_list list;
    struct attempt a;

    if (attempts_load(&list, &mem, p->folder, PATH_NO_LINKS, e) < 0)
        return -1;
    if (list.n) {
        a = list.item[list.n - 1];
    } else {
        attempt_self(&a, &mem, 1);
        a.cpus = 0; /* nobody knows */
        a.start_ms = p->meta.start_ms;
    }
    if (status == RUN_RUNNING && (begins || list.n == 0))
        begin_attempt(p, &a, &mem);
    a.status = status;
    a.end_ms = end_ms;
    a.beat_ms = clock_wall_ms();
    return attempt_save(p->folder, &a, begins, NULL, e);
}

int stored_run_create(struct stored_run *p, const struct run_conf *c,
                      struct err *e)
{
    struct new_run n;

    *p = (struct stored_run){ 0 };
    if (new_run_stage(&n, &p->mem, c, e) < 0) {
        arena_clear(&p->mem);
        return -1;
    }
    p->folder = n.folder;
    p->place = n.place;
    p->meta = n.meta;
    key_files_load(&p->files, p->folder);
    return 0;
}

int stored_run_open(struct stored_run *p, const char *run_folder, struct err *e)
{
    *p = (struct stored_run){ .folder = xstrdup(run_folder) };
    if (meta_load(&p->meta, &p->mem, run_folder, PATH_NO_LINKS, e) < 0 ||
        new_run_folders(run_folder, e) < 0) {
        stored_run_close(p);
        return -1;
    }
    key_files_load(&p->files, p->folder);
    return 0;
}

void stored_run_close(struct stored_run *p)
{
    key_files_clear(&p->files);
    FREE(p->folder, p->place);
    arena_clear(&p->mem);
    *p = (struct stored_run){ 0 };
}

int stored_run_points(struct stored_run *p, const char *key,
                      const struct metric_point *point, size_t n, struct err *e)
{
    const char *file = find_file(p, METRIC, key, e);
    AUTO_FREE char *path = NULL, *temp = NULL;
    struct path_pin pin;
    size_t done;
    int ret;

    if (!file || n == 0)
        return file ? 0 : -1;
    path = xasprintf("%s/metrics/%s", p->folder, file);
    temp = path_join(p->folder, STORE_OWN "/points");
    store_touch(p->folder);
    ret = path_pin(&pin, path, p->folder, e);
    if (ret == 0)
        ret = metric_append(pin.name, temp, point, n, &done, e);
    path_unpin(&pin, e);
    store_touch(p->folder);
    return ret;
}

int stored_run_param(struct stored_run *p, const char *key, const char *value,
                     struct err *e)
{
    const char *file = find_file(p, PARAM, key, e);
    AUTO_FREE char *path = NULL;
    AUTO(buf_clear) struct buf was = BUF_INIT, now = BUF_INIT;
    int ret = 0;

    if (!file)
        return -1;
    path = xasprintf("%s/params/%s", p->folder, file);
    secret_mask_named(&now, key, value);
    if (buf_read_unlinked(&was, path, VALUE_MAX, ERR_IGNORED) < 0)
        ret = store_value(p->folder, "params", file, now.s, false, e);
    else if (strcmp(was.s, now.s) != 0)
        ret = err_usage(e,
                        "parameter %s is already '%.60s'; it cannot become "
                        "'%.60s'",
                        key, was.s, now.s);
    return ret;
}

int stored_run_tag(struct stored_run *p, const char *key, const char *value,
                   struct err *e)
{
    const char *file = find_file(p, TAG, key, e);

    return file ? store_value(p->folder, "tags", file, value, false, e) : -1;
}

int stored_run_artifact(struct stored_run *p, const char *name,
                        const void *data, size_t n, struct err *e)
{
    return store_artifact_write(p->folder, name, data, n, !p->place, e);
}

int stored_run_move_artifact(struct stored_run *p, const char *from,
                             const char *to, struct err *e)
{
    AUTO_FREE char *old = xasprintf("%s/artifacts/%s", p->folder, from);
    AUTO_FREE char *new = xasprintf("%s/artifacts/%s", p->folder, to);
    const int ret = store_rename_below(p->folder, old, p->folder, new, e);

    for (char *at = old; ret == 0 && at;) {
        char *parent = path_parent(at);

        free(at);
        old = at = parent;
        if (strcmp(path_name(at), "artifacts") == 0 || rmdir(at) < 0)
            break;
    }
    return ret;
}

int stored_run_beat(struct stored_run *p, struct err *e)
{
    return save_attempt(p, RUN_RUNNING, 0, false, e);
}

/* While meta.yaml and the folder disagree about the experiment, MLflow skips
 * the run, with a warning; fsck trusts the folder. */
int stored_run_move(struct stored_run *p, const char *root,
                    const char *experiment, struct err *e)
{
    AUTO_FREE char *id = NULL, *from = NULL, *uri = NULL;
    const char *into, *to;
    const struct meta was = p->meta;
    struct edit_move move;
    int ret;

    edit_finish_moves(root);
    if (store_experiment(root, experiment, &id, e) < 0)
        return -1;
    edit_move_begin(&move, root, p->meta.id);
    from = path_parent(p->folder);
    into = arena_printf(&p->mem, "%s/%s", root, id);
    to = arena_printf(&p->mem, "%s/%s", into, p->meta.id);
    uri = store_uri(arena_printf(&p->mem, "%s/artifacts", to));
    p->meta.artifact_uri = arena_strdup(&p->mem, uri);
    p->meta.experiment_id = arena_strdup(&p->mem, id);
    if (path_exists(to))
        ret = err_usage(e, "%s already exists", to);
    else
        ret = datasets_copy(p->folder, from, into, PATH_NO_LINKS, e);
    if (ret == 0)
        ret = meta_save(&p->meta, p->folder, true, e);
    if (ret == 0 && rename(p->folder, to) < 0) {
        ret = err_sys(e, "cannot move %s to %s", p->folder, to);
        meta_save(&was, p->folder, true, ERR_IGNORED);
    }
    edit_move_end(&move);
    if (ret == 0) {
        xreplace(&p->folder, to);
    } else {
        p->meta = was;
    }
    return ret;
}

int stored_run_end(struct stored_run *p, enum run_status status, int64_t end_ms,
                   int ret, struct err *e)
{
    if (ret == 0 && end_ms == 0 && status != RUN_RUNNING)
        end_ms = clock_wall_ms();
    p->meta.status = run_status_mlflow(status);
    p->meta.end_ms = end_ms;
    if (ret == 0 && !p->place && status != RUN_RUNNING)
        ret = save_sync_all(p->folder, e); /* its points, before it has ended */
    if (ret == 0 && (!p->place || status == RUN_RUNNING))
        ret = save_attempt(p, status, end_ms, true, e);
    if (ret == 0)
        ret = meta_save(&p->meta, p->folder, !p->place, e);
    if (ret < 0 && p->place)
        path_remove(p->folder, ERR_IGNORED);
    if (ret == 0 && p->place) {
        struct staging_batch alone = { .n = 0 },
                             *b = p->batch ? p->batch : &alone;

        ret = staging_add(b, p->folder, p->place, e);
        p->folder = p->place = NULL;
        if (ret == 0 && !p->batch)
            ret = staging_flush(b, e);
    }
    stored_run_close(p);
    return ret;
}
