#include "config.h"
#include "common/spawn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/sig.h"
#include "common/path.h"

extern char **environ;

enum { IN, OUT, WORDS, STREAMS, MOST_AT_ONCE = 1 << 16 };

struct pipes {
    int ours[STREAMS], theirs[STREAMS]; /* -1 when there is no pipe */
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void pipes_close(struct pipes *p)
{
    for (int i = 0; i < STREAMS; i++) {
        close_fd(&p->ours[i]);
        close_fd(&p->theirs[i]);
    }
}

static int pipes_open(struct pipes *p, const struct spawn *s, struct err *e)
{
    const bool wanted[] = { s->in, s->out, s->words || s->quiet };

    for (int i = 0; i < STREAMS; i++)
        p->ours[i] = p->theirs[i] = -1;
    for (int i = 0; i < STREAMS; i++) {
        int fd[2];

        if (!wanted[i])
            continue;
        if (pipe2(fd, O_CLOEXEC) < 0) {
            pipes_close(p);
            return err_sys(e, "cannot create a pipe");
        }
        p->ours[i] = fd[i == IN];
        p->theirs[i] = fd[i != IN];
        fcntl(p->ours[i], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

/* Start it with the pipes as its streams and the default signals. */
static int start(pid_t *pid, const char *const *argv, const struct pipes *p,
                 struct err *e)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t writes;
    int sys;

    posix_spawn_file_actions_init(&files);
    posix_spawnattr_init(&attr);
    sig_write_errors(&writes);
    posix_spawnattr_setsigdefault(&attr, &writes);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    for (int i = 0; i < STREAMS; i++)
        if (p->theirs[i] >= 0)
            posix_spawn_file_actions_adddup2(&files, p->theirs[i], i);
    if (p->theirs[IN] < 0)
        posix_spawn_file_actions_addopen(&files, IN, "/dev/null", O_RDONLY, 0);
    sys = posix_spawnp(pid, argv[0], &files, &attr,
                       (char *const *)(uintptr_t)argv, environ);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    if (sys == 0)
        return 0;
    if (sys == ENOENT)
        return err_set(e, ERR_MISSING, "%s is not installed", argv[0]);
    errno = sys;
    return err_sys(e, "cannot start %s", argv[0]);
}

/* Never returns: a child calls the function with the pipes as its streams. */
static void call(spawn_fn *fn, void *arg, bool whole, struct pipes *p)
{
    if (whole) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == 1)
            _exit(1);
    }
    if (p->theirs[IN] < 0)
        p->theirs[IN] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (int i = 0; i < STREAMS; i++) {
        if (p->theirs[i] >= 0)
            dup2(p->theirs[i], i);
        close_fd(&p->ours[i]);
    }
    _exit(fn(arg));
}

/* Read from one of its streams; close ours at the end or on failure. */
static void read_some(int *fd, struct buf *b)
{
    ssize_t n;

    buf_room(b, MOST_AT_ONCE);
    n = read(*fd, b->s + b->len, MOST_AT_ONCE);
    if (n > 0) {
        b->len += (size_t)n;
        b->s[b->len] = '\0';
    } else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_fd(fd);
    }
}

/* Write to its standard input; it may stop reading. */
static void give(int *fd, const struct spawn *s, size_t *given)
{
    const ssize_t n =
        write(*fd, (const char *)s->in + *given, s->in_len - *given);

    if (n > 0)
        *given += (size_t)n;
    else if (n < 0 && errno != EAGAIN && errno != EINTR)
        *given = s->in_len;
    if (*given == s->in_len)
        close_fd(fd);
}

/* The last line of its messages. */
static const char *last_line(const struct spawn *s, int *n)
{
    const struct buf *words = s->words ? s->words : &s->said;
    const char *text = words->len ? words->s : "";
    size_t end = strlen(text), begin;

    while (end > 0 && strchr("\n\r ", text[end - 1]))
        end--;
    for (begin = end; begin > 0 && !strchr("\n\r", text[begin - 1]); begin--)
        ;
    while (begin < end && text[begin] == ' ')
        begin++;
    *n = (int)(end - begin);
    return text + begin;
}

char *spawn_last_line(const struct buf *words, const char *program)
{
    const struct spawn s = { .said = *words };
    const size_t name = strlen(program);
    int n;
    const char *line = last_line(&s, &n);
    const bool named = (size_t)n > name + 1 && line[name] == ':' &&
                       strncmp(line, program, name) == 0;
    const size_t skip = named ? name + 2 : 0;

    return xstrndup(line + skip, (size_t)n - skip);
}

static int too_late(const char *name, const struct spawn *s, struct err *e)
{
    int n;
    const char *line = last_line(s, &n);

    return err_set(e, ERR_SYSTEM, "%s took longer than %g s%s%.*s", name,
                   s->secs, n ? "; it said: " : "", n, line);
}

/* Wait for the end of a child without taking its status; -1 if it has to be
 * killed. */
static int await_end(pid_t pid, const char *name, const struct spawn *s,
                     double end, struct err *e)
{
    AUTO(path_close) const int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    struct pollfd p = { fd, POLLIN, 0 };
    int ret = 0, n;

    while (fd >= 0 && ret == 0 && (n = poll(&p, 1, 500)) <= 0) {
        if (s->whole && sig_caught())
            ret = err_set(e, ERR_INTERRUPTED, "%s was interrupted", name);
        else if (s->secs > 0 && clock_mono() > end)
            ret = too_late(name, s, e);
        else if (n < 0 && errno != EINTR)
            break;
    }
    return ret;
}

/* Move bytes until it has closed its streams; -1 if it has to be killed. */
static int converse(const char *name, struct pipes *p, struct spawn *s,
                    double end, struct err *e)
{
    const size_t max = s->max ? s->max : (size_t)256 << 20;
    struct buf *const to[] = { NULL, s->out, s->words ? s->words : &s->said };
    size_t given = 0;

    if (p->ours[IN] >= 0 && s->in_len == 0)
        close_fd(&p->ours[IN]);
    while (p->ours[IN] >= 0 || p->ours[OUT] >= 0 || p->ours[WORDS] >= 0) {
        const double left = s->secs > 0 ? end - clock_mono() : 3600;
        struct pollfd fds[STREAMS];

        if (left <= 0)
            return too_late(name, s, e);
        if (s->whole && sig_caught())
            return err_set(e, ERR_INTERRUPTED, "%s was interrupted", name);
        for (int i = 0; i < STREAMS; i++)
            fds[i] =
                (struct pollfd){ p->ours[i], i == IN ? POLLOUT : POLLIN, 0 };
        if (poll(fds, STREAMS, (int)((left < 1 ? left : 1) * 1000) + 1) < 0 &&
            errno != EINTR)
            return err_sys(e, "cannot communicate with %s", name);
        if (fds[IN].fd >= 0 && fds[IN].revents)
            give(&p->ours[IN], s, &given);
        for (int i = OUT; i <= WORDS; i++) {
            if (fds[i].fd < 0 || !fds[i].revents)
                continue;
            read_some(&p->ours[i], to[i]);
            if (to[i]->len > max)
                return err_set(e, ERR_SYSTEM, "%s wrote more than %zu bytes",
                               name, max);
        }
    }
    return 0;
}

/* An error with the last line of its messages, which may begin with the name of
 * the program. */
static int said(const char *name, const struct spawn *s, struct err *e)
{
    const char *own = path_name(name);
    const size_t len = strlen(own);
    int n;
    const char *line = last_line(s, &n);

    if (strncmp(line, own, len) == 0 && line[len] == ':')
        return err_set(e, ERR_SYSTEM, "%.*s", n, line);
    if (n > 0)
        return err_set(e, ERR_SYSTEM, "%s: %.*s", name, n, line);
    if (s->status > 128)
        return err_set(e, ERR_SYSTEM, "%s was killed by signal %d", name,
                       s->status - 128);
    return err_set(e, ERR_SYSTEM, "%s exited with status %d", name, s->status);
}

/* Talk to the child until it ends. */
static int attend(pid_t pid, const char *name, struct pipes *p, struct spawn *s,
                  struct err *e)
{
    const double end = clock_mono() + s->secs;
    int how = 0, ret;

    for (int i = 0; i < STREAMS; i++)
        close_fd(&p->theirs[i]);
    ret = converse(name, p, s, end, e);
    pipes_close(p);
    if (ret == 0)
        ret = await_end(pid, name, s, end, e);
    if (ret < 0)
        kill(pid, SIGKILL);
    if (s->whole)
        kill(-pid, SIGKILL); /* it was not waited for: the number is its own */
    while (waitpid(pid, &how, 0) < 0 && errno == EINTR)
        ;
    s->status = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    if (ret == 0 && s->status != 0)
        ret = said(name, s, e);
    buf_clear(&s->said);
    return ret;
}

int spawn_run(const char *const *argv, struct spawn *s, struct err *e)
{
    struct pipes p;
    pid_t pid;

    assert(argv[0]);
    if (pipes_open(&p, s, e) < 0)
        return -1;
    if (start(&pid, argv, &p, e) < 0) {
        pipes_close(&p);
        return -1;
    }
    return attend(pid, argv[0], &p, s, e);
}

int spawn_call(const char *name, spawn_fn *fn, void *arg, struct spawn *s,
               struct err *e)
{
    struct pipes p;
    pid_t pid;

    if (pipes_open(&p, s, e) < 0)
        return -1;
    fflush(stdout); /* the child must not write it, too */
    pid = fork();
    if (pid == 0)
        call(fn, arg, s->whole, &p);
    if (pid < 0) {
        pipes_close(&p);
        return err_sys(e, "cannot create a process");
    }
    return attend(pid, name, &p, s, e);
}

/* ---- groups ----------------------------------------------------------- */

pid_t spawn_group_fork(struct spawn_group *g, bool own)
{
    const pid_t parent = getpid();

    signal(SIGCHLD, SIG_DFL); /* ignored, it would lose the status */
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    *g = (struct spawn_group){ .pid = fork() };
    if (g->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != parent)
            _exit(1);
        signal(SIGPIPE, SIG_DFL);
        signal(SIGXFSZ, SIG_DFL);
    }
    if (own && g->pid >= 0)
        setpgid(g->pid, g->pid); /* in both, as either may be the first */
    g->to = own ? -g->pid : g->pid;
    return g->pid;
}

void spawn_group_signal(struct spawn_group *g, int sig, double grace)
{
    kill(g->to, sig);
    kill(g->to, SIGCONT);
    if (sig != SIGUSR1 && g->kill_at == 0)
        g->kill_at = clock_mono() + grace;
}

void spawn_group_reap(struct spawn_group *g, size_t n)
{
    int status;
    pid_t pid;

    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        for (size_t i = 0; i < n; i++)
            if (g[i].pid == pid && !g[i].waited) {
                g[i].waited = true;
                g[i].status = status;
            }
}

bool spawn_group_ended(const struct spawn_group *g)
{
    const bool late = g->kill_at > 0 && clock_mono() > g->kill_at;

    if (late)
        kill(g->to, SIGKILL);
    return g->waited && (g->kill_at == 0 || late || kill(g->to, 0) < 0);
}

char *spawn_beside(const char *name, int mode)
{
    char own[4096], *folder, *path;
    const ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

    if (n <= 0)
        return NULL;
    own[n] = '\0';
    folder = path_parent(own);
    path = path_join(folder, name);
    free(folder);
    if (access(path, mode) == 0)
        return path;
    free(path);
    return NULL;
}

char *spawn_find(const char *name, struct err *e)
{
    const char *from = getenv("PATH");
    char *beside = spawn_beside(name, X_OK);

    if (beside)
        return beside;
    while (from && *from) {
        const size_t len = strcspn(from, ":");
        char *path = xasprintf("%.*s/%s", (int)len, from, name);

        if (access(path, X_OK) == 0)
            return path;
        free(path);
        from += len + (from[len] == ':');
    }
    err_set(e, ERR_MISSING, "cannot find %s beside this program or in PATH",
            name);
    return NULL;
}
