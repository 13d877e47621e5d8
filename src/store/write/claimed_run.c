#include "config.h"
#include "store/write/claimed_run.h"

#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/save.h"
#include "store/format/store.h"

static int create_file(const char *path, struct err *e)
{
    char line[34];

    store_new_id(line);
    memcpy(line + 32, "\n", 2);
    return save_create(path, line, e);
}

int claimed_run_id(const char *path, bool create, char **id, struct err *e)
{
    struct buf text = BUF_INIT;
    struct err why = { 0 };
    int ret = -1;

    /* where there are no links, the file of another process is empty for a
     * moment */
    for (int tries = 0; tries < 100; tries++) {
        ret = buf_read_unlinked(&text, path, 256, &why);
        if (ret < 0 && why.kind == ERR_MISSING && create) {
            why = (struct err){ 0 };
            ret = create_file(path, &why);
        }
        if (ret < 0)
            break;
        buf_trim(&text, strcspn(text.s, "\n"));
        if (store_is_id(text.s)) {
            *id = buf_detach(&text);
            return 0;
        }
        if (text.len)
            clock_pause(0.02);
    }
    buf_clear(&text);
    if (ret == 0)
        return err_set(e, ERR_INPUT, "%s does not hold the id of a run", path);
    *e = why;
    return -1;
}

int claimed_run_begin(struct run **run, const struct run_conf *c,
                      const char *id, bool *made, struct err *e)
{
    struct run_conf old = *c, fresh = *c;
    struct err why = { 0 };

    *made = false;
    old.resume = id;
    fresh.resume = NULL;
    fresh.id = id;
    if (run_begin(run, &old, e) == 0)
        return 0;
    if (e->kind != ERR_MISSING)
        return -1;
    *e = (struct err){ 0 };
    *made = run_begin(run, &fresh, &why) == 0;
    if (*made || run_begin(run, &old, e) == 0) /* another process made it */
        return 0;
    if (e->kind == ERR_MISSING)
        *e = why;
    return -1;
}
