#include "config.h"
#include "data/corpus/ngram.h"

#include <math.h>
#include <stdlib.h>

#include "common/mem.h"

enum { ORDERS = 3 };

struct ngram {
    int order;
    uint32_t *count[ORDERS]; /* of sequences of 1, 2, 3 bytes */
    uint64_t *sum[ORDERS];   /* of counts after 0, 1, 2 bytes */
    uint32_t *kinds[ORDERS]; /* of bytes after 0, 1, 2 bytes */
};

/* The number of sequences; the last byte of one is the lowest of its index. */
static size_t sequences(int len)
{
    return (size_t)1 << (8 * len);
}

struct ngram *ngram_new(int order)
{
    struct ngram *m = xcalloc(1, sizeof *m);

    m->order = order;
    for (int i = 0; i < order; i++) {
        m->count[i] = xcalloc(sequences(i + 1), sizeof *m->count[i]);
        m->sum[i] = xcalloc(sequences(i), sizeof *m->sum[i]);
        m->kinds[i] = xcalloc(sequences(i), sizeof *m->kinds[i]);
    }
    return m;
}

static const uint32_t newlines = '\n' << 8 | '\n';

void ngram_add(struct ngram *m, const char *text, size_t n)
{
    uint32_t *longest = m->count[m->order - 1];
    const uint32_t mask = (uint32_t)sequences(m->order) - 1;
    uint32_t last = newlines;

    for (size_t i = 0; i < n; i++) {
        last = (last << 8 | (unsigned char)text[i]) & 0xffffff;
        longest[last & mask] += longest[last & mask] < UINT32_MAX;
    }
}

/* The counts of shorter sequences are sums over longer ones. */
void ngram_fit(struct ngram *m)
{
    for (int i = m->order - 1; i >= 0; i--)
        for (size_t s = 0; s < sequences(i + 1); s++) {
            const uint32_t c = m->count[i][s];

            m->sum[i][s >> 8] += c;
            m->kinds[i][s >> 8] += c > 0;
            if (i > 0) {
                uint32_t *shorter = &m->count[i - 1][s & (sequences(i) - 1)];

                *shorter =
                    c > UINT32_MAX - *shorter ? UINT32_MAX : *shorter + c;
            }
        }
}

double ngram_bits(const struct ngram *m, const char *text, size_t n)
{
    uint32_t last = newlines;
    double bits = 0;

    for (size_t i = 0; i < n; i++) {
        double p = 1.0 / 256;

        last = (last << 8 | (unsigned char)text[i]) & 0xffffff;
        for (int k = 0; k < m->order; k++) {
            const size_t here = last & (sequences(k + 1) - 1);
            const double kinds = m->kinds[k][here >> 8];

            if (kinds > 0)
                p = (m->count[k][here] + kinds * p) /
                    ((double)m->sum[k][here >> 8] + kinds);
        }
        bits -= log2(p);
    }
    return bits;
}

void ngram_free(struct ngram *m)
{
    for (int i = 0; i < ORDERS; i++) {
        free(m->count[i]);
        free(m->sum[i]);
        free(m->kinds[i]);
    }
    free(m);
}
