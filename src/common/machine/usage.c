#include "config.h"
#include "common/machine/usage.h"

#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/path.h"

/* The pages of /proc/self/statm. */
void usage_memory(double *resident, double *reserved)
{
    const double page = (double)sysconf(_SC_PAGESIZE);
    long rss, data;
    FILE *fp = fopen("/proc/self/statm", "re");

    *resident = *reserved = (double)NAN;
    if (!fp)
        return;
    if (fscanf(fp, "%*d %ld %*d %*d %*d %ld", &rss, &data) == 2) {
        *resident = (double)rss * page;
        *reserved = (double)data * page;
    }
    fclose(fp);
}

static double to_seconds(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

double usage_cpu_seconds(void)
{
    struct rusage u;

    getrusage(RUSAGE_SELF, &u);
    return to_seconds(&u.ru_utime) + to_seconds(&u.ru_stime);
}

void usage_disk(double *read, double *written)
{
    char line[128];
    FILE *fp = fopen("/proc/self/io", "re");

    *read = *written = (double)NAN;
    while (fp && fgets(line, sizeof line, fp)) {
        sscanf(line, "read_bytes: %lf", read);
        sscanf(line, "write_bytes: %lf", written);
    }
    if (fp)
        fclose(fp);
}

/* A library's name is a link to a file with the version in its name.  Those of
 * Python's modules have none, and there are many. */
static int library(struct dl_phdr_info *info, size_t size, void *arg)
{
    char *real = info->dlpi_name[0] ? realpath(info->dlpi_name, NULL) : NULL;

    (void)size;
    if (real && !strstr(real, ".cpython-"))
        buf_printf(arg, " %s", path_name(real));
    free(real);
    return 0;
}

void usage_libraries(struct buf *out)
{
    char libc[64] = "musl libc"; /* which does not tell its version */

    confstr(_CS_GNU_LIBC_VERSION, libc, sizeof libc);
    *strchr(libc, ' ') = '-';
    buf_str(out, libc);
    dl_iterate_phdr(library, out);
}
