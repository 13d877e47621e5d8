#include "config.h"
#include "store/write/handed_run.h"

#include <pthread.h>
#include <stdlib.h>

#include "common/mem.h"

bool handed_run_take(struct run_conf *c)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char *id, *root;
    bool taken = false;

    if (c->resume || c->id || c->parent)
        return false;
    pthread_mutex_lock(&lock);
    if (!id && getenv("GTRACK_RESUME")) {
        const char *store = getenv("GTRACK_ROOT");

        id = xstrdup(getenv("GTRACK_RESUME"));
        root = store ? xstrdup(store) : NULL;
        unsetenv("GTRACK_RESUME");
        taken = true;
    }
    pthread_mutex_unlock(&lock);
    if (!taken)
        return false;
    c->resume = id;
    if (root)
        c->root = root;
    return true;
}
