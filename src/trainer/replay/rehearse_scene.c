#include "config.h"
#include "trainer/replay/rehearse_scene.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/log.h"
#include "common/num.h"
#include "common/spawn.h"
#include "data/shards/loader.h"
#include "trainer/checkpoint/checkpoint_find.h"
#include "trainer/replay/rehearse_child.h"
#include "trainer/replay/rehearse_miniature.h"

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

/* `more` are assignments of this scene, ended by NULL. */
static int start_training(struct rehearsal *r, struct rehearse_child *c,
                          const char *scene, const char *const *more,
                          int64_t most, struct err *e)
{
    struct path_list argv = PATH_LIST_INIT;
    char *folder = folder_of(r, scene);
    char *own = xasprintf("checkpoint.folder=%s", folder);
    char count[NUM_TEXT];
    int ret;

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
    ret = rehearse_start(c, (const char *const *)argv.name, r->log, most, e);
    argv.n--;
    path_list_clear(&argv);
    free(folder);
    free(own);
    return ret;
}

/* Start and wait for the end; the exit status, or -1. */
static int run_to_end(struct rehearsal *r, const char *scene,
                      const char *const *more, int64_t most)
{
    struct rehearse_child c;
    struct err e = ERR_INIT;

    return start_training(r, &c, scene, more, most, &e) < 0 ? -1
                                                            : rehearse_end(&c);
}

static int64_t newest_step(const struct rehearsal *r, const char *scene)
{
    char *folder = folder_of(r, scene);
    char *path = checkpoint_newest(folder, INT64_MAX);
    const int64_t step = path ? checkpoint_step(path_name(path)) : 0;

    free(path);
    free(folder);
    return step;
}

/* Is there a checkpoint in the folder that `arg` names? */
static bool has_checkpoint(const void *arg)
{
    struct path_list l;
    struct err none = ERR_INIT;
    bool any = false;

    if (path_list(&l, arg, &none) < 0)
        return false;
    for (size_t i = 0; i < l.n; i++)
        any = any || checkpoint_step(l.name[i]) > 0;
    path_list_clear(&l);
    return any;
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

/* The last line of the program's output, without its name. */
static void last_words(const struct rehearsal *r, struct buf *out)
{
    struct err none = ERR_INIT;
    const char *line;

    if (buf_read_file(out, r->log, 64 << 20, &none) < 0 || out->len == 0)
        return;
    while (out->len > 0 && out->s[out->len - 1] == '\n')
        buf_trim(out, out->len - 1);
    line = strrchr(out->s, '\n');
    line = line ? line + 1 : out->s;
    line = strncmp(line, "gtrain: ", 8) == 0 ? line + 8 : line;
    memmove(out->s, line, strlen(line) + 1);
    out->len = strlen(out->s);
}

/* It failed when it should have done `what`. */
static void add_failure(struct rehearsal *r, const char *scene,
                        const char *what, int status)
{
    struct buf words = BUF_INIT, text = BUF_INIT;

    last_words(r, &words);
    buf_printf(&text, "%s: exit status %d: %s", what, status, words.s);
    rehearsal_result(r, scene, "failed", text.s);
    buf_clear(&text);
    buf_clear(&words);
}

/* Compute the last steps again, which are around the place of the resume. */
static bool is_certified(const struct rehearsal *r, const char *scene,
                         struct buf *why)
{
    const char *const argv[] = { r->program, "replay", scene,
                                 "--root",   r->store, "--last",
                                 "6",        "-q",     NULL };
    struct buf out = BUF_INIT, said = BUF_INIT;
    struct spawn s = { .out = &out, .words = &said };
    struct err e = ERR_INIT;
    const bool same = !r->exact || spawn_run(argv, &s, &e) == 0;

    buf_str(why, same ? "" : e.text);
    buf_clear(&out);
    buf_clear(&said);
    return same;
}

/* The end of a scene: resume, train a few steps, and compare these with what an
 * undisturbed training computes.  `text` says what happened before. */
static void resume_scene(struct rehearsal *r, const char *scene,
                         const char *text)
{
    const int64_t from = newest_step(r, scene);
    char *stop = xasprintf("train.stop_at=%" PRId64, from + MINIATURE_EVERY);
    const char *const more[] = { stop, NULL };
    const int status = from > 0 ? run_to_end(r, scene, more, 0) : -1;
    struct buf why = BUF_INIT;

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
    buf_clear(&why);
    free(stop);
}

/* ---- scenes of one signal --------------------------------------------- */

static const char *const nothing[] = { NULL };
static const char *const stop_early[] = { "train.stop_at=8", NULL };

static void rehearse_whole(struct rehearsal *r, const char *scene)
{
    const int status = run_to_end(r, scene, stop_early, 0);

    if (status != 0)
        add_failure(r, scene, "training failed", status);
    else
        resume_scene(r, scene, "8 steps with all that is due in between");
}

/* Start the scene and wait for its first checkpoint. */
static bool start_scene(struct rehearsal *r, struct rehearse_child *c,
                        const char *scene)
{
    char *folder = folder_of(r, scene);
    struct err e = ERR_INIT;
    bool running = start_training(r, c, scene, nothing, 0, &e) == 0;

    if (!running)
        rehearsal_result(r, scene, "failed", e.text);
    else if (!rehearse_wait(c, has_checkpoint, folder)) {
        rehearse_signal_all(c, SIGKILL);
        add_failure(r, scene, "training wrote no checkpoint", rehearse_end(c));
        running = false;
    }
    free(folder);
    return running;
}

static void rehearse_kill(struct rehearsal *r, const char *scene)
{
    struct rehearse_child c;

    if (!start_scene(r, &c, scene))
        return;
    rehearse_signal_all(&c, SIGKILL);
    rehearse_end(&c);
    resume_scene(r, scene, "killed by SIGKILL");
}

static void rehearse_signal_to_stop(struct rehearsal *r, const char *scene,
                                    int sig, const char *name)
{
    struct rehearse_child c;
    char text[64];
    int status;

    if (!start_scene(r, &c, scene))
        return;
    rehearse_signal(&c, sig);
    status = rehearse_end(&c);
    snprintf(text, sizeof text, "%s: exit status 75 after %.1f s", name,
             c.seconds);
    if (status != err_status(ERR_STOPPED))
        add_failure(r, scene, "a signal should end it with status 75", status);
    else
        resume_scene(r, scene, text);
}

static void rehearse_preemption(struct rehearsal *r, const char *scene)
{
    rehearse_signal_to_stop(r, scene, SIGTERM, "SIGTERM");
}

static void rehearse_time_limit(struct rehearsal *r, const char *scene)
{
    rehearse_signal_to_stop(r, scene, SIGUSR1, "SIGUSR1");
}

/* ---- scenes of ranks -------------------------------------------------- */

static void rehearse_slow_rank(struct rehearsal *r, const char *scene)
{
    struct rehearse_child c;
    int status;

    if (r->ranks < 2) {
        rehearsal_result(r, scene, "skipped", "there is one rank");
        return;
    }
    if (!start_scene(r, &c, scene))
        return;
    rehearse_signal_rank(&c, SIGSTOP);
    sleep(1);
    rehearse_signal_rank(&c, SIGCONT);
    rehearse_signal(&c, SIGTERM);
    status = rehearse_end(&c);
    if (status != err_status(ERR_STOPPED))
        add_failure(r, scene, "rank 1 stood still for a second", status);
    else
        resume_scene(r, scene, "rank 1 stood still for a second");
}

static void rehearse_lost_rank(struct rehearsal *r, const char *scene)
{
    struct rehearse_child c;
    int status;

    if (r->ranks < 2) {
        rehearsal_result(r, scene, "skipped", "there is one rank");
        return;
    }
    if (!start_scene(r, &c, scene))
        return;
    rehearse_signal_rank(&c, SIGKILL);
    status = rehearse_end(&c);
    if (status == 0)
        add_failure(r, scene, "the job did not notice that rank 1 had died",
                    status);
    else
        resume_scene(r, scene, "rank 1 was killed, and the job ended");
}

/* ---- scenes of files and numbers -------------------------------------- */

static int64_t size_of_weights(const struct rehearsal *r, const char *scene)
{
    char *folder = folder_of(r, scene);
    char *newest = checkpoint_newest(folder, INT64_MAX);
    char *path = newest ? path_join(newest, "model.safetensors") : NULL;
    struct stat st = { 0 };

    if (path && stat(path, &st) < 0)
        st.st_size = 0;
    free(folder);
    free(newest);
    free(path);
    return (int64_t)st.st_size;
}

/* A scene begins with a checkpoint that is as it should be. */
static bool prepare_scene(struct rehearsal *r, const char *scene)
{
    const int status = run_to_end(r, scene, stop_early, 0);

    if (status != 0)
        add_failure(r, scene, "training failed", status);
    return status == 0;
}

/* No file can be as large as the weights: the disk is full. */
static void rehearse_full_disk(struct rehearsal *r, const char *scene)
{
    static const char *const later[] = { "train.stop_at=16", NULL };
    int status;

    if (!prepare_scene(r, scene))
        return;
    status = run_to_end(r, scene, later, size_of_weights(r, scene) / 2);
    if (status != err_status(ERR_SYSTEM))
        add_failure(r, scene, "a lost checkpoint should end it with status 1",
                    status);
    else
        resume_scene(r, scene,
                     "a checkpoint could not be written, which is an error");
}

/* Links to all shards but the last, in `folder`. */
static char *lose_shard(const struct rehearsal *r, const char *folder)
{
    struct loader_conf conf = { .files = r->set.data.train, .context = 1 };
    struct loader *l = NULL;
    struct err none = ERR_INIT;
    int64_t n = 0;

    if (path_make(folder, &none) < 0 || loader_open(&l, &conf, &none) < 0)
        return NULL;
    for (; n + 1 < loader_shards(l); n++) {
        char *from = realpath(loader_path(l, n), NULL);
        char *to = path_join(folder, path_name(loader_path(l, n)));

        if (!from || symlink(from, to) < 0)
            log_warn("cannot link %s", loader_path(l, n));
        free(from);
        free(to);
    }
    loader_close(l);
    return xasprintf("data.train=%s/*", folder);
}

static void rehearse_missing_shard(struct rehearsal *r, const char *scene)
{
    char *folder = path_join(r->store, "shards");
    char *files = lose_shard(r, folder);
    const char *const more[] = { files, "train.stop_at=16", NULL };
    int status;

    if (files && prepare_scene(r, scene)) {
        status = run_to_end(r, scene, more, 0);
        if (status == 0)
            add_failure(r, scene, "training resumed with other data", status);
        else
            resume_scene(r, scene,
                         "training refused to resume without a shard");
    }
    free(files);
    free(folder);
}

static void rehearse_nan(struct rehearsal *r, const char *scene)
{
    static const char *const diverge[] = {
        "optim.lr=1000",     "optim.muon_lr=1000", "optim.clip=0",
        "train.stop_at=400", "checkpoint.every=0", "checkpoint.last=no",
        "eval.every=0",      "sample.every=0",     NULL
    };
    int status;

    if (!prepare_scene(r, scene))
        return;
    status = run_to_end(r, scene, diverge, 0);
    if (status == 0)
        rehearsal_result(r, scene, "skipped",
                         "a learning rate of 1000 gave no NaN, or "
                         "train.on_nonfinite ignored it");
    else if (status != err_status(ERR_NONFINITE))
        add_failure(r, scene, "a NaN should end it with status 5", status);
    else
        resume_scene(r, scene, "a NaN ended training with status 5");
}

const struct scene rehearsal_scenes[] = {
    { "training", rehearse_whole },
    { "kill", rehearse_kill },
    { "preemption", rehearse_preemption },
    { "time-limit", rehearse_time_limit },
    { "slow-rank", rehearse_slow_rank },
    { "lost-rank", rehearse_lost_rank },
    { "full-disk", rehearse_full_disk },
    { "missing-shard", rehearse_missing_shard },
    { "nan", rehearse_nan },
    { NULL, NULL },
};
