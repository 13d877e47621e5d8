#include "config.h"
#include "track/serve/changes.h"

#include <dirent.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/path.h"

enum {
    FOLDER_EVENTS = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                    IN_ONLYDIR | IN_DONT_FOLLOW,
    FILE_EVENTS = FOLDER_EVENTS | IN_MODIFY | IN_CLOSE_WRITE,
    DEEPEST = 8, /* folders of metrics, as in system/gpu/0 */
};

/* File systems on which other machines may write. */
static bool is_shared(const char *root)
{
    static const unsigned long types[] = {
        0x6969,                             /* NFS */
        0x517B,     0xFF534D42, 0xFE534D42, /* SMB */
        0x65735546,                         /* FUSE */
        0x0BD00BD0,                         /* Lustre */
        0x47504653,                         /* GPFS */
        0x19830326,                         /* BeeGFS */
        0x00C36400,                         /* Ceph */
        0x01021997,                         /* 9P */
    };
    struct statfs fs;

    if (statfs(root, &fs) < 0)
        return false;
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (((unsigned long)fs.f_type & 0xFFFFFFFF) == types[i])
            return true;
    return false;
}

void changes_open(struct changes *c, const char *root)
{
    c->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    c->seen = c->fd >= 0 && !is_shared(root);
}

static void watch_folder(struct changes *c, const char *path, int events)
{
    if (c->fd >= 0 && inotify_add_watch(c->fd, path, (uint32_t)events) < 0 &&
        path_is_folder(path))
        c->seen = false;
}

static void watch_tree(struct changes *c, const char *path, int depth)
{
    DIR *dir = depth < DEEPEST ? opendir(path) : NULL;
    const struct dirent *d;

    watch_folder(c, path, FILE_EVENTS);
    while (dir && (d = readdir(dir))) {
        if ((d->d_type == DT_DIR || d->d_type == DT_UNKNOWN) &&
            d->d_name[0] != '.') {
            char *below = path_join(path, d->d_name);

            if (path_is_folder(below) && !path_is_link(below))
                watch_tree(c, below, depth + 1);
            free(below);
        }
    }
    if (dir)
        closedir(dir);
}

void changes_watch_root(struct changes *c, const char *root)
{
    struct path_list names;
    struct err ignored = ERR_INIT;

    watch_folder(c, root, FOLDER_EVENTS | IN_MOVE_SELF | IN_DELETE_SELF);
    if (path_list(&names, root, &ignored) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        char *path = path_join(root, names.name[i]);

        if (path_is_folder(path))
            watch_folder(c, path, FOLDER_EVENTS);
        free(path);
    }
    path_list_clear(&names);
}

void changes_watch_run(struct changes *c, const struct run_info *r)
{
    char *tags = path_join(r->folder, "tags");

    watch_folder(c, r->folder, FOLDER_EVENTS);
    watch_folder(c, tags, FILE_EVENTS);
    if (r->status == RUN_RUNNING || r->status == RUN_SCHEDULED) {
        char *metrics = path_join(r->folder, "metrics");
        char *state = path_join(r->folder, ".gtrack");

        watch_tree(c, metrics, 0);
        watch_folder(c, state, FOLDER_EVENTS);
        free(metrics);
        free(state);
    }
    free(tags);
}

bool changes_take(struct changes *c)
{
    _Alignas(struct inotify_event) char events[4096];
    bool any = false;

    while (c->fd >= 0 && read(c->fd, events, sizeof events) > 0)
        any = true;
    return any;
}

void changes_close(struct changes *c)
{
    if (c->fd >= 0)
        close(c->fd);
    c->fd = -1;
}
