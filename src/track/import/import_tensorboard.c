#include "config.h"
#include "track/import/import.h"

#include <stdlib.h>
#include <string.h>

#include "common/path.h"
#include "store/store.h"
#include "store/tfevents.h"
#include "track/runs/file_tree.h"

static int tensorboard_scalar(void *arg, const char *tag, int64_t step,
                              int64_t ms, double value, struct err *e)
{
    (void)e;
    intake_point(arg, tag, step, ms, value);
    return 0;
}

/* All event files of one folder; files are in order of their time. */
static int tensorboard_folder(struct import_job *job, const char *folder,
                              const struct files *f, struct err *e)
{
    char *at = path_join(job->path, folder);
    char *source = store_absolute(at);
    struct intake in;
    int ret = 0;

    intake_init(&in, source);
    intake_name(&in, strcmp(folder, ".") == 0 ? path_name(source) : folder);
    for (size_t i = 0; i < f->n && ret == 0; i++) {
        char *parent = path_parent(f->item[i].path);

        if (strcmp(parent, folder) == 0 &&
            strstr(path_name(f->item[i].path), "tfevents")) {
            char *path = path_join(job->path, f->item[i].path);

            ret = tfevents_read(path, tensorboard_scalar, &in, e);
            free(path);
        }
        free(parent);
    }
    if (ret == 0 && intake_points(&in))
        ret = import_done(job, &in, e);
    intake_clear(&in);
    free(source);
    free(at);
    return ret;
}

int import_tensorboard(struct import_job *job, struct err *e)
{
    struct files f;
    int ret = 0;

    if (!path_is_folder(job->path)) {
        struct intake in;
        char *source = store_absolute(job->path);

        intake_init(&in, source);
        ret = tfevents_read(job->path, tensorboard_scalar, &in, e);
        if (ret == 0)
            ret = import_done(job, &in, e);
        intake_clear(&in);
        free(source);
        return ret;
    }
    if (files_list(&f, job->path, e) < 0)
        return -1;
    for (size_t i = 0; i < f.n && ret == 0; i++) {
        char *parent = path_parent(f.item[i].path);
        bool seen = false;

        for (size_t k = 0; k < i && !seen; k++) {
            char *other = path_parent(f.item[k].path);

            seen = strcmp(other, parent) == 0;
            free(other);
        }
        if (!seen)
            ret = tensorboard_folder(job, parent, &f, e);
        free(parent);
    }
    if (ret == 0 && job->runs + job->there == 0)
        ret = err_set(e, ERR_INPUT, "%s: no scalar of TensorBoard's in it",
                      job->path);
    files_clear(&f);
    return ret;
}
