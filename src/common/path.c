#include "config.h"
#include "common/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/num.h"

char *path_join(const char *folder, const char *name)
{
    const size_t n = strlen(folder), m = strlen(name) + 1;
    const size_t slash = n > 0 && folder[n - 1] != '/';
    char *path = xmalloc(n + slash + m);

    memcpy(path, folder, n);
    memcpy(path + n, "/", slash);
    memcpy(path + n + slash, name, m);
    return path;
}

char *path_parent(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return xstrdup(".");
    return xstrndup(path, slash == path ? 1 : (size_t)(slash - path));
}

char *path_of_output(const char *output)
{
    AUTO_FREE char *target = NULL;

    if (!output || strcmp(output, "-") == 0)
        return NULL;
    target = realpath(output, NULL);
    return path_parent(target ? target : output);
}

const char *path_name(const char *path)
{
    return str_after(path, '/');
}

bool path_exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

bool path_has(const char *folder, const char *name)
{
    AUTO_FREE char *path = path_join(folder, name);

    return path_exists(path);
}

bool path_is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool path_may_be_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 ? S_ISDIR(st.st_mode)
                                : errno != ENOENT && errno != ELOOP;
}

bool path_is_link(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

/* Most folders exist, or only the last one does not. */
int path_make(const char *folder, struct err *e)
{
    if (path_is_folder(folder) || mkdir(folder, 0777) == 0)
        return 0;
    if (errno == ENOENT && strrchr(folder, '/') > folder) {
        const int ret = path_make_parent(folder, e);

        if (ret < 0 || mkdir(folder, 0777) == 0)
            return ret;
    }
    if (errno == EEXIST && path_is_folder(folder)) /* made by another process */
        return 0;
    if (errno == EEXIST)
        errno = ENOTDIR;
    return err_sys(e, "cannot create the folder %s", folder);
}

int path_make_parent(const char *file, struct err *e)
{
    AUTO_FREE char *folder = path_parent(file);

    return path_make(folder, e);
}

const char *path_temp(void)
{
    const char *named = str_env("TMPDIR");

    return named ? named : "/tmp";
}

FILE *path_temp_file(struct err *e)
{
    AUTO_FREE char *name = xasprintf("%s/gt.XXXXXX", path_temp());
    const int fd = mkostemp(name, O_CLOEXEC);
    FILE *fp = fd < 0 ? NULL : fdopen(fd, "w+");

    if (!fp)
        err_sys(e, "cannot create a temporary file in %s", path_temp());
    if (fd >= 0)
        unlink(name);
    if (fd >= 0 && !fp)
        close(fd);
    return fp;
}

char *path_cache(const char *program, const char *file)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    AUTO_FREE char *folder = NULL;

    if (cache && cache[0] == '/')
        folder = path_join(cache, program);
    else if (home && home[0] == '/')
        folder = xasprintf("%s/.cache/%s", home, program);
    else
        return NULL;
    if (path_make(folder, ERR_IGNORED) < 0)
        return NULL;
    return file ? path_join(folder, file) : xstrdup(folder);
}

void path_list_add(struct path_list *l, char *name)
{
    APPEND(l->name, l->n, l->room) = name;
}

void path_list_put(struct path_list *l, const char *folder, const char *name)
{
    char *path = path_join(folder, name);

    l->skip = strlen(path) - strlen(name);
    path_list_add(l, path + l->skip);
}

const char *path_listed(const struct path_list *l, size_t i)
{
    return l->name[i] - l->skip;
}

void path_list_sort(struct path_list *l)
{
    SORT(l->name, l->n, str_compare);
}

int path_list(struct path_list *l, const char *folder, struct err *e)
{
    return path_list_most(l, folder, SIZE_MAX, e);
}

int path_list_most(struct path_list *l, const char *folder, size_t most,
                   struct err *e)
{
    return path_list_at(l, AT_FDCWD, folder, folder, most, e);
}

/* Linux 5.6 refuses all links in a name below an open folder; the call has the
 * same number on all machines, which older headers do not know. */
enum { OPENAT2 = 437 };

static int open_beneath(int folder, const char *name, uint64_t flags)
{
    const struct open_how how = { .flags = flags,
                                  .resolve =
                                      RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS };

    return (int)syscall(OPENAT2, folder, name, &how, sizeof how);
}

/* Before that, each part of the name is opened by itself. */
static int open_parts(int folder, const char *name, uint64_t flags)
{
    enum { HOW = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    int at = folder, fd;

    for (const char *slash; at != -1 && (slash = strchr(name, '/')) && slash[1];
         name = slash + 1) {
        AUTO_FREE char *part = xstrndup(name, (size_t)(slash - name));

        fd = strcmp(part, "..") == 0 ? -1 : openat(at, part, HOW);
        if (at != folder)
            close(at);
        at = fd;
    }
    fd = at == -1 ? -1 : openat(at, name, (int)flags);
    if (at != folder && at != -1)
        close(at);
    return fd;
}

static int fail(const char *what, const char *path, struct err *e)
{
    err_sys(e, "cannot %s %s", what, path);
    if (e->sys == ENOENT || e->sys == ENOTDIR)
        e->kind = ERR_MISSING;
    return -1;
}

static int open_below(int folder, const char *name, uint64_t flags)
{
    const bool below = folder != AT_FDCWD && (flags & O_NOFOLLOW);
    const int fd = below ? open_beneath(folder, name, flags) : -1;

    if (!below)
        return openat(folder, name, (int)flags);
    return fd < 0 && (errno == ENOSYS || errno == EPERM)
               ? open_parts(folder, name, flags)
               : fd;
}

int path_list_at(struct path_list *l, int at, const char *name,
                 const char *folder, size_t most, struct err *e)
{
    const int flag = at == AT_FDCWD ? 0 : O_NOFOLLOW;
    const int fd = open_below(
        at, name, (uint64_t)(O_RDONLY | O_DIRECTORY | O_CLOEXEC | flag));
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    const struct dirent *d;

    *l = (struct path_list){ 0 };
    if (!dir) {
        fail("list", folder, e);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    for (;;) {
        errno = 0;
        d = l->n < most ? readdir(dir) : NULL;
        if (!d)
            break;
        if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
            continue;
        path_list_put(l, folder, d->d_name);
    }
    if (errno) {
        err_sys(e, "cannot list %s", folder);
        closedir(dir);
        path_list_clear(l);
        return -1;
    }
    closedir(dir);
    path_list_sort(l);
    return 0;
}

void path_list_clear(struct path_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->name[i] - l->skip);
    free(l->name);
    *l = (struct path_list){ 0 };
}

/* Each folder is opened before it is emptied, so that a link that takes its
 * place is removed, and not what it leads to. */
static int remove_at(int at, const char *name, struct err *e)
{
    struct path_list l = { 0 };
    int fd, ret = -1, why;

    if (unlinkat(at, name, 0) == 0)
        return 0;
    if (errno != EISDIR)
        return -1;
    fd = openat(at, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd >= 0)
        ret = path_list_at(&l, fd, ".", name, SIZE_MAX, e);
    for (size_t i = 0; ret == 0 && i < l.n; i++)
        ret = remove_at(fd, l.name[i], e);
    if (ret == 0)
        ret = unlinkat(at, name, AT_REMOVEDIR);
    why = errno;
    path_list_clear(&l);
    if (fd >= 0)
        close(fd);
    errno = why;
    return ret;
}

int path_remove(const char *path, struct err *e)
{
    return remove_at(AT_FDCWD, path, e) < 0
               ? err_sys(e, "cannot remove %s", path)
               : 0;
}

/* Would a file be read for a long time, to find almost only a hole? */
static bool is_hollow(int fd, int64_t size)
{
    enum { PART = 64 };
    const off_t place = size < (int64_t)64 << 30 ? -1 : lseek(fd, 0, SEEK_CUR);
    int64_t data = place < 0 ? size : 0;

    for (off_t at = 0; at < size && data < size / PART;) {
        const off_t from = lseek(fd, at, SEEK_DATA);

        if (from < 0 && errno == ENXIO)
            break; /* a hole up to the end */
        at = from < 0 ? -1 : lseek(fd, from, SEEK_HOLE);
        data += at < 0 ? size : at - from;
    }
    if (place >= 0)
        lseek(fd, place, SEEK_SET);
    return data < size / PART;
}

static int refuse_hole(const char *path, int64_t size, struct err *e)
{
    char text[NUM_TEXT];

    return err_input(
        e, "%s is not read: it has %s, and almost all of it is a hole", path,
        num_bytes(text, (double)size));
}

int path_check_hole(int fd, const char *path, struct err *e)
{
    struct stat st;

    return fstat(fd, &st) == 0 && is_hollow(fd, st.st_size)
               ? refuse_hole(path, st.st_size, e)
               : 0;
}

static int open_at(int folder, const char *name, const char *path,
                   enum path_links links, struct err *e)
{
    const int flag = links == PATH_NO_LINKS ? O_NOFOLLOW : 0;
    const int fd = open_below(
        folder, name, (uint64_t)(O_RDONLY | O_NONBLOCK | O_CLOEXEC | flag));
    struct stat st;

    if (fd < 0 && errno == ELOOP && flag)
        return err_input(e,
                         "%s is a symbolic link, which only --follow-links "
                         "follows",
                         path);
    if (fd < 0)
        return fail("read", path, e);
    if (fstat(fd, &st) < 0)
        err_sys(e, "cannot read %s", path);
    else if (!S_ISREG(st.st_mode))
        err_input(e, "cannot read %s: it is %s", path,
                  S_ISDIR(st.st_mode) ? "a folder" : "not a regular file");
    else if (is_hollow(fd, st.st_size))
        refuse_hole(path, st.st_size, e);
    else
        return fd;
    close(fd);
    return -1;
}

int path_open(const char *path, enum path_links links, struct err *e)
{
    return open_at(AT_FDCWD, path, path, links, e);
}

void path_close(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

void path_fclose(FILE **fp)
{
    if (*fp)
        fclose(*fp);
}

int path_map(void **map, struct stat *st, int fd, const char *path,
             struct err *e)
{
    int ret = 0;

    *map = NULL;
    if (fd < 0)
        return -1;
    if (fstat(fd, st) < 0)
        ret = err_sys(e, "cannot read %s", path);
    else if (st->st_size > 0)
        *map = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (*map == MAP_FAILED) {
        ret = err_sys(e, "cannot map %s", path);
        *map = NULL;
    }
    close(fd);
    return ret;
}

int path_open_below(const char *folder, const char *path, enum path_links links,
                    struct err *e)
{
    AUTO(path_close)
    const int at = links == PATH_FOLLOW_LINKS
                       ? -1
                       : open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);

    return at < 0 ? path_open(path, links, e)
                  : open_at(at, path + strlen(folder) + 1, path, links, e);
}

bool path_is_refused(const char *path, enum path_links links)
{
    return links == PATH_NO_LINKS && path_is_link(path);
}

/* The path of an open file without links; NULL if it cannot be told.  Without
 * /proc, that of its name, if this is still the file. */
static char *real_path(int fd, const char *name)
{
    char link[32], path[PATH_MAX];
    struct stat is, st;
    ssize_t n;

    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    n = readlink(link, path, sizeof path);
    if (n > 0 && n < PATH_MAX)
        return xstrndup(path, (size_t)n);
    if (realpath(name, path) && fstat(fd, &is) == 0 && lstat(path, &st) == 0 &&
        is.st_dev == st.st_dev && is.st_ino == st.st_ino)
        return xstrdup(path);
    return NULL;
}

/* An open file is looked at, because a name may be changed meanwhile. */
static bool is_inside(int fd, const char *name, const char *folder)
{
    const int folder_fd = open(folder, O_PATH | O_CLOEXEC);
    AUTO_FREE char *path = real_path(fd, name),
                   *whole = real_path(folder_fd, folder);
    const size_t n = whole ? strlen(whole) : 0;
    const bool inside = path && whole && strncmp(path, whole, n) == 0 &&
                        (path[n] == '/' || path[n] == '\0');

    if (folder_fd >= 0)
        close(folder_fd);
    return inside;
}

int path_open_inside(const char *path, const char *folder, struct err *e)
{
    const int fd = path_open(path, PATH_FOLLOW_LINKS, e);

    if (fd < 0 || !folder || is_inside(fd, path, folder))
        return fd;
    close(fd);
    return err_input(e,
                     "%s is a link that leaves %s, which only --follow-links "
                     "follows",
                     path, folder);
}

bool path_stays_below(const char *path)
{
    const size_t n = strlen(path);

    return *path && *path != '/' && !strstr(path, "/../") &&
           strncmp(path, "../", 3) != 0 && strcmp(path, "..") != 0 &&
           !(n > 3 && strcmp(path + n - 3, "/..") == 0);
}

bool path_leaves(const char *path, const char *folder)
{
    const int fd = open(path, O_PATH | O_CLOEXEC);
    const bool leaves = folder && !is_inside(fd, path, folder);

    if (fd >= 0)
        close(fd);
    return leaves;
}

int path_check_inside(const char *path, const char *folder, struct err *e)
{
    for (size_t n = strlen(folder); path[n];) {
        AUTO_FREE char *part = NULL;

        n += 1 + strcspn(path + n + 1, "/");
        part = xstrndup(path, n);
        if (path_is_link(part) && path_leaves(part, folder))
            return err_input(e,
                             "%s is a link that leaves %s; nothing is written "
                             "there",
                             part, folder);
    }
    return 0;
}

/* The folder `at`, whose name is `part`, in the folder fd, which is closed. */
static int enter(int fd, const char *part, const char *at, struct err *e)
{
    enum { HOW = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };
    int next = openat(fd, part, HOW);

    if (next < 0 && errno == ENOENT &&
        (mkdirat(fd, part, 0777) == 0 || errno == EEXIST))
        next = openat(fd, part, HOW);
    if (next < 0 && path_is_link(at))
        err_input(e, "%s is a link; nothing is written through it", at);
    else if (next < 0)
        err_sys(e, "cannot create the folder %s", at);
    close(fd);
    return next;
}

/* The same for all folders of a path from a character on up to another one. */
static int enter_all(int fd, const char *path, size_t n, size_t end,
                     struct err *e)
{
    while (fd >= 0 && n + 1 < end) {
        const size_t from = n + 1;
        AUTO_FREE char *part = NULL, *at = NULL;

        n = from + strcspn(path + from, "/");
        part = xstrndup(path + from, n - from);
        at = xstrndup(path, n);
        if (strcmp(part, "..") == 0) {
            close(fd);
            fd = err_input(e, "%s leads out of its folder", path);
        } else if (*part) {
            fd = enter(fd, part, at, e);
        }
    }
    return fd;
}

int path_pin(struct path_pin *p, const char *path, const char *folder,
             struct err *e)
{
    const size_t n = strlen(folder), end = (size_t)(path_name(path) - path);
    char proc[32], *rest;
    int fd;

    *p = (struct path_pin){ .parent = path_parent(path) };
    p->fd = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (p->fd < 0)
        return err_sys(e, "cannot open the folder %s", folder);
    if (path_check_inside(path, folder, e) < 0)
        return -1;
    rest = end > n + 1 ? xstrndup(path + n + 1, end - n - 1) : xstrdup(".");
    fd = open_beneath(p->fd, rest, O_PATH | O_DIRECTORY | O_CLOEXEC);
    free(rest);
    if (fd < 0) { /* a folder is missing or a link, or Linux is older */
        p->fd = enter_all(p->fd, path, n, end, e);
    } else {
        close(p->fd);
        p->fd = fd;
    }
    if (p->fd < 0)
        return -1;
    snprintf(proc, sizeof proc, "/proc/self/fd/%d", p->fd);
    p->at = xstrdup(path_exists(proc) ? proc : p->parent);
    p->name = path_join(p->at, path + end);
    return 0;
}

void path_unpin(struct path_pin *p, struct err *e)
{
    char proc[32], *at;
    struct err was = *e;

    snprintf(proc, sizeof proc, "/proc/self/fd/%d", p->fd);
    at = p->fd >= 0 && was.kind ? strstr(was.text, proc) : NULL;
    if (at) {
        *at = '\0';
        snprintf(e->text, sizeof e->text, "%s%s%s", was.text, p->parent,
                 at + strlen(proc));
    }
    if (p->fd >= 0)
        close(p->fd);
    FREE(p->name, p->at, p->parent);
    *p = (struct path_pin){ .fd = -1 };
}

int path_make_below(const char *file, const char *folder, struct err *e)
{
    struct path_pin pin;
    const int ret = path_pin(&pin, file, folder, e);

    path_unpin(&pin, e);
    return ret;
}
