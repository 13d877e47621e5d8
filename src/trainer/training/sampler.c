#include "config.h"
#include "trainer/training/sampler.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/rng.h"
#include "kernels/half.h"
#include "trainer/model/graph.h"

enum {
    BLOCK = 32,    /* tokens of a sequence that the decoder reads at once */
    PROMPTS = 4096 /* tokens of prompts that are processed at once */
};

/* ---- one draw --------------------------------------------------------- */

static int by_logit(const void *a, const void *b)
{
    const struct sampler_token *x = a, *y = b;

    if (x->p != y->p)
        return x->p < y->p ? 1 : -1;
    return x->id - y->id;
}

/* Restore a heap of n, whose root has the least logit, where only c[at] may be
 * too close to the root. */
static void sift_down(struct sampler_token *c, int64_t n, int64_t at)
{
    const struct sampler_token moved = c[at];
    int64_t child;

    while ((child = 2 * at + 1) < n) {
        if (child + 1 < n && by_logit(&c[child + 1], &c[child]) > 0)
            child++;
        if (by_logit(&c[child], &moved) < 0)
            break;
        c[at] = c[child];
        at = child;
    }
    c[at] = moved;
}

/* Few tokens displace the least likely one so far, so the heap seldom changes.
 */
int sampler_likeliest(struct sampler_token *c, int64_t k, const float *logits,
                      int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(logits[i]))
            return -1;
    for (int64_t i = 0; i < k; i++)
        c[i] = (struct sampler_token){ logits[i], (int32_t)i };
    for (int64_t i = k / 2 - 1; i >= 0 && k < n; i--)
        sift_down(c, k, i);
    for (int64_t i = k; i < n; i++) {
        if (logits[i] > c[0].p) {
            c[0] = (struct sampler_token){ logits[i], (int32_t)i };
            sift_down(c, k, 0);
        }
    }
    return 0;
}

/* The number of likeliest tokens that have the probability top_p together.  c
 * is sorted, and the sum of p is `total`. */
static int64_t count_nucleus(const struct sampler_token *c, int64_t n,
                             double total, double top_p)
{
    double sum = 0;

    for (int64_t i = 0; i < n; i++) {
        sum += (double)c[i].p;
        if (sum >= top_p * total)
            return i + 1;
    }
    return n;
}

int32_t sampler_draw(const float *logits, int64_t n, struct sampler_token *c,
                     const struct sample_settings *conf, float uniform)
{
    const int64_t most = conf->temperature > 0 ? conf->top_k : 1;
    const int64_t k = most > 0 && most < n ? most : n;
    double total = 0, at;
    int64_t last = k;
    float top;

    if (sampler_likeliest(c, k, logits, n) < 0)
        return -1;
    if (conf->temperature <= 0)
        return c[0].id;
    if (k < n || conf->top_p < 1)
        qsort(c, (size_t)k, sizeof *c, by_logit);
    top = c[0].p;
    for (int64_t i = 1; i < k; i++)
        top = fmaxf(top, c[i].p);
    for (int64_t i = 0; i < k; i++) {
        c[i].p = (float)exp((double)(c[i].p - top) / conf->temperature);
        total += (double)c[i].p;
    }
    if (conf->top_p < 1) {
        last = count_nucleus(c, k, total, conf->top_p);
        total = 0;
        for (int64_t i = 0; i < last; i++)
            total += (double)c[i].p;
    }
    at = (double)uniform * total;
    for (int64_t i = 0; i < last; i++) {
        at -= (double)c[i].p;
        if (at < 0)
            return c[i].id;
    }
    return c[last - 1].id;
}

double sampler_log_sum(const float *logits, int64_t n, int64_t *likeliest)
{
    const float *best = logits;
    double sum = 0;

    for (int64_t i = 1; i < n; i++)
        best = logits[i] > *best ? &logits[i] : best;
    for (int64_t i = 0; i < n; i++)
        sum += (double)expf(logits[i] - *best);
    *likeliest = best - logits;
    return (double)*best + log(sum);
}

/* ---- a sampler -------------------------------------------------------- */

static int open_graph(struct engine *eng, struct graph *g, struct err *e)
{
    const struct graph_conf how = { .fuse = true, .borrow = &eng->gpt.graph };

    if (graph_memory_alloc(g, &eng->dev, &how, e) < 0)
        return err_wrap(e, "sampling");
    parallel_attach_reader(&eng->parallel, g);
    return 0;
}

/* Memory for the logits of a graph. */
static int open_logits(struct sampler *s, struct gpt *gpt, struct err *e)
{
    const struct tensor *out = graph_val(&gpt->graph, gpt->output);
    const size_t n = (size_t)tensor_count(out);

    s->logits = mem_alloc(n, sizeof *s->logits, "logits", e);
    s->raw = mem_alloc(n, sizeof *s->logits, "logits", e);
    return s->logits && s->raw ? 0 : -1;
}

int sampler_open(struct sampler *s, struct engine *eng, int count, int64_t room,
                 int bits, bool losses, struct err *e)
{
    const int64_t context = eng->set->model.context;
    const int64_t capacity = room < context ? room : context;
    const bool blocks = eng->dev.type->any_size && (count == 1 || losses);

    *s = (struct sampler){ .engine = eng,
                           .conf = &eng->set->sample,
                           .count = count,
                           .block = blocks && capacity > BLOCK ? BLOCK
                                    : blocks                   ? capacity
                                                               : 1,
                           .capacity = capacity,
                           .seed = (uint64_t)eng->set->sample.seed };
    gpt_build_decoder(&s->decoder, eng->set, count, s->block, capacity, losses);
    if (open_graph(eng, &s->decoder.graph, e) < 0)
        return -1;
    if (gpt_positions(&eng->set->model) > 0 && room > context + 1) {
        gpt_build_decoder(&s->window, eng->set, 1, context, 0, false);
        if (open_graph(eng, &s->window.graph, e) < 0)
            return -1;
    }
    s->last = xcalloc((size_t)(count * s->block), sizeof *s->last);
    s->targets =
        losses ? xcalloc((size_t)(count * s->block), sizeof *s->last) : NULL;
    s->recent = xcalloc((size_t)(count * context), sizeof *s->recent);
    s->order =
        mem_alloc((size_t)eng->set->model.vocab, sizeof *s->order, "logits", e);
    if (open_logits(s, &s->decoder, e) < 0 || !s->order ||
        (bits && quantize_weights(&s->decoder.graph, bits, e) < 0))
        return -1;
    gpt_resize(&s->decoder, count, 1);
    if (!bits)
        quantize_borrow(&s->decoder.graph, &eng->gpt.graph);
    if (s->window.T > 0)
        quantize_borrow(&s->window.graph, &s->decoder.graph);
    return 0;
}

int sampler_open_window(struct sampler *s, struct engine *eng, struct err *e)
{
    *s = (struct sampler){ .engine = eng };
    gpt_build_decoder(&s->window, eng->set, 1, eng->set->model.context, 0,
                      false);
    if (open_graph(eng, &s->window.graph, e) < 0)
        return -1;
    quantize_borrow(&s->window.graph, &eng->gpt.graph);
    return open_logits(s, &s->window, e);
}

void sampler_close(struct sampler *s)
{
    graph_clear(&s->decoder.graph);
    graph_clear(&s->window.graph);
    FREE(s->last, s->targets, s->recent, s->logits, s->raw, s->order);
    *s = (struct sampler){ 0 };
}

/* Convert the logits to fp32 from the type of the model, and bound them. */
static void convert_logits(struct sampler *s, const struct tensor *out)
{
    const float cap = s->targets ? 0.0f : (float)s->engine->set->model.softcap;
    const uint16_t *half = s->raw;

    if (out->type == DT_F32)
        memcpy(s->logits, s->raw, tensor_bytes(out));
    else
        for (int64_t i = 0; i < tensor_count(out); i++)
            s->logits[i] = out->type == DT_BF16 ? float_from_bf16(half[i])
                                                : float_from_f16(half[i]);
    for (int64_t i = 0; cap > 0 && i < tensor_count(out); i++)
        s->logits[i] = cap * tanhf(s->logits[i] / cap);
}

/* Run the decoder on the newest tokens, which are at position `at`. */
static void run_decoder(struct sampler *s, int64_t at, const struct tensor *out)
{
    struct dev *dev = &s->engine->dev;

    gpt_set_inputs(&s->decoder, s->last, s->targets);
    s->decoder.graph.position = at;
    graph_run_forward(&s->decoder.graph);
    dev->type->get(dev, s->raw, out->data, tensor_bytes(out));
}

/* Process the context of each sequence again; out is as of the decoder. */
static void run_window(struct sampler *s, const struct tensor *out)
{
    struct dev *dev = &s->engine->dev;
    const int64_t T = s->window.T;
    const struct tensor *all = graph_val(&s->window.graph, s->window.output);
    const size_t row = tensor_bytes(out) / (size_t)s->count;

    for (int i = 0; i < s->count; i++) {
        gpt_set_inputs(&s->window, s->recent + i * T, NULL);
        graph_run_forward(&s->window.graph);
        dev->type->get(dev, (char *)s->raw + (size_t)i * row,
                       (char *)all->data + (size_t)(T - 1) * row, row);
    }
}

int sampler_window(struct sampler *s, const int32_t *id, struct err *e)
{
    struct dev *dev = &s->engine->dev;
    const struct tensor *out = graph_val(&s->window.graph, s->window.output);

    gpt_set_inputs(&s->window, id, NULL);
    graph_run_forward(&s->window.graph);
    dev->type->get(dev, s->raw, out->data, tensor_bytes(out));
    if (dev_sync(dev, e) < 0)
        return -1;
    convert_logits(s, out);
    return 0;
}

/* Append the newest tokens, which are at position `at`, to s->recent. */
static void append_recent(struct sampler *s, int64_t at)
{
    const int64_t context = s->engine->set->model.context, T = s->decoder.T;

    for (int64_t i = 0; i < s->count * T; i++) {
        int32_t *recent = s->recent + i / T * context;
        const int64_t here = at + i % T;

        if (here >= context)
            memmove(recent, recent + 1, (size_t)(context - 1) * sizeof *recent);
        recent[here < context ? here : context - 1] = s->last[i];
    }
}

/* Compute the logits after the newest tokens, which are at position `at`. */
static int compute_logits(struct sampler *s, int64_t at, struct err *e)
{
    const struct tensor *out = graph_val(&s->decoder.graph, s->decoder.output);

    append_recent(s, at);
    if (s->window.T > 0 && at >= s->window.T)
        run_window(s, out);
    else
        run_decoder(s, at, out);
    if (dev_sync(&s->engine->dev, e) < 0)
        return -1;
    convert_logits(s, out);
    return 0;
}

/* Whether the sequence draws the token after position `at`. */
static bool draws_after(const struct ids *prompt, int64_t at, int64_t tokens)
{
    const int64_t n = (int64_t)prompt->n;

    return at + 1 >= n && at + 1 < n + tokens;
}

/* Draw a token of each sequence that has processed its prompt and is not
 * complete; returns 1 if the logits are not finite. */
static int draw_tokens(struct sampler *s, const struct ids *prompts,
                       int64_t tokens, int64_t at, sampler_fn *on_token,
                       void *arg)
{
    const int64_t vocab = s->engine->set->model.vocab;
    const int64_t cols =
        tensor_cols(graph_val(&s->decoder.graph, s->decoder.output));

    for (int i = 0; i < s->count; i++) {
        const float u = rng_uniform(
            s->seed, rng_stream(RNG_SAMPLE, (uint64_t)i, 0), (uint64_t)at);

        if (!draws_after(&prompts[i], at, tokens))
            continue;
        s->last[i] =
            sampler_draw(s->logits + i * cols, vocab, s->order, s->conf, u);
        if (s->last[i] < 0)
            return 1;
        on_token(arg, i, s->last[i]);
    }
    return 0;
}

/* ---- prompts ----------------------------------------------------------- */

/* The tokens of a prompt that the model reads. */
static struct ids cut_prompt(const struct sampler *s, const struct ids *all)
{
    const size_t context = (size_t)s->engine->set->model.context;
    struct ids cut = *all;

    if (all->n > context) {
        if (s->engine->coll.rank == 0)
            log_warn("the prompt has %zu tokens; the model reads the last "
                     "%zu of them, its context",
                     all->n, context);
        cut.id += all->n - context;
        cut.n = context;
    }
    return cut;
}

/* Cache the keys and values of the first n tokens of B sequences from i on. */
static int process_tokens(struct sampler *s, const int32_t *id, int64_t B,
                          int64_t n, int i, struct err *e)
{
    struct gpt prompt = { 0 };
    int ret = -1;

    gpt_build_prompts(&prompt, s->engine->set, B, n);
    if (open_graph(s->engine, &prompt.graph, e) == 0) {
        graph_store_keys(&prompt.graph, &s->decoder.graph, i);
        quantize_borrow(&prompt.graph, &s->decoder.graph);
        gpt_set_inputs(&prompt, id, NULL);
        graph_run_forward(&prompt.graph);
        ret = dev_sync(&s->engine->dev, e);
    }
    graph_clear(&prompt.graph);
    return ret;
}

/* The caches of the first sequences take those that differ, until they are
 * copied to their own. */
int sampler_read_prompts(struct sampler *s, const struct ids *prompts,
                         int64_t n, struct err *e)
{
    const int64_t context = s->engine->set->model.context;
    const int most = n < PROMPTS ? (int)(PROMPTS / n) : 1;
    const size_t bytes = (size_t)n * sizeof(int32_t);
    const double before = clock_mono();
    const clock_t used = clock();
    AUTO_FREE int32_t *id = xcalloc((size_t)(s->count * n), sizeof *id);
    AUTO_FREE int *in = xcalloc((size_t)s->count, sizeof *in);
    int different = 0;

    for (int i = 0; i < s->count; i++) {
        memcpy(s->recent + i * context, prompts[i].id, bytes);
        if (i == 0 || memcmp(prompts[i].id, prompts[i - 1].id, bytes) != 0)
            memcpy(id + different++ * n, prompts[i].id, bytes);
        in[i] = different - 1;
    }
    for (int i = 0, B; i < different; i += B) {
        B = different - i < most ? different - i : most;
        if (process_tokens(s, id + i * n, B, n, i, e) < 0)
            return -1;
    }
    for (int i = s->count - 1; i > 0; i--)
        if (in[i] != i)
            graph_copy_keys(&s->decoder.graph, in[i], i, n);
    s->read = n;
    s->prompt_tokens += different * n;
    s->prompt_seconds += clock_mono() - before;
    s->prompt_processor += (double)(clock() - used) / CLOCKS_PER_SEC;
    return 0;
}

static int continue_prompts(struct sampler *s, const struct ids *prompts,
                            int64_t tokens, sampler_fn *on_token, void *arg,
                            struct err *e)
{
    size_t least = prompts[0].n, most = least;

    for (int i = 1; i < s->count; i++) {
        least = prompts[i].n < least ? prompts[i].n : least;
        most = prompts[i].n > most ? prompts[i].n : most;
    }
    if (least > 1 &&
        sampler_read_prompts(s, prompts, (int64_t)least - 1, e) < 0)
        return -1;
    for (int64_t at = (int64_t)least - 1; at + 1 < (int64_t)most + tokens;
         at++) {
        for (int i = 0; i < s->count; i++)
            if (at < (int64_t)prompts[i].n)
                s->last[i] = prompts[i].id[at];
        if (compute_logits(s, at, e) < 0)
            return -1;
        if (draw_tokens(s, prompts, tokens, at, on_token, arg) > 0)
            return 1;
    }
    return 0;
}

int sampler_run(struct sampler *s, const struct ids *prompts, int64_t tokens,
                sampler_fn *on_token, void *arg, struct err *e)
{
    AUTO_FREE struct ids *cut = xcalloc((size_t)s->count, sizeof *cut);

    for (int i = 0; i < s->count; i++)
        if (i > 0 && prompts[i].id == prompts[i - 1].id)
            cut[i] = cut[i - 1];
        else
            cut[i] = cut_prompt(s, &prompts[i]);
    return continue_prompts(s, cut, tokens, on_token, arg, e);
}

int sampler_read_block(struct sampler *s, int64_t n, struct err *e)
{
    gpt_resize(&s->decoder, s->count, n);
    s->read += n;
    return compute_logits(s, s->read - n, e);
}

int sampler_read(struct sampler *s, int32_t *id, size_t n, struct err *e)
{
    const struct ids all = { .id = id, .n = n };
    int64_t i = 0, now;

    if (s->read == 0 && n > 1) {
        i = (int64_t)n - 1;
        if (sampler_read_prompts(s, &all, i, e) < 0)
            return -1;
    }
    for (; i < (int64_t)n; i += now) {
        const int64_t left = s->capacity - s->read;

        now = (int64_t)n - i < s->block ? (int64_t)n - i : s->block;
        now = now < left ? now : left > 0 ? left : 1;
        memcpy(s->last, id + i, (size_t)now * sizeof *id);
        if (sampler_read_block(s, now, e) < 0)
            return -1;
    }
    return 0;
}

int32_t sampler_next(struct sampler *s)
{
    const float u = rng_uniform(s->seed, rng_stream(RNG_SAMPLE, 0, 0),
                                (uint64_t)s->read - 1);
    const int64_t last = s->decoder.T - 1;

    return sampler_draw(s->logits + last * s->engine->set->is.vocab_padded,
                        s->engine->set->model.vocab, s->order, s->conf, u);
}

void sampler_prompt(const struct engine *eng, const char *text, struct ids *out)
{
    const int32_t eot =
        eng->data.tokenizer ? tokenizer_eot(eng->data.tokenizer) : -1;

    if (*text && eng->data.tokenizer)
        tokenizer_encode(eng->data.tokenizer, text, strlen(text), 0, out);
    else if (eng->data.tokenizer && eot < 0)
        tokenizer_encode(eng->data.tokenizer, "\n", 1, 0, out);
    if (out->n == 0)
        ids_add(out, eot < 0 ? 0 : eot);
}

void sampler_add(const struct engine *eng, int32_t id, struct buf *text)
{
    const struct tokenizer *const t = eng->data.tokenizer;

    if (id == tokenizer_eot(t))
        buf_char(text, '\n');
    else
        tokenizer_decode(t, &id, 1, text);
}

/* ---- samples during training ------------------------------------------ */

struct sample_texts {
    const struct engine *engine;
    struct buf *text; /* of each sequence */
};

static void add_token(void *arg, int sequence, int32_t id)
{
    const struct sample_texts *t = arg;

    sampler_add(t->engine, id, &t->text[sequence]);
}

int sampler_texts(struct engine *eng, struct buf *all, size_t *last,
                  struct err *e)
{
    const struct sample_settings *c = &eng->set->sample;
    const int count = (int)c->count;
    const struct tokenizer *const tokenizer = eng->data.tokenizer;
    struct sample_texts t = { eng, xcalloc((size_t)count, sizeof *t.text) };
    struct ids prompt = { 0 };
    struct ids *prompts = xcalloc((size_t)count, sizeof *prompts);
    AUTO(sampler_close) struct sampler s = { 0 };
    int ret;

    sampler_prompt(eng, c->prompt, &prompt);
    for (int i = 0; i < count; i++) {
        prompts[i] = prompt;
        t.text[i] = BUF_INIT;
        if (*c->prompt) /* else it is an end-of-text token */
            tokenizer_decode(tokenizer, prompt.id, prompt.n, &t.text[i]);
        tokenizer_drop_space(tokenizer, &t.text[i], 0);
    }
    ret = sampler_open(&s, eng, count, (int64_t)prompt.n + c->tokens, 0, false,
                       e);
    if (ret == 0)
        ret = sampler_run(&s, prompts, c->tokens, add_token, &t, e);
    for (int i = 0; i < count; i++) {
        buf_printf(all, "---- sample %d of step %lld\n", i + 1,
                   (long long)eng->state.step);
        *last = all->len;
        buf_printf(all, "%s\n", t.text[i].s);
        buf_clear(&t.text[i]);
    }
    FREE(t.text, prompts, prompt.id);
    return ret;
}
