#pragma once

#include "common/buf.h"

/*
 * complete - the completions of the last word of a command line
 *
 *      char *words[] = { "gtrack", "-r", "runs", "show", "gpt" };
 *
 *      complete(&out, words, 5);
 *
 * The first word may be the name of any program of the suite.  This appends one
 * line for each word that begins so: the word and, where there is
 * one, a tab and a help text.  Where a file or any text is expected, nothing is
 * appended, and the shell completes the names of files.  Words with control
 * characters are left out.
 */
void complete(struct buf *, int n, char **words);

/*
 * The scripts of the shells, in scripts/completion, ask the program for the
 * completions of a line, and fall back on the names of files.  The names of
 * runs may hold anything: no script may let its shell evaluate them.
 */
extern const char complete_bash[], complete_zsh[], complete_fish[];
