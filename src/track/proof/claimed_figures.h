#ifndef TRACK_PROOF_CLAIMED_FIGURES_H
#define TRACK_PROOF_CLAIMED_FIGURES_H

#include <stddef.h>

#include "common/err.h"

/*
 * claimed_figures - figures that a report includes
 *
 *      struct claimed_figures f = CLAIMED_FIGURES_INIT;
 *
 *      claimed_figures_find(&f, text, "paper/report.tex");
 *      for (i = 0; i < f.n; i++)
 *          claimed_figures_verify(&f.item[i], e);
 *      claimed_figures_clear(&f);
 *
 * In a .tex file, a figure is what \includegraphics{...} or \input{...} names,
 * with or without the ending of its name; in other files, what ![...](...)
 * names.  Paths are relative to the folder of the report.  Files that do not
 * exist are left out.
 */
struct claimed_figure {
    char *path;
    long line;
    char *result; /* of gplot verify: equal, differs, unstamped or an error */
};

struct claimed_figures {
    struct claimed_figure *item;
    size_t n, room;
};

#define CLAIMED_FIGURES_INIT                                                   \
 {                                                                             \
  NULL, 0, 0                                                                   \
 }

/* `file` is the path of the report. */
void claimed_figures_find(struct claimed_figures *, const char *text,
                          const char *file);
/* Set the result. */
int claimed_figures_verify(struct claimed_figure *, struct err *);
void claimed_figures_clear(struct claimed_figures *);

#endif
