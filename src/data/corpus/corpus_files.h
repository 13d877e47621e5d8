#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/path.h"

/*
 * corpus_files - the files that a list of paths stands for
 *
 * A path of a file, "-" and a URL are used as they are.  A folder stands for
 * the files in it and in its folders whose names have a known suffix
 * (corpus_files_format()), sorted by byte; names that begin with a dot are left
 * out.  A folder without such a file is an error, and so is a path that does
 * not exist.  total is the sum of the sizes, or -1 if one of them is unknown.
 */
struct corpus_files {
    struct path_list list; /* the caller clears it */
    int64_t total;
    bool pipes; /* is one neither a regular file nor a URL? */
};

int corpus_files_find(struct corpus_files *, char *const *path, size_t n,
                      struct err *);
/* Keep one part of the files, by a text such as "3/16": the third of sixteen
 * with about as many files each, in their order.  NULL keeps all; after an
 * error the list is empty. */
int corpus_files_part(struct corpus_files *, const char *part, struct err *);

enum corpus_format { CORPUS_AUTO, CORPUS_TEXT, CORPUS_JSONL, CORPUS_PARQUET };

/* The format according to the name, apart from compression; CORPUS_AUTO if the
 * name has no known suffix. */
enum corpus_format corpus_files_format(const char *name);

/* Does the name say that the file is compressed? */
bool corpus_files_compressed(const char *name);

/*
 * magic - recognise by their first bytes files that are not text
 *
 * magic_name() knows archives, documents and programs that would otherwise be
 * read as text: it returns what the data are, such as "a bzip2 file", or NULL,
 * and in *help how to get text from them, such as "; 'bzcat' converts it", or
 * "".  It needs the first 512 bytes, unless the file is shorter.
 */
const char *magic_name(const char *data, size_t n, const char **help);
bool magic_is_html(const char *data, size_t n);
