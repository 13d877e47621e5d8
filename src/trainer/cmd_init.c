/*
 * gtrain init - from a text to a running model
 */
#include "config.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/path.h"
#include "common/save.h"
#include "common/spawn.h"
#include "data/corpus/catalog.h"
#include "data/corpus/corpus.h"
#include "kernels/dev.h"
#include "trainer/device/hardware.h"
#include "trainer/ranks/launch.h"

static const char *output;
static struct corpus_opts input = CORPUS_OPTS_INIT;
static double hours = 1.0 / 12;
static long ranks = 1;
static bool only_prepare;

static const struct opt init_opts[] = {
    { 'o', "output", "name", OPT_STRING, &output,
      "write NAME.ini, and the tokens to NAME-data (default: the name of the "
      "text)" },
    { 0, "hours", "n", OPT_REAL, &hours,
      "train for N hours (default: 0.083, five minutes)" },
    { 'r', "ranks", "n", OPT_LONG, &ranks,
      "train with N processes (default: 1)", .range = { 1, 1024 } },
    { 0, "no-train", NULL, OPT_FLAG, &only_prepare,
      "prepare everything, but do not start the training" },
    CORPUS_OPTS(input),
    { 0 }
};

/* Bytes of text that are enough for a vocabulary of a size. */
static const struct {
    double bytes;
    int vocab;
} vocabularies[] = {
    { 0, 512 },     { 1e5, 1024 },  { 3e5, 2048 },  { 9e5, 4096 },
    { 64e6, 8192 }, { 1e9, 16384 }, { 8e9, 32768 },
};

/* What begins a comment in settings, or matches the names of other files. */
static const char not_in_names[] = "\n\r;*?[]\\";

/* The least text, and what is enough to choose by. */
enum { TEXT_LEAST = 20000, EPOCHS_MOST = 20, SECS_LEAST = 60 };
#define TEXT_ENOUGH 8e9

/* From small to large. */
static const struct shape {
    int layers, head, width, context, batch;
} shapes[] = {
    { 4, 64, 128, 128, 8 },      { 4, 64, 192, 128, 8 },
    { 6, 64, 256, 256, 8 },      { 6, 64, 384, 256, 16 },
    { 8, 64, 512, 512, 16 },     { 12, 128, 768, 1024, 16 },
    { 24, 128, 1024, 1024, 16 },
};

/* The values that are written to the settings. */
struct setup {
    const char *from; /* the argument */
    char *text;       /* a file or a folder */
    char *data, *ini; /* NAME-data and NAME.ini */
    char *max_bad;    /* an option of gdata */
    double bytes;     /* of the text */
    int vocab;
    bool on_gpu;
    double rate; /* floating-point operations a second */
    const struct shape *shape;
    double parameters, products; /* of the model; in its matrix products */
    double tokens;               /* that it is trained on */
    double secs, steps;
};

static int measure_text(struct setup *s, struct err *e)
{
    char size[NUM_TEXT];
    struct corpus_conf conf;
    struct corpus_stats stats = { 0 };
    struct corpus_block *b;
    struct corpus *c;
    int got;

    if (corpus_conf_set(&conf, &input, &s->text, 1, e) < 0 ||
        corpus_open(&c, &conf, e) < 0)
        return -1;
    while ((got = corpus_next(c, &b, e)) > 0) {
        corpus_done(c, b);
        corpus_stats(c, &stats);
        if ((double)stats.text >= TEXT_ENOUGH)
            break;
    }
    corpus_close(c);
    if (got < 0)
        return -1;
    if (got == 0) /* what is wrong with the text was said */
        setenv("GDATA_TEXT_IS_KNOWN", "1", 1);
    s->bytes = (double)stats.text;
    if (s->bytes < TEXT_LEAST)
        return err_input(e,
                         "%s has %s of text; a model needs 20 kB at least, and "
                         "1 MB to write words",
                         s->from, num_bytes(size, s->bytes));
    for (size_t i = 0; i < sizeof vocabularies / sizeof vocabularies[0]; i++)
        if (s->bytes >= vocabularies[i].bytes)
            s->vocab = vocabularies[i].vocab;
    return 0;
}

/* Training reaches about half the rate of one large product. */
static int measure_machine(struct setup *s, struct err *e)
{
    AUTO(dev_close) struct dev dev = { 0 };

    if (dev_open(&dev, "auto", e) < 0)
        return -1;
    s->on_gpu = dev.type != &cpu_dev;
    s->rate = 0.5 * measure_large_product(&dev, s->on_gpu ? DT_BF16 : DT_F32) *
              (s->on_gpu ? (double)ranks : 1);
    return 0;
}

/* About three bytes of text make a token; a tenth is held out. */
static double epoch(const struct setup *s)
{
    return 0.9 * s->bytes / 3;
}

/*
 * The largest shape that sees ten tokens a parameter of its products in the
 * time, by 6 operations per parameter and token; 20 would be compute-optimal,
 * but a model of a few minutes gains more from its size.  What is read too
 * often is learned by heart, so the time ends before that.
 */
static void choose_shape(struct setup *s)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct shape *const h = &shapes[i];
        const double width = h->width, table = s->vocab * width;
        const double products = 12 * h->layers * width * width + table;
        const double second = s->rate / (6 * products);
        const double enough = EPOCHS_MOST * epoch(s) / second;
        const double secs = fmin(3600 * hours, fmax(enough, SECS_LEAST));
        const double tokens = secs * second;

        if (i > 0 && tokens < 10 * products)
            break;
        s->shape = h;
        s->products = products;
        /* with the embedding, and those of the values of every other layer */
        s->parameters = products + table * (1 + h->layers / 2);
        s->tokens = tokens;
        s->secs = secs;
    }
    s->steps = fmax(20, s->tokens / ((double)s->shape->batch *
                                     s->shape->context * (double)ranks));
}

/* The ids, and the checkpoints: the weights and two moments, four times. */
static int check_disk(const struct setup *s, struct err *e)
{
    const double need = 3 * epoch(s) + 48 * s->parameters + 1e6;
    AUTO_FREE char *folder = path_parent(s->ini);
    char size[2][NUM_TEXT];
    struct statvfs fs;
    int ret = 0;

    if (statvfs(folder, &fs) == 0 &&
        (double)fs.f_bavail * (double)fs.f_frsize < need)
        ret = err_set(
            e, ERR_SYSTEM,
            "the disk of %s has %s left, but the tokens and the "
            "checkpoints need %s",
            folder,
            num_bytes(size[0], (double)fs.f_bavail * (double)fs.f_frsize),
            num_bytes(size[1], need));
    return ret;
}

static void print_settings(FILE *out, const struct setup *s)
{
    const struct shape *const h = s->shape;
    const double times = s->tokens / epoch(s);

    fprintf(out,
            "; Written by 'gtrain init' for %.3g minutes on this machine.\n"
            "; gtrain.ini(5) explains every setting.  Worth trying first:\n"
            ";   train.max_time   a longer training\n"
            ";   model.width, recipe.depth   a larger model\n"
            ";   optim.muon_lr    another learning rate\n"
            "\n[recipe]\n; 'gtrain plan --only recipe' prints what follows.\n"
            "name = fast\ndepth = %d\n"
            "\n[data]\ntokenizer = %s/tok\n"
            "train = %s/text_train_*.bin\nval = %s/text_val_*.bin\n"
            "; The order of the recipe, bestfit, would cut long documents.\n"
            "order = epoch\n"
            "\n[model]\nwidth = %d\nhead_dim = %d\ncontext = %d\n",
            s->secs / 60, h->layers, s->data, s->data, s->data, h->width,
            h->head, h->context);
    if (times > 3)
        fprintf(out, "; Every token is read about %.0f times.\ndropout = %s\n",
                times, times > 10 ? "0.2" : "0.1");
    fprintf(
        out,
        "\n[train]\n"
        "; The batch is a micro-batch of each rank; that of the recipe is for "
        "a\n; longer training.\n"
        "tokens_per_step = 0\nmicro_batch = %d\nmax_time = %.0fs\n"
        "\n[schedule]\n"
        "; More steps than the time allows: the schedule follows the time.\n"
        "steps = %.0f\n"
        "\n[eval]\nevery = 5%%\nsequences = 128\n"
        "; The checkpoint with the best loss is kept.\npatience = 5\n"
        "\n[sample]\nevery = 20%%\ntokens = 96\n"
        "\n[checkpoint]\nevery = 20%%\nkeep_best = yes\n",
        h->batch, s->secs, 2 * s->steps);
}

static int write_settings(const struct setup *s, struct err *e)
{
    struct save save = { 0 };

    if (save_open(&save, s->ini, e) < 0)
        return -1;
    print_settings(save.fp, s);
    return save_commit(&save, e);
}

/* Print a command as a shell would take it. */
static void print_command(const char *const *argv)
{
    AUTO(buf_clear) struct buf line = BUF_INIT;

    for (; *argv; argv++)
        buf_shell_option(&line, "", *argv);
    pager_print(ERR_IGNORED, "$%s\n", line.s);
    fflush(stdout);
}

static int run_command(const char *const *argv, struct err *e)
{
    AUTO_FREE char *program = spawn_find(argv[0], e);
    struct spawn s = { 0 };
    const char *words[32] = { program };
    int ret = -1;

    if (program) {
        for (int i = 1; argv[i]; i++)
            words[i] = argv[i];
        print_command(argv);
        ret = spawn_run(words, &s, e);
    }
    return ret;
}

/* Run a command of gdata on the text. */
static int read_text(const struct setup *s, const char *const *command,
                     struct err *e)
{
    const char *argv[32];
    const struct {
        const char *option, *value;
    } passed[] = {
        { "--input", input.format ? corpus_formats[input.format] : NULL },
        { "--field", input.field },
        { "--separator", input.separator },
        { "--where", input.where },
        { "--part", input.part },
        { "--bad", input.bad ? corpus_bad_words[input.bad] : NULL },
        { "--max-bad", s->max_bad },
    };
    size_t n = 0;

    for (; *command; command++)
        argv[n++] = *command;
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++)
        if (passed[i].value) {
            argv[n++] = passed[i].option;
            argv[n++] = passed[i].value;
        }
    argv[n++] = s->text;
    argv[n] = NULL;
    return run_command(argv, e);
}

static int prepare(struct setup *s, struct err *e)
{
    AUTO_FREE char *tok = path_join(s->data, "tok");
    AUTO_FREE char *prefix = path_join(s->data, "text");
    AUTO_FREE char *vocab = xasprintf("%d", s->vocab);
    const char *const bpe[] = { "gdata", "bpe", "--vocab", vocab,
                                "-o",    tok,   NULL };
    const char *const encode[] = { "gdata", "encode", "-T",      tok,
                                   "--val", "10%",    "--split", "tail",
                                   "-o",    prefix,   NULL };

    if (path_make(s->data, e) < 0 || read_text(s, bpe, e) < 0 ||
        read_text(s, encode, e) < 0)
        return -1;
    return write_settings(s, e);
}

/* The model exists, whatever becomes of this. */
static void show(const char *const *argv)
{
    struct err e = { 0 };

    if (run_command(argv, &e) < 0)
        log_warn("%s", e.text);
    printf("\n");
}

static int start_training(const struct setup *s, struct err *e)
{
    const char *const how = ranks == 1  ? NULL
                            : s->on_gpu ? "--gpus"
                                        : "--ranks";
    AUTO_FREE char *count = xasprintf("%ld", ranks);
    const char *const argv[] = {
        "gtrain", "--config", s->ini, how, count, NULL
    };
    const char *const plot[] = { "gplot", "loss", "@latest", NULL };
    const char *const sample[] = { "gtrain", "sample", "--tokens", "150",
                                   NULL };
    AUTO(buf_clear) struct buf ini = BUF_INIT;

    print_command(argv);
    if (only_prepare)
        return 0;
    /* a terminal and its signals are passed on as to several ranks */
    if (local_ranks_run((char *const *)(const void *)argv, (int)ranks, e) < 0)
        return -1;
    printf("\n");
    show(plot);
    show(sample);
    buf_shell_short(&ini, s->ini);
    return pager_print(
        e,
        "Next:\n"
        "  gtrain sample --prompt 'The '    more text from the model\n"
        "  gtrack ls                        all runs\n"
        "  gtrain --config %-16s train again, after you changed it\n",
        ini.s);
}

/* ---- the text ---------------------------------------------------------- */

static int copy_input(const char *path, struct err *e)
{
    struct save save = { 0 };
    char buf[1 << 16];
    size_t got;

    if (save_open(&save, path, e) < 0)
        return -1;
    while ((got = fread(buf, 1, sizeof buf, stdin)) > 0)
        fwrite(buf, 1, got, save.fp);
    if (ferror(stdin)) {
        save_abandon(&save);
        return err_sys(e, "cannot read standard input");
    }
    return save_commit(&save, e);
}

/* The text is read several times: what is not on the disk is saved first. */
static int save_text_of(struct setup *s, const char *file, struct err *e)
{
    const char *const fetch[] = {
        "gdata", "fetch", "-o", s->data, s->from, NULL
    };

    if (!file) {
        s->text = xstrdup(s->from);
        return 0;
    }
    s->text = path_join(s->data, file);
    if (path_make(s->data, e) < 0)
        return -1;
    return strcmp(s->from, "-") == 0 ? copy_input(s->text, e)
                                     : run_command(fetch, e);
}

/* "texts/alice.txt" is called alice. */
static char *name_of(const char *text)
{
    AUTO_FREE char *path = xstrdup(text);
    char *name, *dot;

    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    name = xstrdup(path_name(path));
    dot = strrchr(name, '.');
    if (dot && dot != name)
        *dot = '\0';
    for (char *p = name; (p = strpbrk(p, not_in_names));)
        *p = '_';
    return name;
}

static void describe(const struct setup *s)
{
    char size[NUM_TEXT], parameters[NUM_TEXT], tokens[NUM_TEXT], time[NUM_TEXT],
        asked[NUM_TEXT];

    log_info("%s has %s of text: a vocabulary of %d; %s parameters, and about "
             "%s tokens in %s; the steps follow the clock",
             s->from, num_bytes(size, s->bytes), s->vocab,
             num_short(parameters, s->parameters), num_short(tokens, s->tokens),
             num_duration(time, s->secs));
    if (s->secs < 3600 * hours)
        log_warn("%s are enough for this text, which is read about %.0f times; "
                 "in %s the model would learn it by heart",
                 time, s->tokens / epoch(s), num_duration(asked, 3600 * hours));
    if (s->tokens < 10 * s->products)
        log_info("a model of this size becomes better with ten tokens for "
                 "each parameter: with more %s",
                 s->secs < 3600 * hours ? "text" : "time");
}

static int init_setup(struct setup *s, const char *file, struct err *e)
{
    if (path_exists(s->ini))
        return err_usage(e,
                         "%s exists; train with 'gtrain --config %s', with "
                         "--resume auto to resume a run that was stopped, or "
                         "choose another name with -o",
                         s->ini, s->ini);
    if (save_text_of(s, file, e) < 0 || measure_text(s, e) < 0 ||
        measure_machine(s, e) < 0)
        return -1;
    choose_shape(s);
    describe(s);
    return check_disk(s, e) < 0 || prepare(s, e) < 0 ? -1
                                                     : start_training(s, e);
}

static int init_main(int argc, char **argv, struct err *e)
{
    const struct catalog_query q = { .name = argv[0] };
    AUTO(catalog_links_clear) struct catalog_links links = { 0 };
    struct setup s = { 0 };
    const char *file = NULL; /* of a text that is not on the disk */
    char *name;
    int ret = 0;

    if (argc != 1)
        return err_usage(e, "expected one text: a file, a folder, a URL or -");
    if (output && strpbrk(output, not_in_names))
        return err_usage(e,
                         "--output: '%s' has a character of '%s' or ends a "
                         "line; settings cannot name such files",
                         output, not_in_names + 2);
    if (!(hours > 0 && hours <= 10000))
        return err_usage(e, "--hours expects 0 to 10000, not %g", hours);
    s.from = argv[0];
    if (strcmp(s.from, "-") == 0)
        file = input.format == CORPUS_JSONL ? "text.jsonl" : "text.txt";
    if (strstr(s.from, "://")) {
        if (catalog_find(&links, &q, e) < 0)
            return -1;
        file = links.link[0].file;
    }
    if (input.max_bad != CORPUS_OPTS_INIT.max_bad)
        s.max_bad = xasprintf("%.17g", input.max_bad);
    name = output ? xstrdup(output) : name_of(file ? file : s.from);
    s.data = xasprintf("%s-data", name);
    s.ini = xasprintf("%s.ini", name);
    ret = init_setup(&s, file, e);
    FREE(s.text, s.max_bad, s.data, s.ini, name);
    return ret;
}

const struct cmd cmd_init = {
    .name = "init",
    .args = "TEXT",
    .help = "prepare a text, write settings for this machine, and train",
    .opts = init_opts,
    .run = init_main,
};
