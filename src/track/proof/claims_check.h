#ifndef TRACK_PROOF_CLAIMS_CHECK_H
#define TRACK_PROOF_CLAIMS_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/output/table.h"
#include "common/program.h"

/*
 * claims_check - compare the numbers and figures of reports with the runs
 *
 *      struct claims_check k;
 *
 *      claims_check_init(&k, &track_program);
 *      if (claims_check_file(&k, "report.tex", e) == 0)
 *          ret = claims_check_judge(&k, &words, e);
 *      table_clear(&k.table);
 *
 * The runs are those of the store that track_store() names.  The table has a
 * row for each claim and each figure.  What cannot be checked is a row with the
 * reason; only a report that cannot be read or written is an error.
 */
struct claims_check {
    const struct program *gtrack; /* whose commands print tables */
    bool fill;                    /* write the values into the reports */
    struct table table;
    int64_t equal, other, unknown; /* values */
    int64_t figures, other_figures;
};

void claims_check_init(struct claims_check *, const struct program *gtrack);
int claims_check_file(struct claims_check *, const char *file, struct err *);

/* ERR_INPUT if something is not as the runs say; else append how much is, or
 * that the table is empty. */
int claims_check_judge(const struct claims_check *, struct buf *, struct err *);

#endif
