/*
 * jsonl - a line of JSON, and text that becomes one and is read again
 */
#include "config.h"
#include "data/corpus/jsonl.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "data/corpus/where.h"
#include "t/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static struct where *where;
    struct buf line = BUF_INIT;
    struct where_row row = { .text = BUF_INIT };
    struct err e = { 0 };
    char *text;
    size_t len;

    if (!where)
        where = where_parse("a = 1 or a.b.a is not null or text like 'a%'", &e);
    row.where = where;
    for (int chat = 0; chat < 2; chat++) {
        /* exactly n bytes, so that the sanitizer sees one more */
        char *copy = malloc(n ? n : 1);

        memcpy(copy, data, n);
        where_row_begin(&row);
        if (jsonl_row(copy, n, "text", chat ? '[' : '"', &row, &text, &len,
                      &e) == 1)
            FUZZ_CHECK(text >= copy && text + len <= copy + n &&
                       (!chat || text[len - 1] == '\0'));
        where_row_matches(&row);
        free(copy);
    }
    where_row_clear(&row);

    jsonl_write(&line, (const char *)data, n);
    FUZZ_CHECK(
        jsonl_row(line.s, line.len, "text", '"', NULL, &text, &len, &e) == 1);
    buf_clear(&line);
    return 0;
}
