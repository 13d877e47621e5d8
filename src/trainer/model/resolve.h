#pragma once

#include "trainer/settings/settings.h"

/*
 * resolve - compute the values that follow from the settings
 *
 * These are shapes, the number of parameters, the division of a step among
 * `world` ranks, and the length of the schedule. resolve_settings() checks that
 * the settings are consistent and fills in struct derived; an error names the
 * line of the settings file. tokenizer_vocab is 0 if there is no tokenizer.
 */
int resolve_settings(struct settings *, int64_t tokenizer_vocab, int world,
                     struct err *);

/* Choose train.precision = auto before that, where the device is known better
 * than by its name. */
void resolve_precision(struct settings *, bool gpu);

/* A span in steps. */
int64_t resolve_span(const struct settings *, const struct conf_span *);

/* Sequences in a step: fewer than the batch while the batch ramps up. */
int64_t resolve_sequences(const struct settings *, int64_t step);
int64_t resolve_sequences_before(const struct settings *, int64_t step);

/*
 * schedule - the learning rate at a step
 *
 * The rate is a function of the step and the settings.  Steps count from 0; in
 * the warm-up, the rate of step s is (s + 1) / warmup of the peak, so that step
 * 0 has an effect.  At and after the last step the rate is min_lr, but for a
 * cosine that ends elsewhere.
 */
struct schedule {
    enum curve kind;
    double peak, start, min; /* start: where the warm-up begins */
    double steps, warmup, decay;
    enum decay_shape shape, warmup_shape;
    double power, factor;
    const struct conf_reals *at;
    double cycle, growth;
    double halves; /* half periods of the cosine */
    double timescale;
};

void schedule_init(struct schedule *, const struct settings *);
/* step may be fractional, for training that is limited by time. */
double schedule_at(const struct schedule *, double step);
double schedule_decay_left(const struct settings *, double step);
