#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/path.h"

/*
 * key - the names of metrics, parameters and tags, and the files they have
 *
 * MLflow accepts letters, digits, "_", ".", "-", " ", ":" and "/" in a key, at
 * most 250 of them, and a key must be a path in its simplest form: "a/b", not
 * "/a", "a//b" or "a/../b".  A single key that breaks a rule makes it reject a
 * whole experiment, so no such key is ever written.
 */
enum { KEY_MAX = 250 }; /* characters; and 255 bytes between slashes */

/* NULL, or what is wrong with the key, in words. */
const char *key_problem(const char *key);

/* The nearest legal key: each character that is not allowed becomes "_", and so
 * does a part that is not allowed.  The caller frees it. */
char *key_clean(const char *key);

/* The keys of all files below a folder, in byte order; the folders that they
 * are in go to `folders`, if that is not NULL.  The links say whether the
 * folder itself may be one.  A folder that does not exist is ERR_MISSING.  If
 * there are more than KEYS_MOST files and folders, the list is full, and some
 * are missing, so that a damaged run does not delay others. */
enum { KEYS_MOST = 10000 };
int key_list(struct path_list *keys, struct path_list *folders,
             const char *folder, enum path_links, struct err *);

bool key_list_full(const struct path_list *keys,
                   const struct path_list *folders);

/*
 * The files of a run, by key.  gtrack-store(5), Keys, says which keys become
 * other names of files; the key of such a file is noted in a tag.
 */
enum key_kind { PARAM, TAG, METRIC, KINDS };

extern const char *const key_folders[KINDS]; /* in a run: "params", ... */

struct key_files {
    struct key_table {
        char *folder; /* RUN/metrics */
        struct key_entry {
            char *key, *file;
        } * item;
        size_t n, room;
        bool folds; /* "Loss" and "loss" are one file here */
    } table[KINDS];
};

/* Read what the tags of a run note. */
void key_files_load(struct key_files *, const char *run);
void key_files_clear(struct key_files *);

/* The file of a key, inside its folder.  *tag is the tag to write, with the key
 * as its value, or NULL when there is nothing to note; the caller frees it. */
const char *key_file(struct key_files *, enum key_kind, const char *key,
                     char **tag);
