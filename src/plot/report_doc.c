#include "config.h"
#include "plot/report_doc.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "plot/draw/html.h"
#include "plot/draw/layout.h"

struct figure *report_page(struct report *rep)
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

void report_heading(struct report *rep, const char *text)
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
    enum { WIDTH = 118 }; /* characters of a line of an A4 page */

    while (*text) {
        const size_t n = strcspn(text, "\n");
        char *line = xstrndup(text, n);

        for (const char *s = line; *s; s += *s == ' ') {
            const size_t part = layout_line(s, WIDTH);
            char *one = xstrndup(s, part);

            figure_line(&rep->page[0], one);
            free(one);
            s += part;
        }
        free(line);
        text += n + (text[n] == '\n');
    }
}

void report_words(struct report *rep, const char *text)
{
    if (rep->form == FORM_HTML) {
        buf_str(&rep->text, "<p>");
        html_text(&rep->text, text);
        buf_str(&rep->text, "</p>\n");
    } else if (rep->form == FORM_MD) {
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
    if (rep->form == FORM_HTML) {
        buf_str(&rep->text, "<pre>");
        html_text(&rep->text, text);
        buf_str(&rep->text, "</pre>\n");
    } else if (rep->form == FORM_MD) {
        for (const char *s = text; *s; s += *s != '\0') {
            const size_t n = strcspn(s, "\r\n"); /* either ends a line */

            buf_printf(&rep->text, "    %.*s\n", (int)n, s);
            s += n;
        }
    } else {
        add_lines(rep, text);
    }
}

void report_table(struct report *rep, const char *title, const char *text)
{
    struct buf plain = BUF_INIT;

    plain_heads(&plain, text);
    report_heading(rep, title);
    if (rep->form == FORM_HTML) {
        html_markdown(&rep->text, plain.s);
    } else if (rep->form == FORM_MD) {
        buf_str(&rep->text, plain.s);
    } else {
        for (const char *s = plain.s; *s; s += *s == '\n') {
            const size_t n = strcspn(s, "\n");
            char *line = xstrndup(s, n); /* a row is not wrapped */

            figure_line(&rep->page[0], line);
            free(line);
            s += n;
        }
    }
    buf_clear(&plain);
}
