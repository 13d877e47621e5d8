#include "config.h"
#include "common/filelock.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum filelock filelock_get(int fd)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (fcntl(fd, F_OFD_SETLK, &whole) == 0)
        return FILELOCK_OURS;
    return errno == EAGAIN || errno == EACCES ? FILELOCK_HELD : FILELOCK_NONE;
}

enum filelock filelock_look(int fd)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

    if (fcntl(fd, F_OFD_GETLK, &whole) < 0)
        return FILELOCK_NONE;
    return whole.l_type == F_UNLCK ? FILELOCK_OURS : FILELOCK_HELD;
}

bool filelock_is_at(int fd, const char *path)
{
    struct stat a, b;

    return fstat(fd, &a) == 0 && lstat(path, &b) == 0 && a.st_dev == b.st_dev &&
           a.st_ino == b.st_ino;
}

int filelock_open(const char *path, mode_t mode, struct err *e)
{
    for (;;) {
        const int fd =
            open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, mode);
        enum filelock lock;

        if (fd < 0 && errno == ELOOP)
            return err_set(e, ERR_INPUT, "%s is a symbolic link", path);
        if (fd < 0)
            return err_sys(e, "cannot write %s", path);
        lock = filelock_get(fd);
        if (lock == FILELOCK_NONE ||
            (lock == FILELOCK_OURS && filelock_is_at(fd, path)))
            return fd;
        close(fd);
        if (lock == FILELOCK_HELD)
            return err_set(e, ERR_BUSY, "another process is writing %s", path);
    }
}
