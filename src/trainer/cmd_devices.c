/*
 * gtrain devices - list the devices of this machine
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/dl.h"
#include "common/log.h"
#include "common/machine/nvml.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/output/table.h"
#include "common/path.h"
#include "kernels/dev.h"
#include "trainer/device/device_check.h"
#include "trainer/device/hardware.h"
#include "trainer/model/resolve.h"
#include "trainer/ranks/coll_nccl.h"

enum { VOCABULARY = 50257 }; /* of GPT-2, if the settings have none */

static struct table_style style;
static bool measure, check;
static const char *config;
static struct opt_list sets;

static const struct opt devices_opts[] = {
    { 'm', "measure", NULL, OPT_FLAG, &measure,
      "measure a large matrix product in each precision, and a copy" },
    { 'c', "check", NULL, OPT_FLAG, &check,
      "compare the operations of a model on each GPU with the CPU's" },
    { 0, "config", "file", OPT_STRING, &config,
      "with --check: read settings of the model from FILE" },
    { 's', "set", "section.key=value", OPT_LIST, &sets,
      "with --check: change one setting (may be given many times)" },
    TABLE_OPTS(style),
    { 0 }
};

static void add_device(struct table *t, struct dev *dev, const char *name)
{
    static const enum dtype types[] = { DT_F32, DT_BF16, DT_F16 };
    char text[256];

    table_text(t, name);
    table_text(t, dev->type->describe(dev, text, sizeof text));
    if (!measure)
        return;
    for (int i = 0; i < 3; i++) {
        const double flops = measure_large_product(dev, types[i]);

        table_real_or_none(t, flops > 0 ? flops / 1e12 : (double)NAN);
    }
    table_real(t, measure_copy(dev) / 1e9);
}

/* Add every device of a type, or the reason why there is none. */
static void add_devices(struct table *t, const struct dev_type *type)
{
    struct dev dev = { 0 };
    struct err e = { 0 };
    char name[32];

    snprintf(name, sizeof name, "%s", type->name);
    if (dev_open(&dev, name, &e) < 0) {
        table_text(t, name);
        table_text(t, e.text);
        if (measure)
            for (int i = 0; i < 4; i++)
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

/* ---- the check -------------------------------------------------------- */

/* "passed", and what the device does without; returns out. */
static char *passed(int result, char *out, size_t room)
{
    static const char *const without[] = { "cuDNN", "overlap", "CUDA graphs" };
    size_t at = (size_t)snprintf(out, room, "passed");
    const char *before = ", without ";

    for (int i = 0; i < 3; i++) {
        if (!(result & 1 << i))
            continue;
        at += (size_t)snprintf(out + at, room - at, "%s%s", before, without[i]);
        before = result >> (i + 2) ? ", " : " and ";
    }
    return out;
}

/* Check a device with the settings; the text of a row, which the next call
 * replaces. */
static const char *check_device(const char *name, struct settings *s)
{
    static struct err e;
    static char text[64];
    struct dev dev = { .threads = (int)s->train.threads,
                       .deterministic = s->train.deterministic,
                       .tf32 = s->train.tf32,
                       .fp8 = s->train.fp8 != FP8_OFF };
    int ret;

    e = (struct err){ 0 };
    if (dev_open(&dev, name, &e) < 0)
        return e.text;
    ret = device_check(&dev, s, &e);
    if (ret >= 0)
        device_passed_add(&dev, s, ret);
    dev_close(&dev);
    return ret < 0 ? e.text : passed(ret, text, sizeof text);
}

/* Whether a GPU can compute the model of the settings in fp8. */
static bool allows_fp8(const char *name, struct settings *s)
{
    AUTO(dev_close) struct dev dev = { .fp8 = true };

    if (dev_open(&dev, name, ERR_IGNORED) < 0)
        return false;
    return resolve_settings(s, 0, 1, ERR_IGNORED) == 0;
}

/* Add the row of a check; false if a result is wrong. */
static bool check_precision(struct table *t, const char *name,
                            const char *precision, struct settings *s)
{
    const char *result = check_device(name, s);

    table_text(t, name);
    table_text(t, precision);
    table_text(t, result);
    return strncmp(result, "passed", 6) == 0;
}

/* Check a GPU in each precision, or in that of the settings; false if a result
 * is wrong. */
static bool check_precisions(struct table *t, const char *name,
                             struct settings *s)
{
    static const struct {
        const char *word;
        enum precision precision;
        enum fp8 fp8;
    } all[] = {
        { "fp32", PRECISION_FP32, FP8_OFF },
        { "bf16", PRECISION_BF16, FP8_OFF },
        { "fp16", PRECISION_FP16, FP8_OFF },
        { "fp8", PRECISION_BF16, FP8_MLP },
    };
    bool good = true;

    if (s->train.fp8 != FP8_OFF)
        return check_precision(t, name, "fp8", s);
    if (conf_origin(&s->conf, "train.precision"))
        return check_precision(t, name, all[s->train.precision].word, s);
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        s->train.precision = all[i].precision;
        s->train.fp8 = all[i].fp8;
        if (all[i].fp8 == FP8_OFF || allows_fp8(name, s))
            good = check_precision(t, name, all[i].word, s) && good;
    }
    s->train.fp8 = FP8_OFF;
    return good;
}

/* All devices but the CPU. */
static int check_all(struct table *t, struct settings *s, struct err *e)
{
    int n = 0, bad = 0;

    for (int i = 1; dev_types[i]; i++) {
        struct dev dev = { 0 };
        struct err why = { 0 };
        char name[32];

        snprintf(name, sizeof name, "%s", dev_types[i]->name);
        for (int k = 1; dev_open(&dev, name, &why) == 0; k++, n++) {
            struct nvml *nvml =
                dev.address[0] ? nvml_open(dev.address, 0) : NULL;

            nvml_warn(nvml, dev.address);
            nvml_close(nvml);
            dev_close(&dev);
            bad += !check_precisions(t, name, s);
            snprintf(name, sizeof name, "%s:%d", dev_types[i]->name, k);
        }
        if (n == 0)
            return err_set(e, why.kind, "nothing to check: %s", why.text);
    }
    if (bad > 0)
        return err_set(e, ERR_SYSTEM, "%d of %d devices failed the check", bad,
                       n);
    return n > 0 ? 0
                 : err_set(e, ERR_MISSING,
                           "nothing to check: this build has the CPU only");
}

static int check_main(struct err *e)
{
    AUTO(table_clear) struct table t = TABLE_INIT("gtrain.devices.check/1");
    struct settings *s = xcalloc(1, sizeof *s);
    int ret = settings_load(s, config, sets.item, sets.n, e);

    if (ret == 0)
        ret = resolve_settings(s, s->model.vocab ? 0 : VOCABULARY, 1, e);
    if (ret == 0) {
        struct err print = { 0 };

        table_columns(&t, "device", "precision", "result", NULL);
        ret = check_all(&t, s, e);
        if (table_print(&t, &style, &print) < 0 && ret == 0) {
            *e = print;
            ret = -1;
        }
    }
    settings_clear(s);
    FREE(s, sets.item);
    return ret;
}

/* What tells the version of a library: cuDNN and cuBLASLt have the first, and
 * NCCL has the second. */
struct version_api {
    size_t (*of_cuda)(void);
    int (*of_nccl)(int *);
};

/* Say which file a library is, and which version, if it can be opened. */
static bool tell_library(const char *name)
{
    static const struct dl_symbol symbols[] = {
        { "cudnnGetVersion cublasLtGetVersion ?",
          offsetof(struct version_api, of_cuda) },
        { "ncclGetVersion ?", offsetof(struct version_api, of_nccl) },
        { 0 }
    };
    struct version_api api = { 0 };
    int version = 0;
    AUTO_FREE char *path = NULL;

    /* A build without GPUs uses what another program has opened. */
    if (dev_types[1] && dl_load(&api, symbols, name, ERR_IGNORED) < 0)
        return false;
    if (api.of_cuda)
        version = (int)api.of_cuda();
    else if (api.of_nccl)
        api.of_nccl(&version);
    path = dl_where(path_name(name));
    if (!path)
        return false;
    if (version > 0)
        log_info("%s (version %d.%d.%d)", path, version / 10000,
                 version / 100 % 100, version % 100);
    else
        log_info("%s", path);
    return true;
}

/* Name the libraries of GPUs, also those that only a training opens. */
static void tell_libraries(void)
{
    tell_library("libcuda.so.1");
    if (!tell_library("libcublasLt.so.13"))
        tell_library("libcublasLt.so.12");
    tell_library("libcudnn.so.9");
    tell_library(coll_nccl_name());
    tell_library("libnvidia-ml.so.1");
}

static int devices_main(int argc, char **argv, struct err *e)
{
    struct table t = TABLE_INIT("gtrain.devices/1");

    if (argc > 0)
        return err_usage(e, "unexpected argument '%s'", argv[0]);
    if (check)
        return check_main(e);
    table_columns(&t, "device", "what", NULL);
    if (measure)
        table_columns(&t, "TFLOP/s fp32", "TFLOP/s bf16", "TFLOP/s fp16",
                      "GB/s copy", NULL);
    for (int i = 0; dev_types[i]; i++)
        add_devices(&t, dev_types[i]);
    tell_libraries();
    return table_finish(&t, 0, &style, e);
}

const struct cmd cmd_devices = {
    .name = "devices",
    .help = "list the devices of this machine",
    .opts = devices_opts,
    .run = devices_main,
};
