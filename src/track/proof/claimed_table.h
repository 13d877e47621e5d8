#ifndef TRACK_PROOF_CLAIMED_TABLE_H
#define TRACK_PROOF_CLAIMED_TABLE_H

#include <stdbool.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * claimed_table - the table that a report claims to have from gtrack
 *
 *      claimed_table_print(&out, "compare a b -c val/loss", false, e);
 *
 * appends what `gtrack compare a b -c val/loss --markdown` prints, or with tex
 * --latex, between two line ends.  Words may stand in quotes of either kind.
 * No shell is involved, and only commands that print tables are started:
 * others are ERR_USAGE, since the report may be somebody else's.
 */
int claimed_table_print(struct buf *out, const char *command, bool tex,
                        struct err *);

#endif
