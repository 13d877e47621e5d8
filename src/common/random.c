#include "config.h"
#include "common/random.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"

/* A step of SplitMix64, from where this process is and what time it is. */
static uint64_t guess(uint64_t n)
{
    struct timespec now;
    uint64_t x;

    clock_gettime(CLOCK_MONOTONIC, &now);
    x = (uint64_t)now.tv_nsec + ((uint64_t)now.tv_sec << 30) +
        (uint64_t)(uintptr_t)&now + (n + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

void random_bytes(void *out, size_t n)
{
    unsigned char *at = out;

    if (getrandom(at, n, 0) == (ssize_t)n)
        return;
    for (size_t i = 0; i < n; i++)
        at[i] = (unsigned char)guess(i);
}

void random_word(char out[RANDOM_WORD])
{
    uint64_t bits;

    random_bytes(&bits, sizeof bits);
    snprintf(out, RANDOM_WORD, "%016" PRIx64, bits);
}

int random_secret(char out[RANDOM_SECRET], struct err *e)
{
    unsigned char bits[(RANDOM_SECRET - 1) / 2];

    if (getrandom(bits, sizeof bits, 0) != (ssize_t)sizeof bits)
        return err_sys(e, "cannot get random bytes");
    for (size_t i = 0; i < sizeof bits; i++)
        snprintf(out + 2 * i, 3, "%02x", bits[i]);
    return 0;
}

static int read_secret(const char *path, char out[RANDOM_SECRET], struct err *e)
{
    AUTO(path_close)
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    const ssize_t n = RANDOM_SECRET - 1;
    struct stat st;

    if (fd < 0)
        return err_open(e, "cannot open %s", path);
    if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & (S_IRWXG | S_IRWXO)))
        return err_usage(
            e, "%s is not a file that only you can read; remove it", path);
    if (read(fd, out, (size_t)n) != n)
        return err_usage(e, "%s is too short; remove it", path);
    out[n] = '\0';
    return 0;
}

/* Write a secret to a file beside it first, since others may be reading. */
static int write_secret(const char *path, struct err *e)
{
    char text[RANDOM_SECRET], word[RANDOM_WORD], *temp;
    int fd, ret = random_secret(text, e);

    if (ret < 0)
        return -1;
    random_word(word);
    temp = xasprintf("%s.%s.tmp", path, word);
    fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
        (save_rename_new(temp, path) < 0 && errno != EEXIST))
        ret = err_sys(e, "cannot create %s", path);
    if (fd >= 0)
        close(fd);
    unlink(temp);
    free(temp);
    return ret;
}

int random_secret_file(const char *path, char out[RANDOM_SECRET], struct err *e)
{
    struct stat st;

    if (lstat(path, &st) < 0 && errno == ENOENT && write_secret(path, e) < 0)
        return -1;
    return read_secret(path, out, e);
}
