/*
 * alert_watch - look at runs again and again, and raise their alerts
 */
#include "config.h"
#include "store/alert/alert_list.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/num.h"
#include "common/path.h"
#include "common/sig.h"

/* A store or a run that does not exist yet is no error. */
static int look(struct alert_watch *w, bool *running, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    int ret = w->load(w->arg, &runs, e);

    *running = false;
    for (size_t i = 0; ret == 0 && i < runs.n; i++)
        *running = *running || runs.run[i].status == RUN_RUNNING;
    if (ret == 0)
        ret = alert_list_look(w->list, w->root, &runs, e);
    else
        ret = err_allow(ret, ERR_MISSING, e);
    return ret;
}

int alert_watch(struct alert_watch *w, struct err *e)
{
    enum { HOUR = 3600 };
    const double every = w->every > 0         ? w->every
                         : w->list->every > 0 ? w->list->every
                                              : 10;
    double ended = 0;

    for (;;) {
        struct timespec next;
        bool running;
        const int ret = look(w, &running, e);

        if ((ret < 0 && e->kind == ERR_USAGE) || w->once || sig_caught())
            return ret;
        if (running || ended == 0)
            ended = clock_mono();
        if (w->to_end && !running && (ret == 0 || clock_mono() - ended > HOUR))
            return ret;
        if (ret < 0)
            log_warn("%s; trying again", e->text);
        *e = (struct err){ 0 };
        next = clock_after(CLOCK_MONOTONIC, every);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
        if (sig_caught())
            return 0;
    }
}

/* ---- the process of a writer ------------------------------------------- */

/* A reader at the other end of a pipe of the program waits for its end only. */
static void close_others(int fd)
{
    AUTO(path_list_clear) struct path_list open = { 0 };
    int64_t other;

    path_list(&open, "/proc/self/fd", ERR_IGNORED);
    for (size_t i = 0; i < open.n; i++)
        if (num_int(open.name[i], &other) && other > 2 && other != fd)
            close((int)other);
}

struct told {
    char *root, *id;
};

static int load_told(void *arg, struct runs *runs, struct err *e)
{
    struct told *t = arg;

    return runs_load_ids(runs, t->root, &t->id, 1, 0, e);
}

/* Wait for the folder of the run, ROOT/EXPERIMENT/RUN; nothing comes if no run
 * has begun. */
static void watch_told(struct alert_list *list, int fd)
{
    struct told t;
    struct alert_watch w = {
        .list = list, .to_end = true, .load = load_told, .arg = &t
    };
    FILE *fp = fdopen(fd, "r");
    char *folder = NULL;
    size_t room = 0;

    if (!fp || getdelim(&folder, &room, '\0', fp) <= 0)
        return;
    t.root = path_parent(path_parent(folder));
    t.id = strdup(path_name(folder));
    w.root = t.root;
    prctl(PR_SET_NAME, "gtrack-alert");
    sig_watch();
    alert_watch(&w, ERR_IGNORED);
}

/* The process is a child of init, so that nobody has to wait for its end. */
static int fork_twice(struct alert_list *list, const int end[2], struct err *e)
{
    const pid_t pid = fork();

    if (pid == 0) {
        close_others(end[0]);
        if (daemon(1, 0) == 0)
            watch_told(list, end[0]);
        _exit(0);
    }
    if (pid < 0)
        return err_sys(e, "cannot fork");
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        ;
    return 0;
}

void alert_writer_fork(struct alert_writer *a)
{
    const char *file = getenv("GTRACK_ALERTS");
    AUTO(alert_list_clear) struct alert_list list = { 0 };
    int end[2];

    *a = (struct alert_writer){ -1, { 0 } };
    if (!file || !*file)
        return;
    if (alert_list_read(&list, &a->problem) == 0 &&
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) < 0) {
        err_sys(&a->problem, "cannot create a socket");
    } else if (a->problem.kind == ERR_NONE) {
        if (fork_twice(&list, end, &a->problem) == 0)
            a->fd = end[1];
        else
            close(end[1]);
        close(end[0]);
    }
}

void alert_writer_begin(struct alert_writer *a, const char *folder)
{
    if (folder && a->fd >= 0 &&
        send(a->fd, folder, strlen(folder) + 1, MSG_NOSIGNAL) < 0)
        err_sys(&a->problem, "their process has ended");
    if (folder && a->problem.kind != ERR_NONE)
        log_warn("no alerts are raised for this run: %s", a->problem.text);
    if (a->fd >= 0)
        close(a->fd);
    a->fd = -1;
}
