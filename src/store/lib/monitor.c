#include "config.h"
#include "store/lib/monitor.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/machine/nvml.h"
#include "common/machine/usage.h"

enum { MOST_GPUS = 16 };

struct monitor {
    struct run *run;
    const atomic_llong *step;
    double every;
    double wall, cpu; /* at the last reading */
    struct nvml *gpu[MOST_GPUS];
    int n_gpus;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop; /* under the lock */
};

/* ---- readings --------------------------------------------------------- */

/* The bytes that all interfaces except lo have received and sent. */
static void read_network(double *received, double *sent)
{
    char line[512], name[64];
    FILE *fp = fopen("/proc/net/dev", "re");
    double in, out;

    *received = *sent = fp ? 0 : (double)NAN;
    while (fp && fgets(line, sizeof line, fp)) {
        if (sscanf(line, " %63[^:]: %lf %*f %*f %*f %*f %*f %*f %*f %lf", name,
                   &in, &out) != 3 ||
            strcmp(name, "lo") == 0)
            continue;
        *received += in;
        *sent += out;
    }
    if (fp)
        fclose(fp);
}

static void store_value(const struct monitor *m, int gpu, const char *name,
                        double value)
{
    char key[64], number[16] = "";

    if (isnan(value))
        return;
    if (gpu > 0)
        snprintf(number, sizeof number, "%d/", gpu);
    snprintf(key, sizeof key, "system/%s%s", number, name);
    run_metric(m->run, key, atomic_load(m->step), value);
}

static void read_process(struct monitor *m)
{
    const double wall = clock_mono(), cpu = usage_cpu_seconds();
    const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    double resident, reserved, in, out;

    store_value(m, 0, "cpu_util",
                100 * (cpu - m->cpu) / (wall - m->wall) / cores);
    m->wall = wall;
    m->cpu = cpu;
    usage_memory(&resident, &reserved);
    store_value(m, 0, "rss_bytes", resident);
    usage_disk(&in, &out);
    store_value(m, 0, "disk_read_bytes", in);
    store_value(m, 0, "disk_written_bytes", out);
    read_network(&in, &out);
    store_value(m, 0, "net_received_bytes", in);
    store_value(m, 0, "net_sent_bytes", out);
}

static void read_gpu(const struct monitor *m, int gpu)
{
    double value[NVML_VALUES];

    for (int i = 0; i < NVML_VALUES; i++)
        value[i] = (double)NAN;
    nvml_read(m->gpu[gpu], value);
    for (int i = 0; i < NVML_VALUES; i++)
        store_value(m, gpu, nvml_names[i], value[i]);
}

/* ---- the thread ------------------------------------------------------- */

static void open_gpus(struct monitor *m)
{
    while (m->n_gpus < MOST_GPUS &&
           (m->gpu[m->n_gpus] = nvml_open(NULL, (unsigned)m->n_gpus)))
        m->n_gpus++;
}

/* GPUs are opened here, as NVML may take a second to start. */
static void *run_monitor(void *arg)
{
    struct monitor *m = arg;
    bool opened = false;

    while (!clock_wait(&m->lock, &m->wake, &m->stop, m->every)) {
        if (!opened)
            open_gpus(m);
        opened = true;
        read_process(m);
        for (int i = 0; i < m->n_gpus; i++)
            read_gpu(m, i);
    }
    return NULL;
}

static void free_monitor(struct monitor *m)
{
    for (int i = 0; i < m->n_gpus; i++)
        nvml_close(m->gpu[i]);
    pthread_cond_destroy(&m->wake);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

struct monitor *monitor_start(struct run *run, double every,
                              const atomic_llong *step)
{
    struct monitor *m = xcalloc(1, sizeof *m);

    m->run = run;
    m->step = step;
    m->every = every;
    m->wall = clock_mono();
    m->cpu = usage_cpu_seconds();
    pthread_mutex_init(&m->lock, NULL);
    clock_cond(&m->wake);
    if (pthread_create(&m->thread, NULL, run_monitor, m) == 0)
        return m;
    free_monitor(m);
    return NULL;
}

void monitor_stop(struct monitor *m)
{
    if (!m)
        return;
    pthread_mutex_lock(&m->lock);
    m->stop = true;
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    free_monitor(m);
}
