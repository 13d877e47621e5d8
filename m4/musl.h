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

/* A program's exit status is not told; one function for each file. */
static void (*musl_leave)(int, void *);

static inline void musl_at_exit(void)
{
    musl_leave(0, NULL);
}

static inline int on_exit(void (*leave)(int, void *), void *unused)
{
    (void)unused;
    musl_leave = leave;
    return atexit(musl_at_exit);
}
#endif
