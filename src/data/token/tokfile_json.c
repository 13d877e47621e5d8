/*
 * tokfile_json - tokenizer.json and vocab.json, as Hugging Face writes them
 */
#include "config.h"
#include "data/token/tokfile_json_impl.h"

#include <string.h>

#include "common/opt.h"
#include "data/token/sentencepiece.h"

int json_reader_refuse(struct err *e, const char *what)
{
    return err_set(e, ERR_INPUT, "%s is not supported", what);
}

bool json_reader_is(const json_t *v, const char *text)
{
    return json_is_string(v) && strcmp(json_string_value(v), text) == 0;
}

int json_reader_refuse_key(const json_t *o, const char *key, struct err *e)
{
    const json_t *v = json_object_get(o, key);

    if (!v || json_is_null(v) || json_is_false(v) || json_reader_is(v, ""))
        return 0;
    return json_reader_refuse(e, key);
}

static json_t *parse(const char *text, size_t n, struct err *e)
{
    json_error_t why;
    json_t *o =
        json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);

    if (!o)
        err_set(e, ERR_INPUT, "line %d, column %d: %s", why.line, why.column,
                why.text);
    return o;
}

ptrdiff_t json_reader_add_bytes(struct json_reader *r, const char *name,
                                size_t n)
{
    struct buf *const b = &r->bytes;
    ptrdiff_t len;

    if (r->t->kind == TOKENIZER_SENTENCEPIECE) {
        const size_t before = b->len;

        if (memchr(name, ' ', n))
            return -1;
        sentencepiece_add_spaces(b, name, n);
        return (ptrdiff_t)(b->len - before);
    }
    buf_room(b, n);
    len = tokfile_bytes(name, n, (uint8_t *)b->s + b->len);
    if (len > 0)
        b->len += (size_t)len;
    return len;
}

static int read_tokenizer(struct json_reader *r, const json_t *o, struct err *e)
{
    char known[128];

    if (json_reader_rules(r, o, e) < 0 ||
        json_reader_model(r, json_object_get(o, "model"), e) < 0)
        return -1;
    if (r->t->kind == TOKENIZER_SENTENCEPIECE)
        return json_reader_added(r, e);
    if (!r->have_pattern) {
        opt_list_words(pretokenize_names, known, sizeof known);
        return err_set(e, ERR_INPUT,
                       "there is no pre-tokenizer that splits as %s", known);
    }
    if (!r->have_bytes)
        return err_set(e, ERR_INPUT,
                       "there is neither a pre-tokenizer ByteLevel nor a rule "
                       "that replaces spaces by U+2581");
    return json_reader_added(r, e);
}

/*
 * Find the vocab and the merges of the model in a copy of the text, and append
 * the text without them to `rest`.  Text that is not JSON is left to jansson,
 * whose messages have a line and a column.
 */
struct model_scan {
    const char *text;
    struct buf copy;
    size_t done; /* bytes of the text that are in `rest` or left out */
    struct buf rest;
};

static int cut_value(struct model_scan *m, struct json_scan *s,
                     struct json_scan *found)
{
    const size_t from = (size_t)(s->at - m->copy.s);

    if (json_scan_skip(s) < 0)
        return -1;
    *found = (struct json_scan){ .at = m->copy.s + from, .end = s->at };
    memcpy(found->at, m->text + from, (size_t)(s->at - found->at));
    buf_add(&m->rest, m->text + m->done, from - m->done);
    buf_str(&m->rest, "null");
    m->done = (size_t)(s->at - m->copy.s);
    return 0;
}

/* Scan the text's object, or that of its model. */
static int scan_model(struct json_reader *r, struct model_scan *m,
                      struct json_scan *s, bool in_model)
{
    int more = json_scan_enter(s, '{');

    for (; more; more = json_scan_next(s, '{')) {
        char *name;
        size_t n;
        int got;

        if (more < 0 || json_scan_name(s, &name, &n) < 0 || s->at == s->end)
            return -1;
        if (!in_model && *s->at == '{' && n == 5 && !memcmp(name, "model", n))
            got = scan_model(r, m, s, true);
        else if (in_model && *s->at == '{' && n == 5 &&
                 !memcmp(name, "vocab", n))
            got = cut_value(m, s, &r->vocab);
        else if (in_model && *s->at == '[' && n == 6 &&
                 !memcmp(name, "merges", n))
            got = cut_value(m, s, &r->merges);
        else
            got = json_scan_skip(s);
        if (got < 0)
            return -1;
    }
    return 0;
}

int tokfile_parse_json(struct tokenizer *t, const char *text, size_t n,
                       struct err *e)
{
    struct json_reader r = { .t = t, .bytes = BUF_INIT, .odd = json_object() };
    struct model_scan m = { text, BUF_INIT, 0, BUF_INIT };
    struct json_scan s;
    json_t *o;
    int got;

    buf_add(&m.copy, text, n);
    s = (struct json_scan){ .at = m.copy.s, .end = m.copy.s + n };
    json_scan_blanks(&s);
    if (scan_model(&r, &m, &s, false) < 0) {
        buf_trim(&m.rest, 0);
        m.done = 0;
    }
    buf_add(&m.rest, text + m.done, n - m.done);
    o = parse(m.rest.s, m.rest.len, e);
    r.added = json_object_get(o, "added_tokens");
    got = o ? read_tokenizer(&r, o, e) : -1;
    buf_clear(&r.bytes);
    buf_clear(&m.rest);
    buf_clear(&m.copy);
    json_decref(r.odd);
    json_decref(o);
    return got;
}
