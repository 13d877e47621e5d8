#pragma once

#include <stdbool.h>

#include "common/buf.h"

/*
 * percent - bytes of a URL as %XX
 *
 * percent_add() keeps ASCII letters, digits and the given characters, and
 * escapes all other bytes.  percent_decode() works in place; a % that no
 * escape of a byte but NUL begins stays, and it returns false.
 */
#define PERCENT_PART "-._~" /* what a part of a URL keeps */

void percent_add(struct buf *, const char *text, const char *keep);
bool percent_decode(char *text);
