/*
 * gtrain devices - list the devices of this machine
 */
#include "config.h"
#include "trainer/cmds.h"

#include <math.h>
#include <stdio.h>

#include "common/table.h"
#include "kernels/dev.h"
#include "trainer/training/measure.h"

static struct table_style style;
static bool measure;

static const struct opt devices_opts[] = {
    { 'm', "measure", NULL, OPT_FLAG, &measure,
      "measure a large matrix product in each precision, and a copy" },
    TABLE_OPTS(style),
    { 0 }
};

static void add_device(struct table *t, struct dev *dev, const char *name)
{
    static const enum dtype types[] = { DT_F32, DT_BF16, DT_F16 };
    char text[256];

    table_text(t, name);
    table_text(t, dev->type->describe(dev, text, sizeof text));
    for (int i = 0; measure && i < 3; i++) {
        const double flops = measure_matmul(dev, types[i]);

        table_real_or_none(t, flops > 0 ? flops / 1e12 : (double)NAN);
    }
    if (measure)
        table_real(t, measure_copy(dev) / 1e9);
}

/* Add every device of a type, or the reason why there is none. */
static void add_devices(struct table *t, const struct dev_type *type)
{
    struct dev dev = { 0 };
    struct err e = ERR_INIT;
    char name[32];

    snprintf(name, sizeof name, "%s", type->name);
    if (dev_open(&dev, name, &e) < 0) {
        table_text(t, name);
        table_text(t, e.text);
        for (int i = 0; measure && i < 4; i++)
            table_none(t);
        return;
    }
    for (int i = 1;; i++) {
        add_device(t, &dev, name);
        dev_close(&dev);
        snprintf(name, sizeof name, "%s:%d", type->name, i);
        if (type == &cpu_dev || dev_open(&dev, name, &e) < 0)
            break;
    }
}

static int devices_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrain.devices/1");
    int ret;

    if (argc > 0)
        return err_set(e, ERR_USAGE, "unexpected argument '%s'", argv[0]);
    table_columns(&t, "device", "what", NULL);
    if (measure)
        table_columns(&t, "TFLOP/s fp32", "TFLOP/s bf16", "TFLOP/s fp16",
                      "GB/s copy", NULL);
    for (int i = 0; dev_types[i]; i++)
        add_devices(&t, dev_types[i]);
    ret = table_print(&t, &style, e);
    table_clear(&t);
    return ret;
}

const struct cmd cmd_devices = {
    .name = "devices",
    .help = "list the devices of this machine",
    .opts = devices_opts,
    .run = devices_main,
};
