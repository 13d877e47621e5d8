/*
 * record - the changes of files that a program makes, in their order
 *
 * A line of the log is one operation below the root:
 *
 *      create PATH             trunc PATH SIZE         sync PATH
 *      write PATH OFFSET LEN   rename OLD NEW          exchange OLD NEW
 *      link OLD NEW            symlink PATH TARGET     unlink PATH
 *      mkdir PATH              rmdir PATH              syncfs
 *      say LEN                 end STATUS
 *
 * with tabs between the words.  The bytes of writes are in LOG.data, one after
 * the other; `say` is what was written to standard output or error.  Changes of
 * names are made here, on behalf of the program, so that only those that
 * succeed are recorded.  A sync is recorded and not made.
 */
#define _GNU_SOURCE
#include "t/lib/disturb.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static FILE *ops, *data;
static char root[PATH_MAX];

static FILE *open_file(const char *path)
{
    FILE *fp = fopen(path, "we");

    if (!fp) {
        perror(path);
        exit(2);
    }
    return fp;
}

void record_open(const char *log, const char *folder)
{
    char path[PATH_MAX];

    snprintf(root, sizeof root, "%s/", folder);
    snprintf(path, sizeof path, "%s.data", log);
    ops = open_file(log);
    data = open_file(path);
}

void record_close(int status)
{
    fprintf(ops, "end\t%d\n", status);
    if (fclose(ops) != 0 || fclose(data) != 0)
        perror("record");
}

/* The part of the path below the root, in place; NULL if it is not there. */
static const char *below(char *path)
{
    char *to = path;

    if (!path || strncmp(path, root, strlen(root)) != 0)
        return NULL;
    for (const char *from = path; *from;) { /* "//" and "/./" are "/" */
        if (from[0] == '/' && from[1] == '/')
            from++;
        else if (strncmp(from, "/./", 3) == 0)
            from += 2;
        else
            *to++ = *from++;
    }
    *to = '\0';
    return path + strlen(root);
}

static void record_open_call(const struct seccomp_notif *n,
                             const struct call *c)
{
    const long long flags = call_arg(n, c->flags, 0);
    char *path = call_path(n, c->folder, c->path);
    const char *name = below(path);
    struct stat st;

    if (name && stat(path, &st) < 0 && (flags & O_CREAT))
        fprintf(ops, "create\t%s\n", name);
    else if (name && (flags & O_TRUNC))
        fprintf(ops, "trunc\t%s\t0\n", name);
    free(path);
}

/* Where the next write() of a file goes. */
static long long position(const struct seccomp_notif *n, long long fd)
{
    char name[64], line[128];
    long long at = 0;
    unsigned flags = 0;
    struct stat st;
    FILE *fp;

    snprintf(name, sizeof name, "/proc/%u/fdinfo/%d", n->pid, (int)fd);
    fp = fopen(name, "re");
    while (fp && fgets(line, sizeof line, fp)) {
        sscanf(line, "pos: %lld", &at);
        sscanf(line, "flags: %o", &flags);
    }
    if (fp)
        fclose(fp);
    snprintf(name, sizeof name, "/proc/%u/fd/%d", n->pid, (int)fd);
    return flags & O_APPEND && stat(name, &st) == 0 ? st.st_size : at;
}

/* Copy bytes of the process to the data. */
static void copy(const struct seccomp_notif *n, unsigned long long from,
                 size_t len)
{
    char *s = malloc(len + 1);

    if (!s || !call_read(n, from, s, len) || fwrite(s, 1, len, data) != len) {
        fprintf(stderr, "record: cannot copy %zu bytes\n", len);
        exit(2);
    }
    free(s);
}

static void record_write(const struct seccomp_notif *n)
{
    const long long fd = (int)n->data.args[0];
    char *path = call_file(n, fd);
    const char *name = below(path);
    const bool said = fd == STDOUT_FILENO || fd == STDERR_FILENO;
    struct iovec part[64] = { { NULL, n->data.args[2] } };
    size_t parts = 1, len = 0;

    part[0].iov_base = (void *)(uintptr_t)n->data.args[1];
    if (n->data.nr == __NR_writev) {
        parts = n->data.args[2] < 64 ? n->data.args[2] : 64;
        call_read(n, n->data.args[1], part, parts * sizeof *part);
    }
    for (size_t i = 0; i < parts; i++)
        len += part[i].iov_len;
    if (said)
        fprintf(ops, "say\t%zu\n", len);
    else if (name)
        fprintf(ops, "write\t%s\t%lld\t%zu\n", name,
                n->data.nr == __NR_pwrite64 ? (long long)n->data.args[3]
                                            : position(n, fd),
                len);
    for (size_t i = 0; (said || name) && i < parts; i++)
        copy(n, (uintptr_t)part[i].iov_base, part[i].iov_len);
    free(path);
}

/* A change of names: make it, and record it if it succeeds. */
static int change_names(const struct seccomp_notif *n, const struct call *c)
{
    const unsigned flags = (unsigned)call_arg(n, c->flags, 0);
    char *path = call_path(n, c->folder, c->path);
    char *other = c->path2 < 0 ? NULL : call_path(n, c->folder2, c->path2);
    const char *what = NULL;
    int ret = -1;

    if (!path || (c->path2 >= 0 && !other)) {
        errno = EFAULT;
    } else if (c->op == CALL_RENAME) {
        what = flags & RENAME_EXCHANGE ? "exchange" : "rename";
        ret = renameat2(AT_FDCWD, path, AT_FDCWD, other, flags);
    } else if (c->op == CALL_LINK) {
        what = "link";
        ret = link(path, other);
    } else if (c->op == CALL_MKDIR) {
        what = "mkdir";
        ret = mkdir(path, (mode_t)flags);
    } else if (c->op == CALL_RMDIR || flags & AT_REMOVEDIR) {
        what = "rmdir";
        ret = rmdir(path);
    } else if (c->op == CALL_UNLINK) {
        what = "unlink";
        ret = unlink(path);
    }
    if (ret == 0 && below(path) && (!other || below(other)))
        fprintf(ops, "%s\t%s%s%s\n", what, below(path), other ? "\t" : "",
                other ? below(other) : "");
    ret = ret < 0 ? errno : 0;
    free(path);
    free(other);
    return ret;
}

/* The target of a link is a text of its own, relative to nothing here. */
static int make_symlink(const struct seccomp_notif *n, const struct call *c)
{
    char *path = call_path(n, c->folder, c->path), target[PATH_MAX];
    const char *name;
    int error = EFAULT;

    memset(target, 0, sizeof target);
    for (size_t i = 0; path && i < sizeof target - 1; i++)
        if (!call_read(n, n->data.args[c->path2] + i, target + i, 1) ||
            !target[i])
            break;
    if (path)
        error = symlink(target, path) < 0 ? errno : 0;
    name = below(path);
    if (error == 0 && name)
        fprintf(ops, "symlink\t%s\t%s\n", name, target);
    free(path);
    return error;
}

/* A change of an open file that has no bytes: its size, or a sync. */
static bool record_file(const struct seccomp_notif *n, const struct call *c)
{
    char *path = call_file(n, call_arg(n, c->folder, -1));
    char *whole = NULL;
    const char *name;

    /* the root itself is "" */
    if (path && asprintf(&whole, "%s/", path) < 0)
        whole = NULL;
    name = below(whole);
    if (name && *name)
        whole[strlen(whole) - 1] = '\0';
    if (c->nr == __NR_syncfs)
        fputs("syncfs\n", ops);
    else if (name && c->op == CALL_SYNC)
        fprintf(ops, "sync\t%s\n", name);
    else if (name)
        fprintf(ops, "trunc\t%s\t%llu\n", name,
                (unsigned long long)n->data.args[1]);
    free(whole);
    free(path);
    return c->op == CALL_SYNC;
}

bool record_call(const struct seccomp_notif *n, const struct call *c,
                 int *error)
{
    *error = 0;
    switch (c->op) {
    case CALL_OPEN:
        record_open_call(n, c);
        return false;
    case CALL_WRITE:
        record_write(n);
        return false;
    case CALL_TRUNCATE:
    case CALL_SYNC:
        return record_file(n, c);
    case CALL_SYMLINK:
        *error = make_symlink(n, c);
        return true;
    case CALL_RENAME:
    case CALL_LINK:
    case CALL_UNLINK:
    case CALL_RMDIR:
    case CALL_MKDIR:
        *error = change_names(n, c);
        return true;
    default:
        return false;
    }
}
