#ifndef COMMON_PAGER_H
#define COMMON_PAGER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"

/*
 * pager - show text to a person, a screen at a time
 *
 * The text goes through a pager when standard input and output are terminals
 * and it has more lines than the screen, else straight to standard output.
 * The pager is $NAME_PAGER (NAME: this program's, in capitals), $PAGER, or
 * less; it is a shell command, as everywhere; empty or "cat" is none.
 */
int pager_text(const char *text, size_t n, bool pager, struct err *);

/* Rows and columns of the terminal, $LINES and $COLUMNS first; 24, 80. */
void pager_screen(int *rows, int *columns);

#endif
