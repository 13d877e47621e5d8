/*
 * request - the URL and the headers of a request to gtrack serve, one a line
 *
 * with: src/track/serve/guard.c
 * with: src/track/serve/answer.c
 */
#include "config.h"
#include "track/serve/guard.h"

#include <string.h>

#include "common/path.h"
#include "t/fuzz/fuzz.h"
#include "track/serve/answer.h"

static const char token[] = "0123456789abcdef0123456789abcdef";

/* Nothing that a query decodes to is longer than its text. */
static void check_query(const char *text)
{
    struct query q = { 0 };
    struct err e = { 0 };
    char **list;

    if (query_parse(&q, text, &e) < 0) {
        FUZZ_CHECK(e.kind == ERR_USAGE && e.text[0]);
    } else {
        FUZZ_CHECK(q.n <= QUERY_MOST);
        for (size_t i = 0; i < q.n; i++) {
            FUZZ_CHECK(strlen(q.key[i]) + strlen(q.value[i]) <= strlen(text));
            FUZZ_CHECK(query_list(&q, q.key[i], &list) <= strlen(text) + 1);
        }
    }
    query_clear(&q);
}

/* Whoever passes has said the token. */
static void check_guard(const struct guard_request *r)
{
    struct guard g = { .cookie = "gtrack-1" };
    struct err e = { 0 };
    enum guard_verdict verdict;

    memcpy(g.token, token, sizeof token);
    verdict = guard_check(&g, r, &e);
    FUZZ_CHECK(verdict != GUARD_PASS || strstr(r->cookie, token));
    FUZZ_CHECK(verdict != GUARD_ENTER || strcmp(r->token, token) == 0);
    FUZZ_CHECK(verdict != GUARD_REFUSE || e.text[0]);
}

/* A path that stays below a folder has no part that leads up. */
static void check_path(const char *path)
{
    int depth = 0;

    file_kind_of(path);
    if (!path_stays_below(path))
        return;
    FUZZ_CHECK(*path != '/');
    for (const char *s = path; *s;) {
        const size_t n = strcspn(s, "/");

        depth += n == 2 && memcmp(s, "..", 2) == 0 ? -1 : 1;
        FUZZ_CHECK(depth >= 0);
        s += n + (s[n] == '/');
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    enum { LINES = 4 };
    char *text = malloc(n + 1), *line[LINES], *at = text;
    struct guard_request r;

    memcpy(text, data, n);
    text[n] = '\0';
    for (int i = 0; i < LINES; i++) {
        line[i] = at;
        at += strcspn(at, "\n");
        if (*at)
            *at++ = '\0';
    }
    check_query(line[0]);
    check_path(line[0]);
    r = (struct guard_request){ line[1], *line[2] ? line[2] : NULL, line[3],
                                line[0], n % 2 };
    check_guard(&r);
    free(text);
    return 0;
}
