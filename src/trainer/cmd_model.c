/* cmd_model - find and open the model that a command names */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "trainer/cmds.h"
#include "trainer/training/checkpoint_files.h"
#include "trainer/training/checkpoint_find.h"

static int find_model(const struct model_word *w, char **path, struct err *e)
{
    struct settings s = { 0 };
    int ret = settings_load(&s, NULL, NULL, 0, e);

    if (ret == 0 && w->root)
        ret = conf_put(&s.conf, "run.root", w->root, "--root", e);
    if (ret == 0)
        ret = checkpoint_find(&s, w->word, path, e);
    if (ret == 0 && !*path)
        ret = err_set(e, ERR_MISSING, "no run in %s has a checkpoint",
                      s.run.root);
    settings_clear(&s);
    return ret;
}

static int adapt(struct settings *s, const struct model_word *w, struct err *e)
{
    char number[32];

    snprintf(number, sizeof number, "%lld", (long long)w->micro_batch);
    if (w->micro_batch &&
        (conf_put(&s->conf, "train.micro_batch", number, "here", e) < 0 ||
         conf_put(&s->conf, "train.batch", number, "here", e) < 0 ||
         conf_put(&s->conf, "train.tokens_per_step", "0", "here", e) < 0))
        return -1;
    for (size_t i = 0; w->sets && i < w->sets->n; i++)
        if (conf_set(&s->conf, w->sets->item[i], e) < 0)
            return -1;
    return conf_put(&s->conf, "train.device", w->device ? w->device : "auto",
                    "--device", e);
}

int cmd_open_model(struct job *j, struct settings *s,
                   const struct model_word *w, struct err *e)
{
    char *path = NULL, *config;
    int ret;

    if (find_model(w, &path, e) < 0)
        return -1;
    config = path_join(path, "config.ini");
    ret = settings_load(s, config, NULL, 0, e);
    if (ret == 0)
        ret = adapt(s, w, e);
    if (ret == 0)
        ret = job_open(j, s, JOB_INFER, e);
    if (ret == 0)
        ret = checkpoint_load_weights(path, j, e);
    if (ret == 0)
        log_debug("weights of %s", path);
    free(path);
    free(config);
    return ret;
}
