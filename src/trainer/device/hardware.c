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

/* clang-format off */
const struct hardware hardware_table[] = {
    /* name  fp32/TF32 bf16 fp16 fp8    GiB  GB/s link  n  source */
    { "P100",     {  9.3,  9.3, 18.7 },  16,  732,  80, 1, "data sheet, 2016" },
    { "T4",       {  8.1,  8.1,   65 },  15,  320,   0, 1, "data sheet, 2019" },
    { "T4 x 2",   { 16.2, 16.2,  130 },  15,  320,   0, 2, "data sheet, 2019" },
    { "V100",     { 15.7, 15.7,  125 },  32,  900, 150, 1, "data sheet, 2020" },
    { "A100 40GB", { 156,  312,  312 },  40, 1555, 300, 1, "data sheet, 2021" },
    { "A100 80GB", { 156,  312,  312 },  80, 2039, 300, 1, "data sheet, 2021" },
    { "H100 SXM", { 494.7, 989.4, 989.4, 1978.9 },
                                         80, 3350, 450, 1, "data sheet, 2023" },
    { "H200 SXM", { 494.7, 989.4, 989.4, 1978.9 },
                                        141, 4800, 450, 1, "data sheet, 2024" },
    { "TPU v3-8",  { 420,  420,  420 },  16,    0,   0, 8,
                                                      "Google Cloud, 2021" },
    { 0 }
};
/* clang-format on */

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
    struct err e = { 0 };
    double flops = s->plan.peak_tflops * 1e12, bytes;
    bool measured;

    if (dev_open(&dev, s->train.device, &e) < 0)
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
