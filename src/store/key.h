#ifndef STORE_KEY_H
#define STORE_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/path.h"

/*
 * key - names of metrics, parameters and tags, which are paths of files
 *
 * MLflow takes letters, digits, "_", ".", "-", " ", ":" and "/", at most 250
 * of them, and a path must be in its simplest form: "a/b", not "/a", "a//b" or
 * "a/../b".  One key that breaks a rule makes it refuse a whole experiment, so
 * nothing is written that does.
 */
enum { KEY_MAX = 250 }; /* characters; and 255 bytes between slashes */

/* NULL, or what is wrong with the key, in words. */
const char *key_problem(const char *key);

/* The nearest legal key: each character that is not allowed becomes "_", a
 * part that may not be becomes "_".  The caller frees it. */
char *key_clean(const char *key);

/* The keys of all files below a folder, in byte order; the folders that they
 * are in go to `folders`, if that is not NULL.  A folder that is not there is
 * ERR_MISSING. */
int key_list(struct path_list *keys, struct path_list *folders,
             const char *folder, struct err *);

extern const uint32_t key_letters[][2]; /* above ASCII; ranges */
extern const size_t key_letters_count;

#endif
