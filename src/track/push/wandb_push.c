#include "config.h"
#include "track/push/wandb_push.h"

#include <stdlib.h>
#include <string.h>

int wandb_push_save_cursor(struct wandb_push *p, struct err *e)
{
    json_object_set_new(p->cursor, "run_id", json_string(p->w.run));
    json_object_set_new(p->cursor, "entity", json_string(p->w.entity));
    json_object_set_new(p->cursor, "project", json_string(p->w.project));
    if (p->w.storage_id)
        json_object_set_new(p->cursor, "storage_id",
                            json_string(p->w.storage_id));
    return push_cursor_save(p->run, p->destination, p->cursor, e);
}

int wandb_push_stream(struct wandb_push *p, json_t *request, struct err *e)
{
    char *body;
    int ret;

    if (json_array_size(p->uploaded))
        json_object_set(request, "uploaded", p->uploaded);
    body = json_dumps(request, JSON_COMPACT);
    ret = wandb_stream(&p->w, body, e);
    if (ret == 0)
        p->totals->bytes += (int64_t)strlen(body);
    json_array_clear(p->uploaded);
    json_decref(request);
    free(body);
    return ret;
}
