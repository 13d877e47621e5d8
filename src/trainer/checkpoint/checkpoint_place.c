#include "config.h"
#include "trainer/checkpoint/checkpoint_place.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/path.h"
#include "store/format/store.h"
#include "trainer/checkpoint/checkpoint_find.h"
#include "trainer/checkpoint/checkpoint_state.h"

#define PLACE_TAG  "checkpoints"
#define OWN_FOLDER "artifacts/checkpoints"

/* The folder outside the run that the tag names, or NULL. */
static const char *place_elsewhere(const struct run_info *run)
{
    const char *tag = run_info_tag(run, PLACE_TAG);

    return tag && *tag == '/' && path_is_folder(tag) ? tag : NULL;
}

/* The run resumes only from its own checkpoints, whatever the tag names. */
static bool is_of_run(const char *path, const char *run_id)
{
    struct err e = ERR_INIT;
    char *id = NULL;
    const bool same =
        checkpoint_run_id(path, &id, &e) == 0 && strcmp(id, run_id) == 0;

    free(id);
    return same;
}

static bool is_refused(const char *path, const char *inside,
                       const struct run_info *run)
{
    if (!path_leaves(path, inside))
        return false;
    log_warn("%s is a link that leaves the run and is not followed; if you "
             "keep the checkpoints of run %s elsewhere, set its tag "
             "\"" PLACE_TAG "\" to that folder",
             path, run->name);
    return true;
}

/* The newest checkpoint in a folder that links leave neither by themselves nor
 * by the names in it. */
static char *newest_inside(const char *folder, const char *inside,
                           const struct run_info *run)
{
    char *found;

    if (!path_is_folder(folder) || is_refused(folder, inside, run))
        return NULL;
    found = checkpoint_newest(folder, INT64_MAX);
    if (!found || !is_refused(found, inside, run))
        return found;
    free(found);
    return NULL;
}

char *checkpoint_of_run(const struct run_info *run)
{
    const char *elsewhere = place_elsewhere(run);
    char *own = path_join(run->folder, OWN_FOLDER);
    char *found = elsewhere ? newest_inside(elsewhere, elsewhere, run)
                            : newest_inside(own, run->folder, run);

    free(own);
    if (!found || !elsewhere || is_of_run(found, run->id))
        return found;
    log_warn("%s is not a checkpoint of run %s", found, run->name);
    free(found);
    return NULL;
}

/* The folder in a run that resumes, which may be a link to where the tag says;
 * if it is none, the tag of an earlier attempt holds no longer. */
static int resume_own(struct run *run, const char *root, const char *own,
                      struct err *e)
{
    char *id = xstrdup(run_id(run));
    struct runs runs = RUNS_INIT;
    const char *tag = NULL;
    int ret =
        runs_load_ids(&runs, root, &id, 1, LOAD_NO_METRICS | LOAD_DELETED, e);

    if (ret == 0 && runs.n == 1)
        tag = place_elsewhere(&runs.run[0]);
    if (ret == 0 && path_is_link(own) && path_leaves(own, run_folder(run)) &&
        (!tag || path_leaves(own, tag)))
        ret = err_set(e, ERR_INPUT,
                      "%s is a link that leaves the run; if you keep the "
                      "checkpoints of run %s elsewhere, set its tag "
                      "\"" PLACE_TAG "\" to that folder",
                      own, run_name(run));
    else if (ret == 0 && tag && !path_is_link(own))
        run_tag(run, PLACE_TAG, OWN_FOLDER);
    runs_free(&runs);
    free(id);
    return ret;
}

int checkpoint_place(struct run *run, const struct settings *s, bool resumed,
                     char **folder, struct err *e)
{
    const char *set = s->checkpoint.folder;

    if (*set) {
        char *whole = store_absolute(set);

        run_tag(run, PLACE_TAG, whole);
        free(whole);
        *folder = xstrdup(set);
        return 0;
    }
    *folder = path_join(run_folder(run), OWN_FOLDER);
    return resumed ? resume_own(run, s->run.root, *folder, e) : 0;
}
