#include "config.h"
#include "data/corpus/hashset.h"

#include "common/mem.h"

/* The slot that holds the hash, or would hold it. */
static size_t find_slot(const struct hashset *s, uint64_t hash)
{
    size_t i = hash & (s->room - 1);

    while (s->slot[i] && s->slot[i] != hash)
        i = (i + 1) & (s->room - 1);
    return i;
}

static void grow_slots(struct hashset *s)
{
    struct hashset more = { NULL, s->n, s->room ? s->room * 2 : 1024 };

    more.slot = xcalloc(more.room, sizeof *more.slot);
    for (size_t i = 0; i < s->room; i++)
        if (s->slot[i])
            more.slot[find_slot(&more, s->slot[i])] = s->slot[i];
    free(s->slot);
    *s = more;
}

bool hashset_add(struct hashset *s, uint64_t hash)
{
    size_t i;

    hash += hash == 0;
    if (s->n * 4 >= s->room * 3)
        grow_slots(s);
    i = find_slot(s, hash);
    if (s->slot[i])
        return false;
    s->slot[i] = hash;
    s->n++;
    return true;
}

size_t hashset_find(const struct hashset *s, uint64_t hash)
{
    size_t i;

    hash += hash == 0;
    if (!s->room)
        return SIZE_MAX;
    i = find_slot(s, hash);
    return s->slot[i] ? i : SIZE_MAX;
}

void hashset_clear(struct hashset *s)
{
    free(s->slot);
    *s = (struct hashset){ 0 };
}
