#ifndef TRACK_RUNS_FILE_TREE_H
#define TRACK_RUNS_FILE_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * file_tree - all files below a folder, sorted by path
 *
 * Symbolic links to files count as files; links to folders are not followed.
 * A folder that does not exist has no files.
 */
struct file_tree {
    struct file_tree_file {
        char *path; /* below the folder: "checkpoints/model.bin" */
        int64_t size, mtime_ms;
    } * file;
    size_t n, room;
};

#define FILE_TREE_INIT { NULL, 0, 0 }

int file_tree_list(struct file_tree *, const char *folder, struct err *);
void file_tree_clear(struct file_tree *);

#endif
