/*
 * gtrain rehearse - try a job in miniature, with the accidents it may have
 *
 * Starts gtrain with the settings of the job and a tiny model, disturbs it by
 * signals, limits, missing files and a huge learning rate, and resumes it.
 */
#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/opt.h"
#include "common/output/table.h"
#include "common/path.h"
#include "common/random.h"
#include "common/sig.h"
#include "common/spawn.h"
#include "kernels/dev.h"
#include "trainer/engine/engine_data.h"
#include "trainer/replay/rehearse_place.h"
#include "trainer/replay/rehearse_scene.h"
#include "trainer/settings/settings.h"

static const char *config, *script;
static struct opt_list sets, chosen;
static int64_t ranks = 1;
static struct table_style style;

static const struct opt rehearse_opts[] = {
    SETTINGS_OPTS(config, sets),
    { 0, "ranks", "count", OPT_LONG, &ranks,
      "rehearse with COUNT processes (default: 1)" },
    { 0, "scene", "name", OPT_LIST, &chosen,
      "rehearse only this one (may be given many times)" },
    { 0, "script", "file", OPT_STRING, &script,
      "try whether the job script FILE queues the job again" },
    TABLE_OPTS(style),
    { 0 }
};

/* ---- before the first scene ------------------------------------------- */

/* The gtrain whose GPU is emulated: of the build tree, or installed. */
static char *find_emulated(void)
{
    struct err none = { 0 };
    char *path = spawn_find("gtrain-emulated", &none);

    return path ? path : spawn_find("../libexec/gtrain/gtrain-emulated", &none);
}

/* Without the device of the settings, an emulated GPU or the CPU takes its
 * place: say why.  NULL if the device is there.  The caller frees. */
static char *replace_device(struct rehearsal *r)
{
    const char *name = r->set.train.device;
    struct dev dev = { .threads = 1 };
    struct err e = { 0 };
    const bool there = dev_open(&dev, name, &e) == 0;
    const bool gpu = strcmp(there ? dev.type->name : name, "cuda") == 0;
    char *emulated = gpu && !there ? find_emulated() : NULL;

    r->exact = !gpu || r->set.train.deterministic;
    dev_close(&dev);
    if (there)
        return NULL;
    if (emulated) {
        free(r->program);
        r->program = emulated;
        r->set.train.device = "cpu"; /* this program may not know another */
    } else {
        path_list_add(&r->sets, xstrdup("train.device=cpu"));
    }
    return xasprintf("%s; %s is used", e.text,
                     emulated ? "an emulated GPU" : "the CPU");
}

static void check_place(struct rehearsal *r, const char *what, const char *path,
                        int64_t bytes, bool lasting)
{
    struct buf text = BUF_INIT;
    const bool good = rehearse_place(path, bytes, lasting, &text);

    rehearsal_result(r, what, good ? "passed" : "failed", text.s);
    buf_clear(&text);
}

/* The weights and two moments. */
static int64_t checkpoint_bytes(const struct settings *s)
{
    return 12 * s->is.parameters;
}

/* Each kept checkpoint, one that is being written, and the best. */
static int64_t checkpoints_bytes(const struct settings *s)
{
    return checkpoint_bytes(s) *
           (s->checkpoint.keep_last + 1 + s->checkpoint.keep_best);
}

static int check_settings(struct rehearsal *r, struct err *e)
{
    struct engine_check seen = { .scans = true };
    char *replaced = NULL;
    int ret = settings_load(&r->set, r->config, sets.item, sets.n, e);

    if (ret == 0) {
        replaced = replace_device(r);
        ret = engine_check(&seen, &r->set, (int)ranks, e);
    }
    engine_check_clear(&seen);
    rehearsal_result(r, "settings", ret < 0 ? "failed" : "passed",
                     ret < 0 ? e->text
                             : "the files that they name can be read, and the "
                               "vocabulary has all of their ids");
    if (ret == 0)
        rehearsal_result(r, "device", replaced ? "skipped" : "passed",
                         replaced ? replaced : r->set.train.device);
    free(replaced);
    return ret;
}

static int make_folders(struct rehearsal *r, struct err *e)
{
    const struct settings *s = &r->set;
    const char *to = *s->checkpoint.folder ? s->checkpoint.folder : s->run.root;
    char *kept = rehearse_existing(to), *root = rehearse_existing(s->run.root);
    char word[RANDOM_WORD];
    int ret;

    random_word(word);
    r->store = xasprintf("%s/rehearsal-%s", root, word);
    r->checkpoints = xasprintf("%s/rehearsal-%s/checkpoints", kept, word);
    r->log = path_join(r->store, "output");
    ret = path_make(r->store, e);
    if (ret == 0)
        ret = path_make(r->checkpoints, e);
    free(kept);
    free(root);
    return ret;
}

static void remove_folders(struct rehearsal *r)
{
    char *parent = r->checkpoints ? path_parent(r->checkpoints) : NULL;

    if (r->store)
        path_remove(r->store, ERR_IGNORED);
    if (parent)
        path_remove(parent, ERR_IGNORED);
    free(parent);
    free(r->store);
    free(r->checkpoints);
    free(r->log);
}

/* ---- the whole -------------------------------------------------------- */

static bool is_chosen(const char *scene)
{
    for (size_t i = 0; i < chosen.n; i++)
        if (strcmp(chosen.item[i], scene) == 0)
            return true;
    return chosen.n == 0;
}

static int check_chosen(struct err *e)
{
    for (size_t i = 0; i < chosen.n; i++) {
        struct opt_nearest near = { .word = chosen.item[i] };
        bool known = false;

        for (size_t k = 0; rehearsal_scene(k); k++) {
            known = known || strcmp(rehearsal_scene(k), near.word) == 0;
            opt_nearest_try(&near, rehearsal_scene(k));
        }
        if (!known) {
            err_set(e, ERR_USAGE, "there is no scene '%s'", near.word);
            return opt_nearest_add(&near, e);
        }
    }
    return 0;
}

static bool has_failed(const struct rehearsal *r)
{
    return r->table.cell[r->table.n_cells - 2].mark == MARK_BAD;
}

static int play_scenes(struct rehearsal *r, struct err *e)
{
    const struct settings *s = &r->set;
    struct buf text = BUF_INIT;
    struct err why = { 0 };
    bool good;

    check_place(r, "store", s->run.root, 0, false);
    check_place(r, "checkpoints",
                *s->checkpoint.folder ? s->checkpoint.folder : s->run.root,
                checkpoints_bytes(s), true);
    if (make_folders(r, &why) < 0) {
        rehearsal_result(r, "folders", "failed", why.text);
        return 0;
    }
    rehearsal_shrink(r);
    for (size_t i = 0; rehearsal_scene(i); i++) {
        if (!is_chosen(rehearsal_scene(i)))
            continue;
        rehearsal_play(r, i);
        if (sig_caught())
            return err_set(e, ERR_INTERRUPTED, "stopped by a signal");
        if (i == 0 && has_failed(r))
            break; /* then nothing can work */
    }
    if (script) {
        good = rehearse_script(script, r->store, r->checkpoints,
                               checkpoint_bytes(s), &text);
        rehearsal_result(r, "script", good ? "passed" : "failed", text.s);
        buf_clear(&text);
    }
    return 0;
}

static int rehearse_main(int argc, char **argv, struct err *e)
{
    struct rehearsal r = { .config = argc > 0 ? argv[0] : config,
                           .given = &sets,
                           .ranks = ranks,
                           .table = TABLE_INIT("gtrain.rehearse/1") };
    struct err why = { 0 };
    int ret;

    if (argc > 1)
        return err_set(e, ERR_USAGE, "unexpected argument '%s'", argv[1]);
    if (!r.config || ranks < 1 || ranks > 1024)
        return err_set(e, ERR_USAGE,
                       r.config
                           ? "--ranks expects 1 to 1024"
                           : "name the settings of the job with --config FILE");
    if (check_chosen(e) < 0 || !(r.program = spawn_find("gtrain", e)))
        return -1;
    sig_watch();
    table_columns(&r.table, "what", "result", "reason", NULL);
    ret = check_settings(&r, &why) == 0 ? play_scenes(&r, e)
          : why.kind == ERR_INTERRUPTED ? err_set(e, why.kind, "%s", why.text)
                                        : 0;
    if (ret == 0)
        ret = table_print(&r.table, &style, e);
    if (ret == 0 && r.failed > 0)
        ret = err_set(e, ERR_INPUT, "%" PRId64 " of %zu rehearsals failed",
                      r.failed, table_rows(&r.table));
    remove_folders(&r);
    path_list_clear(&r.sets);
    settings_clear(&r.set);
    table_clear(&r.table);
    free(r.program);
    free(sets.item);
    free(chosen.item);
    return ret;
}

const struct cmd cmd_rehearse = {
    .name = "rehearse",
    .args = "[FILE]",
    .help = "try a job in miniature, with accidents",
    .opts = rehearse_opts,
    .run = rehearse_main,
};
