#pragma once

#include "plot/figures.h"
#include "track/serve/site.h"

/*
 * figure_request - a figure of gplot, as a URL asks for it
 *
 *      struct figure_request r;
 *
 *      if (figure_request_open(&r, site, query, e) == 0 &&
 *          figure_request_build(&r, e) == 0)
 *          ... figure_finish(&r.figure) ...
 *      figure_request_close(&r);
 *
 * The parameters of the URL are options of gplot: the figure is the one that
 * its command line draws, and figure_request_command() writes that line.
 */
struct figure_request {
    const char *kind, *metric, *param, *hist, *panel; /* of the URL, or NULL */
    char **alias; /* those of gplot, and of other runs */
    size_t n_aliases;
    struct figure figure;
    struct request request; /* the options */
    struct build build;     /* its runs are those that were chosen */
    struct chosen chosen;
    struct arena mem;
    struct buf options; /* as words of the command line */
};

int figure_request_open(struct figure_request *, struct site *, struct query *,
                        struct err *);
int figure_request_build(struct figure_request *, struct err *);
void figure_request_command(const struct figure_request *, struct emit *);
void figure_request_close(struct figure_request *);
