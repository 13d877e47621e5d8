#ifndef TRACK_PUSH_WANDB_MEDIA_H
#define TRACK_PUSH_WANDB_MEDIA_H

#include <jansson.h>

#include "common/mem.h"
#include "store/read/runs.h"

/*
 * wandb_media - pictures, tables, histograms and the like, as W&B has them
 *
 *      struct wandb_media m = { 0 };
 *
 *      if (wandb_media_load(&m, run, true, e) < 0)
 *          return -1;
 *      ...
 *      wandb_media_clear(&m);
 *
 * Where the artifact of a medium is says its name and its step, as
 * gtrack-python(7) describes.  At W&B it is a value of a line of history, and
 * but for histograms a file under another name:
 *
 *      {"_type":"image-file","path":"media/images/NAME_STEP_HASH.png", ...}
 *
 * An artifact in such a place that cannot be read as what it should be is not
 * listed here, and so remains a plain file.
 */
struct wandb_media {
    struct arena mem;
    struct wandb_medium {
        const char *key;
        int64_t step, ms;
        const char *json;
    } * item; /* by key, and then by step */
    size_t n, room;
    struct wandb_media_file {
        const char *path; /* below the artifacts */
        const char *name; /* at W&B; NULL if the file itself is not sent */
    } * file;             /* by path */
    size_t n_files, files_room;
    json_t *hashes; /* of files that were read before */
};

/* Load the media in place of others.  Without `files`, only histograms. */
int wandb_media_load(struct wandb_media *, const struct run_info *, bool files,
                     struct err *);
/* NULL if an artifact is no medium, nor belongs to one. */
const struct wandb_media_file *wandb_media_find(const struct wandb_media *,
                                                const char *path);
void wandb_media_clear(struct wandb_media *);

#endif
