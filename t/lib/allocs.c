/*
 * allocs - how often a program asks for memory
 *
 *      LD_PRELOAD=t/lib/allocs.so ALLOCS=FILE COMMAND
 *
 * Stands in for malloc() and its kin, and writes the number of calls to FILE
 * when the program ends.  Those of OpenMP's library for its own teams are not
 * counted: it makes one for each region that runs on one thread.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What glibc calls its own. */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

void *memalign(size_t, size_t);

static atomic_long calls;
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
    dl_iterate_phdr(find_omp, NULL);
}

static void count(const void *caller)
{
    if ((uintptr_t)caller < omp_from || (uintptr_t)caller >= omp_to)
        atomic_fetch_add(&calls, 1);
}

#define COUNT() count(__builtin_return_address(0))

void *malloc(size_t n)
{
    COUNT();
    return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    COUNT();
    return __libc_calloc(n, size);
}

void *realloc(void *p, size_t n)
{
    COUNT();
    return __libc_realloc(p, n);
}

void *memalign(size_t align, size_t n)
{
    COUNT();
    return __libc_memalign(align, n);
}

void *aligned_alloc(size_t align, size_t n)
{
    COUNT();
    return __libc_memalign(align, n);
}

int posix_memalign(void **p, size_t align, size_t n)
{
    COUNT();
    *p = __libc_memalign(align, n);
    return *p ? 0 : ENOMEM;
}

static __attribute__((destructor)) void tell(void)
{
    const long n = calls;
    const char *path = getenv("ALLOCS");
    FILE *fp = path ? fopen(path, "w") : NULL;

    if (fp) {
        fprintf(fp, "%ld\n", n);
        fclose(fp);
    }
}
