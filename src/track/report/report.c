#include "config.h"
#include "track/report/report.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/save.h"
#include "plot/curve_kind.h"
#include "plot/curves.h"
#include "plot/draw/axis.h"
#include "plot/draw/gnuplot.h"
#include "plot/draw/layout.h"
#include "plot/history.h"
#include "store/format/attempt.h"
#include "store/query/differ.h"
#include "store/query/run_value.h"
#include "track/runs/compare_table.h"

/* ---- what a report says of the runs besides their metrics ---------------- */

/* The metric by which all runs are compared: bits per byte if only they do
 * compare. */
static const char *const *compared(const struct run_set *set)
{
    static const char *const bits[] = { "val/bpb", NULL };
    const struct curve_kind *k = curve_kind_find("loss");
    size_t with = 0;

    while (with < set->n && run_info_metric(&set->run[with], bits[0]))
        with++;
    if (with == set->n && differ_caution(set->run, set->n, "val/loss") !=
                              differ_caution(set->run, set->n, bits[0]))
        return bits;
    for (int i = KIND_LINES - 1; i >= 0; i--)
        for (size_t r = 0; r < set->n && k->line[i].label; r++)
            if (history_find(&set->run[r], k->line[i].names))
                return k->line[i].names;
    return k->line[0].names;
}

size_t facts_best(const struct run_set *set, struct buf *out)
{
    const char *const *names = compared(set);
    const struct metric_sum *least = NULL;
    size_t best = set->n, differ = 0;
    AUTO(differ_clear) struct differ d = { 0 };
    const char *caution;
    char value[32];

    for (size_t i = 0; i < set->n; i++) {
        const char *key = history_find(&set->run[i], names);
        const struct metric_sum *m =
            key ? run_info_metric(&set->run[i], key) : NULL;

        if (!m || !isfinite(m->min) || (least && m->min >= least->min))
            continue;
        least = m;
        best = i;
    }
    if (!least || set->n < 2)
        return best;
    caution = differ_caution(set->run, set->n, least->key);
    if (caution)
        buf_printf(out, "Note that %s. ", caution);
    buf_printf(out, "The best run is %s: its lowest %s is %s, at step %lld",
               set->name[best], least->key,
               axis_value(value, UNIT_NONE, least->min),
               (long long)least->min_step);
    differ_params(&d, set->run, set->n);
    for (size_t i = 0; i < d.n && differ < 6; i++) {
        const char *key = d.item[i].key,
                   *with = run_info_param(&set->run[best], key);

        if (with)
            buf_printf(out, "%s%s = %s", differ++ ? ", " : "; it has ", key,
                       with);
    }
    buf_char(out, '.');
    return best;
}

/* Hours of all GPUs in all attempts; 0 without GPUs. */
static double gpu_hours(const struct run_info *run)
{
    double sum = 0;

    for (int i = 0; i < run->attempts; i++) {
        const struct attempt *a = &run->attempt[i];

        sum += (double)a->gpus *
               attempt_seconds(run->folder, a, clock_wall_ms()) / 3600;
    }
    return sum;
}

/* "tiny 3f2a..., val 77c0...": the data and their hashes. */
static void add_data(struct table *t, const struct run_info *run)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    for (size_t i = 0; i < run->n_inputs; i++)
        buf_printf(&b, "%s%s %.12s", i ? ", " : "", run->inputs[i].name,
                   run->inputs[i].digest ? run->inputs[i].digest : "");
    table_text(t, b.len ? b.s : NULL);
}

void facts_table(const struct run_set *set, struct table *t)
{
    table_columns(t, "run", "status", "host", "GPU", "GPU hours", "time",
                  "commit", "data", NULL);
    for (size_t i = 0; i < set->n; i++) {
        const struct run_info *run = &set->run[i];
        const char *commit = run_info_tag(run, "mlflow.source.git.commit");
        const double hours = gpu_hours(run);

        table_text(t, set->name[i]);
        table_text(t, run_status_word(run->status));
        table_text(t, run_info_tag(run, "gtrack.host"));
        table_text(t, run_info_tag(run, "gtrack.gpus"));
        table_real_or_none(t,
                           hours > 0 ? round(hours * 100) / 100 : (double)NAN);
        table_secs(t, (double)(run->seen_ms - run->start_ms) / 1e3);
        if (commit)
            table_printf(t, "%.12s", commit);
        else
            table_none(t);
        add_data(t, run);
    }
}

void facts_commands(const struct run_set *set, struct buf *out)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct run_info *run = &set->run[i];
        const char *command = run->attempts > 0 && run->attempt[0].command
                                  ? run->attempt[0].command
                                  : run_info_tag(run, "mlflow.source.name");

        if (command)
            buf_printf(out, "%s: %s\n", set->name[i], command);
    }
}

void facts_sample(const struct run_info *run, struct buf *out)
{
    enum { MOST = 1500 };
    AUTO_FREE char *folder = path_join(run->artifacts, "samples");
    AUTO(path_list_clear) struct path_list l = { 0 };
    const char *path = NULL;

    path_list(&l, folder, ERR_IGNORED);
    /* steps have eight digits, so that names are in their order */
    for (size_t i = 0; i < l.n; i++)
        if (str_ends(l.name[i], ".txt"))
            path = path_listed(&l, i);
    if (path &&
        buf_read_open(out,
                      path_open_inside(path, run_info_inside(run), ERR_IGNORED),
                      path, (size_t)1 << 20, ERR_IGNORED) == 0 &&
        out->len > MOST) {
        buf_trim(out, MOST);
        buf_str(out, "\n...\n");
    }
}

/* ---- headings, words and tables ------------------------------------------ */

/* They are appended to the text of Markdown, or to the lines that become the
 * first pages of a PDF. */
struct report {
    bool pdf; /* not Markdown */
    const struct request *r;
    struct build all;    /* with all runs */
    struct buf text;     /* Markdown, or the lines of a PDF */
    char *folder;        /* of the figures in Markdown */
    struct figure *page; /* of the PDF */
    size_t n_pages, page_room;
    size_t n_figures;
};

enum { REPORT_WIDTH = 118 }; /* characters of a line of an A4 page */

/* A new page of a PDF. */
static struct figure *new_page(struct report *rep)
{
    struct figure *f = &APPEND(rep->page, rep->n_pages, rep->page_room);

    *f = FIGURE_INIT;
    request_look(rep->r, f);
    f->title = NULL;
    if (!rep->r->size) {
        f->look.width = 595; /* A4 */
        f->look.height = 842;
        f->look.margin = 40;
    }
    return f;
}

/* The number of lines of text that fit on a page, below a title. */
static size_t lines_of_page(const struct figure *f)
{
    const double em = f->look.font_size;
    const double n =
        (f->look.height - 2 * f->look.margin - 3 * em) / (1.1 * em);

    return n > 1 ? (size_t)n : 1;
}

/* Put the lines of a PDF on pages of their own, before those of the figures. */
static void make_text_pages(struct report *rep, const char *title)
{
    struct report all = { .pdf = rep->pdf, .r = rep->r };
    struct figure *f = new_page(&all);

    f->title = arena_strdup(&f->mem, title);
    for (const char *s = rep->text.s; *s; s += *s == '\n') {
        const size_t n = strcspn(s, "\n");
        AUTO_FREE char *line = xstrndup(s, n);

        if (f->n_lines == lines_of_page(f))
            f = new_page(&all);
        figure_line(f, line);
        s += n;
    }
    for (size_t i = 0; i < rep->n_pages; i++) {
        APPEND(all.page, all.n_pages, all.page_room) = rep->page[i];
    }
    free(rep->page);
    rep->page = all.page;
    rep->n_pages = all.n_pages;
    rep->page_room = all.page_room;
}

static void add_heading(struct report *rep, const char *text)
{
    if (!rep->pdf) {
        buf_printf(&rep->text, "\n## %s\n\n", text);
    } else {
        buf_printf(&rep->text, "\n%s\n\n", text);
    }
}

/* The heads of columns in words: "min(`val/loss`)", which is how gtrack names a
 * column, becomes "lowest val/loss". */
static void plain_heads(struct buf *out, const char *s)
{
    while (*s) {
        const bool low = strncmp(s, "min(", 4) == 0;
        const bool head = low || strncmp(s, "max(", 4) == 0;
        const size_t skip = head ? 4 + (s[4] == '\\') : 0;
        const char *end = head && s[skip] == '`' ? strstr(s, "`)") : NULL;

        if (end && !memchr(s, '\n', (size_t)(end - s))) {
            buf_str(out, low ? "lowest " : "highest ");
            buf_add(out, s + skip + 1,
                    (size_t)(end - s) - skip - 1 - (end[-1] == '\\'));
            s = end + 2;
        } else {
            buf_char(out, *s++);
        }
    }
}

static void add_lines(struct report *rep, const char *text)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        AUTO_FREE char *line = xstrndup(text, n);

        for (const char *s = line; *s; s += *s == ' ') {
            const size_t part = layout_line(s, REPORT_WIDTH);

            buf_printf(&rep->text, "%.*s\n", (int)part, s);
            s += part;
        }
        text += n + (text[n] == '\n');
    }
}

/* A paragraph. */
static void add_words(struct report *rep, const char *text)
{
    if (!rep->pdf) {
        buf_printf(&rep->text, "\n%s\n", text);
    } else {
        add_lines(rep, text);
    }
}

/* Text whose lines are kept; nothing if it is empty. */
static void add_text(struct report *rep, const char *title, const char *text)
{
    if (!*text)
        return;
    add_heading(rep, title);
    if (!rep->pdf) {
        for (const char *s = text; *s; s += *s != '\0') {
            const size_t n = strcspn(s, "\r\n"); /* either ends a line */

            buf_printf(&rep->text, "    %.*s\n", (int)n, s);
            s += n;
        }
    } else {
        add_lines(rep, text);
    }
}

/* The rows of an aligned table, which are as wide as a page.  Nobody can give
 * the report an option to show more. */
static void add_rows(struct report *rep, const char *text)
{
    static const char hint[] = "; --csv shows them)\n";
    const size_t n = strlen(text), end = sizeof hint - 1;

    if (n > end && strcmp(text + n - end, hint) == 0)
        buf_printf(&rep->text, "%.*s)\n", (int)(n - end), text);
    else
        buf_str(&rep->text, text);
}

/* A table, as Markdown or, for a PDF, aligned; nothing if it has no rows. */
static void add_table(struct report *rep, const char *title,
                      const struct table *t)
{
    AUTO(buf_clear) struct buf text = BUF_INIT, plain = BUF_INIT;

    if (table_rows(t) == 0)
        return;
    table_format(t, rep->pdf ? TABLE_ALIGNED : TABLE_MARKDOWN, true, false,
                 rep->pdf ? REPORT_WIDTH : 0, &text);
    plain_heads(&plain, text.s);
    add_heading(rep, title);
    if (rep->pdf)
        add_rows(rep, plain.s);
    else
        buf_str(&rep->text, plain.s);
}

/* ---- sections ------------------------------------------------------------ */

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

/* ---- tables -------------------------------------------------------------- */

static int table_of_runs(struct report *rep, struct err *e)
{
    const struct runs *runs = &rep->all.runs;
    /* runs are columns as long as the page is wide enough */
    const struct compare_table how = { .best = true, .across = runs->n > 7 };
    AUTO(table_clear) struct table t = TABLE_INIT("");
    const int ret = compare_table_fill(&t, runs, &how, e);

    add_table(rep, runs->n > 1 ? "Runs compared" : "Run", &t);
    return ret;
}

/* Where the runs come from: machines, data, commands. */
static void write_facts(struct report *rep)
{
    const struct run_set *set = &rep->all.set;
    AUTO(table_clear) struct table t = TABLE_INIT("");
    AUTO(buf_clear) struct buf commands = BUF_INIT;

    facts_table(set, &t);
    add_table(rep, "Origin", &t);
    facts_commands(set, &commands);
    add_text(rep, "Commands", commands.s);
}

/* Quote a sample of the best run, or of the only one. */
static void write_sample(struct report *rep, size_t best)
{
    AUTO(buf_clear) struct buf b = BUF_INIT;

    if (best < rep->all.set.n)
        facts_sample(&rep->all.set.run[best], &b);
    add_text(rep, "Sample", b.s);
}

/* ---- figures ------------------------------------------------------------- */

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
static bool choose_runs(const struct section *s, const struct curve_kind *kind,
                        const struct run_set *all, struct runs *some)
{
    *some = (struct runs){ 0 };
    for (size_t i = 0; i < all->n; i++)
        if (!s->resumed || all->run[i].attempts > 1)
            APPEND(some->run, some->n, some->room) = all->run[i];
    return curve_kind_has_metric(kind, some->run, some->n);
}

static int add_figure(struct report *rep, struct figure *f, const char *title,
                      struct err *e)
{
    AUTO(buf_clear) struct buf svg = BUF_INIT;
    char id[32];
    int ret;

    figure_finish(f);
    snprintf(id, sizeof id, "f%zu", ++rep->n_figures);
    add_heading(rep, title);
    ret = gnuplot_draw(f, 1, gnuplot_form("svg"), &svg, e);
    if (ret == 0) {
        AUTO_FREE char *path = xasprintf("%s/%s.svg", rep->folder, id);

        ret = save_bytes(path, svg.s, svg.len, e);
        buf_printf(&rep->text, "![%s](%s/%s.svg)\n", title,
                   path_name(rep->folder), id);
        for (size_t i = 0; i < f->n_captions; i++) {
            buf_char(&rep->text, '\n');
            table_markdown_text(&rep->text, f->note[f->n_notes + i]);
            buf_char(&rep->text, '\n');
        }
    }
    return ret;
}

/* The figure of a section, on the last page of a PDF or by itself. */
static struct figure *section_figure(struct report *rep, struct figure *own)
{
    enum { A_PAGE = 3 };
    struct figure *f = own;

    if (!rep->pdf) {
        request_look(rep->r, f);
        if (!rep->r->size) { /* text that can be read on a small screen */
            f->look.width = 380;
            f->look.height = 240;
        }
        f->title = NULL;
        return f;
    }
    if (rep->n_pages == 0 || rep->page[rep->n_pages - 1].n_panels == A_PAGE)
        f = new_page(rep);
    else
        f = &rep->page[rep->n_pages - 1];
    f->rows = A_PAGE;
    f->cols = 1;
    return f;
}

static int add_section(struct report *rep, const struct section *s,
                       struct table *results, struct err *e)
{
    const struct curve_kind *kind = curve_kind_find(s->kind);
    AUTO(figure_free) struct figure own = FIGURE_INIT;
    struct request r = *rep->r;
    struct build b = { .request = &r };
    struct panel *p;
    char title[128];
    int ret;

    if (!choose_runs(s, kind, &rep->all.set, &b.runs)) {
        free(b.runs.run);
        return 0;
    }
    r.skip = !s->later ? 0 : r.skip > 0 ? r.skip : first_steps(&rep->all.set);
    if (s->resumed)
        r.marks |= 1U << SHOW_RESUME;
    if (s->later && r.skip == 0) { /* of very short runs */
        free(b.runs.run);
        return 0;
    }
    if (strcmp(s->kind, "hellaswag") != 0)
        r.baseline.n = 0;
    snprintf(title, sizeof title, "%s", s->title);
    if (s->later)
        snprintf(title, sizeof title, "Loss without the first %lld steps",
                 (long long)r.skip);
    b.figure = section_figure(rep, &own);
    b.summary = s->summarised ? results : NULL;
    run_set_init(&b.set, b.runs.run, b.runs.n, &b.figure->mem);
    p = figure_panel(b.figure, rep->pdf ? title : NULL);
    ret = curves_kind(&b, p, kind, e);
    if (ret == 0 && s->later)
        ret = figure_check(rep->r, &p, 1, e);
    if (ret == 0 && !rep->pdf)
        ret = add_figure(rep, b.figure, title, e);
    free(b.runs.run);
    return ret;
}

/* The best losses over the parameters in which the runs differ. */
static int add_sweep(struct report *rep, struct err *e)
{
    AUTO(figure_free) struct figure own = FIGURE_INIT;
    struct build b = { .request = rep->r, .set = rep->all.set };
    const char *key[2], *metric = "val/loss";
    const size_t n = run_set_numbers(&b.set, key);
    char params[256], title[300];

    if (n == 0 || !find_key_exists(&rep->all.runs, METRIC, metric))
        return 0;
    snprintf(params, sizeof params, "%s%s%s", key[0], n > 1 ? "," : "",
             n > 1 ? key[1] : "");
    snprintf(title, sizeof title, "Validation loss by %s%s%s", key[0],
             n > 1 ? " and " : "", n > 1 ? key[1] : "");
    b.figure = section_figure(rep, &own);
    if (fig_sweep_draw(&b, params, metric, e) < 0)
        return -1;
    if (rep->pdf)
        return 0;
    b.figure->panel[0]->title = NULL; /* it is in the heading */
    return add_figure(rep, b.figure, title, e);
}

/* ---- the document -------------------------------------------------------- */

static const char *title_of(const struct report *rep)
{
    return rep->r->title ? rep->r->title : "Training report";
}

/* "run1, run2 and 98 more" */
static void list_names(const struct run_set *set, struct buf *out)
{
    enum { MOST = 12 };

    for (size_t i = 0; i < set->n && (i < MOST || set->n == MOST + 1); i++)
        buf_printf(out, "%s%s", i ? ", " : "", set->run[i].name);
    if (set->n > MOST + 1)
        buf_printf(out, " and %zu more", set->n - MOST);
}

static void begin_document(struct report *rep)
{
    const char *title = title_of(rep);
    AUTO(buf_clear) struct buf names = BUF_INIT;
    char when[32];

    list_names(&rep->all.set, &names);
    clock_text(when, clock_wall_ms());
    if (!rep->pdf) {
        buf_printf(&rep->text, "# %s\n\n", title);
        table_markdown_text(&rep->text, names.s);
        buf_printf(&rep->text, ". %s.\n", when);
    } else {
        add_words(rep, names.s);
        add_words(rep, when);
    }
}

static int finish_document(struct report *rep, struct err *e)
{
    AUTO(buf_clear) struct buf pdf = BUF_INIT;

    if (!rep->pdf)
        return save_bytes(rep->r->output, rep->text.s, rep->text.len, e);
    make_text_pages(rep, title_of(rep));
    for (size_t i = 0; i < rep->n_pages; i++)
        figure_finish(&rep->page[i]);
    if (gnuplot_draw(rep->page, rep->n_pages, gnuplot_form("pdf"), &pdf, e) < 0)
        return -1;
    return save_bytes(rep->r->output, pdf.s, pdf.len, e);
}

/* REPORT.md has its figures in REPORT-figures/. */
static int figure_folder(struct report *rep, struct err *e)
{
    const char *path = rep->r->output;

    if (rep->pdf)
        return 0;
    rep->folder = xasprintf("%.*s-figures", (int)(strlen(path) - 3), path);
    return path_make(rep->folder, e);
}

static int write_all(struct report *rep, struct err *e)
{
    AUTO(table_clear) struct table results = TABLE_INIT("gplot.summary/1");
    struct buf figures, begun, words = BUF_INIT;
    size_t best;
    int ret = 0;

    begin_document(rep);
    best = facts_best(&rep->all.set, &words);
    if (words.len)
        add_words(rep, words.s);
    buf_clear(&words);
    if (rep->all.set.labelled)
        ret = add_sweep(rep, e);
    if (ret == 0)
        ret = table_of_runs(rep, e);
    /* the results stand before the figures, but are known after them */
    begun = rep->text;
    rep->text = BUF_INIT;
    for (const struct section *s = sections; s->kind && ret == 0; s++) {
        ret = add_section(rep, s, &results, e);
        if (ret == 0 && s->later && !rep->all.set.labelled)
            ret = add_sweep(rep, e);
    }
    figures = rep->text;
    rep->text = begun;
    if (ret == 0) {
        add_table(rep, "Results", &results);
        buf_add(&rep->text, figures.s, figures.len);
        write_sample(rep, best);
        write_facts(rep);
        ret = finish_document(rep, e);
    }
    buf_clear(&figures);
    return ret;
}

int report_write(const struct request *r, int n, char **words, struct err *e)
{
    struct report rep = { .pdf = str_ends(r->output, ".pdf"),
                          .r = r,
                          .all = { .request = r, .words = words, .n = n },
                          .text = BUF_INIT };
    int ret = figure_runs(&rep.all, 0, e);

    if (ret == 0)
        ret = figure_folder(&rep, e);
    if (ret == 0)
        ret = write_all(&rep, e);
    for (size_t i = 0; i < rep.n_pages; i++)
        figure_free(&rep.page[i]);
    FREE(rep.page, rep.folder);
    buf_clear(&rep.text);
    runs_free(&rep.all.runs);
    return ret;
}
