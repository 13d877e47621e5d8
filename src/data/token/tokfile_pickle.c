#include "config.h"
#include "data/token/tokfile.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

/*
 * meta.pkl: a pickled dictionary { vocab_size, itos, stoi } of integers,
 * strings and dictionaries.  Of pickle's machine there is what such a file
 * needs, in any protocol since 1; nothing in it can call anything.
 *
 * Only stoi is used; itos says the same the other way round.
 */
enum kind { NOTHING, INTEGER, STRING, DICT, MARK };

struct value {
    enum kind kind;
    int64_t n;     /* of an integer; which dictionary */
    const char *s; /* of a string, in the file */
    size_t len;
};

struct entry {
    int64_t dict;
    struct value key, value;
};

struct machine {
    const uint8_t *p, *end;
    struct value *stack;
    size_t n_stack, stack_room;
    struct value *memo;
    size_t n_memo, memo_room;
    struct entry *entry;
    size_t n_entries, entry_room;
    int64_t n_dicts;
};

static int bad(struct err *e, const char *what)
{
    return err_set(e, ERR_INPUT, "not a pickled meta.pkl: %s", what);
}

/* n bytes, little-endian. */
static int take(struct machine *m, int n, int64_t *out, struct err *e)
{
    uint64_t value = 0;

    *out = 0;
    if (m->end - m->p < n)
        return bad(e, "it ends too early");
    for (int i = 0; i < n; i++)
        value |= (uint64_t)m->p[i] << (8 * i);
    m->p += n;
    *out = (int64_t)value;
    return 0;
}

static int push(struct machine *m, struct value v)
{
    GROW(m->stack, m->n_stack, m->stack_room);
    m->stack[m->n_stack++] = v;
    return 0;
}

static int push_int(struct machine *m, int n, struct err *e)
{
    struct value v = { .kind = INTEGER };

    if (take(m, n, &v.n, e) < 0)
        return -1;
    if (n == 4)
        v.n = (int32_t)v.n;
    return push(m, v);
}

static int push_string(struct machine *m, int n, struct err *e)
{
    struct value v = { .kind = STRING };
    int64_t len;

    if (take(m, n, &len, e) < 0)
        return -1;
    if (len < 0 || len > m->end - m->p)
        return bad(e, "a string longer than the file");
    v.s = (const char *)m->p;
    v.len = (size_t)len;
    m->p += len;
    return push(m, v);
}

static int memo_put(struct machine *m, int64_t i, struct err *e)
{
    if (i < 0 || i > m->end - m->p + (int64_t)m->n_memo || m->n_stack == 0)
        return bad(e, "a memo that cannot be");
    while ((size_t)i >= m->n_memo) {
        GROW(m->memo, m->n_memo, m->memo_room);
        m->memo[m->n_memo++] = (struct value){ .kind = NOTHING };
    }
    m->memo[i] = m->stack[m->n_stack - 1];
    return 0;
}

static int memo_get(struct machine *m, int n, struct err *e)
{
    int64_t i;

    if (take(m, n, &i, e) < 0)
        return -1;
    if (i < 0 || (size_t)i >= m->n_memo)
        return bad(e, "a memo that was not made");
    return push(m, m->memo[i]);
}

/* Move the pairs from stack[from] on into the dictionary before them. */
static int set_items(struct machine *m, size_t from, size_t dict, struct err *e)
{
    if ((m->n_stack - from) % 2 != 0 || m->stack[dict].kind != DICT)
        return bad(e, "items without a dictionary");
    for (size_t i = from; i < m->n_stack; i += 2) {
        GROW(m->entry, m->n_entries, m->entry_room);
        m->entry[m->n_entries++] =
            (struct entry){ m->stack[dict].n, m->stack[i], m->stack[i + 1] };
    }
    m->n_stack = dict + 1;
    return 0;
}

static int set_marked(struct machine *m, struct err *e)
{
    size_t i = m->n_stack;

    while (i > 0 && m->stack[i - 1].kind != MARK)
        i--;
    if (i < 2)
        return bad(e, "items without a dictionary");
    return set_items(m, i, i - 2, e);
}

/* One instruction; 1 when it was the last. */
static int step(struct machine *m, struct err *e)
{
    int64_t n;

    if (take(m, 1, &n, e) < 0)
        return -1;
    switch ((char)n) {
    case '\x80': /* PROTO */
        return take(m, 1, &n, e);
    case '\x95': /* FRAME */
        return take(m, 8, &n, e);
    case '}':
        return push(m, (struct value){ .kind = DICT, .n = m->n_dicts++ });
    case '(':
        return push(m, (struct value){ .kind = MARK });
    case 'K':
        return push_int(m, 1, e);
    case 'M':
        return push_int(m, 2, e);
    case 'J':
        return push_int(m, 4, e);
    case '\x8c': /* SHORT_BINUNICODE */
        return push_string(m, 1, e);
    case 'X':
        return push_string(m, 4, e);
    case '\x8d': /* BINUNICODE8 */
        return push_string(m, 8, e);
    case 'q': /* BINPUT */
        return take(m, 1, &n, e) < 0 ? -1 : memo_put(m, n, e);
    case 'r': /* LONG_BINPUT */
        return take(m, 4, &n, e) < 0 ? -1 : memo_put(m, n, e);
    case '\x94': /* MEMOIZE */
        return memo_put(m, (int64_t)m->n_memo, e);
    case 'h':
        return memo_get(m, 1, e);
    case 'j':
        return memo_get(m, 4, e);
    case 's': /* SETITEM */
        if (m->n_stack < 3)
            return bad(e, "an item without a dictionary");
        return set_items(m, m->n_stack - 2, m->n_stack - 3, e);
    case 'u': /* SETITEMS */
        return set_marked(m, e);
    case '.':
        return 1;
    default:
        return err_set(e, ERR_INPUT,
                       "not a pickled meta.pkl: instruction "
                       "0x%02x at byte %td",
                       (unsigned)n & 255, m->end - m->p);
    }
}

/* The value of a key of the dictionary that was left on the stack. */
static const struct value *lookup(const struct machine *m, const char *key)
{
    const size_t len = strlen(key);

    for (size_t i = m->n_entries; i > 0; i--) {
        const struct entry *n = &m->entry[i - 1];

        if (n->dict == m->stack[0].n && n->key.kind == STRING &&
            n->key.len == len && memcmp(n->key.s, key, len) == 0)
            return &n->value;
    }
    return NULL;
}

static int use(struct machine *m, struct tokenizer *t, struct err *e)
{
    const struct value *stoi, *size;

    if (m->n_stack != 1 || m->stack[0].kind != DICT)
        return bad(e, "it is no dictionary");
    stoi = lookup(m, "stoi");
    size = lookup(m, "vocab_size");
    if (!stoi || stoi->kind != DICT)
        return bad(e, "it has no dictionary stoi");
    for (size_t i = 0; i < m->n_entries; i++) {
        const struct entry *n = &m->entry[i];

        if (n->dict != stoi->n)
            continue;
        if (n->key.kind != STRING || n->value.kind != INTEGER)
            return bad(e, "stoi is not from strings to integers");
        if (tokenizer_add(t, n->value.n, n->key.s, n->key.len, e) < 0)
            return err_wrap(e, "stoi");
    }
    if (size && (size->kind != INTEGER || size->n != t->n_ids))
        return bad(e, "vocab_size does not fit stoi");
    return 0;
}

int tokfile_parse_pickle(struct tokenizer *t, const char *text, size_t n,
                         struct err *e)
{
    struct machine m = { .p = (const uint8_t *)text,
                         .end = (const uint8_t *)text + n };
    int got;

    while ((got = step(&m, e)) == 0)
        ;
    if (got > 0)
        got = use(&m, t, e);
    free(m.stack);
    free(m.memo);
    free(m.entry);
    return got;
}
