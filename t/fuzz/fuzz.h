#pragma once

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * fuzz - what the targets of this folder share
 *
 * A target is one file: LLVMFuzzerTestOneInput(), which hands its bytes to one
 * reader.  t/fuzz/run builds and runs them; see HACKING.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define FUZZ_CHECK(condition)                                                  \
    do {                                                                       \
        if (!(condition)) {                                                    \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__,         \
                    #condition);                                               \
            abort();                                                           \
        }                                                                      \
    } while (0)

/* A file without a name that holds the bytes; path gets how to open it. */
static inline int fuzz_file(const uint8_t *data, size_t n, char path[32])
{
    const int fd = memfd_create("fuzz", MFD_CLOEXEC);

    FUZZ_CHECK(fd >= 0 && write(fd, data, n) == (ssize_t)n);
    snprintf(path, 32, "/proc/self/fd/%d", fd);
    return fd;
}

/* Write the bytes to a file of this name, which stays open in *fd, -1 at first:
 * creating it each time takes longer than most readers do. */
static inline void fuzz_rewrite(int *fd, const char *path, const uint8_t *data,
                                size_t n)
{
    if (*fd < 0)
        *fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
    FUZZ_CHECK(*fd >= 0 && ftruncate(*fd, (off_t)n) == 0 &&
               pwrite(*fd, data, n, 0) == (ssize_t)n);
}
