/*
 * manual_roff - the text of man(7) and mdoc(7) pages
 *
 * gdata gather needs it, because manuals are the largest source of English text
 * on a Debian system: 48 of the 176 MB found on a machine for building
 * software. (Info and Perl's documentation, which are not read, would add 1.7
 * and 4.7 MB.) Formatting 20,000 pages with groff or mandoc would take minutes,
 * and neither is always installed.
 */
#include "config.h"
#include "data/corpus/manual_text.h"

#include <string.h>

/* The effect of a request. */
enum roff_action {
    SPACED,  /* shows its arguments as words */
    JOINED,  /* shows its arguments without spaces: alternating fonts */
    HEADING, /* shows its arguments as a paragraph */
    ITEM,    /* begins a paragraph with its arguments */
    BREAK,   /* begins a paragraph */
    KEEP,    /* keeps the following lines as they are, up to FILL */
    FILL,    /* fills paragraphs again */
    SKIP,    /* skips all lines up to `until` */
};

static const struct roff_request {
    const char *name;
    enum roff_action action;
    const char *until;
} requests[] = {
    { "SH", HEADING, 0 }, { "SS", HEADING, 0 }, { "Sh", HEADING, 0 },
    { "Ss", HEADING, 0 }, { "PP", BREAK, 0 },   { "P", BREAK, 0 },
    { "LP", BREAK, 0 },   { "Pp", BREAK, 0 },   { "TP", BREAK, 0 },
    { "HP", BREAK, 0 },   { "sp", BREAK, 0 },   { "IP", ITEM, 0 },
    { "It", ITEM, 0 },    { "B", SPACED, 0 },   { "I", SPACED, 0 },
    { "SM", SPACED, 0 },  { "SB", SPACED, 0 },  { "BR", JOINED, 0 },
    { "BI", JOINED, 0 },  { "IR", JOINED, 0 },  { "IB", JOINED, 0 },
    { "RB", JOINED, 0 },  { "RI", JOINED, 0 },  { "nf", KEEP, 0 },
    { "EX", KEEP, 0 },    { "Bd", KEEP, 0 },    { "DS", KEEP, 0 },
    { "fi", FILL, 0 },    { "EE", FILL, 0 },    { "Ed", FILL, 0 },
    { "DE", FILL, 0 },    { "TS", SKIP, "TE" }, { "EQ", SKIP, "EN" },
    { "PS", SKIP, "PE" }, { "de", SKIP, "." },  { "ig", SKIP, "." },
    { "am", SKIP, "." },  { "Nm", SPACED, 0 },  { "Nd", SPACED, 0 },
    { "Fl", SPACED, 0 },  { "Ar", SPACED, 0 },  { "Op", SPACED, 0 },
    { "Xr", SPACED, 0 },  { "Pa", SPACED, 0 },  { "Cm", SPACED, 0 },
    { "Ev", SPACED, 0 },  { "Va", SPACED, 0 },  { "Em", SPACED, 0 },
    { "Sy", SPACED, 0 },  { "Dq", SPACED, 0 },  { "Sq", SPACED, 0 },
    { "Ql", SPACED, 0 },  { "Qq", SPACED, 0 },  { "Li", SPACED, 0 },
    { "Dv", SPACED, 0 },  { "Er", SPACED, 0 },  { "Fn", SPACED, 0 },
    { "Fa", SPACED, 0 },  { "Ft", SPACED, 0 },  { "Vt", SPACED, 0 },
    { "In", SPACED, 0 },  { "Ic", SPACED, 0 },
};

enum { REQUESTS = sizeof requests / sizeof requests[0] };

static const struct roff_request *find_request(const char *name, size_t n)
{
    for (int i = 0; i < REQUESTS; i++)
        if (strlen(requests[i].name) == n &&
            memcmp(requests[i].name, name, n) == 0)
            return &requests[i];
    return NULL;
}

/* Append a special character, \(xx or \[xx], in plain ASCII. */
static void add_special(struct buf *out, const char *name, size_t n)
{
    static const struct {
        const char *name, *text;
    } known[] = {
        { "em", " -- " }, { "en", "-" },  { "hy", "-" },  { "mi", "-" },
        { "bu", "*" },    { "aq", "'" },  { "dq", "\"" }, { "lq", "\"" },
        { "rq", "\"" },   { "oq", "'" },  { "cq", "'" },  { "rs", "\\" },
        { "ti", "~" },    { "ha", "^" },  { "ga", "`" },  { "co", "(c)" },
        { "<=", "<=" },   { ">=", ">=" }, { "->", "->" }, { "Bq", "\"" },
        { "ba", "|" },    { "mu", "x" },  { "+-", "+-" }, { "sq", "'" },
    };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i].name) == n && memcmp(known[i].name, name, n) == 0)
            buf_str(out, known[i].text);
}

/*
 * Read the name of an escape at s[i]: one letter, two after '(', or any number
 * in brackets.  Returns the position after it.
 */
static size_t read_name(const char *s, size_t n, size_t i, const char **name,
                        size_t *len)
{
    const char *close;

    *name = s + i;
    *len = 0;
    if (i >= n)
        return n;
    if (s[i] == '(' && i + 2 < n) {
        *name = s + i + 1;
        *len = 2;
        return i + 3;
    }
    if (s[i] == '[') {
        close = memchr(s + i, ']', n - i);
        if (!close)
            return n;
        *name = s + i + 1;
        *len = (size_t)(close - *name);
        return i + *len + 2;
    }
    *len = 1;
    return i + 1;
}

/* Append the escape at s[i], after its backslash; returns the position after
 * it. */
static size_t add_escape(struct buf *out, const char *s, size_t n, size_t i)
{
    const char *name, *close;
    size_t len;

    switch (s[i]) {
    case '-':
        buf_char(out, '-');
        return i + 1;
    case 'e':
    case '\\':
        buf_char(out, '\\');
        return i + 1;
    case '\'':
    case '`':
    case '.':
        buf_char(out, s[i]);
        return i + 1;
    case ' ':
    case '~':
    case '0':
    case 't':
        buf_char(out, ' ');
        return i + 1;
    case '(':
    case '[':
        i = read_name(s, n, i, &name, &len);
        add_special(out, name, len);
        return i;
    case '*':
        i = read_name(s, n, i + 1, &name, &len);
        if (len == 2 && memcmp(name, "Aq", 2) == 0)
            buf_char(out, '\'');
        return i;
    case 'f':
    case 'n':
    case 'm':
        return read_name(s, n, i + 1, &name, &len);
    case 's':
        i++;
        i += i < n && (s[i] == '-' || s[i] == '+');
        return i < n ? i + 1 : n;
    case 'h':
    case 'v':
    case 'w':
    case 'l':
    case 'o':
        close = i + 2 < n ? memchr(s + i + 2, s[i + 1], n - i - 2) : NULL;
        return close ? (size_t)(close - s) + 1 : n;
    case '"':
    case '#':
        return n;
    }
    return i + 1;
}

static void add_plain(struct buf *out, const char *s, size_t n)
{
    for (size_t i = 0; i < n;) {
        const char *slash = memchr(s + i, '\\', n - i);
        const size_t at = slash ? (size_t)(slash - s) : n;

        buf_add(out, s + i, at - i);
        i = at < n ? at + 1 : n;
        if (at < n && i < n)
            i = add_escape(out, s, n, i);
    }
}

/* Read the next argument: quoted, or up to a blank. */
static bool next_arg(const char **s, const char *end, const char **arg,
                     size_t *n)
{
    const char *close;

    while (*s < end && **s == ' ')
        ++*s;
    if (*s == end)
        return false;
    if (**s == '"') {
        *arg = ++*s;
        close = memchr(*s, '"', (size_t)(end - *s));
        *n = (size_t)((close ? close : end) - *arg);
        *s = close ? close + 1 : end;
        return true;
    }
    *arg = *s;
    while (*s < end && **s != ' ')
        *s += **s == '\\' && *s + 1 < end ? 2 : 1;
    *n = (size_t)(*s - *arg);
    return true;
}

/* Arguments of mdoc macros may be macros themselves. */
static bool is_macro(const char *arg, size_t n)
{
    static const char *const more[] = { "Ns", "No", "Ta", "Oo", "Oc",
                                        "Aq", "Pq", "Ap", "Bq", "Brq" };
    const struct roff_request *r = find_request(arg, n);

    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        if (strlen(more[i]) == n && memcmp(more[i], arg, n) == 0)
            return true;
    return r && n == 2 && r->action == SPACED;
}

static void add_args(struct buf *out, const char *s, const char *end,
                     bool joined)
{
    const char *arg;
    size_t n;
    bool first = true, dash = false;

    while (next_arg(&s, end, &arg, &n)) {
        if (!joined && is_macro(arg, n)) {
            dash = arg[0] == 'F' && arg[1] == 'l';
            continue;
        }
        if (!first && !joined)
            buf_char(out, ' ');
        if (dash)
            buf_char(out, '-');
        add_plain(out, arg, n);
        first = dash = false;
    }
}

/* The page so far: complete lines, and the words of the next paragraph. */
struct roff_page {
    struct buf lines, words;
    bool keeps;
};

enum { WIDTH = 78 };

/* End the paragraph: divide its words into lines. */
static void end_paragraph(struct roff_page *p)
{
    const char *at = p->words.s, *end = at + p->words.len;

    while (at < end) {
        const char *stop = end, *blank;

        if (end - at > WIDTH) {
            blank = memrchr(at, ' ', WIDTH + 1);
            stop = blank ? blank : memchr(at, ' ', (size_t)(end - at));
            stop = stop ? stop : end;
        }
        buf_add(&p->lines, at, (size_t)(stop - at));
        buf_char(&p->lines, '\n');
        at = stop + (stop < end);
    }
    buf_trim(&p->words, 0);
}

/* Add a line of text to the paragraph, or keep it as a line. */
static void add_line(struct roff_page *p, const char *s, size_t n)
{
    if (p->keeps || !n || *s == ' ' || *s == '\t') {
        end_paragraph(p);
        buf_add(&p->lines, s, n);
        buf_char(&p->lines, '\n');
        return;
    }
    if (p->words.len)
        buf_char(&p->words, ' ');
    buf_add(&p->words, s, n);
}

static void add_blank_line(struct roff_page *p)
{
    end_paragraph(p);
    buf_char(&p->lines, '\n');
}

static void execute_request(struct roff_page *p, const struct roff_request *r,
                            const char *s, const char *end)
{
    struct buf text = BUF_INIT;

    if (strcmp(r->name, "Fl") == 0)
        buf_char(&text, '-');
    add_args(&text, s, end, r->action == JOINED);
    switch (r->action) {
    case HEADING:
        add_blank_line(p);
        add_line(p, text.s, text.len);
        add_blank_line(p);
        p->keeps = false;
        break;
    case ITEM:
        add_blank_line(p);
        add_line(p, text.s, text.len);
        end_paragraph(p);
        break;
    case BREAK:
        add_blank_line(p);
        break;
    case SPACED:
    case JOINED:
        if (text.len)
            add_line(p, text.s, text.len);
        break;
    case KEEP:
    case FILL:
        end_paragraph(p);
        p->keeps = r->action == KEEP;
        break;
    case SKIP:
        break;
    }
    buf_clear(&text);
}

void manual_roff(struct buf *out, const char *text, size_t n)
{
    const char *end = text + n, *skip = NULL;
    struct roff_page page = { BUF_INIT, BUF_INIT, false };
    struct buf line = BUF_INIT;

    while (text < end) {
        const char *newline = memchr(text, '\n', (size_t)(end - text));
        const char *stop = newline ? newline : end, *at = text, *word;
        const struct roff_request *r;

        text = newline ? newline + 1 : end;
        if (at == stop || (*at != '.' && *at != '\'')) {
            if (skip)
                continue;
            buf_trim(&line, 0);
            add_plain(&line, at, (size_t)(stop - at));
            if (line.len || at == stop)
                add_line(&page, line.s, line.len);
            continue;
        }
        for (word = at + 1; word < stop && *word == ' '; word++)
            ;
        for (at = word; at < stop && *at != ' ' && *at != '\t'; at++)
            ;
        n = (size_t)(at - word);
        if (skip) {
            if (strlen(skip) == n && memcmp(skip, word, n) == 0)
                skip = NULL;
            continue;
        }
        r = find_request(word, n);
        if (!r)
            continue;
        skip = r->until;
        execute_request(&page, r, at, stop);
    }
    end_paragraph(&page);
    manual_text_plain(out, page.lines.s, page.lines.len);
    buf_clear(&page.lines);
    buf_clear(&page.words);
    buf_clear(&line);
}
