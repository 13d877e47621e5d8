/*
 * cores - processors, hyper-threads and quotas of planted machines
 */
#include "config.h"
#include "kernels/cores.h"

#include "common/err.h"
#include "common/path.h"
#include "t/lib/tap.h"

#include <stdlib.h>
#include <string.h>

static char root[] = "/tmp/cores-XXXXXX";

/* Write a file of the planted machine. */
static void plant(const char *path, const char *text)
{
    char whole[512];
    struct err e = ERR_INIT;
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

static int count(int from, int to)
{
    cpu_set_t set;

    CPU_ZERO(&set);
    for (int i = from; i <= to; i++)
        CPU_SET((size_t)i, &set);
    return cores_count(root, &set);
}

int main(void)
{
    struct err e = ERR_INIT;

    if (!mkdtemp(root))
        return 1;
    ok(count(0, 7) == 8,
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
    plant("/proc/self/cgroup", "0::/box/inner");
    plant("/sys/fs/cgroup/box/inner/cpu.max", "max 100000");
    ok(count(0, 3) == 4, "a control group without a quota limits nothing");
    plant("/sys/fs/cgroup/box/cpu.max", "150000 100000");
    ok(count(0, 3) == 2, "the quota of an outer control group is rounded up");
    plant("/sys/fs/cgroup/cpu.max", "1000 100000");
    ok(count(0, 3) == 1, "a quota below one processor leaves one thread");
    plant("/sys/fs/cgroup/cpu.max", "0 0");
    ok(count(0, 3) == 2, "a quota of nothing is ignored");
    ok(cores_of_rank(1, false) >= 1 && cores_of_rank(1000, true) == 1,
       "more ranks than cores have one thread each");
    if (path_remove(root, &e) < 0)
        diag("%s", e.text);
    return done_testing();
}
