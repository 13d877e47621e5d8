/*
 * gnuplot_text - the strings of a gnuplot script
 */
#include "config.h"
#include "plot/draw/gnuplot_text.h"

#include <stdio.h>
#include <string.h>

#include "common/log.h"
#include "common/output/table.h"
#include "common/spawn.h"
#include "common/utf8.h"

/* The command for a letter that pdflatex has in mathematics only. */
static const char *tex_of(int32_t code)
{
    static const char *const greek[] = {
        "alpha",   "beta", "gamma", "delta",    "epsilon", "zeta", "eta",
        "theta",   "iota", "kappa", "lambda",   "mu",      "nu",   "xi",
        "omicron", "pi",   "rho",   "varsigma", "sigma",   "tau",  "upsilon",
        "varphi",  "chi",  "psi",   "omega",
    };
    static const struct {
        int32_t code;
        const char *name;
    } others[] = {
        { 0x2212, "-" },     { 0x00D7, "times" },   { 0x00B7, "cdot" },
        { 0x00B1, "pm" },    { 0x00B5, "mu" },      { 0x2264, "leq" },
        { 0x2265, "geq" },   { 0x2248, "approx" },  { 0x2192, "rightarrow" },
        { 0x221E, "infty" }, { 0x0394, "Delta" },   { 0x03A3, "Sigma" },
        { 0x03A9, "Omega" }, { 0x2191, "uparrow" }, { 0x2193, "downarrow" },
    };

    if (code >= 0x3B1 && code <= 0x3C9 && code != 0x3BF)
        return greek[code - 0x3B1];
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (others[i].code == code)
            return others[i].name;
    return NULL;
}

/* The character that is raised in this one; 0 for none. */
static char raised_of(int32_t code)
{
    return code == 0x2070                     ? '0'
           : code == 0xB9                     ? '1'
           : code == 0xB2 || code == 0xB3     ? (char)('2' + code - 0xB2)
           : code >= 0x2074 && code <= 0x2079 ? (char)('4' + code - 0x2074)
           : code == 0x207B                   ? '-'
                                              : '\0';
}

static void add_tex(struct buf *b, int32_t code)
{
    const char *quote = code == '"'    ? "\\textquotedbl{}"
                        : code == '\'' ? "\\textquotesingle{}"
                                       : NULL;
    const char *name = code < 128 ? table_latex((char)code) : tex_of(code);

    if (quote || (name && code < 128))
        buf_str(b, quote ? quote : name);
    else if (raised_of(code))
        buf_printf(b, "\\ensuremath{^{%c}}", raised_of(code));
    else if (name)
        buf_printf(b, "\\ensuremath{%s%s}", *name == '-' ? "" : "\\", name);
    else
        utf8_add(b, code);
}

/* The usual fonts have the letters, arrows and mathematics below this. */
enum { FIRST = 0x2300 };

static bool ask_fontconfig(int32_t code)
{
    char charset[32];
    const char *const argv[] = { "fc-list", charset, "family", NULL };
    struct buf out = BUF_INIT;
    struct spawn s = { .out = &out, .quiet = true, .secs = 10 };
    bool have;

    snprintf(charset, sizeof charset, ":charset=%x", (unsigned)code);
    have = spawn_run(argv, &s, ERR_IGNORED) < 0 || out.len > 0;
    if (!have)
        log_warn("no installed font has U+%04X; '?' is drawn instead",
                 (unsigned)code);
    buf_clear(&out);
    return have;
}

/* If no font has a character, gnuplot's cairo terminals draw a box many times
 * the size of the figure.  fontconfig's fc-list is run once for each character
 * of the scripts and symbols that fonts often lack; without fc-list, fonts are
 * assumed to have every character. */
static bool glyphs_have(struct glyphs *g, int32_t code)
{
    const int room = sizeof g->known / sizeof g->known[0];
    bool have;

    if (code < FIRST)
        return true;
    for (int i = 0; i < g->n; i++)
        if (g->known[i].code == code)
            return g->known[i].have;
    have = ask_fontconfig(code);
    if (g->n < room) {
        g->known[g->n].code = code;
        g->known[g->n++].have = have;
    }
    return have;
}

/* Between single quotes only the quote itself is special; between double
 * quotes a backquote would run a command.  Quotes at the beginning are put
 * between double quotes, because gnuplot takes '' there for an empty text. */
void gnuplot_quote(struct script *s, const char *text)
{
    struct buf clean = BUF_INIT, shown = BUF_INIT, tex = BUF_INIT;
    const char *from;
    size_t quotes;

    utf8_clean(&clean, text, strlen(text));
    for (char *c = clean.s; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127)
            *c = ' ';
    utf8_visible(&shown, clean.s);
    for (from = shown.s; *from;) {
        int32_t code = utf8_next(&from);

        if (s->form->cairo && !glyphs_have(&s->glyphs, code))
            code = '?';
        if (s->form->tex)
            add_tex(&tex, code);
        else
            utf8_add(&tex, code);
    }
    quotes = strspn(tex.s, "'");
    if (quotes)
        buf_printf(s->b, "\"%.*s\".", (int)quotes, tex.s);
    buf_char(s->b, '\'');
    for (from = tex.s + quotes; *from; from++) {
        if (*from == '\'')
            buf_char(s->b, '\'');
        buf_char(s->b, *from);
    }
    buf_char(s->b, '\'');
    buf_clear(&clean);
    buf_clear(&shown);
    buf_clear(&tex);
}

void gnuplot_font(struct script *s, double factor)
{
    const double unit = s->form->own_units ? s->form->scale : 1;

    if (!s->form->text && !s->form->tex)
        buf_printf(s->b, " font ',%.3g'",
                   s->fig->look.font_size * factor * unit);
}

void gnuplot_label(struct script *s, const char *text, double x, double y,
                   const char *rest, double size, uint32_t rgb)
{
    buf_str(s->b, "set label ");
    gnuplot_quote(s, text);
    buf_printf(s->b, " at screen %.5f, screen %.5f %s", x, y, rest);
    gnuplot_font(s, size);
    buf_printf(s->b, " tc rgb '#%06X' front\n", rgb);
}
