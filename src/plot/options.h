#ifndef PLOT_OPTIONS_H
#define PLOT_OPTIONS_H

#include "common/opt.h"
#include "plot/request.h"

/*
 * options - the option tables of gplot, which fill one request
 *
 * The command of a figure has one of the tables; request_parse() then checks
 * the texts in plot_request.
 */
extern struct request plot_request;

/* The words of --term, in the order of the values of request.term. */
extern const char *const term_words[];

extern const struct opt curve_opts[], sweep_opts[], scaling_opts[], hist_opts[],
    hours_opts[], timeline_opts[], schedule_opts[], report_opts[];

#endif
