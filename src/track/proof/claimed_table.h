#ifndef TRACK_PROOF_CLAIMED_TABLE_H
#define TRACK_PROOF_CLAIMED_TABLE_H

#include <stdbool.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/program.h"

/*
 * claimed_table - the table that a report claims to have from gtrack
 *
 *      claimed_table_print(&out, gtrack, "compare a b -c val/loss", false, e);
 *
 * appends what `gtrack compare a b -c val/loss --markdown` prints, or with tex
 * --latex, between two line ends.  Words may stand in quotes of either kind.
 * The command runs in a child process, which gives up the rights that it does
 * not need.  Only commands that print tables are known: others are ERR_USAGE,
 * since the report may be somebody else's.
 */
int claimed_table_print(struct buf *out, const struct program *gtrack,
                        const char *command, bool tex, struct err *);

#endif
