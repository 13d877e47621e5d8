#include "config.h"
#include "trainer/training/nvml.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#include "common/dl.h"
#include "common/mem.h"

/* The few prototypes that are used, as nvml.h declares them; each returns 0,
 * or why not. */
struct api {
    int (*init)(void);
    int (*shutdown)(void);
    int (*by_address)(const char *, void **device);
    int (*utilisation)(void *, unsigned out[2]);
    int (*memory)(void *, unsigned long long out[3]);
    int (*power)(void *, unsigned *milliwatts);
    int (*energy)(void *, unsigned long long *millijoules);
    int (*temperature)(void *, int sensor, unsigned *);
    int (*clock)(void *, int which, unsigned *);
    int (*throttled)(void *, unsigned long long *reasons);
};

enum { SENSOR_GPU = 0, CLOCK_SM = 1, CLOCK_MEMORY = 2, SLOW = 5 };

#define SYMBOL(name, member) { "nvml" name, offsetof(struct api, member) }

static const struct dl_symbol symbols[] = {
    SYMBOL("Init_v2", init),
    SYMBOL("Shutdown", shutdown),
    SYMBOL("DeviceGetHandleByPciBusId_v2", by_address),
    SYMBOL("DeviceGetUtilizationRates", utilisation),
    SYMBOL("DeviceGetMemoryInfo", memory),
    SYMBOL("DeviceGetPowerUsage", power),
    SYMBOL("DeviceGetTotalEnergyConsumption", energy),
    SYMBOL("DeviceGetTemperature", temperature),
    SYMBOL("DeviceGetClockInfo", clock),
    SYMBOL("DeviceGetCurrentClocksEventReasons "
           "nvmlDeviceGetCurrentClocksThrottleReasons", throttled),
    { NULL, 0 }
};

struct nvml {
    struct api api;
    void *device;
    double first_energy;
    unsigned reads;
    struct nvml_reading slow;           /* the last of what changes slowly */
};

static double read_energy(struct nvml *n)
{
    unsigned long long millijoules;

    return n->api.energy(n->device, &millijoules) == 0
               ? (double)millijoules / 1e3
               : (double)NAN;
}

struct nvml *nvml_open(const char *pci_address)
{
    struct nvml *n = xcalloc(1, sizeof *n);
    struct err e = ERR_INIT;

    if (dl_load(&n->api, symbols, "libnvidia-ml.so.1", &e) == 0 &&
        n->api.init() == 0) {
        if (n->api.by_address(pci_address, &n->device) == 0) {
            n->first_energy = read_energy(n);
            return n;
        }
        n->api.shutdown();
    }
    free(n);
    return NULL;
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

static void read_slow(struct nvml *n, struct nvml_reading *r)
{
    unsigned degrees;
    unsigned long long reasons;

    r->temperature =
        n->api.temperature(n->device, SENSOR_GPU, &degrees) == 0
            ? degrees
            : (double)NAN;
    r->clock = read_clock(n, CLOCK_SM);
    r->memory_clock = read_clock(n, CLOCK_MEMORY);
    r->throttled = n->api.throttled(n->device, &reasons) == 0
                       ? (double)reasons
                       : (double)NAN;
}

bool nvml_read(struct nvml *n, struct nvml_reading *r)
{
    unsigned util[2], milliwatts;
    unsigned long long memory[3];       /* in all, free, used */

    if (!n)
        return false;
    if (n->reads++ % SLOW == 0)
        read_slow(n, &n->slow);
    *r = n->slow;
    r->utilisation = n->api.utilisation(n->device, util) == 0 ? util[0]
                                                              : (double)NAN;
    r->memory = n->api.memory(n->device, memory) == 0 ? (double)memory[2]
                                                      : (double)NAN;
    r->power = n->api.power(n->device, &milliwatts) == 0 ? milliwatts / 1e3
                                                         : (double)NAN;
    r->energy = read_energy(n) - n->first_energy;
    return true;
}
