/*
 * gtrack exec - run a command and record it as a run
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/format/secret.h"
#include "common/log.h"
#include "common/opt.h"
#include "common/sig.h"
#include "common/spawn.h"
#include "store/write/run.h"
#include "store/write/run_output.h"
#include "track/runs/value_line.h"
#include "track/runs/track.h"

static struct track_new_run new_run;
static const char *name;
static double grace = 60;

static const struct opt exec_opts[] = {
    TRACK_OPT_ROOT,
    TRACK_OPTS_NEW_RUN(new_run),
    { 0, "name", "name", OPT_STRING, &name,
      "give the run this name (default: run1, run2, ...)" },
    { 0, "grace", "secs", OPT_REAL, &grace,
      "kill what a signal has not stopped after SECS seconds (default: 60)" },
    { 0 }
};

/* An output stream of the command, which is shown, saved, and searched for
 * values line by line. */
struct stream {
    int fd, shown;
    struct run_output file;
    struct buf line;
};

struct child {
    struct run *run;
    struct stream stream[2];
    struct err unshown; /* why output could not be shown */
    struct value_line values;
    int64_t step;
    struct spawn_group group;
    bool in_front; /* the terminal sends it signals, too */
    bool stopped;  /* by SIGINT, which a person sends */
    int signal;    /* the last one that was passed on */
};

static void log_values(struct child *child, const char *line)
{
    if (!value_line_parse(&child->values, line))
        return;
    child->step =
        child->values.step >= 0 ? child->values.step : child->step + 1;
    for (size_t i = 0; i < child->values.n; i++)
        run_metric(child->run, child->values.item[i].key, child->step,
                   child->values.item[i].value);
}

static void show(struct child *child, int fd, const char *data, size_t n)
{
    struct pollfd ready = { fd, POLLOUT, 0 };

    while (n > 0) {
        const ssize_t done = write(fd, data, n);

        if (done < 0 && errno == EAGAIN) {
            if (poll(&ready, 1, -1) < 0)
                clock_pause(0.01);
        } else if (done < 0 && errno != EINTR) {
            break;
        }
        if (done > 0) {
            data += done;
            n -= (size_t)done;
        }
    }
    if (n > 0 && errno != EPIPE) /* our reader may go: the command continues */
        err_sys(&child->unshown, "cannot write standard %s",
                fd == STDOUT_FILENO ? "output" : "error");
}

enum { MAX_LINE = 1 << 20 };

static void close_stream(struct child *child, struct stream *in)
{
    if (in->fd < 0)
        return;
    close(in->fd);
    in->fd = -1;
    if (in->line.len)
        log_values(child, in->line.s);
}

static void read_stream(struct child *child, struct stream *in)
{
    char chunk[65536]; /* all that a pipe holds */
    const ssize_t n = read(in->fd, chunk, sizeof chunk);

    if (n <= 0) {
        if (n == 0 || (errno != EINTR && errno != EAGAIN))
            close_stream(child, in);
        return;
    }
    show(child, in->shown, chunk, (size_t)n);
    run_output_write(&in->file, chunk, (size_t)n);
    for (ssize_t i = 0; i < n; i++) {
        if (chunk[i] != '\n' && chunk[i] != '\r') {
            if (in->line.len < MAX_LINE)
                buf_char(&in->line, chunk[i] ? chunk[i] : ' ');
            continue;
        }
        log_values(child, in->line.s);
        buf_trim(&in->line, 0);
    }
}

enum { OUT, ERR, FAILED, PIPES };

/* Write what failed to the pipe, which execvp() closes otherwise. */
static void become_command(int pipes[PIPES][2], char **argv)
{
    ssize_t told;

    dup2(pipes[OUT][1], STDOUT_FILENO);
    dup2(pipes[ERR][1], STDERR_FILENO);
    execvp(argv[0], argv);
    told = write(pipes[FAILED][1], &errno, sizeof errno);
    _exit(told < 0 ? 126 : 127);
}

static int start_command(struct child *child, char **argv, struct err *e)
{
    int pipes[PIPES][2], error = 0;

    for (int i = 0; i < PIPES; i++)
        if (pipe2(pipes[i], O_CLOEXEC) < 0)
            return err_sys(e, "cannot create a pipe");
    setenv("GTRACK_RUN_ID", run_id(child->run), 1);
    if (spawn_group_fork(&child->group, !child->in_front) == 0)
        become_command(pipes, argv);
    if (child->group.pid < 0)
        error = errno;
    for (int i = 0; i < PIPES; i++)
        close(pipes[i][1]);
    if (error || read(pipes[FAILED][0], &error, sizeof error) > 0) {
        errno = error;
        err_sys(e, "cannot run %s", argv[0]);
        e->kind = ERR_COMMAND;
        e->sys = error == ENOENT ? 127 : 126; /* as in a shell */
        return -1;
    }
    close(pipes[FAILED][0]);
    for (int i = 0; i < 2; i++) {
        child->stream[i].fd = pipes[i][0];
        fcntl(pipes[i][0], F_SETFL, O_NONBLOCK);
    }
    return 0;
}

/* The command gets ^C from the terminal itself. */
static void pass_signal(struct child *child)
{
    const int sig = sig_caught();

    if (!sig)
        return;
    sig_reset();
    child->stopped |= sig == SIGINT;
    if (sig == SIGINT && child->in_front)
        return;
    spawn_group_signal(&child->group, sig, grace);
    child->signal = sig;
}

/* Read both streams until the command ends, whoever else has them. */
static void read_streams(struct child *child)
{
    const int end = (int)syscall(SYS_pidfd_open, child->group.pid, 0);
    bool ended = false;

    while (!ended) {
        struct pollfd p[] = { { child->stream[0].fd, POLLIN, 0 },
                              { child->stream[1].fd, POLLIN, 0 },
                              { child->group.waited ? -1 : end, POLLIN, 0 } };

        if (poll(p, 3, child->signal || end < 0 ? 100 : 1000) < 0 &&
            errno != EINTR)
            clock_pause(0.1);
        pass_signal(child);
        spawn_group_reap(&child->group, 1);
        ended = spawn_group_ended(&child->group);
        for (int i = 0; i < 2; i++)
            if (child->stream[i].fd >= 0)
                read_stream(child, &child->stream[i]);
    }
    for (int i = 0; i < 2; i++)
        close_stream(child, &child->stream[i]);
    if (end >= 0)
        close(end);
}

static void log_end(struct run *run, int status, double secs)
{
    struct rusage used;
    char text[32];

    snprintf(text, sizeof text, "%d", status);
    run_tag(run, "gtrack.exit_status", text);
    run_metric(run, "exec/wall_s", 0, secs);
    if (getrusage(RUSAGE_CHILDREN, &used) < 0)
        return;
    run_metric(run, "exec/user_s", 0,
               (double)used.ru_utime.tv_sec +
                   (double)used.ru_utime.tv_usec / 1e6);
    run_metric(run, "exec/system_s", 0,
               (double)used.ru_stime.tv_sec +
                   (double)used.ru_stime.tv_usec / 1e6);
    run_metric(run, "exec/max_rss_bytes", 0, (double)used.ru_maxrss * 1024);
}

/* An error that makes gtrack end as the command did. */
static int command_failed(const char *command, int wait_status, struct err *e)
{
    if (WIFSIGNALED(wait_status)) {
        err_set(e, ERR_COMMAND, "%s was killed by signal %d", command,
                WTERMSIG(wait_status));
        e->sys = -WTERMSIG(wait_status);
    } else {
        err_set(e, ERR_COMMAND, "%s exited with status %d", command,
                WEXITSTATUS(wait_status));
        e->sys = WEXITSTATUS(wait_status);
    }
    return -1;
}

static int run_command(struct child *child, char **argv, struct err *e)
{
    const double begun = clock_mono();
    enum run_status status;
    int wait_status, code;

    child->stream[0].shown = STDOUT_FILENO;
    child->stream[1].shown = STDERR_FILENO;
    run_output_open(&child->stream[0].file, child->run, "stdout.txt");
    run_output_open(&child->stream[1].file, child->run, "stderr.txt");
    child->in_front = tcgetpgrp(STDIN_FILENO) == getpgrp();
    sig_watch();
    if (start_command(child, argv, e) < 0) {
        run_end(child->run, RUN_FAILED, ERR_IGNORED);
        return -1;
    }
    read_streams(child);
    wait_status = child->group.status;
    code = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status)
                                    : WEXITSTATUS(wait_status);
    status = code == 0                                   ? RUN_FINISHED
             : code == 75 && child->stopped              ? RUN_STOPPED
             : code == 75                                ? RUN_PREEMPTED
             : WIFSIGNALED(wait_status) || child->signal ? RUN_KILLED
                                                         : RUN_FAILED;
    log_end(child->run, code, clock_mono() - begun);
    for (int i = 0; i < 2; i++)
        run_output_close(&child->stream[i].file);
    if (run_end(child->run, status, e) < 0)
        return -1;
    if (code)
        return command_failed(argv[0], wait_status, e);
    *e = child->unshown;
    return e->kind == ERR_NONE ? 0 : -1;
}

static int exec_main(int argc, char **argv, struct err *e)
{
    struct child child = { .step = -1,
                           .values = VALUE_LINE_INIT,
                           .stream = { { .line = BUF_INIT },
                                       { .line = BUF_INIT } } };
    struct run_conf c = { .name = name };
    AUTO(buf_clear) struct buf command = BUF_INIT;
    int ret;

    if (track_check_args(argc, argv, 1, -1, e) < 0)
        return -1;
    secret_mask_command(&command, argc, argv);
    c.command = command.s;
    ret = track_begin_run(&child.run, &c, &new_run, e);
    if (ret == 0) {
        log_info("run %s", run_name(child.run));
        ret = run_command(&child, argv, e);
    }
    for (int i = 0; i < 2; i++)
        buf_clear(&child.stream[i].line);
    value_line_clear(&child.values);
    return ret;
}

const struct cmd cmd_exec = {
    .name = "exec",
    .args = "-- COMMAND...",
    .help = "run a command and record it as a run",
    .opts = exec_opts,
    .run = exec_main,
};
