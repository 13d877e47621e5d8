#include "config.h"
#include "trainer/trained_model.h"

#include <stdlib.h>

#include "common/log.h"
#include "common/path.h"
#include "trainer/training/checkpoint_files.h"
#include "trainer/training/checkpoint_find.h"

static int find_model(const struct trained_model_conf *c, char **path,
                      struct err *e)
{
    struct settings s = { 0 };
    int ret = settings_load(&s, NULL, NULL, 0, e);

    if (ret == 0 && c->root)
        ret = conf_put(&s.conf, "run.root", c->root, "--root", e);
    if (ret == 0)
        ret = checkpoint_find(&s, c->word, path, e);
    if (ret == 0 && !*path)
        ret = err_set(e, ERR_MISSING, "no run in %s has a checkpoint",
                      s.run.root);
    settings_clear(&s);
    return ret;
}

static int override_settings(struct settings *s,
                             const struct trained_model_conf *c, struct err *e)
{
    static const char where[] = "--micro-batch";
    const int64_t n = c->micro_batch;

    if (n != 0 &&
        (conf_put_int(&s->conf, "train.micro_batch", n, where, e) < 0 ||
         conf_put_int(&s->conf, "train.batch", n, where, e) < 0 ||
         conf_put_int(&s->conf, "train.tokens_per_step", 0, where, e) < 0))
        return -1;
    for (size_t i = 0; i < c->sets->n; i++)
        if (conf_set(&s->conf, c->sets->item[i], e) < 0)
            return -1;
    return conf_put(&s->conf, "train.device", c->device ? c->device : "auto",
                    "--device", e);
}

int trained_model_open(const struct trained_model_conf *c, struct settings *s,
                       struct job *j, struct err *e)
{
    char *path = NULL, *config;
    int ret;

    if (find_model(c, &path, e) < 0)
        return -1;
    config = path_join(path, "config.ini");
    ret = settings_load(s, config, NULL, 0, e);
    if (ret == 0)
        ret = override_settings(s, c, e);
    if (ret == 0)
        ret = job_open(j, s, JOB_INFER, e);
    if (ret == 0)
        ret = checkpoint_load_weights(path, j, e);
    if (ret == 0)
        log_debug("loaded the weights of %s", path);
    free(path);
    free(config);
    return ret;
}
