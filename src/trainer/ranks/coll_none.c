/*
 * coll_none - a job of one process, which has nothing to exchange
 */
#include "config.h"
#include "trainer/ranks/coll.h"

static int none_open(struct coll *c, const struct coll_conf *conf,
                     struct err *e)
{
    (void)c;
    (void)conf;
    (void)e;
    return 0;
}

static void none_close(struct coll *c)
{
    (void)c;
}

const struct coll_type coll_none = {
    .name = "none",
    .open = none_open,
    .close = none_close,
};
