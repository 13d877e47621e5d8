#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "common/err.h"
#include "common/mem.h"
#include "common/output/table.h"
#include "store/read/runs.h"

/*
 * file_tree - all files below a folder, sorted by path
 *
 * Symbolic links to files count as files; links to folders are not followed.
 * Links that leave the folder INSIDE, which a run of others may have, are
 * listed, to files as well as to folders, and may not be read; INSIDE is NULL
 * to list what the user has named, and with --follow-links.  A folder that does
 * not exist has no files.
 */
struct file_tree {
    struct file_tree_file {
        char *whole;      /* the path, as the folder was given */
        const char *path; /* below the folder: "checkpoints/model.bin" */
        int64_t size, mtime_ms;
        bool outside; /* a link that leaves the run */
    } * file;
    size_t n, room;
};

int file_tree_list(struct file_tree *, const char *folder, const char *inside,
                   struct err *);
/* A cell with the size of a file; that of a link that leaves is not known. */
void file_tree_add_size(struct table *, const struct file_tree_file *);
void file_tree_clear(struct file_tree *);

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

/*
 * copy - copy runs from one store into another
 *
 * Runs keep their ids and appear as a whole; paths in their files are those of
 * the new store.  A run that exists there is not copied again.  A run that
 * cannot be read is reported and the others are copied, but the call fails.
 */
struct copies {
    size_t runs, points; /* that were copied */
    size_t existing;     /* runs that existed */
};

int copy_runs(const struct runs *, const char *to_root, struct copies *,
              struct err *);

/* Copy all files below a folder, except one at its top (or NULL) and links that
 * leave the folder `inside` (NULL: none), which are reported.  The copies are
 * new files; no link below `top`, with which `to` begins, is followed. */
int copy_tree(const char *from, const char *to, const char *top,
              const char *except, const char *inside, struct err *);
/* Does this file of a run note what was pushed?  It is for its store only. */
bool copy_is_cursor(const char *file);
/* Copy the rest of a stream, which has this name, to another; the caller checks
 * what was written. */
int copy_stream(FILE *in, const char *name, FILE *out, struct err *);
