#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * catalog - the URLs of well-known corpora and questions, by name
 *
 *      struct catalog_query q = { .name = "c4", .subset = "train",
 *                                 .first = 0, .last = 3 };
 *      if (catalog_find(&links, &q, e) < 0)
 *          return -1;
 *
 * A name that contains "://" is a URL and stands for itself.  A mirror replaces
 * the scheme and the host; the paths stay the same.  In a folder that is a
 * mirror, the first folders of a path may be missing, and the link has the name
 * of the file in place of a URL.
 */
struct catalog_query {
    const char *name;
    const char *subset;  /* NULL: the first one */
    int64_t first, last; /* files of the subset, if it has many */
    const char *mirror;  /* NULL: the original */
};

struct catalog_link {
    char *url;
    char *file;         /* the name for the file on disk */
    const char *sha256; /* or NULL */
};

struct catalog_links {
    struct catalog_link *link;
    size_t n, room;
};

int catalog_find(struct catalog_links *, const struct catalog_query *,
                 struct err *);
void catalog_links_clear(struct catalog_links *);
