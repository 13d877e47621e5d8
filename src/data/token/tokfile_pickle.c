/*
 * tokfile_pickle - meta.pkl, nanoGPT's form of a character tokenizer
 *
 * This is the only form that character tokenizers have: nanoGPT's data sets
 * come with it, its sample.py needs it, and gdata bpe --chars writes it.
 *
 * The file is a pickled dictionary { vocab_size, itos, stoi } of integers,
 * strings and dictionaries.  Only the instructions that Python writes for it in
 * protocols 1 to 5 are implemented; none of them can call a function.  Only
 * stoi is used, since itos is its inverse.
 */
#include "config.h"
#include "data/token/tokfile.h"

#include <string.h>

#include "common/mem.h"

enum pickle_type { NOTHING, INTEGER, STRING, DICT, MARK };

struct pickle_value {
    enum pickle_type type;
    int64_t n;     /* the integer */
    const char *s; /* the string, in the file */
    size_t len;
};

struct unpickler {
    struct tokenizer *t;
    const uint8_t *p, *end;
    struct pickle_value *stack;
    size_t n_stack, stack_room;
    struct pickle_value *memo;
    size_t n_memo, memo_room;
    struct pickle_value size; /* the last value of vocab_size */
};

static int bad_pickle(struct err *e, const char *what)
{
    return err_input(e, "not a valid meta.pkl: %s", what);
}

/* Read a little-endian integer of n bytes. */
static int read_int(struct unpickler *m, int n, int64_t *out, struct err *e)
{
    uint64_t value = 0;

    *out = 0;
    if (m->end - m->p < n)
        return bad_pickle(e, "it ends early");
    for (int i = 0; i < n; i++)
        value |= (uint64_t)m->p[i] << (8 * i);
    m->p += n;
    *out = (int64_t)value;
    return 0;
}

static int push_value(struct unpickler *m, struct pickle_value v)
{
    APPEND(m->stack, m->n_stack, m->stack_room) = v;
    return 0;
}

static int push_int(struct unpickler *m, int n, struct err *e)
{
    struct pickle_value v = { .type = INTEGER };

    if (read_int(m, n, &v.n, e) < 0)
        return -1;
    if (n == 4)
        v.n = (int32_t)v.n;
    return push_value(m, v);
}

static int push_string(struct unpickler *m, int n, struct err *e)
{
    struct pickle_value v = { .type = STRING };
    int64_t len;

    if (read_int(m, n, &len, e) < 0)
        return -1;
    if (len < 0 || len > m->end - m->p)
        return bad_pickle(e, "a string is longer than the file");
    v.s = (const char *)m->p;
    v.len = (size_t)len;
    m->p += len;
    return push_value(m, v);
}

static int memo_put(struct unpickler *m, int64_t i, struct err *e)
{
    if (i < 0 || i > m->end - m->p + (int64_t)m->n_memo || m->n_stack == 0)
        return bad_pickle(e, "an impossible memo");
    while ((size_t)i >= m->n_memo) {
        APPEND(m->memo, m->n_memo, m->memo_room) =
            (struct pickle_value){ .type = NOTHING };
    }
    m->memo[i] = m->stack[m->n_stack - 1];
    return 0;
}

static int memo_get(struct unpickler *m, int n, struct err *e)
{
    int64_t i;

    if (read_int(m, n, &i, e) < 0)
        return -1;
    if (i < 0 || (size_t)i >= m->n_memo)
        return bad_pickle(e, "an unknown memo");
    return push_value(m, m->memo[i]);
}

static bool is_key(const struct pickle_value *v, const char *key)
{
    return v->type == STRING && v->len == strlen(key) &&
           memcmp(v->s, key, v->len) == 0;
}

static int add_token(struct unpickler *m, const struct pickle_value *key,
                     const struct pickle_value *id, struct err *e)
{
    if (key->type != STRING || id->type != INTEGER)
        return bad_pickle(e, "stoi does not map strings to integers");
    return tokenizer_add(m->t, id->n, key->s, key->len, e) < 0
               ? err_wrap(e, "stoi")
               : 0;
}

/* Take the pairs above stack[from] for a dictionary; below that is the key that
 * it will have, unless it is the whole. */
static int set_items(struct unpickler *m, size_t from, size_t dict,
                     struct err *e)
{
    const struct pickle_value *v = m->stack;
    const bool is_stoi = dict > 0 && is_key(&v[dict - 1], "stoi");

    if ((m->n_stack - from) % 2 != 0 || v[dict].type != DICT)
        return bad_pickle(e, "items without a dictionary");
    for (size_t i = from; i < m->n_stack; i += 2) {
        if (is_stoi && add_token(m, &v[i], &v[i + 1], e) < 0)
            return -1;
        if (dict == 0 && is_key(&v[i], "vocab_size"))
            m->size = v[i + 1];
    }
    m->n_stack = dict + 1;
    return 0;
}

static int set_marked_items(struct unpickler *m, struct err *e)
{
    size_t i = m->n_stack;

    while (i > 0 && m->stack[i - 1].type != MARK)
        i--;
    if (i < 2)
        return bad_pickle(e, "items without a dictionary");
    return set_items(m, i, i - 2, e);
}

/* Execute an instruction; 1 if it was the last. */
static int run_instruction(struct unpickler *m, struct err *e)
{
    int64_t n;

    if (read_int(m, 1, &n, e) < 0)
        return -1;
    switch ((char)n) {
    case '\x80': /* PROTO */
        return read_int(m, 1, &n, e);
    case '\x95': /* FRAME */
        return read_int(m, 8, &n, e);
    case '}':
        return push_value(m, (struct pickle_value){ .type = DICT });
    case '(':
        return push_value(m, (struct pickle_value){ .type = MARK });
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
        return read_int(m, 1, &n, e) < 0 ? -1 : memo_put(m, n, e);
    case 'r': /* LONG_BINPUT */
        return read_int(m, 4, &n, e) < 0 ? -1 : memo_put(m, n, e);
    case '\x94': /* MEMOIZE */
        return memo_put(m, (int64_t)m->n_memo, e);
    case 'h':
        return memo_get(m, 1, e);
    case 'j':
        return memo_get(m, 4, e);
    case 's': /* SETITEM */
        if (m->n_stack < 3)
            return bad_pickle(e, "an item without a dictionary");
        return set_items(m, m->n_stack - 2, m->n_stack - 3, e);
    case 'u': /* SETITEMS */
        return set_marked_items(m, e);
    case '.':
        return 1;
    default:
        return err_input(e,
                         "not a valid meta.pkl: instruction 0x%02x is not "
                         "supported",
                         (unsigned)n & 255);
    }
}

static int check_all(const struct unpickler *m, struct err *e)
{
    if (m->n_stack != 1 || m->stack[0].type != DICT)
        return bad_pickle(e, "it is not a dictionary");
    if (m->t->n_ids == 0)
        return bad_pickle(e, "it has no dictionary stoi");
    if (m->size.type != NOTHING &&
        (m->size.type != INTEGER || m->size.n != m->t->n_ids))
        return bad_pickle(e, "vocab_size differs from the size of stoi");
    return 0;
}

int tokfile_parse_pickle(struct tokenizer *t, const char *text, size_t n,
                         struct err *e)
{
    struct unpickler m = { .t = t,
                           .p = (const uint8_t *)text,
                           .end = (const uint8_t *)text + n };
    int got;

    while ((got = run_instruction(&m, e)) == 0)
        ;
    if (got > 0)
        got = check_all(&m, e);
    FREE(m.stack, m.memo);
    return got;
}
