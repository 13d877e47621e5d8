#include "config.h"
#include "trainer/engine/engine_check.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "kernels/dev.h"
#include "trainer/model/resolve.h"

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
