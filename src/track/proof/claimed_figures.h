#ifndef TRACK_PROOF_CLAIMED_FIGURES_H
#define TRACK_PROOF_CLAIMED_FIGURES_H

#include <stddef.h>

/*
 * claimed_figures - figures that a report includes
 *
 *      struct claimed_figures f = CLAIMED_FIGURES_INIT;
 *
 *      claimed_figures_find(&f, text, "paper/report.tex");
 *      for (i = 0; i < f.n; i++)
 *          result = stamped_check(f.item[i].path, &command, &why);
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
void claimed_figures_clear(struct claimed_figures *);

#endif
