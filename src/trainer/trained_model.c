#include "config.h"
#include "trainer/trained_model.h"

#include <string.h>

#include "common/confine.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "trainer/checkpoint/checkpoint_files.h"
#include "trainer/checkpoint/checkpoint_find.h"
#include "trainer/checkpoint/checkpoint_state.h"

const char *const trained_model_weights[] = { "full", "int8", "int4", NULL };
const int trained_model_bits[] = { 0, 8, 4 };

char *trained_model_store(const struct trained_model *m)
{
    AUTO(settings_clear) struct settings s = { 0 };
    char *root = NULL;

    if (m->root)
        return xstrdup(m->root);
    if (settings_load(&s, NULL, NULL, 0, ERR_IGNORED) == 0)
        root = xstrdup(s.run.root);
    return root;
}

/* Drivers of GPUs write to devices and caches of their own. */
static bool may_use_gpu(const struct trained_model *m)
{
    return m->device && strcmp(m->device, "auto") != 0
               ? strncmp(m->device, "cuda", 4) == 0
               : path_exists("/dev/nvidiactl") || path_exists("/dev/dxg");
}

void trained_model_confine(const struct trained_model *m, const char *folder)
{
    struct launch l;

    if (!may_use_gpu(m) && launch_detect(&l, LAUNCHER_AUTO, ERR_IGNORED) == 0 &&
        l.kind != LAUNCH_MPI)
        confine(&folder, 1, l.kind != LAUNCH_ALONE);
    else
        log_debug("drivers of GPUs and MPI need all the rights of this "
                  "command");
}

static int find_model(const struct trained_model *m, const char *word,
                      char **path, struct err *e)
{
    AUTO(settings_clear) struct settings s = { 0 };

    if (settings_load(&s, NULL, NULL, 0, e) < 0 ||
        (m->root && conf_put(&s.conf, "run.root", m->root, "--root", e) < 0) ||
        checkpoint_find(&s, word, path, e) < 0)
        return -1;
    return *path ? 0
                 : err_set(e, ERR_MISSING, "no run in %s has a checkpoint",
                           s.run.root);
}

static int override_settings(struct settings *s, const struct trained_model *m,
                             struct err *e)
{
    static const char where[] = "--micro-batch";
    const int64_t n = m->micro_batch;

    if (n != 0 &&
        (conf_put_int(&s->conf, "train.micro_batch", n, where, e) < 0 ||
         conf_put_int(&s->conf, "train.batch", n, where, e) < 0 ||
         conf_put_int(&s->conf, "train.tokens_per_step", 0, where, e) < 0))
        return -1;
    for (size_t i = 0; i < m->sets.n; i++)
        if (conf_set(&s->conf, m->sets.item[i], e) < 0)
            return -1;
    return conf_put(&s->conf, "train.device", m->device ? m->device : "auto",
                    "--device", e);
}

int trained_model_chat(const struct trained_model *m, struct engine *eng,
                       struct err *e)
{
    struct engine_data *d = &eng->data;
    const char *name = m->chat;

    if (!d->tokenizer)
        return name ? err_usage(e, "--chat needs data.tokenizer") : 0;
    if (!name && checkpoint_text(m->path, "chat", &d->chat, e) < 0)
        return -1;
    name = name ? name : d->chat;
    if (!*name && !m->chat)
        chat_template_find(&d->form, d->tokenizer);
    else if (*name && chat_template_open(&d->form, d->tokenizer, name, e) < 0)
        return m->chat ? -1 : err_wrap(e, "%s/state.json", m->path);
    return 0;
}

int trained_model_run(struct trained_model *m, int argc, char **argv,
                      trained_model_fn *use, struct err *e)
{
    AUTO(settings_clear) struct settings s = { 0 };
    AUTO_FREE char *path = NULL;
    AUTO(engine_close) struct engine eng = { 0 };
    int ret;

    if (argc > 1)
        return err_usage(e, "unexpected argument '%s'", argv[1]);
    if (find_model(m, argc > 0 ? argv[0] : NULL, &path, e) < 0)
        return -1;
    ret = checkpoint_settings(&s, path, e);
    if (ret == 0)
        settings_finish(&s);
    if (ret == 0)
        ret = override_settings(&s, m, e);
    eng.weights = (struct engine_weights){ path, checkpoint_fits };
    if (ret == 0)
        ret = engine_open(&eng, &s, ENGINE_INFER, e);
    if (ret == 0)
        ret = checkpoint_load_weights(path, &eng, 0, e);
    if (ret == 0) {
        log_debug("loaded the weights of %s", path);
        m->path = path;
        ret = use(&eng, e);
    }
    m->path = NULL;
    free(m->sets.item);
    return ret;
}
