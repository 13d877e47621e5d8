#include "config.h"
#include "trainer/training/meter.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/machine/limits.h"
#include "common/mem.h"
#include "common/num.h"
#include "trainer/device/hardware.h"

/* ---- readings --------------------------------------------------------- */

/* Those of a GPU follow, see nvml_names. */
static const char *const names[METER_GPU] = {
    [METER_CPU_UTIL] = "cpu_util",
    [METER_RSS] = "rss_bytes",
    [METER_ALLOCATED] = "mem_allocated_bytes",
    [METER_RESERVED] = "mem_reserved_bytes",
    [METER_PEAK] = "mem_peak_bytes",
};

/* "system/NAME", or "system/WHOSE/NAME" */
static void name_value(char *out, size_t room, const char *whose, int i)
{
    if (i < METER_USES)
        snprintf(out, room, "system/%s%s", whose,
                 i < METER_GPU ? names[i] : nvml_names[i - METER_GPU]);
    else
        snprintf(out, room, "system/%smem_%s_bytes", whose,
                 dev_use_names[i - METER_USES]);
}

/* `whose` ends with a slash, unless it is empty. */
static void store_reading(struct meter *m, const char *whose,
                          const struct meter_reading *r)
{
    char name[64];

    for (int i = 0; i < METER_VALUES; i++) {
        const struct run_point p = { name, r->value[i] };

        if (!m->run || isnan(p.value))
            continue;
        name_value(name, sizeof name, whose, i);
        run_metrics_ago(m->run, (int64_t)r->step, r->age, &p, 1);
    }
}

/* The least, the mean and the largest of the values that are numbers. */
static void summarise_value(struct meter_reading s[3], int i,
                            const struct meter_reading *r, int64_t stride,
                            int n)
{
    double least = INFINITY, most = -INFINITY, sum = 0;
    int count = 0;

    for (int k = 0; k < n; k++) {
        const double x = r[k * stride].value[i];

        if (isnan(r[k * stride].age) || isnan(x))
            continue;
        least = fmin(least, x);
        most = fmax(most, x);
        sum += x;
        count++;
    }
    s[0].value[i] = count ? least : (double)NAN;
    s[1].value[i] = count ? sum / count : (double)NAN;
    s[2].value[i] = count ? most : (double)NAN;
}

/* Summarise n readings, `stride` apart, at the step and time of the first one
 * that exists. */
static void store_summary(struct meter *m, const struct meter_reading *r,
                          int64_t stride, int n)
{
    struct meter_reading s[3];
    int first = 0;

    while (first < n && isnan(r[first * stride].age))
        first++;
    if (first == n)
        return;
    s[0] = s[1] = s[2] = r[first * stride];
    for (int i = 0; i < METER_VALUES; i++)
        summarise_value(s, i, r, stride, n);
    store_reading(m, "min/", &s[0]);
    store_reading(m, "mean/", &s[1]);
    store_reading(m, "max/", &s[2]);
}

void meter_store(struct meter *m, int ranks, const struct meter_reading *r,
                 int64_t each)
{
    char whose[16];

    if (ranks > METER_RANKS) {
        for (int64_t i = 0; i < each; i++)
            store_summary(m, r + each + i, each, ranks - 1);
        return;
    }
    for (int64_t i = each; i < ranks * each; i++) {
        snprintf(whose, sizeof whose, "%d/", (int)(i / each));
        if (!isnan(r[i].age))
            store_reading(m, whose, &r[i]);
    }
}

/* Clocks at the last reading. */
struct meter_clocks {
    double wall, cpu;
};

static void read_all(struct meter *m, struct meter_clocks *last,
                     double value[METER_VALUES])
{
    const double wall = clock_mono(), cpu = usage_cpu_seconds();
    const double cores = (double)sysconf(_SC_NPROCESSORS_ONLN);
    struct dev_memory memory;

    for (int i = 0; i < METER_VALUES; i++)
        value[i] = (double)NAN;
    pthread_mutex_lock(&m->lock);
    memory = m->memory;
    pthread_mutex_unlock(&m->lock);
    usage_memory(&value[METER_RSS], &value[METER_RESERVED]);
    value[METER_ALLOCATED] = (double)memory.allocated;
    value[METER_PEAK] = (double)memory.peak;
    if (memory.total) /* that of a GPU, not of the process */
        value[METER_RESERVED] = (double)memory.reserved;
    for (int i = 0; i < DEV_USES; i++)
        if (memory.of[i].most > 0)
            value[METER_USES + i] = (double)memory.of[i].now;
    if (wall - last->wall > 1e-3)
        value[METER_CPU_UTIL] =
            100 * (cpu - last->cpu) / (wall - last->wall) / cores;
    nvml_read(m->nvml, value + METER_GPU);
    *last = (struct meter_clocks){ wall, cpu };
}

static void keep_reading(struct meter *m, const struct meter_reading *r)
{
    pthread_mutex_lock(&m->lock);
    if (m->n_kept == METER_KEPT) {
        m->n_kept /= 2;
        for (int i = 0; i < m->n_kept; i++)
            m->kept[i] = m->kept[2 * i + 1];
    }
    m->kept[m->n_kept] = *r;
    m->kept[m->n_kept++].age = clock_mono();
    pthread_mutex_unlock(&m->lock);
}

int meter_take(struct meter *m, struct meter_reading *out)
{
    const double now = clock_mono();
    int n;

    if (!m->kept)
        return 0;
    pthread_mutex_lock(&m->lock);
    n = m->n_kept;
    memcpy(out, m->kept, (size_t)n * sizeof *out);
    m->n_kept = 0;
    pthread_mutex_unlock(&m->lock);
    for (int i = 0; i < n; i++)
        out[i].age = now - out[i].age;
    return n;
}

/* Ranks take their first reading before the first step and the last one after
 * the last step, so that their curves begin and end together. */
static void *run_meter(void *arg)
{
    struct meter *m = arg;
    struct meter_clocks last = { clock_mono(), usage_cpu_seconds() };
    struct meter_reading r = { 0 };

    for (bool stop = false;;
         stop = clock_wait(&m->lock, &m->wake, &m->stop, m->every)) {
        r.step = (double)atomic_load(&m->step);
        read_all(m, &last, r.value);
        if (m->run)
            store_reading(m, "", &r);
        else
            keep_reading(m, &r);
        if (stop)
            return NULL;
    }
}

/* ---- the meter -------------------------------------------------------- */

void meter_open(struct meter *m, struct engine *eng, struct run *run)
{
    const struct graph *g = &eng->gpt.graph;

    memset(m, 0, sizeof *m);
    m->run = run;
    m->every = eng->set->run.system_every;
    m->dev = &eng->dev;
    m->memory = eng->dev.memory;
    atomic_store(&m->step, eng->state.step);
    m->flops_per_token = gpt_flops_per_token(&eng->gpt);
    m->type = g->type;
    m->ranks = eng->coll.size;
    m->peak_flops = eng->set->plan.peak_tflops * 1e12;
    if (m->peak_flops <= 0 && eng->dev.type->peak)
        m->peak_flops = eng->dev.type->peak(&eng->dev, g->type);
    m->measured = m->peak_flops <= 0 && run;
    if (m->measured)
        m->peak_flops = measure_large_product(&eng->dev, g->type);
    m->peak_flops *= m->ranks;
    m->nvml = eng->dev.address[0] ? nvml_open(eng->dev.address, 0) : NULL;
    nvml_warn(m->nvml, eng->dev.address);
    pthread_mutex_init(&m->lock, NULL);
    clock_cond(&m->wake);
    if (!run)
        m->kept = xcalloc(METER_KEPT, sizeof *m->kept);
    m->running = (run || eng->coll.rank > 0) && m->every > 0 &&
                 pthread_create(&m->thread, NULL, run_meter, m) == 0;
}

void meter_step(struct meter *m, int64_t step)
{
    atomic_store(&m->step, step);
    if (!m->dev)
        return;
    pthread_mutex_lock(&m->lock);
    m->memory = m->dev->memory;
    pthread_mutex_unlock(&m->lock);
}

void meter_stop(struct meter *m)
{
    if (!m->running)
        return;
    pthread_mutex_lock(&m->lock);
    m->stop = true;
    pthread_cond_signal(&m->wake);
    pthread_mutex_unlock(&m->lock);
    pthread_join(m->thread, NULL);
    m->running = false;
}

void meter_close(struct meter *m)
{
    meter_stop(m);
    nvml_close(m->nvml);
    m->nvml = NULL;
    free(m->kept);
    m->kept = NULL;
}

void meter_correct_peak(struct meter *m, double rate)
{
    char before[NUM_TEXT], now[NUM_TEXT];

    if (!m->measured || !(meter_mfu(m, rate) > 1))
        return;
    num_short(before, m->peak_flops);
    m->peak_flops = fmax(rate * m->flops_per_token,
                         measure_large_product(m->dev, m->type) * m->ranks);
    log_info("peak %s FLOP/s instead of %s, which a step has exceeded",
             num_short(now, m->peak_flops), before);
}

double meter_mfu(const struct meter *m, double rate)
{
    return m->peak_flops > 0 ? rate * m->flops_per_token / m->peak_flops
                             : (double)NAN;
}
