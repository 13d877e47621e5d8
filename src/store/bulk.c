#include "config.h"
#include "store/bulk.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/utf8.h"
#include "store/attempt.h"
#include "store/meta.h"
#include "store/new_run.h"
#include "store/stage.h"
#include "store/store.h"

enum { METRICS, PARAMS, TAGS, VALUE_MAX = 64 << 20 };

static const char *const kinds[] = { "metrics", "params", "tags" };

/* Keys that are not files of their own are noted in tags, as in writer.c. */
static void recall_names(struct bulk *p)
{
    char *folder = path_join(p->folder, "tags");
    struct path_list tags = PATH_LIST_INIT;
    struct err none = ERR_INIT;

    for (int i = 0; i < 3; i++)
        names_init(&p->names[i], p->folder, kinds[i]);
    if (path_list(&tags, folder, &none) < 0)
        tags = (struct path_list)PATH_LIST_INIT;
    for (size_t j = 0; j < tags.n; j++) {
        for (int i = 0; i < 3; i++) {
            char *prefix = xasprintf("gtrack.key.%s.", kinds[i]);
            char *path = path_join(folder, tags.name[j]);
            const size_t n = strlen(prefix);
            struct buf b = BUF_INIT;

            if (strncmp(tags.name[j], prefix, n) == 0 &&
                buf_read_file(&b, path, 65536, &none) == 0)
                names_set(&p->names[i], b.s, tags.name[j] + n);
            buf_clear(&b);
            free(path);
            free(prefix);
        }
    }
    path_list_clear(&tags);
    free(folder);
}

static int write_value(struct bulk *p, int kind, const char *file,
                       const char *value, struct err *e)
{
    char *path = xasprintf("%s/%s/%s", p->folder, kinds[kind], file);
    char *temp =
        xasprintf("%s/" STORE_OWN "/put.%ld.tmp", p->folder, (long)getpid());
    char *parent = path_parent(path);
    struct buf clean = BUF_INIT;
    int ret;

    utf8_clean(&clean, value, strlen(value));
    ret = path_make(parent, e);
    if (ret == 0)
        ret = store_write(path, temp, clean.s, clean.len, false, e);
    buf_clear(&clean);
    free(parent);
    free(temp);
    free(path);
    return ret;
}

static const char *file_of(struct bulk *p, int kind, const char *key,
                           struct err *e)
{
    bool fresh;
    const char *file = names_find(&p->names[kind], key, &fresh);

    if (fresh && strcmp(file, key) != 0) {
        char *tag = xasprintf("gtrack.key.%s.%s", kinds[kind], file);
        const int ret = write_value(p, TAGS, tag, key, e);

        free(tag);
        if (ret < 0)
            return NULL;
    }
    return file;
}

static int save_attempt(struct bulk *p, enum run_status status, int64_t start,
                        int64_t end, struct err *e)
{
    struct arena mem = ARENA_INIT;
    struct attempt_list list;
    struct attempt a;
    int ret;

    attempts_load(&list, &mem, p->folder);
    if (list.n) {
        a = list.item[list.n - 1];
    } else {
        attempt_self(&a, &mem, 1);
        a.cpus = 0; /* nobody knows */
        a.start_ms = start;
    }
    if (status == RUN_RUNNING) {
        a.pid = a.pid_start = 0;
        a.interval_ms = PUT_BEAT_MS;
    }
    a.status = status;
    a.end_ms = end;
    a.beat_ms = clock_wall_ms();
    ret = attempt_save(p->folder, &a, e);
    arena_clear(&mem);
    return ret;
}

int bulk_new(struct bulk *p, const struct bulk_conf *c, struct err *e)
{
    const struct new_run_conf conf = {
        .root = c->root,
        .experiment = c->experiment,
        .name = c->name,
        .user = c->user,
        .parent = c->parent,
        .source = c->source ? c->source : "gtrack",
        .start_ms = c->start_ms,
    };
    struct new_run n;

    *p = (struct bulk){ .fresh = true };
    if (new_run_stage(&n, &p->mem, &conf, e) < 0) {
        arena_clear(&p->mem);
        return -1;
    }
    p->folder = n.folder;
    p->place = n.place;
    p->id = xstrdup(n.meta.id);
    p->name = xstrdup(n.meta.name);
    p->meta = arena_alloc(&p->mem, sizeof *p->meta);
    *p->meta = n.meta;
    recall_names(p);
    if (c->running &&
        save_attempt(p, RUN_RUNNING, p->meta->start_ms, 0, e) < 0) {
        struct err ignored = ERR_INIT;

        path_remove(p->folder, &ignored);
        bulk_close(p);
        return -1;
    }
    return 0;
}

int bulk_open(struct bulk *p, const char *run_folder, struct err *e)
{
    *p = (struct bulk){ .folder = xstrdup(run_folder) };
    p->meta = arena_alloc(&p->mem, sizeof *p->meta);
    if (meta_load(p->meta, &p->mem, run_folder, e) < 0 ||
        new_run_folders(run_folder, e) < 0) {
        bulk_close(p);
        return -1;
    }
    p->id = xstrdup(p->meta->id);
    p->name = xstrdup(p->meta->name ? p->meta->name : "");
    recall_names(p);
    return 0;
}

void bulk_close(struct bulk *p)
{
    for (int i = 0; i < 3; i++)
        names_clear(&p->names[i]);
    free(p->folder);
    free(p->place);
    free(p->id);
    free(p->name);
    arena_clear(&p->mem);
    *p = (struct bulk){ 0 };
}

int bulk_points(struct bulk *p, const char *key, const struct point *point,
                size_t n, struct err *e)
{
    const char *file = file_of(p, METRICS, key, e);
    char *path, *parent, *temp;
    size_t done;
    int ret;

    if (!file || n == 0)
        return file ? 0 : -1;
    path = xasprintf("%s/metrics/%s", p->folder, file);
    parent = path_parent(path);
    temp = path_join(p->folder, STORE_OWN "/metric");
    ret = path_make(parent, e);
    if (ret == 0)
        ret = metric_append(path, temp, point, n, &done, e);
    free(temp);
    free(parent);
    free(path);
    return ret;
}

int bulk_param(struct bulk *p, const char *key, const char *value,
               struct err *e)
{
    const char *file = file_of(p, PARAMS, key, e);
    char *path;
    struct buf was = BUF_INIT;
    struct err none = ERR_INIT;
    int ret;

    if (!file)
        return -1;
    path = xasprintf("%s/params/%s", p->folder, file);
    if (buf_read_file(&was, path, VALUE_MAX, &none) < 0)
        ret = write_value(p, PARAMS, file, value, e);
    else if (strcmp(was.s, value) == 0)
        ret = 0;
    else
        ret = err_set(e, ERR_USAGE,
                      "parameter %s is already '%.60s'; it cannot become "
                      "'%.60s'",
                      key, was.s, value);
    buf_clear(&was);
    free(path);
    return ret;
}

int bulk_tag(struct bulk *p, const char *key, const char *value, struct err *e)
{
    const char *file = file_of(p, TAGS, key, e);
    char *path;
    int ret = 0;

    if (!file)
        return -1;
    if (value)
        return write_value(p, TAGS, file, value, e);
    path = xasprintf("%s/tags/%s", p->folder, file);
    if (unlink(path) < 0 && errno != ENOENT)
        ret = err_sys(e, "cannot remove %s", path);
    free(path);
    return ret;
}

char *bulk_artifact(struct bulk *p, const char *name, struct err *e)
{
    char *path = xasprintf("%s/artifacts/%s", p->folder, name);
    char *parent = path_parent(path);
    const int ret = path_make(parent, e);

    free(parent);
    if (ret == 0)
        return path;
    free(path);
    return NULL;
}

int bulk_beat(struct bulk *p, struct err *e)
{
    return save_attempt(p, RUN_RUNNING, p->meta->start_ms, 0, e);
}

/* While meta.yaml and the folder name different experiments MLflow passes over
 * the run, with a warning; fsck goes by the folder. */
int bulk_move(struct bulk *p, const char *root, const char *experiment,
              struct err *e)
{
    char *id = NULL, *to, *artifacts, *uri;
    const struct meta was = *p->meta;
    struct err ignored = ERR_INIT;
    int ret;

    if (store_experiment(root, experiment, &id, e) < 0)
        return -1;
    to = xasprintf("%s/%s/%s", root, id, p->id);
    artifacts = path_join(to, "artifacts");
    uri = store_uri(artifacts);
    p->meta->artifact_uri = arena_strdup(&p->mem, uri);
    p->meta->experiment_id = arena_strdup(&p->mem, id);
    if (path_exists(to))
        ret = err_set(e, ERR_USAGE, "%s already exists", to);
    else
        ret = meta_save(p->meta, p->folder, e);
    if (ret == 0 && rename(p->folder, to) < 0) {
        ret = err_sys(e, "cannot move %s to %s", p->folder, to);
        meta_save(&was, p->folder, &ignored);
    }
    if (ret == 0) {
        free(p->folder);
        p->folder = xstrdup(to);
    } else {
        *p->meta = was;
    }
    free(uri);
    free(artifacts);
    free(to);
    free(id);
    return ret;
}

int bulk_end(struct bulk *p, enum run_status status, int64_t end_ms, int ret,
             struct err *e)
{
    struct err ignored = ERR_INIT;

    if (ret == 0 && end_ms == 0 && status != RUN_RUNNING)
        end_ms = clock_wall_ms();
    p->meta->status = status == RUN_PREEMPTED ? RUN_KILLED : status;
    p->meta->end_ms = end_ms;
    if (ret == 0 && (!p->fresh || status == RUN_RUNNING))
        ret = save_attempt(p, status, p->meta->start_ms, end_ms, e);
    if (ret == 0)
        ret = meta_save(p->meta, p->folder, e);
    if (ret == 0 && p->place)
        ret = stage_commit(p->folder, p->place, e);
    if (ret < 0 && p->fresh)
        path_remove(p->folder, &ignored);
    bulk_close(p);
    return ret;
}
