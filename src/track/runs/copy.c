#include "config.h"
#include "track/runs/copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "store/format/meta.h"
#include "store/format/store.h"
#include "store/write/new_run.h"
#include "track/runs/file_tree.h"

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
    struct file_tree f;
    int ret = 0;

    if (file_tree_list(&f, from, inside, e) < 0)
        return -1;
    for (size_t i = 0; ret == 0 && i < f.n; i++) {
        const char *a = f.file[i].whole;
        char *b = path_join(to, f.file[i].path);

        if (f.file[i].outside) {
            log_warn("%s is a link that leaves %s: not copied", a, from);
        } else if ((!except || strcmp(f.file[i].path, except) != 0) &&
                   !copy_is_cursor(f.file[i].path)) {
            ret = path_pin(&pin, b, top, e);
            if (ret == 0)
                ret = copy_file(a, inside, pin.name, e);
            path_unpin(&pin, e);
        }
        free(b);
    }
    file_tree_clear(&f);
    return ret;
}

/* Copy the tags of an experiment, unless the copy has some already: all of
 * them, or none after a failure, since they wait in the folder of a run. */
static int copy_tags(const char *from, const char *to, const char *run,
                     const char *inside, struct err *e)
{
    char *fresh = path_join(run, STORE_OWN "/tags");
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
    free(fresh);
    return ret;
}

/* Copy what belongs to the experiment of a run: the datasets that the inputs of
 * the run name, and its tags. */
static int copy_shared(const struct run_info *r, const char *folder,
                       const char *experiment, struct err *e)
{
    struct arena mem = { 0 };
    char *parent = path_parent(r->folder);
    const char *tags = arena_printf(&mem, "%s/tags", parent);
    int ret = datasets_copy(folder, parent, experiment, r->links, e);

    if (ret == 0 && !path_is_refused(tags, r->links))
        ret = copy_tags(tags, arena_printf(&mem, "%s/tags", experiment), folder,
                        r->links ? NULL : tags, e);
    arena_clear(&mem);
    free(parent);
    return ret;
}

static int write_meta(const struct run_info *r, const char *folder,
                      const char *place, const char *experiment, struct err *e)
{
    struct arena mem = { 0 };
    char *uri = store_uri(arena_printf(&mem, "%s/artifacts", place));
    struct meta m;
    int ret = meta_load(&m, &mem, r->folder, r->links, e);

    if (ret == 0)
        ret = new_run_folders(folder, e);
    if (ret == 0) {
        m.id = r->id;
        m.experiment_id = experiment;
        m.artifact_uri = uri;
        if (!m.name)
            m.name = r->name;
        ret = meta_save(&m, folder, false, e);
    }
    free(uri);
    arena_clear(&mem);
    return ret;
}

static int copy_run(const struct run_info *r, const char *to_root,
                    struct staging_batch *b, bool *copied, struct err *e)
{
    char *experiment = NULL, *place = NULL, *of = NULL, *folder = NULL;
    int ret = -1;

    *copied = false;
    if (!store_is_id(r->id)) {
        err_set(e, ERR_INPUT, "its id is not 32 hexadecimal digits");
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
        return err_set(e, ERR_INPUT, "%zu of %zu runs were not copied", failed,
                       runs->n);
    return 0;
}
