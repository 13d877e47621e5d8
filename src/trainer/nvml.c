#include "config.h"
#include "trainer/nvml.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

/* The few prototypes that are used, as nvml.h declares them. */
typedef void *nvml_device;
typedef int init_fn(void);
typedef int index_fn(unsigned, nvml_device *);
typedef int utilisation_fn(nvml_device, unsigned out[2]);
typedef int memory_fn(nvml_device, unsigned long long out[3]);
typedef int power_fn(nvml_device, unsigned *milliwatts);

struct nvml {
    void *library;
    nvml_device device;
    init_fn *shutdown;
    utilisation_fn *utilisation;
    memory_fn *memory;
    power_fn *power;
};

/* POSIX wants a function's address to survive in a pointer; C does not say
 * so, hence the copy of the bits. */
static bool find(void *library, const char *name, void *out)
{
    void *symbol = dlsym(library, name);

    memcpy(out, &symbol, sizeof symbol);
    return symbol != NULL;
}

struct nvml *nvml_open(int index)
{
    struct nvml *n = xcalloc(1, sizeof *n);
    init_fn *init;
    index_fn *by_index;

    n->library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (n->library && find(n->library, "nvmlInit_v2", &init) &&
        find(n->library, "nvmlDeviceGetHandleByIndex_v2", &by_index) &&
        find(n->library, "nvmlDeviceGetUtilizationRates", &n->utilisation) &&
        find(n->library, "nvmlDeviceGetMemoryInfo", &n->memory) &&
        find(n->library, "nvmlDeviceGetPowerUsage", &n->power) &&
        find(n->library, "nvmlShutdown", &n->shutdown) && init() == 0) {
        if (by_index((unsigned)index, &n->device) == 0)
            return n;
        n->shutdown();
    }
    if (n->library)
        dlclose(n->library);
    free(n);
    return NULL;
}

void nvml_close(struct nvml *n)
{
    if (!n)
        return;
    n->shutdown();
    dlclose(n->library);
    free(n);
}

bool nvml_read(struct nvml *n, struct nvml_reading *r)
{
    unsigned util[2], milliwatts;
    unsigned long long memory[3];

    *r = (struct nvml_reading){ (double)NAN, (double)NAN, (double)NAN };
    if (n->utilisation(n->device, util) == 0)
        r->utilisation = util[0];
    if (n->memory(n->device, memory) == 0)
        r->memory = (double)memory[2];
    if (n->power(n->device, &milliwatts) == 0)
        r->power = milliwatts / 1000.0;
    return true;
}
