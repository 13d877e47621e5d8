#ifndef TRACK_COMPLETE_H
#define TRACK_COMPLETE_H

#include "common/buf.h"

/*
 * complete - what the last word of a command line may become
 *
 *      char *words[] = { "gtrack", "-r", "runs", "show", "gpt" };
 *
 *      complete(&out, words, 5);
 *
 * appends one line a word that begins so: the word and, after a tab, what it
 * means, if that is known.  Nothing is appended where a file belongs, or where
 * nobody can tell; shells go on with the names of files then.  A word that
 * cannot be shown on a line is left out.
 */
void complete(struct buf *, char **words, int n);

#endif
