#include "config.h"
#include "trainer/search/child_pool.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/sig.h"

struct slot {
    pid_t pid;                  /* 0: free */
    size_t job;
};

/* Devices first to first + n - 1 of those this process may use. */
static void set_devices(int first, int n)
{
    const char *seen = getenv("CUDA_VISIBLE_DEVICES");
    struct buf list = BUF_INIT;
    int at = 0;

    if (!seen) {
        for (int i = 0; i < n; i++)
            buf_printf(&list, "%s%d", i ? "," : "", first + i);
    }
    for (; seen && *seen; at++) {
        const size_t len = strcspn(seen, ",");

        if (at >= first && at < first + n)
            buf_printf(&list, "%s%.*s", list.len ? "," : "", (int)len, seen);
        seen += len + (seen[len] == ',');
    }
    setenv("CUDA_VISIBLE_DEVICES", list.s, 1);
    buf_clear(&list);
}

static void set_threads(int parallel)
{
    char text[16];
    cpu_set_t set;
    int cores = 1;

    if (parallel < 2)
        return;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        cores = CPU_COUNT(&set);
    snprintf(text, sizeof text, "%d", cores / parallel ? cores / parallel : 1);
    setenv("OMP_NUM_THREADS", text, 0);
}

/* In the child: never returns. */
static void become(const struct queue *q, int slot, char **words,
                   const char *log, pid_t parent)
{
    const int out = open(log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    const int in = open("/dev/null", O_RDONLY);

    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent || out < 0 || in < 0)
        _exit(1);
    setpgid(0, 0);              /* a terminal's ^C comes through us */
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    set_threads(q->parallel);
    if (q->gpus > 0)
        set_devices(slot * q->gpus, q->gpus);
    execv("/proc/self/exe", words);
    _exit(127);
}

static int start(const struct queue *q, struct slot *s, int number, size_t i,
                 struct err *e)
{
    char *log = NULL, **words = q->start(q->arg, i, &log), **argv;
    const pid_t parent = getpid();
    size_t n = 0;

    while (words[n])
        n++;
    argv = xcalloc(n + 2, sizeof *argv);
    argv[0] = xstrdup("gtrain");
    memcpy(argv + 1, words, n * sizeof *argv);
    s->job = i;
    s->pid = fork();
    if (s->pid == 0)
        become(q, number, argv, log, parent);
    for (size_t w = 0; w <= n; w++)
        free(argv[w]);
    free(argv);
    free(words);
    free(log);
    if (s->pid < 0) {
        s->pid = 0;
        return err_sys(e, "cannot start another process");
    }
    return 0;
}

static void end_all(const struct slot *slot, int n)
{
    for (int i = 0; i < n; i++)
        if (slot[i].pid > 0)
            kill(slot[i].pid, SIGTERM);
}

int queue_run(const struct queue *q, struct err *e)
{
    const int n = q->parallel < 1 ? 1 : q->parallel;
    struct slot *slot = xcalloc((size_t)n, sizeof *slot);
    static const struct timespec moment = { .tv_nsec = 50000000 };
    size_t next = 0;
    int running = 0, ret = 0;
    bool told = false;

    sig_watch();
    while (running > 0 || (ret == 0 && next < q->n && !sig_caught())) {
        int status, at = 0;
        pid_t gone;

        while (ret == 0 && running < n && next < q->n && !sig_caught()) {
            while (slot[at].pid != 0)
                at++;
            ret = start(q, &slot[at], at, next++, e);
            running += ret == 0;
        }
        if (running == 0)
            break;
        gone = waitpid(-1, &status, WNOHANG);
        if ((sig_caught() || ret < 0) && !told) {
            end_all(slot, n);
            told = true;
        }
        if (gone <= 0) {
            nanosleep(&moment, NULL);
            continue;
        }
        for (at = 0; at < n && slot[at].pid != gone; at++)
            ;
        if (at == n)
            continue;
        slot[at].pid = 0;
        running--;
        q->ended(q->arg, slot[at].job,
                 WIFEXITED(status) ? WEXITSTATUS(status)
                                   : 128 + WTERMSIG(status));
    }
    free(slot);
    if (ret == 0 && sig_caught())
        ret = err_set(e, ERR_STOPPED,
                      "stopped by a signal; the same command goes on");
    return ret;
}
