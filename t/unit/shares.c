/* Shares of a mixture: exact in each prefix, and a function of the number. */
#include "config.h"
#include "data/shards/mixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/rng.h"
#include "t/lib/tap.h"

enum { MOST = 30000, SOURCES = 5, PARTS = 10 };

/* What is due by shares_conf, sequence by sequence; returns how many there
 * are.  Where a source ends within a sequence, the others get the rest. */
static int64_t add_due(const struct shares_conf *c, long double (*due)[SOURCES])
{
    for (int64_t i = 0; i < MOST; i++) {
        long double sum = 0, weight[SOURCES] = { 0 }, amount = 1;
        bool again = true, ended = false;

        for (size_t p = 0; p < c->parts; p++) {
            const struct shares_part *part = &c->part[p];
            const int64_t most = c->most[part->source];

            if (i < part->from || i >= part->until)
                continue;
            if (most && due[i][part->source] > (long double)most - 1e-9L)
                ended = true;
            else
                weight[part->source] += (long double)part->weight;
        }
        for (size_t k = 0; k < c->sources; k++)
            due[i + 1][k] = due[i][k];
        while (again && amount > 1e-9L) {
            again = false;
            sum = 0;
            for (size_t k = 0; k < c->sources; k++)
                sum += weight[k];
            if (sum <= 0 || (ended && c->stops))
                return i;
            for (size_t k = 0; k < c->sources && !again; k++) {
                const int64_t most = c->most[k];
                const long double left = (long double)most - due[i][k];

                if (!most || weight[k] <= 0 ||
                    amount * weight[k] / sum <= left + 1e-9L)
                    continue;
                if (c->stops)
                    return i;
                due[i + 1][k] += left;
                amount -= left;
                weight[k] = 0;
                again = true;
            }
        }
        for (size_t k = 0; k < c->sources && sum > 0; k++)
            due[i + 1][k] += amount * weight[k] / sum;
    }
    return MOST;
}

/* Does the number of sequences of each source differ from what is due by at
 * most one, in each prefix, and does an answer not depend on those before? */
static bool is_exact(const struct shares_conf *c, uint64_t seed)
{
    long double(*due)[SOURCES] = calloc(MOST + 1, sizeof *due);
    struct shares *s = shares_new(c), *other = shares_new(c);
    const int64_t n = add_due(c, due);
    int64_t count[SOURCES] = { 0 };
    bool good = n == MOST ? shares_length(s) >= n : shares_length(s) == n;

    for (int64_t i = 0; i < n && good; i++) {
        const struct shares_place p = shares_at(s, i);

        good = p.source < c->sources && p.nth == count[p.source]++;
        for (size_t k = 0; k < c->sources && good; k++)
            good = fabsl((long double)count[k] - due[i + 1][k]) < 1.0L + 1e-9L;
    }
    for (int k = 0; k < 50 && good && n > 0; k++) {
        const int64_t i =
            (int64_t)((double)rng_uniform(seed, 9, (uint64_t)k) * (double)n);
        const struct shares_place a = shares_at(s, i), b = shares_at(other, i);

        good = a.source == b.source && a.nth == b.nth &&
               shares_count(other, a.source, i) == a.nth;
    }
    for (size_t k = 0; k < c->sources && good; k++)
        good = shares_count(other, k, n) == count[k] &&
               (!c->most[k] || count[k] <= c->most[k]);
    shares_free(s);
    shares_free(other);
    free(due);
    return good;
}

/* Draw parts, limits and what a limit ends. */
static bool is_drawn_exact(uint64_t seed)
{
    struct shares_part part[PARTS];
    int64_t most[SOURCES] = { 0 };
    struct shares_conf c = { .sources = 1 + seed % SOURCES,
                             .part = part,
                             .most = most,
                             .stops = seed % 7 == 0 };
    uint64_t at = 0;

    for (size_t k = 0; k < c.sources; k++) {
        const double u = (double)rng_uniform(seed, 1, at++);

        most[k] = u < 0.4 ? 0 : 1 + (int64_t)(u * 5000);
        part[c.parts++] = (struct shares_part){
            k, 1 + (int64_t)(1000 * rng_uniform(seed, 1, at++)), 0, INT64_MAX
        };
    }
    while (c.parts < PARTS && seed % 3) {
        const int64_t from = (int64_t)(15000 * rng_uniform(seed, 1, at++));
        const int64_t n = 1 + (int64_t)(9000 * rng_uniform(seed, 1, at++));

        part[c.parts] = (struct shares_part){
            c.parts % c.sources,
            1 + (int64_t)(3000 * rng_uniform(seed, 1, at++)), from, from + n
        };
        c.parts++;
    }
    return is_exact(&c, seed);
}

static void test_pattern(void)
{
    const struct shares_part part[] = { { 0, 6, 0, INT64_MAX },
                                        { 1, 3, 0, INT64_MAX },
                                        { 2, 1, 0, INT64_MAX } };
    struct shares *s = shares_new(
        &(struct shares_conf){ .sources = 3, .part = part, .parts = 3 });
    char is[21] = "";

    for (int i = 0; i < 20; i++)
        is[i] = (char)('a' + (int)shares_at(s, i).source);
    ok(strcmp(is, "aabaababacaabaababac") == 0,
       "shares of 6, 3 and 1 make a rhythm: %s", is);
    ok(shares_at(s, 100000003).source == shares_at(s, 3).source &&
           shares_at(s, 100000003).nth == 60000000 + shares_at(s, 3).nth,
       "a sequence far ahead is found");
    shares_free(s);
}

static void test_many(void)
{
    enum { MANY = 64 };
    struct shares_part part[MANY];
    struct shares *s;
    int64_t count[MANY] = { 0 };
    bool good = true;

    for (size_t k = 0; k < MANY; k++)
        part[k] = (struct shares_part){ k, 1, 0, INT64_MAX };
    part[0].weight = 999999;
    s = shares_new(
        &(struct shares_conf){ .sources = MANY, .part = part, .parts = MANY });
    for (int64_t i = 0; i < 1000062; i++)
        count[shares_at(s, i).source]++;
    for (size_t k = 1; k < MANY; k++)
        good = good && count[k] == 1;
    ok(good && count[0] == 999999, "a share of a millionth is exact");
    shares_free(s);
}

static void test_end(void)
{
    const struct shares_part part[] = { { 0, 1, 0, INT64_MAX },
                                        { 1, 1, 0, 100 } };
    const int64_t most[] = { 80, 0 };
    struct shares_conf c = {
        .sources = 2, .part = part, .parts = 2, .most = most
    };
    struct shares *s = shares_new(&c);

    ok(shares_length(s) == 130 && shares_count(s, 0, 130) == 80 &&
           shares_count(s, 1, 130) == 50,
       "sequences end where the last source has ended");
    shares_free(s);
    c.stops = true;
    s = shares_new(&c);
    ok(shares_length(s) == 130, "the last source may be the first that ends");
    shares_free(s);
    c.most = (const int64_t[]){ 20, 0 };
    s = shares_new(&c);
    ok(shares_length(s) == 40, "the first source that ends may end all");
    shares_free(s);
    c.stops = false;
    s = shares_new(&c);
    ok(shares_length(s) == 100 && shares_count(s, 1, 100) == 80,
       "the others share what a source that has ended leaves");
    shares_free(s);
}

int main(void)
{
    int wrong = 0;

    test_pattern();
    test_many();
    test_end();
    for (uint64_t seed = 1; seed <= 100; seed++)
        if (!is_drawn_exact(seed) && wrong++ == 0)
            diag("seed %d is wrong", (int)seed);
    ok(wrong == 0,
       "in each prefix, no source is off by more than one sequence");
    return done_testing();
}
