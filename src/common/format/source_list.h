#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/conf.h"
#include "common/err.h"
#include "common/mem.h"

/*
 * source_list - the sources of a mixture, as a setting names them
 *
 *      c4:0.9:data/c4_*.bin, wiki:0.1:data/wiki_*.bin until=80% epochs=4,
 *      wiki:0.5 from=80%
 *
 *      struct source_list l;
 *
 *      if (source_list_parse(&l, text, e) < 0)
 *          return -1;
 *      for (i = 0; i < l.n; i++) ... l.part[i] ...
 *      source_list_clear(&l);
 *
 * gtrain.ini(5), data.train, describes the entries.  Commas within braces
 * belong to the files.  A text that does not begin with a name and a colon is
 * the files of one source without a name.  After an error there is nothing to
 * clear.
 */
enum { SOURCE_LIST_MOST = 64, SOURCE_LIST_NAME = 32 };

struct source_part {
    const char *name;  /* "" without one */
    const char *files; /* a glob; NULL: those of the first part of this name */
    size_t source;     /* the number of the name, from 0 in their order */
    int64_t share;     /* in millionths; 0: none is given */
    struct conf_span from, until; /* until.n is 0: to the end */
    int64_t epochs;               /* read it at most so often; 0: no limit */
};

struct source_list {
    struct source_part part[SOURCE_LIST_MOST];
    size_t n, sources;
    struct arena mem;
};

int source_list_parse(struct source_list *, const char *text, struct err *);
void source_list_clear(struct source_list *);

/* The first part of a source, which has its name, files and epochs. */
const struct source_part *source_list_first(const struct source_list *,
                                            size_t source);

/* The text of a part, with other files. */
void source_list_text(const struct source_part *, const char *files,
                      struct buf *out);
