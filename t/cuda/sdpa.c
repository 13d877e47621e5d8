/*
 * sdpa - cuDNN still has its kernels for our graphs; no GPU needed
 *
 * cuDNN takes the description of a GPU in place of one, and then says how it
 * would compute a graph there.  Whether the plans compute the right numbers
 * only a GPU can tell: t/unit/kernels.t does, where there is one.
 */
#include "config.h"
#include "kernels/cuda/sdpa_graph.h"
#include "t/lib/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Old versions, such as 9.6, can only plan for the GPU that is there. */
static bool plans_without_gpu(const struct cudnn *api)
{
    cudnnBackendDescriptor_t device;

    if (api->make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device) !=
        CUDNN_STATUS_SUCCESS)
        return false;
    api->destroy(device);
    return true;
}

/* What a block may use of shared memory. */
static int shared_memory(int capability)
{
    switch (capability) {
    case 80:
        return 166912;
    case 90:
    case 100:
        return 232448;
    default:
        return 101376;
    }
}

/* What cuDNN asks a driver about a GPU, for one of this capability. */
static bool describe(const struct cudnn *api, int capability,
                     cudnnBackendDescriptor_t *out)
{
    char json[1024];
    const int n = snprintf(
        json, sizeof json,
        "{\"cudaDeviceId\":0,\"deviceVer\":%d,\"driverVer\":13000,"
        "\"deviceName\":\"a GPU\",\"maxGridSize\":[2147483647,65535,65535],"
        "\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"
        "\"multiProcessorCount\":132,\"warpSize\":32,"
        "\"maxSharedMemoryPerBlock\":49152,"
        "\"maxSharedMemoryPerBlockOptin\":%d,"
        "\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"
        "\"maxCtasPerSM\":32,\"maxThreadsPerBlock\":1024,"
        "\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,"
        "\"supportCoopLaunch\":1,\"totalGlobalMem\":80000000000,"
        "\"smClockRateKHz\":1980000,\"memClockRateKHz\":3201000,"
        "\"memoryBusWidth\":5120,\"l2CacheSize\":52428800}",
        capability * 10, shared_memory(capability));

    return api->make(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, out) ==
               CUDNN_STATUS_SUCCESS &&
           api->set(*out, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                    CUDNN_TYPE_CHAR, n + 1, json) == CUDNN_STATUS_SUCCESS &&
           api->finalize(*out) == CUDNN_STATUS_SUCCESS;
}

/* Compile the offers until one succeeds, and name its kernel. */
static bool compile(const struct cudnn *api, cudnnBackendDescriptor_t device,
                    cudnnBackendDescriptor_t *offer, int n, char *name,
                    size_t room)
{
    for (int i = 0; i < n; i++) {
        cudnnBackendDescriptor_t plan;
        bool good;

        if (api->make(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, &plan) !=
            CUDNN_STATUS_SUCCESS)
            return false;
        good = api->set(plan, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG,
                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                        &offer[i]) == CUDNN_STATUS_SUCCESS &&
               api->set(plan, CUDNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
                        CUDNN_TYPE_BACKEND_DESCRIPTOR, 1,
                        &device) == CUDNN_STATUS_SUCCESS &&
               api->finalize(plan) == CUDNN_STATUS_SUCCESS;
        if (good)
            sdpa_graph_kernel_name(api, plan, name, room);
        api->destroy(plan);
        if (good)
            return true;
    }
    return false;
}

/* Ada and the Blackwell of workstations run the kernels of Ampere. */
static bool has_own_kernels(int capability)
{
    return capability == 80 || capability == 90 || capability == 100;
}

static void check_shape(const struct cudnn *api,
                        cudnnBackendDescriptor_t device, int capability,
                        const struct sdpa_shape *s)
{
    struct sdpa_graph g;
    cudnnBackendDescriptor_t offer[8];
    char name[160] = "", arch[16];
    bool compiled = true;
    int n = 0;

    if (sdpa_graph_build(&g, api, NULL, s))
        n = sdpa_graph_offers(&g, device, offer, 8);
    snprintf(arch, sizeof arch, "sm%d_",
             has_own_kernels(capability) ? capability : 80);
    if (getenv("FAKE_DRIVER"))
        compiled = compile(api, device, offer, n, name, sizeof name) &&
                   strstr(name, arch);
    if (!ok(n > 0 && compiled,
            "%s, B=%d H=%d K=%d T=%d D=%d, %s, sm_%d: %d offers, and the "
            "kernel is for that GPU",
            s->backward ? "backward" : "forward", (int)s->B, (int)s->H,
            (int)s->K, (int)s->T, (int)s->D, s->bf16 ? "bf16" : "f16",
            capability, n))
        diag("%s%s", g.why, name);
    sdpa_graph_clear(&g);
}

int main(int argc, char **argv)
{
    /* B H K T D, bf16: GPT-2's, shared keys and values, an odd length, and
     * every width of heads that somebody uses */
    static const struct sdpa_shape shapes[] = {
        { 64, 12, 12, 1024, 64, 1, 0 }, { 2, 32, 8, 2048, 128, 1, 0 },
        { 3, 2, 1, 1000, 64, 0, 0 },    { 8, 25, 25, 1024, 64, 1, 0 },
        { 128, 8, 8, 256, 32, 1, 0 },   { 16, 12, 12, 512, 48, 1, 0 },
        { 16, 20, 20, 1024, 80, 1, 0 }, { 16, 16, 16, 1024, 96, 1, 0 },
        { 2, 16, 16, 2048, 128, 1, 0 }, { 8, 12, 4, 1024, 64, 1, 0 },
    };
    enum { ALL = sizeof shapes / sizeof *shapes };
    static const struct {
        int capability, shapes;
    } quick[] = { { 80, 1 }, { 89, 1 }, { 90, 3 }, { 100, 1 }, { 120, 1 } };
    const bool all = argc > 1 && strcmp(argv[1], "all") == 0;
    struct cudnn api;
    struct err e = { 0 };

    if (cudnn_load(&api, &e) < 0) {
        printf("1..0 # SKIP %s\n", e.text);
        return 0;
    }
    if (!plans_without_gpu(&api)) {
        printf("1..0 # SKIP cuDNN %zu cannot plan without a GPU\n",
               api.version());
        return 0;
    }
    for (size_t c = 0; c < sizeof quick / sizeof *quick; c++) {
        cudnnBackendDescriptor_t device;

        if (!ok(describe(&api, quick[c].capability, &device),
                "cuDNN %zu takes the description of sm_%d", api.version(),
                quick[c].capability))
            continue;
        for (int i = 0; i < (all ? ALL : quick[c].shapes); i++) {
            struct sdpa_shape s = shapes[i];

            check_shape(&api, device, quick[c].capability, &s);
            s.backward = 1;
            check_shape(&api, device, quick[c].capability, &s);
        }
        api.destroy(device);
    }
    return done_testing();
}
