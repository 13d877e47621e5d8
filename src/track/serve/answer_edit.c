/*
 * answer_edit - change a note, tags or deletion, if the user has allowed it
 */
#include "config.h"
#include "track/serve/site.h"

#include <jansson.h>

#include "store/format/saved_panels.h"
#include "store/write/edit.h"

static int edit_tags(const struct run_info *r, json_t *tags, struct err *e)
{
    const char *key;
    json_t *value;

    if (!json_is_object(tags))
        return err_usage(e, "tags expects an object");
    json_object_foreach(tags, key, value)
    {
        if (!json_is_string(value) && !json_is_null(value))
            return err_usage(e, "the tag %.80s expects a text", key);
        if (run_info_is_own_tag(key))
            return err_usage(e, "the tag %.80s cannot be changed here", key);
        if (edit_tag(r, key, json_string_value(value), e) < 0)
            return -1;
    }
    return 0;
}

/* An empty note is none. */
static int edit_note(const struct run_info *r, json_t *note, struct err *e)
{
    const char *text = json_string_value(note);

    if (!text)
        return err_usage(e, "note expects a text");
    return edit_tag(r, "mlflow.note.content", *text ? text : NULL, e);
}

static int edit_archive(const struct run_info *r, json_t *archive,
                        struct err *e)
{
    if (!json_is_boolean(archive))
        return err_usage(e, "archive expects true or false");
    return json_is_true(archive) ? edit_delete(r, e) : edit_restore(r, e);
}

/* {"name": "night", "text": "loss,train/lr"}, for the whole store. */
static int edit_panels(struct site *s, struct query *q, json_t *panels,
                       struct err *e)
{
    const struct live *l = site_store(s, q, e);
    const char *name = json_string_value(json_object_get(panels, "name"));
    const char *text = json_string_value(json_object_get(panels, "text"));

    if (!l)
        return -1;
    if (!name || !*name || !text)
        return err_usage(e, "panels expects a name and a text");
    return saved_panels_put(l->path, name, text, e);
}

static int edit_run(struct site *s, struct query *q, json_t *change,
                    struct err *e)
{
    static const struct {
        const char *key;
        int (*edit)(const struct run_info *, json_t *, struct err *);
    } parts[] = {
        { "note", edit_note },
        { "tags", edit_tags },
        { "archive", edit_archive },
    };
    const char *id = json_string_value(json_object_get(change, "id"));
    const struct run_info *r;

    if (!id)
        return err_usage(e, "id expects the id of a run");
    r = site_run_of(s, q, id, e);
    if (!r)
        return -1;
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        json_t *value = json_object_get(change, parts[i].key);

        if (value && parts[i].edit(r, value, e) < 0)
            return -1;
    }
    return 0;
}

int answer_edit(struct site *s, struct query *q, struct answer *a,
                struct err *e)
{
    json_auto_t *change = NULL;

    if (!s->edit) {
        a->status = 403;
        return err_usage(e,
                         "the page can change nothing; start gtrack serve with "
                         "--edit");
    }
    change = json_loads(q->body, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(change))
        return err_usage(e, "the body of the request is no JSON");
    return json_object_get(change, "panels")
               ? edit_panels(s, q, json_object_get(change, "panels"), e)
               : edit_run(s, q, change, e);
}
