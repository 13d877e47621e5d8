#include "config.h"
#include "plot/curve_kind.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/log.h"
#include "plot/draw/axis.h"
#include "plot/figures.h"
#include "plot/history.h"
#include "store/query/run_value.h"

/* clang-format off */
#define CMD(name, help) \
    { name, "RUN...", help, curve_opts, figure_main, &fig_curves_type }
const struct curve_kind curve_kinds[] = {
    { CMD("lr", "draw the learning rate"),
      "Learning rate", "learning rate", UNIT_NONE,
      .from_zero = true, .planned = true, .line = {
        { "learning rate", { "train/lr", "lr", "learning_rate",
                             "train/learning_rate", "optim/lr", "lr-AdamW",
                             "train_lr" } },
    } },
    { CMD("loss", "draw the training and the validation loss"),
      "Loss", "loss (nats/token)", UNIT_NONE,
      .settles = true, .line = {
        { "train", { "train/loss", "train_loss", "loss", "training_loss",
                     "train/loss_step", "train_loss_step", "Loss/train" } },
        { "validation", { "val/loss", "valid_loss", "val_loss", "eval/loss",
                          "eval_loss", "validation_loss", "valid/loss",
                          "validation/loss", "Loss/val" },
          .style = STYLE_LINE_POINTS },
    } },
    { CMD("perplexity", "draw the training and the validation perplexity"),
      "Perplexity", "perplexity",
      UNIT_NONE,
      .settles = true, .line = {
        { "train", { "train/perplexity", "train/ppl", "train_perplexity",
                     "perplexity", "ppl" } },
        { "validation", { "val/perplexity", "val/ppl", "val_perplexity",
                          "eval/perplexity", "valid_perplexity" },
          .style = STYLE_LINE_POINTS },
    } },
    { CMD("grad-norm", "draw the norm of the gradient"),
      "Gradient norm", "gradient norm",
      UNIT_NONE,
      .from_zero = true, .line = {
        { "gradient norm", { "train/grad_norm", "grad_norm", "gradient_norm",
                             "train/gradient_norm", "optim/grad_norm",
                             "grad-norm" } },
    } },
    { CMD("throughput", "draw the number of tokens per second"),
      "Throughput", "tokens/s", UNIT_COUNT,
      .from_zero = true, .high_is_good = true, .line = {
        { "throughput", { "perf/tokens_per_s", "tokens_per_second",
                          "tokens_per_sec", "throughput", "tok_per_s",
                          "train/tokens_per_second",
                          "train_tokens_per_second" } },
    } },
    { CMD("memory",
          "draw the memory of the device and of the process, by rank"),
      "Memory", "memory", UNIT_BYTES,
      .from_zero = true, .line = {
        { "allocated", { "system/mem_allocated_bytes", "memory/allocated",
                         "gpu_mem_allocated" }, .ranks = true },
        { "reserved", { "system/mem_reserved_bytes", "memory/reserved",
                        "gpu_mem_reserved" },
          .dash = 1, .ranks = true, .gpu = true },
        { "GPU in use", { "system/gpu_mem_bytes" }, .dash = 3, .ranks = true },
        { "process", { "system/rss_bytes", "memory/rss" },
          .dash = 2, .ranks = true },
    } },
    { CMD("util", "draw the utilisation of GPUs and CPUs, by rank"),
      "Utilisation", "utilisation", UNIT_PERCENT,
      .from_zero = true, .high_is_good = true, .apart = true, .line = {
        { "GPU", { "system/gpu_util", "gpu_util",
                   "system/gpu_0_utilization_percentage" },
          .ranks = true },
        { "CPU", { "system/cpu_util", "cpu_util",
                   "system/cpu_utilization_percentage" },
          .dash = 2, .ranks = true },
    } },
    { CMD("hellaswag", "draw the accuracy on HellaSwag"),
      "HellaSwag", "accuracy", UNIT_FRACTION,
      .high_is_good = true, .line = {
        { "normalised", { "task/hellaswag/acc_norm",
                          "task/hellaswag_plain/acc_norm",
                          "hellaswag/acc_norm", "hella/acc_norm",
                          "hellaswag_acc_norm", "eval/hellaswag/acc_norm" },
          .style = STYLE_LINE_POINTS },
        { "plain", { "task/hellaswag/acc", "task/hellaswag_plain/acc",
                     "hellaswag/acc", "hellaswag", "hellaswag_acc",
                     "eval/hellaswag/acc" },
          .style = STYLE_LINE_POINTS, .dash = 1 },
    } },
    { { 0 }, NULL, NULL, UNIT_NONE, .line = { { NULL } } },
};

/* Metrics without a figure of their own, for --y2, metric and the like. */
static const struct curve_kind others[] = {
    { { .name = "step-time" }, "Step time", "step time (ms)",
      UNIT_NONE,
      .from_zero = true, .line = {
        { "step time", { "perf/step_ms", "perf/data_wait_ms" } } } },
    { { .name = "mfu" }, "Model FLOPs utilisation", "MFU",
      UNIT_FRACTION,
      .from_zero = true, .high_is_good = true, .line = {
        { "MFU", { "perf/mfu", "mfu" } } } },
    { { .name = "tokens" }, "Tokens", "tokens", UNIT_COUNT,
      .from_zero = true, .high_is_good = true, .line = {
        { "tokens", { "train/tokens", "tokens" } } } },
    { { .name = "power" }, "Power", "power (W)",
      UNIT_NONE,
      .from_zero = true, .line = {
        { "power", { "system/gpu_power_w" }, .ranks = true } } },
    { { .name = "bpb" }, "Bits per byte", "bits per byte",
      UNIT_NONE,
      .line = {
        { "validation", { "val/bpb", "train/bpb" },
          .style = STYLE_LINE_POINTS } } },
    { { 0 }, NULL, NULL, UNIT_NONE, .line = { { NULL } } },
};
/* clang-format on */

void curve_kind_axis(const struct curve_kind *k, const char *label,
                     struct axis *a)
{
    axis_init(a, k ? k->label : label, k ? k->unit : UNIT_NONE);
    if (!k)
        return;
    a->from_zero = k->from_zero;
    a->settles = k->settles;
    if (k->planned) /* a schedule that ends near 0 keeps its shape */
        a->scale = SCALE_LINEAR;
}

const struct curve_kind *curve_kind_find(const char *name)
{
    for (const struct curve_kind *k = curve_kinds; k->cmd.name; k++)
        if (strcmp(k->cmd.name, name) == 0)
            return k;
    return NULL;
}

const char *curve_kind_line_key(const struct run_info *run,
                                const struct curve_kind_line *l)
{
    const char *device = run_info_param(run, "derived.device");

    return l->gpu && device && strcmp(device, "cpu") == 0
               ? NULL
               : history_find(run, l->names);
}

bool curve_kind_has_metric(const struct curve_kind *k,
                           const struct run_info *run, size_t n)
{
    for (size_t r = 0; r < n; r++)
        for (int i = 0; i < KIND_LINES && k->line[i].label; i++)
            if (curve_kind_line_key(&run[r], &k->line[i]))
                return true;
    return false;
}

int curve_kind_rank(const char *key, char *plain, size_t size)
{
    const char *slash = strchr(key, '/');
    char *end;
    long rank;

    snprintf(plain, size, "%s", key);
    if (!slash || !isdigit((unsigned char)slash[1]))
        return 0;
    rank = strtol(slash + 1, &end, 10);
    if (*end != '/' || rank < 0 || rank > 1000000)
        return 0;
    snprintf(plain, size, "%.*s%s", (int)(slash - key), key, end);
    return (int)rank;
}

size_t curve_kind_line_keys(const struct run_info *run,
                            const struct curve_kind_line *l, const char **key,
                            size_t room)
{
    const char *first = curve_kind_line_key(run, l);
    size_t n = 0;

    if (first)
        key[n++] = first;
    if (!l->ranks || !first)
        return n;
    for (int rank = 1; rank < 4096 && n < room; rank++) {
        size_t before = n;

        for (int k = 0; k < KIND_NAMES && l->names[k] && n == before; k++) {
            const char *slash = strchr(l->names[k], '/');
            char name[256];
            const struct metric_sum *m;

            if (!slash)
                continue;
            snprintf(name, sizeof name, "%.*s/%d%s", (int)(slash - l->names[k]),
                     l->names[k], rank, slash);
            m = run_info_metric(run, name);
            if (m)
                key[n++] = m->key;
        }
        if (n == before && rank > (int)n + 8)
            break;
    }
    return n;
}

static const struct curve_kind *find_in_table(
    const struct curve_kind *table, const char *key,
    const struct curve_kind_line **line)
{
    for (const struct curve_kind *k = table; k->cmd.name; k++)
        for (int i = 0; i < KIND_LINES && k->line[i].label; i++)
            for (int j = 0; j < KIND_NAMES && k->line[i].names[j]; j++)
                if (strcmp(k->line[i].names[j], key) == 0) {
                    if (line)
                        *line = &k->line[i];
                    return k;
                }
    return NULL;
}

const struct curve_kind *curve_kind_of_metric(
    const char *key, const struct curve_kind_line **line)
{
    char plain[256];
    const struct curve_kind *k;

    curve_kind_rank(key, plain, sizeof plain);
    k = find_in_table(curve_kinds, plain, line);
    return k ? k : find_in_table(others, plain, line);
}

bool curve_kind_high_is_good(const char *key)
{
    const struct curve_kind *k = curve_kind_of_metric(key, NULL);

    return k ? k->high_is_good : run_value_direction(key) > 0;
}

bool curve_kind_share(const char *a, const char *b, bool named)
{
    const struct curve_kind *k = curve_kind_of_metric(a, NULL);

    if (k || curve_kind_of_metric(b, NULL))
        return k == curve_kind_of_metric(b, NULL);
    if (named)
        return true;
    for (; *a && *b; a++, b++) {
        a += strspn(a, "0123456789");
        b += strspn(b, "0123456789");
        if (*a != *b)
            return false;
        if (!*a)
            break;
    }
    return *a == *b;
}

size_t curve_kind_best(const struct run_info *run, size_t n,
                       const char *const *names)
{
    size_t best = n;
    struct err e = { 0 };
    double value = NAN;

    for (size_t i = 0; i < n; i++) {
        const char *key = history_find(&run[i], names);
        const bool high = key && curve_kind_high_is_good(key);
        const double x = run_rate_best(&run[i], key, high, &e);

        if (isnan(x) || (best < n && (high ? x <= value : x >= value)))
            continue;
        best = i;
        value = x;
    }
    if (e.kind)
        log_lack(e.text);
    return best;
}

int curve_kind_none(const struct curve_kind *k, const struct run_info *run,
                    size_t n, struct err *e)
{
    AUTO(buf_clear) struct buf has = BUF_INIT, wants = BUF_INIT;

    for (size_t i = 0; i < n; i++)
        if (run[i].unread)
            return err_set(e, ERR_SYSTEM, "run %s could not be read: %s",
                           run[i].name, run[i].damage);
    for (size_t i = 0; i < run->n_metrics && i < 12; i++)
        buf_printf(&has, "%s%s", i ? ", " : "", run->metrics[i].key);
    for (int i = 0; i < KIND_LINES && k->line[i].label; i++)
        buf_printf(&wants, "%s%s", i ? " or " : "", k->line[i].names[0]);
    return err_set(e, ERR_MISSING,
                   "%s has no metric for %s (%s); %s%s; "
                   "'gplot metric NAME RUN' draws any",
                   run->name, k->cmd.name, wants.s,
                   has.len ? "it has " : "it has none at all",
                   has.len ? has.s : "");
}
