#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/mem.h"

/*
 * buf - a string that grows
 *
 *      struct buf b = BUF_INIT;
 *
 *      buf_printf(&b, "%s=%d", name, n);
 *      puts(b.s);
 *      buf_clear(&b);
 *
 * b.s is never NULL and always ends in a NUL that b.len does not count, so it
 * can be read as a string at any time; it may also contain NULs.  Running out
 * of memory ends the program, so a buf is for text of limited size, or for
 * input whose size was checked: buf_read_file() is given the largest size to
 * accept.
 */
struct buf {
    char *s;
    size_t len, room;
};

extern char buf_empty[1]; /* what an unused buf points at */
#define BUF_INIT ((struct buf){ buf_empty, 0, 0 })

void buf_add(struct buf *, const void *data, size_t n);
void buf_str(struct buf *, const char *s);
void buf_char(struct buf *, char c);
void buf_printf(struct buf *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
void buf_vprintf(struct buf *, const char *fmt, va_list);

/* Append a word for a shell: in single quotes; or so only if it needs them. */
void buf_shell_word(struct buf *, const char *word);
void buf_shell_short(struct buf *, const char *word);
/* Append " OPTION WORD", or " WORD" if the option is "", the word in quotes if
 * it needs them; nothing if the word is NULL. */
void buf_shell_option(struct buf *, const char *option, const char *word);
/* Append the words of a line for a shell, each with its NUL, and return their
 * number; -1 if the shell does more than divide and unquote it. */
int buf_shell_split(struct buf *, const char *line);

void buf_base64(struct buf *, const void *data, size_t n);

void buf_room(struct buf *, size_t more); /* for more bytes, and a NUL */
void buf_trim(struct buf *, size_t len);  /* cut to len */
char *buf_detach(struct buf *);           /* the string; the caller frees */
void buf_clear(struct buf *);             /* empty again, memory freed */

/* Append a whole file, of at most max bytes.  A missing file is ERR_MISSING. */
int buf_read_file(struct buf *, const char *path, size_t max, struct err *);
/* Append a file that is not a symbolic link. */
int buf_read_unlinked(struct buf *, const char *path, size_t max, struct err *);
/* Append the rest of an open file, and close it; an fd of -1 returns -1. */
int buf_read_open(struct buf *, int fd, const char *path, size_t max,
                  struct err *);

bool str_ends(const char *s, const char *end);
/* Leave out the white space before and after a text of *n bytes. */
void str_trim(const char **s, size_t *n);
/* Are both texts equal, or both NULL? */
bool str_same(const char *, const char *);
/* What follows the last c in a text; all of it if there is none. */
const char *str_after(const char *s, char c);
/* For qsort() and bsearch() of texts, and of structs that begin with one. */
int str_compare(const void *, const void *);
/* The text, or "" for NULL. */
const char *str_or_empty(const char *);
/* The value of an environment variable, NULL if it is empty. */
const char *str_env(const char *name);

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
