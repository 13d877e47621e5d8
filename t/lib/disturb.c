/*
 * disturb - let system calls of a program fail, or kill it at one
 *
 * usage: disturb [OPTION]... COMMAND...
 *
 *   -c all|write|open|read
 *              count all system calls (the default), those that change files,
 *              those that open something, or those that look at files
 *   -p TEXT    of those that look at or change files, count only the calls
 *              whose path has TEXT in it
 *   -n N       do something at the Nth of them
 *   -e ERROR   let it fail with this error, such as ENOSPC; without this
 *              option, kill the program and its children instead
 *   -a         and let all later ones fail, too, except those that remove
 *   -x CALL    do only this: let all calls of this name, such as poll, fail
 *              with the error of -e
 *   -r LOG     record each change of a file below the current folder, and what
 *              is written to standard output and error; see power_cut
 *
 * The calls of all threads and child processes of COMMAND are counted as they
 * are entered.  Without -n, nothing is disturbed, and the count is printed.
 * Exit status: 137 if the command was killed, else its own; 77 if calls cannot
 * be supervised here.
 *
 * This is seccomp's user notification: the kernel suspends a thread that makes
 * one of these calls until this process has decided about it.
 */
#define _GNU_SOURCE
#include "t/lib/disturb.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* headers before Linux 5.19 */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

enum { NOT_HERE = 77, KILLED = 137 };

enum call_class { CLASS_ALL, CLASS_WRITE, CLASS_OPEN, CLASS_READ };

static const char *const class_names[] = { "all", "write", "open", "read" };

/* clang-format off */
static const struct call changes[] = {
#ifdef __NR_open
    { __NR_open,      CALL_OPEN,    -1,  0, -1, -1,  1 },
    { __NR_rename,    CALL_RENAME,  -1,  0, -1,  1, -1 },
    { __NR_link,      CALL_LINK,    -1,  0, -1,  1, -1 },
    { __NR_symlink,   CALL_SYMLINK, -1,  1, -1,  0, -1 },
    { __NR_unlink,    CALL_UNLINK,  -1,  0, -1, -1, -1 },
    { __NR_rmdir,     CALL_RMDIR,   -1,  0, -1, -1, -1 },
    { __NR_mkdir,     CALL_MKDIR,   -1,  0, -1, -1,  1 },
#endif
#ifdef __NR_renameat
    { __NR_renameat,  CALL_RENAME,   0,  1,  2,  3, -1 },
#endif
    { __NR_openat,    CALL_OPEN,     0,  1, -1, -1,  2 },
    { __NR_renameat2, CALL_RENAME,   0,  1,  2,  3,  4 },
    { __NR_linkat,    CALL_LINK,     0,  1,  2,  3,  4 },
    { __NR_symlinkat, CALL_SYMLINK,  1,  2, -1,  0, -1 },
    { __NR_unlinkat,  CALL_UNLINK,   0,  1, -1, -1,  2 },
    { __NR_mkdirat,   CALL_MKDIR,    0,  1, -1, -1,  2 },
    { __NR_write,     CALL_WRITE,    0, -1, -1, -1, -1 },
    { __NR_pwrite64,  CALL_WRITE,    0, -1, -1, -1, -1 },
    { __NR_writev,    CALL_WRITE,    0, -1, -1, -1, -1 },
    { __NR_ftruncate, CALL_TRUNCATE, 0, -1, -1, -1, -1 },
    { __NR_fsync,     CALL_SYNC,     0, -1, -1, -1, -1 },
    { __NR_fdatasync, CALL_SYNC,     0, -1, -1, -1, -1 },
    { __NR_syncfs,    CALL_SYNC,     0, -1, -1, -1, -1 },
    { __NR_close,     CALL_CLOSE,    0, -1, -1, -1, -1 },
};

static const struct call reads[] = {
#ifdef __NR_open
    { __NR_open,       CALL_OPEN,  -1,  0, -1, -1, -1 },
    { __NR_stat,       CALL_OTHER, -1,  0, -1, -1, -1 },
    { __NR_lstat,      CALL_OTHER, -1,  0, -1, -1, -1 },
#endif
    { __NR_openat,     CALL_OPEN,   0,  1, -1, -1, -1 },
    { __NR_newfstatat, CALL_OTHER,  0,  1, -1, -1, -1 },
    { __NR_statx,      CALL_OTHER,  0,  1, -1, -1, -1 },
    { __NR_getdents64, CALL_OTHER,  0, -1, -1, -1, -1 },
    { __NR_read,       CALL_OTHER,  0, -1, -1, -1, -1 },
    { __NR_pread64,    CALL_OTHER,  0, -1, -1, -1, -1 },
};

static const int opens[] = {
#ifdef __NR_open
    __NR_open, __NR_pipe,
#endif
    __NR_openat, __NR_pipe2, __NR_socket, __NR_accept4, __NR_dup, __NR_dup3,
    __NR_epoll_create1, __NR_eventfd2, __NR_memfd_create, __NR_inotify_init1,
};

static const struct { const char *name; int value; } errors[] = {
    { "ENOSPC", ENOSPC }, { "EIO", EIO },       { "EMFILE", EMFILE },
    { "EROFS", EROFS },   { "EDQUOT", EDQUOT }, { "ESTALE", ESTALE },
    { "EACCES", EACCES }, { "EAGAIN", EAGAIN }, { "ENOMEM", ENOMEM },
    { "EPERM", EPERM },   { "ENOSYS", ENOSYS },
};

/* What sandboxes and old kernels do not have. */
static const struct { const char *name; int nr; } refusable[] = {
#ifdef __NR_poll
    { "poll", __NR_poll },
#endif
#ifdef __NR_pidfd_open
    { "pidfd_open", __NR_pidfd_open },
#endif
    { "ppoll", __NR_ppoll },
    { "sysinfo", __NR_sysinfo },
    { "getrandom", __NR_getrandom },
#ifdef __NR_landlock_create_ruleset
    { "landlock_create_ruleset", __NR_landlock_create_ruleset },
    { "landlock_add_rule", __NR_landlock_add_rule },
    { "landlock_restrict_self", __NR_landlock_restrict_self },
#endif
    { "sched_getaffinity", __NR_sched_getaffinity },
    { "sched_setaffinity", __NR_sched_setaffinity },
    { "prctl", __NR_prctl },
    { "prlimit64", __NR_prlimit64 },
    { "inotify_init1", __NR_inotify_init1 },
    { "eventfd2", __NR_eventfd2 },
    { "memfd_create", __NR_memfd_create },
    { "madvise", __NR_madvise },
    { "fadvise64", __NR_fadvise64 },
    { "fallocate", __NR_fallocate },
    { "copy_file_range", __NR_copy_file_range },
    { "renameat2", __NR_renameat2 },
    { "linkat", __NR_linkat },
    { "flock", __NR_flock },
    { "syncfs", __NR_syncfs },
    { "statfs", __NR_statfs },
    { "uname", __NR_uname },
    { "setpgid", __NR_setpgid },
    { "timerfd_create", __NR_timerfd_create },
    { "epoll_create1", __NR_epoll_create1 },
    { "clone3", __NR_clone3 },
    { "getrusage", __NR_getrusage },
    { "process_vm_readv", __NR_process_vm_readv },
};
/* clang-format on */

static struct {
    enum call_class class;
    long at;
    int error;
    int refused; /* the number of a call that fails always; or -1 */
    bool all_later, recording;
    const char *text; /* in the path; or NULL */
} plan = { .refused = -1 };

static int listener = -1;
static pid_t child;

/* -- what a call is about ---------------------------------------------- */

long long call_arg(const struct seccomp_notif *n, int index, long long none)
{
    return index < 0 ? none : (long long)n->data.args[index];
}

bool call_read(const struct seccomp_notif *n, unsigned long long from, void *to,
               unsigned long size)
{
    const struct iovec here = { to, size };
    const struct iovec there = { (void *)(uintptr_t)from, size }; /* theirs */

    return process_vm_readv((pid_t)n->pid, &here, 1, &there, 1, 0) ==
           (ssize_t)size;
}

char *call_file(const struct seccomp_notif *n, long long fd)
{
    char name[64], path[PATH_MAX];
    ssize_t len;

    if ((int)fd == AT_FDCWD)
        snprintf(name, sizeof name, "/proc/%u/cwd", n->pid);
    else
        snprintf(name, sizeof name, "/proc/%u/fd/%d", n->pid, (int)fd);
    len = readlink(name, path, sizeof path - 1);
    if (len < 0)
        return NULL;
    path[len] = '\0';
    return strdup(path);
}

/* A string of the process, byte by byte: the next page may not be there. */
static bool read_string(const struct seccomp_notif *n, unsigned long long from,
                        char text[PATH_MAX])
{
    for (size_t i = 0; i < PATH_MAX; i++) {
        if (!call_read(n, from + i, text + i, 1))
            return false;
        if (text[i] == '\0')
            return true;
    }
    return false;
}

char *call_path(const struct seccomp_notif *n, int folder, int path)
{
    char text[PATH_MAX], *base, *whole = NULL;
    int fd, in = 0;

    if (!read_string(n, (unsigned long long)call_arg(n, path, 0), text))
        return NULL;
    /* a file in a folder that the process has open */
    if (sscanf(text, "/proc/self/fd/%d/%n", &fd, &in) == 1 && in > 0)
        base = call_file(n, fd);
    else if (text[0] == '/')
        return strdup(text);
    else
        base = call_file(n, call_arg(n, folder, AT_FDCWD));
    if (base && asprintf(&whole, "%s/%s", base, text + in) < 0)
        whole = NULL;
    free(base);
    return whole;
}

static const struct call *find_call(const struct call *table, size_t n, int nr)
{
    for (size_t i = 0; i < n; i++)
        if (table[i].nr == nr)
            return &table[i];
    return NULL;
}

/* Is it a file or a folder, and not a pipe, a socket or standard error? */
static bool is_file(const struct seccomp_notif *n, long long fd)
{
    char name[64];
    struct stat st;

    snprintf(name, sizeof name, "/proc/%u/fd/%d", n->pid, (int)fd);
    return fd != STDERR_FILENO && stat(name, &st) == 0 &&
           (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

/* Was the file opened for writing? */
static bool is_written(const struct seccomp_notif *n, long long fd)
{
    char name[64], line[128];
    unsigned flags = 0;
    FILE *fp;

    snprintf(name, sizeof name, "/proc/%u/fdinfo/%d", n->pid, (int)fd);
    fp = fopen(name, "r");
    while (fp && fgets(line, sizeof line, fp))
        sscanf(line, "flags: %o", &flags);
    if (fp)
        fclose(fp);
    return (flags & O_ACCMODE) != O_RDONLY;
}

static bool changes_file(const struct seccomp_notif *n, const struct call *c)
{
    const long long first = call_arg(n, c->folder, -1);

    switch (c->op) {
    case CALL_OPEN:
        return call_arg(n, c->flags, 0) & (O_CREAT | O_TRUNC);
    case CALL_WRITE:
    case CALL_TRUNCATE:
    case CALL_SYNC:
        return is_file(n, first);
    case CALL_CLOSE:
        return is_file(n, first) && is_written(n, first);
    case CALL_UNLINK:
    case CALL_RMDIR:
        return !plan.all_later; /* a full disk does not prevent it */
    default:
        return true;
    }
}

static bool has_text(const struct seccomp_notif *n, const struct call *c)
{
    char *path = c->path < 0 ? call_file(n, call_arg(n, c->folder, -1))
                             : call_path(n, c->folder, c->path);
    char *other = c->path2 < 0 ? NULL : call_path(n, c->folder2, c->path2);
    const bool yes = (path && (!plan.text || strstr(path, plan.text))) ||
                     (other && plan.text && strstr(other, plan.text));

    free(path);
    free(other);
    return yes;
}

/* -- the child --------------------------------------------------------- */

#define RETURN(action) BPF_STMT(BPF_RET | BPF_K, action)

/* clang-format off */
static const struct sock_filter load_number =
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
/* clang-format on */

/* Report the calls of the class, and let the others pass. */
static int install_filter(void)
{
    enum { MOST = 64 };
    struct sock_filter code[2 * MOST + 2];
    unsigned short n = 0;
    const struct sock_fprog program = { .filter = code };
    struct sock_fprog whole = program;
    const size_t count =
        plan.class == CLASS_WRITE  ? sizeof changes / sizeof *changes
        : plan.class == CLASS_READ ? sizeof reads / sizeof *reads
                                   : sizeof opens / sizeof *opens;

    code[n++] = load_number;
    for (size_t i = 0; plan.class != CLASS_ALL && i < count; i++) {
        const int nr = plan.class == CLASS_WRITE  ? changes[i].nr
                       : plan.class == CLASS_READ ? reads[i].nr
                                                  : opens[i];

        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
                                                 (unsigned)nr, 0, 1);
        code[n++] = (struct sock_filter)RETURN(SECCOMP_RET_USER_NOTIF);
    }
    code[n++] = (struct sock_filter)RETURN(
        plan.class == CLASS_ALL ? SECCOMP_RET_USER_NOTIF : SECCOMP_RET_ALLOW);
    whole.len = n;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER,
                        SECCOMP_FILTER_FLAG_NEW_LISTENER |
                            SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV,
                        &whole);
}

/* Become the command, whose calls of one number fail. */
static int refuse(char **argv)
{
    struct sock_filter code[] = {
        load_number,
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)plan.refused, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | (unsigned)plan.error),
        RETURN(SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog whole = { 4, code };

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
        syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &whole) == 0)
        execvp(argv[0], argv);
    return NOT_HERE;
}

/*
 * The child shares our table of files until it executes the command, so that
 * its number of the listener is ours, too.  It tells the number in shared
 * memory: any call could already be waiting for us.
 */
static int start(char **argv)
{
    volatile int *number = mmap(NULL, sizeof *number, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    if (number == MAP_FAILED)
        return -1;
    *number = 0;
    child = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        setpgid(0, 0);
        *number = install_filter();
        if (*number > 0)
            execvp(argv[0], argv);
        _exit(*number > 0 ? 127 : NOT_HERE);
    }
    while (child > 0 && *number == 0)
        sched_yield();
    listener = *number;
    return child > 0 && listener > 0 ? 0 : -1;
}

/* -- the decision ------------------------------------------------------ */

static bool is_counted(const struct seccomp_notif *n, const struct call *c)
{
    if (plan.class == CLASS_READ)
        return c && has_text(n, c);
    return plan.class != CLASS_WRITE ||
           (c && changes_file(n, c) && (!plan.text || has_text(n, c)));
}

/* False if the thread must not go on. */
static bool decide(const struct seccomp_notif *n, long *calls,
                   struct seccomp_notif_resp *answer)
{
    const struct call *c =
        plan.class == CLASS_READ
            ? find_call(reads, sizeof reads / sizeof *reads, n->data.nr)
            : find_call(changes, sizeof changes / sizeof *changes, n->data.nr);
    int error;

    answer->id = n->id;
    answer->flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    if (!is_counted(n, c))
        return true;
    ++*calls;
    if (*calls == plan.at || (plan.all_later && plan.at && *calls > plan.at)) {
        if (!plan.error)
            return false;
        answer->flags = 0;
        answer->error = -plan.error;
    } else if (plan.recording && c && record_call(n, c, &error)) {
        answer->flags = 0;
        answer->error = -error;
    }
    return true;
}

/* Until no process is left that the filter watches. */
static bool supervise(long *calls)
{
    struct pollfd watched = { .fd = listener, .events = POLLIN };
    bool killed = false;

    for (;;) {
        struct seccomp_notif n = { 0 };
        struct seccomp_notif_resp answer = { 0 };

        if (poll(&watched, 1, -1) < 0 && errno != EINTR)
            return killed;
        if (!(watched.revents & POLLIN)) {
            if (watched.revents & POLLHUP)
                return killed;
            continue;
        }
        if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &n) < 0)
            continue; /* it has died meanwhile */
        if (!killed && decide(&n, calls, &answer)) {
            ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer);
            continue;
        }
        killed = true;
        kill(-child, SIGKILL);
        kill((pid_t)n.pid, SIGKILL);
    }
}

/* -- main -------------------------------------------------------------- */

static int usage(void)
{
    fprintf(stderr, "usage: disturb [-c all|write|open|read] [-p TEXT] "
                    "[-n N] [-e ERROR] [-a] [-x CALL] [-r LOG] COMMAND...\n");
    return 2;
}

static bool parse_class(const char *text)
{
    for (size_t i = 0; i < sizeof class_names / sizeof *class_names; i++)
        if (strcmp(text, class_names[i]) == 0) {
            plan.class = (enum call_class)i;
            return true;
        }
    return false;
}

static bool parse_error(const char *text)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (strcmp(text, errors[i].name) == 0)
            plan.error = errors[i].value;
    return plan.error != 0;
}

static bool parse_refused(const char *text)
{
    for (size_t i = 0; i < sizeof refusable / sizeof *refusable; i++)
        if (strcmp(text, refusable[i].name) == 0)
            plan.refused = refusable[i].nr;
    return plan.refused >= 0;
}

static bool parse(int argc, char **argv)
{
    char folder[PATH_MAX];
    bool good = true;
    int c;

    while (good && (c = getopt(argc, argv, "+c:n:e:ap:r:x:")) != -1) {
        switch (c) {
        case 'c':
            good = parse_class(optarg);
            break;
        case 'n':
            plan.at = strtol(optarg, NULL, 10);
            break;
        case 'e':
            good = parse_error(optarg);
            break;
        case 'a':
            plan.all_later = true;
            break;
        case 'p':
            plan.text = optarg;
            break;
        case 'x':
            good = parse_refused(optarg);
            break;
        case 'r':
            good = getcwd(folder, sizeof folder);
            plan.recording = true;
            plan.class = CLASS_WRITE;
            record_open(optarg, folder);
            break;
        default:
            good = false;
        }
    }
    return good && optind < argc;
}

int main(int argc, char **argv)
{
    long calls = 0;
    bool killed;
    int status;

    if (!parse(argc, argv))
        return usage();
    if (plan.refused >= 0)
        return refuse(argv + optind);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    if (start(argv + optind) < 0)
        return NOT_HERE;
    killed = supervise(&calls);
    waitpid(child, &status, 0);
    /* what was killed may hold locks until it has ended */
    while (killed && wait(NULL) > 0)
        ;
    status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (plan.recording)
        record_close(status);
    if (plan.at == 0)
        fprintf(stderr, "disturb: %ld calls\n", calls);
    return killed ? KILLED : status;
}
