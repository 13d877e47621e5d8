#include "config.h"
#include "trainer/engine/engine_data.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/path.h"
#include "data/shards/lock.h"
#include "kernels/dev.h"
#include "trainer/model/resolve.h"

/* ---- the tokenizer ---------------------------------------------------- */

static void measure_tokens(struct engine_data *d)
{
    const int64_t n = engine_data_vocab(d);
    const int32_t eot = tokenizer_eot(d->tokenizer);
    struct buf text = BUF_INIT;

    d->token_bytes = xcalloc((size_t)n, sizeof *d->token_bytes);
    for (int32_t id = 0; id < n; id++) {
        buf_trim(&text, 0);
        tokenizer_decode(d->tokenizer, &id, 1, &text);
        d->token_bytes[id] = id == eot ? 0 : (int32_t)text.len;
    }
    buf_clear(&text);
}

int engine_data_open_tokenizer(struct engine_data *d, const struct settings *s,
                               struct err *e)
{
    if (!*s->data.tokenizer)
        return 0;
    if (tokenizer_load(&d->tokenizer, s->data.tokenizer, e) < 0)
        return conf_wrap(&s->conf, "data.tokenizer", e);
    measure_tokens(d);
    return 0;
}

int64_t engine_data_vocab(const struct engine_data *d)
{
    return d->tokenizer ? tokenizer_vocab(d->tokenizer) : 0;
}

/* ---- token files ------------------------------------------------------ */

static int open_loader(struct engine_data *d, struct loader **out,
                       const struct loader_conf *c, const struct settings *s,
                       struct err *e)
{
    const bool val = out == &d->val;
    const char *key = val ? "data.val" : "data.train";

    if (c->stride > c->context)
        return conf_fail(&s->conf, val ? "eval.stride" : "data.stride", e,
                         "%lld is more than the %lld tokens of a window",
                         (long long)c->stride, (long long)c->context);
    if (loader_open(out, c, e) < 0 ||
        lock_check(*out, d->tokenizer, s->data.tokenizer, e) < 0)
        return conf_wrap(&s->conf, key, e);
    return 0;
}

int engine_data_open_val(struct engine_data *d, const struct settings *s,
                         struct err *e)
{
    const struct loader_conf c = {
        .files = s->data.val,
        .context = s->model.context,
        .stride = s->eval.stride,
        .order = s->eval.random ? LOADER_RANDOM : LOADER_SEQUENTIAL,
        .seed = (uint64_t)s->train.seed,
        .vocab = s->model.vocab,
        .whole = d->whole_val && s->eval.stride,
    };

    return *c.files ? open_loader(d, &d->val, &c, s, e) : 0;
}

static int check_patience(const struct settings *s, struct err *e)
{
    if (s->eval.patience > 0 && (!*s->data.val || s->eval.every.n <= 0))
        return conf_fail(&s->conf, "eval.patience", e,
                         "early stopping needs validation, but %s",
                         *s->data.val ? "eval.every is 0"
                                      : "data.val is not set");
    return 0;
}

static int check_hellaswag(const struct settings *s, struct err *e)
{
    const char *path = s->eval.hellaswag;

    if (!*path || s->eval.hellaswag_every.n <= 0)
        return 0;
    if (!*s->data.tokenizer)
        return conf_fail(&s->conf, "eval.hellaswag", e,
                         "questions need a tokenizer; set data.tokenizer");
    if (path_exists(path))
        return 0;
    err_set(e, ERR_MISSING, "%s not found", path);
    return conf_wrap(&s->conf, "eval.hellaswag", e);
}

int engine_data_open_train(struct engine_data *d, const struct settings *s,
                           struct err *e)
{
    const struct loader_conf c = {
        .files = s->data.train,
        .context = s->model.context,
        .stride = s->data.stride,
        .order = s->data.order,
        .seed = (uint64_t)s->train.seed,
        .vocab = s->model.vocab,
        .eot = d->tokenizer ? tokenizer_eot(d->tokenizer) : -1,
    };

    if (s->is.steps == 0)
        return conf_fail(&s->conf, "schedule.steps", e,
                         "set it, or schedule.tokens or schedule.chinchilla");
    if (!*c.files)
        return conf_fail(&s->conf, "data.train", e,
                         "set it to the token files to train on");
    if (c.order >= LOADER_DOCUMENTS && c.eot < 0)
        return conf_fail(&s->conf, "data.order", e,
                         "the order %s needs an end-of-text token; set "
                         "data.tokenizer to a tokenizer that has one",
                         c.order == LOADER_BESTFIT ? "bestfit" : "documents");
    if (c.order == LOADER_BESTFIT && c.stride)
        return conf_fail(&s->conf, "data.stride", e,
                         "windows of the order bestfit begin with a document; "
                         "leave it out");
    if (open_loader(d, &d->train, &c, s, e) < 0)
        return -1;
    if (check_patience(s, e) < 0 || check_hellaswag(s, e) < 0)
        return -1;
    return engine_data_open_val(d, s, e);
}

void engine_data_close(struct engine_data *d)
{
    loader_close(d->train);
    loader_close(d->val);
    tokenizer_free(d->tokenizer);
    free(d->token_bytes);
    *d = (struct engine_data){ 0 };
}

/* ---- a check without an engine ----------------------------------------- */

static int check_tokenizer(struct engine_check *seen, const struct settings *s,
                           struct err *e)
{
    if (seen->tokenizer && strcmp(seen->tokenizer, s->data.tokenizer) == 0)
        return 0;
    engine_data_close(&seen->data);
    free(seen->tokenizer);
    seen->tokenizer = NULL;
    if (engine_data_open_tokenizer(&seen->data, s, e) < 0)
        return -1;
    seen->tokenizer = xstrdup(s->data.tokenizer);
    return 0;
}

static int check_files(struct engine_check *seen, const struct settings *s,
                       struct err *e)
{
    struct engine_data d = { .tokenizer = seen->data.tokenizer };
    char *files = xasprintf(
        "%s\n%s\n%s\n%lld\n%lld\n%lld\n%lld\n%d\n%d", s->data.train,
        s->data.val, s->data.tokenizer, (long long)s->model.context,
        (long long)s->model.vocab, (long long)s->data.stride,
        (long long)s->eval.stride, (int)s->data.order, s->is.steps > 0);
    int ret = 0;

    if (!seen->files || strcmp(seen->files, files) != 0)
        ret = engine_data_open_train(&d, s, e);
    d.tokenizer = NULL; /* borrowed */
    engine_data_close(&d);
    free(seen->files);
    seen->files = files;
    return ret;
}

int engine_check(struct engine_check *seen, struct settings *s, int ranks,
                 struct err *e)
{
    if (dev_known(s->train.device, e) < 0)
        return conf_wrap(&s->conf, "train.device", e);
    if (check_tokenizer(seen, s, e) < 0 ||
        resolve_settings(s, engine_data_vocab(&seen->data), ranks, e) < 0)
        return -1;
    return check_files(seen, s, e);
}

void engine_check_clear(struct engine_check *seen)
{
    engine_data_close(&seen->data);
    free(seen->tokenizer);
    free(seen->files);
    *seen = (struct engine_check){ 0 };
}
