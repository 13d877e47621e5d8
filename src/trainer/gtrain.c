/*
 * gtrain - train and use language models
 */
#include "config.h"

#include <jansson.h>
#include <omp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/conf.h"
#include "common/machine/cores.h"
#include "common/mem.h"
#include "common/program.h"
#include "kernels/dev.h"
#include "trainer/settings/settings.h"

/* Print each type of device and its libraries, or why there is none. */
static void describe_devices(void)
{
    for (int i = 0; dev_types[i]; i++) {
        const struct dev_type *type = dev_types[i];
        AUTO(dev_close) struct dev dev = { 0 };
        struct err e = { 0 };
        char text[256];

        if (dev_open(&dev, type->name, &e) < 0) {
            printf("%s: %s\n", type->name, e.text);
            continue;
        }
        printf("%s: %s\n", type->name, type->describe(&dev, text, sizeof text));
    }
}

/* For the completion of --set. */
static void dump_settings(void)
{
    for (const struct setting *s = settings_table; s->key; s++) {
        printf("\t\t\t%s\t%s\t", s->key, s->help);
        for (int i = 0; s->words && s->words[i]; i++)
            printf("%s%s", i ? "|" : "", s->words[i]);
        putchar('\n');
    }
}

static const struct program program = {
    .name = "gtrain",
    .summary = "Train language models on CPUs and GPUs.",
    .cmds = program_cmds,
    .bare = "train",
    .file = "config",
    .describe = describe_devices,
    .dump = dump_settings,
};

/*
 * In GNU's OpenMP, waiting threads spin for some ten milliseconds.  On a
 * machine with other load, that takes time from the thread they wait for: two
 * threads then train several times slower than one.  A tenth of a millisecond
 * is long enough for the gaps of a step.
 */
static bool shorten_spinning(void)
{
    return !getenv("OMP_WAIT_POLICY") && !getenv("GOMP_SPINCOUNT") &&
           setenv("GOMP_SPINCOUNT", "2000", 1) == 0;
}

/*
 * The OpenMP library reads its variables before main(), so the program has to
 * start again with others.  The places of threads are then unset, because
 * programs that this one starts may run elsewhere, as batch jobs do.
 */
static void set_up_openmp(char **argv)
{
    static const char mark[] = "GTRAIN_PLACED";
    char path[4096];
    bool spinning, placed;
    ssize_t n;

    if (getenv(mark)) {
        unsetenv(mark);
        unsetenv("OMP_PLACES");
        unsetenv("OMP_PROC_BIND");
        return;
    }
    n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return;
    path[n] = '\0';
    spinning = shorten_spinning();
    placed = cores_place(0, 1);
    if (placed)
        setenv(mark, "1", 1);
    if (spinning || placed)
        execv(path, argv);
}

/*
 * With OMP_PROC_BIND, the library has bound this thread to one processor before
 * main(), so that one processor is all that is counted, and all that child
 * processes get.  Bind it to all of them; the threads of a team stay bound.
 */
static void widen_affinity(void)
{
    cpu_set_t set;
    int ids[CPU_SETSIZE];

    CPU_ZERO(&set);
    for (int place = 0; place < omp_get_num_places(); place++) {
        const int n = omp_get_place_num_procs(place);

        if (n > CPU_SETSIZE)
            return;
        omp_get_place_proc_ids(place, ids);
        for (int i = 0; i < n; i++)
            CPU_SET((size_t)ids[i], &set);
    }
    if (CPU_COUNT(&set) > 0)
        sched_setaffinity(0, sizeof set, &set);
}

int main(int argc, char **argv)
{
    widen_affinity();
    set_up_openmp(argv);
    json_set_alloc_funcs(xmalloc, free);
    return program_main(&program, argc, argv);
}
