#pragma once

#include "trainer/settings/settings.h"

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
double schedule_momentum(const struct settings *, double step);
