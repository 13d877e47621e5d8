#ifndef DATA_CORPUS_PATH_LIST_H
#define DATA_CORPUS_PATH_LIST_H

#include <stddef.h>
#include <stdint.h>

#include "data/corpus/corpus.h"

/*
 * files - what a list of paths names
 *
 * A file is taken as it is; a folder gives its files with a known ending
 * (corpus_files_format), and those of its folders, sorted by byte; names that
 * begin with a dot are left out.  A folder without any such file is an error,
 * and so is a path that is not there.  total is the sum of the sizes, -1 when
 * there is something that has none.
 */
struct corpus_files {
    char **name;
    size_t n, room;
    int64_t total;
};

#define CORPUS_FILES_INIT                                                      \
 {                                                                             \
  NULL, 0, 0, 0                                                                \
 }

int corpus_files_find(struct corpus_files *, char *const *path, size_t n,
                      struct err *);
void corpus_files_clear(struct corpus_files *);

/* What the name tells, compression aside; CORPUS_AUTO if it tells nothing. */
enum corpus_format corpus_files_format(const char *name);

#endif
