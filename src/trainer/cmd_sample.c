/* cmd_sample - gtrain sample: print text from a checkpoint */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "trainer/cmds.h"
#include "trainer/model/quantize.h"
#include "trainer/training/sampler.h"

static const char *root, *device, *prompt;
static struct sample_settings want = { .tokens = -1,
                                       .count = -1,
                                       .top_k = -1,
                                       .seed = -1,
                                       .temperature = -1,
                                       .top_p = -1 };
static struct opt_list sets;
static bool int8;

static const struct opt sample_opts[] = {
    { 'p', "prompt", "text", OPT_STRING, &prompt, "start with TEXT" },
    { 't', "tokens", "n", OPT_LONG, &want.tokens, "draw N tokens" },
    { 'n', "count", "n", OPT_LONG, &want.count, "write N samples" },
    { 0, "temperature", "x", OPT_REAL, &want.temperature,
      "below 1 bolder, above 1 wilder; 0 takes the likeliest" },
    { 0, "top-k", "k", OPT_LONG, &want.top_k,
      "draw from the K likeliest; 0: from all" },
    { 0, "top-p", "p", OPT_REAL, &want.top_p,
      "draw from the likeliest that make up probability P" },
    { 0, "seed", "n", OPT_LONG, &want.seed, "another seed, another text" },
    { 0, "int8", NULL, OPT_FLAG, &int8,
      "read the matrices in 8 bits: faster, nearly the same" },
    { 0, "device", "name", OPT_STRING, &device, "compute on NAME" },
    { 0, "root", "dir", OPT_STRING, &root, "look for runs in DIR" },
    { 's', "set", "section.key=value", OPT_LIST, &sets, "change a setting" },
    { 0 }
};

/* What the command line says over what the settings say. */
static int choose(struct sample_settings *s, struct err *e)
{
    if (want.tokens >= 0)
        s->tokens = want.tokens;
    if (want.count >= 0)
        s->count = want.count;
    if (want.temperature >= 0)
        s->temperature = want.temperature;
    if (want.top_k >= 0)
        s->top_k = want.top_k;
    if (want.top_p >= 0)
        s->top_p = want.top_p;
    if (want.seed >= 0)
        s->seed = want.seed;
    if (prompt)
        s->prompt = prompt;
    if (s->count < 1 || s->count > 4096 || s->tokens < 1)
        return err_set(e, ERR_USAGE,
                       "--count is from 1 to 4096, --tokens at "
                       "least 1");
    return 0;
}

/*
 * One sample is shown as it comes; several are collected.  Bytes are held back
 * until they are whole characters, since a token may end within one.
 */
struct stream {
    struct job *job;
    struct buf *text; /* of each sample */
    bool live;
    size_t shown;
    int64_t drawn;
};

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

static void took(void *arg, int sequence, int32_t id)
{
    struct stream *s = arg;
    struct buf *b = &s->text[sequence];

    s->drawn++;
    tokenizer_decode(s->job->data.tokenizer, &id, 1, b);
    if (s->live) {
        const size_t n = whole_characters(b->s, b->len);

        fwrite(b->s + s->shown, 1, n - s->shown, stdout);
        fflush(stdout);
        s->shown = n;
    }
}

static int draw(struct job *j, struct err *e)
{
    const struct sample_settings *c = &j->set->sample;
    struct stream stream = { .job = j, .live = c->count == 1 };
    struct sampler s = { 0 };
    struct ids ids = IDS_INIT;
    double before;
    clock_t used;
    int ret;

    stream.text = xcalloc((size_t)c->count, sizeof *stream.text);
    for (int64_t i = 0; i < c->count; i++)
        stream.text[i] = (struct buf)BUF_INIT;
    sampler_prompt(j, c->prompt, &ids);
    if (stream.live && *c->prompt)
        fputs(c->prompt, stdout);
    ret = sampler_open(&s, j, (int)c->count, (int64_t)ids.n + c->tokens, e);
    if (ret == 0 && int8)
        ret = quantize_weights(&s.decoder.graph, e);
    before = clock_mono();
    used = clock();
    if (ret == 0)
        ret = sampler_run(&s, ids.id, (int64_t)ids.n, c->tokens, took, &stream,
                          e);
    if (ret > 0)
        ret = err_set(e, ERR_NONFINITE,
                      "the model's logits are not finite, so no token can be "
                      "drawn; its weights may hold NaN");
    if (ret == 0)
        log_debug("%.2f tokens a second, %.2f ms of processor time each",
                  (double)stream.drawn / (clock_mono() - before),
                  1000 * (double)(clock() - used) / CLOCKS_PER_SEC /
                      (double)stream.drawn);
    for (int64_t i = 0; i < c->count; i++) {
        if (ret == 0 && !stream.live)
            printf("---- %lld\n%s%s", (long long)i + 1, c->prompt,
                   stream.text[i].s);
        if (ret == 0)
            printf("%s\n", stream.live ? stream.text[i].s + stream.shown : "");
        buf_clear(&stream.text[i]);
    }
    free(stream.text);
    free(ids.id);
    sampler_close(&s);
    return ret;
}

static int sample_main(int argc, char **argv, struct err *e)
{
    const struct model_word w = { .word = argc > 0 ? argv[0] : NULL,
                                  .root = root,
                                  .device = device,
                                  .sets = &sets,
                                  .micro_batch = 1 };
    struct settings s = { 0 };
    struct job j = { 0 };
    int ret;

    if (argc > 1)
        return err_set(e, ERR_USAGE, "one model at a time, not also %s",
                       argv[1]);
    ret = cmd_open_model(&j, &s, &w, e);
    if (ret == 0 && !j.data.tokenizer)
        ret = err_set(e, ERR_USAGE,
                      "which tokenizer? give --set "
                      "data.tokenizer=PATH");
    if (ret == 0)
        ret = choose(&s.sample, e);
    if (ret == 0)
        ret = draw(&j, e);
    job_close(&j);
    settings_clear(&s);
    free(sets.item);
    return ret;
}

const struct cmd cmd_sample = {
    .name = "sample",
    .args = "[MODEL]",
    .help = "write text with a trained model",
    .opts = sample_opts,
    .run = sample_main,
};
