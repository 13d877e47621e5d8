#include "config.h"
#include "common/machine/nvml.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/dl.h"
#include "common/mem.h"

const char *const nvml_names[NVML_VALUES] = {
    [NVML_UTILISATION] = "gpu_util",
    [NVML_MEMORY] = "gpu_mem_bytes",
    [NVML_POWER] = "gpu_power_w",
    [NVML_ENERGY] = "gpu_energy_j",
    [NVML_TEMPERATURE] = "gpu_temp_c",
    [NVML_CLOCK] = "gpu_clock_mhz",
    [NVML_MEMORY_CLOCK] = "gpu_mem_clock_mhz",
    [NVML_THROTTLED] = "gpu_throttled",
};

/* The calls that are used, as nvml.h declares them.  Each returns 0, or an
 * error code. */
struct nvml_calls {
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_address)(const char *, void **device);
    int (*by_number)(unsigned, void **device);
    int (*utilisation)(void *, unsigned out[2]);
    int (*memory)(void *, unsigned long long out[3]);
    int (*power)(void *, unsigned *milliwatts);
    int (*energy)(void *, unsigned long long *millijoules);
    int (*temperature)(void *, int sensor, unsigned *);
    int (*clock)(void *, int which, unsigned *);
    int (*throttled)(void *, unsigned long long *reasons);
};

enum { SENSOR_GPU = 0, CLOCK_SM = 1, CLOCK_MEMORY = 2, SLOW_EVERY = 5 };

/* clang-format off */
#define SYMBOL(name, member) \
    { "nvml" name, offsetof(struct nvml_calls, member) }
/* clang-format on */

static const struct dl_symbol symbols[] = {
    SYMBOL("Init_v2", init),
    SYMBOL("Shutdown", shutdown),
    SYMBOL("DeviceGetHandleByPciBusId_v2", by_address),
    SYMBOL("DeviceGetHandleByIndex_v2", by_number),
    SYMBOL("DeviceGetUtilizationRates", utilisation),
    SYMBOL("DeviceGetMemoryInfo", memory),
    SYMBOL("DeviceGetPowerUsage", power),
    SYMBOL("DeviceGetTotalEnergyConsumption", energy),
    SYMBOL("DeviceGetTemperature", temperature),
    SYMBOL("DeviceGetClockInfo", clock),
    SYMBOL("DeviceGetCurrentClocksEventReasons "
           "nvmlDeviceGetCurrentClocksThrottleReasons",
           throttled),
    { NULL, 0 }
};

struct nvml {
    struct nvml_calls api;
    void *device;
    double first_energy;
    unsigned reads;
    double latest[NVML_VALUES];
};

static double read_energy(struct nvml *n)
{
    unsigned long long millijoules;

    return n->api.energy(n->device, &millijoules) == 0
               ? (double)millijoules / 1e3
               : (double)NAN;
}

/* Without an address, the number counts. */
static struct nvml *open_gpu(const char *pci_address, unsigned number)
{
    struct nvml *n = xcalloc(1, sizeof *n);
    struct err e = { 0 };

    if (dl_load(&n->api, symbols, "libnvidia-ml.so.1", &e) == 0 &&
        n->api.init() == 0) {
        if ((pci_address ? n->api.by_address(pci_address, &n->device)
                         : n->api.by_number(number, &n->device)) == 0) {
            n->first_energy = read_energy(n);
            return n;
        }
        n->api.shutdown();
    }
    free(n);
    return NULL;
}

struct nvml *nvml_open(const char *pci_address)
{
    return open_gpu(pci_address, 0);
}

struct nvml *nvml_open_number(unsigned number)
{
    return open_gpu(NULL, number);
}

void nvml_close(struct nvml *n)
{
    if (n)
        n->api.shutdown();
    free(n);
}

static double read_clock(struct nvml *n, int which)
{
    unsigned mhz;

    return n->api.clock(n->device, which, &mhz) == 0 ? mhz : (double)NAN;
}

static void read_slow_values(struct nvml *n, double *value)
{
    unsigned degrees;
    unsigned long long reasons;

    value[NVML_TEMPERATURE] =
        n->api.temperature(n->device, SENSOR_GPU, &degrees) == 0 ? degrees
                                                                 : (double)NAN;
    value[NVML_CLOCK] = read_clock(n, CLOCK_SM);
    value[NVML_MEMORY_CLOCK] = read_clock(n, CLOCK_MEMORY);
    value[NVML_THROTTLED] = n->api.throttled(n->device, &reasons) == 0
                                ? (double)reasons
                                : (double)NAN;
}

bool nvml_read(struct nvml *n, double value[NVML_VALUES])
{
    unsigned util[2], milliwatts;
    unsigned long long memory[3]; /* total, free, used */
    double *v;

    if (!n)
        return false;
    v = n->latest;
    if (n->reads++ % SLOW_EVERY == 0)
        read_slow_values(n, v);
    v[NVML_UTILISATION] =
        n->api.utilisation(n->device, util) == 0 ? util[0] : (double)NAN;
    v[NVML_MEMORY] =
        n->api.memory(n->device, memory) == 0 ? (double)memory[2] : (double)NAN;
    v[NVML_POWER] = n->api.power(n->device, &milliwatts) == 0 ? milliwatts / 1e3
                                                              : (double)NAN;
    v[NVML_ENERGY] = read_energy(n) - n->first_energy;
    memcpy(value, v, sizeof n->latest);
    return true;
}
