/*
 * report_params - what the run records of the job when it begins
 */
#include "config.h"
#include "trainer/training/report.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/utf8.h"

static void store_settings(struct run *run, const struct settings *s)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;

    for (const struct setting *row = settings_table; row->key; row++) {
        /* where training stops is no property of the run, which may resume */
        if ((strncmp(row->key, "run.", 4) == 0 &&
             strcmp(row->key, "run.log_every") != 0) ||
            strcmp(row->key, "train.stop_at") == 0)
            continue;
        buf_trim(&text, 0);
        conf_text(&s->conf, row, &text);
        run_param(run, row->key, text.s);
    }
}

/* What follows from the settings, and how this machine computes: both may be
 * different when the run is resumed. */
static void store_derived(struct run *run, struct engine *eng)
{
    const struct settings *s = eng->set;
    char text[256];

    run_paramf(run, "derived.parameters", "%lld", (long long)s->is.parameters);
    if (s->train.max_time <= 0) /* otherwise, see report_close() */
        run_paramf(run, "derived.steps", "%lld", (long long)s->is.steps);
    run_paramf(run, "derived.warmup", "%lld", (long long)s->is.warmup);
    run_paramf(run, "derived.tokens_per_step", "%lld",
               (long long)s->is.tokens_per_step);
    run_paramf(run, "derived.flops_per_token", "%.0f",
               gpt_flops_per_token(&eng->gpt));
    run_paramf(run, "derived.ranks", "%d", eng->coll.size);
    run_paramf(run, "derived.device", "%s", eng->dev.type->name);
    run_paramf(run, "derived.threads", "%d", eng->dev.threads);
    run_param(run, "derived.instructions",
              engine_instructions(eng, text, sizeof text));
    run_param(run, "derived.build", engine_build(text, sizeof text));
    run_param(run, "derived.libraries", engine_libraries(text, sizeof text));
}

static void store_memory(struct run *run, const struct engine *eng)
{
    for (int i = 0; i < DEV_MODEL_USES; i++) {
        char key[64];

        snprintf(key, sizeof key, "derived.bytes.%s", dev_use_names[i]);
        run_paramf(run, key, "%lld", (long long)eng->memory[i]);
    }
}

/* The text of an object, which it frees. */
static char *dump_json(json_t *o)
{
    char *text = json_dumps(o, 0);

    json_decref(o);
    return text;
}

static void store_source(struct run *run, const struct loader *data,
                         const struct source_part *p, const char *context)
{
    const char *files = p->files;
    AUTO_FREE char *digest = xstrndup(loader_hash(data), 32);
    AUTO_FREE char *profile = dump_json(
        json_pack("{s:I, s:I}", "tokens", (json_int_t)loader_tokens(data),
                  "shards", (json_int_t)loader_shards(data)));
    AUTO(buf_clear) struct buf uri = BUF_INIT;
    AUTO_FREE char *source = NULL;
    struct run_dataset d = {
        .name = *p->name ? p->name : path_name(files),
        .digest = digest,
        .source_type = "local",
        .profile = profile,
        .context = context,
    };
    struct err e = { 0 };

    utf8_clean(&uri, files, strlen(files));
    d.source = source = dump_json(json_pack("{s:s}", "uri", uri.s));
    if (run_dataset(run, &d, &e) < 0)
        log_warn("%s", e.text);
}

/* A dataset for each source, and the hash of all. */
static void store_sources(struct run *run, const struct mixture *data,
                          const char *files, const char *key,
                          const char *context)
{
    AUTO(source_list_clear) struct source_list l = { 0 };

    run_param(run, key, mixture_hash(data));
    if (source_list_parse(&l, files, ERR_IGNORED) < 0)
        return;
    for (size_t k = 0; k < l.sources; k++)
        store_source(run, mixture_loader(data, k), source_list_first(&l, k),
                     context);
}

static void store_task(struct run *run, const struct task *t)
{
    const char *const file[][2] = {
        { "file", t->path },
        { "shots_file", t->shots > 0 ? t->shots_path : NULL },
        { "ini", t->ini },
    };

    for (size_t i = 0; i < sizeof file / sizeof file[0]; i++) {
        AUTO_FREE char *key =
            xasprintf("derived.task.%s.%s", t->name, file[i][0]);

        if (file[i][1])
            run_param(run, key, file[i][1]);
    }
    for (size_t i = 0; t->base[i]; i++) {
        AUTO_FREE char *key =
            xasprintf("derived.task.%s.extends.%zu", t->name, i + 1);

        run_param(run, key, t->base[i]);
    }
}

static void store_data(struct run *run, const struct engine *eng)
{
    const struct data_settings *s = &eng->set->data;
    const struct engine_data *d = &eng->data;

    if (d->train) {
        int64_t cut = 0;

        for (size_t k = 0; k < mixture_sources(d->train); k++)
            cut += loader_cut(mixture_loader(d->train, k));
        if (cut)
            run_paramf(run, "derived.data.cut", "%lld", (long long)cut);
        store_sources(run, d->train, s->train, "derived.data.train",
                      "training");
    }
    if (d->teacher.k)
        run_param(run, "derived.teacher", d->teacher.sum);
    if (d->val)
        store_sources(run, d->val, s->val, "derived.data.val", "validation");
    for (size_t i = 0; i < d->tasks.n; i++)
        store_task(run, &d->tasks.task[i]);
    if (d->tokenizer)
        run_paramf(run, "derived.tokenizer", "%s",
                   tokenizer_hash(d->tokenizer));
}

/* "name=value, name=value" */
static void store_tags(struct run *run, const char *tags)
{
    while (*tags) {
        const size_t len = strcspn(tags, ","), key = strcspn(tags, "=,");
        const char *value = tags + key + 1;
        AUTO_FREE char *name = xstrndup(tags, key);
        AUTO_FREE char *text =
            key < len ? xstrndup(value, len - key - 1) : xstrdup("");

        if (*name)
            run_tag(run, name, text);
        tags += len;
        tags += strspn(tags, ", ");
    }
}

void report_params(struct run *run, struct engine *eng, bool resumed)
{
    const struct settings *s = eng->set;

    store_settings(run, s);
    store_derived(run, eng);
    if (!resumed)
        store_memory(run, eng);
    store_data(run, eng);
    if (*s->run.note)
        run_tag(run, "note", s->run.note);
    store_tags(run, s->run.tags);
}
