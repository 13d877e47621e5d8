#ifndef PLOT_REQUEST_H
#define PLOT_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/opt.h"
#include "plot/draw/figure.h"
#include "plot/smooth.h"

/*
 * request - what the command line asks for
 *
 * The option table (gplot.c) fills the first part, texts as they were typed;
 * request_parse() checks them and fills the second.
 */
enum along {
    ALONG_STEP,
    ALONG_TOKENS,
    ALONG_TIME,
    ALONG_WALL,
    ALONG_GPUH,
    ALONG_FLOPS
};

enum { /* --mark, a set of bits */
       SHOW_RESUME = 1,
       SHOW_CHECKPOINT = 2,
       SHOW_BEST = 4,
       SHOW_SPIKE = 8,
       SHOW_EVAL = 16,
};

enum band { BAND_STD, BAND_SEM, BAND_CI95, BAND_MINMAX };

struct request {
    const char *root, *output, *script;
    const char *smooth, *inset, *y2, *group_by, *mark;
    const char *title, *size, *font, *xrange, *yrange;
    int x, legend, term; /* words; x and legend are -1 where not given */
    struct opt_list baseline;
    int64_t skip;
    double every; /* seconds between two looks with --watch */
    bool logx, logy, linx, liny, stitch, attempts, mono, dark, data, watch,
        exact, traces;

    enum along along;
    struct smooth how;
    unsigned marks;
    enum band spread;
    enum legend place;
    double inset_lo, inset_hi;
    double x_lo, x_hi, y_lo, y_hi; /* NaN: open */
    double width, height;          /* points */
    char font_name[64];
    double font_size;
};

int request_parse(struct request *, struct err *);

/* What a kind leaves open in an axis, as the command line has it. */
void request_axes(const struct request *, struct panel *);
/* The look of the figure: theme, size, font. */
void request_look(const struct request *, struct figure *);

/* A bound of a range: "3", "2.5k", "80GiB", "2h"; NaN when empty. */
bool request_bound(const char *text, size_t n, double *out);

#endif
