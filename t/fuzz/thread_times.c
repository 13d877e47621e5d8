/*
 * thread_times - the slices of a file are in order and within their limits
 *
 * with: src/plot/thread_times.c
 */
#include "config.h"
#include "plot/thread_times.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "t/fuzz/fuzz.h"

static void check_slice(const struct thread_times *t, size_t i)
{
    const struct thread_times_slice *s = &t->slice[i];

    FUZZ_CHECK(s->start >= 0 && s->end > s->start && s->end < 1e10);
    FUZZ_CHECK(s->faults >= 0);
    FUZZ_CHECK(s->thread >= 0 && s->thread < t->n_threads);
    FUZZ_CHECK(s->name >= 0 && s->name < t->n_names);
    FUZZ_CHECK(t->thread[s->thread] && t->name[s->name]);
    FUZZ_CHECK(i == 0 || s->thread > s[-1].thread ||
               (s->thread == s[-1].thread && s->start >= s[-1].end));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    /* exactly n bytes, so that the sanitizer sees one more */
    char *copy = malloc(n ? n : 1);
    struct thread_times t = { 0 };
    struct err e = { 0 };

    memcpy(copy, data, n);
    if (thread_times_parse(&t, copy, n, "trace", &e) == 0)
        for (size_t i = 0; i < t.n; i++)
            check_slice(&t, i);
    else
        FUZZ_CHECK(e.kind == ERR_INPUT && e.text[0]);
    thread_times_free(&t);
    free(copy);
    return 0;
}
