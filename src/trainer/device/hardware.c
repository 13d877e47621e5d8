#include "config.h"
#include "trainer/device/hardware.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/machine/cores.h"
#include "common/machine/limits.h"
#include "common/num.h"
#include "trainer/device/measure.h"

struct hardware hardware_of(const struct gpu *g)
{
    const double f32 = g->tf32 > 0 ? g->tf32 : g->f32;
    const bool old = g->capability && g->capability < GPU_CAPABILITY;

    return (struct hardware){
        .name = g->name,
        .tflops = { [PRECISION_FP32] = f32,
                    [PRECISION_BF16] = old ? f32 : g->half,
                    [PRECISION_FP16] = g->half,
                    [HARDWARE_FP8] = g->fp8 },
        .gib = g->gib,
        .memory = g->memory,
        .link = g->link,
        .devices = g->devices ? g->devices : 1,
        .source = g->capability ? "data sheet" : "Google Cloud"
    };
}

int hardware_parse(const char **text, char name[32], struct hardware *h,
                   struct err *e)
{
    const char *at = *text + strspn(*text, ", ");
    const size_t len = strcspn(at, ",");
    char number[3][24], row[128];
    double tflops, gib;
    int64_t devices;

    if (!*at)
        return 0;
    snprintf(row, sizeof row, "%.*s", (int)len, at);
    if (sscanf(row, "%31[^:]:%23[^:]:%23[^:]:%23[^:]", name, number[0],
               number[1], number[2]) != 4 ||
        !num_real(number[0], &tflops) || !num_real(number[1], &gib) ||
        !num_int(number[2], &devices) || tflops <= 0 || devices < 1)
        return err_set(e, ERR_USAGE,
                       "plan.hardware expects name:tflops:GiB:devices, not "
                       "'%s'",
                       row);
    *h = (struct hardware){ .name = name,
                            .tflops = { tflops, tflops, tflops },
                            .gib = gib,
                            .devices = (int)devices,
                            .source = "settings" };
    *text = at + len;
    return 1;
}

bool hardware_measure(struct hardware *h, const struct settings *s)
{
    static const enum dtype types[] = { [PRECISION_FP32] = DT_F32,
                                        [PRECISION_BF16] = DT_BF16,
                                        [PRECISION_FP16] = DT_F16 };
    const enum dtype type = types[s->train.precision];
    struct dev dev = { .threads = (int)s->train.threads };
    double flops = s->plan.peak_tflops * 1e12, bytes;
    bool measured;

    if (dev_open(&dev, s->train.device, ERR_IGNORED) < 0)
        return false;
    if (flops <= 0 && dev.type->peak)
        flops = dev.type->peak(&dev, type);
    measured = flops <= 0;
    if (measured)
        flops = measure_large_product(&dev, type);
    bytes = dev.memory.total ? (double)dev.memory.total
                             : limits_memory("", NULL, 0);
    dev_close(&dev);
    *h = (struct hardware){ .name = "this machine",
                            .gib = bytes / 0x1p30,
                            .devices = 1,
                            .whole = measured,
                            .source = s->plan.peak_tflops > 0 ? "settings"
                                      : measured              ? "measured"
                                                              : "known" };
    h->tflops[s->train.precision] = flops / 1e12;
    return flops > 0;
}

double hardware_tflops(const struct hardware *h, const struct settings *s)
{
    return s->is.precision_auto
               ? fmax(h->tflops[PRECISION_FP32], h->tflops[PRECISION_BF16])
               : h->tflops[s->train.precision];
}

int hardware_threads(const struct settings *s, int local_ranks, bool shared)
{
    const char *env = getenv("OMP_NUM_THREADS");
    int64_t n;

    if (s->train.threads > 0)
        return (int)s->train.threads;
    if (env && num_int(env, &n) && n > 0 && n < 4096)
        return (int)n;
    return cores_of_rank(local_ranks, shared);
}
