/*
 * gpus - the names of GPUs as drivers give them, and their rows
 */
#include "config.h"
#include "kernels/gpus.h"
#include "t/lib/tap.h"

#include <string.h>

static const struct {
    const char *device;
    int sms;
    const char *name; /* NULL: not known */
    double share;
} cases[] = {
    { "NVIDIA A100-SXM4-40GB", 108, "A100 40GB", 1 },
    { "NVIDIA A100 80GB PCIe", 108, "A100 80GB", 1 },
    { "NVIDIA A100-SXM4-40GB MIG 1g.5gb", 14, "A100 40GB", 14.0 / 108 },
    { "NVIDIA H100 80GB HBM3", 132, "H100", 1 },
    { "NVIDIA H100 PCIe", 114, "H100 PCIe", 1 },
    { "NVIDIA H100 NVL", 132, "H100 NVL", 1 },
    { "NVIDIA GH200 480GB", 132, "GH200", 1 },
    { "NVIDIA GB200", 152, "GB200", 1 },
    { "NVIDIA GB200 MIG 1g.23gb", 20, NULL, 0 },
    { "NVIDIA A10", 72, "A10", 1 },
    { "NVIDIA A10G", 80, "A10G", 1 },
    { "NVIDIA L4", 58, "L4", 1 },
    { "NVIDIA L40S", 142, "L40S", 1 },
    { "NVIDIA RTX A1000", 18, NULL, 0 },
    { "NVIDIA RTX A4000", 48, "RTX A4000", 1 },
    { "NVIDIA GeForce RTX 4090", 128, "RTX 4090", 1 },
    { "NVIDIA GeForce RTX 4090 Laptop GPU", 76, NULL, 0 },
    { "NVIDIA GeForce RTX 3090 Ti", 84, "RTX 3090 Ti", 1 },
    { "NVIDIA RTX 6000 Ada Generation", 142, "RTX 6000 Ada", 1 },
    { "NVIDIA RTX PRO 6000 Blackwell Server Edition", 188, "RTX PRO 6000", 1 },
    { "Quadro RTX 6000", 72, NULL, 0 },
};

int main(void)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = NULL;
        double share = 0;

        for (const struct gpu *g = gpu_table; g->name && !name; g++) {
            share = gpu_share(g, cases[i].device, cases[i].sms);
            if (share > 0)
                name = g->name;
        }
        ok(!name == !cases[i].name &&
               (!name || strcmp(name, cases[i].name) == 0) &&
               share == cases[i].share,
           "%s with %d multiprocessors is %s", cases[i].device, cases[i].sms,
           cases[i].name ? cases[i].name : "not known");
    }
    return done_testing();
}
