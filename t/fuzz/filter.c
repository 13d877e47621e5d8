/*
 * filter - filters, and keys made legal
 */
#include "config.h"
#include "store/format/key.h"
#include "store/query/filter.h"

#include <string.h>

#include "t/fuzz/fuzz.h"

static void match(const struct filter *f)
{
    struct pair params[] = { { "lr", "1e-3" }, { "opt", "Ad\xc3\xbcm" } };
    struct pair tags[] = { { "k", "" } };
    struct metric_sum metrics[] = { { .key = "loss", .last = 0.5 } };
    const struct run_info run = {
        .id = "0123",
        .name = "a",
        .experiment = "x",
        .experiment_id = "0",
        .user = "u",
        .status = RUN_PREEMPTED,
        .params = params,
        .n_params = 2,
        .tags = tags,
        .n_tags = 1,
        .metrics = metrics,
        .n_metrics = 1,
    };
    struct err e = { 0 };

    filter_match(f, &run, &e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    char *text = malloc(n + 1), *key;
    struct err e = { 0 };
    struct filter *f;

    memcpy(text, data, n);
    text[n] = '\0';
    f = filter_parse(text, &e);
    FUZZ_CHECK(f || (e.kind == ERR_USAGE && e.text[0]));
    if (f)
        match(f);
    filter_free(f);
    key = key_clean(text);
    FUZZ_CHECK(!key_problem(key));
    FUZZ_CHECK(key_problem(text) || strcmp(key, text) == 0);
    free(key);
    free(text);
    return 0;
}
