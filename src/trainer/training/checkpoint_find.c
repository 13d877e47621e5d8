#include "config.h"
#include "trainer/training/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "store/load.h"

static bool is_checkpoint(const char *path)
{
    char *state = path_join(path, "state.json");
    const bool is = path_exists(state);

    free(state);
    return is;
}

/* The newest checkpoint of a run, or NULL. */
static char *of_run(const struct run_info *run)
{
    char *folder = path_join(run->artifacts, "checkpoints");
    char *found = path_is_folder(folder) ? checkpoint_newest(folder) : NULL;

    free(folder);
    return found;
}

/* The newest run that has a checkpoint: any, or one of the experiment and, if
 * it is given, of the name. */
static char *automatic(const struct settings *s, bool any, struct err *e)
{
    struct runs runs = RUNS_INIT;
    struct err none = ERR_INIT;
    char *found = NULL;

    if (*s->checkpoint.folder)
        return path_is_folder(s->checkpoint.folder)
                   ? checkpoint_newest(s->checkpoint.folder)
                   : NULL;
    if (runs_load(&runs, s->run.root, LOAD_NO_METRICS, &none) < 0) {
        if (none.kind != ERR_MISSING)
            *e = none;
        return NULL;
    }
    for (size_t i = runs.n; i-- > 0 && !found;) {
        const struct run_info *run = &runs.run[i];

        if (any || (strcmp(run->experiment, s->run.experiment) == 0 &&
                    (!*s->run.name || strcmp(run->name, s->run.name) == 0)))
            found = of_run(run);
    }
    runs_free(&runs);
    return found;
}

static char *by_name(const struct settings *s, const char *word, struct err *e)
{
    struct runs runs = RUNS_INIT;
    char *words[] = { (char *)(uintptr_t)word };
    char *found = NULL;

    if (runs_select(&runs, s->run.root, words, 1, LOAD_NO_METRICS, e) == 0) {
        found = of_run(&runs.run[runs.n - 1]);
        if (!found)
            err_set(e, ERR_MISSING,
                    "run %s has no checkpoint that can be "
                    "loaded",
                    word);
    }
    runs_free(&runs);
    return found;
}

char *checkpoint_find(const struct settings *s, const char *word, struct err *e)
{
    char *found;

    if (!word || strcmp(word, "auto") == 0)
        return automatic(s, !word, e);
    if (!path_is_folder(word))
        return by_name(s, word, e);
    if (!is_checkpoint(word)) {
        found = checkpoint_newest(word);
        if (!found)
            err_set(e, ERR_MISSING, "%s holds no checkpoint", word);
        return found;
    }
    if (checkpoint_verify(word, e) < 0)
        return NULL;
    return path_join(word, "");
}
