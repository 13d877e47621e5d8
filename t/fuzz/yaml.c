/*
 * yaml - meta.yaml; and what is written of any text is read back
 */
#include "config.h"
#include "common/utf8.h"
#include "common/format/yaml.h"

#include <string.h>

#include "t/fuzz/fuzz.h"

static void round_trip(const char *text)
{
    struct arena mem = { 0 };
    struct buf clean = BUF_INIT, b = BUF_INIT;
    struct err e = { 0 };
    struct yaml y;

    utf8_clean(&clean, text, strlen(text));
    yaml_put(&b, "value", text);
    yaml_put_int(&b, "number", -7);
    FUZZ_CHECK(yaml_parse(&y, &mem, b.s, b.len, false, &e) == 0);
    FUZZ_CHECK(y.n == 2 && strcmp(yaml_get(&y, "value"), clean.s) == 0);
    FUZZ_CHECK(strcmp(yaml_get(&y, "number"), "-7") == 0);
    buf_clear(&b);
    buf_clear(&clean);
    arena_clear(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct arena mem = { 0 };
    struct err e = { 0 };
    struct buf text = BUF_INIT;
    struct yaml y;

    buf_add(&text, data, n);
    if (yaml_parse(&y, &mem, text.s, text.len, false, &e) == 0)
        for (size_t i = 0; i < y.n; i++)
            FUZZ_CHECK(yaml_find(&y, y.pair[i].key));
    else
        FUZZ_CHECK(e.kind != ERR_NONE && e.text[0]);
    round_trip(text.s);
    buf_clear(&text);
    arena_clear(&mem);
    return 0;
}
