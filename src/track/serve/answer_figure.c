/*
 * answer_figure - a figure as JSON, which the page paints
 */
#include "config.h"
#include "track/serve/figure_request.h"

#include "plot/draw/json.h"

/* "Loss of 3 runs" */
static void write_caption(struct emit *o, const struct figure_request *r)
{
    const struct figure *f = &r->figure;
    const size_t n = r->build.runs.n;
    const char *title = f->panel[0]->title;

    emit_printf(o, "caption", "%s of %zu run%s", title ? title : r->metric, n,
                n == 1 ? "" : "s");
}

/* Values of more curves have the digits that a screen can show. */
enum { FEW_CURVES = 30 };

int answer_figure(struct site *s, struct query *q, struct answer *a,
                  struct err *e)
{
    struct emit *const o = &a->out;
    struct figure_request r;
    int ret = -1;

    if (query_number(q, "digits", 17, 0, &o->digits, e) < 0)
        return -1;
    if (figure_request_open(&r, s, q, e) == 0) {
        if (r.build.runs.n > FEW_CURVES && !o->digits)
            o->digits = 8;
        r.request.legend = LEGEND_NONE; /* the page lists the curves itself */
        ret = figure_request_build(&r, e);
    }
    if (ret == 0) {
        r.figure.look.whole = s->frozen ? NULL : "\"Show outliers\"";
        r.figure.look.finer = s->frozen ? 3 : 0;
        figure_finish(&r.figure);
        figure_request_command(&r, o);
        write_caption(o, &r);
        json_figure(o, &r.figure);
    }
    figure_request_close(&r);
    return ret;
}
