#include "config.h"
#include "store/fsck/fsck.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/utf8.h"
#include "store/format/attempt.h"
#include "store/format/key.h"
#include "store/format/meta.h"
#include "store/format/metric.h"
#include "store/format/store.h"

struct span {
    int64_t first_ms, last_ms;
};

struct check {
    const struct run_info *run;
    bool repair;
    fsck_fn *tell;
    void *arg;
    struct span points, files; /* when they were logged, and written */
};

/* A link may name anything, so nothing behind it is repaired. */
static const char linked[] = "a symbolic link, which is not read";

static const char fsck_temp[] = STORE_OWN "/fsck.tmp";
enum { VALUE_MAX = 64 << 20 };

static void tell(const struct check *c, const char *file, bool repaired,
                 const char *what)
{
    const struct fsck_finding f = { c->run->name, c->run->id, file, what,
                                    repaired };

    c->tell(c->arg, &f);
}

/* A file of the run, as findings name it. */
static const char *inside(const struct check *c, const char *path)
{
    return path + strlen(c->run->folder) + 1;
}

static void widen(struct span *s, int64_t ms)
{
    if (!s->first_ms || ms < s->first_ms)
        s->first_ms = ms;
    if (ms > s->last_ms)
        s->last_ms = ms;
}

/* ---- one metric ---- */

static void see_point(void *arg, const struct metric_point *p)
{
    struct check *c = arg;

    widen(&c->points, p->ms);
}

/* Rewrite the file, keeping only lines that are points. */
static int keep_points(const char *path, const char *run, struct err *e)
{
    AUTO_FREE char *line = NULL;
    const int fd = path_open_below(run, path, PATH_NO_LINKS, e);
    AUTO(path_fclose) FILE *in = fd >= 0 ? fdopen(fd, "r") : NULL;
    AUTO(buf_clear) struct buf good = BUF_INIT;
    size_t room = 0;
    ssize_t n;

    if (!in)
        return -1;
    while ((n = getline(&line, &room, in)) > 0) {
        struct metric_point p;

        if (line[n - 1] == '\n' && metric_line(line, line + n - 1, &p))
            buf_add(&good, line, (size_t)n);
    }
    if (ferror(in))
        return err_sys(e, "cannot read %s", path);
    if (good.len == 0)
        return store_remove_below(run, path, false, e);
    return store_write_below(run, path, fsck_temp, good.s, good.len, true, e);
}

static int check_metric(struct check *c, const char *path, const char *file,
                        struct err *e)
{
    const struct metric_file f = { .path = path,
                                   .key = file,
                                   .run = c->run->folder };
    struct metric_scan scan = { 0 };
    struct stat st;
    char what[128] = "";
    bool torn = false;

    if (stat(path, &st) == 0 && st.st_size == 0) {
        snprintf(what, sizeof what, "the file is empty");
    } else if (metric_read(&f, see_point, c, &scan, e) == 0) {
        torn = scan.torn;
        if (scan.bad)
            snprintf(what, sizeof what,
                     "lines that are no points: %lld, the first is line %lld",
                     (long long)scan.bad, (long long)scan.bad_line);
    } else if (e->kind == ERR_INPUT) {
        *e = (struct err){ 0 };
        snprintf(what, sizeof what, "it has a line that is too long");
    } else {
        return -1;
    }
    if ((*what || torn) && c->repair &&
        keep_points(path, c->run->folder, e) < 0)
        return -1;
    if (*what)
        tell(c, file, c->repair, what);
    if (torn)
        tell(c, file, c->repair, "its last line is not whole");
    return 0;
}

/* ---- one parameter or tag ---- */

static int check_value(struct check *c, const char *path, const char *file,
                       struct err *e)
{
    const char *run = c->run->folder;
    AUTO(buf_clear) struct buf was = BUF_INIT, clean = BUF_INIT;
    int ret = buf_read_open(&was, path_open_below(run, path, PATH_NO_LINKS, e),
                            path, VALUE_MAX, e);

    if (ret == 0)
        utf8_clean(&clean, was.s, was.len);
    if (ret == 0 &&
        (clean.len != was.len || memcmp(clean.s, was.s, was.len) != 0)) {
        if (c->repair)
            ret = store_write_below(run, path, fsck_temp, clean.s, clean.len,
                                    true, e);
        if (ret == 0)
            tell(c, file, c->repair, "its value is not UTF-8");
    }
    return ret;
}

/* ---- all files of a kind ---- */

typedef int check_fn(struct check *, const char *path, const char *file,
                     struct err *);

/* Change a name that MLflow does not accept to the nearest that it does; *moved
 * is the path that the file has then, or NULL. */
static int check_name(const struct check *c, const char *path, const char *kind,
                      char **moved, struct err *e)
{
    const char *file = inside(c, path), *key = file + strlen(kind) + 1;
    const char *problem = key_problem(key);
    AUTO_FREE char *clean = NULL, *to = NULL;
    int ret = 0;

    *moved = NULL;
    if (!problem)
        return 0;
    clean = key_clean(key);
    to = xasprintf("%s/%s/%s", c->run->folder, kind, clean);
    if (c->repair && !path_exists(to)) {
        ret = store_rename_below(c->run->folder, path, c->run->folder, to, e);
        if (ret == 0)
            *moved = xstrdup(to);
    }
    if (ret == 0) {
        AUTO_FREE char *what = xasprintf("the name %s", problem);

        tell(c, file, c->repair, what);
    }
    return ret;
}

static int walk(struct check *c, const char *folder, const char *kind,
                check_fn *check, struct err *e)
{
    AUTO(path_list_clear) struct path_list l = { 0 };
    int ret = path_list(&l, folder, e);

    for (size_t i = 0; ret == 0 && i < l.n; i++) {
        const char *path = path_listed(&l, i), *file = inside(c, path);
        struct stat st;
        const bool there = stat(path, &st) == 0;
        AUTO_FREE char *moved = NULL;

        if (there && S_ISDIR(st.st_mode)) {
            if (!path_is_link(path)) /* readers do not follow it either */
                ret = walk(c, path, kind, check, e);
        } else if (there && path_is_link(path)) {
            tell(c, file, false, linked);
        } else if (!there || !S_ISREG(st.st_mode)) {
            if (c->repair)
                ret = store_remove_below(c->run->folder, path, false, e);
            if (ret == 0)
                tell(c, file, c->repair,
                     "neither a regular file nor a link to one");
        } else {
            widen(&c->files, (int64_t)st.st_mtim.tv_sec * 1000);
            ret = check_name(c, path, kind, &moved, e);
            if (ret == 0)
                ret = check(c, moved ? moved : path, file, e);
        }
    }
    return ret;
}

/* ---- the run itself ---- */

static int check_folders(const struct check *c, struct err *e)
{
    static const char *const needed[] = { "metrics", "params", "tags",
                                          "artifacts" };

    for (size_t i = 0; i < sizeof needed / sizeof needed[0]; i++) {
        AUTO_FREE char *folder = path_join(c->run->folder, needed[i]);
        int ret = 0;

        if (!path_is_folder(folder)) {
            if (c->repair)
                ret = store_rename_damaged(folder, e);
            if (c->repair && ret == 0)
                ret = path_make(folder, e);
            if (ret == 0)
                tell(c, needed[i], c->repair, "the folder is missing");
        }
        if (ret < 0)
            return -1;
    }
    return 0;
}

/* MLflow lists no run of the experiment if one has an input that it cannot
 * read; a repair moves the input to where no reader looks. */
static int check_inputs(const struct check *c, struct err *e)
{
    AUTO_FREE char *folder = path_join(c->run->folder, "inputs");
    AUTO(path_list_clear) struct path_list l = { 0 };
    int ret = path_is_folder(folder) ? path_list(&l, folder, e) : 0;

    for (size_t i = 0; ret == 0 && i < l.n; i++) {
        const char *from = path_listed(&l, i);
        AUTO_FREE char *to =
            xasprintf("%s/" STORE_OWN "/inputs.%s", c->run->folder, l.name[i]);
        struct err why = { 0 };

        if (dataset_check(c->run->folder, from, &why) < 0) {
            if (c->repair)
                ret = store_rename_below(c->run->folder, from, c->run->folder,
                                         to, e);
            if (ret == 0)
                tell(c, inside(c, from), c->repair, why.text);
        }
    }
    return ret;
}

/* Temporary files that a killed writer left. */
static int check_leftovers(const struct check *c, const char *below,
                           struct err *e)
{
    AUTO_FREE char *folder = path_join(c->run->folder, below);
    AUTO(path_list_clear) struct path_list l = { 0 };
    int ret = 0;

    if (path_is_folder(folder) && !(*below && path_is_link(folder)))
        ret = path_list(&l, folder, e);
    for (size_t i = 0; ret == 0 && i < l.n; i++) {
        const char *path = path_listed(&l, i);

        if (!str_ends(path, ".tmp"))
            continue;
        if (c->repair)
            ret = store_remove_below(c->run->folder, path, false, e);
        if (ret == 0)
            c->tell(c->arg, &(struct fsck_finding){
                                c->run->name, c->run->id, inside(c, path),
                                "left by a writer that was killed", c->repair,
                                .harmless = true });
    }
    return ret;
}

static bool is_empty(const char *folder)
{
    AUTO(path_list_clear) struct path_list l = { 0 };
    bool empty = path_list(&l, folder, ERR_IGNORED) == 0;

    for (size_t i = 0; empty && i < l.n; i++)
        empty =
            !path_is_link(path_listed(&l, i)) && is_empty(path_listed(&l, i));
    return empty;
}

/* ---- meta.yaml ----------------------------------------------------------- */

/* Rebuild it from the rest of the run.  Only an attempt tells how it ended. */
static void guess_meta(struct meta *m, const struct run_info *r,
                       const struct span *seen, const char *uri)
{
    const struct attempt *first = r->attempts ? &r->attempt[0] : NULL;
    const char *user = run_info_tag(r, "mlflow.user");
    const char *source = run_info_tag(r, "mlflow.source.name");

    if (!user)
        user = first ? first->user : NULL;
    *m = (struct meta){
        .id = path_name(r->folder),
        .name = r->name,
        .experiment_id = r->experiment_id,
        .user = user ? user : "",
        .artifact_uri = uri,
        .source_name = source ? source : "",
        .source_type = 4,
        .status = !first                   ? RUN_KILLED
                  : r->status == RUN_STALE ? RUN_FAILED
                                           : run_status_mlflow(r->status),
        .start_ms = first ? first->start_ms : seen->first_ms,
        .end_ms = seen->last_ms,
        .deleted = r->deleted,
    };
    if (first) {
        const struct attempt *last = &r->attempt[r->attempts - 1];

        m->end_ms = r->status == RUN_RUNNING ? 0
                    : last->end_ms           ? last->end_ms
                                             : last->beat_ms;
    }
    if (r->deleted)
        m->deleted_ms = m->end_ms;
}

/* Keep one that cannot be read next to the new one. */
static int replace_meta(const struct run_info *r, const struct span *seen,
                        struct err *e)
{
    AUTO_FREE char *path = path_join(r->folder, STORE_META);
    AUTO_FREE char *uri = store_uri(r->artifacts);
    struct meta m;

    guess_meta(&m, r, seen, uri);
    if (store_rename_damaged(path, e) < 0)
        return -1;
    return meta_save(&m, r->folder, true, e);
}

/* The status for a damaged meta.yaml.  RUNNING also stands for an unknown one,
 * which cannot be that of a run that has an end. */
static int64_t settle_status(const struct meta *m, const struct run_info *r)
{
    if (m->status != RUN_RUNNING)
        return m->status;
    if (r->attempts == 0)
        return m->end_ms ? RUN_KILLED : RUN_RUNNING;
    return r->status == RUN_STALE ? RUN_RUNNING : run_status_mlflow(r->status);
}

/* Complete one that could be read; meta_load() substitutes what is missing. */
static int complete_meta(struct meta *m, const struct run_info *r,
                         struct err *e)
{
    AUTO_FREE char *uri = store_uri(r->artifacts);

    m->id = path_name(r->folder);
    m->experiment_id = r->experiment_id;
    if (!m->start_ms)
        m->start_ms = r->start_ms;
    if (!m->name)
        m->name = r->name;
    if (!m->artifact_uri)
        m->artifact_uri = uri;
    m->status = settle_status(m, r);
    return meta_save(m, r->folder, true, e);
}

/* Also while the run is written: its writer replaces the file as a whole when
 * the run ends. */
static int check_meta(const struct check *c, bool repair, struct err *e)
{
    const struct run_info *r = c->run;
    const struct span *seen = c->points.last_ms ? &c->points : &c->files;
    struct fsck_finding f = { r->name, r->id, STORE_META, NULL, repair };
    AUTO(arena_clear) struct arena mem = { 0 };
    struct err why = { 0 };
    struct meta m;
    int ret = 0;

    if (meta_load(&m, &mem, r->folder, PATH_NO_LINKS, &why) < 0) {
        f.what = why.kind == ERR_MISSING ? "it is missing" : why.text;
        if (repair)
            ret = replace_meta(r, seen, e);
    } else {
        if (!m.damage && strcmp(m.experiment_id, r->experiment_id) != 0)
            m.damage = "meta.yaml has another experiment_id than the folder";
        f.what = m.damage ? m.damage : m.incomplete;
        if (f.what && repair)
            ret = complete_meta(&m, r, e);
    }
    if (ret == 0 && f.what)
        c->tell(c->arg, &f);
    return ret;
}

/* ---- a run --------------------------------------------------------------- */

/* There are only folders, so nothing can be rebuilt or lost. */
static int check_empty(const struct check *c, struct err *e)
{
    if (c->repair && path_remove(c->run->folder, e) < 0)
        return -1;
    tell(c, ".", c->repair, "a run that was never begun: it has no file");
    return 0;
}

int fsck_run(const struct run_info *r, bool repair, fsck_fn *fn, void *arg,
             struct err *e)
{
    static const struct {
        const char *kind;
        check_fn *check;
    } kinds[] = {
        { "metrics", check_metric },
        { "params", check_value },
        { "tags", check_value },
    };
    const bool going = r->status == RUN_RUNNING;
    struct check c = {
        .run = r, .repair = repair && !going, .tell = fn, .arg = arg
    };
    AUTO_FREE char *own = path_join(r->folder, STORE_OWN);
    struct stat st;
    int ret = 0;

    if (is_empty(r->folder))
        return check_empty(&c, e);
    if (path_is_link(own))
        tell(&c, STORE_OWN, c.repair, linked);
    if (c.repair && (path_is_link(own) || !path_is_folder(own)))
        ret = store_rename_damaged(own, e);
    if (c.repair && ret == 0)
        ret = path_make(own, e);
    if (ret < 0 || check_folders(&c, e) < 0)
        return -1;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        AUTO_FREE char *folder = path_join(r->folder, kinds[i].kind);
        const bool link = path_is_link(folder);
        const bool there = !link && path_is_folder(folder);

        if (link)
            tell(&c, kinds[i].kind, false, linked);
        if (there)
            ret = walk(&c, folder, kinds[i].kind, kinds[i].check, e);
        if (ret < 0)
            return -1;
    }
    if (check_inputs(&c, e) < 0)
        return -1;
    if (!going && (check_leftovers(&c, "", e) < 0 ||
                   check_leftovers(&c, STORE_OWN, e) < 0))
        return -1;
    if (!c.files.last_ms && stat(r->folder, &st) == 0)
        widen(&c.files, (int64_t)st.st_mtim.tv_sec * 1000);
    return check_meta(&c, repair, e);
}
