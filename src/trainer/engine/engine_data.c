#include "config.h"
#include "trainer/engine/engine_data.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "data/shards/lock.h"
#include "kernels/dev.h"
#include "kernels/ops.h"
#include "trainer/model/resolve.h"

/* ---- the tokenizer ---------------------------------------------------- */

static void measure_tokens(struct engine_data *d)
{
    const int64_t n = engine_data_vocab(d);
    const int32_t eot = tokenizer_eot(d->tokenizer);
    AUTO(buf_clear) struct buf text = BUF_INIT;

    d->token_bytes = xcalloc((size_t)n, sizeof *d->token_bytes);
    for (int32_t id = 0; id < n; id++) {
        buf_trim(&text, 0);
        tokenizer_decode(d->tokenizer, &id, 1, &text);
        d->token_bytes[id] = id == eot ? 0 : (int32_t)text.len;
    }
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

static int64_t sequences_before(const void *settings, const struct conf_span *s)
{
    return resolve_sequences_before(settings, resolve_span(settings, s));
}

/* The metrics of a source are in a folder of its name. */
static int check_names(const struct source_list *l, struct err *e)
{
    static const char *const taken[] = { "loss",      "perplexity", "lr",
                                         "grad_norm", "tokens",     "epoch",
                                         "bpb",       "loss_scale" };

    for (size_t i = 0; i < l->n; i++)
        for (size_t k = 0; k < sizeof taken / sizeof *taken; k++)
            if (strcmp(l->part[i].name, taken[k]) == 0)
                return err_usage(e,
                                 "%s is the name of a metric; give the source "
                                 "another one",
                                 taken[k]);
    return 0;
}

/* What only sources that are mixed have. */
static int check_val(const struct source_list *l, struct err *e)
{
    for (size_t i = 0; i < l->n; i++) {
        const struct source_part *p = &l->part[i];

        if (p->share || p->from.n > 0 || p->until.n > 0 || p->epochs)
            return err_usage(e,
                             "%s: each source is validated on by itself; write "
                             "NAME:FILES",
                             p->name);
    }
    return 0;
}

static int check_exhausted(const struct source_list *l,
                           const struct settings *s, struct err *e)
{
    bool ends = s->data.exhausted != EXHAUSTED_STOP;

    for (size_t i = 0; i < l->n; i++)
        ends = ends || l->part[i].epochs > 0;
    return ends ? 0
                : err_usage(e, "data.exhausted = stop requires a source with "
                               "epochs=N");
}

static int open_sources(struct engine_data *d, const char *files,
                        const struct loader_conf *conf,
                        const struct settings *s, struct err *e)
{
    const bool val = files == s->data.val;
    struct mixture **out = val ? &d->val : &d->train;
    const struct mixture_conf c = { .loader = *conf,
                                    .shares = !val,
                                    .stops =
                                        s->data.exhausted == EXHAUSTED_STOP,
                                    .sequences = sequences_before,
                                    .arg = s };
    AUTO(source_list_clear) struct source_list l = { 0 };

    if (source_list_parse(&l, files, e) < 0 || check_names(&l, e) < 0 ||
        (val ? check_val(&l, e) : check_exhausted(&l, s, e)) < 0 ||
        mixture_open(out, &l, &c, e) < 0)
        return -1;
    for (size_t k = 0; k < l.sources; k++)
        if (lock_check(mixture_loader(*out, k), mixture_name(*out, k),
                       d->tokenizer, s->data.tokenizer, &d->chat, e) < 0)
            return -1;
    return 0;
}

static int open_files(struct engine_data *d, const char *files,
                      const struct loader_conf *c, const struct settings *s,
                      struct err *e)
{
    const bool val = files == s->data.val;

    if (c->stride > c->context)
        return conf_fail(&s->conf, val ? "eval.stride" : "data.stride", e,
                         "%lld is more than the %lld tokens of a window",
                         (long long)c->stride, (long long)c->context);
    if (c->vocab && /* else windows are only counted */
        s->model.mask == MASK_DOCUMENT &&
        (!d->tokenizer || tokenizer_eot(d->tokenizer) < 0))
        return conf_fail(&s->conf, "model.mask", e,
                         "the mask document needs an end-of-text token; set "
                         "data.tokenizer to a tokenizer that has one");
    if (open_sources(d, files, c, s, e) < 0)
        return conf_wrap(&s->conf, val ? "data.val" : "data.train", e);
    return 0;
}

int engine_data_open_val(struct engine_data *d, const struct settings *s,
                         struct err *e)
{
    const struct loader_conf c = {
        .context = s->model.context,
        .stride = s->eval.stride,
        .order = s->eval.random ? LOADER_RANDOM : LOADER_SEQUENTIAL,
        .seed = (uint64_t)s->train.seed,
        .vocab = s->model.vocab,
        .whole = d->whole_val && s->eval.stride,
    };

    return *s->data.val ? open_files(d, s->data.val, &c, s, e) : 0;
}

/* ---- the teacher ------------------------------------------------------ */

/* A file of 'gtrain eval --top-logits' is a shard of numbers of 32 bits: the
 * size of the vocabulary and K; for each token but the last, the token and K
 * words (head_fn). */
static int open_teacher(struct engine_data *d, const struct settings *s,
                        struct err *e)
{
    struct shard *f = &d->teacher.shard;
    const int64_t tokens = loader_tokens(mixture_loader(d->train, 0));
    int32_t head[ENGINE_TEACHER_HEADER] = { 0 };
    struct sha256 sum;

    if (shard_open(f, s->train.teacher, sizeof *head, e) < 0)
        return -1;
    f->marked = true; /* all bits count */
    if (f->n > ENGINE_TEACHER_HEADER &&
        shard_copy(f, 0, ENGINE_TEACHER_HEADER, head, NULL, e) < 0)
        return -1;
    if (head[0] != s->model.vocab || head[1] < 1 ||
        head[1] > HEAD_TEACHER_MOST || *mixture_name(d->train, 0) ||
        f->n != ENGINE_TEACHER_HEADER + (tokens - 1) * (1 + head[1]))
        return err_input(e,
                         "%s is not a whole file of 'gtrain eval --top-logits' "
                         "for a vocabulary of %lld ids and the %lld tokens of "
                         "data.train, without sources that have names",
                         s->train.teacher, (long long)s->model.vocab,
                         (long long)tokens);
    sha256_init(&sum);
    if (shard_sample(f, &sum, e) < 0)
        return -1;
    sha256_text(&sum, d->teacher.sum);
    d->teacher.k = head[1];
    d->teacher.vocab = head[0];
    return 0;
}

static bool is_row_of(const struct engine_teacher *t, const int32_t *word,
                      int32_t id)
{
    for (int64_t k = 1; k <= t->k; k++)
        if ((word[k] & (HEAD_IDS - 1)) >= t->vocab)
            return false;
    return word[0] == id;
}

int engine_data_teach(const struct engine_data *d, int64_t first, int64_t n,
                      int64_t T, const int32_t *x, int32_t *words,
                      struct err *e)
{
    const struct engine_teacher *t = &d->teacher;
    struct loader *l = mixture_loader(d->train, 0);
    const int64_t row = 1 + t->k, last = loader_tokens(l) - 1;
    struct token_range p;

    for (int64_t i = 0; i < n * T; i += p.n) {
        int64_t some;

        p = loader_range(l, first + i / T, i % T);
        p.n = p.n < T - i % T ? p.n : T - i % T;
        some = p.n < last - p.at ? p.n : last - p.at;
        if (some > 0 &&
            shard_copy(&t->shard, ENGINE_TEACHER_HEADER + p.at * row,
                       some * row, words + i * row, NULL, e) < 0)
            return -1;
        for (int64_t k = i; k < i + some; k++)
            if (!is_row_of(t, words + k * row, x[k]))
                return err_input(e,
                                 "%s: the row of token %lld is damaged, or of "
                                 "another token than that of data.train",
                                 t->shard.path, (long long)(p.at + k - i));
        if (some < p.n) /* nothing follows the last token */
            words[(i + some) * row] = -1;
    }
    return 0;
}

int engine_data_open_counts(struct engine_data *d, const struct settings *s,
                            struct err *e)
{
    const struct loader_conf c = {
        .context = s->model.context,
        .stride = s->data.stride,
        .order = LOADER_SEQUENTIAL,
    };

    if (open_files(d, s->data.train, &c, s, e) < 0)
        return -1;
    return *s->train.teacher && open_teacher(d, s, e) < 0
               ? conf_wrap(&s->conf, "train.teacher", e)
               : 0;
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

int engine_data_add_tasks(struct tasks *all, const struct settings *s,
                          struct err *e)
{
    const struct eval_settings *v = &s->eval;
    const struct task_conf c = { .list = v->tasks,
                                 .folder = v->tasks_data,
                                 .limit = v->tasks_limit,
                                 .shots = v->tasks_shots };
    int ret;

    if (!*v->tasks || v->tasks_every.n <= 0)
        return 0;
    if (!*s->data.tokenizer)
        return conf_fail(&s->conf, "eval.tasks", e,
                         "questions need a tokenizer; set data.tokenizer");
    ret = tasks_add(all, &c, e);
    for (const struct task *t = all->task; t < all->task + all->n && ret == 0;
         t++)
        if (!t->is[TASK_MEAN] && task_each(t, t->path, 1, NULL, NULL, e) < 0)
            ret = -1;
    return ret < 0 ? conf_wrap(&s->conf, "eval.tasks", e) : 0;
}

int engine_data_open_train(struct engine_data *d, const struct settings *s,
                           struct err *e)
{
    const struct loader_conf c = {
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
    if (!*s->data.train)
        return conf_fail(&s->conf, "data.train", e,
                         "set it to the token files to train on");
    if (c.order >= LOADER_DOCUMENTS && c.eot < 0)
        return conf_fail(&s->conf, "data.order", e,
                         "this order needs an end-of-text token; set "
                         "data.tokenizer to a tokenizer that has one");
    if (c.order >= LOADER_BESTFIT && c.stride)
        return conf_fail(&s->conf, "data.stride", e,
                         "windows of this order begin with a document; leave "
                         "it out");
    if (open_files(d, s->data.train, &c, s, e) < 0)
        return -1;
    if (*s->train.teacher && open_teacher(d, s, e) < 0)
        return conf_wrap(&s->conf, "train.teacher", e);
    if (check_patience(s, e) < 0 || engine_data_add_tasks(&d->tasks, s, e) < 0)
        return -1;
    return engine_data_open_val(d, s, e);
}

int64_t engine_data_steps(const struct engine_data *d, const struct settings *s)
{
    const int64_t length = mixture_length(d->train);
    int64_t low = 0, high = s->is.stop_at;

    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;

        if (resolve_sequences_before(s, middle) <= length)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

void engine_data_close(struct engine_data *d)
{
    mixture_close(d->train);
    mixture_close(d->val);
    shard_close(&d->teacher.shard);
    tokenizer_free(d->tokenizer);
    tasks_clear(&d->tasks);
    chat_template_clear(&d->form);
    FREE(d->token_bytes, d->chat);
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

/* All ids, at the speed of the disk. */
static int scan_files(const struct engine_data *d, struct err *e)
{
    const struct mixture *const all[] = { d->train, d->val };

    for (int i = 0; i < 2; i++)
        for (size_t k = 0; all[i] && k < mixture_sources(all[i]); k++)
            if (loader_scan(mixture_loader(all[i], k), e) < 0)
                return -1;
    return 0;
}

static int check_files(struct engine_check *seen, const struct settings *s,
                       struct err *e)
{
    struct engine_data d = { .tokenizer = seen->data.tokenizer };
    char *files = xasprintf(
        "%s\n%s\n%s\n%s\n%lld\n%lld\n%lld\n%lld\n%d\n%d\n%d", s->data.train,
        s->data.val, s->data.tokenizer, s->train.teacher,
        (long long)s->model.context, (long long)s->model.vocab,
        (long long)s->data.stride, (long long)s->eval.stride,
        (int)s->data.order, (int)s->data.exhausted, s->is.steps > 0);
    int ret = 0;

    if (!seen->files || strcmp(seen->files, files) != 0)
        ret = engine_data_open_train(&d, s, e);
    if (ret == 0 && seen->scans)
        ret = scan_files(&d, e);
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
    FREE(seen->tokenizer, seen->files);
    *seen = (struct engine_check){ 0 };
}
