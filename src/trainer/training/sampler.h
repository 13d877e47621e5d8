#pragma once

#include "trainer/engine/engine.h"

/*
 * sampler - generate text with the model
 *
 *      if (sampler_open(&s, eng, count, room, 0, false, e) < 0 ||
 *          sampler_run(&s, prompts, tokens, on_token, arg, e) < 0)
 *          ...
 *      sampler_close(&s);
 *
 * The keys and values of each sequence are cached, so a token of all sequences
 * takes one pass over the weights.  All tokens of a prompt but the last are
 * processed at once, as in training.  If prompts differ in length, this is true
 * of as many tokens as the shortest has; the others are read one at a time
 * while the other sequences are continued.  A token beyond the model's context
 * is drawn from the tokens before it that fill the context.  With learned
 * positions, these tokens are all processed again, since each of them has a new
 * position; else the newest keys and values replace the oldest in the cache.
 *
 * The random number of a token is a function of the seed, the number of the
 * sequence and the position.  So sampling does not change training, and a
 * sequence does not depend on how many others are generated, except by rounding
 * if prompts differ in length.  Ids that only pad the vocabulary are never
 * drawn.
 */
struct sampler {
    struct engine *engine;
    struct gpt decoder;
    struct gpt window; /* with learned positions, beyond the context */
    const struct sample_settings *conf;
    int count;               /* sequences */
    int64_t block, capacity; /* tokens at once, at most; those of a cache */
    uint64_t seed;
    int64_t prompt_tokens; /* processed all at once, and how long it took */
    double prompt_seconds, prompt_processor;
    int64_t read;     /* tokens, by sampler_read() */
    int32_t *last;    /* newest token of each sequence */
    int32_t *targets; /* what follows them, or NULL: no losses */
    int32_t *recent;  /* the newest tokens, as many as the context, of each */
    float *logits;
    void *raw;                   /* the logits in the type of the model */
    struct sampler_token *order; /* scratch memory of one draw */
};

struct sampler_token {
    float p;
    int32_t id;
};

/* Called with each token that was drawn. */
typedef void sampler_fn(void *arg, int sequence, int32_t id);

/* room: the tokens of a sequence, with its prompt.  bits: those of a number in
 * the matrices to multiply with, 8 or 4; 0: as the engine has them.  losses:
 * instead of logits. */
int sampler_open(struct sampler *, struct engine *, int count, int64_t room,
                 int bits, bool losses, struct err *);
void sampler_close(struct sampler *);
/* Continue the prompt of each sequence, or those tokens at its end that fit
 * into the context, with a warning, by as many tokens as `tokens`.  Returns 1,
 * and draws no more, if the model's logits are not finite. */
int sampler_run(struct sampler *, const struct ids *prompts, int64_t tokens,
                sampler_fn *, void *arg, struct err *);

/* A single sequence, as its caller wants it: read the tokens that follow those
 * read before, and draw the next one, without reading it; -1 if the logits are
 * not finite. */
int sampler_read(struct sampler *, int32_t *id, size_t n, struct err *);
int32_t sampler_next(struct sampler *);
/* Read the first n tokens, at least one, of each sequence; prompts that follow
 * an equal one are not read again. */
int sampler_read_prompts(struct sampler *, const struct ids *prompts, int64_t n,
                         struct err *);
/* Read n tokens of each, s->last(count,n), n <= s->block, after the s->read
 * that are cached.  s->logits has a row for each, as long as the padded
 * vocabulary, or their losses, of s->targets(count,n).  The caller may set
 * s->read and s->count to fewer than there were. */
int sampler_read_block(struct sampler *, int64_t n, struct err *);
/* The logarithm of the sum of exp of n logits; also sets the likeliest id. */
double sampler_log_sum(const float *logits, int64_t n, int64_t *likeliest);

/* The logits of a whole window, in rows of the padded vocabulary, as s->logits;
 * s is opened for these alone. */
int sampler_open_window(struct sampler *, struct engine *, struct err *);
int sampler_window(struct sampler *, const int32_t *id, struct err *);
/* The k likeliest of n tokens, in any order, with their logits; -1 if a logit
 * is not finite. */
int sampler_likeliest(struct sampler_token *, int64_t k, const float *logits,
                      int64_t n);

/* Append sample.count texts, each with the prompt before it and a line above,
 * as the artifact of this name has them; the last begins at *last.  Returns 1
 * if the model's logits are not finite. */
int sampler_texts(struct engine *, struct buf *all, size_t *last, struct err *);
#define SAMPLER_FILE "samples/step-%08lld.txt"

/* The ids that a sample starts with: the prompt's, or the end-of-text token. */
void sampler_prompt(const struct engine *, const char *text, struct ids *out);

/* Append a token that was drawn; an end-of-text token ends the line. */
void sampler_add(const struct engine *, int32_t id, struct buf *text);

/* Draw an id from logits(n); -1 if one of them is not finite.  order has room
 * for n.  Exposed for its test. */
int32_t sampler_draw(const float *logits, int64_t n,
                     struct sampler_token *order,
                     const struct sample_settings *, float uniform);
