/*
 * cores - processors, kinds of cores, NUMA nodes and quotas of planted machines
 */
#include "config.h"
#include "common/machine/cores.h"

#include "common/err.h"
#include "common/machine/limits.h"
#include "common/path.h"
#include "t/lib/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char folder[] = "/tmp/cores-XXXXXX";
static char root[64]; /* of the machine that is planted now */

/* ---- planting --------------------------------------------------------- */

static void begin_machine(void)
{
    static int machines;

    snprintf(root, sizeof root, "%s/%d", folder, ++machines);
}

/* Write a file of the planted machine. */
static void plant(const char *path, const char *text)
{
    char whole[512];
    struct err e = { 0 };
    FILE *fp;

    snprintf(whole, sizeof whole, "%s%s", root, path);
    if (path_make_parent(whole, &e) < 0)
        diag("%s", e.text);
    fp = fopen(whole, "w");
    if (fp) {
        fprintf(fp, "%s\n", text);
        fclose(fp);
    }
}

static void plant_core(int cpu, const char *siblings)
{
    char path[128];

    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             cpu);
    plant(path, siblings);
}

/* Two neighbouring processors for each core, or one. */
static void plant_cores(int from, int to, int threads)
{
    for (int cpu = from; cpu <= to; cpu++) {
        const int first = cpu - (cpu - from) % threads;
        char list[32];

        snprintf(list, sizeof list, threads > 1 ? "%d-%d" : "%d", first,
                 first + threads - 1);
        plant_core(cpu, list);
    }
}

static void plant_capacity(int from, int to, const char *text)
{
    char path[64];

    for (int cpu = from; cpu <= to; cpu++) {
        snprintf(path, sizeof path,
                 "/sys/devices/system/cpu/cpu%d/cpu_capacity", cpu);
        plant(path, text);
    }
}

static void plant_node(int id, const char *list)
{
    char path[64];

    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", id);
    plant(path, list);
}

/* ---- reading ---------------------------------------------------------- */

static struct cores read_machine(int from, int to)
{
    struct cores c;
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int i = from; i <= to; i++)
        CPU_SET((size_t)i, &set);
    cores_read(&c, root, &set);
    return c;
}

static int count(int from, int to)
{
    return read_machine(from, to).threads;
}

static bool reads(const struct cores *c, int n, int fast, int threads,
                  int nodes)
{
    const bool good = c->n == n && c->fast == fast && c->threads == threads &&
                      c->nodes == nodes;

    if (!good)
        diag("%d cores, %d fast, %d threads, %d nodes", c->n, c->fast,
             c->threads, c->nodes);
    return good;
}

/* NULL: threads go wherever the kernel wants. */
static bool places(const struct cores *c, int rank, int ranks, const char *want)
{
    struct buf b = BUF_INIT;
    const bool placed = cores_places(c, rank, ranks, &b);
    const bool good = strcmp(want ? want : "", b.s) == 0 && placed == !!want;

    if (!good)
        diag("rank %d of %d: %d '%s'", rank, ranks, placed, b.s);
    buf_clear(&b);
    return good;
}

static bool describes(const struct cores *c, const char *want)
{
    char text[96];

    cores_describe(c, text, sizeof text);
    return strcmp(text, want) == 0;
}

/* ---- machines --------------------------------------------------------- */

static void test_hyper_threads(void)
{
    struct cores c;

    begin_machine();
    c = read_machine(0, 7);
    ok(reads(&c, 8, 8, 8, 1) && describes(&c, ""),
       "without files of the kernel each processor is a core");
    for (int i = 0; i < 8; i++) {
        static const char *const siblings[] = { "0,4", "1,5", "2,6", "3,7" };

        plant_core(i, siblings[i % 4]);
    }
    ok(count(0, 7) == 4, "two hyper-threads of a core count once");
    ok(count(0, 3) == 4, "one hyper-thread of each core counts");
    ok(count(3, 4) == 2, "hyper-threads of different cores count both");
    ok(count(4, 7) == 4, "the second hyper-threads alone count");
    plant_core(8, "8-9");
    plant_core(9, "8-9");
    plant_core(10, "10");
    ok(count(8, 10) == 2, "a core without hyper-threads counts beside others");
    plant_core(10, "nonsense");
    ok(count(8, 10) == 2, "a list that cannot be parsed is a core of its own");
    plant_core(10, "8-10,99999");
    ok(count(8, 10) == 2, "a list with an impossible processor is not used");
}

static void test_quotas(void)
{
    struct cores c;

    begin_machine();
    plant_cores(0, 3, 1);
    plant("/sys/devices/system/node/has_cpu", "0-1");
    plant_node(0, "0-1");
    plant_node(1, "2-3");
    plant("/proc/self/cgroup", "0::/box/inner");
    plant("/sys/fs/cgroup/box/inner/cpu.max", "max 100000");
    ok(count(0, 3) == 4, "a control group without a quota limits nothing");
    plant("/sys/fs/cgroup/box/cpu.max", "150000 100000");
    ok(count(0, 3) == 2, "the quota of an outer control group is rounded up");
    c = read_machine(0, 3);
    ok(places(&c, 0, 1, NULL),
       "threads that a quota limits are not kept on nodes");
    plant("/sys/fs/cgroup/cpu.max", "1000 100000");
    ok(count(0, 3) == 1, "a quota below one processor leaves one thread");
    plant("/sys/fs/cgroup/cpu.max", "0 0");
    ok(count(0, 3) == 2, "a quota of nothing is ignored");

    begin_machine(); /* version 1 of control groups */
    plant_cores(0, 3, 1);
    plant("/proc/self/cgroup", "3:memory:/box\n2:cpu,cpuacct:/box/inner\n0::/");
    plant("/sys/fs/cgroup/cpu/box/inner/cpu.cfs_quota_us", "-1");
    plant("/sys/fs/cgroup/cpu/box/inner/cpu.cfs_period_us", "100000");
    ok(count(0, 3) == 4, "a quota of -1 in version 1 limits nothing");
    plant("/sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "50000");
    ok(count(0, 3) == 4, "a quota without a period limits nothing");
    plant("/sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "20000");
    ok(count(0, 3) == 3, "a quota of version 1 is rounded up");
    plant("/sys/fs/cgroup/memory/box/cpu.cfs_quota_us", "1000");
    ok(count(0, 3) == 3, "a group of another controller has no quota");
}

static void test_memory(void)
{
    char from[256];

    begin_machine();
    ok(isinf(limits_memory(root, from, sizeof from)) && !*from,
       "without files the memory is unknown");
    plant("/proc/meminfo", "MemTotal:        4 kB\nMemFree:  1 kB");
    ok(limits_memory(root, from, sizeof from) == 4096 && !*from,
       "without control groups the memory is that of the machine");
    plant("/proc/self/cgroup", "7:memory:/a/b\n3:memoryx:/c\n0::/box");
    plant("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "3000");
    plant("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes",
          "9223372036854771712");
    plant("/sys/fs/cgroup/memory/c/memory.limit_in_bytes", "1");
    plant("/sys/fs/cgroup/box/memory.max", "max");
    ok(limits_memory(root, from, sizeof from) == 3000 &&
           strcmp(from, "/sys/fs/cgroup/memory/a/memory.limit_in_bytes") == 0,
       "a limit of version 1 is that of the group above, and has its file");
    plant("/sys/fs/cgroup/memory.max", "2000");
    ok(limits_memory(root, from, sizeof from) == 2000 &&
           strcmp(from, "/sys/fs/cgroup/memory.max") == 0 &&
           limits_machine_memory(root) == 4096,
       "a limit of version 2 that is lower counts, as in a container");
    plant("/sys/fs/cgroup/box/memory.max", "5000");
    ok(limits_memory(root, from, sizeof from) == 2000,
       "a limit above that of an outer group changes nothing");
}

static void test_intel(void)
{
    struct cores c;

    begin_machine(); /* as a Core i9-12900K */
    plant_cores(0, 15, 2);
    plant_cores(16, 23, 1);
    plant("/sys/devices/cpu_core/cpus", "0-15");
    plant("/sys/devices/cpu_atom/cpus", "16-23");
    plant_capacity(0, 23, "1024"); /* Linux tells none, with hyper-threads */
    plant("/sys/devices/system/node/has_cpu", "0");
    plant_node(0, "0-23");
    c = read_machine(0, 23);
    ok(reads(&c, 16, 8, 8, 1) && describes(&c, ", 8 fast and 8 slow cores"),
       "eight performance cores are used without eight efficiency cores");
    ok(places(&c, 0, 1, NULL) && places(&c, 1, 2, NULL),
       "on one node threads are not kept anywhere");
    c = read_machine(16, 23);
    ok(reads(&c, 8, 8, 8, 1) && describes(&c, ""),
       "efficiency cores alone are all used");
    c = read_machine(12, 23);
    ok(reads(&c, 10, 2, 10, 1) && describes(&c, ", 2 fast and 8 slow cores"),
       "many slow cores are used with two fast ones");
    plant_capacity(16, 23, "700");
    c = read_machine(0, 23);
    ok(reads(&c, 16, 8, 16, 1),
       "a capacity that the kernel tells replaces the guess");
    plant_capacity(16, 23, "-1");
    c = read_machine(12, 23);
    ok(reads(&c, 10, 2, 10, 1), "an impossible capacity is not used");
}

static void test_arm(void)
{
    struct cores c;

    begin_machine(); /* one prime core, three big ones, four little ones */
    plant_cores(0, 7, 1);
    plant_capacity(0, 3, "260");
    plant_capacity(4, 6, "900");
    plant_capacity(7, 7, "1024");
    c = read_machine(0, 7);
    ok(reads(&c, 8, 4, 4, 1) && describes(&c, ", 4 fast and 4 slow cores"),
       "big cores are used without little ones, at the speed of the slowest");
    c = read_machine(0, 3);
    ok(reads(&c, 4, 4, 4, 1), "little cores alone are all used");
    plant_capacity(0, 3, "460");
    c = read_machine(0, 7);
    ok(reads(&c, 8, 4, 8, 1),
       "all cores are used where they do more together than the fast ones");
}

/* Two sockets with four nodes each, and the second threads of all cores after
 * the first ones. */
static void plant_epyc(void)
{
    begin_machine();
    plant("/sys/devices/system/node/has_cpu", "0-7");
    for (int cpu = 0; cpu < 64; cpu++) {
        char list[16];

        snprintf(list, sizeof list, "%d,%d", cpu % 32, cpu % 32 + 32);
        plant_core(cpu, list);
    }
    for (int id = 0; id < 8; id++) {
        char list[32];

        snprintf(list, sizeof list, "%d-%d,%d-%d", 4 * id, 4 * id + 3,
                 4 * id + 32, 4 * id + 35);
        plant_node(id, list);
    }
}

static void test_nodes(void)
{
    struct cores c;

    plant_epyc();
    c = read_machine(0, 63);
    ok(reads(&c, 32, 32, 32, 8) && describes(&c, ", 8 NUMA nodes"),
       "two sockets of four nodes are eight nodes");
    ok(places(&c, 0, 1,
              "{0:4,32:4},{4:4,36:4},{8:4,40:4},{12:4,44:4},"
              "{16:4,48:4},{20:4,52:4},{24:4,56:4},{28:4,60:4}"),
       "a lone rank has a place for each node, in their order");
    ok(places(&c, 0, 8, "{0:4,32:4}") && places(&c, 7, 8, "{28:4,60:4}") &&
           places(&c, 3, 16, "{4:4,36:4}"),
       "ranks that are as many as nodes, or more, have one node each");
    ok(places(&c, 1, 2, "{16:4,48:4},{20:4,52:4},{24:4,56:4},{28:4,60:4}"),
       "the second of two ranks has the second half of the nodes");
    ok(places(&c, 1, 3, "{8:4,40:4},{12:4,44:4},{16:4,48:4},{20:4,52:4}"),
       "a share that ends within a node has a place there");
    ok(places(&c, 31, 32, "{28:4,60:4}") && places(&c, 0, 33, NULL),
       "ranks without a core each are not kept anywhere");
    c = read_machine(0, 7);
    ok(reads(&c, 8, 8, 8, 2) && places(&c, 0, 1, "{0:4},{4:4}"),
       "only allowed processors are in places");
    c = read_machine(4, 6);
    ok(reads(&c, 3, 3, 3, 1) && describes(&c, "") && places(&c, 0, 1, NULL),
       "nodes without an allowed processor do not count");
    c = read_machine(0, 5);
    ok(reads(&c, 6, 6, 6, 2) && places(&c, 0, 1, NULL),
       "threads are not kept on nodes with different numbers of cores");
}

static void test_gaps(void)
{
    static const int online[] = { 0, 1, 2, 5, 6, 7 };
    struct cores c;
    cpu_set_t set;

    begin_machine();
    plant("/sys/devices/system/node/has_cpu", "0,4");
    plant_node(0, "0,2,6");
    plant_node(4, "1,5,7");
    plant_node(5, "");
    CPU_ZERO(&set);
    for (size_t i = 0; i < sizeof online / sizeof online[0]; i++) {
        plant_cores(online[i], online[i], 1);
        CPU_SET((size_t)online[i], &set);
    }
    cores_read(&c, root, &set);
    ok(reads(&c, 6, 6, 6, 2) && places(&c, 0, 1, "{0:1,2:1,6:1},{1:1,5:1,7:1}"),
       "gaps in the numbers of processors and nodes do not matter");
}

static void test_broken(void)
{
    struct cores c;

    plant_epyc();
    plant_node(3, "12-,nonsense");
    c = read_machine(0, 63);
    ok(reads(&c, 32, 32, 32, 1) && places(&c, 0, 1, NULL),
       "with a list of a node that cannot be parsed there is one node");
    plant_node(3, "0-7");
    c = read_machine(0, 63);
    ok(reads(&c, 32, 32, 32, 1), "nodes that share cores are one node");
    plant("/sys/devices/system/node/has_cpu", "");
    c = read_machine(0, 63);
    ok(reads(&c, 32, 32, 32, 1), "without a list of nodes there is one node");
    begin_machine();
    c = read_machine(5, 5);
    ok(reads(&c, 1, 1, 1, 1) && places(&c, 0, 1, NULL),
       "one processor is one core on one node");
    c = read_machine(1, 0);
    ok(c.threads == 1 && places(&c, 0, 1, NULL),
       "without an allowed processor there is one thread");
}

/* Last: it leaves this process one processor. */
static void test_affinity(void)
{
    cpu_set_t all, one;
    size_t cpu = 0;

    CPU_ZERO(&all);
    CPU_ZERO(&one);
    if (sched_getaffinity(0, sizeof all, &all) == 0)
        while (!CPU_ISSET(cpu, &all))
            cpu++;
    CPU_SET(cpu, &one);
    ok(cores_processors() >= 1 && cores_processors() <= CPU_COUNT(&all) &&
           sched_setaffinity(0, sizeof one, &one) == 0 &&
           cores_processors() == 1,
       "only processors that may be used are counted");
}

int main(void)
{
    struct err e = { 0 };

    if (!mkdtemp(folder))
        return 1;
    test_hyper_threads();
    test_quotas();
    test_memory();
    test_intel();
    test_arm();
    test_nodes();
    test_gaps();
    test_broken();
    ok(cores_of_rank(1, false) >= 1 && cores_of_rank(1000, true) == 1,
       "more ranks than cores have one thread each");
    test_affinity();
    if (path_remove(folder, &e) < 0)
        diag("%s", e.text);
    return done_testing();
}
