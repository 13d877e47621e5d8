#include "config.h"
#include "store/write/new_run.h"

#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "store/format/store.h"
#include "store/write/staging.h"

int new_run_folders(const char *folder, struct err *e)
{
    static const char *const inside[] = { "metrics/", "params/", "tags/",
                                          "artifacts/", STORE_OWN "/" };

    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        char *path = path_join(folder, inside[i]);
        const int ret = path_make_below(path, folder, e);

        free(path);
        if (ret < 0)
            return -1;
    }
    return 0;
}

static int write_tags(const struct new_run *n, const struct new_run_conf *c,
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
                      const struct new_run_conf *c, const char *id,
                      const char *experiment, const char *name)
{
    char *uri = store_uri(arena_printf(mem, "%s/artifacts", n->place));

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
    free(uri);
}

static int choose_id(char id[33], const char *wanted, struct err *e)
{
    if (!wanted)
        store_new_id(id);
    else if (store_is_id(wanted))
        memcpy(id, wanted, 33);
    else
        return err_set(e, ERR_USAGE,
                       "the id of a run has 32 hexadecimal digits in lower "
                       "case, unlike '%.40s'",
                       wanted);
    return 0;
}

int new_run_stage(struct new_run *n, struct arena *mem,
                  const struct new_run_conf *c, struct err *e)
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
        err_set(e, ERR_USAGE, "run %s exists already; resume it instead", id);
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
        free(n->folder);
        free(n->place);
        n->folder = n->place = NULL;
    }
    free(name);
    free(experiment);
    return ret;
}
