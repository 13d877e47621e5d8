/*
 * nvml - print what a GPU tells, for t8060-nvml.t
 *
 * usage: nvml ADDRESS TIMES
 */
#include "config.h"
#include "common/machine/nvml.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    struct nvml *n = argc == 3 ? nvml_open(argv[1], 0) : NULL;
    double v[NVML_VALUES];

    if (!n)
        puts("none");
    else
        nvml_warn(n, argv[1]);
    for (long i = n ? strtol(argv[2], NULL, 10) : 0; i > 0; i--)
        if (nvml_read(n, v))
            printf("%g%% %g B %g W %g J %g C %g MHz %g MHz %g\n",
                   v[NVML_UTILISATION], v[NVML_MEMORY], v[NVML_POWER],
                   v[NVML_ENERGY], v[NVML_TEMPERATURE], v[NVML_CLOCK],
                   v[NVML_MEMORY_CLOCK], v[NVML_THROTTLED]);
    nvml_close(n);
    return nvml_read(NULL, v);
}
