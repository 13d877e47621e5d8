#include "config.h"
#include "store/format/meta.h"

#include <errno.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/format/yaml.h"
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
    AUTO_FREE char *path = path_join(run, STORE_META);
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
    AUTO_FREE char *experiment = path_parent(run);
    AUTO_FREE char *uri = store_uri(arena_printf(mem, "%s/artifacts", run));
    const char *id = path_name(experiment), *was = m->artifact_uri;

    if (!m->experiment_id || strcmp(m->experiment_id, id) != 0) {
        m->experiment_id = arena_strdup(mem, id);
        if (was && (was[0] == '/' || strncmp(was, "file:", 5) == 0))
            m->artifact_uri = arena_strdup(mem, uri);
    }
}

int meta_save(const struct meta *m, const char *run, bool sync, struct err *e)
{
    AUTO_FREE char *path = path_join(run, STORE_META);
    AUTO(buf_clear) struct buf b = BUF_INIT;

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
    return store_write_below(run, path, STORE_OWN "/meta", b.s, b.len, sync, e);
}

int meta_change(const char *run, meta_change_fn *fn, const void *arg,
                struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    struct meta m;

    if (meta_load(&m, &mem, run, PATH_NO_LINKS, e) < 0)
        return -1;
    if (m.damage)
        return err_input(e, "run %s: %s; gtrack fsck --repair may help",
                         m.name ? m.name : m.id, m.damage);
    if (fn)
        fn(&m, arg);
    meta_place(&m, &mem, run);
    return meta_save(&m, run, true, e);
}

/* ---- datasets ----------------------------------------------------------- */

/* Make TOP/KIND/NAME/meta.yaml, unless it is there. */
static int make_input(const char *run, const char *top, const char *kind,
                      const char *name, const struct buf *meta, struct err *e)
{
    AUTO_FREE char *temp = xasprintf("%s/" STORE_OWN "/%s.new", run, name);
    AUTO_FREE char *file = path_join(temp, STORE_META);
    AUTO_FREE char *folder = xasprintf("%s/%s/%s", top, kind, name);
    struct err why = { 0 }, ignored = { 0 };
    int ret = 0;

    if (!path_exists(folder)) {
        path_remove(temp, &ignored); /* what a kill left */
        ret = store_write_below(run, file, NULL, meta->s, meta->len, true, e);
        if (ret == 0 && store_rename_below(run, temp, top, folder, &why) < 0 &&
            why.sys != EEXIST && why.sys != ENOTEMPTY) {
            *e = why;
            ret = -1;
        }
        path_remove(temp, &ignored);
    }
    return ret;
}

/* md5 of two strings, one after the other. */
static void digest(char out[33], const char *a, const char *b)
{
    AUTO_FREE char *both = xasprintf("%s%s", a, b);

    md5_hex(both, strlen(both), out);
}

int dataset_save(const char *run, const char *run_id,
                 const struct run_dataset *in, struct err *e)
{
    AUTO_FREE char *experiment = path_parent(run);
    AUTO(buf_clear) struct buf what = BUF_INIT, that = BUF_INIT;
    char d[33], i[33];

    digest(d, in->name, str_or_empty(in->digest));
    digest(i, d, run_id);
    yaml_put(&what, "digest", str_or_empty(in->digest));
    yaml_put(&what, "name", in->name);
    yaml_put(&what, "profile", in->profile);
    yaml_put(&what, "schema", in->schema);
    yaml_put(&what, "source", in->source ? in->source : "{}");
    yaml_put(&what, "source_type", in->source_type ? in->source_type : "local");
    yaml_put(&that, "destination_id", d);
    yaml_put(&that, "destination_type", "RUN");
    yaml_put(&that, "source_id", d);
    yaml_put(&that, "source_type", "DATASET");
    if (in->context) {
        buf_str(&that, "tags:\n  ");
        yaml_put(&that, "mlflow.data.context", in->context);
    } else {
        yaml_put_raw(&that, "tags", "{}");
    }
    if (make_input(run, experiment, "datasets", d, &what, e) < 0)
        return -1;
    return make_input(run, run, "inputs", i, &that, e);
}

/* The file of the dataset that an input names; NULL if that is a logged model.
 * EXPERIMENT is the folder that has the datasets. */
static int find_dataset(const char **file, const char **id,
                        const char **context, struct arena *mem,
                        const char *folder, const char *experiment,
                        enum path_links links, struct err *e)
{
    struct yaml y;
    const char *type;

    *file = NULL;
    if (path_is_refused(folder, links))
        return err_input(e, "%s is a symbolic link", folder);
    if (yaml_load(&y, mem, arena_printf(mem, "%s/" STORE_META, folder), links,
                  false, e) < 0)
        return -1;
    *id = yaml_get(&y, "source_id");
    *context = yaml_get(&y, "tags.mlflow.data.context");
    type = yaml_get(&y, "source_type");
    if (!type || strcmp(type, "DATASET") != 0)
        return 0;
    if (!*id || **id == '.' || strchr(*id, '/'))
        return err_input(e, "%s: no source_id", folder);
    *file = arena_printf(mem, "%s/datasets/%s/" STORE_META, experiment, *id);
    return 0;
}

static int load_one(struct run_dataset *in, struct arena *mem, const char *run,
                    const char *folder, enum path_links links, struct err *e)
{
    const char *file, *id, *experiment = arena_printf(mem, "%s/..", run);
    struct yaml y;

    *in = (struct run_dataset){ 0 };
    if (find_dataset(&file, &id, &in->context, mem, folder, experiment, links,
                     e) < 0)
        return -1;
    if (!file)
        return 0;
    if (yaml_load(&y, mem, file, links, false, e) < 0)
        return -1;
    in->name = yaml_get(&y, "name");
    in->digest = yaml_get(&y, "digest");
    in->source = yaml_get(&y, "source");
    in->source_type = yaml_get(&y, "source_type");
    in->schema = yaml_get(&y, "schema");
    in->profile = yaml_get(&y, "profile");
    return 0;
}

/* A dataset that is damaged or missing is damaged or missing in the copy. */
static int copy_one(const char *run, const char *folder, const char *from,
                    const char *to, enum path_links links, struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    AUTO(buf_clear) struct buf meta = BUF_INIT;
    const char *file, *id, *context;
    int ret = find_dataset(&file, &id, &context, &mem, folder, from, links, e);

    if (ret == 0 && file)
        ret =
            buf_read_open(&meta, path_open_inside(file, links ? NULL : from, e),
                          file, YAML_MAX, e);
    if (ret == 0 && file)
        ret = make_input(run, to, "datasets", id, &meta, e);
    else
        ret = err_allow(err_allow(ret, ERR_MISSING, e), ERR_INPUT, e);
    return ret;
}

int datasets_copy(const char *run, const char *from, const char *to,
                  enum path_links links, struct err *e)
{
    AUTO_FREE char *inputs = path_join(run, "inputs");
    AUTO(path_list_clear) struct path_list names = { 0 };
    int ret = err_allow(path_list(&names, inputs, e), ERR_MISSING, e);

    for (size_t i = 0; ret == 0 && i < names.n; i++)
        ret = copy_one(run, path_listed(&names, i), from, to, links, e);
    return ret;
}

int dataset_check(const char *run, const char *folder, struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    struct run_dataset in;

    return load_one(&in, &mem, run, folder, PATH_NO_LINKS, e);
}

void datasets_load(struct run_dataset **out, size_t *n, struct arena *mem,
                   const char *run, enum path_links links, const char **damage)
{
    AUTO_FREE char *folder = path_join(run, "inputs");
    AUTO(path_list_clear) struct path_list names = { 0 };
    struct err e = { 0 };

    *n = 0;
    *out = NULL;
    if (!path_is_refused(folder, links) &&
        path_list_most(&names, folder, DATASETS_MAX, &e) == 0) {
        *out = arena_alloc(mem, names.n * sizeof **out);
        for (size_t i = 0; i < names.n; i++) {
            if (load_one(&(*out)[*n], mem, run, path_listed(&names, i), links,
                         &e) < 0)
                *damage = arena_strdup(mem, e.text);
            else
                *n += (*out)[*n].name != NULL;
        }
    }
}
