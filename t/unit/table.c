/* table - print tables in every format */
#include "config.h"
#include "common/output/table.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "t/lib/tap.h"

static struct table sample(void)
{
    struct table t = TABLE_INIT("test.sample/1");

    table_column(&t, "name");
    table_column(&t, "loss");
    table_column(&t, "steps");
    table_text(&t, "a\tb|c_d\"e");
    table_real(&t, 3.25);
    table_int(&t, 100);
    table_text(&t, "\033[31mred\xff");
    table_real(&t, 3.2801);
    table_none(&t);
    table_mark_best(&t, 1, false);
    return t;
}

static void is(const struct table *t, enum table_form form, const char *want,
               const char *name)
{
    struct buf out = BUF_INIT;

    table_format(t, form, true, false, 0, &out);
    if (!ok(strcmp(out.s, want) == 0, "%s", name))
        diag("got: %s", out.s);
    buf_clear(&out);
}

static void forms(void)
{
    struct table t = sample();

    setenv("LC_ALL", "C.UTF-8", 1);
    is(&t, TABLE_TSV,
       "name\tloss\tsteps\n"
       "a\\tb|c_d\"e\t3.25\t100\n\033[31mred\xff\t3.2801\t\n",
       "TSV escapes tabs and keeps every digit");
    is(&t, TABLE_CSV,
       "name,loss,steps\n"
       "\"a\tb|c_d\"\"e\",3.25,100\n\033[31mred\xff,3.2801,\n",
       "CSV doubles quotes");
    is(&t, TABLE_JSON,
       "{\n  \"schema\": \"test.sample/1\",\n"
       "  \"columns\": [\"name\", \"loss\", \"steps\"],\n  \"rows\": [\n"
       "    {\"name\": \"a\\tb|c_d\\\"e\", \"loss\": 3.25, \"steps\": 100},\n"
       "    {\"name\": \"\\u001b[31mred\\ufffd\", \"loss\": 3.2801, "
       "\"steps\": null}\n  ]\n}\n",
       "JSON escapes controls and replaces bad UTF-8");
    is(&t, TABLE_MARKDOWN,
       "| name | loss | steps |\n|---|---:|---:|\n"
       "| a^Ib\\|c\\_d\"e | **3.2500** | 100 |\n"
       "| ^\\[\\[31mred\xef\xbf\xbd | 3.2801 |  |\n",
       "Markdown escapes bars and marks the best");
    is(&t, TABLE_LATEX,
       "\\begin{tabular}{lrr}\n\\toprule\nname & loss & steps \\\\\n\\midrule\n"
       "a\\textasciicircum{}Ib\\textbar{}c\\_d\\char34{}e & "
       "$\\mathbf{3.2500}$ & $100$ \\\\\n"
       "\\textasciicircum{}[[31mred\xef\xbf\xbd & $3.2801$ & -- \\\\\n"
       "\\bottomrule\n\\end{tabular}\n",
       "LaTeX escapes its special characters");
    is(&t, TABLE_ALIGNED,
       "name          loss   steps\n"
       "a^Ib|c_d\"e  3.2500*    100\n"
       "^[[31mred\xef\xbf\xbd  3.2801       -\n",
       "columns align, numbers to the right, no escape gets through");
    table_clear(&t);
}

static void widths(void)
{
    struct table t = TABLE_INIT("test.widths/1");
    struct buf out = BUF_INIT;
    size_t longest = 0;

    table_column(&t, "text");
    for (int i = 0; i < 12; i++) {
        char name[8];

        snprintf(name, sizeof name, "m%d", i);
        table_column(&t, name);
    }
    table_text(&t, "a name that is much longer than what fits on a line");
    for (int i = 0; i < 12; i++)
        table_real(&t, 1234.5);
    table_format(&t, TABLE_ALIGNED, true, false, 60, &out);
    for (char *line = out.s, *end; (end = strchr(line, '\n')); line = end + 1) {
        *end = '\0';
        longest = utf8_width(line) > longest ? utf8_width(line) : longest;
    }
    ok(longest <= 60, "no line is wider than the terminal (%zu)", longest);
    ok(strstr(out.s + strlen(out.s) + 1, "…") != NULL,
       "a text that was cut ends in an ellipsis");
    buf_trim(&out, 0);
    table_format(&t, TABLE_TSV, true, false, 60, &out);
    ok(strstr(out.s, "m11") && strstr(out.s, "on a line"),
       "TSV and JSON have everything at any width");
    buf_clear(&out);
    table_clear(&t);
}

static void numbers(void)
{
    struct table t = TABLE_INIT("test.numbers/1");

    table_column(&t, "x");
    table_real(&t, (double)NAN);
    table_real(&t, -(double)INFINITY);
    table_real(&t, 1e-5);
    table_time(&t, 1795257799831);
    is(&t, TABLE_JSON,
       "{\n  \"schema\": \"test.numbers/1\",\n  \"columns\": [\"x\"],\n"
       "  \"rows\": [\n    {\"x\": \"NaN\"},\n    {\"x\": \"-Infinity\"},\n"
       "    {\"x\": 1e-05},\n    {\"x\": \"2026-11-21T10:43:19.831Z\"}\n"
       "  ]\n}\n",
       "JSON spells non-finite numbers and times in UTC");
    table_mark_best(&t, 0, false);
    ok(table_cell(&t, 1, 0)->mark == MARK_BEST &&
           table_cell(&t, 0, 0)->mark == MARK_NONE,
       "NaN is never marked as the best");
    table_clear(&t);

    table_column(&t, "loss");
    table_spread(&t, 3.28012345, 0.00341, 3, 0.00847);
    is(&t, TABLE_CSV,
       "loss,loss std,loss n,loss ci95\n3.28012345,0.00341,3,0.00847\n",
       "a spread is four columns for programs");
    is(&t, TABLE_ALIGNED,
       "                                    loss\n"
       "3.2801 ± 0.0034 (std; 95% ± 0.0085, n=3)\n" +
           0,
       "a spread is one rounded column for people");
    table_clear(&t);
}

static void hidden(void)
{
    struct table t = TABLE_INIT("test.hidden/1");
    struct buf out = BUF_INIT;

    table_columns(&t, "name", "first", "second", "third", "fourth", "empty",
                  NULL);
    for (int i = 0; i < 5; i++)
        table_text(&t, "0123456789");
    table_none(&t);
    table_format(&t, TABLE_ALIGNED, true, false, 54, &out);
    ok(strstr(out.s, "\n(no room for fourth; --csv shows them)\n") != NULL,
       "columns that do not fit are named, unless they are empty: %s", out.s);
    buf_trim(&out, 0);
    table_format(&t, TABLE_ALIGNED, true, false, 62, &out);
    ok(strstr(out.s, "no room") == NULL, "no empty column is missed: %s",
       out.s);
    buf_trim(&out, 0);
    t.hint = "-c LIST shows them";
    table_format(&t, TABLE_ALIGNED, true, false, 12, &out);
    ok(strstr(out.s,
              "\n(no room for first and 3 more; -c LIST shows them)\n") != NULL,
       "of many columns that do not fit, some are named: %s", out.s);
    buf_clear(&out);
    table_clear(&t);
}

/* Names that begin alike, and the lines they are shown as. */
static void dropped(void)
{
    static const struct {
        const char *name[3], *shown, *what;
        size_t width;
    } cases[] = {
        { { "c4-base-lr1", "c4-base-lr2", "c4-base-wd" },
          "name  x\n…lr1  01234\n…lr2  01234\n…wd   01234\n"
          "(… stands for c4-base-)\n",
          "what all names begin with is dropped at a separator",
          12 },
        { { "c4-base-lr1", "c4-base-lr2", "c4-base-wd" },
          "name         x\nc4-base-lr1  01234\nc4-base-lr2  01234\n"
          "c4-base-wd   01234\n",
          "names are shown as they are where there is room",
          24 },
        { { "c4-lr1e-3", "c4-lr1e-4", "c4-lr1e-5" },
          "name\nc4-lr1e-3\nc4-lr1e-4\nc4-lr1e-5\n"
          "(no room for x; --csv shows them)\n",
          "no number is cut",
          10 },
        { { "c4-base-", "c4-base-lr2", "c4-base-wd" },
          "name\nc4-base-\nc4-base-lr2\nc4-base-wd\n"
          "(no room for x; --csv shows them)\n",
          "no name is dropped as a whole",
          14 },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct table t = TABLE_INIT("test.dropped/1");
        struct buf out = BUF_INIT;

        table_columns(&t, "name", "x", NULL);
        for (int k = 0; k < 3; k++) {
            table_text(&t, cases[i].name[k]);
            table_text(&t, "01234");
        }
        table_format(&t, TABLE_ALIGNED, true, false, cases[i].width, &out);
        ok(strcmp(out.s, cases[i].shown) == 0, "%s: %s", cases[i].what, out.s);
        buf_clear(&out);
        table_clear(&t);
    }
}

static void utf8(void)
{
    struct buf b = BUF_INIT;

    ok(utf8_width("aé日本e\xcc\x81") == 7, "width counts columns, not bytes");
    utf8_cut(&b, "日本語", 4);
    ok(utf8_width(b.s) == 4, "a text is cut at its width");
    buf_trim(&b, 0);
    utf8_clean(&b, "a\xc0\xaf\0z\xed\xa0\x80", 8);
    ok(strcmp(b.s, "a\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\xef\xbf\xbd"
                   "\xef\xbf\xbd\xef\xbf\xbd") == 0,
       "overlong forms, NULs and surrogates are replaced");
    buf_clear(&b);
    ok(utf8_fold(0x3a3) == utf8_fold(0x3c2) &&     /* final sigma */
           utf8_fold(0x218) == utf8_fold(0x219) && /* s with comma */
           utf8_fold(0x1af) == utf8_fold(0x1b0) && /* u with horn */
           utf8_fold(0x130) == 'i' && utf8_fold(0x212a) == 'k' &&
           utf8_fold(0xd7) == 0xd7 && utf8_fold(0x17e) == 0x17e,
       "letters that differ by case alone are folded to one");
}

int main(void)
{
    forms();
    widths();
    numbers();
    hidden();
    dropped();
    utf8();
    return done_testing();
}
