/*
 * disk - let a program find a file system that can do less
 *
 *      LD_PRELOAD=t/lib/disk.so DISK_LINKS=EPERM DISK_LOCKS=ENOLCK COMMAND
 *
 *      DISK_LINKS=ERROR    links fail, as on AFS, s3fs and gcsfuse, and rename
 *                          without replacing or with an exchange is EINVAL
 *      DISK_LOCKS=ERROR    locks of files fail, as on NFS without lockd
 *      DISK_FOLDS=1        names ignore case, as on SMB and in /mnt/c of WSL
 *      DISK_CUT=PATH       this file is cut to 100 bytes when it is mapped
 *      DISK_HOLD=TEXT:FILE what opens a file in a folder whose path ends with
 *                          TEXT waits until FILE exists; or, in a process
 *                          that the program forked, until the pipe FILE ends
 *      DISK_HASTE=1        what is due in 9.9 seconds is due now
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

/* Fail as the variable says; 0 if it is not set. */
static int fails(const char *variable)
{
    static const struct {
        const char *name;
        int error;
    } errors[] = {
        { "EPERM", EPERM }, { "ENOSYS", ENOSYS }, { "EOPNOTSUPP", EOPNOTSUPP },
        { "EXDEV", EXDEV }, { "EINVAL", EINVAL }, { "ENOLCK", ENOLCK },
    };
    const char *name = getenv(variable);

    for (size_t i = 0; name && i < sizeof errors / sizeof errors[0]; i++)
        if (strcmp(errors[i].name, name) == 0) {
            errno = errors[i].error;
            return -1;
        }
    return 0;
}

/* Is it the first n bytes of the text but for the case? */
static bool is_same_name(const char *name, const char *text, size_t n)
{
    static locale_t utf8;
    const char *const ends[] = { name + strlen(name), text + n };
    locale_t was;
    bool same = true;

    if (!utf8)
        utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    was = uselocale(utf8);
    while (same && name < ends[0] && text < ends[1]) {
        wchar_t a, b;
        const int x = mbtowc(&a, name, (size_t)(ends[0] - name)),
                  y = mbtowc(&b, text, (size_t)(ends[1] - text));

        same = x > 0 && y > 0 && towlower((wint_t)a) == towlower((wint_t)b);
        name += x;
        text += y;
    }
    uselocale(was);
    return same && name == ends[0] && text == ends[1];
}

/* The path by the names that are there. */
static const char *fold(int at, const char *path, char real[PATH_MAX])
{
    size_t n = 0;

    if (!getenv("DISK_FOLDS") || strncmp(path, "/proc/self", 10) == 0 ||
        strlen(path) >= PATH_MAX - 256)
        return path;
    while (*path) {
        const size_t part = strcspn(path, "/");
        const size_t from = n;

        memcpy(real + n, path, part);
        real[n += part] = '\0';
        if (part && syscall(SYS_faccessat, at, real, F_OK) < 0) {
            char folder[PATH_MAX];
            DIR *dir;
            int fd;

            memcpy(folder, real, from);
            memcpy(folder + from, ".", 2);
            fd = (int)syscall(SYS_openat, at, folder, O_RDONLY | O_DIRECTORY);
            dir = fd >= 0 ? fdopendir(fd) : NULL;
            for (const struct dirent *d; dir && (d = readdir(dir));)
                if (is_same_name(d->d_name, real + from, part))
                    memcpy(real + from, d->d_name, part);
            if (dir)
                closedir(dir);
        }
        path += part;
        while (*path == '/')
            real[n++] = *path++;
        real[n] = '\0';
    }
    return real;
}

static pid_t program;

static __attribute__((constructor)) void note_program(void)
{
    program = getpid();
}

/* Wait until there is a file, or, in a child process, until a pipe ends. */
static void wait_for(const char *path)
{
    struct stat st;
    char c;
    int fd;

    while (syscall(SYS_newfstatat, AT_FDCWD, path, &st, 0) < 0)
        usleep(10000);
    if (!S_ISFIFO(st.st_mode) || getpid() == program)
        return;
    fd = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY);
    while (read(fd, &c, 1) > 0)
        ;
    close(fd);
}

/* The disk does not answer before a file exists. */
static void hold(int at, const char *path)
{
    const char *text = getenv("DISK_HOLD"),
               *until = text ? strchr(text, ':') : NULL;
    char name[PATH_MAX], folder[PATH_MAX];
    size_t n;

    if (!until)
        return;
    if (*path == '/' || at == AT_FDCWD)
        snprintf(name, sizeof name, "%s%s", *path == '/' ? "" : "./", path);
    else
        snprintf(name, sizeof name, "/proc/self/fd/%d/%s", at, path);
    *strrchr(name, '/') = '\0';
    if (!realpath(*name ? name : "/", folder))
        return;
    n = strlen(folder);
    if (n < (size_t)(until - text) ||
        strncmp(folder + n - (until - text), text, (size_t)(until - text)) != 0)
        return;
    wait_for(until + 1);
}

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    const int ret = (int)syscall(SYS_clock_gettime, clock, ts);

    if (getenv("DISK_HASTE") && clock == CLOCK_MONOTONIC) {
        ts->tv_sec -= 10;
        ts->tv_nsec += 100000000;
        ts->tv_sec += ts->tv_nsec / 1000000000;
        ts->tv_nsec %= 1000000000;
    }
    return ret;
}

int openat(int at, const char *path, int flags, ...)
{
    char real[PATH_MAX];
    va_list more;
    mode_t mode;

    va_start(more, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    hold(at, path);
    return (int)syscall(SYS_openat, at, fold(at, path, real), flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list more;
    mode_t mode;

    va_start(more, flags);
    mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0;
    va_end(more);
    return openat(AT_FDCWD, path, flags, mode);
}

/* What openat() becomes with _FORTIFY_SOURCE. */
int __openat_2(int at, const char *path, int flags);
int __openat_2(int at, const char *path, int flags)
{
    return openat(at, path, flags);
}

int fstatat(int at, const char *restrict path, struct stat *restrict st,
            int flags)
{
    char real[PATH_MAX];

    return (int)syscall(SYS_newfstatat, at, fold(at, path, real), st, flags);
}

int stat(const char *restrict path, struct stat *restrict st)
{
    return fstatat(AT_FDCWD, path, st, 0);
}

int lstat(const char *restrict path, struct stat *restrict st)
{
    return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int access(const char *path, int how)
{
    char real[PATH_MAX];

    return (int)syscall(SYS_faccessat, AT_FDCWD, fold(AT_FDCWD, path, real),
                        how);
}

int mkdir(const char *path, mode_t mode)
{
    char real[PATH_MAX];

    return (int)syscall(SYS_mkdirat, AT_FDCWD, fold(AT_FDCWD, path, real),
                        mode);
}

int linkat(int from, const char *old, int to, const char *new, int flags)
{
    return fails("DISK_LINKS")
               ? -1
               : (int)syscall(SYS_linkat, from, old, to, new, flags);
}

int link(const char *old, const char *new)
{
    return linkat(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int renameat2(int from, const char *old, int to, const char *new,
              unsigned int flags)
{
    char real[2][PATH_MAX];

    if (flags && fails("DISK_LINKS")) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from, fold(from, old, real[0]), to,
                        fold(to, new, real[1]), flags);
}

int rename(const char *old, const char *new)
{
    return renameat2(AT_FDCWD, old, AT_FDCWD, new, 0);
}

int flock(int fd, int how)
{
    return fails("DISK_LOCKS") ? -1 : (int)syscall(SYS_flock, fd, how);
}

static int control(int fd, int what, void *arg)
{
    switch (what) {
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
    case F_OFD_GETLK:
    case F_OFD_SETLK:
    case F_OFD_SETLKW:
        if (fails("DISK_LOCKS"))
            return -1;
    }
    return (int)syscall(SYS_fcntl, fd, what, arg);
}

int fcntl(int fd, int what, ...)
{
    va_list more;
    void *arg;

    va_start(more, what);
    arg = va_arg(more, void *);
    va_end(more);
    return control(fd, what, arg);
}

int fcntl64(int fd, int what, ...) __attribute__((alias("fcntl")));

void *mmap(void *at, size_t n, int access, int flags, int fd, off_t from)
{
    void *map = (void *)syscall(SYS_mmap, at, n, access, flags, fd, from);
    const char *path = getenv("DISK_CUT");
    struct stat a, b;

    if (path && fd >= 0 && fstat(fd, &a) == 0 && stat(path, &b) == 0 &&
        a.st_ino == b.st_ino && a.st_dev == b.st_dev && truncate(path, 100) < 0)
        perror(path);
    return map;
}
