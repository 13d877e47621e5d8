/*
 * gtrain sample - sample text from a trained model
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/output/pager.h"
#include "common/path.h"
#include "trainer/trained_model.h"
#include "trainer/training/sampler.h"

static struct trained_model model = { .micro_batch = 1 };
static const char *prompt_file;

/* Options that override a setting. */
enum { PROMPT, TOKENS, COUNT, TEMPERATURE, TOP_K, TOP_P, SEED, OVERRIDES };

static struct {
    const char *option, *key, *value;
} override[] = {
    [PROMPT] = { "--prompt", "sample.prompt", NULL },
    [TOKENS] = { "--tokens", "sample.tokens", NULL },
    [COUNT] = { "--count", "sample.count", NULL },
    [TEMPERATURE] = { "--temperature", "sample.temperature", NULL },
    [TOP_K] = { "--top-k", "sample.top_k", NULL },
    [TOP_P] = { "--top-p", "sample.top_p", NULL },
    [SEED] = { "--seed", "sample.seed", NULL },
};

static const struct opt sample_opts[] = {
    { 'p', "prompt", "text", OPT_STRING, &override[PROMPT].value,
      "start with TEXT (default: sample.prompt)" },
    { 0, "prompts", "file", OPT_STRING, &prompt_file,
      "start with each line of FILE, all at the same time" },
    { 't', "tokens", "n", OPT_STRING, &override[TOKENS].value,
      "generate N tokens (default: sample.tokens)" },
    { 'n', "count", "n", OPT_STRING, &override[COUNT].value,
      "generate N samples (default: sample.count)" },
    { 0, "temperature", "x", OPT_STRING, &override[TEMPERATURE].value,
      "divide the logits by X (default: sample.temperature)" },
    { 0, "top-k", "k", OPT_STRING, &override[TOP_K].value,
      "draw from the K most likely tokens; 0: all (default: sample.top_k)" },
    { 0, "top-p", "p", OPT_STRING, &override[TOP_P].value,
      "draw from the most likely tokens that sum to P (default: "
      "sample.top_p)" },
    { 0, "seed", "n", OPT_STRING, &override[SEED].value,
      "use N as the seed (default: sample.seed)" },
    TRAINED_MODEL_OPTS_TO_COMPUTE(model),
    { 0 }
};

static int override_settings(struct settings *s, struct err *e)
{
    for (int i = 0; i < OVERRIDES; i++)
        if (override[i].value &&
            conf_put(&s->conf, override[i].key, override[i].value,
                     override[i].option, e) < 0)
            return -1;
    return 0;
}

/* ---- prompts ----------------------------------------------------------- */

/* The texts that samples start with, and their ids. */
struct prompts {
    char **text;
    struct ids *id;
    size_t n, room;
};

static void add_prompt(struct prompts *p, const char *text)
{
    APPEND(p->text, p->n, p->room) = xstrdup(text);
}

/* Empty lines are not prompts. */
static int read_prompts(struct prompts *p, const char *path, struct err *e)
{
    AUTO(path_fclose) FILE *fp = fopen(path, "re");
    AUTO_FREE char *line = NULL;
    size_t room = 0;
    ssize_t n;

    if (!fp)
        return err_open(e, "cannot open %s", path);
    while ((n = getline(&line, &room, fp)) > 0) {
        if (line[n - 1] == '\n')
            line[n - 1] = '\0';
        if (*line)
            add_prompt(p, line);
    }
    if (ferror(fp))
        return err_sys(e, "cannot read %s", path);
    return p->n ? 0 : err_input(e, "%s contains no prompts", path);
}

static int open_prompts(struct prompts *p, const struct engine *eng,
                        struct err *e)
{
    if (!prompt_file)
        add_prompt(p, eng->set->sample.prompt);
    else if (read_prompts(p, prompt_file, e) < 0)
        return -1;
    p->id = xcalloc(p->n, sizeof *p->id);
    for (size_t i = 0; i < p->n; i++)
        sampler_prompt(eng, p->text[i], &p->id[i]);
    return 0;
}

static void clear_prompts(struct prompts *p)
{
    for (size_t i = 0; i < p->n; i++) {
        free(p->text[i]);
        if (p->id)
            ids_clear(&p->id[i]);
    }
    FREE(p->text, p->id);
}

/* ---- output ------------------------------------------------------------ */

/*
 * A single sample is shown while it is generated; several are collected.  Only
 * whole characters are shown, since a token may end within one.
 */
struct output {
    const struct engine *engine;
    const struct prompts *prompts;
    struct buf *text; /* of each sample */
    int count;        /* of all prompts together */
    bool live;        /* shown while it is generated */
    size_t shown;     /* bytes of it */
    int64_t drawn;    /* tokens */
};

/* The samples of a prompt follow each other. */
static size_t prompt_of(const struct output *o, int sample)
{
    return (size_t)sample * o->prompts->n / (size_t)o->count;
}

static void add_token(void *arg, int sequence, int32_t id)
{
    struct output *o = arg;
    struct buf *b = &o->text[sequence];
    const bool begins =
        b->len == 0 && !*o->prompts->text[prompt_of(o, sequence)];

    o->drawn++;
    sampler_add(o->engine, id, b);
    if (begins)
        tokenizer_drop_space(o->engine->data.tokenizer, b, 0);
    if (o->live) {
        const size_t n = pager_whole(b->s, b->len);

        pager_data(b->s + o->shown, n - o->shown, ERR_IGNORED);
        fflush(stdout);
        o->shown = n;
    }
}

/* Print the rest of a single sample, or all of several. */
static void print_samples(const struct output *o)
{
    for (int i = 0; i < o->count; i++) {
        const char *text = o->text[i].s + o->shown;

        if (!o->live)
            pager_print(ERR_IGNORED, "---- %d\n%s", i + 1,
                        o->prompts->text[prompt_of(o, i)]);
        pager_data(text, strlen(text), ERR_IGNORED);
        putchar('\n');
    }
}

static void log_speed(const char *what, int64_t tokens, double seconds,
                      double processor)
{
    if (tokens > 0)
        log_debug("%s: %.2f tokens/s, %.3f ms of processor time per token",
                  what, (double)tokens / seconds,
                  1000 * processor / (double)tokens);
}

/* Generate tokens that continue the prompts. */
static int generate(struct engine *eng, struct output *o, struct err *e)
{
    const int64_t tokens = eng->set->sample.tokens;
    AUTO_FREE struct ids *prompt = xcalloc((size_t)o->count, sizeof *prompt);
    AUTO(sampler_close) struct sampler s = { 0 };
    size_t longest = 0;
    double before;
    clock_t used;
    int ret;

    for (int i = 0; i < o->count; i++) {
        prompt[i] = o->prompts->id[prompt_of(o, i)];
        longest = prompt[i].n > longest ? prompt[i].n : longest;
    }
    ret = sampler_open(&s, eng, o->count, (int64_t)longest + tokens,
                       trained_model_bits[model.weights], false, e);
    before = clock_mono();
    used = clock();
    if (ret == 0)
        ret = sampler_run(&s, prompt, tokens, add_token, o, e);
    if (ret > 0)
        ret = err_set(e, ERR_NONFINITE,
                      "the model's logits are not finite, so no token can be "
                      "drawn; its weights may hold NaN");
    if (ret == 0) {
        log_speed("prompt", s.prompt_tokens, s.prompt_seconds,
                  s.prompt_processor);
        log_speed("samples", o->drawn, clock_mono() - before - s.prompt_seconds,
                  (double)(clock() - used) / CLOCKS_PER_SEC -
                      s.prompt_processor);
    }
    return ret;
}

/* Generate and print the samples of all prompts. */
static int sample_prompts(struct engine *eng, const struct prompts *p,
                          struct err *e)
{
    struct output o = { .engine = eng,
                        .prompts = p,
                        .count = (int)p->n * (int)eng->set->sample.count };
    int ret;

    o.live = o.count == 1;
    o.text = xcalloc((size_t)o.count, sizeof *o.text);
    for (int i = 0; i < o.count; i++)
        o.text[i] = BUF_INIT;
    if (o.live)
        pager_print(e, "%s", p->text[0]);
    ret = generate(eng, &o, e);
    if (ret == 0)
        print_samples(&o);
    for (int i = 0; i < o.count; i++)
        buf_clear(&o.text[i]);
    free(o.text);
    return ret;
}

/* Samples that are generated at the same time. */
enum { MOST_SAMPLES = 65536 };

static int write_samples(struct engine *eng, struct err *e)
{
    struct prompts p = { 0 };
    int ret;

    if (!eng->data.tokenizer)
        return err_usage(e, "the model has no tokenizer; use --set "
                            "data.tokenizer=PATH to name it");
    if (override_settings(eng->set, e) < 0)
        return -1;
    ret = open_prompts(&p, eng, e);
    if (ret == 0 && p.n > (size_t)(MOST_SAMPLES / eng->set->sample.count))
        ret = err_usage(e,
                        "%zu prompts with %lld samples each are more than %d; "
                        "use a smaller --count or a shorter file",
                        p.n, (long long)eng->set->sample.count, MOST_SAMPLES);
    if (ret == 0)
        ret = sample_prompts(eng, &p, e);
    clear_prompts(&p);
    return ret;
}

static int sample_main(int argc, char **argv, struct err *e)
{
    return trained_model_run(&model, argc, argv, write_samples, e);
}

static void confine_sample(void)
{
    trained_model_confine(&model, NULL);
}

const struct cmd cmd_sample = {
    .name = "sample",
    .args = "[MODEL]",
    .help = "sample text from a trained model",
    .opts = sample_opts,
    .confine = confine_sample,
    .run = sample_main,
};
