#pragma once

#include <stddef.h>

#include "common/output/table.h"
#include "track/serve/answer.h"
#include "track/serve/guard.h"
#include "track/serve/live.h"

/*
 * site - what the pages of the server are made from, and which function makes
 * each of them
 *
 *      site_answer(&site, false, "/api/runs", "store=0", NULL, &answer);
 *
 * Nothing here knows HTTP: the server asks for the path and the query of a
 * request, and a frozen page for those of which it is made.
 */
struct site {
    struct live *store;
    size_t n_stores;
    bool edit;   /* notes, tags and deletion may be changed */
    bool frozen; /* the page cannot ask for other figures */
    struct cache cache;
};

void site_clear(struct site *);
void site_answer(struct site *, bool post, const char *path, const char *query,
                 const char *body, struct answer *);

/* -- for the functions that answer ----------------------------------------- */

typedef int site_fn(struct site *, struct query *, struct answer *,
                    struct err *);

site_fn answer_stores, answer_runs, answer_kinds, answer_figure, answer_events,
    answer_compare, answer_summary, answer_diff, answer_run, answer_log,
    answer_media, answer_artifact, answer_download, answer_edit;

/* The store that the query names. */
struct live *site_store(struct site *, const struct query *, struct err *);
/* All runs of a store, perhaps with deleted ones.  Of these and the next, the
 * caller frees the array, and the rest belongs to the store. */
struct runs site_all_runs(const struct live *, bool deleted);
/* The runs whose ids are listed under a key of the query, in this order. */
int site_runs(struct site *, struct query *, const char *key, struct runs *,
              struct err *);
/* The run whose id is under a key; NULL with e filled if there is none. */
const struct run_info *site_run(struct site *, const struct query *,
                                const char *key, struct err *);

const struct run_info *site_run_of(struct site *, const struct query *,
                                   const char *id, struct err *);

/* A cell as an object with its text and, if it has one, its number. */
void site_write_cell(struct emit *, const struct table_cell *, int decimals);
/* A table as rows of texts, the first of which has the names of the columns;
 * `empty` says whether columns without a value are among them. */
void site_write_table(struct emit *, const char *key, struct table *,
                      bool empty);

/* Append a word for the command line that names this run. */
void site_run_word(struct buf *, const struct live *, const struct run_info *);
/* Append " -r PATH", unless it is the default. */
void site_root_option(struct buf *, const struct live *);
/* Write a command with that option, and clear the words before it. */
void site_write_command(struct emit *, const struct live *, struct buf *words);

/* A file of the page in src/track/page, which the build puts into gtrack.  The
 * modules are one file, main.js: scripts/embed joins them. */
struct page_file {
    const char *name;          /* "main.js" */
    const unsigned char *data; /* followed by a NUL */
    size_t size;
};

extern const struct page_file page_files[]; /* ends with a NULL name */

const struct page_file *page_file_find(const char *name);

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
