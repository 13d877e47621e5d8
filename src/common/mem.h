#pragma once

#include <stdlib.h>

#include "common/err.h"

BEGIN_EXTERN_C

/*
 * mem - three ways to allocate memory
 *
 * xmalloc() and its family are for small things: they never return NULL; if
 * there is no memory, the program ends with a message.  What they return is
 * freed with free().
 *
 * mem_alloc() is for anything whose size comes from a file or a setting: the
 * product is checked for overflow, and the error names the size.
 *
 * An arena owns everything taken from it and frees it at once.  A zeroed arena
 * is empty and ready; arena_clear() makes it so again.
 *
 *      struct arena a = { 0 };
 *      char *name = arena_strdup(&a, line);
 *      ...
 *      arena_clear(&a);
 */
void *xmalloc(size_t n);
void *xcalloc(size_t count, size_t size);
void *xrealloc(void *p, size_t count, size_t size);
char *xstrdup(const char *s);
char *xstrndup(const char *s, size_t n);
/* Free *to and make it a copy of s, which may be NULL. */
void xreplace(char **to, const char *s);
/* Free several things: FREE(s->name, s->text, s). */
#define FREE(...)                                                              \
    mem_free((void *const[]){ __VA_ARGS__ },                                   \
             sizeof((void *[]){ __VA_ARGS__ }) / sizeof(void *))
void mem_free(void *const *list, size_t n);
/*
 * For a local variable that has a value from its declaration on: its memory is
 * freed at the end of its scope, after the value of a return is computed.
 *
 *      AUTO_FREE char *path = path_join(folder, name);
 *      AUTO(buf_clear) struct buf b = BUF_INIT;
 */
#define AUTO(clear) __attribute__((cleanup(clear)))
#define AUTO_FREE   AUTO(mem_auto_free)
void mem_auto_free(void *pointer);
char *xasprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* count * size bytes, or NULL with e filled: "WHAT: cannot allocate ...". */
void *mem_alloc(size_t count, size_t size, const char *what, struct err *e);

/* Make room for one more element in a growing array. */
#define GROW(array, n, room)                                                   \
    ((n) < (room) ? (void)0                                                    \
                  : (void)((room) = (room) ? (room)*2 : 16,                    \
                           (array) = xrealloc((array), (size_t)(room),         \
                                              sizeof *(array))))
/* Add an element: APPEND(list, n, room) = element. */
#define APPEND(array, n, room) (*(GROW(array, n, room), &(array)[(n)++]))
/* Sort an array, which may be NULL when it has no elements. */
#define SORT(array, n, compare)                                                \
    ((n) ? qsort((array), (n), sizeof *(array), (compare)) : (void)0)

struct arena {
    struct arena_block *last;
    size_t used, room; /* in the last block */
    size_t total;      /* bytes taken so far */
};

void *arena_alloc(struct arena *, size_t n); /* zeroed, 16-byte aligned */
char *arena_strdup(struct arena *, const char *s);
char *arena_strndup(struct arena *, const char *s, size_t n);
char *arena_printf(struct arena *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* An array of n elements with room for one more, for arrays that only grow by
 * this; NULL is the empty one. */
void *arena_grow(struct arena *, void *array, size_t n, size_t size);
/* The arena takes over memory from malloc(). */
void arena_take(struct arena *, void *p);
/* The first arena takes over everything that the second owns. */
void arena_join(struct arena *, struct arena *);
void arena_clear(struct arena *);

END_EXTERN_C
