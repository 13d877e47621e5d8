/*
 * cores - how many threads a computation of this process should have, and where
 */
#include "config.h"
#include "common/machine/cores.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/machine/limits.h"
#include "common/mem.h"

/* Parse a list such as "0-3,8"; false, and an empty set, if it is none. */
static bool parse_list(cpu_set_t *set, const char *list)
{
    CPU_ZERO(set);
    while (*list) {
        char *end;
        const long from = strtol(list, &end, 10);
        const long to = *end == '-' ? strtol(end + 1, &end, 10) : from;

        if (end == list || from < 0 || to >= CPU_SETSIZE ||
            (*end && *end != ',')) {
            CPU_ZERO(set);
            return false;
        }
        for (long i = from; i <= to; i++)
            CPU_SET((size_t)i, set);
        list = end + (*end == ',');
    }
    return true;
}

/* Read the list in a file; the set is empty if there is none. */
static void read_list(cpu_set_t *set, const char *root, const char *path)
{
    char list[4096]; /* a file in /sys has no more */

    parse_list(set, limits_line(list, sizeof list, root, path));
}

/* ---- cores ------------------------------------------------------------- */

/* Whether a processor is the first of its core that may be used. */
static bool is_core(const char *root, int cpu, const cpu_set_t *allowed)
{
    char path[96];
    cpu_set_t siblings;

    snprintf(path, sizeof path,
             "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list",
             cpu);
    read_list(&siblings, root, path);
    for (int i = 0; i < cpu; i++)
        if (CPU_ISSET((size_t)i, &siblings) && CPU_ISSET((size_t)i, allowed))
            return false;
    return true;
}

/* The kernel's capacity of the fastest core. */
enum { FULL_SPEED = 1024 };

/* With hyper-threads, Linux tells no capacities of Intel's cores. */
static int read_speed(const char *root, int cpu, const cpu_set_t *efficient)
{
    char path[64], text[32];
    int speed;

    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/cpu_capacity",
             cpu);
    if (sscanf(limits_line(text, sizeof text, root, path), "%d", &speed) == 1 &&
        speed > 0 && speed < FULL_SPEED)
        return speed;
    return CPU_ISSET((size_t)cpu, efficient) ? FULL_SPEED / 2 : FULL_SPEED;
}

/* Read the first processor of each core that may be used. */
static void read_cores(struct cores *c, const char *root,
                       const cpu_set_t *allowed, cpu_set_t *first)
{
    int speed[CPU_SETSIZE], best = 0, slow = FULL_SPEED, slowest = FULL_SPEED;
    cpu_set_t efficient;

    CPU_ZERO(first);
    read_list(&efficient, root, "/sys/devices/cpu_atom/cpus");
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET((size_t)cpu, allowed) || !is_core(root, cpu, allowed))
            continue;
        CPU_SET((size_t)cpu, first);
        speed[c->n] = read_speed(root, cpu, &efficient);
        best = speed[c->n] > best ? speed[c->n] : best;
        c->n++;
    }
    for (int i = 0; i < c->n; i++) {
        const bool fast = 4 * speed[i] >= 3 * best;

        c->fast += fast;
        slow = fast && speed[i] < slow ? speed[i] : slow;
        slowest = speed[i] < slowest ? speed[i] : slowest;
    }
    c->threads = c->n * slowest > c->fast * slow ? c->n : c->fast;
}

/* ---- nodes ------------------------------------------------------------- */

/* False if the nodes are unknown: not every core is on one of them. */
static bool read_nodes(struct cores *c, const char *root,
                       const cpu_set_t *allowed, const cpu_set_t *first)
{
    int n = 0;
    cpu_set_t ids, cores;

    read_list(&ids, root, "/sys/devices/system/node/has_cpu");
    for (int id = 0; id < CPU_SETSIZE && c->nodes < CORES_NODES; id++) {
        struct cores_node *node = &c->node[c->nodes];
        char path[64];

        if (!CPU_ISSET((size_t)id, &ids))
            continue;
        snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist",
                 id);
        read_list(&node->cpus, root, path);
        CPU_AND(&node->cpus, &node->cpus, allowed);
        CPU_AND(&cores, &node->cpus, first);
        node->cores = CPU_COUNT(&cores);
        c->nodes += node->cores > 0;
        n += node->cores;
    }
    return n > 0 && n == c->n;
}

/* At most `most`, and at least 1: the quota of processor time, rounded up. */
static int limit_threads(const char *root, int most)
{
    const double n = ceil(limits_processors(root));

    most = n < most ? (int)n : most;
    return most > 0 ? most : 1;
}

/* ---- all of it --------------------------------------------------------- */

void cores_read(struct cores *c, const char *root, const cpu_set_t *allowed)
{
    cpu_set_t first;

    *c = (struct cores){ .cpus = CPU_COUNT(allowed) };
    read_cores(c, root, allowed, &first);
    if (!read_nodes(c, root, allowed, &first)) {
        c->nodes = 1;
        c->node[0] = (struct cores_node){ .cpus = *allowed, .cores = c->n };
    }
    c->threads = limit_threads(root, c->threads);
}

static void read_affinity(cpu_set_t *allowed)
{
    CPU_ZERO(allowed);
    sched_getaffinity(0, sizeof *allowed, allowed);
}

void cores_read_own(struct cores *c)
{
    cpu_set_t allowed;

    read_affinity(&allowed);
    cores_read(c, "", &allowed);
}

int cores_processors(void)
{
    cpu_set_t allowed;

    read_affinity(&allowed);
    return limit_threads("", CPU_COUNT(&allowed));
}

int cores_of_rank(int local_ranks, bool shared)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    struct cores c;

    cores_read_own(&c);
    if (local_ranks < 2 || (!shared && (long)c.cpus * local_ranks <= online))
        return c.threads;
    return c.threads > local_ranks ? c.threads / local_ranks : 1;
}

/* Append a place: "{0:8,64:8}", each a processor and how many follow. */
static void add_place(struct buf *out, const cpu_set_t *cpus)
{
    char before = '{';

    if (out->len > 0)
        buf_char(out, ',');
    for (size_t cpu = 0, end; cpu < CPU_SETSIZE; cpu = end + 1) {
        for (end = cpu; end < CPU_SETSIZE && CPU_ISSET(end, cpus);)
            end++;
        if (end == cpu)
            continue;
        buf_printf(out, "%c%zu:%zu", before, cpu, end - cpu);
        before = ',';
    }
    buf_char(out, '}');
}

bool cores_places(const struct cores *c, int rank, int ranks, struct buf *out)
{
    const int each = c->n / c->nodes;
    const int from = c->n * rank / ranks, to = c->n * (rank + 1) / ranks;

    if (c->nodes < 2 || c->threads < c->n || c->n < ranks)
        return false;
    for (int i = 0; i < c->nodes; i++)
        if (c->node[i].cores != each)
            return false;
    for (int i = from / each; i * each < to; i++)
        add_place(out, &c->node[i].cpus);
    return true;
}

bool cores_place(int rank, int ranks)
{
    AUTO(buf_clear) struct buf places = BUF_INIT;
    struct cores c;
    bool placed;

    if (getenv("OMP_PLACES") || getenv("OMP_PROC_BIND"))
        return false;
    cores_read_own(&c);
    placed = cores_places(&c, rank, ranks, &places);
    if (placed) {
        setenv("OMP_PLACES", places.s, 1);
        setenv("OMP_PROC_BIND", "spread", 1);
    }
    if (placed && ranks > 1) {
        char threads[16];

        snprintf(threads, sizeof threads, "%d", c.threads / ranks);
        setenv("OMP_NUM_THREADS", threads, 0);
    }
    return placed;
}

void cores_describe(const struct cores *c, char *out, size_t room)
{
    char kinds[64] = "", nodes[32] = "";

    if (c->fast < c->n)
        snprintf(kinds, sizeof kinds, ", %d fast and %d slow cores", c->fast,
                 c->n - c->fast);
    if (c->nodes > 1)
        snprintf(nodes, sizeof nodes, ", %d NUMA nodes", c->nodes);
    snprintf(out, room, "%s%s", kinds, nodes);
}

/* ---- threads ------------------------------------------------------------- */

struct thread {
    pthread_t id;
    bool started;
    void (*work)(void *);
    void *part;
};

static void *run(void *arg)
{
    const struct thread *t = arg;

    t->work(t->part);
    return NULL;
}

void threads_run(void (*work)(void *), void *part, size_t size, int n)
{
    AUTO_FREE struct thread *thread = xcalloc((size_t)n, sizeof *thread);

    for (int i = 0; i < n; i++) {
        struct thread *t = &thread[i];

        t->work = work;
        t->part = (char *)part + (size_t)i * size;
        t->started = i > 0 && pthread_create(&t->id, NULL, run, t) == 0;
    }
    for (int i = 0; i < n; i++) {
        if (thread[i].started)
            pthread_join(thread[i].id, NULL);
        else
            run(&thread[i]);
    }
}

int threads_start(pthread_t *thread, void *(*work)(void *), void *arg)
{
    sigset_t all, was;
    int ret;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &was);
    ret = pthread_create(thread, NULL, work, arg);
    pthread_sigmask(SIG_SETMASK, &was, NULL);
    return ret;
}
