/*
 * disk - let a program find a file system that can do less
 *
 *      LD_PRELOAD=t/lib/disk.so DISK_LINKS=EPERM DISK_LOCKS=ENOLCK COMMAND
 *
 *      DISK_LINKS=ERROR    links fail, as on AFS, s3fs and gcsfuse, and rename
 *                          without replacing or with an exchange is EINVAL
 *      DISK_LOCKS=ERROR    locks of files fail, as on NFS without lockd
 *      DISK_CUT=PATH       this file is cut to 100 bytes when it is mapped
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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
    if (flags && fails("DISK_LINKS")) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
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

int fcntl64(int fd, int what, ...)
{
    va_list more;
    void *arg;

    va_start(more, what);
    arg = va_arg(more, void *);
    va_end(more);
    return control(fd, what, arg);
}

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
