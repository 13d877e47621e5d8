#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/err.h"

/*
 * pager - show text to a person, a screen at a time
 *
 * The text is piped to a pager if standard input and output are terminals and
 * it has more lines than the screen, else printed.  The pager is $NAME_PAGER
 * (NAME is this program's, in capitals), $PAGER, or less.  It is a shell
 * command; if it is empty or "cat", no pager is used.
 */
int pager_text(const char *text, size_t n, bool pager, struct err *);

/* Print data as they are; on a terminal, where control characters would be
 * obeyed, those other than tabs and ends of lines are made visible. */
int pager_data(const char *text, size_t n, struct err *);
/* The same for what printf() would print. */
int pager_print(struct err *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* How many of n bytes are whole characters; the others begin one. */
size_t pager_whole(const char *text, size_t n);
/* pager_data() for the rest of a file of this name. */
int pager_file(FILE *, const char *name, struct err *);

/* Rows and columns: $LINES and $COLUMNS, or the terminal's, or 24 and 80. */
void pager_screen(int *rows, int *columns);
