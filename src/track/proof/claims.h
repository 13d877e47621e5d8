#ifndef TRACK_PROOF_CLAIMS_H
#define TRACK_PROOF_CLAIMS_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/err.h"

/*
 * claims - values of runs that a text states
 *
 *      LaTeX      \gtrack{RUN | COLUMN | .3f}{3.214}
 *      Markdown   <!-- gtrack: RUN | COLUMN | .3f -->3.214<!-- /gtrack -->
 *      a table    <!-- gtrack: table: compare a b -->...<!-- /gtrack -->
 *
 *      claims_parse(&c, text, n, "report.tex", e);
 *      for (i = 0; i < c.n; i++)
 *          c.item[i].now = the value of the column in the run
 *      claims_write(&c, &out);         the text with these values
 *      claims_clear(&c);
 *
 * RUN and COLUMN are what gtrack takes; the last part, which may be missing, is
 * a format of printf(3) for a number without its percent sign, which would
 * begin a comment in LaTeX.  Claims behind a % in a line of a .tex file are
 * comments, and are left alone.
 */
struct claim {
    char *run, *column, *format; /* format: NULL for none */
    char *command;               /* of a table; then the others are NULL */
    const char *value;           /* as the text states it, `len` bytes */
    size_t len;
    long line;
    char *now; /* the value to compare with; NULL: unknown */
};

struct claims {
    struct claim *item;
    size_t n, room;
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

#endif
