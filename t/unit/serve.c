/*
 * serve - the parts of the server of gtrack serve that need no store
 */
#include "config.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "t/lib/tap.h"
#include "track/serve/answer.h"
#include "track/serve/guard.h"

/*
 * Queries
 */
static void test_query(void)
{
    static const char *const wrong[] = { "a=%", "a=%4", "%zz=1", "a=%00",
                                         "a=b&c=%g0" };
    struct query q = { 0 };
    struct err e = { 0 };
    char **list;
    int n;

    ok(query_parse(&q, "a=1&b=x+y%2Fz&empty=&=&list=p,,q&flag=1", &e) == 0,
       "a query can be read");
    ok(strcmp(query_get(&q, "b"), "x y/z") == 0, "escapes are decoded");
    ok(!query_get(&q, "empty") && !query_get(&q, "none"),
       "an empty value is as good as none");
    ok(query_flag(&q, "flag") && !query_flag(&q, "b"), "1 is a flag");
    ok(query_list(&q, "list", &list) == 2 && strcmp(list[1], "q") == 0,
       "a list is divided at its commas");
    ok(query_number(&q, "a", 1, 7, &n, &e) == 0 && n == 1, "a number is read");
    ok(query_number(&q, "none", 1, 7, &n, &e) == 0 && n == 7,
       "a number that is missing has its default");
    ok(query_number(&q, "b", 1, 7, &n, &e) < 0, "a text is no number");
    query_clear(&q);
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        ok(query_parse(&q, wrong[i], &e) < 0, "the escape in %s is refused",
           wrong[i]);
        query_clear(&q);
    }
}

/*
 * Who may ask
 */
static void test_guard(void)
{
    /* clang-format off */
    static const struct {
        const char *host, *origin;
        bool cookie, changes;
        enum guard_verdict verdict;
    } rows[] = {
        { "127.0.0.1:1", NULL, true, false, GUARD_PASS },
        { "LOCALHOST", NULL, true, false, GUARD_PASS },
        { "[::1]:1", NULL, true, false, GUARD_PASS },
        { "proxy.example", NULL, true, false, GUARD_PASS },
        { "127.0.0.1:1", NULL, false, false, GUARD_REFUSE },
        { "127.0.0.1.evil.example", NULL, true, false, GUARD_REFUSE },
        { "localhost.evil.example:1", NULL, true, false, GUARD_REFUSE },
        { "", NULL, true, false, GUARD_REFUSE },
        { "[::1].evil.example", NULL, true, false, GUARD_REFUSE },
        { "127.0.0.1:80@evil.example", NULL, true, false, GUARD_REFUSE },
        { "127.0.0.1:", NULL, true, false, GUARD_REFUSE },
        { "localhost:1", "chrome-extension://localhost:1", true, true,
          GUARD_REFUSE },
        { "[::1", NULL, true, false, GUARD_REFUSE },
        { "localhost:1", "http://localhost:1", true, true, GUARD_PASS },
        { "localhost:1", "https://localhost:1", true, true, GUARD_PASS },
        { "localhost:1", "http://localhost:2", true, true, GUARD_REFUSE },
        { "localhost:1", "null", true, true, GUARD_REFUSE },
        { "localhost:1", NULL, true, true, GUARD_REFUSE },
    };
    /* clang-format on */
    const char *name = "proxy.example";
    const struct opt_list hosts = { &name, 1, 1 };
    const struct guard_conf conf = { .port = 1, .hosts = &hosts };
    char cookie[128], tokens[80], session[GUARD_SESSION];
    struct err e = { 0 };
    struct guard g, other;

    ok(guard_init(&g, &conf, &e) == 0 && guard_init(&other, &conf, &e) == 0,
       "a guard has a token");
    ok(strlen(g.token) == GUARD_TOKEN && strcmp(g.token, other.token) != 0,
       "each server has another token");
    ok(strcmp(g.path, other.path) != 0 && strcmp(g.path, g.token) != 0,
       "each server has another path, which is not the token");
    guard_begin(&g, time(NULL), session);
    snprintf(cookie, sizeof cookie, "a=b; %s=%s", g.cookie, session);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct guard_request r = { rows[i].host,
                                         rows[i].origin,
                                         rows[i].cookie ? cookie : NULL,
                                         NULL,
                                         1,
                                         rows[i].changes };

        ok(guard_check(&g, &r, &e) == rows[i].verdict,
           "row %zu: a request to '%s' from %s is %s", i, rows[i].host,
           rows[i].origin ? rows[i].origin : "no origin",
           rows[i].verdict == GUARD_PASS ? "answered" : "refused");
    }
    for (size_t i = 0; i < 3; i++) {
        struct guard_request r = { "localhost", NULL, NULL, tokens, 1, false };

        snprintf(tokens, sizeof tokens, "%s%s", i == 1 ? "" : g.token,
                 i == 2 ? "0" : "");
        ok(guard_check(&g, &r, &e) == (i == 0 ? GUARD_ENTER : GUARD_REFUSE),
           "a token of %zu digits is %s", strlen(tokens),
           i == 0 ? "accepted" : "refused");
    }
}

/* A session ends, and one of another server or with another end is none. */
static void test_sessions(void)
{
    static const struct {
        const char *what;
        int64_t begun; /* seconds from now */
        bool other, later;
        enum guard_verdict verdict;
    } rows[] = {
        { "of now is answered", 0, false, false, GUARD_PASS },
        { "of last week is refused", -8 * 24 * 3600, false, false,
          GUARD_REFUSE },
        { "of next week is refused", 8 * 24 * 3600, false, false,
          GUARD_REFUSE },
        { "of another server is refused", 0, true, false, GUARD_REFUSE },
        { "that was made longer is refused", -8 * 24 * 3600, false, true,
          GUARD_REFUSE },
    };
    struct err e = { 0 };
    struct guard g, other;

    if (guard_init(&g, &(struct guard_conf){ .port = 1 }, &e) < 0 ||
        guard_init(&other, &(struct guard_conf){ .port = 1 }, &e) < 0)
        abort();
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char session[GUARD_SESSION], cookie[128], now[GUARD_SESSION];
        struct guard_request r = { "localhost", NULL, cookie, NULL, 1, false };

        guard_begin(&g, time(NULL), now);
        guard_begin(rows[i].other ? &other : &g, time(NULL) + rows[i].begun,
                    session);
        if (rows[i].later)
            memcpy(session, now, strcspn(now, "-"));
        snprintf(cookie, sizeof cookie, "%s=%s", g.cookie, session);
        ok(guard_check(&g, &r, &e) == rows[i].verdict, "a session %s",
           rows[i].what);
        r.hosts = 2;
        ok(guard_check(&g, &r, &e) == GUARD_REFUSE,
           "a session %s, and with two hosts anyway", rows[i].what);
    }
}

/*
 * Compressed answers
 */
static void test_gzip(void)
{
    static const char *const yes[] = { "gzip", "deflate, gzip;q=0.5, br",
                                       "gzip, deflate" };
    static const char *const no[] = { NULL,       "",
                                      "br",       "xgzip",
                                      "gzip;q=0", "deflate, gzip; q=0.0" };
    struct buf b = BUF_INIT;

    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        ok(answer_gzip_is_wanted(yes[i]), "gzip is accepted: %s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        ok(!answer_gzip_is_wanted(no[i]), "gzip is not accepted: %s",
           no[i] ? no[i] : "no header");
    buf_str(&b, "short");
    ok(!answer_gzip(&b) && strcmp(b.s, "short") == 0, "a short answer stays");
    for (int i = 0; i < 5000; i++)
        buf_printf(&b, "%d,", i);
    ok(answer_gzip(&b) && b.len < 15000 && memcmp(b.s, "\x1f\x8b", 2) == 0,
       "a long answer is compressed");
    buf_clear(&b);
}

/*
 * Answers that are repeated
 */
static void test_cache(void)
{
    struct cache c = { 0 };
    struct buf in = BUF_INIT, out = BUF_INIT;
    char url[32];

    buf_str(&in, "answer");
    cache_put(&c, "/a", 1, &in);
    ok(cache_get(&c, "/a", 1, INFINITY, &out) && strcmp(out.s, "answer") == 0,
       "an answer is repeated");
    ok(!cache_get(&c, "/b", 1, INFINITY, &out),
       "another question has another answer");
    ok(!cache_get(&c, "/a", 2, INFINITY, &out),
       "a store that has changed has other answers");
    ok(!cache_get(&c, "/a", 1, -1, &out), "an answer may be too old");
    for (int i = 0; i < CACHE_ANSWERS; i++) {
        snprintf(url, sizeof url, "/%d", i);
        cache_put(&c, url, 1, &in);
    }
    ok(!cache_get(&c, "/a", 1, INFINITY, &out) &&
           cache_get(&c, "/0", 1, INFINITY, &out),
       "the oldest answer makes room");
    for (int i = 0; i < CACHE_ANSWERS; i++) {
        buf_room(&in, CACHE_BYTES / 5);
        memset(in.s, 'x', CACHE_BYTES / 5);
        in.len = CACHE_BYTES / 5;
        snprintf(url, sizeof url, "/%d", i);
        cache_put(&c, url, 1, &in);
    }
    ok(c.bytes <= CACHE_BYTES, "answers take a limited amount of memory");
    cache_clear(&c);
    ok(c.bytes == 0, "a cache can be cleared");
    buf_clear(&in);
    buf_clear(&out);
}

/*
 * Answers of which a part has changed
 */

/* What the page makes of a delta: see whole_text() in api.js. */
static void put_together(struct buf *out, const char *delta, const char *old)
{
    json_t *all = json_loads(delta, 0, NULL);
    json_t *part, *list = json_object_get(all, "delta");
    size_t i;

    json_array_foreach(list, i, part)
    {
        const json_int_t from = json_integer_value(json_array_get(part, 0));
        const json_int_t n = json_integer_value(json_array_get(part, 1));
        const char *at = old;

        buf_str(out, json_is_string(part) ? json_string_value(part) : "");
        for (json_int_t k = 0; k < from + n && *at; k++) {
            const size_t len = 1 + strcspn(at + 1, "{[");

            if (k >= from)
                buf_add(out, at, len);
            at += len;
        }
    }
    json_decref(all);
}

static void test_delta(void)
{
    static const struct {
        const char *what, *old, *now, *delta;
    } rows[] = {
        { "nothing", "{\"a\":[1,2]}", "{\"a\":[1,2]}", "[[0,2]]" },
        { "the middle", "{\"a\":[{\"b\":1},{\"b\":2},{\"b\":3}]}",
          "{\"a\":[{\"b\":1},{\"b\":9},{\"b\":3}]}",
          "[[0,3],\"{\\\"b\\\":9},\",[4,1]]" },
        { "the end", "[[1],[2]]", "[[1],[2],[3]]", "[[0,2],\"[2],[3]]\"]" },
        { "the order", "[0,[1],[2],[3],4]", "[0,[3],[2],[1],4]", NULL },
        { "everything", "{}", "[[\"\xc3\xa9{\"]]", NULL },
        { "everything to nothing", "[[1],[2]]", "{}", "[\"{}\"]" },
        { "which of equal pieces is there", "[[1],[1],[1],[2]]",
          "[[1],[1],[2]]", NULL },
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf old = BUF_INIT, delta = BUF_INIT, again = BUF_INIT;

        buf_str(&old, rows[i].old);
        buf_str(&delta, rows[i].now);
        cache_delta(&delta, &old);
        put_together(&again, delta.s, rows[i].old);
        ok(strcmp(again.s, rows[i].now) == 0 &&
               (!rows[i].delta || strstr(delta.s, rows[i].delta)),
           "an answer is put together where %s changes", rows[i].what);
        buf_clear(&old);
        buf_clear(&delta);
        buf_clear(&again);
    }
}

int main(void)
{
    test_query();
    test_guard();
    test_gzip();
    test_sessions();
    test_cache();
    test_delta();
    return done_testing();
}
