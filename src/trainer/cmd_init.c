/*
 * gtrain init - from a text to a running model
 */
#include "config.h"

#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/save.h"
#include "common/spawn.h"
#include "kernels/dev.h"
#include "trainer/device/measure.h"

static const char *output;
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
      "train with N processes (default: 1)" },
    { 0, "no-train", NULL, OPT_FLAG, &only_prepare,
      "prepare everything, but do not start the training" },
    { 0 }
};

/* Bytes of text that are enough for a vocabulary of a size. */
static const struct {
    double bytes;
    int vocab;
} vocabularies[] = {
    { 0, 512 },     { 1e6, 1024 },  { 4e6, 2048 },  { 16e6, 4096 },
    { 64e6, 8192 }, { 1e9, 16384 }, { 8e9, 32768 },
};

/* From small to large. */
static const struct shape {
    int layers, heads, width, context, batch;
} shapes[] = {
    { 4, 4, 128, 128, 8 },      { 4, 4, 192, 128, 8 },
    { 6, 4, 256, 256, 8 },      { 6, 6, 384, 256, 16 },
    { 8, 8, 512, 512, 16 },     { 12, 12, 768, 1024, 16 },
    { 24, 16, 1024, 1024, 16 },
};

/* The values that are written to the settings. */
struct setup {
    const char *text;
    char *data, *ini; /* NAME-data and NAME.ini */
    double bytes;     /* of the text */
    int vocab;
    bool on_gpu;
    double flops; /* floating-point operations that fit into the time */
    const struct shape *shape;
    double parameters, tokens; /* of the model; that it is trained on */
    double steps;
};

static double text_bytes;

static int add_size(const char *path, const struct stat *st, int type,
                    struct FTW *at)
{
    (void)path;
    (void)at;
    text_bytes += type == FTW_F ? (double)st->st_size : 0;
    return 0;
}

static int measure_text(struct setup *s, struct err *e)
{
    text_bytes = 0;
    if (nftw(s->text, add_size, 16, 0) != 0)
        return err_open(e, "reading %s", s->text);
    s->bytes = text_bytes;
    if (s->bytes == 0)
        return err_set(e, ERR_INPUT, "%s has no text", s->text);
    for (size_t i = 0; i < sizeof vocabularies / sizeof vocabularies[0]; i++)
        if (s->bytes >= vocabularies[i].bytes)
            s->vocab = vocabularies[i].vocab;
    return 0;
}

/* Training reaches about half the rate of one large product. */
static int measure_machine(struct setup *s, struct err *e)
{
    struct dev dev = { 0 };

    if (dev_open(&dev, "auto", e) < 0)
        return -1;
    s->on_gpu = dev.type != &cpu_dev;
    s->flops = 0.5 * measure_large_product(&dev, s->on_gpu ? DT_BF16 : DT_F32) *
               3600 * hours * (s->on_gpu ? (double)ranks : 1);
    dev_close(&dev);
    return 0;
}

/*
 * The largest shape that sees ten tokens a parameter in the time, by 6
 * operations per parameter and token; 20 would be compute-optimal, but a model
 * of a few minutes gains more from its size.
 */
static void choose_shape(struct setup *s)
{
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const struct shape *const h = &shapes[i];
        const double width = h->width;
        const double parameters =
            12 * h->layers * width * width + (s->vocab + h->context) * width;
        const double tokens = s->flops / (6 * parameters);

        if (i > 0 && tokens < 10 * parameters)
            break;
        s->shape = h;
        s->parameters = parameters;
        s->tokens = tokens;
    }
    s->steps = fmax(20, s->tokens / ((double)s->shape->batch *
                                     s->shape->context * (double)ranks));
}

/* About three bytes of text make a token; a tenth is held out. */
static double epochs(const struct setup *s)
{
    return s->tokens / (0.9 * s->bytes / 3);
}

static void print_settings(FILE *out, const struct setup *s)
{
    const struct shape *const h = s->shape;
    const double times = epochs(s);

    fprintf(out,
            "; Written by 'gtrain init' for %.3g minutes on this machine.\n"
            "; gtrain.ini(5) explains every setting.  Worth trying first:\n"
            ";   train.max_time   a longer training\n"
            ";   model.width, model.layers   a larger model\n"
            ";   optim.muon_lr    another learning rate\n"
            "\n[data]\ntokenizer = %s/tok\n"
            "train = %s/text_train_*.bin\nval = %s/text_val_*.bin\n"
            "\n[model]\nlayers = %d\nheads = %d\nwidth = %d\ncontext = %d\n"
            "linear_bias = no\n",
            hours * 60, s->data, s->data, s->data, h->layers, h->heads,
            h->width, h->context);
    if (times > 3)
        fprintf(out, "; Every token is read about %.0f times.\ndropout = %s\n",
                times, times > 10 ? "0.2" : "0.1");
    fprintf(
        out,
        "\n[train]\nmicro_batch = %d\nmax_time = %.0fs\n%s"
        "\n[optim]\n"
        "; Muon updates the matrices of the blocks, AdamW the others.\n"
        "name = muon\nmuon_lr = 0.02\nlr = 3e-3\nbeta2 = 0.95\n"
        "decay = 0.01\n"
        "\n[schedule]\n"
        "; More steps than the time allows: the schedule follows the time.\n"
        "kind = wsd\nsteps = %.0f\nwarmup = 2%%\ndecay = 40%%\n"
        "min_lr = 6e-5\n"
        "\n[eval]\nevery = 5%%\nsequences = 128\n"
        "\n[sample]\nevery = 20%%\ntokens = 96\n"
        "\n[checkpoint]\nevery = 20%%\n",
        h->batch, hours * 3600, s->on_gpu ? "precision = bf16\n" : "",
        2 * s->steps);
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
    struct buf line = BUF_INIT;

    for (; *argv; argv++) {
        buf_char(&line, ' ');
        buf_shell_short(&line, *argv);
    }
    printf("$%s\n", line.s);
    fflush(stdout);
    buf_clear(&line);
}

static int run_command(const char *const *argv, struct err *e)
{
    char *const program = spawn_find(argv[0], e);
    struct spawn s = { 0 };
    const char *words[16] = { program };
    int ret = -1;

    if (program) {
        for (int i = 1; argv[i]; i++)
            words[i] = argv[i];
        print_command(argv);
        ret = spawn_run(words, &s, e);
    }
    free(program);
    return ret;
}

static int prepare(struct setup *s, struct err *e)
{
    char *const tok = path_join(s->data, "tok");
    char *const prefix = path_join(s->data, "text");
    char *const vocab = xasprintf("%d", s->vocab);
    const char *const bpe[] = { "gdata", "bpe", "--vocab", vocab,
                                "-o",    tok,   s->text,   NULL };
    const char *const encode[] = { "gdata", "encode", "-T",      tok,
                                   "--val", "10%",    "--split", "tail",
                                   "-o",    prefix,   s->text,   NULL };
    int ret = path_make(s->data, e);

    if (ret == 0)
        ret = run_command(bpe, e);
    if (ret == 0)
        ret = run_command(encode, e);
    if (ret == 0)
        ret = write_settings(s, e);
    free(tok);
    free(prefix);
    free(vocab);
    return ret;
}

/* Become the training, so that the terminal and signals are its own. */
static int start_training(const struct setup *s, struct err *e)
{
    const char *const how = ranks == 1  ? NULL
                            : s->on_gpu ? "--gpus"
                                        : "--ranks";
    char *const count = xasprintf("%ld", ranks);
    const char *const argv[] = {
        "gtrain", "--config", s->ini, how, count, NULL
    };
    int ret = 0;

    printf("\nAfter the training:\n"
           "  gtrain sample --prompt 'The '    text from the model\n"
           "  gplot loss @latest               its loss\n"
           "  gtrack ls                        all runs\n"
           "To change the model or the time, edit %s and train again:\n\n",
           s->ini);
    print_command(argv);
    if (!only_prepare) {
        execl("/proc/self/exe", argv[0], argv[1], argv[2], how, count,
              (char *)NULL);
        ret = err_sys(e, "starting gtrain");
    }
    free(count);
    return ret;
}

/* "texts/alice.txt" is called alice. */
static char *name_of(const char *text)
{
    char *const path = xstrdup(text);
    char *name, *dot;

    for (size_t n = strlen(path); n > 1 && path[n - 1] == '/'; n--)
        path[n - 1] = '\0';
    name = xstrdup(path_name(path));
    dot = strrchr(name, '.');
    if (dot && dot != name)
        *dot = '\0';
    free(path);
    return name;
}

static int init_setup(struct setup *s, struct err *e)
{
    if (path_exists(s->ini))
        return err_set(e, ERR_USAGE,
                       "%s exists; train with 'gtrain --config %s', or choose "
                       "another name with -o",
                       s->ini, s->ini);
    if (measure_text(s, e) < 0 || measure_machine(s, e) < 0)
        return -1;
    choose_shape(s);
    log_info("%s has %.1f MB: a vocabulary of %d; %.1fM parameters and %.1fM "
             "tokens fit into %.3g minutes here",
             s->text, s->bytes / 1e6, s->vocab, s->parameters / 1e6,
             s->tokens / 1e6, hours * 60);
    if (epochs(s) > 20)
        log_warn("the text is short: it will be read about %.0f times, and the "
                 "model may learn it by heart",
                 epochs(s));
    return prepare(s, e) < 0 ? -1 : start_training(s, e);
}

static int init_main(int argc, char **argv, struct err *e)
{
    struct setup s = { 0 };
    char *name;
    int ret;

    if (argc != 1)
        return err_set(e, ERR_USAGE, "expected one file or folder of text");
    if (!(hours > 0 && hours <= 10000))
        return err_set(e, ERR_USAGE, "--hours expects 0 to 10000, not %g",
                       hours);
    if (ranks < 1 || ranks > 1024)
        return err_set(e, ERR_USAGE, "--ranks expects 1 to 1024, not %ld",
                       ranks);
    s.text = argv[0];
    name = output ? xstrdup(output) : name_of(argv[0]);
    s.data = xasprintf("%s-data", name);
    s.ini = xasprintf("%s.ini", name);
    ret = init_setup(&s, e);
    free(s.data);
    free(s.ini);
    free(name);
    return ret;
}

const struct cmd cmd_init = {
    .name = "init",
    .args = "TEXT",
    .help = "prepare a text, write settings for this machine, and train",
    .opts = init_opts,
    .run = init_main,
};
