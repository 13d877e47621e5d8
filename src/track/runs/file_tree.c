#include "config.h"
#include "track/runs/file_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/save.h"
#include "store/format/meta.h"
#include "store/format/store.h"
#include "store/write/new_run.h"

/* The first `skip` bytes of the path are those of the folder. */
static void add_file(struct file_tree *f, const char *path, size_t skip,
                     const struct stat *st, bool outside)
{
    char *whole = xstrdup(path);

    APPEND(f->file, f->n, f->room) = (struct file_tree_file){
        .whole = whole,
        .path = whole + skip,
        .size = (int64_t)st->st_size,
        .mtime_ms =
            (int64_t)st->st_mtim.tv_sec * 1000 + st->st_mtim.tv_nsec / 1000000,
        .outside = outside,
    };
}

static int walk_folder(struct file_tree *f, const char *folder, size_t skip,
                       const char *inside, struct err *e)
{
    AUTO(path_list_clear) struct path_list l = { 0 };
    int ret = 0;

    if (path_list(&l, folder, e) < 0)
        return -1;
    for (size_t i = 0; i < l.n && ret == 0; i++) {
        const char *path = path_listed(&l, i);
        struct stat st = { 0 }, link = { 0 };

        /* a file that was removed meanwhile, or a dangling link, is no file */
        if (lstat(path, &link) < 0 || stat(path, &st) < 0) {
            st.st_mode = 0;
            if (errno != ENOENT && errno != ELOOP && errno != ENOTDIR &&
                !(S_ISLNK(link.st_mode) && errno == EACCES))
                ret = err_sys(e, "cannot read %s", path);
        }
        if (st.st_mode && S_ISLNK(link.st_mode) && path_leaves(path, inside))
            add_file(f, path, skip, &link, true);
        else if (S_ISDIR(st.st_mode) && !S_ISLNK(link.st_mode))
            ret = walk_folder(f, path, skip, inside, e);
        else if (S_ISREG(st.st_mode))
            add_file(f, path, skip, &st, false);
    }
    return ret;
}

int file_tree_list(struct file_tree *f, const char *folder, const char *inside,
                   struct err *e)
{
    struct stat st;
    AUTO_FREE char *here = NULL;
    int ret = 0;

    *f = (struct file_tree){ 0 };
    if (!folder || !path_is_folder(folder))
        return 0;
    here = path_join(folder, ".");
    if (!path_is_link(folder) || !path_leaves(folder, inside))
        ret = walk_folder(f, folder, strlen(here) - 1, inside, e);
    else if (lstat(folder, &st) == 0)
        add_file(f, here, strlen(here) - 1, &st, true);
    if (ret < 0)
        file_tree_clear(f);
    return ret;
}

void file_tree_add_size(struct table *t, const struct file_tree_file *f)
{
    if (f->outside)
        table_none(t);
    else
        table_bytes(t, f->size);
}

void file_tree_clear(struct file_tree *f)
{
    for (size_t i = 0; i < f->n; i++)
        free(f->file[i].whole);
    free(f->file);
    *f = (struct file_tree){ 0 };
}

const char *const media_folders[] = { "images", "tables",  "audio", "video",
                                      "html",   "samples", NULL };

/* "step-3.txt" */
static bool parse_sample(struct media_file *m, const char *name)
{
    int n = 0;

    m->key = media_folders[MEDIA_SAMPLE];
    return sscanf(name, "step-%" SCNd64 ".txt%n", &m->step, &n) == 1 && n &&
           !name[n];
}

/* Is the text after the step, as ".png", the ending of a whole file? */
static bool is_ending(const char *s)
{
    return *s == '.' && s[1] && !strchr(s + 1, '.');
}

/* "KEY+step+3+timestamp+MS+UUID.png".  The UUID of an image in a list begins
 * with four zeros and the number of the image. */
static bool parse_image(struct media_file *m, const char *name,
                        struct arena *mem)
{
    const char *at = strstr(name, "+step+");
    char uuid[9] = "";
    char *key;

    if (!at || at == name || !is_ending(at + strcspn(at, ".")) ||
        strstr(at, "+compressed.") ||
        sscanf(at, "+step+%" SCNd64 "+timestamp+%" SCNd64 "+%8[0-9a-f]-",
               &m->step, &m->ms, uuid) != 3)
        return false;
    key = arena_strndup(mem, name, (size_t)(at - name));
    for (char *c = key; *c; c++)
        *c = *c == '~' ? '/' : *c;
    m->key = key;
    if (strncmp(uuid, "0000", 4) == 0)
        m->number = (int64_t)strtol(uuid, NULL, 16);
    return true;
}

/* "KEY/3.wav", or "KEY/3-1.wav" for one in a list. */
static bool parse_other(struct media_file *m, const char *name,
                        struct arena *mem)
{
    const char *slash = strrchr(name, '/');
    int n = 0;

    if (!slash || slash == name ||
        sscanf(slash, "/%" SCNd64 "%n", &m->step, &n) != 1)
        return false;
    m->key = arena_strndup(mem, name, (size_t)(slash - name));
    if (slash[n] == '-') {
        slash += n;
        if (sscanf(slash, "-%" SCNd64 "%n", &m->number, &n) != 1)
            return false;
    }
    return is_ending(slash + n);
}

bool media_file_parse(struct media_file *m, const struct file_tree_file *f,
                      struct arena *mem)
{
    const char *dot = strrchr(f->path, '.');
    const char *slash = strchr(f->path, '/');
    AUTO_FREE char *folder =
        xstrndup(f->path, slash ? (size_t)(slash - f->path) : 0);
    const int i = opt_find_word(media_folders, folder);

    if (i < 0 || f->outside || !dot ||
        (strcmp(dot, ".txt") == 0) != (i == MEDIA_SAMPLE))
        return false;
    *m = (struct media_file){ .kind = (enum media)i,
                              .path = arena_strdup(mem, f->path),
                              .ms = f->mtime_ms,
                              .size = f->size,
                              .number = MEDIA_ALONE };
    if (m->kind == MEDIA_SAMPLE)
        return parse_sample(m, slash + 1);
    return (m->kind == MEDIA_IMAGE ? parse_image : parse_other)(m, slash + 1,
                                                                mem);
}

const char *media_file_caption(const struct media_file *m,
                               const struct run_info *r, struct arena *mem)
{
    enum { CAPTION_MAX = 64 << 10 };
    AUTO_FREE char *path =
        xasprintf("%s/%.*s.txt", r->artifacts,
                  (int)(strrchr(m->path, '.') - m->path), m->path);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    const char *caption = NULL;

    if (path_exists(path) &&
        buf_read_open(&text,
                      path_open_inside(path, run_info_inside(r), ERR_IGNORED),
                      path, CAPTION_MAX, ERR_IGNORED) == 0)
        caption = arena_strdup(mem, text.s);
    return caption;
}

/* ---- copies -------------------------------------------------------------- */

int copy_stream(FILE *in, const char *name, FILE *out, struct err *e)
{
    char chunk[65536];
    size_t n;

    while ((n = fread(chunk, 1, sizeof chunk, in)) > 0)
        if (fwrite(chunk, 1, n, out) != n)
            break;
    return ferror(in) ? err_sys(e, "cannot read %s", name) : 0;
}

/* Copy a file, unless links lead out of the folder `inside`, to a new one. */
static int copy_file(const char *from, const char *inside, const char *to,
                     struct err *e)
{
    const int fd = path_open_inside(from, inside, e);
    FILE *in, *out;
    int ret;

    if (fd < 0)
        return -1;
    in = fdopen(fd, "r");
    out = fopen(to, "wxe");
    if (out) {
        bool failed;

        ret = copy_stream(in, from, out, e);
        failed = ferror(out);
        if ((fclose(out) != 0 || failed) && ret == 0)
            ret = err_sys(e, "cannot write %s", to);
    } else {
        ret = err_sys(e, "cannot create %s", to);
    }
    fclose(in);
    return ret;
}

bool copy_is_cursor(const char *file)
{
    static const char begin[] = STORE_OWN "/push.";

    return strncmp(file, begin, sizeof begin - 1) == 0;
}

int copy_tree(const char *from, const char *to, const char *top,
              const char *except, const char *inside, struct err *e)
{
    struct path_pin pin;
    AUTO(file_tree_clear) struct file_tree f = { 0 };
    int ret = 0;

    if (file_tree_list(&f, from, inside, e) < 0)
        return -1;
    for (size_t i = 0; ret == 0 && i < f.n; i++) {
        const char *a = f.file[i].whole;
        AUTO_FREE char *b = path_join(to, f.file[i].path);

        if (f.file[i].outside) {
            log_warn("%s is a link that leaves %s: not copied", a, from);
        } else if ((!except || strcmp(f.file[i].path, except) != 0) &&
                   !copy_is_cursor(f.file[i].path)) {
            ret = path_pin(&pin, b, top, e);
            if (ret == 0)
                ret = copy_file(a, inside, pin.name, e);
            path_unpin(&pin, e);
        }
    }
    return ret;
}

/* Copy the tags of an experiment, unless the copy has some already: all of
 * them, or none after a failure, since they wait in the folder of a run. */
static int copy_tags(const char *from, const char *to, const char *run,
                     const char *inside, struct err *e)
{
    AUTO_FREE char *fresh = path_join(run, STORE_OWN "/tags");
    int ret = 0;

    if (!path_exists(to))
        ret = copy_tree(from, fresh, run, NULL, inside, e);
    if (ret == 0 && path_exists(fresh)) {
        ret = save_sync_all(fresh, e);
        if (ret == 0 && rename(fresh, to) < 0 && errno != EEXIST &&
            errno != ENOTEMPTY)
            ret = err_sys(e, "cannot create %s", to);
    }
    if (path_exists(fresh))
        path_remove(fresh, ERR_IGNORED);
    return ret;
}

/* Copy what belongs to the experiment of a run: the datasets that the inputs of
 * the run name, and its tags. */
static int copy_shared(const struct run_info *r, const char *folder,
                       const char *experiment, struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    AUTO_FREE char *parent = path_parent(r->folder);
    const char *tags = arena_printf(&mem, "%s/tags", parent);
    int ret = datasets_copy(folder, parent, experiment, r->links, e);

    if (ret == 0 && !path_is_refused(tags, r->links))
        ret = copy_tags(tags, arena_printf(&mem, "%s/tags", experiment), folder,
                        r->links ? NULL : tags, e);
    return ret;
}

static int write_meta(const struct run_info *r, const char *folder,
                      const char *place, const char *experiment, struct err *e)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    AUTO_FREE char *uri = store_uri(arena_printf(&mem, "%s/artifacts", place));
    struct meta m;

    if (meta_load(&m, &mem, r->folder, r->links, e) < 0 ||
        new_run_folders(folder, e) < 0)
        return -1;
    m.id = r->id;
    m.experiment_id = experiment;
    m.artifact_uri = uri;
    if (!m.name)
        m.name = r->name;
    return meta_save(&m, folder, false, e);
}

static int copy_run(const struct run_info *r, const char *to_root,
                    struct staging_batch *b, bool *copied, struct err *e)
{
    char *experiment = NULL, *place = NULL, *of = NULL, *folder = NULL;
    int ret = -1;

    *copied = false;
    if (!store_is_id(r->id)) {
        err_input(e, "its id is not 32 hexadecimal digits");
        goto out;
    }
    if (store_make(to_root, e) < 0 ||
        store_experiment(to_root, r->experiment, &experiment, e) < 0)
        goto out;
    of = path_join(to_root, experiment);
    place = path_join(of, r->id);
    if (path_exists(place)) {
        ret = 0;
        goto out;
    }
    store_claimed(to_root, r->name);
    folder = staging_begin(to_root, place, e);
    if (!folder ||
        copy_tree(r->folder, folder, folder, STORE_META, run_info_inside(r),
                  e) < 0 ||
        copy_shared(r, folder, of, e) < 0 ||
        write_meta(r, folder, place, experiment, e) < 0)
        goto out;
    ret = staging_add(b, folder, place, e);
    folder = place = NULL;
    *copied = true;

out:
    if (ret < 0 && e->kind != ERR_SYSTEM && !path_exists(r->folder)) {
        *e = (struct err){ 0 };
        err_set(e, ERR_MISSING, "it was moved or removed meanwhile");
    }
    if (ret < 0)
        err_wrap(e, "cannot copy run %s", r->name);
    if (ret < 0 && folder)
        path_remove(folder, ERR_IGNORED);
    FREE(folder, place, of, experiment);
    return ret;
}

int copy_runs(const struct runs *runs, const char *to_root, struct copies *c,
              struct err *e)
{
    struct staging_batch batch = { .n = 0 };
    size_t failed = 0;

    *c = (struct copies){ 0, 0, 0 };
    for (size_t i = 0; i < runs->n; i++) {
        const struct run_info *r = &runs->run[i];
        bool copied;

        if (copy_run(r, to_root, &batch, &copied, e) < 0) {
            if (e->kind != ERR_INPUT && e->kind != ERR_MISSING) {
                staging_flush(&batch, ERR_IGNORED);
                return -1;
            }
            log_warn("%s", e->text);
            *e = (struct err){ 0 };
            failed++;
            continue;
        }
        c->runs += copied;
        c->existing += !copied;
        for (size_t k = 0; copied && k < r->n_metrics; k++)
            c->points +=
                (size_t)(r->metrics[k].count + r->metrics[k].retracted);
    }
    if (staging_flush(&batch, e) < 0 || save_sync_all(to_root, e) < 0)
        return -1;
    if (failed)
        return err_input(e, "%zu of %zu runs were not copied", failed, runs->n);
    return 0;
}
