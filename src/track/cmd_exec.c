#include "config.h"
#include "track/cmds.h"
#include "track/runs/track.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/sig.h"
#include "store/run.h"
#include "track/runs/points.h"

extern char **environ;

static const char *experiment, *name;
static struct opt_list params, tags;
static bool silent;

static const struct opt exec_opts[] = {
    TRACK_OPTS,
    { 'e', "experiment", "name", OPT_STRING, &experiment,
      "create the run in this experiment (default: Default)" },
    { 0, "name", "name", OPT_STRING, &name,
      "give the run this name (default: run1, run2, ...)" },
    { 'p', "param", "key=value", OPT_LIST, &params,
      "set a parameter of the run; may be given many times" },
    { 't', "tag", "key=value", OPT_LIST, &tags,
      "set a tag of the run; may be given many times" },
    { 0, "silent", NULL, OPT_FLAG, &silent,
      "save the output of the command, but do not show it" },
    { 0 }
};

/* What a program writes on one stream: shown, kept, and looked at for
 * values, line by line. */
struct stream {
    int fd, shown;
    FILE *kept;
    struct buf line;
};

struct session {
    struct run *run;
    struct stream stream[2];
    struct values values;
    int64_t step;
    pid_t pid;
};

static void look(struct session *s, const char *line)
{
    if (!values_line(&s->values, line))
        return;
    s->step = s->values.step >= 0 ? s->values.step : s->step + 1;
    for (size_t i = 0; i < s->values.n; i++)
        run_metric(s->run, s->values.item[i].key, s->step,
                   s->values.item[i].value);
}

static void show(int fd, const char *data, size_t n)
{
    while (n > 0) {
        const ssize_t done = write(fd, data, n);

        if (done < 0 && errno != EINTR)
            return; /* who reads us has gone; the program goes on */
        if (done > 0) {
            data += done;
            n -= (size_t)done;
        }
    }
}

enum { LONGEST_LINE = 1 << 20 };

static void take(struct session *s, struct stream *in)
{
    char chunk[65536];
    const ssize_t n = read(in->fd, chunk, sizeof chunk);

    if (n <= 0) {
        if (n < 0 && errno == EINTR)
            return;
        close(in->fd);
        in->fd = -1;
        if (in->line.len)
            look(s, in->line.s);
        return;
    }
    if (!silent)
        show(in->shown, chunk, (size_t)n);
    if (in->kept)
        fwrite(chunk, 1, (size_t)n, in->kept);
    for (ssize_t i = 0; i < n; i++) {
        if (chunk[i] != '\n' && chunk[i] != '\r') {
            if (in->line.len < LONGEST_LINE)
                buf_char(&in->line, chunk[i] ? chunk[i] : ' ');
            continue;
        }
        look(s, in->line.s);
        buf_trim(&in->line, 0);
    }
}

static int start(struct session *s, char **argv, struct err *e)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t fresh;
    int out[2], words[2], error;

    if (pipe2(out, O_CLOEXEC) < 0)
        return err_sys(e, "cannot make a pipe");
    if (pipe2(words, O_CLOEXEC) < 0) {
        close(out[0]);
        close(out[1]);
        return err_sys(e, "cannot make a pipe");
    }
    sig_write_errors(&fresh);
    posix_spawnattr_init(&attr);
    posix_spawnattr_setsigdefault(&attr, &fresh);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGDEF);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, words[1], STDERR_FILENO);
    setenv("GTRACK_RUN_ID", run_id(s->run), 1);
    error = posix_spawnp(&s->pid, argv[0], &files, &attr, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attr);
    close(out[1]);
    close(words[1]);
    s->stream[0].fd = out[0];
    s->stream[1].fd = words[0];
    if (error == 0)
        return 0;
    close(out[0]);
    close(words[0]);
    errno = error;
    err_sys(e, "cannot run %s", argv[0]);
    if (error == ENOENT)
        e->kind = ERR_MISSING;
    return -1;
}

/* Read both streams until they end; a signal is passed on. */
static void follow(struct session *s)
{
    int passed = 0;

    while (s->stream[0].fd >= 0 || s->stream[1].fd >= 0) {
        struct pollfd p[2] = { { s->stream[0].fd, POLLIN, 0 },
                               { s->stream[1].fd, POLLIN, 0 } };

        poll(p, 2, 1000);
        if (sig_caught() && sig_caught() != passed) {
            passed = sig_caught();
            kill(s->pid, passed);
        }
        for (int i = 0; i < 2; i++)
            if (s->stream[i].fd >= 0 && p[i].revents)
                take(s, &s->stream[i]);
    }
}

static FILE *keep(struct run *run, const char *file)
{
    char *path = run_artifact(run, file);
    FILE *fp = fopen(path, "we");

    if (!fp)
        log_warn("cannot keep %s: %s", path, strerror(errno));
    free(path);
    return fp;
}

/* The command as a shell would take it. */
static char *command_line(int argc, char **argv)
{
    struct buf b = BUF_INIT;

    for (int i = 0; i < argc; i++) {
        const char *safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX"
                           "YZ0123456789_-./=:,+@%";

        buf_str(&b, i ? " " : "");
        if (argv[i][0] && strspn(argv[i], safe) == strlen(argv[i]))
            buf_str(&b, argv[i]);
        else
            buf_shell_word(&b, argv[i]);
    }
    return buf_detach(&b);
}

static void note_end(struct run *run, int status, double secs)
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

/* Our status is the command's, as far as we have one like it. */
static enum err_kind kind_of(int code)
{
    for (int kind = ERR_SYSTEM; kind <= ERR_INTERRUPTED; kind++)
        if (err_status((enum err_kind)kind) == code)
            return (enum err_kind)kind;
    return ERR_SYSTEM;
}

static int watch(struct session *s, char **argv, struct err *e)
{
    const double begun = clock_mono();
    enum run_status status;
    int how = 0, code;

    s->stream[0].shown = STDOUT_FILENO;
    s->stream[1].shown = STDERR_FILENO;
    s->stream[0].kept = keep(s->run, "stdout.txt");
    s->stream[1].kept = keep(s->run, "stderr.txt");
    sig_watch();
    if (start(s, argv, e) < 0) {
        struct err ignored = ERR_INIT;

        run_end(s->run, RUN_FAILED, &ignored);
        return -1;
    }
    follow(s);
    while (waitpid(s->pid, &how, 0) < 0 && errno == EINTR)
        ;
    code = WIFSIGNALED(how) ? 128 + WTERMSIG(how) : WEXITSTATUS(how);
    status = code == 0                          ? RUN_FINISHED
             : code == 75                       ? RUN_PREEMPTED
             : WIFSIGNALED(how) || sig_caught() ? RUN_KILLED
                                                : RUN_FAILED;
    note_end(s->run, code, clock_mono() - begun);
    if (run_end(s->run, status, e) < 0)
        return -1;
    if (code == 0)
        return 0;
    if (WIFSIGNALED(how))
        return err_set(e, ERR_SYSTEM, "%s was ended by signal %d", argv[0],
                       WTERMSIG(how));
    return err_set(e, kind_of(code), "%s ended with status %d", argv[0], code);
}

static int exec_main(int argc, char **argv, struct err *e)
{
    struct session s = { .step = -1, .values = VALUES_INIT };
    struct run_conf c = { .root = track_store(),
                          .experiment = experiment,
                          .name = name };
    char *command;
    int ret;

    if (track_words(argc, 1, -1, "exec [OPTION]... -- COMMAND...", e) < 0)
        return -1;
    if (track_check_pairs(&params, e) < 0 || track_check_pairs(&tags, e) < 0)
        return -1;
    command = command_line(argc, argv);
    c.command = command;
    ret = run_begin(&s.run, &c, e);
    if (ret == 0) {
        track_put_pairs(s.run, &params, run_param);
        track_put_pairs(s.run, &tags, run_tag);
        log_info("run %s", run_name(s.run));
        ret = watch(&s, argv, e);
    }
    for (int i = 0; i < 2; i++) {
        if (s.stream[i].kept)
            fclose(s.stream[i].kept);
        buf_clear(&s.stream[i].line);
    }
    values_clear(&s.values);
    free(command);
    return ret;
}

const struct cmd cmd_exec = {
    .name = "exec",
    .args = "-- COMMAND...",
    .help = "run a command and record it as a run",
    .opts = exec_opts,
    .run = exec_main,
};
