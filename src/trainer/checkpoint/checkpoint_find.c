#include "config.h"
#include "trainer/checkpoint/checkpoint_find.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/path.h"
#include "store/format/store.h"
#include "store/read/runs.h"
#include "trainer/checkpoint/checkpoint_state.h"

int64_t checkpoint_step(const char *name)
{
    char *end;
    long long n;

    if (strncmp(name, "step-", 5) != 0)
        return -1;
    n = strtoll(name + 5, &end, 10);
    return *end || end == name + 5 || n < 0 ? -1 : n;
}

static int by_step(const void *a, const void *b)
{
    const int64_t x = checkpoint_step(*(char *const *)a);
    const int64_t y = checkpoint_step(*(char *const *)b);

    return (x > y) - (x < y);
}

int checkpoint_names(struct path_list *l, const char *folder, struct err *e)
{
    size_t n = 0;

    if (path_list(l, folder, e) < 0)
        return -1;
    for (size_t i = 0; i < l->n; i++) {
        if (checkpoint_step(l->name[i]) >= 0)
            l->name[n++] = l->name[i];
        else
            free(l->name[i]);
    }
    l->n = n;
    if (n > 1) /* by number: from step 10^8 on, names have more digits */
        qsort(l->name, n, sizeof *l->name, by_step);
    return 0;
}

static bool is_whole(const char *path)
{
    struct err e = { 0 };

    if (checkpoint_verify(path, &e) == 0)
        return true;
    log_warn("skipping %s: %s", path, e.text);
    return false;
}

char *checkpoint_newest(const char *folder, int64_t last)
{
    struct path_list all = { 0 };
    struct err e = { 0 };
    char *found = NULL;

    if (checkpoint_names(&all, folder, &e) < 0)
        return NULL;
    for (size_t i = all.n; i-- > 0 && !found;) {
        if (checkpoint_step(all.name[i]) > last)
            continue;
        found = path_join(folder, all.name[i]);
        if (!is_whole(found)) {
            free(found);
            found = NULL;
        }
    }
    path_list_clear(&all);
    return found;
}

/* ---- the folder of a run ---------------------------------------------- */

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
    struct err e = { 0 };
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
    struct runs runs = { 0 };
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

/* ---- by a word --------------------------------------------------------- */

static bool is_checkpoint(const char *path)
{
    char *state = path_join(path, "state.json");
    const bool is = path_exists(state);

    free(state);
    return is;
}

/* Is it a model of Hugging Face? */
static bool is_foreign(const char *path)
{
    char *config = path_join(path, "config.json");
    const bool is = path_exists(config);

    free(config);
    return is;
}

static bool matches_settings(const struct run_info *run,
                             const struct settings *s)
{
    return strcmp(run->experiment, s->run.experiment) == 0 &&
           (!*s->run.name || strcmp(run->name, s->run.name) == 0);
}

/* The newest run that has a checkpoint: any, or one of the experiment and, if
 * it is given, of the name. */
static int find_newest(const struct settings *s, bool any, char **path,
                       struct err *e)
{
    const char *folder = s->checkpoint.folder;
    struct runs runs = { 0 };
    struct err why = { 0 };

    if (*folder) {
        *path = path_is_folder(folder) ? checkpoint_newest(folder, INT64_MAX)
                                       : NULL;
        return 0;
    }
    if (runs_load(&runs, s->run.root, LOAD_NO_METRICS, &why) < 0) {
        if (why.kind == ERR_MISSING)
            return 0;
        *e = why;
        return -1;
    }
    for (size_t i = runs.n; i-- > 0 && !*path;)
        if (any || matches_settings(&runs.run[i], s))
            *path = checkpoint_of_run(&runs.run[i]);
    runs_free(&runs);
    return 0;
}

static int find_by_run(const struct settings *s, const char *word, char **path,
                       struct err *e)
{
    struct runs runs = { 0 };
    char *words[] = { (char *)(uintptr_t)word };
    int ret = runs_select(&runs, s->run.root, words, 1, LOAD_NO_METRICS, e);

    if (ret == 0) {
        *path = checkpoint_of_run(&runs.run[runs.n - 1]);
        if (!*path)
            ret = err_set(e, ERR_MISSING,
                          "run %s has no checkpoint that can be loaded", word);
    }
    runs_free(&runs);
    return ret;
}

/* The newest checkpoint of the last run of that name, or NULL. */
static char *newest_of_name(const struct settings *s, const char *name)
{
    struct runs runs = { 0 };
    struct err e = { 0 };
    char *found = NULL;

    if (runs_load(&runs, s->run.root, LOAD_NO_METRICS, &e) == 0)
        for (size_t i = runs.n; i-- > 0 && !found;)
            if (!runs.run[i].deleted && strcmp(runs.run[i].name, name) == 0)
                found = checkpoint_of_run(&runs.run[i]);
    runs_free(&runs);
    return found;
}

int checkpoint_find(const struct settings *s, const char *word, char **path,
                    struct err *e)
{
    *path = NULL;
    if (!word || strcmp(word, "auto") == 0)
        return find_newest(s, !word, path, e);
    if (!path_is_folder(word) && strchr(word, '.') && path_exists(word))
        return err_set(e, ERR_INPUT, "%s is a file; a checkpoint is a folder",
                       word);
    if (!path_is_folder(word))
        return find_by_run(s, word, path, e);
    if (!strchr(word, '/'))
        *path = newest_of_name(s, word);
    if (*path) {
        log_info("using the run %s; the folder of that name is ./%s", word,
                 word);
        return 0;
    }
    if (is_checkpoint(word)) {
        if (checkpoint_verify(word, e) < 0)
            return -1;
        *path = path_join(word, "");
        return 0;
    }
    *path = checkpoint_newest(word, INT64_MAX);
    if (!*path)
        return err_set(e, ERR_MISSING, "%s holds no checkpoint%s", word,
                       is_foreign(word) ? "; 'gtrain import' makes one of it"
                                        : "");
    return 0;
}
