#include "config.h"
#include "store/format/meta.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/format/yaml.h"
#include "store/format/info.h"
#include "store/format/store.h"

/* Note what is wrong, if nothing was found before. */
static void damaged(struct meta *m, const char *what)
{
    if (!m->damage)
        m->damage = what;
}

static void check(struct meta *m, const struct yaml *y, const char *folder_id)
{
    const struct yaml_pair *start = yaml_find(y, "start_time");
    const struct yaml_pair *end = yaml_find(y, "end_time");
    const struct yaml_pair *id = yaml_find(y, "run_id");
    const struct yaml_pair *status = yaml_find(y, "status");

    if (!m->id)
        damaged(m, "meta.yaml has no run_id");
    else if (strcmp(m->id, folder_id) != 0)
        damaged(m, "meta.yaml has another run_id than the folder");
    else if (id && id->plain && m->id[strspn(m->id, "0123456789")] == '\0')
        damaged(m, "meta.yaml has a run_id that reads as a number");
    if (!yaml_get(y, "experiment_id"))
        damaged(m, "meta.yaml has no experiment_id");
    if (!start || !start->value || !yaml_int(y, "start_time", &m->start_ms))
        damaged(m, "meta.yaml has no start_time");
    else if (!start->plain)
        damaged(m, "meta.yaml has a start_time in quotes");
    if (!end)
        damaged(m, "meta.yaml has no end_time");
    else if (end->value && !end->plain)
        damaged(m, "meta.yaml has an end_time in quotes");
    if (!yaml_find(y, "user_id"))
        damaged(m, "meta.yaml has no user_id");
    if (status && (!status->plain || !yaml_int(y, "status", &m->status) ||
                   m->status < RUN_RUNNING || m->status > RUN_KILLED))
        damaged(m, "meta.yaml has an unknown status");
    if (!id || !id->value)
        m->incomplete = "meta.yaml has no run_id";
    else if (!m->artifact_uri)
        m->incomplete = "meta.yaml has no artifact_uri";
}

int meta_load(struct meta *m, struct arena *mem, const char *run,
              enum path_links links, struct err *e)
{
    char *path = path_join(run, STORE_META);
    const char *stage;
    struct yaml y;
    int ret;

    *m = (struct meta){ .status = 1, .source_type = 4 };
    ret = yaml_load(&y, mem, path, links, false, e);
    if (ret < 0 && e->kind == ERR_INPUT) {
        /* MLflow truncates the file before it writes it anew. */
        clock_pause(0.002);
        *e = (struct err){ 0 };
        ret = yaml_load(&y, mem, path, links, false, e);
    }
    if (ret < 0 && e->kind == ERR_MISSING)
        err_set(e, ERR_MISSING,
                "%s is missing; gtrack fsck --repair can rebuild it", path);
    free(path);
    if (ret < 0)
        return -1;
    m->id = yaml_get(&y, "run_id");
    if (!m->id)
        m->id = yaml_get(&y, "run_uuid");
    m->name = yaml_get(&y, "run_name");
    m->experiment_id = yaml_get(&y, "experiment_id");
    m->user = str_or_empty(yaml_get(&y, "user_id"));
    m->artifact_uri = yaml_get(&y, "artifact_uri");
    m->source_name = str_or_empty(yaml_get(&y, "source_name"));
    m->source_version = str_or_empty(yaml_get(&y, "source_version"));
    m->entry_point = str_or_empty(yaml_get(&y, "entry_point_name"));
    yaml_int(&y, "source_type", &m->source_type);
    yaml_int(&y, "end_time", &m->end_ms);
    yaml_int(&y, "deleted_time", &m->deleted_ms);
    stage = yaml_get(&y, "lifecycle_stage");
    m->deleted = stage && strcmp(stage, "deleted") == 0;
    /* MLflow writes "FINISHED" nowhere, but a person may */
    m->status = run_status_find(yaml_get(&y, "status"), RUN_KILLED);
    check(m, &y, path_name(run));
    /* a run is where its folder is: no path is made of what a file says */
    m->id = arena_strdup(mem, path_name(run));
    if (m->status < RUN_RUNNING || m->status > RUN_KILLED)
        m->status = RUN_RUNNING;
    return 0;
}

void meta_place(struct meta *m, struct arena *mem, const char *run)
{
    char *experiment = path_parent(run);
    char *uri = store_uri(arena_printf(mem, "%s/artifacts", run));
    const char *id = path_name(experiment), *was = m->artifact_uri;

    if (!m->experiment_id || strcmp(m->experiment_id, id) != 0) {
        m->experiment_id = arena_strdup(mem, id);
        if (was && (was[0] == '/' || strncmp(was, "file:", 5) == 0))
            m->artifact_uri = arena_strdup(mem, uri);
    }
    FREE(uri, experiment);
}

int meta_save(const struct meta *m, const char *run, bool sync, struct err *e)
{
    char *path = path_join(run, STORE_META);
    struct buf b = BUF_INIT;
    int ret;

    yaml_put(&b, "artifact_uri", str_or_empty(m->artifact_uri));
    if (m->deleted && m->deleted_ms)
        yaml_put_int(&b, "deleted_time", m->deleted_ms);
    if (m->end_ms)
        yaml_put_int(&b, "end_time", m->end_ms);
    else
        yaml_put(&b, "end_time", NULL);
    yaml_put(&b, "entry_point_name", str_or_empty(m->entry_point));
    yaml_put(&b, "experiment_id", m->experiment_id);
    yaml_put(&b, "lifecycle_stage", m->deleted ? "deleted" : "active");
    yaml_put(&b, "run_id", m->id);
    yaml_put(&b, "run_name", str_or_empty(m->name));
    yaml_put(&b, "run_uuid", m->id);
    yaml_put(&b, "source_name", str_or_empty(m->source_name));
    yaml_put_int(&b, "source_type", m->source_type);
    yaml_put(&b, "source_version", str_or_empty(m->source_version));
    yaml_put_int(&b, "start_time", m->start_ms);
    yaml_put_int(&b, "status", m->status);
    yaml_put_raw(&b, "tags", "[]");
    yaml_put(&b, "user_id", str_or_empty(m->user));
    ret = store_write_below(run, path, STORE_OWN "/meta", b.s, b.len, sync, e);
    buf_clear(&b);
    free(path);
    return ret;
}

int meta_change(const char *run, meta_change_fn *fn, const void *arg,
                struct err *e)
{
    struct arena mem = { 0 };
    struct meta m;
    int ret = meta_load(&m, &mem, run, PATH_NO_LINKS, e);

    if (ret == 0 && m.damage)
        ret = err_set(e, ERR_INPUT, "run %s: %s; gtrack fsck --repair may help",
                      m.name ? m.name : m.id, m.damage);
    if (ret == 0) {
        if (fn)
            fn(&m, arg);
        meta_place(&m, &mem, run);
        ret = meta_save(&m, run, true, e);
    }
    arena_clear(&mem);
    return ret;
}
