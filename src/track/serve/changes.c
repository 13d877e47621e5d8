#include "config.h"
#include "track/serve/changes.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "store/format/store.h"

enum {
    FOLDER_EVENTS = IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO |
                    IN_ATTRIB | IN_ONLYDIR | IN_DONT_FOLLOW,
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

void changes_open(struct changes *c)
{
    *c = (struct changes){ .fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC) };
    c->seen = c->fd >= 0;
}

/* Note whose folder it is; NULL for one with several runs. */
static void set_owner(struct changes *c, int watch, const char *run)
{
    const size_t at = (size_t)watch;

    while (at >= c->room) {
        const size_t room = c->room ? 2 * c->room : 64;

        c->owner = xrealloc(c->owner, room, sizeof *c->owner);
        memset(c->owner + c->room, 0, (room - c->room) * sizeof *c->owner);
        c->room = room;
    }
    if (!run || !c->owner[at] || strcmp(c->owner[at], run) != 0)
        xreplace(&c->owner[at], run);
}

static void watch_folder(struct changes *c, const char *path, int events,
                         const char *run)
{
    const int watch =
        c->fd < 0 ? -1 : inotify_add_watch(c->fd, path, (uint32_t)events);

    if (watch >= 0)
        set_owner(c, watch, run);
    else if (path_is_folder(path))
        c->seen = false;
}

static void watch_tree(struct changes *c, const char *path, const char *run,
                       int depth)
{
    DIR *dir = depth < DEEPEST ? opendir(path) : NULL;
    const struct dirent *d;

    watch_folder(c, path, FILE_EVENTS, run);
    while (dir && (d = readdir(dir))) {
        if ((d->d_type == DT_DIR || d->d_type == DT_UNKNOWN) &&
            d->d_name[0] != '.') {
            char *below = path_join(path, d->d_name);

            if (path_is_folder(below) && !path_is_link(below))
                watch_tree(c, below, run, depth + 1);
            free(below);
        }
    }
    if (dir)
        closedir(dir);
}

void changes_watch_root(struct changes *c, const char *root)
{
    struct path_list names;

    c->seen &= !is_shared(root);
    watch_folder(c, root, FOLDER_EVENTS | IN_MOVE_SELF | IN_DELETE_SELF, NULL);
    if (path_list(&names, root, ERR_IGNORED) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        const char *path = path_listed(&names, i);

        if (path_is_folder(path))
            watch_folder(c, path, FOLDER_EVENTS, NULL);
    }
    path_list_clear(&names);
}

void changes_watch_run(struct changes *c, const struct run_info *r)
{
    char *tags = path_join(r->folder, STORE_TAGS);

    watch_folder(c, r->folder, FOLDER_EVENTS, r->id);
    watch_folder(c, tags, FILE_EVENTS, r->id);
    if (r->status == RUN_RUNNING || r->status == RUN_SCHEDULED) {
        char *metrics = path_join(r->folder, STORE_METRICS);
        char *state = path_join(r->folder, STORE_OWN);

        watch_tree(c, metrics, r->id, 0);
        watch_folder(c, state, FOLDER_EVENTS, r->id);
        FREE(metrics, state);
    }
    free(tags);
}

static void note(struct changes *c, const struct inotify_event *event)
{
    const char *run = event->wd >= 0 && (size_t)event->wd < c->room
                          ? c->owner[event->wd]
                          : NULL;

    if (event->mask & IN_IGNORED && run) {
        xreplace(&c->owner[event->wd], NULL);
        return;
    }
    for (int i = 0; run && i < c->n; i++)
        if (strcmp(c->id[i], run) == 0)
            return;
    if (run && c->n < CHANGES_FEW)
        c->id[c->n++] = xstrdup(run);
    else
        c->all = true;
}

void changes_take(struct changes *c)
{
    _Alignas(struct inotify_event) char events[16384];
    ssize_t n;

    while (c->fd >= 0 && (n = read(c->fd, events, sizeof events)) > 0) {
        for (const char *at = events; at < events + n;) {
            const struct inotify_event *event = (const void *)at;

            note(c, event);
            at += sizeof *event + event->len;
        }
    }
}

void changes_forget(struct changes *c)
{
    while (c->n)
        free(c->id[--c->n]);
    c->all = false;
}

void changes_close(struct changes *c)
{
    changes_forget(c);
    for (size_t i = 0; i < c->room; i++)
        free(c->owner[i]);
    free(c->owner);
    if (c->fd >= 0)
        close(c->fd);
    *c = (struct changes){ .fd = -1 };
}
