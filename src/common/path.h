#ifndef COMMON_PATH_H
#define COMMON_PATH_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

/*
 * path - names of files
 *
 * What returns char * returns memory that the caller frees.
 */
char *path_join(const char *folder, const char *name);
char *path_parent(const char *path);            /* "." when there is none */
const char *path_name(const char *path);        /* after the last slash */
bool path_exists(const char *path);
bool path_is_folder(const char *path);
bool path_is_link(const char *path);    /* whatever it leads to */

/* Open a file to read it; a pipe, a socket or a device, that might have us
 * wait for ever, is refused.  A missing file is ERR_MISSING. */
int path_open(const char *path, struct err *);

/* Make a folder and those above it; one that is there is no error. */
int path_make(const char *folder, struct err *);
/* The same for the folder that a file is in. */
int path_make_parent(const char *file, struct err *);

/* Remove a file, or a folder with all that is in it, never following links. */
int path_remove(const char *path, struct err *);

/* Names in a folder, sorted by byte, without "." and "..". */
struct path_list {
    char **name;
    size_t n, room;
};

#define PATH_LIST_INIT { NULL, 0, 0 }

int path_list(struct path_list *, const char *folder, struct err *);
void path_list_add(struct path_list *, char *name); /* it owns the name now */
void path_list_sort(struct path_list *);            /* by byte */
void path_list_clear(struct path_list *);

#endif
