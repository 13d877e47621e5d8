#ifndef DATA_CORPUS_CATALOG_H
#define DATA_CORPUS_CATALOG_H

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * catalog - corpora by name: where their files are
 *
 *      struct catalog_ask ask = { .name = "c4", .split = "train",
 *                                 .first = 0, .last = 3 };
 *      if (catalog_find(&links, &ask, e) < 0)
 *          return -1;
 *
 * A name with "://" in it is a URL and stands for itself.  A mirror takes the
 * place of scheme and host, so that the paths are those of the original.
 */
struct catalog_ask {
    const char *name;
    const char *variant; /* NULL: the first there is */
    const char *split;   /* NULL: the first there is */
    int64_t first, last; /* files of the split, if it has many */
    const char *mirror;  /* NULL: the original */
};

struct catalog_link {
    char *url;
    char *file;         /* the name to save it under */
    const char *sha256; /* or NULL */
};

struct catalog_links {
    struct catalog_link *link;
    size_t n, room;
};

#define CATALOG_LINKS_INIT                                                     \
 {                                                                             \
  NULL, 0, 0                                                                   \
 }

int catalog_find(struct catalog_links *, const struct catalog_ask *,
                 struct err *);
void catalog_links_clear(struct catalog_links *);

/* Names and what they are, one pair after another, then NULL. */
const char *const *catalog_names(void);

#endif
