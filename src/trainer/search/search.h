#ifndef TRAINER_SEARCH_SEARCH_H
#define TRAINER_SEARCH_SEARCH_H

#include <stdbool.h>

#include "common/table.h"
#include "store/load.h"
#include "trainer/search/sweep.h"
#include "trainer/settings/settings.h"

/*
 * search - a sweep on disk, and how far it is
 *
 *      struct search s = SEARCH_INIT;
 *
 *      ... fill s.sweep, sweep_expand(&s.sweep, e), s.folder = ...
 *      if (search_begin(&s, true, e) < 0 ||    checked, written, running
 *          search_look(&s, e) < 0)
 *          return -1;
 *      ... s.outcome[i].state tells what cell i has come to
 *      search_end(&s, e);                      the parent tells it, too
 *      search_close(&s);
 *
 * A folder holds what a sweep needs to be resumed: manifest.tsv, a line for
 * each cell; cells/ID.ini, the whole configuration of one; cells/ID.log,
 * what it printed; cells/ID/, its checkpoints; parent, the id of the run that
 * all of them belong to.  What has been done is not written there: it is read
 * from the store, where each cell is a run with the tags sweep and sweep.cell.
 *
 * search_begin() finds what would keep any cell from training before the first
 * one starts: settings that do not fit together, a tokenizer or token files
 * that are not there.  The error names the line that asked for it, and nothing
 * is written.
 *
 * The parent is RUNNING while a search runs on this machine, SCHEDULED while
 * its cells wait for others to run them; then FINISHED when all cells are done,
 * FAILED when one has failed, KILLED when the search was stopped.
 */
enum cell_state { CELL_MISSING, CELL_FAILED, CELL_RUNNING, CELL_DONE };

/* A cell as the store knows it. */
struct outcome {
    enum cell_state state;
    const struct run_info *run;
    double best;  /* of the metric; NaN without */
    int64_t step; /* reached */
};

struct search {
    struct sweep sweep;
    char *folder, *root, *experiment;
    char *parent;    /* its id, or NULL */
    struct run *own; /* the parent, while this process runs cells */
    struct runs runs;
    struct outcome *outcome;     /* one for each cell */
    size_t count[CELL_DONE + 1]; /* cells of each state */
    int64_t most_steps;          /* of a cell's training, once begun */
};

#define SEARCH_INIT                                                            \
 {                                                                             \
  .runs = RUNS_INIT                                                            \
 }

/* The settings of a cell: the base, the file's own, the cell's values. */
int search_settings(const struct search *, size_t cell, struct settings *out,
                    struct err *);
char *search_cell_path(const struct search *, size_t cell, const char *end);

/* The folder and the store of an expanded sweep, and its parent if there is
 * one; enough for search_look(). */
int search_open(struct search *, struct err *);
/* Check every cell, write the folder, find or make the parent.  With `runs`
 * this process is the one that runs them. */
int search_begin(struct search *, bool runs, struct err *);
int search_look(struct search *, struct err *);
/* Write into the parent what search_look() has seen. */
int search_end(struct search *, bool stopped, struct err *);
void search_close(struct search *);

/*
 * How much the metric depends on one axis (by; NULL: optim.lr, or the first):
 * a row for each combination of the other axes, seeds being averaged, with its
 * parameters, the metric at each value of the axis, the best value, and the
 * sensitivity: how much worse than the best the values are on average.  A loss
 * above ln(vocabulary), that of a guess, counts as that.
 */
int search_report(const struct search *, const char *by,
                  const struct table_style *, struct err *);

bool search_better(const struct sweep *, double a, double b);

#endif
