/* The list of sources in a setting. */
#include "config.h"
#include "common/format/source_list.h"

#include <string.h>

#include "t/lib/tap.h"

/* A list as text: each part, and the numbers of its source. */
static void describe(const struct source_list *l, struct buf *out)
{
    for (size_t i = 0; i < l->n; i++) {
        buf_printf(out, "%s%zu ", i ? "; " : "", l->part[i].source);
        source_list_text(&l->part[i], l->part[i].files, out);
    }
}

static void test_good(void)
{
    static const char *const cases[][2] = {
        { "data/x_*.bin", "0 data/x_*.bin" },
        { "data/{a,b}:c, d.bin", "0 data/{a,b}:c, d.bin" },
        { "./a:b.bin", "0 ./a:b.bin" },
        { "c4:data/c4.bin", "0 c4:data/c4.bin" },
        { "c4:0.6:d/c4_*.bin, code:30%:d/{x,y}_*.bin,wiki:1:w",
          "0 c4:0.600000:d/c4_*.bin; 1 code:0.300000:d/{x,y}_*.bin; "
          "2 wiki:1.000000:w" },
        { "a:9:x until=80% epochs=4 , b:1:y, a:1 from=80%",
          "0 a:9.000000:x until=80.0% epochs=4; 1 b:1.000000:y; "
          "0 a:1.000000 from=80.0%" },
        { "a:a file=.bin", NULL },
        { "a:a[=]file.bin", "0 a:a[=]file.bin" },
        { "a:d/a x=y.bin", NULL },
        { "a:1:x:y", "0 a:1.000000:x:y" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct buf text = BUF_INIT;
        struct source_list l;
        struct err e = { 0 };
        const bool read = source_list_parse(&l, cases[i][0], &e) == 0;

        if (read)
            describe(&l, &text);
        ok(read == (cases[i][1] != NULL) &&
               (!read || strcmp(text.s, cases[i][1]) == 0),
           "a list is read: %s", cases[i][0]);
        if (read && text.s && cases[i][1] && strcmp(text.s, cases[i][1]) != 0)
            diag("it is %s", text.s);
        if (read)
            source_list_clear(&l);
        buf_clear(&text);
    }
}

static void test_bad(void)
{
    static const char *const cases[][2] = {
        { "a:", "a has no files" },
        { "a:0.5", "a has no files; write a:SHARE:FILES" },
        { "a:0:x", "a: the share expects a number above 0" },
        { "a:-1:x", "the share expects" },
        { "a:nan:x", "the share expects" },
        { "a:1e9:x", "the share expects" },
        { "a:0.1234567:x", "at most 6 decimals" },
        { "a:b/c:x", "the share expects" },
        { "a:1:x, b", "expected NAME:SHARE:FILES" },
        { "a:1:x,", "expected NAME:SHARE:FILES" },
        { "a:1:x, 7:1:y", "expected NAME:SHARE:FILES" },
        { "a:1:x, a:1:y", "a is named twice" },
        { "a:1:x, a:1 epochs=2", "a is named twice" },
        { "a:1:x form=3", "a: expected from=STEP, until=STEP or epochs=N" },
        { "a:1:x from=120%", "not 'from=120%'" },
        { "a:1:x until=0", "not 'until=0'" },
        { "a:1:x epochs=0", "not 'epochs=0'" },
        { "a23456789012345678901234567890123:1:x", "expected NAME" },
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct source_list l;
        struct err e = { 0 };

        ok(source_list_parse(&l, cases[i][0], &e) < 0 && e.kind == ERR_USAGE &&
               strstr(e.text, cases[i][1]),
           "a list is refused: %s", cases[i][0]);
        if (!strstr(e.text, cases[i][1]))
            diag("%s", e.text);
    }
}

int main(void)
{
    struct buf many = BUF_INIT;
    struct source_list l;
    struct err e = { 0 };

    test_good();
    test_bad();
    for (int i = 0; i < 65; i++)
        buf_printf(&many, "%sa%d:1:x", i ? "," : "", i);
    ok(source_list_parse(&l, many.s, &e) < 0 && strstr(e.text, "more than 64"),
       "a list of too many sources is refused");
    buf_clear(&many);
    return done_testing();
}
