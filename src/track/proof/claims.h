#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/output/table.h"
#include "common/program.h"

/*
 * claims - values of runs that a text states
 *
 *      LaTeX      \gtrack{RUN | COLUMN | .3f}{3.214}
 *      Markdown   <!-- gtrack: RUN | COLUMN | .3f -->3.214<!-- /gtrack -->
 *      a mean     <!-- gtrack: mean: RUNS | COLUMN -->...<!-- /gtrack -->
 *      a table    <!-- gtrack: table: compare a b -->...<!-- /gtrack -->
 *
 *      claims_parse(&c, text, n, "report.tex", e);
 *      for (i = 0; i < c.n; i++)
 *          c.item[i].now = the value of the column in the run
 *      claims_write(&c, &out);         the text with these values
 *      claims_clear(&c);
 *
 * gtrack(1), claims, describes them.  Claims behind a % in a line of a .tex
 * file are comments, and are left alone.
 */
struct claim {
    char *run, *column, *format; /* format: NULL for none */
    char *command;               /* of a table; then the others are NULL */
    bool mean;                   /* over all runs that `run` names */
    const char *value;           /* as the text states it, `len` bytes */
    size_t len;
    long line;
    char *now;     /* the value to compare with; NULL: unknown */
    char *changes; /* what to say of settings that were changed, or differ */
    bool unproved; /* a metric that gtrain replay does not compute again */
};

/* A number with a point that no claim states. */
struct claims_number {
    const char *at;
    size_t len;
    long line;
};

struct claims {
    struct claim *item;
    size_t n, room;
    struct claims_number *number;
    size_t n_numbers, room_for_numbers;
    const char *text; /* borrowed */
    size_t size;
    bool tex;
};

/* `file` is named in errors, and decides by its ending what a comment is. */
int claims_parse(struct claims *, const char *text, size_t n, const char *file,
                 struct err *);
/* The text with the values of `now` where they are known. */
void claims_write(const struct claims *, struct buf *);
void claims_clear(struct claims *);

/* A number by a format such as ".3f"; ERR_USAGE if the format is none. */
int claims_format(struct buf *, const char *format, double x, struct err *);

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
 * reason; only a report that cannot be read or written is an error, and so is a
 * signal (sig.h).  The commands of all reports have ten minutes together.
 */
struct claims_check {
    const struct program *gtrack; /* whose commands print tables */
    bool fill;                    /* write the values into the reports */
    bool unbound;                 /* list the numbers that no claim states */
    bool elsewhere;    /* LaTeX also looks for figures in other folders */
    const char *files; /* figures are drawn from files below it, or NULL */
    double end;        /* by clock_mono(): nothing runs longer */
    char told[64];     /* the experiment whose runs were counted last */
    struct table table;
    int64_t equal, other, unknown; /* values */
    int64_t unproved; /* equal or other, but of a metric that is not replayed */
    int64_t figures, other_figures;
    int64_t missing; /* files that a report includes */
};

void claims_check_init(struct claims_check *, const struct program *gtrack);
/* The text with the values of now becomes *now. */
int claims_check_text(struct claims_check *, const char *file,
                      const struct buf *text, struct buf *now, struct err *);
int claims_check_file(struct claims_check *, const char *file, struct err *);

/* ERR_INPUT if something is not as the runs say; else append how much is, or
 * that the table is empty. */
int claims_check_judge(const struct claims_check *, struct buf *, struct err *);
