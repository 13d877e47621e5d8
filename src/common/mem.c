#include "config.h"
#include "common/mem.h"

#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ARENA_BLOCK = 64 * 1024, ARENA_ALIGN = 16 };

struct arena_block {
    struct arena_block *before;
    void *taken; /* also keeps what follows 16-byte aligned */
};

static void *check(void *p, size_t n)
{
    if (!p) {
        fprintf(stderr, "%s: out of memory (%zu bytes)\n",
                program_invocation_short_name, n);
        exit(1);
    }
    return p;
}

void *xmalloc(size_t n)
{
    return check(malloc(n ? n : 1), n);
}

void *xcalloc(size_t count, size_t size)
{
    return check(calloc(count ? count : 1, size ? size : 1), count * size);
}

void *xrealloc(void *p, size_t count, size_t size)
{
    return check(reallocarray(p, count ? count : 1, size ? size : 1),
                 count * size);
}

char *xstrdup(const char *s)
{
    return check(strdup(s), strlen(s) + 1);
}

char *xstrndup(const char *s, size_t n)
{
    return check(strndup(s, n), n + 1);
}

void mem_free(void *const *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(list[i]);
}

void mem_auto_free(void *pointer)
{
    void *memory;

    memcpy(&memory, pointer, sizeof memory);
    free(memory);
}

void xreplace(char **to, const char *s)
{
    free(*to);
    *to = s ? xstrdup(s) : NULL;
}

static char *print(const char *fmt, va_list ap)
{
    char *s;

    return check(vasprintf(&s, fmt, ap) < 0 ? NULL : s, 0);
}

char *xasprintf(const char *fmt, ...)
{
    char *s;
    va_list ap;

    va_start(ap, fmt);
    s = print(fmt, ap);
    va_end(ap);
    return s;
}

void *mem_alloc(size_t count, size_t size, const char *what, struct err *e)
{
    size_t n;
    void *p;

    if (__builtin_mul_overflow(count, size, &n) || n > PTRDIFF_MAX) {
        err_set(e, ERR_SYSTEM,
                "%s: %zu items of %zu bytes do not fit in memory", what, count,
                size);
        return NULL;
    }
    p = malloc(n ? n : 1);
    if (!p)
        err_sys(e, "%s: cannot allocate %zu bytes", what, n);
    return p;
}

void *arena_alloc(struct arena *a, size_t n)
{
    char *p;

    n = (n + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
    if (!a->last || n > a->room - a->used) {
        const size_t room = n > ARENA_BLOCK ? n : ARENA_BLOCK;
        struct arena_block *b = xmalloc(sizeof *b + room);

        b->before = a->last;
        b->taken = NULL;
        a->last = b;
        a->room = room;
        a->used = 0;
    }
    p = (char *)(a->last + 1) + a->used;
    a->used += n;
    a->total += n;
    return memset(p, 0, n);
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
    const size_t len = strnlen(s, n);

    return memcpy(arena_alloc(a, len + 1), s, len);
}

char *arena_strdup(struct arena *a, const char *s)
{
    return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
    char *s, *copy;
    va_list ap;

    va_start(ap, fmt);
    s = print(fmt, ap);
    va_end(ap);
    copy = arena_strdup(a, s);
    free(s);
    return copy;
}

void *arena_grow(struct arena *a, void *array, size_t n, size_t size)
{
    void *more;

    if (n & (n - 1)) /* the room is the next power of two */
        return array;
    more = arena_alloc(a, (n ? 2 * n : 1) * size);
    return n ? memcpy(more, array, n * size) : more;
}

/* Insert a chain of blocks behind the one that is being filled. */
static void insert(struct arena *a, struct arena_block *from,
                   struct arena_block *to)
{
    if (!a->last) {
        a->last = from;
        a->used = a->room = 0;
        return;
    }
    to->before = a->last->before;
    a->last->before = from;
}

void arena_take(struct arena *a, void *p)
{
    struct arena_block *b = xmalloc(sizeof *b);

    *b = (struct arena_block){ NULL, p };
    insert(a, b, b);
}

void arena_join(struct arena *a, struct arena *b)
{
    struct arena_block *oldest = b->last;

    if (oldest) {
        while (oldest->before)
            oldest = oldest->before;
        insert(a, b->last, oldest);
        a->total += b->total;
    }
    *b = (struct arena){ 0 };
}

void arena_clear(struct arena *a)
{
    while (a->last) {
        struct arena_block *b = a->last;

        a->last = b->before;
        FREE(b->taken, b);
    }
    *a = (struct arena){ 0 };
}
