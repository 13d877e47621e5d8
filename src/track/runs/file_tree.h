#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/output/table.h"

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
