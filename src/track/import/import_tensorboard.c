/*
 * import_tensorboard - import scalars and hyperparameters from event files of
 * TensorBoard
 */
#include "config.h"
#include "track/import/import.h"

#include <string.h>

#include "common/path.h"
#include "store/format/store.h"
#include "store/format/tfevents.h"
#include "track/runs/file_tree.h"

static void add_scalar(void *arg, const char *tag, int64_t step, int64_t ms,
                       double value)
{
    import_run_point(arg, tag, step, ms, value);
}

static void add_param(void *arg, const char *key, const char *value)
{
    import_run_param(arg, key, value);
}

static void add_other(void *arg, const char *kind)
{
    import_run_leave(arg, kind);
}

static void add_histogram(struct import_run *in, const struct tfevents_media *m)
{
    json_auto_t *counts = json_array(), *edges = json_array();

    for (size_t i = 0; i < m->n; i++)
        json_array_append_new(counts, json_real(m->count[i]));
    for (size_t i = 0; i <= m->n; i++)
        json_array_append_new(edges, json_real(m->edge[i]));
    if (!import_run_histogram(in, m->tag, m->step, m->wall_ms, counts, edges))
        import_run_leave(in, "histogram");
}

/* The end of a name for a file that begins like this. */
static const char *ending_of(const void *data, size_t n)
{
    static const struct {
        const char *begin, *ending;
        size_t n;
    } known[] = {
        { "\x89PNG", ".png", 4 },
        { "\xff\xd8\xff", ".jpg", 3 },
        { "GIF8", ".gif", 4 },
        { "RIFF", ".wav", 4 },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (n >= known[i].n && memcmp(data, known[i].begin, known[i].n) == 0)
            return known[i].ending;
    return "";
}

static void add_media(void *arg, const struct tfevents_media *m)
{
    static const char *const kinds[] = { [TFEVENTS_IMAGE] = "images",
                                         [TFEVENTS_AUDIO] = "audio",
                                         [TFEVENTS_TEXT] = "text" };

    if (m->kind == TFEVENTS_HISTOGRAM) {
        add_histogram(arg, m);
        return;
    }
    import_run_media(arg, m->tag,
                     &(struct import_media){
                         .kind = kinds[m->kind],
                         .step = m->step,
                         .ms = m->wall_ms,
                         .ending = m->kind == TFEVENTS_TEXT
                                       ? ".md"
                                       : ending_of(m->data, m->n),
                     },
                     m->data, m->n);
}

static const struct tfevents_reader reader = { add_scalar, add_media, add_param,
                                               add_other };

/* Import the event files of one folder as a run; their names sort by time. */
static int import_folder(struct import *import, const char *folder,
                         const struct file_tree *f, struct err *e)
{
    AUTO_FREE char *at = path_join(import->path, folder);
    struct import_run in;
    int ret = 0;

    import_run_init(&in, store_absolute(at));
    import_run_name(&in,
                    strcmp(folder, ".") == 0 ? path_name(in.source) : folder);
    for (size_t i = 0; i < f->n && ret == 0; i++) {
        AUTO_FREE char *parent = path_parent(f->file[i].path);

        if (strcmp(parent, folder) == 0 &&
            strstr(path_name(f->file[i].path), "tfevents"))
            ret = tfevents_read(f->file[i].whole, &reader, &in, e);
    }
    if (import_run_count_points(&in) + in.n_pairs + in.n_artifacts)
        return import_run_end(&in, import, ret, e);
    import_run_clear(&in);
    return ret;
}

static int import_file(struct import *import, struct err *e)
{
    struct import_run in;
    int ret;

    import_run_init(&in, store_absolute(import->path));
    ret = tfevents_read(import->path, &reader, &in, e);
    return import_run_end(&in, import, ret, e);
}

/* Was one of the files before this one in the same folder? */
static bool is_folder_seen(const struct file_tree *f, size_t at,
                           const char *folder)
{
    for (size_t k = 0; k < at; k++) {
        AUTO_FREE char *other = path_parent(f->file[k].path);

        if (strcmp(other, folder) == 0)
            return true;
    }
    return false;
}

int import_tensorboard(struct import *import, struct err *e)
{
    AUTO(file_tree_clear) struct file_tree f = { 0 };
    int ret = 0;

    if (!path_is_folder(import->path))
        return import_file(import, e);
    if (file_tree_list(&f, import->path, NULL, e) < 0)
        return -1;
    for (size_t i = 0; i < f.n && ret == 0; i++) {
        AUTO_FREE char *parent = path_parent(f.file[i].path);

        if (!is_folder_seen(&f, i, parent))
            ret = import_folder(import, parent, &f, e);
    }
    if (ret == 0 && import->runs + import->existing == 0)
        ret = err_input(e, "%s has no scalars of TensorBoard", import->path);
    return ret;
}
