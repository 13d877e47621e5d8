#pragma once

/*
 * disturb - what the supervisor of system calls, disturb.c, shares with the
 * recorder of changes to files, record.c
 */
#include <linux/seccomp.h>
#include <stdbool.h>

enum call_op {
    CALL_OTHER,
    CALL_OPEN,
    CALL_WRITE,
    CALL_TRUNCATE,
    CALL_SYNC,
    CALL_CLOSE,
    CALL_RENAME,
    CALL_LINK,
    CALL_SYMLINK,
    CALL_UNLINK,
    CALL_RMDIR,
    CALL_MKDIR,
};

/* A system call and where its arguments are.  For calls that take a file
 * descriptor, it is `folder`; -1 stands for no such argument. */
struct call {
    int nr;
    enum call_op op;
    int folder, path, folder2, path2, flags;
};

/* Its argument, or `none` where it has no such argument. */
long long call_arg(const struct seccomp_notif *, int index, long long none);

/* The file that a process means by a path, or has open; absolute.  The caller
 * frees it; NULL if it cannot be read. */
char *call_path(const struct seccomp_notif *, int folder, int path);
char *call_file(const struct seccomp_notif *, long long fd);

/* Copy from the memory of the process; false if it cannot be read. */
bool call_read(const struct seccomp_notif *, unsigned long long from, void *to,
               unsigned long n);

/* Record changes below the folder `root` in the file `log`. */
void record_open(const char *log, const char *root);

/* Record a call.  True if it was made here, on behalf of the process: `error`
 * is then its errno, or 0. */
bool record_call(const struct seccomp_notif *, const struct call *, int *error);
void record_close(int status);
