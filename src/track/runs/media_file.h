#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/mem.h"
#include "store/read/runs.h"
#include "track/runs/file_tree.h"

/*
 * media_file - pictures, sounds and tables of a step, by the names of artifacts
 *
 *      images/KEY+step+3+timestamp+MS+UUID.png         as MLflow names them
 *      audio/KEY/3.wav, audio/KEY/3-1.wav              one, and one of a list
 *      audio/KEY/3.txt                                 its caption
 *      samples/step-3.txt                              a text, as a caption
 */
enum media {
    MEDIA_IMAGE,
    MEDIA_TABLE,
    MEDIA_AUDIO,
    MEDIA_VIDEO,
    MEDIA_HTML,
    MEDIA_SAMPLE
};

enum { MEDIA_ALONE = -1 };

struct media_file {
    enum media kind;
    const char *key, *path;
    int64_t step;
    int64_t number; /* in its list, or MEDIA_ALONE */
    int64_t ms, size;
};

/* Where the files of each kind are: "images". */
extern const char *const media_folders[];

/* False if the file is none, or the small copy of an image. */
bool media_file_parse(struct media_file *, const struct file_tree_file *,
                      struct arena *);
/* Its caption; NULL if it has none. */
const char *media_file_caption(const struct media_file *,
                               const struct run_info *, struct arena *);
