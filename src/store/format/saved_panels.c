#include "config.h"
#include "store/format/saved_panels.h"

#include "common/buf.h"
#include "common/path.h"
#include "common/save.h"

json_t *saved_panels_load(const char *root, struct err *e)
{
    AUTO_FREE char *path = path_join(root, "panels.json");
    AUTO(buf_clear) struct buf text = BUF_INIT;
    json_t *all = NULL;

    if (buf_read_unlinked(&text, path, 1 << 20, e) == 0)
        all = json_loads(text.s, JSON_REJECT_DUPLICATES, NULL);
    else if (e->kind == ERR_MISSING)
        all = json_object();
    if (json_is_object(all)) {
        *e = (struct err){ 0 };
    } else {
        if (!e->kind)
            err_input(e, "%s is no JSON object", path);
        json_decref(all);
        all = NULL;
    }
    return all;
}

int saved_panels_put(const char *root, const char *name, const char *panels,
                     struct err *e)
{
    AUTO_FREE char *path = path_join(root, "panels.json"), *text = NULL;
    json_auto_t *all = saved_panels_load(root, e);
    int ret = -1;

    if (all && *panels)
        json_object_set_new(all, name, json_string(panels));
    else if (all)
        json_object_del(all, name);
    if (all)
        text = json_dumps(all, JSON_INDENT(1) | JSON_SORT_KEYS);
    if (text)
        ret = save_text(path, text, e);
    return ret;
}
