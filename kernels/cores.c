/*
 * cores - how many threads a computation of this process should have
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/cores.h"

/* Read the first line of a file into room; "" if there is none. */
static const char *read_line(char *room, size_t size, const char *root,
                             const char *path)
{
    char whole[1024];
    FILE *fp;

    room[0] = '\0';
    if (snprintf(whole, sizeof whole, "%s%s", root, path) >= (int)sizeof whole)
        return room;
    fp = fopen(whole, "re");
    if (fp && !fgets(room, (int)size, fp))
        room[0] = '\0';
    if (fp)
        fclose(fp);
    room[strcspn(room, "\n")] = '\0';
    return room;
}

/* Whether a list such as "0-3,8" has an allowed processor below `cpu`. */
static bool has_allowed_below(const char *list, int cpu,
                              const cpu_set_t *allowed)
{
    while (*list) {
        char *end;
        const long from = strtol(list, &end, 10);
        const long to = *end == '-' ? strtol(end + 1, &end, 10) : from;

        if (end == list || from < 0)
            return false;
        for (long i = from; i <= to && i < cpu; i++)
            if (CPU_ISSET((size_t)i, allowed))
                return true;
        list = end + (*end == ',');
        if (*end && *end != ',')
            return false;
    }
    return false;
}

static int count_physical(const char *root, const cpu_set_t *allowed)
{
    int n = 0;

    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        char path[96], list[256];

        if (!CPU_ISSET((size_t)cpu, allowed))
            continue;
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
                 cpu);
        n += !has_allowed_below(read_line(list, sizeof list, root, path), cpu,
                                allowed);
    }
    return n;
}

/* The quota in cpu.max of one control group, "QUOTA PERIOD" in microseconds or
 * "max PERIOD", as a number of processors; `most` if it is larger. */
static int limit_of_group(const char *root, const char *group, int most)
{
    char path[768], text[64];
    long long quota, period;

    snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", group);
    if (sscanf(read_line(text, sizeof text, root, path), "%lld %lld", &quota,
               &period) != 2 ||
        quota <= 0 || period <= 0 || quota / period >= most)
        return most;
    return (int)((quota + period - 1) / period);
}

/* The lowest limit of the process's control group and the groups above it. */
static int limit_of_groups(const char *root, int most)
{
    char line[512], *group;

    read_line(line, sizeof line, root, "/proc/self/cgroup");
    if (strncmp(line, "0::/", 4) != 0)
        return most;
    for (group = line + 3; *group;) {
        most = limit_of_group(root, group, most);
        *strrchr(group, '/') = '\0';
    }
    return limit_of_group(root, "", most);
}

int cores_count(const char *root, const cpu_set_t *allowed)
{
    const int n = limit_of_groups(root, count_physical(root, allowed));

    return n > 0 ? n : 1;
}

int cores_of_rank(int local_ranks, bool shared)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    cpu_set_t allowed;
    int n;

    if (sched_getaffinity(0, sizeof allowed, &allowed) < 0)
        return 1;
    n = cores_count("", &allowed);
    if (local_ranks < 2 ||
        (!shared && (long)CPU_COUNT(&allowed) * local_ranks <= online))
        return n;
    return n > local_ranks ? n / local_ranks : 1;
}
