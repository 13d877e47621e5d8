#pragma once

#include "track/serve/site.h"

/*
 * chosen - the runs that charts and the comparison show
 *
 *      if (chosen_open(&c, site, query, e) < 0)
 *          return -1;
 *      ... c.runs ...
 *      chosen_words(&command, &c);
 *      chosen_close(&c);
 *
 * They are those whose ids the query has under `runs` or, if it has `first`
 * instead, those that its `filter` selects, as gplot selects them.  If these
 * are more than `first`, the first ones in the order of the table are chosen,
 * and a command names each of them.
 */
struct chosen {
    const struct live *live;
    struct runs runs;   /* the texts belong to the store */
    size_t matched;     /* how many the filter selects */
    const char *filter; /* the word of a command that selects the runs, or
                         * NULL */
};

/* The order of the table unless the reader chooses another one. */
#define CHOSEN_SORT "-started"

int chosen_open(struct chosen *, struct site *, struct query *, struct err *);
/* Append the words of a command that selects the runs. */
void chosen_words(struct buf *, const struct chosen *);
void chosen_close(struct chosen *);
