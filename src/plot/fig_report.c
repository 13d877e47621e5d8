/*
 * fig_report - figures and tables of runs in one document
 *
 * It is an HTML page with its figures, Markdown with SVG files in a folder, or
 * a PDF with a few figures a page.  Sections for which no run has metrics are
 * left out.
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/path.h"
#include "common/spawn.h"
#include "plot/curves.h"
#include "plot/draw/gnuplot.h"
#include "plot/draw/html.h"
#include "plot/figures.h"
#include "plot/options.h"
#include "plot/output.h"
#include "plot/summary.h"

struct section {
    const char *kind, *title;
    bool later;      /* without the first steps */
    bool resumed;    /* only runs that were resumed, with marks */
    bool summarised; /* the values are in the table of results */
};

/* clang-format off */
static const struct section sections[] = {
    { "loss", "Training and validation loss", false, false, true },
    { "loss", "Loss without the first steps", true, false, false },
    { "lr", "Learning rate", false, false, false },
    { "loss", "Loss over save and resume", false, true, false },
    { "hellaswag", "HellaSwag accuracy", false, false, true },
    { "grad-norm", "Gradient norm", false, false, false },
    { "throughput", "Throughput", false, false, true },
    { "memory", "Memory", false, false, true },
    { "util", "Utilisation", false, false, false },
    { NULL, NULL, false, false, false },
};
/* clang-format on */

enum form { FORM_HTML, FORM_MD, FORM_PDF };

struct report {
    enum form form;
    const struct request *r;
    struct build all;    /* with all runs */
    struct buf text;     /* HTML or Markdown */
    char *folder;        /* of the figures in Markdown */
    struct figure *page; /* of the PDF */
    size_t n_pages, page_room;
    size_t n_figures;
};

/*
 * Tables
 */

/* The table that `gtrack compare` prints in a form. */
static int compare_runs(struct report *rep, struct buf *out, const char *form,
                        struct err *e)
{
    char *gtrack = spawn_find("gtrack", e);
    const struct run_set *set = &rep->all.set;
    const char **argv = xcalloc(set->n + 9, sizeof *argv);
    struct buf words = BUF_INIT;
    struct spawn s = { .out = out, .words = &words, .secs = 60 };
    size_t n = 0;
    int ret = -1;

    if (gtrack) {
        argv[n++] = gtrack;
        argv[n++] = "compare";
        argv[n++] = "--root";
        argv[n++] = rep->r->root;
        argv[n++] = "--by=best";
        argv[n++] = form;
        /* runs are columns as long as the page is wide enough */
        argv[n++] = set->n <= 7 ? "--down" : "--across";
        for (size_t i = 0; i < set->n; i++)
            argv[n++] = set->run[i].id;
        ret = spawn_run(argv, &s, e);
    }
    free(gtrack);
    free(argv);
    buf_clear(&words);
    return ret;
}

static struct figure *new_page(struct report *rep)
{
    struct figure *f;

    GROW(rep->page, rep->n_pages, rep->page_room);
    f = &rep->page[rep->n_pages++];
    *f = (struct figure)FIGURE_INIT;
    request_look(rep->r, f);
    f->title = NULL;
    if (!rep->r->size) {
        f->look.width = 595; /* A4 */
        f->look.height = 842;
        f->look.margin = 40;
    }
    return f;
}

static void heading(struct report *rep, const char *text)
{
    if (rep->form == FORM_HTML) {
        buf_str(&rep->text, "<h2>");
        html_text(&rep->text, text);
        buf_str(&rep->text, "</h2>\n");
    } else if (rep->form == FORM_MD) {
        buf_printf(&rep->text, "\n## %s\n\n", text);
    } else {
        figure_line(&rep->page[0], "");
        figure_line(&rep->page[0], text);
        figure_line(&rep->page[0], "");
    }
}

/* A table, as Markdown or, for the PDF, aligned. */
static void add_table(struct report *rep, const char *title, const char *text)
{
    heading(rep, title);
    if (rep->form == FORM_HTML) {
        html_markdown(&rep->text, text);
    } else if (rep->form == FORM_MD) {
        buf_str(&rep->text, text);
    } else {
        while (*text) {
            const size_t n = strcspn(text, "\n");
            char *line = xstrndup(text, n);

            figure_line(&rep->page[0], line);
            free(line);
            text += n + (text[n] == '\n');
        }
    }
}

static void table_of_runs(struct report *rep)
{
    const char *form = rep->form == FORM_PDF ? "--aligned" : "--markdown";
    struct buf out = BUF_INIT;
    struct err e = ERR_INIT;

    if (compare_runs(rep, &out, form, &e) == 0)
        add_table(rep, rep->all.set.n > 1 ? "Runs compared" : "Run", out.s);
    else
        log_warn("the table that compares the runs is left out: %s", e.text);
    buf_clear(&out);
}

static void table_of_results(struct report *rep, const struct table *t)
{
    const bool pdf = rep->form == FORM_PDF;
    struct buf b = BUF_INIT;

    if (table_rows(t) == 0)
        return;
    table_format(t, pdf ? TABLE_ALIGNED : TABLE_MARKDOWN, true, false,
                 pdf ? 120 : 0, &b);
    add_table(rep, "Results", b.s);
    buf_clear(&b);
}

/*
 * Figures
 */

/* 300 steps, as is usual, or a tenth of a short run. */
static int64_t first_steps(const struct run_set *set)
{
    int64_t last = 0;

    for (size_t i = 0; i < set->n; i++)
        for (size_t k = 0; k < set->run[i].n_metrics; k++)
            if (set->run[i].metrics[k].last_step > last)
                last = set->run[i].metrics[k].last_step;
    return last >= 1000 ? 300 : last / 10;
}

/* The runs of a section, of which one or more have its metrics; false if there
 * are none.  The array is the caller's to free. */
static bool choose_runs(const struct section *s, const struct kind *kind,
                        const struct run_set *all, struct runs *some)
{
    bool any = false;

    *some = (struct runs)RUNS_INIT;
    for (size_t i = 0; i < all->n; i++) {
        if (s->resumed && all->run[i].attempts < 2)
            continue;
        GROW(some->run, some->n, some->room);
        some->run[some->n++] = all->run[i];
        any = any || kind_has_metric(kind, &all->run[i]);
    }
    return any;
}

static int add_figure(struct report *rep, struct figure *f, const char *title,
                      struct err *e)
{
    struct buf svg = BUF_INIT;
    char id[32];
    int ret;

    figure_finish(f);
    snprintf(id, sizeof id, "f%zu", ++rep->n_figures);
    heading(rep, title);
    if (rep->form == FORM_HTML) {
        buf_str(&rep->text, "<figure>\n");
        ret = output_svg(f, id, &rep->text, e);
        buf_str(&rep->text, "\n<figcaption>");
        html_text(&rep->text, title);
        buf_str(&rep->text, "</figcaption>\n</figure>\n");
        return ret;
    }
    ret = gnuplot_draw(f, 1, gnuplot_form("svg"), &svg, e);
    if (ret == 0) {
        char *path = xasprintf("%s/%s.svg", rep->folder, id);

        ret = output_save(path, svg.s, svg.len, e);
        free(path);
        buf_printf(&rep->text, "![%s](%s/%s.svg)\n", title,
                   path_name(rep->folder), id);
    }
    buf_clear(&svg);
    return ret;
}

/* The figure of a section, on the last page of a PDF or by itself. */
static struct figure *section_figure(struct report *rep, struct figure *own)
{
    enum { A_PAGE = 3 };
    struct figure *f = own;

    if (rep->form != FORM_PDF) {
        request_look(rep->r, f);
        f->title = NULL;
        return f;
    }
    f = &rep->page[rep->n_pages - 1];
    if (rep->n_pages == 1 || f->n_panels == A_PAGE)
        f = new_page(rep);
    f->rows = A_PAGE;
    f->cols = 1;
    return f;
}

static int add_section(struct report *rep, const struct section *s,
                       struct table *results, struct err *e)
{
    const struct kind *kind = kind_find(s->kind);
    struct figure own = FIGURE_INIT;
    struct request r = *rep->r;
    struct build b = { .request = &r };
    char title[128];
    int ret;

    if (!choose_runs(s, kind, &rep->all.set, &b.runs)) {
        free(b.runs.run);
        return 0;
    }
    r.skip = !s->later ? 0 : r.skip > 0 ? r.skip : first_steps(&rep->all.set);
    if (s->resumed)
        r.marks |= 1U << SHOW_RESUME;
    if (strcmp(s->kind, "hellaswag") != 0)
        r.baseline.n = 0;
    snprintf(title, sizeof title, "%s", s->title);
    if (s->later)
        snprintf(title, sizeof title, "Loss without the first %lld steps",
                 (long long)r.skip);
    b.figure = section_figure(rep, &own);
    b.summary = s->summarised ? results : NULL;
    run_set_init(&b.set, b.runs.run, b.runs.n, &b.figure->mem);
    ret = curves_kind(
        &b, figure_panel(b.figure, rep->form == FORM_PDF ? title : NULL), kind,
        e);
    if (ret == 0 && rep->form != FORM_PDF)
        ret = add_figure(rep, b.figure, title, e);
    figure_free(&own);
    free(b.runs.run);
    return ret;
}

/*
 * The document
 */

static void begin_document(struct report *rep)
{
    const char *title = rep->r->title ? rep->r->title : "Training report";
    struct buf names = BUF_INIT;
    char when[32];

    for (size_t i = 0; i < rep->all.set.n; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", rep->all.set.run[i].name);
    clock_text(when, clock_wall_ms());
    if (rep->form == FORM_HTML) {
        html_begin(&rep->text, title, rep->r->dark);
        buf_str(&rep->text, "<h1>");
        html_text(&rep->text, title);
        buf_str(&rep->text, "</h1>\n<p>");
        html_text(&rep->text, names.s);
        buf_printf(&rep->text, ". %s.</p>\n", when);
    } else if (rep->form == FORM_MD) {
        buf_printf(&rep->text, "# %s\n\n", title);
        table_markdown_text(&rep->text, names.s);
        buf_printf(&rep->text, ". %s.\n", when);
    } else {
        struct figure *f = new_page(rep);

        f->title = arena_strdup(&f->mem, title);
        figure_line(f, names.s);
        figure_line(f, when);
    }
    buf_clear(&names);
}

static int finish_document(struct report *rep, struct err *e)
{
    struct buf pdf = BUF_INIT;
    int ret;

    if (rep->form == FORM_HTML)
        html_end(&rep->text);
    if (rep->form != FORM_PDF)
        return output_save(rep->r->output, rep->text.s, rep->text.len, e);
    for (size_t i = 0; i < rep->n_pages; i++)
        figure_finish(&rep->page[i]);
    ret = gnuplot_draw(rep->page, rep->n_pages, gnuplot_form("pdf"), &pdf, e);
    if (ret == 0)
        ret = output_save(rep->r->output, pdf.s, pdf.len, e);
    buf_clear(&pdf);
    return ret;
}

static int which_form(const char *path, enum form *form, struct err *e)
{
    static const char *const ends[] = { ".html", ".md", ".pdf" };

    for (size_t i = 0; path && i < 3; i++) {
        if (strlen(path) > strlen(ends[i]) && str_ends(path, ends[i])) {
            *form = (enum form)i;
            return 0;
        }
    }
    return err_set(e, ERR_USAGE,
                   "a report goes into a file: -o FILE.html, .md or .pdf");
}

/* REPORT.md has its figures in REPORT-figures/. */
static int figure_folder(struct report *rep, struct err *e)
{
    const char *path = rep->r->output;

    if (rep->form != FORM_MD)
        return 0;
    rep->folder = xasprintf("%.*s-figures", (int)(strlen(path) - 3), path);
    return path_make(rep->folder, e);
}

static int write_all(struct report *rep, struct err *e)
{
    struct table results;
    struct buf figures, begun;
    int ret = 0;

    begin_document(rep);
    table_of_runs(rep);
    /* the results stand before the figures, but are known after them */
    begun = rep->text;
    rep->text = (struct buf)BUF_INIT;
    summary_init(&results);
    for (const struct section *s = sections; s->kind && ret == 0; s++)
        ret = add_section(rep, s, &results, e);
    figures = rep->text;
    rep->text = begun;
    if (ret == 0) {
        table_of_results(rep, &results);
        buf_add(&rep->text, figures.s, figures.len);
        ret = finish_document(rep, e);
    }
    buf_clear(&figures);
    table_clear(&results);
    return ret;
}

static int report_main(int argc, char **argv, struct err *e)
{
    struct report rep = { .r = &plot_request,
                          .all = { .request = &plot_request,
                                   .runs = RUNS_INIT,
                                   .words = argv,
                                   .n = argc },
                          .text = BUF_INIT };
    char version[16];
    int ret;

    if (argc == 0)
        return err_set(e, ERR_USAGE,
                       "runs are expected: gplot report RUN... -o "
                       "report.html");
    if (request_parse(&plot_request, e) < 0 ||
        which_form(plot_request.output, &rep.form, e) < 0)
        return -1;
    if (!gnuplot_found(version))
        return err_set(e, ERR_MISSING,
                       "gnuplot is not installed, so no report can be made; "
                       "'gplot loss' and the like draw in the terminal "
                       "without it");
    ret = figure_runs(&rep.all, 0, e);
    if (ret == 0)
        ret = figure_folder(&rep, e);
    if (ret == 0)
        ret = write_all(&rep, e);
    for (size_t i = 0; i < rep.n_pages; i++)
        figure_free(&rep.page[i]);
    free(rep.page);
    free(rep.folder);
    buf_clear(&rep.text);
    runs_free(&rep.all.runs);
    return ret;
}

const struct cmd cmd_report = {
    .name = "report",
    .args = "RUN...",
    .help = "write figures and tables to one document, FILE.{html,pdf,md}",
    .opts = report_opts,
    .run = report_main,
};
