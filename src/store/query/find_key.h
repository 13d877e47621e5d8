#pragma once

#include <stdbool.h>

#include "common/err.h"
#include "store/format/key.h"
#include "store/read/runs.h"

/*
 * find_key - the parameter, metric or tag that a word means
 *
 * A word is the key of a parameter, else of a metric, else of a tag of one of
 * the runs; or else it is the last part of a key, after a dot or a slash: of
 * the only such parameter, or of the only such metric.
 */
enum key_kind find_key(const struct runs *, const char *word,
                       const char **key); /* KINDS: it means none */

bool find_key_exists(const struct runs *, enum key_kind, const char *key);

/* "no run has a metric los; did you mean loss?", for a kind, or KINDS for any
 * of them.  It is ERR_MISSING; always -1.  `others`, ended by NULL or itself
 * NULL, may have been meant, too. */
int find_key_fail(const struct run_info *, size_t n, enum key_kind,
                  const char *word, const char *const *others, struct err *);
