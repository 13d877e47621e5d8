#ifndef TRACK_SERVE_PAGE_FILES_H
#define TRACK_SERVE_PAGE_FILES_H

#include <stddef.h>

/*
 * page_files - the page of src/track/page, which the build puts into gtrack
 *
 * The modules are one file, main.js: scripts/embed joins them.
 */
struct page_file {
    const char *name;          /* "main.js" */
    const unsigned char *data; /* followed by a NUL */
    size_t size;
};

extern const struct page_file page_files[]; /* ends with a NULL name */

/* The type of a file, by its name. */
const char *page_file_type(const char *name);
const struct page_file *page_file_find(const char *name);

#endif
