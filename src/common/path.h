#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "common/err.h"
#include "common/mem.h"

/*
 * path - names of files
 *
 * The caller frees every char * that these functions return.
 */
char *path_join(const char *folder, const char *name);
char *path_parent(const char *path); /* "." when there is none */
/* The folder in which an output is written, of a link that of its target; NULL
 * for NULL and for "-", which is no file. */
char *path_of_output(const char *output);
const char *path_name(const char *path); /* after the last slash */
bool path_exists(const char *path);
bool path_has(const char *folder, const char *name);
bool path_is_folder(const char *path);
/* True also if it exists but cannot be looked at: whoever lists it then learns
 * why, and does not take it for missing. */
bool path_may_be_folder(const char *path);
bool path_is_link(const char *path); /* even if its target is missing */

/* Symbolic links in a store may have been made by others.  They are followed
 * only if the user asks for it, as with --follow-links. */
enum path_links { PATH_NO_LINKS, PATH_FOLLOW_LINKS };

/* Open a file to read it.  A pipe, a socket or a device is refused, because
 * reading it may block for ever; so is a file that is a link itself, unless
 * links are followed.  A missing file is ERR_MISSING. */
int path_open(const char *path, enum path_links, struct err *);
/* For AUTO(): close a file, unless opening it failed. */
void path_close(const int *fd);
void path_fclose(FILE **fp);
/* Map a file that one of these functions has opened, and close it; -1 for the
 * descriptor passes its error on.  The map of an empty file is NULL. */
struct stat;
int path_map(void **map, struct stat *, int fd, const char *path, struct err *);
/* The same for a path that begins with that of a folder.  Without links, none
 * is followed after it either. */
int path_open_below(const char *folder, const char *path, enum path_links,
                    struct err *);
/* An open file of which almost all is a hole, but so much that it would be read
 * for a long time, is ERR_INPUT.  path_open() refuses such files. */
int path_check_hole(int fd, const char *path, struct err *);
/* Open a file, unless links lead out of a folder; NULL is no limit. */
int path_open_inside(const char *path, const char *folder, struct err *);
/* Do links lead out of a folder?  They never do if it is NULL. */
bool path_leaves(const char *path, const char *folder);
/* Is it a link, and are links not followed? */
bool path_is_refused(const char *path, enum path_links);
/* Is it a relative path without a part that leads up? */
bool path_stays_below(const char *path);
/* Before writing to a path, which begins with that of a folder: do no links in
 * the rest of it lead out of the folder?  The path need not exist. */
int path_check_inside(const char *path, const char *folder, struct err *);

/* A file in the folder of a program's cache, $XDG_CACHE_HOME/PROGRAM or
 * ~/.cache/PROGRAM, which is created if needed; the folder itself if the file
 * is NULL; NULL if there is none. */
char *path_cache(const char *program, const char *file);

/* Create a folder and those above it, as far as they do not exist. */
int path_make(const char *folder, struct err *);
/* The folder of temporary files: $TMPDIR or /tmp. */
const char *path_temp(void);
/* A file without a name in that folder, which disappears when it is closed, or
 * NULL. */
FILE *path_temp_file(struct err *);
/* path_make() for the folder that a file is in. */
int path_make_parent(const char *file, struct err *);

/*
 * Create or replace files below a folder into which others may put links, even
 * while this happens:
 *
 *      struct path_pin pin;
 *      int ret = path_pin(&pin, path, folder, e);
 *
 *      if (ret == 0)
 *          ret = store_write(pin.name, ...);
 *      path_unpin(&pin, e);
 *
 * `folder` begins the path.  The folders in between are created, and opened one
 * by one without following links; a link is an error.  `name` is the path by
 * the descriptor of the last folder, so that no link that is made later leads
 * it elsewhere, or the path itself where there is no /proc; `at` is that folder
 * alone.  path_unpin() puts the path back into a message, and may follow a
 * path_pin() that failed.
 */
struct path_pin {
    char *name, *at, *parent;
    int fd;
};

int path_pin(struct path_pin *, const char *path, const char *folder,
             struct err *);
void path_unpin(struct path_pin *, struct err *);
/* The folders in between alone. */
int path_make_below(const char *path, const char *folder, struct err *);

/* Remove a file, or a folder with all that is in it, never following links. */
int path_remove(const char *path, struct err *);

/* Names in a folder, sorted by byte, without "." and "..". */
struct path_list {
    char **name;
    size_t n, room;
    size_t skip; /* each name stands behind that of the folder, of this size */
};

int path_list(struct path_list *, const char *folder, struct err *);
/* path_list(), but at most `most` names. */
int path_list_most(struct path_list *, const char *folder, size_t most,
                   struct err *);
/* The same below an open folder, whose links are not followed; messages name
 * `folder`. */
int path_list_at(struct path_list *, int at, const char *name,
                 const char *folder, size_t most, struct err *);
void path_list_add(struct path_list *, char *name); /* it owns the name now */
/* Add a name in a folder; all names of a list are in the same one. */
void path_list_put(struct path_list *, const char *folder, const char *name);
/* The path of a name in the folder that was listed. */
const char *path_listed(const struct path_list *, size_t i);
void path_list_sort(struct path_list *); /* by byte */
void path_list_clear(struct path_list *);
