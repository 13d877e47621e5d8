#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * magic - recognise by their first bytes files that are not text
 *
 * magic_name() knows archives, documents and programs that would otherwise be
 * read as text: it returns what the data are, such as "a bzip2 file", or NULL,
 * and in *help how to get text from them, such as "; 'bzcat' converts it", or
 * "".  It needs the first 512 bytes, unless the file is shorter.
 */
const char *magic_name(const char *data, size_t n, const char **help);
bool magic_is_html(const char *data, size_t n);
