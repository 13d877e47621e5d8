#include "config.h"
#include "trainer/replay/rehearse_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/sig.h"

/* Seconds until a program that does not end is killed. */
static const double PATIENCE = 120;

/* In the child: streams, limits and signals, then the program. */
static void become(const char *const *argv, int log, int64_t most)
{
    const struct rlimit limit = { (rlim_t)most, (rlim_t)most };
    const int in = open("/dev/null", O_RDONLY);
    sigset_t writes, none;

    sigemptyset(&none);
    sig_write_errors(&writes);
    for (int sig = 1; sig < NSIG; sig++)
        if (sigismember(&writes, sig) == 1)
            signal(sig, SIG_DFL);
    sigprocmask(SIG_SETMASK, &none, NULL);
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (in < 0 || dup2(in, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 ||
        (most > 0 && setrlimit(RLIMIT_FSIZE, &limit) < 0))
        _exit(126);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

int rehearse_start(struct rehearse_child *c, const char *const *argv,
                   const char *log, int64_t most, struct err *e)
{
    const int fd =
        open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);

    if (fd < 0)
        return err_sys(e, "cannot create %s", log);
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    c->start = clock_mono();
    c->pid = fork();
    if (c->pid == 0)
        become(argv, fd, most);
    close(fd);
    return c->pid < 0 ? err_sys(e, "cannot start %s", argv[0]) : 0;
}

/* Has it ended?  It stays a zombie, for rehearse_end(). */
static bool has_ended(pid_t pid)
{
    siginfo_t info = { 0 };

    return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0 ||
           info.si_pid == pid;
}

bool rehearse_wait(const struct rehearse_child *c)
{
    clock_pause(0.02);
    return !has_ended(c->pid) && clock_mono() < c->start + PATIENCE &&
           !sig_caught();
}

/* ---- signals ---------------------------------------------------------- */

/* The children of a process, in the order in which they were started. */
static size_t list_children(pid_t pid, pid_t *out, size_t most)
{
    char *path = xasprintf("/proc/%d/task/%d/children", (int)pid, (int)pid);
    struct buf text = BUF_INIT;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;

    if (buf_read_open(&text, fd, path, 1 << 20, ERR_IGNORED) == 0)
        for (char *at = text.s, *end; n < most; at = end) {
            const long child = strtol(at, &end, 10);

            if (end == at)
                break;
            out[n++] = (pid_t)child;
        }
    buf_clear(&text);
    free(path);
    return n;
}

static void signal_children(pid_t pid, size_t from, size_t to, int sig)
{
    pid_t child[1024];
    const size_t n = list_children(pid, child, to);

    for (size_t i = from; i < n; i++)
        kill(child[i], sig);
}

void rehearse_signal(const struct rehearse_child *c, enum rehearse_target to,
                     int sig)
{
    if (to == REHEARSE_RANK)
        signal_children(c->pid, 1, 2, sig);
    if (to == REHEARSE_ALL)
        signal_children(c->pid, 0, 1024, sig);
    if (to != REHEARSE_RANK)
        kill(c->pid, sig);
}

/* ---- the end ---------------------------------------------------------- */

/* Wait for the orphans of a program, which are children of this process. */
static void reap_orphans(double end)
{
    pid_t pid;

    while ((pid = waitpid(-1, NULL, WNOHANG)) >= 0 || errno == EINTR) {
        if (clock_mono() > end)
            signal_children(getpid(), 0, 1024, SIGKILL);
        if (pid == 0)
            clock_pause(0.02);
    }
}

int rehearse_end(const struct rehearse_child *c)
{
    const double end = clock_mono() + PATIENCE;
    int how = 0;

    while (!has_ended(c->pid)) {
        if (clock_mono() > end || sig_caught())
            rehearse_signal(c, REHEARSE_ALL, SIGKILL);
        clock_pause(0.02);
    }
    while (waitpid(c->pid, &how, 0) < 0 && errno == EINTR)
        ;
    reap_orphans(end);
    return WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
}
