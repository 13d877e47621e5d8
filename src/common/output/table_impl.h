#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/output/table.h"

/*
 * table_impl - what only the files that print tables share
 */

/* ---- the text of a cell (table_cell.c) ---- */

/* The number of decimals for a column of numbers, so that the smallest still
 * has five digits; -1 for exponents. */
int table_column_decimals(const struct table *, size_t column);
/* The number of decimals that show two digits of a standard deviation. */
int table_std_decimals(double std);

/* A cell for programs. */
void table_cell_exact(struct buf *, const struct table_cell *);
void table_real_text(struct buf *, double, int decimals);

/* Does a cell of the column hold a mean with its spread?  If so, programs get a
 * column for each of its parts. */
bool table_has_spread(const struct table *, size_t column);
struct table_cell table_cell_part(const struct table_cell *, int part);

/* ---- tables for programs (table_data.c) ---- */

void table_write_tsv(const struct table *, bool header, struct buf *out);
void table_write_csv(const struct table *, bool header, struct buf *out);
void table_write_csv_safe(const struct table *, bool header, struct buf *out);
void table_write_json(const struct table *, struct buf *out);
