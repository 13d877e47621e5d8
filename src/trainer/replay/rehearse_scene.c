#include "config.h"
#include "trainer/replay/rehearse_scene.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/sig.h"
#include "common/spawn.h"
#include "common/format/source_list.h"
#include "data/shards/loader.h"
#include "trainer/checkpoint/checkpoint_find.h"

/* ---- a program that is disturbed while it runs ------------------------ */

/*
 * The program and its own children, which are the ranks of a job, become
 * children of this process if their parent dies, so that rehearse_end() can
 * wait for all of them.
 */
enum rehearse_target { REHEARSE_PROGRAM, REHEARSE_RANK /* 1 */, REHEARSE_ALL };

/* Seconds until a program that does not end is killed. */
static const double PATIENCE = 120;

/* In the child: streams and limits, then the program. */
static void become(const char *const *argv, int log, int64_t most)
{
    const struct rlimit limit = { (rlim_t)most, (rlim_t)most };
    const int in = open("/dev/null", O_RDONLY);

    if (in < 0 || dup2(in, 0) < 0 || dup2(log, 1) < 0 || dup2(log, 2) < 0 ||
        (most > 0 && setrlimit(RLIMIT_FSIZE, &limit) < 0))
        _exit(126);
    execv(argv[0], (char *const *)(uintptr_t)argv);
    _exit(127);
}

/* The output goes to the file `log`.  The program's files may have at most so
 * many bytes; 0 is no limit. */
static int rehearse_start(struct spawn_group *g, const char *const *argv,
                          const char *log, int64_t most, struct err *e)
{
    const int fd =
        open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);

    if (fd < 0)
        return err_sys(e, "cannot create %s", log);
    if (spawn_group_fork(g, true) == 0)
        become(argv, fd, most);
    close(fd);
    return g->pid < 0 ? err_sys(e, "cannot start %s", argv[0]) : 0;
}

/* Wait for a moment; false if the program has ended. */
static bool is_running(struct spawn_group *g)
{
    clock_pause(0.02);
    spawn_group_reap(g, 1);
    return !g->waited;
}

/* The children of a process, in the order in which they were started. */
static size_t list_children(pid_t pid, pid_t *out, size_t most)
{
    AUTO_FREE char *path =
        xasprintf("/proc/%d/task/%d/children", (int)pid, (int)pid);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;

    if (buf_read_open(&text, fd, path, 1 << 20, ERR_IGNORED) == 0)
        for (char *at = text.s, *end; n < most; at = end) {
            const long child = strtol(at, &end, 10);

            if (end == at)
                break;
            out[n++] = (pid_t)child;
        }
    return n;
}

static void signal_children(pid_t pid, size_t from, size_t to, int sig)
{
    pid_t child[1024];
    const size_t n = list_children(pid, child, to);

    for (size_t i = from; i < n; i++)
        kill(child[i], sig);
}

static void rehearse_signal(const struct spawn_group *g,
                            enum rehearse_target to, int sig)
{
    if (to == REHEARSE_RANK)
        signal_children(g->pid, 1, 2, sig);
    if (to == REHEARSE_ALL)
        signal_children(g->pid, 0, 1024, sig);
    if (to != REHEARSE_RANK && !g->waited)
        kill(g->pid, sig);
}

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

/* The exit status of the program, or 128 plus the signal that ended it, when
 * all its processes have ended. */
static int rehearse_end(struct spawn_group *g)
{
    const double end = clock_mono() + PATIENCE;

    while (is_running(g))
        if (clock_mono() > end || sig_caught())
            rehearse_signal(g, REHEARSE_ALL, SIGKILL);
    reap_orphans(end);
    return WIFSIGNALED(g->status) ? 128 + WTERMSIG(g->status)
                                  : WEXITSTATUS(g->status);
}

enum { EVERY = 4 }; /* steps between checkpoints */

/* ---- the settings ----------------------------------------------------- */

static void set_number(struct rehearsal *r, const char *key, int64_t value)
{
    path_list_add(&r->sets, xasprintf("%s=%" PRId64, key, value));
}

void rehearsal_shrink(struct rehearsal *r)
{
    static const char *const same[] = {
        "data.stride=0",        "train.micro_batch=1", "train.ramp_from=0",
        "train.max_time=0s",    "train.stop_at=0",     "schedule.steps=1000000",
        "schedule.warmup=2",    "schedule.decay=20%",  "schedule.cycle=0",
        "schedule.timescale=0", "eval.sequences=4",    "eval.stride=0",
        "eval.patience=0",      "eval.tasks_limit=2",  "sample.tokens=4",
        "checkpoint.last=yes",  "run.log_every=1",     "run.system_every=0s",
        "run.tensorboard=",     "run.parent=",         "model.head_dim=0",
    };
    const struct settings *s = &r->set;
    const struct model_settings *m = &s->model;
    /* fp8 requires a multiple of 16 */
    const int64_t width = (s->train.fp8 == FP8_OFF ? 8 : 16) * m->heads;

    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        path_list_add(&r->sets, xstrdup(same[i]));
    set_number(r, "model.layers", m->layers > 1 ? 2 : 1);
    set_number(r, "model.heads", m->heads);
    set_number(r, "model.kv_heads", m->kv_heads);
    set_number(r, "model.width", width);
    set_number(r, "model.d_ff", 2 * width);
    set_number(r, "model.context", m->context < 64 ? m->context : 64);
    set_number(r, "train.batch", 2 * r->ranks);
    set_number(r, "train.ramp", s->train.ramp.n > 0 ? EVERY : 0);
    set_number(r, "checkpoint.every", EVERY);
    if (s->eval.every.n > 0)
        set_number(r, "eval.every", EVERY);
    if (s->eval.tasks_every.n > 0)
        set_number(r, "eval.tasks_every", EVERY);
    if (s->sample.every.n > 0)
        set_number(r, "sample.every", EVERY);
    if (r->ranks == 1) /* an allocation of Slurm may be for several */
        path_list_add(&r->sets, xstrdup("parallel.launcher=none"));
}

/* ---- starting and resuming -------------------------------------------- */

static void add_words(struct path_list *argv, const char *option,
                      const char *value)
{
    path_list_add(argv, xstrdup(option));
    path_list_add(argv, xstrdup(value));
}

static char *folder_of(const struct rehearsal *r, const char *scene)
{
    return path_join(r->checkpoints, scene);
}

/* `more` are assignments of this scene, ended by NULL; no file may have more
 * than `most` bytes, if that is not 0. */
static int start_training(struct rehearsal *r, struct spawn_group *g,
                          const char *scene, const char *const *more,
                          int64_t most, struct err *e)
{
    AUTO(path_list_clear) struct path_list argv = { 0 };
    AUTO_FREE char *folder = folder_of(r, scene);
    AUTO_FREE char *own = xasprintf("checkpoint.folder=%s", folder);
    char count[NUM_TEXT];

    path_list_add(&argv, xstrdup(r->program));
    add_words(&argv, "--config", r->config);
    for (size_t i = 0; i < r->given->n; i++)
        add_words(&argv, "--set", r->given->item[i]);
    for (size_t i = 0; i < r->sets.n; i++)
        add_words(&argv, "--set", r->sets.name[i]);
    add_words(&argv, "--set", own);
    for (int i = 0; more[i]; i++)
        add_words(&argv, "--set", more[i]);
    add_words(&argv, "--root", r->store);
    add_words(&argv, "--name", scene);
    add_words(&argv, "--resume", "auto");
    snprintf(count, sizeof count, "%" PRId64, r->ranks);
    if (r->ranks > 1)
        add_words(&argv, "--ranks", count);
    path_list_add(&argv, NULL);
    return rehearse_start(g, (const char *const *)argv.name, r->log, most, e);
}

/* Start and wait for the end; the exit status, or -1. */
static int run_to_end(struct rehearsal *r, const char *scene,
                      const char *const *more, int64_t most)
{
    struct spawn_group g;
    struct err e = { 0 };

    return start_training(r, &g, scene, more, most, &e) < 0 ? -1
                                                            : rehearse_end(&g);
}

static char *newest_of(const struct rehearsal *r, const char *scene)
{
    char *folder = folder_of(r, scene), *path;

    checkpoint_newest(folder, INT64_MAX, &path, ERR_IGNORED);
    free(folder);
    return path;
}

static int64_t newest_step(const struct rehearsal *r, const char *scene)
{
    AUTO_FREE char *path = newest_of(r, scene);

    return path ? checkpoint_step(path_name(path)) : 0;
}

/* ---- results ---------------------------------------------------------- */

void rehearsal_result(struct rehearsal *r, const char *scene,
                      const char *result, const char *text)
{
    table_text(&r->table, scene);
    table_text(&r->table, result);
    table_mark(&r->table, strcmp(result, "failed") == 0   ? MARK_BAD
                          : strcmp(result, "passed") == 0 ? MARK_GOOD
                                                          : MARK_WARN);
    table_text(&r->table, text);
    r->failed += strcmp(result, "failed") == 0;
    log_info("%s: %s", scene, result);
}

/* It failed when it should have done `what`; the last line of its output says
 * how. */
static void add_failure(struct rehearsal *r, const char *scene,
                        const char *what, int status)
{
    AUTO(buf_clear) struct buf log = BUF_INIT;
    AUTO_FREE char *line = NULL, *text = NULL;

    buf_read_file(&log, r->log, 64 << 20, ERR_IGNORED);
    line = spawn_last_line(&log, "gtrain");
    text = xasprintf("%s: exit status %d: %s", what, status, line);
    rehearsal_result(r, scene, "failed", text);
}

/* Compute the last steps again, which are around the place of the resume. */
static bool is_certified(const struct rehearsal *r, const char *scene,
                         struct buf *why)
{
    const char *const argv[] = { r->program, "replay", scene,
                                 "--root",   r->store, "--last",
                                 "6",        "-q",     NULL };
    AUTO(buf_clear) struct buf out = BUF_INIT;
    struct spawn s = { .out = &out, .quiet = true };
    struct err e = { 0 };
    const bool same = !r->exact || spawn_run(argv, &s, &e) == 0;

    buf_str(why, same ? "" : e.text);
    return same;
}

/* The end of a scene: resume, train a few steps, and compare these with what an
 * undisturbed training computes.  `text` says what happened before. */
static void resume_scene(struct rehearsal *r, const char *scene,
                         const char *text)
{
    const int64_t from = newest_step(r, scene);
    AUTO_FREE char *stop = xasprintf("train.stop_at=%" PRId64, from + EVERY);
    const char *const more[] = { stop, NULL };
    const int status = from > 0 ? run_to_end(r, scene, more, 0) : -1;
    AUTO(buf_clear) struct buf why = BUF_INIT;

    if (from == 0) {
        buf_printf(&why, "%s, and left no checkpoint to resume from", text);
        rehearsal_result(r, scene, "failed", why.s);
    } else if (status != 0) {
        add_failure(r, scene, "it could not be resumed", status);
    } else if (!is_certified(r, scene, &why)) {
        rehearsal_result(r, scene, "failed", why.s);
    } else {
        buf_printf(&why, "%s; resumed at step %" PRId64, text, from);
        rehearsal_result(r, scene, "passed", why.s);
    }
}

/* ---- scenes ----------------------------------------------------------- */

/* Statuses that a scene may expect, besides kinds of errors. */
enum { ANY = -1, FAILS = -2 };

/*
 * A scene with a signal sends it after the first checkpoint.  Any other trains
 * 8 steps, which must work, and goes on with the assignments, in which the last
 * shard is lost or the disk full, if there are any.
 */
struct scene {
    const char *name;
    int signal;
    enum rehearse_target to;
    bool of_ranks; /* it needs two or more */
    bool pauses;   /* before the signal, rank 1 stands still for a second */
    const char *const *more;
    bool loses_shard, is_full;
    int want;            /* an err_kind, ANY or FAILS */
    const char *wrong;   /* what another status means, */
    const char *skipped; /* what 0 means, if that is no failure, */
    const char *right;   /* and what happened before the resume */
};

static const char *const nothing[] = { NULL };
static const char *const stop_early[] = { "train.stop_at=8", NULL };
static const char *const stop_later[] = { "train.stop_at=16", NULL };
static const char *const diverge[] = {
    "optim.lr=1000",     "optim.muon_lr=1000", "optim.clip=0",
    "train.stop_at=400", "checkpoint.every=0", "checkpoint.last=no",
    "eval.every=0",      "sample.every=0",     NULL,
};

static const struct scene scenes[] = {
    { .name = "training", .right = "8 steps with all that is due in between" },
    { .name = "kill",
      .signal = SIGKILL,
      .to = REHEARSE_ALL,
      .want = ANY,
      .right = "killed by SIGKILL" },
    { .name = "preemption",
      .signal = SIGTERM,
      .want = ERR_STOPPED,
      .wrong = "a signal should end it with status 75",
      .right = "SIGTERM ended it with exit status 75" },
    { .name = "time-limit",
      .signal = SIGUSR1,
      .want = ERR_STOPPED,
      .wrong = "a signal should end it with status 75",
      .right = "SIGUSR1 ended it with exit status 75" },
    { .name = "slow-rank",
      .of_ranks = true,
      .pauses = true,
      .signal = SIGTERM,
      .want = ERR_STOPPED,
      .wrong = "rank 1 stood still for a second",
      .right = "rank 1 stood still for a second" },
    { .name = "lost-rank",
      .of_ranks = true,
      .signal = SIGKILL,
      .to = REHEARSE_RANK,
      .want = FAILS,
      .wrong = "the job did not notice that rank 1 had died",
      .right = "rank 1 was killed, and the job ended" },
    { .name = "full-disk",
      .more = stop_later,
      .is_full = true,
      .want = ERR_SYSTEM,
      .wrong = "a lost checkpoint should end it with status 1",
      .right = "a checkpoint could not be written, which is an error" },
    { .name = "missing-shard",
      .more = stop_later,
      .loses_shard = true,
      .want = FAILS,
      .wrong = "training resumed with other data",
      .right = "training refused to resume without a shard" },
    { .name = "nan",
      .more = diverge,
      .want = ERR_NONFINITE,
      .wrong = "a NaN should end it with status 5",
      .skipped = "a learning rate of 1000 gave no NaN, or train.on_nonfinite "
                 "ignored it",
      .right = "a NaN ended training with status 5" },
};

/* The exit status, or -1 if the scene could not be set and a row says so. */
static int play_signal(struct rehearsal *r, const struct scene *s)
{
    const double end = clock_mono() + PATIENCE;
    struct spawn_group g;
    struct err e = { 0 };

    if (start_training(r, &g, s->name, nothing, 0, &e) < 0) {
        rehearsal_result(r, s->name, "failed", e.text);
        return -1;
    }
    while (newest_step(r, s->name) == 0)
        if (!is_running(&g) || clock_mono() > end || sig_caught()) {
            rehearse_signal(&g, REHEARSE_ALL, SIGKILL);
            add_failure(r, s->name, "training wrote no checkpoint",
                        rehearse_end(&g));
            return -1;
        }
    if (s->pauses) {
        rehearse_signal(&g, REHEARSE_RANK, SIGSTOP);
        sleep(1);
        rehearse_signal(&g, REHEARSE_RANK, SIGCONT);
    }
    rehearse_signal(&g, s->to, s->signal);
    return rehearse_end(&g);
}

/* Half of the size of the newest weights. */
static int64_t half_of_weights(const struct rehearsal *r, const char *scene)
{
    AUTO_FREE char *newest = newest_of(r, scene);
    AUTO_FREE char *path =
        newest ? path_join(newest, "model.safetensors") : NULL;
    struct stat st = { 0 };

    if (path && stat(path, &st) < 0)
        st.st_size = 0;
    return (int64_t)st.st_size / 2;
}

/* Link all shards of a source but the last into a folder; a glob of them. */
static char *link_shards(const struct rehearsal *r, const char *all)
{
    struct loader_conf conf = { .files = all, .context = 1 };
    char *folder = path_join(r->store, "shards"), *files = NULL;
    struct loader *l = NULL;
    struct err none = { 0 };

    if (path_make(folder, &none) == 0 && loader_open(&l, &conf, &none) == 0) {
        for (int64_t n = 0; n + 1 < loader_shards(l); n++) {
            AUTO_FREE char *from = realpath(loader_path(l, n), NULL);
            AUTO_FREE char *to =
                path_join(folder, path_name(loader_path(l, n)));

            if (!from || symlink(from, to) < 0)
                log_warn("cannot link %s", loader_path(l, n));
        }
        loader_close(l);
        files = path_join(folder, "*");
    }
    free(folder);
    return files;
}

/* The assignment of data.train without the last shard of the first source. */
static char *lose_shard(const struct rehearsal *r)
{
    AUTO(source_list_clear) struct source_list l = { 0 };
    AUTO(buf_clear) struct buf text = BUF_INIT;
    AUTO_FREE char *files = NULL;

    if (source_list_parse(&l, r->set.data.train, ERR_IGNORED) < 0)
        return NULL;
    files = link_shards(r, l.part[0].files);
    buf_str(&text, "data.train=");
    for (size_t i = 0; files && i < l.n; i++) {
        buf_str(&text, i > 0 ? ", " : "");
        source_list_text(&l.part[i], i > 0 ? l.part[i].files : files, &text);
    }
    return files ? buf_detach(&text) : NULL;
}

/* As play_signal(). */
static int play_steps(struct rehearsal *r, const struct scene *s)
{
    int status = run_to_end(r, s->name, stop_early, 0);
    AUTO_FREE char *files = NULL;

    if (status != 0) {
        add_failure(r, s->name, "training failed", status);
        return -1;
    }
    if (s->loses_shard) {
        files = lose_shard(r);
        status = run_to_end(r, s->name,
                            (const char *[]){ files, s->more[0], NULL }, 0);
    } else if (s->more) {
        status = run_to_end(r, s->name, s->more,
                            s->is_full ? half_of_weights(r, s->name) : 0);
    }
    return status;
}

const char *rehearsal_scene(size_t i)
{
    return i < sizeof scenes / sizeof scenes[0] ? scenes[i].name : NULL;
}

void rehearsal_play(struct rehearsal *r, size_t i)
{
    const struct scene *s = &scenes[i];
    int status;

    if (s->of_ranks && r->ranks < 2) {
        rehearsal_result(r, s->name, "skipped", "there is one rank");
        return;
    }
    status = s->signal ? play_signal(r, s) : play_steps(r, s);
    if (status < 0)
        return;
    if (status == 0 && s->skipped)
        rehearsal_result(r, s->name, "skipped", s->skipped);
    else if (s->want == ANY || (s->want == FAILS && status != 0) ||
             (s->want >= 0 && status == err_status((enum err_kind)s->want)))
        resume_scene(r, s->name, s->right);
    else
        add_failure(r, s->name, s->wrong, status);
}
