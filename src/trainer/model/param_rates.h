#pragma once

#include "trainer/model/graph.h"
#include "trainer/settings/settings.h"

/*
 * param_rates - how fast each parameter is updated, by optim.group.N
 *
 *      if (param_rates_check(conf, graph, e) < 0)
 *          return -1;
 *      r = param_rates_of(&conf->optim, &graph->param[i], decayed);
 *
 * A group names parameters, by a pattern or as one of four kinds, and gives
 * them a rate, a first decay rate or a weight decay of their own.  Later groups
 * take precedence.  param_rates_check() refuses a group that cannot be read, or
 * that names no parameter of the graph; after it param_rates_of() cannot fail.
 */
struct param_rates {
    double lr_factor; /* on the scheduled rate */
    double beta1;     /* or the momentum; -1: as the settings say */
    double decay;     /* at the start of the schedule */
};

int param_rates_check(const struct settings *, const struct graph *,
                      struct err *);
/* muon: whether Muon updates it; decayed: whether it is by default. */
struct param_rates param_rates_of(const struct optim_settings *,
                                  const struct graph_param *, bool muon,
                                  bool decayed);
/* The parameters that a group names, in all. */
int64_t param_rates_count(const char *group, const struct graph *);
