#pragma once

#include <stddef.h>

#include "common/err.h"

/*
 * random - names that nobody else chooses
 *
 *      random_bytes(bits, sizeof bits);
 *      random_word(word);
 *
 * These are for names of files and ids: where the kernel refuses its random
 * numbers, the clock and addresses in memory take their place.  They never
 * fail.  A secret is an error there instead.
 */
enum { RANDOM_WORD = 17, RANDOM_SECRET = 33 };

void random_bytes(void *out, size_t n);
/* 16 hexadecimal digits. */
void random_word(char out[RANDOM_WORD]);

/* 32 hexadecimal digits that nobody can guess. */
int random_secret(char out[RANDOM_SECRET], struct err *);
/* Those in a file that only its owner can read; it is created if needed. */
int random_secret_file(const char *path, char out[RANDOM_SECRET], struct err *);
