#ifndef PLOT_REQUEST_H
#define PLOT_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/opt.h"
#include "plot/draw/figure.h"
#include "plot/smooth.h"
#include "store/read/runs.h"

/*
 * request - what the command line asks for
 *
 * The option tables (options.c) fill the first part with text as it was typed;
 * request_parse() checks it and fills the second part.
 */
enum along {
    ALONG_STEP,
    ALONG_TOKENS,
    ALONG_TIME,
    ALONG_WALL,
    ALONG_GPUH,
    ALONG_FLOPS
};

enum show { SHOW_RESUME, SHOW_CHECKPOINT, SHOW_BEST, SHOW_SPIKE, SHOW_EVAL };

enum band { BAND_STD, BAND_SEM, BAND_CI95, BAND_MINMAX };

struct request {
    int columns; /* of pixels, for which an outline is enough; 0: all points */
    const char *root, *output, *script;
    const char *smooth, *inset, *y2, *group_by, *color_by, *mark;
    const char *title, *size, *font, *xrange, *yrange;
    int x, legend, term; /* words; x and legend are -1 where not given */
    struct opt_list baseline;
    int64_t skip;
    double every; /* seconds, with --watch */
    bool logx, logy, linx, liny, stitch, attempts, mono, dark, data, watch,
        exact, traces, forecast, follow_links;

    enum along along;
    struct smooth how;
    unsigned marks; /* 1 << show for each word of --mark */
    enum band spread;
    enum legend place;
    double inset_lo, inset_hi;
    double x_lo, x_hi, y_lo, y_hi; /* NaN: not given */
    bool y_whole;                  /* --yrange all */
    double width, height;          /* points */
    char font_name[64];
    double font_size;
};

int request_parse(struct request *, struct err *);

/* Set the scales, ranges, inset and legend that were asked for. */
void request_axes(const struct request *, struct panel *);
/* Set the theme, the size and the font of the figure. */
void request_look(const struct request *, struct figure *);

/* Read n bytes as a bound of a range: "3", "2.5k", "80GiB", "2h"; NaN for an
 * open one, which is empty or "*". */
bool request_bound(const char *text, size_t n, double *out);

#endif
