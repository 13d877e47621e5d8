/*
 * gtrack report - figures and tables of runs in one document
 */
#include "config.h"

#include "common/log.h"
#include "common/opt.h"
#include "plot/draw/gnuplot.h"
#include "plot/figures.h"
#include "track/report/report.h"
#include "track/serve/serve.h"

/* The page of gtrack serve, with its data; what figures have to say is in their
 * notes. */
static int write_page(const struct request *r, int n, char **words,
                      struct err *e)
{
    const int flags = r->follow_links ? LOAD_LINKS : 0;

    if (log_shows(LOG_INFO) && !log_shows(LOG_DEBUG))
        log_setup("gtrack", LOG_WARN);
    return freeze_write(r->output, r->root, r->sweep, flags, n, words, e);
}

static int report_main(int argc, char **argv, struct err *e)
{
    const struct request *r = &plot_request;
    const char *to = plot_request.output ? plot_request.output : "";
    const bool page = str_ends(to, ".html");
    char version[16];

    if (argc == 0 && !r->sweep)
        return err_usage(e, "runs are expected: gtrack report RUN... -o "
                            "report.html");
    if (request_parse(&plot_request, e) < 0)
        return -1;
    if (!page && !str_ends(to, ".md") && !str_ends(to, ".pdf"))
        return err_usage(
            e, "a report goes into a file: -o FILE.html, .md or .pdf");
    figure_confine(&r->output, 1, NULL);
    if (page)
        return write_page(r, argc, argv, e);
    if (!gnuplot_found(version))
        return err_set(e, ERR_MISSING,
                       "gnuplot is not installed, so a report can only be an "
                       "HTML page: -o FILE.html");
    return report_write(r, argc, argv, e);
}

const struct cmd cmd_report = {
    .name = "report",
    .args = "RUN...",
    .help = "write figures and tables to one document, FILE.{html,pdf,md}",
    .opts = report_opts,
    .run = report_main,
};
