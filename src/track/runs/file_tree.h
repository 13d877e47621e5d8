#ifndef TRACK_RUNS_FILE_TREE_H
#define TRACK_RUNS_FILE_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * files - all files below a folder, by path, sorted
 *
 * Symbolic links to files count as files; links to folders are not followed.
 * A folder that is not there has none.
 */
struct files {
    struct files_item {
        char *path; /* below the folder: "ckpt/model.bin" */
        int64_t size, mtime_ms;
    } * item;
    size_t n, room;
};

#define FILES_INIT                                                             \
 {                                                                             \
  NULL, 0, 0                                                                   \
 }

int files_list(struct files *, const char *folder, struct err *);
void files_clear(struct files *);

#endif
