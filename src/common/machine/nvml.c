#include "config.h"
#include "common/machine/nvml.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "common/dl.h"
#include "common/log.h"
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
 * error code; what reads a device is NULL if a library does not have it. */
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
    int (*memory_errors)(void *, int type, int since, unsigned long long *);
    int (*remapped_rows)(void *, unsigned *corrected, unsigned *uncorrected,
                         unsigned *pending, unsigned *failed);
};

enum { SENSOR_GPU = 0, CLOCK_SM = 1, CLOCK_MEMORY = 2, SLOW_EVERY = 5 };
enum { UNCORRECTED = 1, SINCE_START = 0 };

/* clang-format off */
#define SYMBOL(name, member) \
    { "nvml" name, offsetof(struct nvml_calls, member) }
/* clang-format on */

static const struct dl_symbol symbols[] = {
    SYMBOL("Init_v2", init),
    SYMBOL("Shutdown", shutdown),
    SYMBOL("DeviceGetHandleByPciBusId_v2", by_address),
    SYMBOL("DeviceGetHandleByIndex_v2", by_number),
    SYMBOL("DeviceGetUtilizationRates ?", utilisation),
    SYMBOL("DeviceGetMemoryInfo ?", memory),
    SYMBOL("DeviceGetPowerUsage ?", power),
    SYMBOL("DeviceGetTotalEnergyConsumption ?", energy),
    SYMBOL("DeviceGetTemperature ?", temperature),
    SYMBOL("DeviceGetClockInfo ?", clock),
    SYMBOL("DeviceGetCurrentClocksEventReasons "
           "nvmlDeviceGetCurrentClocksThrottleReasons ?",
           throttled),
    SYMBOL("DeviceGetTotalEccErrors ?", memory_errors),
    SYMBOL("DeviceGetRemappedRows ?", remapped_rows),
    { NULL, 0 }
};

struct nvml {
    struct nvml_calls api;
    void *device;
    double first_energy;
    unsigned reads;
    double latest[NVML_VALUES];
};

/* Has a call that reads the device been made? */
#define READ(n, call, ...)                                                     \
    ((n)->api.call && (n)->api.call((n)->device, __VA_ARGS__) == 0)

static double read_energy(struct nvml *n)
{
    unsigned long long millijoules;

    return READ(n, energy, &millijoules) ? (double)millijoules / 1e3
                                         : (double)NAN;
}

struct nvml *nvml_open(const char *pci_address, unsigned number)
{
    struct nvml *n = xcalloc(1, sizeof *n);

    if (dl_load(&n->api, symbols, "libnvidia-ml.so.1", ERR_IGNORED) == 0 &&
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

void nvml_close(struct nvml *n)
{
    if (n)
        n->api.shutdown();
    free(n);
}

static double read_clock(struct nvml *n, int which)
{
    unsigned mhz;

    return READ(n, clock, which, &mhz) ? mhz : (double)NAN;
}

static void read_slow_values(struct nvml *n, double *value)
{
    unsigned degrees;
    unsigned long long reasons;

    value[NVML_TEMPERATURE] =
        READ(n, temperature, SENSOR_GPU, &degrees) ? degrees : (double)NAN;
    value[NVML_CLOCK] = read_clock(n, CLOCK_SM);
    value[NVML_MEMORY_CLOCK] = read_clock(n, CLOCK_MEMORY);
    value[NVML_THROTTLED] =
        READ(n, throttled, &reasons) ? (double)reasons : (double)NAN;
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
    v[NVML_UTILISATION] = READ(n, utilisation, util) ? util[0] : (double)NAN;
    v[NVML_MEMORY] = READ(n, memory, memory) ? (double)memory[2] : (double)NAN;
    v[NVML_POWER] =
        READ(n, power, &milliwatts) ? milliwatts / 1e3 : (double)NAN;
    v[NVML_ENERGY] = read_energy(n) - n->first_energy;
    memcpy(value, v, sizeof n->latest);
    return true;
}

void nvml_warn(struct nvml *n, const char *pci_address)
{
    unsigned long long errors = 0;
    unsigned corrected, uncorrected, pending = 0, failed = 0;

    if (!n)
        return;
    if (!READ(n, memory_errors, UNCORRECTED, SINCE_START, &errors))
        errors = 0;
    if (!READ(n, remapped_rows, &corrected, &uncorrected, &pending, &failed))
        pending = failed = 0;
    if (errors > 0)
        log_warn(
            "the memory of the GPU at %s had %llu errors that could not be "
            "corrected since the driver was loaded",
            pci_address, errors);
    if (failed)
        log_warn("the GPU at %s has no spare rows of memory left to take the "
                 "place of damaged ones; it should be replaced",
                 pci_address);
    else if (pending)
        log_warn("the GPU at %s replaces damaged rows of its memory when it is "
                 "reset (nvidia-smi -r)",
                 pci_address);
}
