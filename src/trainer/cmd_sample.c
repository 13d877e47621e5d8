/*
 * gtrain sample - sample text from a trained model
 */
#include "config.h"
#include "trainer/cmds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "trainer/trained_model.h"
#include "trainer/training/sampler.h"

static struct trained_model model = { .micro_batch = 1 };
static bool int8;

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
    { 0, "int8", NULL, OPT_FLAG, &int8,
      "multiply with 8-bit matrices: faster, nearly the same" },
    TRAINED_MODEL_OPT_DEVICE(model),
    TRAINED_MODEL_OPTS(model),
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

/*
 * A single sample is shown while it is generated; several are collected.  Only
 * whole characters are shown, since a token may end within one.
 */
struct output {
    const struct job *job;
    struct buf *text; /* of each sample */
    bool live;        /* shown while it is generated */
    size_t shown;     /* bytes of it */
    int64_t drawn;    /* tokens */
};

/* How many of n bytes are whole characters. */
static size_t whole_characters(const char *s, size_t n)
{
    size_t i = n, back = 0;

    while (i > 0 && back < 4 && ((unsigned char)s[i - 1] & 0xc0) == 0x80) {
        i--;
        back++;
    }
    if (i > 0) {
        const unsigned char c = (unsigned char)s[i - 1];
        const size_t need = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : c >= 0xc0 ? 1 : 0;

        if (need > back)
            return i - 1;
    }
    return n;
}

static void add_token(void *arg, int sequence, int32_t id)
{
    struct output *o = arg;
    struct buf *b = &o->text[sequence];
    const bool begins = b->len == 0 && !*o->job->set->sample.prompt;

    o->drawn++;
    tokenizer_decode(o->job->data.tokenizer, &id, 1, b);
    if (begins)
        tokenizer_drop_space(o->job->data.tokenizer, b, 0);
    if (o->live) {
        const size_t n = whole_characters(b->s, b->len);

        fwrite(b->s + o->shown, 1, n - o->shown, stdout);
        fflush(stdout);
        o->shown = n;
    }
}

/* Print the rest of a single sample, or all of several. */
static void print_samples(const struct output *o)
{
    const struct sample_settings *c = &o->job->set->sample;

    if (o->live)
        printf("%s\n", o->text[0].s + o->shown);
    for (int i = 0; !o->live && i < c->count; i++)
        printf("---- %d\n%s%s\n", i + 1, c->prompt, o->text[i].s);
}

/* Generate tokens that continue the prompt. */
static int generate(struct job *j, const struct ids *prompt, struct output *o,
                    struct err *e)
{
    const struct sample_settings *c = &j->set->sample;
    const int64_t n = (int64_t)prompt->n;
    struct sampler s = { 0 };
    double before;
    clock_t used;
    int ret = sampler_open(&s, j, (int)c->count, n + c->tokens, e);

    if (ret == 0 && int8)
        ret = sampler_quantize(&s, e);
    before = clock_mono();
    used = clock();
    if (ret == 0)
        ret = sampler_run(&s, prompt->id, n, c->tokens, add_token, o, e);
    if (ret > 0)
        ret = err_set(e, ERR_NONFINITE,
                      "the model's logits are not finite, so no token can be "
                      "drawn; its weights may hold NaN");
    if (ret == 0)
        log_debug("%.2f tokens/s, %.2f ms of processor time per token",
                  (double)o->drawn / (clock_mono() - before),
                  1000 * (double)(clock() - used) / CLOCKS_PER_SEC /
                      (double)o->drawn);
    sampler_close(&s);
    return ret;
}

static int write_samples(struct job *j, struct err *e)
{
    const struct sample_settings *c = &j->set->sample;
    struct output o = { .job = j };
    struct ids prompt = IDS_INIT;
    size_t count;
    int ret;

    if (!j->data.tokenizer)
        return err_set(e, ERR_USAGE,
                       "the model has no tokenizer; use --set "
                       "data.tokenizer=PATH to name it");
    if (override_settings(j->set, e) < 0)
        return -1;
    count = (size_t)c->count;
    o.live = count == 1;
    o.text = xcalloc(count, sizeof *o.text);
    for (size_t i = 0; i < count; i++)
        o.text[i] = (struct buf)BUF_INIT;
    sampler_prompt(j, c->prompt, &prompt);
    if (o.live)
        fputs(c->prompt, stdout);
    ret = generate(j, &prompt, &o, e);
    if (ret == 0)
        print_samples(&o);
    for (size_t i = 0; i < count; i++)
        buf_clear(&o.text[i]);
    free(o.text);
    free(prompt.id);
    return ret;
}

static int sample_main(int argc, char **argv, struct err *e)
{
    return trained_model_run(&model, argc, argv, write_samples, e);
}

const struct cmd cmd_sample = {
    .name = "sample",
    .args = "[MODEL]",
    .help = "sample text from a trained model",
    .opts = sample_opts,
    .run = sample_main,
};
