/*
 * musl.h - what the C library musl lacks, or lacked until recently
 *
 * config.h includes it, so nothing else tells C libraries apart.
 */
#include <features.h>
#ifndef __GLIBC__
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

long syscall(long, ...);

#ifndef GLOB_BRACE
#define GLOB_BRACE 0 /* braces are taken as they are */
#endif
#ifndef _SC_LEVEL2_CACHE_SIZE
#define _SC_LEVEL2_CACHE_SIZE (-1) /* sysconf() does not know */
#endif

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#define RENAME_EXCHANGE  2

static inline int renameat2(int from, const char *old, int to, const char *new,
                            unsigned flags)
{
    return (int)syscall(SYS_renameat2, from, old, to, new, flags);
}
#endif

/* A program's exit status is not told.  The last function is called first. */
struct musl_leave {
    void (*call)(int, void *);
    void *with;
    struct musl_leave *next;
};

static struct musl_leave *musl_leave;

static inline void musl_at_exit(void)
{
    struct musl_leave *const last = musl_leave;

    musl_leave = last->next;
    last->call(0, last->with);
    free(last);
}

static inline int on_exit(void (*call)(int, void *), void *with)
{
    struct musl_leave *last = malloc(sizeof *last);

    if (!last || atexit(musl_at_exit) != 0)
        return -1;
    *last = (struct musl_leave){ call, with, musl_leave };
    musl_leave = last;
    return 0;
}
#endif

/* A function that is chosen when a program is loaded, for what the CPU has. */
#if defined(__x86_64__) && defined(__GLIBC__)
#define CLONES __attribute__((target_clones("avx2", "default")))
#else
#define CLONES
#endif
