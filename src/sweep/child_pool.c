#include "config.h"
#include "sweep/child_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/machine/cores.h"
#include "common/sig.h"
#include "common/spawn.h"

/* Leave n of the devices that this process sees, from the given one on. */
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

static void set_threads(int slot, int parallel)
{
    char text[16];

    if (parallel < 2 || cores_place(slot, parallel))
        return;
    snprintf(text, sizeof text, "%d", cores_of_rank(parallel, true));
    setenv("OMP_NUM_THREADS", text, 0);
}

void child_arg(struct child *c, const char *text)
{
    c->arg = arena_grow(&c->mem, c->arg, c->n_args, sizeof *c->arg);
    c->arg[c->n_args++] = text ? arena_strdup(&c->mem, text) : NULL;
}

void child_env(struct child *c, const char *text)
{
    c->env = arena_grow(&c->mem, c->env, c->n_env, sizeof *c->env);
    c->env[c->n_env++] = arena_strdup(&c->mem, text);
}

/* Called in the child; never returns. */
static void become_command(const struct child_pool *p, int slot,
                           const struct child *c)
{
    const int out = open(c->log, O_WRONLY | O_CREAT | O_APPEND, 0666);
    const int in = open("/dev/null", O_RDONLY);

    if (out < 0 || in < 0)
        _exit(1);
    dup2(in, 0);
    dup2(out, 1);
    dup2(out, 2);
    set_threads(slot, p->parallel);
    if (p->gpus > 0)
        set_devices(slot * p->gpus, p->gpus);
    for (size_t i = 0; i < c->n_env; i++)
        putenv(c->env[i]);
    execvp(c->program, c->arg);
    dprintf(2, "cannot run %s: %s\n", c->program, strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

struct children {
    const struct child_pool *pool;
    struct spawn_group *group; /* of each slot; pid 0: it is free */
    struct child *child;       /* in each slot */
    int n_slots, running;
    int answer;    /* of start(), the last time */
    double again;  /* when to ask it again */
    bool stopping; /* all were asked to stop */
};

/* Seconds after which there may be a child to start though none has ended. */
enum { ASK_AGAIN = 5 };

static int start_child(struct children *c, int slot, struct err *e)
{
    const struct child_pool *p = c->pool;
    struct child *child = &c->child[slot];
    pid_t pid;

    arena_clear(&child->mem);
    *child = (struct child){ 0 };
    c->answer = p->start(p->arg, child, e);
    c->again = clock_mono() + ASK_AGAIN;
    if (c->answer != CHILD_STARTS)
        return c->answer;
    child_arg(child, NULL);
    pid = spawn_group_fork(&c->group[slot], true);
    if (pid == 0)
        become_command(p, slot, child);
    if (pid < 0) {
        c->group[slot].pid = 0;
        return err_sys(e, "cannot fork");
    }
    c->running++;
    return 0;
}

/* Start a child in every free slot, as long as there are some. */
static int fill_slots(struct children *c, struct err *e)
{
    int answer = CHILD_STARTS;

    if (c->answer != CHILD_STARTS && clock_mono() < c->again)
        return 0;
    for (int i = 0; i < c->n_slots && answer == CHILD_STARTS; i++)
        if (c->group[i].pid == 0)
            answer = start_child(c, i, e);
    return answer < 0 ? -1 : 0;
}

static void stop_children(struct children *c)
{
    for (int i = 0; i < c->n_slots && !c->stopping; i++)
        if (c->group[i].pid > 0)
            spawn_group_signal(&c->group[i], SIGTERM, c->pool->grace);
    c->stopping = true;
}

/* Free the slot of a child that has ended; *ended is false if none has. */
static int free_slot(struct children *c, bool *ended, struct err *e)
{
    const struct child_pool *p = c->pool;
    int status, i = 0;

    spawn_group_reap(c->group, (size_t)c->n_slots);
    while (i < c->n_slots &&
           (c->group[i].pid == 0 || !spawn_group_ended(&c->group[i])))
        i++;
    *ended = i < c->n_slots;
    if (!*ended)
        return 0;
    status = c->group[i].status;
    c->group[i].pid = 0;
    c->running--;
    c->again = 0;
    return p->ended(
        p->arg, c->child[i].number,
        WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), e);
}

/* By the clock of the file system, which all machines share. */
static void touch_beats(struct children *c)
{
    for (int i = 0; i < c->n_slots; i++) {
        struct child *one = &c->child[i];

        if (c->group[i].pid <= 0 || !one->beats || clock_mono() < one->due)
            continue;
        one->due = clock_mono() + one->beat_secs;
        utimensat(AT_FDCWD, one->beats, NULL, AT_SYMLINK_NOFOLLOW);
    }
}

int child_pool_run(const struct child_pool *p, struct err *e)
{
    struct children c = { .pool = p,
                          .n_slots = p->parallel < 1 ? 1 : p->parallel };
    int ret = 0;

    c.group = xcalloc((size_t)c.n_slots, sizeof *c.group);
    c.child = xcalloc((size_t)c.n_slots, sizeof *c.child);
    sig_watch();
    while (c.running > 0 || (!c.stopping && c.answer != CHILD_NONE)) {
        bool ended;

        if (ret < 0 || sig_caught())
            stop_children(&c);
        if (ret == 0 && !c.stopping)
            ret = fill_slots(&c, e);
        if (free_slot(&c, &ended, ret < 0 ? ERR_IGNORED : e) < 0)
            ret = -1;
        touch_beats(&c);
        if (!ended)
            clock_pause(0.05);
    }
    for (int i = 0; i < c.n_slots; i++)
        arena_clear(&c.child[i].mem);
    FREE(c.child, c.group);
    if (ret == 0 && sig_caught())
        ret = err_set(e, ERR_STOPPED,
                      "stopped by a signal; run the same command again to "
                      "resume");
    return ret;
}
