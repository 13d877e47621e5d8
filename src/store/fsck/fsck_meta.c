/*
 * fsck_meta - check the meta.yaml of a run, and complete or rebuild it
 */
#include "config.h"
#include "store/fsck/fsck.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/path.h"
#include "store/format/attempt.h"
#include "store/format/meta.h"
#include "store/format/store.h"

/* Rebuild it from the rest of the run.  Only an attempt tells how it ended. */
static void guess_meta(struct meta *m, const struct run_info *r,
                       const struct fsck_span *seen, const char *uri)
{
    const struct attempt *first = r->attempts ? &r->attempt[0] : NULL;
    const char *user = run_info_tag(r, "mlflow.user");
    const char *source = run_info_tag(r, "mlflow.source.name");

    if (!user)
        user = first ? first->user : NULL;
    *m = (struct meta){
        .id = path_name(r->folder),
        .name = r->name,
        .experiment_id = r->experiment_id,
        .user = user ? user : "",
        .artifact_uri = uri,
        .source_name = source ? source : "",
        .source_type = 4,
        .status = !first                   ? RUN_KILLED
                  : r->status == RUN_STALE ? RUN_FAILED
                                           : run_status_mlflow(r->status),
        .start_ms = first ? first->start_ms : seen->first_ms,
        .end_ms = seen->last_ms,
        .deleted = r->deleted,
    };
    if (first) {
        const struct attempt *last = &r->attempt[r->attempts - 1];

        m->end_ms = r->status == RUN_RUNNING ? 0
                    : last->end_ms           ? last->end_ms
                                             : last->beat_ms;
    }
    if (r->deleted)
        m->deleted_ms = m->end_ms;
}

/* Keep one that cannot be read next to the new one. */
static int replace_meta(const struct run_info *r, const struct fsck_span *seen,
                        struct err *e)
{
    char *path = path_join(r->folder, STORE_META);
    char *uri = store_uri(r->artifacts);
    struct meta m;
    int ret;

    guess_meta(&m, r, seen, uri);
    ret = store_rename_damaged(path, e);
    if (ret == 0)
        ret = meta_save(&m, r->folder, true, e);
    free(uri);
    free(path);
    return ret;
}

/* The status for a damaged meta.yaml.  RUNNING also stands for an unknown one,
 * which cannot be that of a run that has an end. */
static int64_t settle_status(const struct meta *m, const struct run_info *r)
{
    if (m->status != RUN_RUNNING)
        return m->status;
    if (r->attempts == 0)
        return m->end_ms ? RUN_KILLED : RUN_RUNNING;
    return r->status == RUN_STALE ? RUN_RUNNING : run_status_mlflow(r->status);
}

/* Complete one that could be read; meta_load() substitutes what is missing. */
static int complete_meta(struct meta *m, const struct run_info *r,
                         struct err *e)
{
    char *uri = store_uri(r->artifacts);
    int ret;

    m->id = path_name(r->folder);
    m->experiment_id = r->experiment_id;
    if (!m->start_ms)
        m->start_ms = r->start_ms;
    if (!m->name)
        m->name = r->name;
    if (!m->artifact_uri)
        m->artifact_uri = uri;
    m->status = settle_status(m, r);
    ret = meta_save(m, r->folder, true, e);
    free(uri);
    return ret;
}

int fsck_meta(const struct run_info *r, const struct fsck_span *seen,
              bool repair, fsck_fn *tell, void *arg, struct err *e)
{
    struct fsck_finding f = { r->name, r->id, STORE_META, NULL, repair };
    struct arena mem = { 0 };
    struct err why = { 0 };
    struct meta m;
    int ret = 0;

    if (meta_load(&m, &mem, r->folder, PATH_NO_LINKS, &why) < 0) {
        f.what = why.kind == ERR_MISSING ? "it is missing" : why.text;
        if (repair)
            ret = replace_meta(r, seen, e);
    } else {
        if (!m.damage && strcmp(m.experiment_id, r->experiment_id) != 0)
            m.damage = "meta.yaml has another experiment_id than the folder";
        f.what = m.damage ? m.damage : m.incomplete;
        if (f.what && repair)
            ret = complete_meta(&m, r, e);
    }
    if (ret == 0 && f.what)
        tell(arg, &f);
    arena_clear(&mem);
    return ret;
}
