/*
 * wandb_run - the description of a run that W&B expects
 */
#include "config.h"
#include "track/push/wandb_push.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "store/format/attempt.h"
#include "track/push/push.h"

/* "model.n_layer" becomes {"model": {"n_layer": ...}}, unless a part of it is
 * a value already. */
static void add_nested(json_t *top, const char *key, json_t *value)
{
    const char *dot = strchr(key, '.');
    json_t *inner;
    char *head;

    if (!dot || dot == key || !dot[1]) {
        if (json_object_get(top, key))
            json_decref(value);
        else
            json_object_set_new(top, key, value);
        return;
    }
    head = xstrndup(key, (size_t)(dot - key));
    inner = json_object_get(top, head);
    if (!inner) {
        inner = json_object();
        json_object_set_new(top, head, inner);
    }
    if (json_is_object(inner))
        add_nested(inner, dot + 1, value);
    else
        json_object_set_new(top, key, value);
    free(head);
}

json_t *wandb_config(const struct run_info *r)
{
    json_t *plain = json_object(), *config = json_object(), *value;
    const char *key;

    for (size_t i = 0; i < r->n_params; i++)
        add_nested(plain, r->params[i].key, push_value(r->params[i].value));
    json_object_foreach(plain, key, value)
        json_object_set_new(config, key, json_pack("{s:O}", "value", value));
    /* W&B treats a run without "t" as one that never started */
    json_object_set_new(config, "_wandb",
                        json_pack("{s:{s:{s:s, s:s}, s:[]}}", "value", "t", "5",
                                  "gtrack-" PACKAGE_VERSION, "13",
                                  "linux-x86_64", "m"));
    json_decref(plain);
    return config;
}

const char *wandb_tag(const struct run_info *r, const char *key)
{
    const char *s = run_info_tag(r, key);

    return s && *s ? s : NULL;
}

/* Does the tag say what the store, not the user, keeps of the run? */
static bool is_own_tag(const char *key)
{
    static const char *const own[] = { "gtrack.", "mlflow.", "wandb." };

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strncmp(key, own[i], strlen(own[i])) == 0)
            return true;
    return false;
}

json_t *wandb_tags(const struct run_info *r)
{
    json_t *tags = json_null();

    for (size_t i = 0; i < r->n_tags; i++) {
        const char *key = r->tags[i].key, *value = r->tags[i].value;
        char *text;

        if (is_own_tag(key))
            continue;
        text = *value ? xasprintf("%s=%s", key, value) : xstrdup(key);
        if (json_is_null(tags))
            tags = json_array();
        json_array_append_new(tags, push_text(text));
        free(text);
    }
    return tags;
}

char *wandb_metadata(const struct run_info *r)
{
    const struct attempt *a = r->attempt;
    json_t *o = json_pack(
        "{s:s, s:s, s:o, s:o, s:o}", "os", "Linux", "executable", "gtrack",
        "program", push_text(wandb_tag(r, "mlflow.source.name")), "host",
        push_text(a ? a->host : NULL), "username", push_text(r->user));
    const char *commit = wandb_tag(r, "mlflow.source.git.commit");
    char *text;

    if (a && a->cpus > 0)
        json_object_set_new(o, "cpu_count", json_integer(a->cpus));
    if (a && a->gpus > 0)
        json_object_set_new(o, "gpu_count", json_integer(a->gpus));
    if (a && a->job)
        json_object_set_new(o, "slurm",
                            json_pack("{s:o}", "job_id", push_text(a->job)));
    if (commit)
        json_object_set_new(
            o, "git",
            json_pack("{s:o, s:o}", "commit", push_text(commit), "remote",
                      push_text(wandb_tag(r, "mlflow.source.git.repoURL"))));
    text = json_dumps(o, JSON_INDENT(2) | JSON_SORT_KEYS);
    json_decref(o);
    return text;
}

int wandb_exit_code(const struct run_info *r)
{
    const char *said = wandb_tag(r, "gtrack.exit_status");
    int64_t code;

    switch (r->status) {
    case RUN_FINISHED:
        return 0;
    case RUN_KILLED:
    case RUN_STOPPED:
        return 255;
    default:
        return said && num_int(said, &code) && code ? (int)code : 1;
    }
}
