#include "config.h"
#include "trainer/checkpoint/checkpoint_from.h"

#include <stdlib.h>
#include <string.h>

#include "trainer/checkpoint/checkpoint_files.h"
#include "trainer/checkpoint/checkpoint_find.h"
#include "trainer/checkpoint/checkpoint_state.h"

/* What another value breaks, of a setting that is not only about training. */
static const char *from_breaks(const char *key)
{
    static const char *const free[] = { "preset", "context", "vocab_multiple",
                                        "dropout", "init_" };

    if (strncmp(key, "model.", 6) != 0)
        return NULL;
    for (size_t i = 0; i < sizeof free / sizeof *free; i++)
        if (strncmp(key + 6, free[i], strlen(free[i])) == 0)
            return NULL;
    return "its weights were trained for another function";
}

int checkpoint_from_find(struct settings *s, struct err *e)
{
    char *path, *id = NULL;
    int ret;

    if (!*s->train.from)
        return 0;
    ret = checkpoint_find(s, s->train.from, &path, e);
    if (ret == 0 && !path)
        ret = err_set(e, ERR_MISSING, "%s has no checkpoint", s->train.from);
    if (ret == 0)
        ret = checkpoint_run_id(path, &id, e);
    if (ret == 0)
        ret = conf_put(&s->conf, "train.from", path, "train.from", e);
    if (ret == 0 && !*s->run.parent)
        ret = conf_put(&s->conf, "run.parent", id, "train.from", e);
    free(id);
    free(path);
    return ret < 0 ? err_wrap(e, "train.from") : 0;
}

int checkpoint_from_load(struct engine *eng, const char *sum, struct err *e)
{
    const char *folder = eng->set->train.from;
    char is[SHA256_TEXT];
    int ret = 0;

    if (!*folder)
        return 0;
    if (sum) /* where it was just found, it has been verified */
        ret = checkpoint_verify(folder, e);
    if (ret == 0 && sum)
        ret = checkpoint_state_sum(folder, PART_MODEL, is, e);
    if (ret == 0 && sum && *sum && strcmp(sum, is) != 0)
        ret = err_set(e, ERR_INPUT,
                      "%s is not the model that training started from: the "
                      "SHA-256 of its weights is %.12s, not %.12s",
                      folder, is, sum);
    if (ret == 0)
        ret = checkpoint_load_weights(folder, eng, e);
    if (ret == 0 && eng->set->train.from_moments)
        ret = checkpoint_load_moments(folder, eng, e);
    if (ret == 0 && !sum && eng->coll.rank == 0)
        checkpoint_compare(eng->set, folder, from_breaks);
    return ret < 0 ? err_wrap(e, "train.from") : dev_sync(&eng->dev, e);
}
