/*
 * report_doc - the document of a report: headings, words and tables
 */
#include "config.h"
#include "track/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "plot/draw/layout.h"

struct figure *report_page(struct report *rep)
{
    struct figure *f;

    GROW(rep->page, rep->n_pages, rep->page_room);
    f = &rep->page[rep->n_pages++];
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

void report_text_pages(struct report *rep, const char *title)
{
    struct report all = { .pdf = rep->pdf, .r = rep->r };
    struct figure *f = report_page(&all);

    f->title = arena_strdup(&f->mem, title);
    for (const char *s = rep->text.s; *s; s += *s == '\n') {
        const size_t n = strcspn(s, "\n");
        char *line = xstrndup(s, n);

        if (f->n_lines == lines_of_page(f))
            f = report_page(&all);
        figure_line(f, line);
        free(line);
        s += n;
    }
    for (size_t i = 0; i < rep->n_pages; i++) {
        GROW(all.page, all.n_pages, all.page_room);
        all.page[all.n_pages++] = rep->page[i];
    }
    free(rep->page);
    rep->page = all.page;
    rep->n_pages = all.n_pages;
    rep->page_room = all.page_room;
}

void report_heading(struct report *rep, const char *text)
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
        char *line = xstrndup(text, n);

        for (const char *s = line; *s; s += *s == ' ') {
            const size_t part = layout_line(s, REPORT_WIDTH);

            buf_printf(&rep->text, "%.*s\n", (int)part, s);
            s += part;
        }
        free(line);
        text += n + (text[n] == '\n');
    }
}

void report_words(struct report *rep, const char *text)
{
    if (!rep->pdf) {
        buf_printf(&rep->text, "\n%s\n", text);
    } else {
        add_lines(rep, text);
    }
}

void report_text(struct report *rep, const char *title, const char *text)
{
    if (!*text)
        return;
    report_heading(rep, title);
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

void report_table(struct report *rep, const char *title, const struct table *t)
{
    struct buf text = BUF_INIT, plain = BUF_INIT;

    if (table_rows(t) == 0)
        return;
    table_format(t, rep->pdf ? TABLE_ALIGNED : TABLE_MARKDOWN, true, false,
                 rep->pdf ? REPORT_WIDTH : 0, &text);
    plain_heads(&plain, text.s);
    report_heading(rep, title);
    if (rep->pdf)
        add_rows(rep, plain.s);
    else
        buf_str(&rep->text, plain.s);
    buf_clear(&text);
    buf_clear(&plain);
}
