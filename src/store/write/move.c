#include "config.h"
#include "store/write/move.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/path.h"
#include "store/format/meta.h"
#include "store/format/store.h"

/* A folder of their own: that of the names has a file for each run. */
static const char MOVES[] = "moves";

void move_begin(struct move *m, const char *root, const char *id)
{
    char *name = path_join(MOVES, id);

    m->mark = store_names_file(root, name, ERR_IGNORED);
    m->fd =
        m->mark
            ? open(m->mark,
                   O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666)
            : -1;
    free(name);
    if (m->fd >= 0)
        flock(m->fd, LOCK_EX);
}

void move_end(struct move *m)
{
    if (m->fd >= 0) {
        unlink(m->mark);
        close(m->fd);
    }
    free(m->mark);
}

/* Wherever the run is now. */
static void place_run(const char *root, const char *id)
{
    struct experiments all = { 0 };

    if (experiments_load(&all, root, PATH_NO_LINKS, ERR_IGNORED) == 0)
        for (size_t i = 0; i < all.n; i++) {
            char *run = path_join(all.item[i].folder, id);

            if (path_exists(run) && !path_is_link(run))
                meta_change(run, NULL, NULL, ERR_IGNORED);
            free(run);
        }
    experiments_free(&all);
}

void move_finish(const char *root)
{
    char *parent = path_join(root, STORE_NAMES);
    char *folder = path_join(parent, MOVES);
    struct path_list names = { 0 };

    if (!path_is_link(parent) && !path_is_link(folder))
        path_list(&names, folder, ERR_IGNORED);
    for (size_t i = 0; i < names.n; i++) {
        const char *id = names.name[i];
        struct move m;

        if (!store_is_id(id))
            continue;
        m.mark = path_join(folder, id);
        m.fd = open(m.mark, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (m.fd >= 0 && flock(m.fd, LOCK_EX | LOCK_NB) == 0) {
            place_run(root, id);
            move_end(&m);
            continue;
        }
        if (m.fd >= 0)
            close(m.fd);
        free(m.mark);
    }
    path_list_clear(&names);
    free(folder);
    free(parent);
}
