#pragma once

#include "common/output/table.h"
#include "store/read/runs.h"

/*
 * diff_table - what differs between two runs: a row for each command,
 * parameter, dataset or tag, with the value of either run
 */
enum diff_detail {
    DIFF_SHORT, /* of long values, only how long they are */
    DIFF_LINES, /* of uncommitted changes, the lines that one run has */
    DIFF_ALL,   /* whole values, and tags that differ between any two runs */
};

void diff_table_fill(struct table *, const struct run_info *,
                     const struct run_info *, enum diff_detail);
