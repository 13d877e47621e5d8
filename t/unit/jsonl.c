/*
 * jsonl - lines of JSON, and the boundaries of text
 */
#include "config.h"
#include "data/corpus/jsonl.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "data/token/pretokenize.h"
#include "t/lib/tap.h"

static void lines(void)
{
    static const struct {
        const char *line, *want; /* NULL: bad */
    } cases[] = {
        { "{\"text\":\"\"}", "" },
        { " { \"text\" : \"x\" } \r", "x" },
        { "{\"text\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"}", "\"\\/\b\f\n\r\t" },
        { "{\"text\":\"\\u00e9\\u4e2d\\uD83D\\uDE00.\"}",
          "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80." },
        { "{\"text\":\"\\ud800\"}", "\xef\xbf\xbd" },
        { "{\"text\":\"\\ud800\\u0041\"}", "\xef\xbf\xbd"
                                           "A" },
        { "{\"text\":\"\\udc00x\"}", "\xef\xbf\xbdx" },
        { "{\"text\":\"\\ud800\\ud83d\\ude00\"}",
          "\xef\xbf\xbd\xf0\x9f\x98\x80" },
        { "{\"te\\u0078t\":\"x\"}", "x" },
        { "{\"text\":\"1\",\"text\":\"2\"}", "2" },
        { "{\"text\":null,\"text\":\"a\"}", "a" },
        { "{\"text\":\"a\",\"text\":null}", NULL },
        { "{\"a\":{\"text\":\"no\"},\"text\":\"x\",\"b\":[1,[],{},"
          "{\"c\":[null,true,false,-0.5e+3]}]}",
          "x" },
        { "{\"text\":\"long enough to take the fast way \\n through it all\"}",
          "long enough to take the fast way \n through it all" },
        { "{}", NULL },
        { "[]", NULL },
        { "\"text\"", NULL },
        { "{\"text\":1}", NULL },
        { "{\"text\":null}", NULL },
        { "{\"text\":\"x\"", NULL },
        { "{\"text\":\"x}", NULL },
        { "{\"text\":\"x\"}}", NULL },
        { "{\"text\":\"x\"} y", NULL },
        { "{\"text\":\"x\",}", NULL },
        { "{\"text\" \"x\"}", NULL },
        { "{text:\"x\"}", NULL },
        { "{\"text\":\"\\x\"}", NULL },
        { "{\"text\":\"\\u12g4\"}", NULL },
        { "{\"text\":\"\\u12", NULL },
        { "{\"text\":\"\t\"}", NULL },
        { "{\"a\":01,\"text\":\"x\"}", NULL },
        { "{\"a\":1.,\"text\":\"x\"}", NULL },
        { "{\"a\":+1,\"text\":\"x\"}", NULL },
        { "{\"a\":nul,\"text\":\"x\"}", NULL },
        { "{\"a\":[1 2],\"text\":\"x\"}", NULL },
        { "{\"a\":[1},\"text\":\"x\"}", NULL },
        { "{\"a\":,\"text\":\"x\"}", NULL },
    };
    char *deep = xmalloc(3000), *text;
    struct err e;
    size_t len;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *want = cases[i].want;
        char *line = xstrdup(cases[i].line);
        const int got =
            jsonl_row(line, strlen(line), "text", '"', NULL, &text, &len, &e);

        if (!ok(want ? got == 1 && len == strlen(want) &&
                           memcmp(text, want, len) == 0
                     : got == -1 && e.kind == ERR_INPUT,
                "%s is %s", cases[i].line, want ? "read" : "refused"))
            diag("got %d", got);
        free(line);
    }
    memset(deep, '[', 3000);
    memcpy(deep, "{\"a\":", 5);
    ok(jsonl_row(deep, 3000, "text", '"', NULL, &text, &len, &e) < 0 &&
           strstr(e.text, "too deeply"),
       "deeply nested JSON is refused");
    free(deep);
    deep = xstrdup("{\"text\":\"a\\u0000b\"}");
    ok(jsonl_row(deep, strlen(deep), "text", '"', NULL, &text, &len, &e) == 1 &&
           len == 3 && memcmp(text, "a\0b", 3) == 0,
       "\\u0000 becomes a NUL");
    free(deep);
    ok(jsonl_row((char[]){ " \t" }, 2, "text", '"', NULL, &text, &len, &e) == 0,
       "a blank line has no text");
}

/* Escapes after all numbers of other characters, which are moved in place. */
static void escapes(void)
{
    int bad = 0;

    for (size_t gap = 0; gap < 80; gap++) {
        struct buf line = BUF_INIT, want = BUF_INIT;
        char *text = NULL;
        struct err e;
        size_t len = 0;

        buf_str(&line, "{\"text\":\"");
        for (size_t i = 0; i < 50; i++) {
            for (size_t k = 0; k < (gap + i * i) % 80; k++) {
                buf_char(&line, (char)('a' + (i + k) % 26));
                buf_char(&want, (char)('a' + (i + k) % 26));
            }
            buf_str(&line, i % 3 ? "\\n" : "\\u00e9");
            buf_str(&want, i % 3 ? "\n" : "\xc3\xa9");
        }
        buf_str(&line, "\"}");
        bad += jsonl_row(line.s, line.len, "text", '"', NULL, &text, &len,
                         &e) != 1 ||
               len != want.len || memcmp(text, want.s, len) != 0;
        buf_clear(&line);
        buf_clear(&want);
    }
    ok(bad == 0, "characters between escapes are moved, however many");
}

static void replacements(void)
{
    static const struct {
        const char *field, *line, *want;
    } cases[] = {
        { "text", "{\"text\":\"\"}", "{\"text\":\"new \\\"\"}\n" },
        { "text", "{\"a\": \"text\", \"text\" : \"\\\\\\\"x\\n\", \"b\":[{}]}",
          "{\"a\": \"text\", \"text\" : \"new \\\"\", \"b\":[{}]}\n" },
        { "b|a", "{\"a\":\"x\",\"b\":\"y\"}",
          "{\"a\":\"x\",\"b\":\"new \\\"\"}\n" },
        { "text", "{\"t\\u0065xt\":\"x\",\"n\":1}",
          "{\"t\\u0065xt\":\"new \\\"\",\"n\":1}\n" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf b = BUF_INIT;

        jsonl_replace(&b, cases[i].line, strlen(cases[i].line), cases[i].field,
                      "new \"", 5);
        if (!ok(strcmp(b.s, cases[i].want) == 0,
                "another text takes the place of that of %s", cases[i].line))
            diag("got %s", b.s);
        buf_clear(&b);
    }
}

static void boundaries(void)
{
    static const struct {
        const char *text;
        size_t want;
    } cases[] = {
        { "ab cd", 2 },      { "ab\ncd", 2 }, { "ab.\ncd", 0 },
        { "ab. cd", 3 },     { "ab  cd", 2 }, { "ab\n\ncd", 2 },
        { "\xc3\xa9 x", 0 }, { "abcd", 0 },   { "a\tb", 0 },
        { " ab", 0 },        { "ab ", 2 },
    };
    char lines[1000];
    int64_t n = 0;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        ok(boundary_before_blank(cases[i].text, strlen(cases[i].text), 0) ==
               cases[i].want,
           "the last boundary of case %zu is found", i);
    for (size_t i = 0; i < sizeof lines; i++)
        n += (lines[i] = i * i % 7 == 2 ? '\n' : 'x') == '\n';
    ok(boundary_count_lines(lines, sizeof lines) == n, "lines are counted");
    ok(boundary_last_word("ababa", 5, "ab", 2) &&
           boundary_last_word("xaby", 4, "ab", 2) &&
           !boundary_last_word("a", 1, "ab", 2) &&
           !boundary_last_word("bbb", 3, "ab", 2),
       "the last occurrence of a word is found");
}

int main(void)
{
    lines();
    escapes();
    replacements();
    boundaries();
    return done_testing();
}
