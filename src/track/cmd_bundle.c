/*
 * gtrack bundle - pack runs with all that is needed to check them
 *
 * The archive has the folder of each run below mlruns/, what was added below
 * files/, the sources below sources/, and at the end MANIFEST with the SHA-256
 * of each file.  The SHA-256 of MANIFEST, the head, stands for all of it.
 */
#include "config.h"

#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/save.h"
#include "common/sha256.h"
#include "common/spawn.h"
#include "common/format/source_list.h"
#include "store/format/store.h"
#include "store/write/provenance.h"
#include "track/proof/bundle.h"
#include "track/runs/file_tree.h"
#include "track/runs/track.h"

enum which { UNSAID, NONE, SOME, LAST, ALL };
static const char *const which_words[] = { "auto", "none", "some",
                                           "last", "all",  NULL };
enum { SOME_BYTES = 100000000 }; /* of each run */

static const char *output, *key, *anchor;
static struct opt_list added, sources;
static int checkpoints;
static bool with_data;

static const struct opt bundle_opts[] = {
    TRACK_OPT_ROOT,
    { 'o', "output", "file", OPT_STRING, &output, "write the archive FILE" },
    { 0, "add", "path", OPT_LIST, &added,
      "add a file or a folder, such as a report; may be given many times" },
    { 0, "checkpoints", "which", OPT_WORD, &checkpoints,
      "pack these checkpoints of each run: %s (default: auto)", which_words },
    { 0, "data", NULL, OPT_FLAG, &with_data,
      "pack the token files and the tokenizer, too" },
    { 0, "sources", "path", OPT_LIST, &sources,
      "add the sources of a program; may be given many times" },
    { 0, "sign", "key", OPT_STRING, &key,
      "sign the archive with this key of ssh, to FILE.sig" },
    { 0, "anchor", "command", OPT_STRING, &anchor,
      "hand the head to COMMAND, which can prove later that it existed" },
    { 0 }
};

struct bundle {
    FILE *fp;
    char *top;           /* the folder that all files are in */
    struct buf manifest; /* a line for each file, as sha256sum(1) prints */
    struct buf signature;
    int64_t files, bytes;
};

/* ---- files ------------------------------------------------------------ */

static bool has_file(const struct bundle *b, const char *name)
{
    AUTO_FREE char *line = xasprintf("  %s\n", name);

    return strstr(b->manifest.s, line) != NULL;
}

static int begin_file(struct bundle *b, const char *name, int64_t size,
                      struct err *e)
{
    AUTO_FREE char *path = NULL;
    int ret;

    if (strchr(name, '\n')) /* it would be two lines of MANIFEST */
        return err_input(e, "the name of %s has a line feed", name);
    path = path_join(b->top, name);
    ret = tar_write_head(b->fp, path, size, e);
    b->files++;
    b->bytes += size;
    return ret;
}

static void end_file(struct bundle *b, const char *name, int64_t size,
                     struct sha256 *h)
{
    char sum[SHA256_TEXT];

    tar_write_pad(b->fp, size);
    sha256_text(h, sum);
    buf_printf(&b->manifest, "%s  %s\n", sum, name);
}

static int add_text(struct bundle *b, const char *name, const struct buf *text,
                    struct err *e)
{
    struct sha256 h;

    if (begin_file(b, name, (int64_t)text->len, e) < 0)
        return -1;
    sha256_init(&h);
    sha256_add(&h, text->s, text->len);
    fwrite(text->s, 1, text->len, b->fp);
    end_file(b, name, (int64_t)text->len, &h);
    return 0;
}

static int add_open_file(struct bundle *b, int fd, const char *path,
                         const char *name, struct err *e)
{
    AUTO(path_fclose) FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
    struct sha256 h;
    struct stat st;
    int ret = in ? 0 : -1;

    sha256_init(&h);
    if (in && fstat(fd, &st) < 0)
        ret = err_sys(e, "cannot read %s", path);
    if (ret == 0)
        ret = begin_file(b, name, (int64_t)st.st_size, e);
    if (ret == 0 && !bundle_copy(in, b->fp, (int64_t)st.st_size, &h))
        ret = ferror(in) ? err_sys(e, "cannot read %s", path)
                         : err_input(e, "%s changed while it was read", path);
    if (ret == 0)
        end_file(b, name, (int64_t)st.st_size, &h);
    return ret;
}

/* Each name is added once. */
static int add_file(struct bundle *b, const char *path, const char *inside,
                    const char *name, struct err *e)
{
    if (inside && path_exists(path) && path_leaves(path, inside)) {
        log_warn("%s is a link that leaves %s and is not packed", path, inside);
        return 0;
    }
    return has_file(b, name)
               ? 0
               : add_open_file(b, path_open_inside(path, inside, e), path, name,
                               e);
}

static int add_folder(struct bundle *b, const char *folder, const char *inside,
                      const char *to, struct err *e)
{
    AUTO(file_tree_clear) struct file_tree f = { 0 };
    int ret = file_tree_list(&f, folder, NULL, e);

    for (size_t i = 0; i < f.n && ret == 0; i++) {
        AUTO_FREE char *name = path_join(to, f.file[i].path);

        ret = add_file(b, f.file[i].whole, inside, name, e);
    }
    return ret;
}

/* A file or all files of a folder, below a folder of the archive; no links lead
 * out of the folder `inside`, unless it is NULL. */
static int add_path(struct bundle *b, const char *path, const char *inside,
                    const char *below, struct err *e)
{
    AUTO_FREE char *to = path_join(below, path);

    return path_is_folder(path) ? add_folder(b, path, inside, to, e)
                                : add_file(b, path, inside, to, e);
}

/* ---- runs ------------------------------------------------------------- */

static const char checkpoints_folder[] = STORE_ARTIFACTS "/checkpoints/";

/* The files of a checkpoint, which stand together. */
struct step {
    size_t first, n;
    const char *name; /* up to the first slash */
    int64_t bytes;
};

/* From step 10^8 on, names are longer. */
static int by_step(const void *a, const void *b)
{
    const struct step *x = a, *y = b;
    const size_t n = strcspn(x->name, "/"), m = strcspn(y->name, "/");

    return n != m ? (n > m) - (n < m) : strncmp(x->name, y->name, n);
}

/* The caller frees. */
static struct step *list_steps(const struct file_tree *f, size_t *n)
{
    struct step *step = xcalloc(f->n + 1, sizeof *step);

    *n = 0;
    for (size_t i = 0; i < f->n; i++) {
        const char *path = f->file[i].path;
        const size_t len = strcspn(path, "/");

        if (strncmp(path, "step-", 5) != 0 || !path[len] ||
            memchr(path, '.', len))
            continue;
        if (*n == 0 || strncmp(step[*n - 1].name, path, len + 1) != 0)
            step[(*n)++] = (struct step){ .first = i, .name = path };
        step[*n - 1].n++;
        step[*n - 1].bytes += f->file[i].size;
    }
    SORT(step, *n, by_step);
    return step;
}

/* Evenly spaced, with the last one; how many is a matter of their size. */
static size_t count_packed(const struct step *step, size_t n)
{
    int64_t bytes = 0;
    size_t fit;

    for (size_t i = 0; i < n; i++)
        bytes += step[i].bytes;
    fit = bytes > SOME_BYTES
              ? (size_t)((double)SOME_BYTES / (double)bytes * (double)n)
              : n;
    return checkpoints == ALL ? n : checkpoints == SOME ? fit : n > 0;
}

/* The folder with the checkpoints of a run, which may be outside of it. */
static char *locate_checkpoints(const struct run_info *r)
{
    const char *elsewhere = run_info_param(r, "checkpoint.folder");

    return elsewhere && *elsewhere ? xstrdup(elsewhere)
                                   : path_join(r->artifacts, "checkpoints");
}

static int add_step(struct bundle *b, const struct file_tree *f,
                    const struct step *s, const char *folder, const char *to,
                    struct err *e)
{
    for (size_t i = s->first; i < s->first + s->n; i++) {
        AUTO_FREE char *name =
            xasprintf("%s/%s%s", to, checkpoints_folder, f->file[i].path);

        if (add_file(b, f->file[i].whole, folder, name, e) < 0)
            return -1;
    }
    return 0;
}

static int add_checkpoints(struct bundle *b, const struct run_info *r,
                           const char *to, struct err *e)
{
    AUTO_FREE char *folder = locate_checkpoints(r);
    AUTO(file_tree_clear) struct file_tree f = { 0 };
    int ret = file_tree_list(&f, folder, folder, e);
    size_t n;
    AUTO_FREE struct step *step = list_steps(&f, &n);
    const size_t packed = count_packed(step, n);

    for (size_t i = 1; i <= packed && ret == 0; i++)
        ret = add_step(b, &f, &step[i * n / packed - 1], folder, to, e);
    if (ret == 0 && n == 0)
        log_warn("%s has no checkpoints in %s", r->name, folder);
    else if (ret == 0 && packed < n)
        log_info("%s: %zu of %zu checkpoints are packed", r->name, packed, n);
    return ret;
}

/* The files of the experiment that readers of the run need, below a folder of
 * the archive. */
static int add_experiment(struct bundle *b, const char *folder, const char *to,
                          struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };

    return add_file(b, arena_printf(&mem, "%s/" STORE_META, folder), folder,
                    arena_printf(&mem, "%s/" STORE_META, to), e) < 0
               ? -1
               : add_folder(b, arena_printf(&mem, "%s/datasets", folder),
                            folder, arena_printf(&mem, "%s/datasets", to), e);
}

static int add_run_files(struct bundle *b, const struct run_info *r,
                         const char *to, struct err *e)
{
    const size_t skipped = strlen(checkpoints_folder);
    AUTO(file_tree_clear) struct file_tree f = { 0 };
    int ret = file_tree_list(&f, r->folder, r->folder, e);

    for (size_t i = 0; i < f.n && ret == 0; i++) {
        const char *from = f.file[i].whole;
        AUTO_FREE char *name = path_join(to, f.file[i].path);

        if (f.file[i].outside)
            log_warn("%s leads out of the run and is not packed", from);
        else if (strncmp(f.file[i].path, checkpoints_folder, skipped) != 0 &&
                 !copy_is_cursor(f.file[i].path))
            ret = add_open_file(b, path_open_inside(from, r->folder, e), from,
                                name, e);
    }
    return ret;
}

static int add_run(struct bundle *b, const struct run_info *r, struct err *e)
{
    AUTO_FREE char *parent = path_parent(r->folder);
    AUTO_FREE char *of = path_join("mlruns", path_name(parent));
    AUTO_FREE char *to = path_join(of, r->id);

    if (add_experiment(b, parent, of, e) < 0 || add_run_files(b, r, to, e) < 0)
        return -1;
    return checkpoints == NONE ? 0 : add_checkpoints(b, r, to, e);
}

/* ---- what the runs read ----------------------------------------------- */

/* Paths that a run names are found again only if they are below the current
 * folder, in which the copy of it takes its place. */
static int add_matches(struct bundle *b, const char *pattern,
                       const char *inside, struct err *e)
{
    glob_t g = { 0 };
    int ret = 0;

    if (*pattern && glob(pattern, 0, NULL, &g) == 0)
        for (char **path = g.gl_pathv; *path && ret == 0; path++) {
            if (path_stays_below(*path))
                ret = add_path(b, *path, inside, "files", e);
            else
                log_warn("%s is not below the current folder and is not packed",
                         *path);
        }
    globfree(&g);
    return ret;
}

/* The locks in the folder of the token files, which tell what they are. */
static int add_locks(struct bundle *b, const char *files, struct err *e)
{
    AUTO_FREE char *folder = path_parent(files);
    AUTO_FREE char *pattern = strcmp(folder, ".") == 0
                                  ? xstrdup("*.lock")
                                  : path_join(folder, "*.lock");

    return add_matches(b, pattern, with_data ? folder : ".", e);
}

/* The token files of each source, and their locks. */
static int add_sources(struct bundle *b, const char *text, struct err *e)
{
    AUTO(source_list_clear) struct source_list l = { 0 };
    int ret = source_list_parse(&l, text, e);

    if (ret < 0)
        return -1;
    for (size_t i = 0; ret == 0 && i < l.n; i++) {
        const char *files = l.part[i].files;

        if (!files)
            continue;
        ret = add_locks(b, files, e);
        if (ret == 0 && with_data)
            ret = add_matches(b, files, NULL, e);
    }
    return ret;
}

static int add_inputs(struct bundle *b, const struct run_info *r, struct err *e)
{
    static const char *const keys[] = { "data.train", "data.val", NULL };

    for (int i = 0; keys[i]; i++) {
        const char *files = run_info_param(r, keys[i]);

        if (files && *files && add_sources(b, files, e) < 0)
            return -1;
    }
    for (size_t i = 0; with_data && i < r->n_params; i++) {
        const char *name = r->params[i].key;

        if ((strncmp(name, "derived.task.", 13) == 0 ||
             strcmp(name, "data.tokenizer") == 0 ||
             strcmp(name, "train.teacher") == 0) &&
            add_matches(b, r->params[i].value, NULL, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- sources and licences --------------------------------------------- */

/* The sources of the commit at which a run was started, if they are here. */
static int add_commit(struct bundle *b, const struct run_info *r, struct err *e)
{
    const char *commit = run_info_tag(r, "mlflow.source.git.commit");
    const char *const find[] = { PROVENANCE_GIT, "rev-parse", "--show-toplevel",
                                 NULL };
    AUTO(buf_clear) struct buf top = BUF_INIT, archive = BUF_INIT;
    AUTO_FREE char *name = NULL;
    int ret = 0;

    if (!commit || strspn(commit, "0123456789abcdef") != strlen(commit))
        return 0;
    name = xasprintf("sources/%s.tar", commit);
    if (!has_file(b, name) && provenance_git(&top, 0, 0, find) &&
        !provenance_has_filter()) {
        AUTO_FREE char *folder = xstrndup(top.s, strcspn(top.s, "\n"));
        const char *const pack[] = { PROVENANCE_GIT, "-C",   folder, "archive",
                                     "--format=tar", commit, NULL };

        if (provenance_git(&archive, 0, 0, pack))
            ret = add_text(b, name, &archive, e);
    }
    if (ret == 0 && !has_file(b, name))
        log_warn("the sources of commit %.12s are not here, or git would run "
                 "filters of the repository's configuration",
                 commit);
    return ret;
}

static int add_licences(struct bundle *b, struct err *e)
{
    static const char *const patterns[] = { "COPYING*", "LICENSE*", "LICENCE*",
                                            NULL };

    for (int i = 0; patterns[i]; i++)
        if (add_matches(b, patterns[i], ".", e) < 0)
            return -1;
    return 0;
}

static int add_listed(struct bundle *b, const struct opt_list *l,
                      const char *below, struct err *e)
{
    for (size_t i = 0; i < l->n; i++) {
        if (!path_stays_below(l->item[i]))
            return err_usage(e,
                             "%s is not below the current folder; change to a "
                             "folder above it",
                             l->item[i]);
        if (add_path(b, l->item[i], NULL, below, e) < 0)
            return -1;
    }
    return 0;
}

/* ---- the whole -------------------------------------------------------- */

static bool has_run(const struct runs *runs, const char *id)
{
    for (size_t i = 0; i < runs->n; i++)
        if (strcmp(runs->run[i].id, id) == 0)
            return true;
    return false;
}

/* Say how many children of a parent, such as the cells of a sweep, are packed.
 */
static void tell_children(struct buf *out, const struct runs *all,
                          const struct runs *packed, const char *parent)
{
    const char *name = parent;
    long children = 0, here = 0, deleted = 0;

    for (size_t i = 0; i < all->n; i++) {
        const struct run_info *r = &all->run[i];
        const bool is_packed = has_run(packed, r->id);

        if (strcmp(r->id, parent) == 0)
            name = r->name;
        if (!r->parent || strcmp(r->parent, parent) != 0)
            continue;
        children++;
        here += is_packed;
        deleted += !is_packed && r->deleted;
    }
    if (here == children)
        return;
    buf_printf(out, "%ld of the %ld children of %s are here", here, children,
               name);
    if (deleted)
        buf_printf(out, "; %ld of the others %s deleted", deleted,
                   deleted == 1 ? "is" : "are");
    buf_char(out, '\n');
}

/* A choice among the cells of a sweep should be seen by who reads its results.
 */
static int tell_absent(struct buf *out, const struct runs *runs, struct err *e)
{
    AUTO(runs_free) struct runs all = { 0 };
    int ret = 0;

    for (size_t i = 0; i < runs->n && ret == 0; i++) {
        const char *parent = runs->run[i].parent;
        bool is_new = parent != NULL;

        for (size_t k = 0; k < i && is_new; k++)
            is_new = !runs->run[k].parent ||
                     strcmp(runs->run[k].parent, parent) != 0;
        if (is_new && all.n == 0)
            ret = runs_load(&all, track_store(), LOAD_DELETED | LOAD_NO_METRICS,
                            e);
        if (is_new && ret == 0)
            tell_children(out, &all, runs, parent);
    }
    return ret;
}

static int add_readme(struct bundle *b, const struct runs *runs, struct err *e)
{
    AUTO(buf_clear) struct buf text = BUF_INIT, absent = BUF_INIT;

    if (tell_absent(&absent, runs, e) < 0)
        return -1;
    buf_str(&text, "Runs, and what is needed to check them.\n\n");
    for (size_t i = 0; i < runs->n; i++)
        buf_printf(&text, "    %s  %s\n", runs->run[i].id, runs->run[i].name);
    if (absent.len > 0) {
        buf_printf(&text, "\n%s", absent.s);
        log_info("%.*s", (int)absent.len - 1, absent.s);
    }
    buf_printf(&text,
               "\nmlruns/   the runs, in the layout of MLflow's file store\n"
               "files/    reports, scripts, locks, data and licences\n"
               "sources/  sources of the programs\n"
               "MANIFEST  the SHA-256 of each file\n\n"
               "This was written by gtrack %s.  `gtrack verify` checks the "
               "archive.\nWithout it, `sha256sum -c MANIFEST` checks the "
               "files.\n",
               PACKAGE_VERSION);
    return add_text(b, "README", &text, e);
}

static int add_all(struct bundle *b, const struct runs *runs, struct err *e)
{
    if (add_readme(b, runs, e) < 0)
        return -1;
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];

        if (add_run(b, r, e) < 0 || add_inputs(b, r, e) < 0 ||
            add_commit(b, r, e) < 0)
            return err_wrap(e, "%s", r->name);
    }
    if (add_listed(b, &added, "files", e) < 0 ||
        add_listed(b, &sources, "sources", e) < 0)
        return -1;
    return add_licences(b, e);
}

/* MANIFEST is the last file, and its own SHA-256 the head. */
static int add_manifest(struct bundle *b, char head[SHA256_TEXT], struct err *e)
{
    sha256_of(b->manifest.s, b->manifest.len, head);
    if (key && bundle_sign(&b->signature, key, &b->manifest, e) < 0)
        return -1;
    if (add_text(b, BUNDLE_MANIFEST, &b->manifest, e) < 0)
        return -1;
    tar_write_end(b->fp);
    return 0;
}

static int write_bundle(const struct runs *runs, struct err *e)
{
    struct bundle b = { .top = bundle_top(output),
                        .manifest = BUF_INIT,
                        .signature = BUF_INIT };
    char *signature = xasprintf("%s" BUNDLE_SIGNATURE, output);
    AUTO(save_abandon) struct save s = { 0 };
    char head[SHA256_TEXT], n[NUM_TEXT], size[NUM_TEXT];
    int ret = save_open(&s, output, e);

    b.fp = s.fp;
    if (ret == 0)
        ret = add_all(&b, runs, e);
    if (ret == 0)
        ret = add_manifest(&b, head, e);
    if (ret == 0)
        ret = save_commit(&s, e);
    if (ret == 0 && key)
        ret = save_bytes(signature, b.signature.s, b.signature.len, e);
    if (ret == 0) {
        log_info("%s: %s, %s", output, num_count(n, b.files, "file"),
                 num_bytes(size, (double)b.bytes));
        puts(head); /* style: own */
        fflush(stdout);
    }
    if (ret == 0 && anchor) {
        const char *const argv[] = { "sh", "-c", anchor, NULL };
        struct spawn run = { .in = head, .in_len = strlen(head) };

        ret = spawn_run(argv, &run, e);
    }
    buf_clear(&b.manifest);
    buf_clear(&b.signature);
    FREE(signature, b.top);
    return ret;
}

static int bundle_main(int argc, char **argv, struct err *e)
{
    AUTO(runs_free) struct runs runs = { 0 };
    AUTO_FREE char *folder = NULL;
    int ret;

    if (track_check_args(argc, argv, 1, -1, e) < 0)
        return -1;
    if (!output)
        return err_usage(e, "-o names the archive to write");
    if (checkpoints == UNSAID) /* steps are computed again from these */
        checkpoints = with_data ? SOME : NONE;
    folder = path_of_output(output);
    if (!key && !anchor) /* a key may be that of an agent or of a device */
        track_confine_output(folder);
    ret = track_load(&runs, argc, argv, LOAD_NO_METRICS, e);
    if (ret == 0) {
        runs_warn_secrets(&runs);
        ret = write_bundle(&runs, e);
    }
    FREE(added.item, sources.item);
    return ret;
}

const struct cmd cmd_bundle = {
    .name = "bundle",
    .args = "RUN...",
    .help = "pack runs with all that is needed to check them",
    .opts = bundle_opts,
    .run = bundle_main,
};
