/*
 * fig_report - figures and tables of runs in one document
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
#include "plot/history.h"
#include "plot/options.h"
#include "plot/output.h"
#include "plot/summary.h"

/*
 * report - what a report on training shows, in one document
 *
 * An HTML page with its figures inside, Markdown with SVG files in a folder
 * beside it, or a PDF, a few figures a page.  Sections whose metrics no run
 * has are left out.
 */
struct section {
    const char *kind, *title;
    bool later;   /* without the first steps */
    bool resumed; /* only runs that were resumed, with marks */
    bool told;    /* its values are in the table of results */
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
    struct runs runs;
    struct buf text;     /* HTML or Markdown */
    char *folder;        /* of Markdown's figures */
    struct figure *page; /* of the PDF */
    size_t n_pages, page_room;
    size_t n_figures;
};

/*
 * Tables
 */

/* Does a table of gtrack's fit?  One run has nothing to compare with. */
static int compare(struct report *rep, struct buf *out, const char *form,
                   struct err *e)
{
    char *gtrack = spawn_find("gtrack", e);
    const char **argv = xcalloc(rep->runs.n + 9, sizeof *argv);
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
        /* a page is not wide: runs side by side while they fit */
        argv[n++] = rep->runs.n <= 7 ? "--down" : "--across";
        for (size_t i = 0; i < rep->runs.n; i++)
            argv[n++] = rep->runs.run[i].id;
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

static void add_lines(struct figure *f, const char *text)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        char *line = xstrndup(text, n);

        figure_line(f, line);
        free(line);
        text += n + (text[n] == '\n');
    }
}

static int table_of_runs(struct report *rep, struct err *e)
{
    struct buf out = BUF_INIT;
    struct err own = ERR_INIT;

    (void)e;
    if (compare(rep, &out, rep->form == FORM_PDF ? "--aligned" : "--markdown",
                &own) < 0) {
        log_warn("the table that compares the runs is left out: %s", own.text);
        buf_clear(&out);
        return 0;
    }
    heading(rep, rep->runs.n > 1 ? "Runs compared" : "Run");
    if (rep->form == FORM_HTML)
        html_markdown(&rep->text, out.s);
    else if (rep->form == FORM_MD)
        buf_str(&rep->text, out.s);
    else
        add_lines(&rep->page[0], out.s);
    buf_clear(&out);
    return 0;
}

static void table_of_results(struct report *rep, const struct table *t)
{
    struct buf b = BUF_INIT;

    if (table_rows(t) == 0)
        return;
    heading(rep, "Results");
    if (rep->form == FORM_HTML) {
        html_table(&rep->text, t);
    } else if (rep->form == FORM_MD) {
        table_format(t, TABLE_MARKDOWN, true, false, 0, &rep->text);
    } else {
        table_format(t, TABLE_ALIGNED, true, false, 120, &b);
        add_lines(&rep->page[0], b.s);
    }
    buf_clear(&b);
}

/*
 * Figures
 */

static bool wanted(const struct section *s, const struct runs *runs)
{
    const struct kind *k = kind_find(s->kind);

    for (size_t n = 0; n < runs->n; n++) {
        if (s->resumed && runs->run[n].attempts < 2)
            continue;
        for (int i = 0; i < KIND_LINES && k->line[i].label; i++)
            if (history_find(&runs->run[n], k->line[i].names))
                return true;
    }
    return false;
}

/* 300 steps, as is usual, or a tenth of a short run. */
static int64_t first_steps(const struct runs *runs)
{
    int64_t last = 0;

    for (size_t i = 0; i < runs->n; i++)
        for (size_t k = 0; k < runs->run[i].n_metrics; k++)
            if (runs->run[i].metrics[k].last_step > last)
                last = runs->run[i].metrics[k].last_step;
    return last >= 1000 ? 300 : last / 10;
}

/* Runs that were resumed, when those are asked for; else all. */
static struct runs choose_runs(const struct section *s, const struct runs *all,
                               struct run_info *room)
{
    struct runs some = *all;

    if (!s->resumed)
        return some;
    some.run = room;
    some.n = 0;
    for (size_t i = 0; i < all->n; i++)
        if (all->run[i].attempts > 1)
            room[some.n++] = all->run[i];
    return some;
}

static int place_figure(struct report *rep, struct figure *f, const char *title,
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

static int add_section(struct report *rep, const struct section *s,
                       struct table *results, struct err *e)
{
    enum { A_PAGE = 3 };
    struct figure own = FIGURE_INIT, *f = &own;
    struct request r = *rep->r;
    struct run_info *room = xcalloc(rep->runs.n + 1, sizeof *room);
    const struct runs runs = choose_runs(s, &rep->runs, room);
    struct run_set set;
    struct panel *p;
    char title[128];
    int ret;

    r.title = NULL;
    if (s->later)
        r.skip = r.skip > 0 ? r.skip : first_steps(&rep->runs);
    else
        r.skip = 0;
    if (s->resumed)
        r.marks |= SHOW_RESUME;
    if (strcmp(s->kind, "hellaswag") != 0)
        r.baseline.n = 0;
    snprintf(title, sizeof title, "%s", s->title);
    if (s->later)
        snprintf(title, sizeof title, "Loss without the first %lld steps",
                 (long long)r.skip);
    if (rep->form == FORM_PDF) {
        f = &rep->page[rep->n_pages - 1];
        if (rep->n_pages == 1 || f->n_panels == A_PAGE)
            f = new_page(rep);
        f->rows = A_PAGE;
        f->cols = 1;
    } else {
        request_look(&r, f);
    }
    run_set_init(&set, runs.run, runs.n, &f->mem);
    p = figure_panel(f, rep->form == FORM_PDF ? title : NULL);
    ret = curves_kind(f, p, kind_find(s->kind), &set, &r,
                      s->told ? results : NULL, e);
    if (ret == 0 && rep->form != FORM_PDF)
        ret = place_figure(rep, f, title, e);
    if (f == &own)
        figure_free(&own);
    free(room);
    return ret;
}

/*
 * The document
 */

static void begin(struct report *rep)
{
    const char *title = rep->r->title ? rep->r->title : "Training report";
    struct buf names = BUF_INIT;
    char when[32];

    for (size_t i = 0; i < rep->runs.n; i++)
        buf_printf(&names, "%s%s", i ? ", " : "", rep->runs.run[i].name);
    clock_text(when, clock_wall_ms());
    if (rep->form == FORM_HTML) {
        html_begin(&rep->text, title, rep->r->dark);
        buf_str(&rep->text, "<h1>");
        html_text(&rep->text, title);
        buf_str(&rep->text, "</h1>\n<p>");
        html_text(&rep->text, names.s);
        buf_printf(&rep->text, ". %s.</p>\n", when);
    } else if (rep->form == FORM_MD) {
        buf_printf(&rep->text, "# %s\n\n%s. %s.\n", title, names.s, when);
    } else {
        struct figure *f = new_page(rep);

        f->title = arena_strdup(&f->mem, title);
        figure_line(f, names.s);
        figure_line(f, when);
    }
    buf_clear(&names);
}

static int finish(struct report *rep, struct err *e)
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
        const size_t n = strlen(ends[i]);

        if (strlen(path) > n && strcmp(path + strlen(path) - n, ends[i]) == 0) {
            *form = (enum form)i;
            return 0;
        }
    }
    return err_set(e, ERR_USAGE,
                   "a report goes into a file: -o FILE.html, "
                   ".md or .pdf");
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
    int ret;

    begin(rep);
    ret = table_of_runs(rep, e);
    /* the results come first, but are known last */
    begun = rep->text;
    rep->text = (struct buf)BUF_INIT;
    summary_init(&results);
    for (const struct section *s = sections; s->kind && ret == 0; s++)
        if (wanted(s, &rep->runs))
            ret = add_section(rep, s, &results, e);
    figures = rep->text;
    rep->text = begun;
    if (ret == 0) {
        table_of_results(rep, &results);
        buf_add(&rep->text, figures.s, figures.len);
        ret = finish(rep, e);
    }
    buf_clear(&figures);
    table_clear(&results);
    return ret;
}

static int report_main(int argc, char **argv, struct err *e)
{
    struct report rep = { .r = &plot_request,
                          .runs = RUNS_INIT,
                          .text = BUF_INIT };
    struct build b = { .request = &plot_request, .words = argv, .n = argc };
    char version[16];
    int ret = 0;

    if (argc == 0)
        return err_set(e, ERR_USAGE,
                       "runs are expected: gplot report RUN... "
                       "-o report.html");
    if (request_parse(&plot_request, e) < 0 ||
        which_form(plot_request.output, &rep.form, e) < 0)
        return -1;
    if (!gnuplot_found(version))
        return err_set(e, ERR_MISSING,
                       "gnuplot is not installed, so no "
                       "report can be made; 'gplot loss' and the like draw in "
                       "the terminal without it");
    if (figure_runs(&rep.runs, &b, 0, e) < 0)
        ret = -1;
    if (ret == 0)
        ret = figure_folder(&rep, e);
    if (ret == 0)
        ret = write_all(&rep, e);
    for (size_t i = 0; i < rep.n_pages; i++)
        figure_free(&rep.page[i]);
    free(rep.page);
    free(rep.folder);
    buf_clear(&rep.text);
    runs_free(&rep.runs);
    return ret;
}

const struct cmd cmd_report = {
    .name = "report",
    .args = "RUN...",
    .help = "write figures and tables to one document, FILE.{html,pdf,md}",
    .opts = report_opts,
    .run = report_main,
};
