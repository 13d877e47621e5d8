/*
 * shim - let a program run out of memory, or its clock jump, and count
 *
 *      LD_PRELOAD=t/lib/shim.so SHIM_COUNTS=FILE COMMAND
 *
 * Stands in for malloc() and its kin and for the functions that read the wall
 * clock, and writes the numbers of calls of both to FILE when the program ends;
 * after them, how often it compared bytes and the KiB that it had at most.
 * Allocations of OpenMP's library for its own teams are not counted: it makes
 * one for each region that runs on one thread.
 *
 *      SHIM_FAIL=N             the Nth allocation finds no memory
 *      SHIM_LARGEST=BYTES      malloc() finds no memory for more at once
 *      SHIM_JUMP=N:SECONDS     from its Nth reading on, the clock is so much
 *                              later, or earlier if SECONDS is negative
 *      SHIM_OF=NAME            only in programs of this name
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* What glibc calls its own. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *memalign(size_t, size_t);

static atomic_long calls, readings, comparisons;
static long fail_at, jump_at, jump_by, largest = PTRDIFF_MAX;
static int counts = -1;
static bool here = true; /* a program that SHIM_OF means */
static uintptr_t omp_from, omp_to;

static int find_omp(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    (void)arg;
    for (int i = 0; strstr(info->dlpi_name, "libgomp") && i < info->dlpi_phnum;
         i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];

        if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
            omp_from = info->dlpi_addr + p->p_vaddr;
            omp_to = omp_from + p->p_memsz;
        }
    }
    return 0;
}

static __attribute__((constructor)) void begin(void)
{
    const char *only = getenv("SHIM_OF"), *fail = getenv("SHIM_FAIL"),
               *path = getenv("SHIM_COUNTS"), *jump = getenv("SHIM_JUMP"),
               *most = getenv("SHIM_LARGEST");

    dl_iterate_phdr(find_omp, NULL);
    here = !only || strcmp(only, program_invocation_short_name) == 0;
    if (here && path) /* at once: a program may give up the right to open it */
        counts = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (here && fail)
        fail_at = strtol(fail, NULL, 10);
    if (here && most)
        largest = strtol(most, NULL, 10);
    if (here && jump)
        sscanf(jump, "%ld:%ld", &jump_at, &jump_by);
}

/* Count a call; true if it must fail. */
static bool count(const void *caller)
{
    if ((uintptr_t)caller >= omp_from && (uintptr_t)caller < omp_to)
        return false;
    if (atomic_fetch_add(&calls, 1) + 1 != fail_at)
        return false;
    errno = ENOMEM;
    return true;
}

#define FAILS() count(__builtin_return_address(0))

void *malloc(size_t n)
{
    if (n > (size_t)largest)
        errno = ENOMEM;
    return FAILS() || n > (size_t)largest ? NULL : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    return FAILS() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    return FAILS() ? NULL : __libc_realloc(p, n);
}

void *memalign(size_t align, size_t n)
{
    return FAILS() ? NULL : __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    return FAILS() ? NULL : __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    *p = FAILS() ? NULL : __libc_memalign(align, n);
    return *p ? 0 : ENOMEM;
}

/* How much later than it is. */
static long jump(void)
{
    return atomic_fetch_add(&readings, 1) + 1 >= jump_at ? jump_by : 0;
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
    const int ret = (int)syscall(SYS_clock_gettime, id, ts);

    if (ret == 0 && id == CLOCK_REALTIME)
        ts->tv_sec += jump();
    return ret;
}

int gettimeofday(struct timeval *restrict tv, void *restrict zone)
{
    struct timespec ts;
    const int ret = clock_gettime(CLOCK_REALTIME, &ts);

    (void)zone;
    tv->tv_sec = ts.tv_sec;
    tv->tv_usec = ts.tv_nsec / 1000;
    return ret;
}

time_t time(time_t *to)
{
    struct timespec ts;

    clock_gettime(CLOCK_REALTIME, &ts);
    if (to)
        *to = ts.tv_sec;
    return ts.tv_sec;
}

/* Compare at most n bytes, or up to the end of a text. */
static int compare(const char *a, const char *b, size_t n, bool text)
{
    atomic_fetch_add_explicit(&comparisons, 1, memory_order_relaxed);
    for (size_t i = 0; i < n; i++) {
        if (a[i] != b[i])
            return (unsigned char)a[i] - (unsigned char)b[i];
        if (text && a[i] == '\0')
            break;
    }
    return 0;
}

int strcmp(const char *a, const char *b)
{
    return compare(a, b, SIZE_MAX, true);
}

int strncmp(const char *a, const char *b, size_t n)
{
    return compare(a, b, n, true);
}

int memcmp(const void *a, const void *b, size_t n)
{
    return compare(a, b, n, false);
}

static __attribute__((destructor)) void tell(void)
{
    const long n = calls, m = readings;
    struct rusage use;

    getrusage(RUSAGE_SELF, &use);
    if (counts >= 0 && ftruncate(counts, 0) == 0)
        dprintf(counts, "%ld %ld %ld %ld\n", n, m, (long)comparisons,
                use.ru_maxrss);
}
