#pragma once

#include "kernels/rope.h"
#include "trainer/settings/settings.h"

/*
 * rope_scaling - model.rope_scaling, and the rotary angles that it means
 *
 * The numbers are those of config.json: for llama3, low_freq_factor and
 * high_freq_factor; for yarn, beta_slow and beta_fast; and the context before
 * it was extended.
 */
struct rope_scaling {
    char kind[8]; /* llama3, yarn */
    double factor, low, high, context;
};

bool rope_scaling_parse(const char *text, struct rope_scaling *);
int rope_scaling_check(const struct settings *, struct err *);
/* The angles of a model whose settings were checked. */
struct rope rope_scaling_rope(const struct settings *);
