#ifndef TRAINER_TRAINING_SAMPLER_H
#define TRAINER_TRAINING_SAMPLER_H

#include "trainer/training/job.h"

/*
 * sampler - text from the model
 *
 *      if (sampler_open(&s, job, count, e) < 0 ||
 *          sampler_run(&s, prompt, n, tokens, took, arg, e) < 0)
 *          ...
 *      sampler_close(&s);
 *
 * Each sequence keeps its keys and values, so a token costs one pass over the
 * weights.  The draws are counted by the sample's seed, its number and the
 * position: training does not notice, and the same seed gives the same text
 * however many are drawn side by side.  Ids of the padding are never drawn.
 */
struct sampler {
    struct job *job;
    struct gpt decoder;
    const struct sample_settings *conf;
    int count;
    int64_t room; /* positions of the cache */
    uint64_t seed;
    int32_t *last; /* newest token of each sequence */
    float *logits;
    void *raw;                   /* as the device has them */
    struct sampler_token *order; /* scratch of one draw */
};

struct sampler_token {
    float p;
    int32_t id;
};

/* Called with each token that was drawn. */
typedef void sampler_fn(void *arg, int sequence, int32_t id);

int sampler_open(struct sampler *, struct job *, int count, int64_t room,
                 struct err *);
void sampler_close(struct sampler *);
/* The n tokens of the prompt, then `tokens` drawn ones.  Returns 1, and draws
 * no more, when the model's logits are not finite. */
int sampler_run(struct sampler *, const int32_t *prompt, int64_t n,
                int64_t tokens, sampler_fn *, void *arg, struct err *);

/* Draw as many texts as section [sample] says, each with the prompt before it.
 * text has as many members, which are initialised here.  Returns 1, and no
 * text, when the model's logits are not finite. */
int sampler_texts(struct job *, struct buf *text, struct err *);

/* The ids a text starts with: the prompt, or the end-of-text token. */
void sampler_prompt(const struct job *, const char *text, struct ids *out);

/* Draw one of logits(n), or -1 when one of them is not finite; exposed for its
 * test.  order has room for n. */
int32_t sampler_draw(const float *logits, int64_t n,
                     struct sampler_token *order,
                     const struct sample_settings *, float uniform);

#endif
