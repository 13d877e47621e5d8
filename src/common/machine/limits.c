#include "config.h"
#include "common/machine/limits.h"

#include <link.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "common/path.h"

static FILE *open_below(const char *root, const char *path)
{
    char whole[1024];

    if (snprintf(whole, sizeof whole, "%s%s", root, path) >= (int)sizeof whole)
        return NULL;
    return fopen(whole, "re");
}

const char *limits_line(char *room, size_t size, const char *root,
                        const char *path)
{
    AUTO(path_fclose) FILE *fp = open_below(root, path);

    if (!fp || !fgets(room, (int)size, fp))
        room[0] = '\0';
    room[strcspn(room, "\n")] = '\0';
    return room;
}

/* ---- control groups ----------------------------------------------------- */

/* Where the kernel keeps a limit: the controller, which version 1 has a folder
 * for, and the files of versions 2 and 1. */
struct limit {
    const char *controller, *file[2];
    const char *period; /* of version 1, in a file of its own; or NULL */
};

static const struct limit limit_cpu = { "cpu",
                                        { "cpu.max", "cpu.cfs_quota_us" },
                                        "cpu.cfs_period_us" };
static const struct limit limit_memory = {
    "memory", { "memory.max", "memory.limit_in_bytes" }, NULL
};

/* The least limit so far, and the file that it is from; "": none. */
struct least {
    const char *root;
    const struct limit *of;
    double limit;
    char from[800];
};

/* What a file of one group says: "LIMIT" or "LIMIT PERIOD"; INFINITY if it says
 * "max", or -1, or more than anything has, as version 1 does. */
static double read_limit(const struct least *l, const char *folder,
                         const char *file)
{
    char path[800], text[64];
    double limit = -1, period = 1;
    int n;

    snprintf(path, sizeof path, "%s/%s", folder, file);
    n = sscanf(limits_line(text, sizeof text, l->root, path), "%lf %lf", &limit,
               &period);
    if (n == 1 && l->of->period) {
        snprintf(path, sizeof path, "%s/%s", folder, l->of->period);
        n = sscanf(limits_line(text, sizeof text, l->root, path), "%lf",
                   &period);
    }
    return n < 1 || !(limit > 0 && limit < 0x1p62) || !(period > 0)
               ? (double)INFINITY
               : limit / period;
}

/* Of a group and those above it: "/box/inner", "/box" and "". */
static void lower_by_groups(struct least *l, bool v1, char *group)
{
    const char *const file = l->of->file[v1];
    char folder[700];

    for (bool more = true; more;) {
        double limit;

        snprintf(folder, sizeof folder, "/sys/fs/cgroup%s%s%s", v1 ? "/" : "",
                 v1 ? l->of->controller : "", group);
        limit = read_limit(l, folder, file);
        if (limit < l->limit) {
            l->limit = limit;
            snprintf(l->from, sizeof l->from, "%s/%s", folder, file);
        }
        more = *group;
        if (more)
            *strrchr(group, '/') = '\0';
    }
}

static bool has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);

    for (const char *at = list; *at; at += strcspn(at, ",")) {
        at += *at == ',';
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || !at[n]))
            return true;
    }
    return false;
}

/* Each line of /proc/self/cgroup is ID:CONTROLLERS:/GROUP; version 2 lists no
 * controllers. */
static void lower(struct least *l)
{
    AUTO(path_fclose) FILE *fp = open_below(l->root, "/proc/self/cgroup");
    char line[512];

    while (fp && fgets(line, sizeof line, fp)) {
        char *list = strchr(line, ':');
        char *group = list ? strchr(list + 1, ':') : NULL;

        if (!group || group[1] != '/')
            continue;
        *group++ = '\0';
        list++;
        group[strcspn(group, "\n")] = '\0';
        if (!group[1])
            *group = '\0';
        if (!*list || has_word(list, l->of->controller))
            lower_by_groups(l, *list, group);
    }
}

/* ---- all of it ---------------------------------------------------------- */

double limits_processors(const char *root)
{
    struct least l = { .root = root,
                       .of = &limit_cpu,
                       .limit = (double)INFINITY };

    lower(&l);
    return l.limit;
}

double limits_machine_memory(const char *root)
{
    char text[128];
    struct sysinfo info;
    double kib;

    if (sscanf(limits_line(text, sizeof text, root, "/proc/meminfo"),
               "MemTotal: %lf kB", &kib) == 1 &&
        kib > 0)
        return kib * 1024;
    if (*root || sysinfo(&info) < 0)
        return INFINITY;
    return (double)info.totalram * info.mem_unit;
}

double limits_memory(const char *root, char *from, size_t room)
{
    struct least l = { .root = root,
                       .of = &limit_memory,
                       .limit = limits_machine_memory(root) };

    lower(&l);
    if (from)
        snprintf(from, room, "%s", l.from);
    return l.limit;
}

/* The pages of /proc/self/statm. */
void usage_memory(double *resident, double *reserved)
{
    const double page = (double)sysconf(_SC_PAGESIZE);
    long rss, data;
    AUTO(path_fclose) FILE *fp = fopen("/proc/self/statm", "re");

    *resident = *reserved = (double)NAN;
    if (!fp)
        return;
    if (fscanf(fp, "%*d %ld %*d %*d %*d %ld", &rss, &data) == 2) {
        *resident = (double)rss * page;
        *reserved = (double)data * page;
    }
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
    AUTO(path_fclose) FILE *fp = fopen("/proc/self/io", "re");

    *read = *written = (double)NAN;
    while (fp && fgets(line, sizeof line, fp)) {
        sscanf(line, "read_bytes: %lf", read);
        sscanf(line, "write_bytes: %lf", written);
    }
}

/* A library's name is a link to a file with the version in its name.  Those of
 * Python's modules have none, and there are many. */
static int library(struct dl_phdr_info *info, size_t size UNUSED, void *arg)
{
    AUTO_FREE char *real =
        info->dlpi_name[0] ? realpath(info->dlpi_name, NULL) : NULL;

    if (real && !strstr(real, ".cpython-"))
        buf_printf(arg, " %s", path_name(real));
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
