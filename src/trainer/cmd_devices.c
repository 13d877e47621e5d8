/* cmd_devices - gtrain devices: list what can compute */
#include "config.h"

#include <stdio.h>

#include "common/table.h"
#include "kernels/dev.h"
#include "trainer/cmds.h"
#include "trainer/training/measure.h"

static struct table_style style;
static bool measure;

static const struct opt devices_opts[] = {
    { 'm', "measure", NULL, OPT_FLAG, &measure,
      "time a large matrix product in each precision, and a copy" },
    TABLE_OPTS(style),
    { 0 }
};

static void rate(struct table *t, struct dev *dev, enum dtype type)
{
    const double flops = measure_matmul(dev, type);

    if (flops > 0)
        table_real(t, flops / 1e12);
    else
        table_none(t);
}

static void row(struct table *t, struct dev *dev, const char *name)
{
    char text[256];

    table_text(t, name);
    table_text(t, dev->type->describe(dev, text, sizeof text));
    if (measure) {
        rate(t, dev, DT_F32);
        rate(t, dev, DT_BF16);
        rate(t, dev, DT_F16);
        table_real(t, measure_copy(dev) / 1e9);
    }
}

/* All GPUs that there are; why not, if there is none. */
static void rows(struct table *t, const struct dev_type *type)
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
        row(t, &dev, name);
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
        return err_set(e, ERR_USAGE, "'%s': no word is expected", argv[0]);
    table_column(&t, "device");
    table_column(&t, "what");
    if (measure) {
        table_column(&t, "TFLOP/s fp32");
        table_column(&t, "TFLOP/s bf16");
        table_column(&t, "TFLOP/s fp16");
        table_column(&t, "GB/s copy");
    }
    for (int i = 0; dev_types[i]; i++)
        rows(&t, dev_types[i]);
    ret = table_print(&t, &style, e);
    table_clear(&t);
    return ret;
}

const struct cmd cmd_devices = {
    .name = "devices",
    .help = "list what can compute here",
    .opts = devices_opts,
    .run = devices_main,
};
