#ifndef COMMON_RANDOM_H
#define COMMON_RANDOM_H

#include <stddef.h>

/*
 * random - names that nobody else chooses
 *
 *      random_bytes(bits, sizeof bits);
 *      random_word(word);
 *
 * For names of files and ids, not for secrets: where the kernel refuses its
 * random numbers, the clock and addresses in memory take their place.  Never
 * fails.
 */
enum { RANDOM_WORD = 17 };

void random_bytes(void *out, size_t n);
/* 16 hexadecimal digits. */
void random_word(char out[RANDOM_WORD]);

#endif
