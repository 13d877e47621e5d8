/*
 * bisect_document - find the first document that differs in a sequence
 */
#include "config.h"
#include "trainer/replay/bisect.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/num.h"
#include "common/utf8.h"

/* The documents of a batch, or the parts of them in one sequence. */
struct documents {
    struct buf text; /* the strings */
    struct document {
        int64_t sequence, position;
        const char *text;
    } * item;
    size_t n, room;
};

/* Rows have the loss, the tokens, the sequence, the position, the source of a
 * mixture, and the text. */
static int read_documents(struct documents *d, struct err *e)
{
    char *at = d->text.s, *line;

    while ((line = bisect_cut(&at, '\n'))) {
        struct document doc = { 0 };
        const char *sequence, *position, *source;

        bisect_cut(&line, '\t');
        bisect_cut(&line, '\t');
        sequence = bisect_cut(&line, '\t');
        position = bisect_cut(&line, '\t');
        if (!position || !num_int(sequence, &doc.sequence) ||
            !num_int(position, &doc.position))
            return err_set(e, ERR_INPUT, "gtrain batch printed '%s'", line);
        source = line ? strrchr(line, '\t') : NULL;
        doc.text = source ? source + 1 : line;
        GROW(d->item, d->n, d->room);
        d->item[d->n++] = doc;
    }
    return 0;
}

static int compute_documents(struct documents *d, const struct bisect_run *r,
                             int64_t step, struct err *e)
{
    char *number = xasprintf("%" PRId64, step);
    const char *const words[] = { "batch", r->run->id, number, "-n",
                                  "0",     "--whole",  NULL };
    int ret = bisect_compute(&d->text, r, step, words, e);

    if (ret == 0)
        ret = read_documents(d, e);
    free(number);
    return ret;
}

static const char *find_text(const struct documents *d, int64_t sequence,
                             int64_t position)
{
    for (size_t i = 0; i < d->n; i++)
        if (d->item[i].sequence == sequence && d->item[i].position == position)
            return d->item[i].text;
    return "";
}

/* The first document of a sequence whose text the other does not have. */
static const struct document *find_different(const struct documents *d,
                                             const struct documents *other,
                                             int64_t sequence)
{
    const struct document *first = NULL;

    for (size_t i = 0; i < d->n; i++) {
        const struct document *at = &d->item[i];

        if (at->sequence == sequence &&
            (!first || at->position < first->position) &&
            strcmp(at->text, find_text(other, sequence, at->position)) != 0)
            first = at;
    }
    return first;
}

/* Some text from shortly before byte `at` on. */
static void add_text(struct table *t, const char *text, size_t at)
{
    enum { BEFORE = 20, SHOWN = 60 };
    const char *from = text + (at > BEFORE ? at - BEFORE : 0);
    struct buf clean = BUF_INIT;

    utf8_clean(&clean, from, strnlen(from, SHOWN));
    table_text(t, clean.s);
    buf_clear(&clean);
}

static void add_difference(struct table *t, const struct document *d,
                           const char *other)
{
    size_t same = 0;

    while (d->text[same] && d->text[same] == other[same])
        same++;
    table_text(t, "data");
    table_printf(t, "document at position %" PRId64 " of sequence %" PRId64,
                 d->position, d->sequence);
    add_text(t, d->text, same);
    add_text(t, other, same);
}

static void clear_documents(struct documents *d)
{
    buf_clear(&d->text);
    free(d->item);
}

int bisect_document(struct table *t, const struct bisect_run *a,
                    const struct bisect_run *b, int64_t step, int64_t sequence,
                    struct err *e)
{
    struct documents of_a = { .text = BUF_INIT }, of_b = { .text = BUF_INIT };
    const struct document *d = NULL;
    int ret = compute_documents(&of_a, a, step, e);

    if (ret == 0)
        ret = compute_documents(&of_b, b, step, e);
    if (ret == 0)
        d = find_different(&of_a, &of_b, sequence);
    if (d)
        add_difference(t, d, find_text(&of_b, sequence, d->position));
    clear_documents(&of_a);
    clear_documents(&of_b);
    return ret;
}
