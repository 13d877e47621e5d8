#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/output/table.h"
#include "store/read/runs.h"

/*
 * run_facts - what tables say of a run that is not written in its files
 */

/* The step after the last one of a run; one above the highest possible step is
 * ERR_USAGE. */
int run_facts_next_step(const struct run_info *, int64_t *next, struct err *);
/* The artifact with the output of a run, or NULL; the caller frees it. */
char *run_facts_output(const struct run_info *);
/* Append the shell command that repeats the run: it changes to the folder in
 * which the run was started and to the commit that was checked out, as far as
 * they were recorded.  False if the run has no record of its command. */
bool run_facts_command(struct buf *, const struct run_info *);
enum table_mark run_facts_mark(enum run_status);
