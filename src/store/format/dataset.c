#include "config.h"
#include "store/format/dataset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/format/yaml.h"
#include "common/path.h"
#include "store/format/store.h"

/* Make TOP/KIND/NAME/meta.yaml, unless it is there. */
static int make_input(const char *run, const char *top, const char *kind,
                      const char *name, const struct buf *meta, struct err *e)
{
    char *temp = xasprintf("%s/" STORE_OWN "/%s.new", run, name);
    char *file = path_join(temp, STORE_META);
    char *folder = xasprintf("%s/%s/%s", top, kind, name);
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
    FREE(folder, file, temp);
    return ret;
}

/* md5 of two strings, one after the other. */
static void digest(char out[33], const char *a, const char *b)
{
    char *both = xasprintf("%s%s", a, b);

    md5_hex(both, strlen(both), out);
    free(both);
}

int dataset_save(const char *run, const char *run_id,
                 const struct run_dataset *in, struct err *e)
{
    char *experiment = path_parent(run);
    struct buf what = BUF_INIT, that = BUF_INIT;
    char d[33], i[33];
    int ret;

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
    ret = make_input(run, experiment, "datasets", d, &what, e);
    if (ret == 0)
        ret = make_input(run, run, "inputs", i, &that, e);
    buf_clear(&that);
    buf_clear(&what);
    free(experiment);
    return ret;
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
        return err_set(e, ERR_INPUT, "%s is a symbolic link", folder);
    if (yaml_load(&y, mem, arena_printf(mem, "%s/" STORE_META, folder), links,
                  false, e) < 0)
        return -1;
    *id = yaml_get(&y, "source_id");
    *context = yaml_get(&y, "tags.mlflow.data.context");
    type = yaml_get(&y, "source_type");
    if (!type || strcmp(type, "DATASET") != 0)
        return 0;
    if (!*id || **id == '.' || strchr(*id, '/'))
        return err_set(e, ERR_INPUT, "%s: no source_id", folder);
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
    struct arena mem = { 0 };
    struct buf meta = BUF_INIT;
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
    buf_clear(&meta);
    arena_clear(&mem);
    return ret;
}

int datasets_copy(const char *run, const char *from, const char *to,
                  enum path_links links, struct err *e)
{
    char *inputs = path_join(run, "inputs");
    struct path_list names;
    int ret = err_allow(path_list(&names, inputs, e), ERR_MISSING, e);

    for (size_t i = 0; ret == 0 && i < names.n; i++)
        ret = copy_one(run, path_listed(&names, i), from, to, links, e);
    path_list_clear(&names);
    free(inputs);
    return ret;
}

int dataset_check(const char *run, const char *folder, struct err *e)
{
    struct arena mem = { 0 };
    struct run_dataset in;
    int ret = load_one(&in, &mem, run, folder, PATH_NO_LINKS, e);

    arena_clear(&mem);
    return ret;
}

void datasets_load(struct run_dataset **out, size_t *n, struct arena *mem,
                   const char *run, enum path_links links, const char **damage)
{
    char *folder = path_join(run, "inputs");
    struct path_list names;
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
        path_list_clear(&names);
    }
    free(folder);
}
