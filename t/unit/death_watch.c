/*
 * death_watch - the rank that hangs is found from what the others wait for
 */
#include "config.h"

#include "t/lib/tap.h"
#include "trainer/ranks/death_watch.h"

#define NONE WAITS_FOR_NONE
#define ALL  WAITS_FOR_ALL

static const struct {
    const char *what;
    int ranks, from, waits_for[5], silent;
} cases[] = {
    { "the only other rank", 2, 0, { 1, NONE }, 1 },
    { "rank 0, for which another one waits", 2, 1, { NONE, 0 }, 0 },
    { "the end of a chain", 5, 0, { 1, 2, 3, NONE, 0 }, 3 },
    { "the end of a chain, from its middle", 5, 2, { 1, 2, 3, NONE, 0 }, 3 },
    { "a neighbour's neighbour that has not reported yet",
      4,
      0,
      { 1, NONE, NONE, NONE },
      1 },
    { "the one that is missing from a sum", 4, 0, { ALL, ALL, NONE, ALL }, 2 },
    { "the one that a chain and a sum lead to", 4, 0, { 1, ALL, NONE, 0 }, 2 },
};

int main(void)
{
    const int circle[] = { 1, 2, 0 }, sum[] = { ALL, ALL };
    int found;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        found =
            death_watch_find(cases[i].waits_for, cases[i].ranks, cases[i].from);
        ok(found == cases[i].silent, "found is %s", cases[i].what);
    }
    found = death_watch_find(circle, 3, 0);
    ok(found >= 0 && found < 3, "ranks that wait in a circle end the search");
    found = death_watch_find(sum, 2, 0);
    ok(found >= 0 && found < 2, "ranks that all wait for a sum end it, too");
    return done_testing();
}
