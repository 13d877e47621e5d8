#ifndef PLOT_STAMPED_H
#define PLOT_STAMPED_H

#include "common/buf.h"
#include "common/err.h"
#include "common/output/table.h"

/*
 * stamped - whether a figure shows what the runs say now
 *
 *      const enum stamped result = stamped_check(path, &command, &why);
 *
 *      table_text(&t, path);
 *      stamped_add(&t, result, &why);
 *
 * The command in the stamp of the figure computes its data again, in the
 * current folder.  It runs in a child process, which gives up the same rights
 * as gplot does before it reads a store; a figure may come from anybody.
 */
enum stamped {
    STAMPED_EQUAL,
    STAMPED_DIFFERS,
    STAMPED_UNKNOWN, /* the error says why */
    STAMPED_NONE,    /* the file has no stamp */
};

/* Append the command of the stamp, if there is one. */
enum stamped stamped_check(const char *path, struct buf *command,
                           struct err *why);
/* A cell with the result in a word, or with the error. */
void stamped_add(struct table *, enum stamped, const struct err *why);

#endif
