/*
 * gtrack verify - check an archive of gtrack bundle
 *
 * Unpacks the archive, compares its files with MANIFEST, checks the numbers of
 * its reports against its runs and, if asked to, has steps computed again.  The
 * runs of a store are checked where they are.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/random.h"
#include "common/save.h"
#include "common/sig.h"
#include "common/spawn.h"
#include "plot/stamp.h"
#include "store/fsck/fsck.h"
#include "track/proof/bundle.h"
#include "track/proof/claims.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"

static const char *head, *keep, *data, *challenge, *signer;
static bool replay;
static int64_t sample;
static struct table_style style;

static const struct opt verify_opts[] = {
    { 0, "head", "hash", OPT_STRING, &head,
      "fail unless the head of the archive is HASH" },
    { 0, "signed-by", "key", OPT_STRING, &signer,
      "fail unless FILE.sig is a signature by this public key of ssh" },
    { 0, "replay", NULL, OPT_FLAG, &replay,
      "compute steps of each run again, as gtrain replay does" },
    { 0, "sample", "k", OPT_LONG, &sample,
      "compute K steps of each run again, drawn at random",
      .range = OPT_FROM(1) },
    { 0, "challenge", "text", OPT_STRING, &challenge,
      "draw the steps that follow from TEXT" },
    { 0, "data", "dir", OPT_STRING, &data,
      "look for the data in DIR (default: in the archive)" },
    { 0, "keep", "dir", OPT_STRING, &keep,
      "unpack into DIR, which must not exist, and keep the files" },
    TABLE_OPTS(style),
    { 0 }
};

struct verify {
    struct save_folder kept;
    char *folder, *store; /* of the files, and of the runs */
    char *data;           /* where training ran */
    struct table table;
    double end; /* when the commands of reports have to be done */
    int64_t failed, unknown;
};

static void add_row(struct verify *v, const char *check, const char *of,
                    const char *word, enum table_mark mark, const char *result)
{
    table_text(&v->table, check);
    table_text(&v->table, of);
    table_text(&v->table, word);
    table_mark(&v->table, mark);
    table_text(&v->table, result);
}

static void add_check(struct verify *v, const char *check, const char *of,
                      bool passed, const char *result)
{
    add_row(v, check, of, passed ? "passed" : "failed",
            passed ? MARK_GOOD : MARK_BAD, result);
    v->failed += !passed;
}

/* ---- the files -------------------------------------------------------- */

/* The archive is somebody else's; training needs more rights. */
static void confine_verify(const char *temp)
{
    AUTO(path_list_clear) struct path_list folders = { 0 };

    path_list_add(&folders, xstrdup(temp));
    if (keep)
        path_list_add(&folders, path_parent(keep));
    if (!replay)
        track_confine_folders(&folders, false);
}

static int make_folder(struct verify *v, struct err *e)
{
    const char *temp = path_temp();

    confine_verify(temp);
    if (keep && save_folder_open(&v->kept, keep, e) < 0)
        return -1;
    v->folder =
        keep ? xstrdup(v->kept.folder) : xasprintf("%s/gtrack-XXXXXX", temp);
    if (!keep && !mkdtemp(v->folder))
        return err_sys(e, "cannot create a folder in %s", temp);
    v->store = path_join(v->folder, "mlruns");
    v->data = data ? realpath(data, NULL) : path_join(v->folder, "files");
    return v->data ? 0 : err_open(e, "cannot find %s", data);
}

/* Commands that are recorded in figures find the runs as they did then. */
static int enter_folder(const struct verify *v, struct err *e)
{
    setenv("GTRACK_ROOT", v->store, 1);
    return chdir(v->folder) < 0 ? err_sys(e, "cannot enter %s", v->folder) : 0;
}

static void check_head(struct verify *v, const struct bundle_unpacked *u)
{
    const bool equal = !head || strcmp(head, u->head) == 0;

    add_check(v, "head", u->head, equal,
              !equal ? "is not the hash given"
              : head ? "is the hash given"
                     : "compare it with the one that was published");
}

/* What is signed is MANIFEST. */
static int check_signature(struct verify *v, const char *archive, struct err *e)
{
    AUTO_FREE char *path = path_join(v->folder, BUNDLE_MANIFEST);
    AUTO_FREE char *file = xasprintf("%s" BUNDLE_SIGNATURE, archive);
    AUTO(buf_clear) struct buf manifest = BUF_INIT;
    struct err why = { 0 };
    bool passed;

    if (buf_read_unlinked(&manifest, path, BUNDLE_MANIFEST_MAX, e) < 0)
        return -1;
    passed = bundle_check_signature(file, signer, &manifest, &why) == 0;
    add_check(v, "signature", file, passed, passed ? signer : why.text);
    return 0;
}

/* ---- reports ---------------------------------------------------------- */

static void check_report(struct verify *v, const char *path, const char *name)
{
    struct claims_check k;
    AUTO(buf_clear) struct buf words = BUF_INIT;
    struct err e = { 0 };
    bool passed;

    claims_check_init(&k, &track_program);
    k.end = v->end;
    k.files = "files";
    passed = claims_check_file(&k, path, &e) == 0 &&
             claims_check_judge(&k, &words, &e) == 0;
    add_check(v, "claims", name, passed, passed ? words.s : e.text);
    table_clear(&k.table);
}

/* Check the numbers of all reports, which say where each comes from. */
static int check_claims(struct verify *v, struct err *e)
{
    AUTO_FREE char *files = path_join(v->folder, "files");
    AUTO(file_tree_clear) struct file_tree f = { 0 };
    const int ret = file_tree_list(&f, files, v->folder, e);

    v->end = clock_mono() + STAMPED_SECS;
    for (size_t i = 0; i < f.n && !sig_caught(); i++) {
        const char *name = f.file[i].path;

        if (str_ends(name, ".md") || str_ends(name, ".tex"))
            check_report(v, f.file[i].whole, name);
    }
    return ret;
}

/* ---- runs ------------------------------------------------------------- */

static int replay_runs(struct verify *v, const struct runs *runs, struct err *e)
{
    AUTO_FREE char *program = spawn_find("gtrain", e);
    char count[NUM_TEXT];

    snprintf(count, sizeof count, "%lld", (long long)sample);
    if (!program)
        return -1;
    for (size_t i = 0; i < runs->n && !sig_caught(); i++) {
        const struct run_info *r = &runs->run[i];
        const char *const argv[] = { program,
                                     "replay",
                                     r->id,
                                     "--root",
                                     v->store,
                                     "--set",
                                     "checkpoint.folder=",
                                     sample ? "--sample" : NULL,
                                     count,
                                     "--challenge",
                                     challenge,
                                     NULL };
        AUTO(buf_clear) struct buf out = BUF_INIT, said = BUF_INIT;
        struct spawn s = { .out = &out, .words = &said };
        struct err why = { 0 };
        const bool passed = spawn_run(argv, &s, &why) == 0;
        AUTO_FREE char *words = spawn_last_line(&said, "gtrain");

        if (s.status != err_status(ERR_MISSING) ||
            !strstr(words, "cannot tell")) {
            add_check(v, "replay", r->name, passed, *words ? words : why.text);
        } else { /* the run is neither proved nor refuted */
            add_row(v, "replay", r->name, "unknown", MARK_WARN, words);
            v->unknown++;
        }
    }
    return 0;
}

static void add_checkpoint(void *arg, const struct fsck_finding *f)
{
    struct verify *v = arg;
    AUTO_FREE char *of = xasprintf("%s of %s", f->file, f->name);

    add_check(v, "checkpoint", of, false, f->what);
}

static int check_runs(struct verify *v, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    int ret = runs_load(&runs, v->store, 0, e);

    for (size_t i = 0; i < runs.n && ret == 0; i++) {
        const struct run_info *r = &runs.run[i];

        add_check(v, "run", r->name, !r->damage,
                  r->damage ? r->damage : "can be read");
        ret = fsck_checkpoints(r, add_checkpoint, v, e);
    }
    if (ret == 0 && replay && chdir(v->data) < 0)
        ret = err_open(e, "cannot enter %s", v->data);
    if (ret == 0 && replay)
        ret = replay_runs(v, &runs, e);
    return ret;
}

/* ---- the whole -------------------------------------------------------- */

static int judge(struct verify *v, const char *of, struct err *e)
{
    if (sig_caught())
        return err_set(e, ERR_INTERRUPTED, "interrupted; nothing was checked");
    if ((keep && save_folder_commit(&v->kept, e) < 0) ||
        table_print(&v->table, &style, e) < 0)
        return -1;
    if (v->failed > 0)
        return err_input(e, "%s: %lld of %zu checks failed", of,
                         (long long)v->failed, table_rows(&v->table));
    if (v->unknown > 0)
        return err_set(e, ERR_MISSING, "%s: %lld of %zu checks cannot be done",
                       of, (long long)v->unknown, table_rows(&v->table));
    return 0;
}

static int check_archive(struct verify *v, const char *archive, struct err *e)
{
    struct bundle_unpacked u;
    char files[NUM_TEXT];

    if (make_folder(v, e) < 0 || bundle_unpack(&u, archive, v->folder, e) < 0)
        return -1;
    num_count(files, u.files, "file");
    add_check(v, "files", files, true, "as MANIFEST says");
    check_head(v, &u);
    if (signer && check_signature(v, archive, e) < 0)
        return -1;
    if (enter_folder(v, e) < 0 || check_claims(v, e) < 0 ||
        check_runs(v, e) < 0)
        return -1;
    return judge(v, archive, e);
}

/* The runs of a store, where they are. */
static int check_store(struct verify *v, const char *store, struct err *e)
{
    if (head || keep || signer)
        return err_usage(
            e, "%s is a store; --head, --keep and --signed-by are for archives",
            store);
    v->store = realpath(store, NULL);
    v->data = realpath(data ? data : ".", NULL);
    if (!v->store || !v->data)
        return err_open(e, "cannot find %s", v->store ? data : store);
    return check_runs(v, e) < 0 ? -1 : judge(v, store, e);
}

static int verify_main(int argc, char **argv, struct err *e)
{
    struct verify v = { .table = TABLE_INIT("gtrack.verify/1") };
    char own[RANDOM_WORD];
    int ret;

    if (track_check_args(argc, argv, 1, 1, e) < 0)
        return -1;
    if (challenge && !sample)
        return err_usage(e, "--challenge needs --sample");
    if (sample && !challenge) {
        random_word(own);
        challenge = own;
        log_info("the steps are drawn with --challenge=%s", own);
    }
    replay = replay || sample > 0;
    table_columns(&v.table, "check", "of", "result", "reason", NULL);
    sig_watch(); /* a signal, too, removes the folder */
    ret = path_is_folder(argv[0]) ? check_store(&v, argv[0], e)
                                  : check_archive(&v, argv[0], e);
    save_folder_abandon(&v.kept);
    if (sig_caught())
        ret = err_set(e, ERR_INTERRUPTED, "interrupted; nothing was checked");
    if (v.folder && !keep)
        path_remove(v.folder, ERR_IGNORED);
    table_clear(&v.table);
    FREE(v.folder, v.store, v.data);
    return ret;
}

const struct cmd cmd_verify = {
    .name = "verify",
    .args = "FILE|STORE",
    .help = "check an archive of gtrack bundle, or the runs of a store",
    .opts = verify_opts,
    .run = verify_main,
};
