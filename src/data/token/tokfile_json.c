/*
 * tokfile_json - tokenizer.json and vocab.json, as Hugging Face writes them
 */
#include "config.h"
#include "data/token/tokfile_json_impl.h"

#include <string.h>

#include "common/opt.h"
#include "data/token/bpe.h"

int json_reader_refuse(struct err *e, const char *what)
{
    return err_input(e, "%s is not supported", what);
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

static int read_pattern(struct json_reader *r, const json_t *pattern,
                        struct err *e)
{
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    char known[128];
    int kind;

    if (r->have_bytes)
        return json_reader_refuse(e, "a Split after ByteLevel");
    if (r->have_digits)
        return json_reader_refuse(e, "a Split after Digits");
    if (r->replaces && json_reader_is(json_object_get(pattern, "String"), " "))
        return 0; /* no space is left */
    if (!regex)
        return json_reader_refuse(e, "a pre-tokenizer that splits at a string");
    kind = pretokenize_from_pattern(regex);
    if (kind < 0 || r->have_pattern) {
        opt_list_words(pretokenize_names, known, sizeof known);
        return err_input(e, "the pattern of the pre-tokenizer is none of %s",
                         known);
    }
    r->t->pretokenizer = (enum pretokenizer)kind;
    r->have_pattern = true;
    return 0;
}

/* The matches of a supported pattern cover the text, so each of them is a piece
 * unless matches are joined or removed. */
static int read_split(struct json_reader *r, const json_t *o, struct err *e)
{
    const json_t *behavior = json_object_get(o, "behavior");
    const json_t *pattern = json_object_get(o, "pattern");

    if (json_reader_is(behavior, "Contiguous"))
        return json_reader_refuse(
            e, "a pre-tokenizer that joins pieces (Contiguous)");
    if (json_reader_is(behavior, "Removed") &&
        !json_is_true(json_object_get(o, "invert")))
        return json_reader_refuse(e, "a pre-tokenizer that removes text");
    return pattern ? read_pattern(r, pattern, e) : 0;
}

static int read_byte_level(struct json_reader *r, const json_t *o,
                           struct err *e)
{
    if (json_reader_refuse_key(o, "add_prefix_space", e) < 0)
        return -1;
    if (r->have_bytes)
        return json_reader_refuse(e, "ByteLevel twice");
    r->have_bytes = true;
    if (json_is_false(json_object_get(o, "use_regex")))
        return 0;
    if (r->have_pattern && r->t->pretokenizer != PRETOKENIZE_GPT2)
        return json_reader_refuse(e, "splitting twice");
    r->t->pretokenizer = r->have_digits ? PRETOKENIZE_DIGITS : PRETOKENIZE_GPT2;
    r->have_pattern = true;
    return 0;
}

static int read_digits(struct json_reader *r, const json_t *o, struct err *e)
{
    if (r->have_pattern || r->have_bytes)
        return json_reader_refuse(e, "Digits after another pre-tokenizer");
    if (!json_is_true(json_object_get(o, "individual_digits")))
        return json_reader_refuse(e, "Digits without individual_digits");
    r->have_digits = true;
    return 0;
}

/* Spaces become U+2581, and one precedes the text. */
static int read_metaspace(struct json_reader *r, const json_t *o, struct err *e)
{
    static const struct {
        const char *word;
        enum tokenizer_prefix prefix;
    } schemes[] = { { "always", PREFIX_UNLESS_SPACE },
                    { "first", PREFIX_FIRST },
                    { "never", PREFIX_NONE } };
    const json_t *scheme = json_object_get(o, "prepend_scheme");
    const size_t n = sizeof schemes / sizeof schemes[0];
    size_t i = 0;

    if (r->have_bytes || r->have_pattern || r->have_digits || r->prepends ||
        r->replaces || r->t->metaspace)
        return json_reader_refuse(e, "Metaspace with another such rule");
    if (!json_reader_is(json_object_get(o, "replacement"), SENTENCEPIECE_SPACE))
        return json_reader_refuse(e, "a Metaspace other than U+2581");
    while (scheme && i < n && !json_reader_is(scheme, schemes[i].word))
        i++;
    if (i == n)
        return json_reader_refuse(e, "this prepend_scheme of Metaspace");
    r->t->prefix = schemes[i].prefix;
    if (json_is_false(json_object_get(o, "add_prefix_space")) &&
        r->t->prefix != PREFIX_NONE)
        return json_reader_refuse(e, "Metaspace with add_prefix_space that is "
                                     "not its prepend_scheme");
    r->t->metaspace = true;
    r->t->pretokenizer = json_is_false(json_object_get(o, "split"))
                             ? PRETOKENIZE_NONE
                             : PRETOKENIZE_SPACES;
    return 0;
}

/*
 * ByteLevel, which splits as GPT-2 does unless use_regex is false; Split with a
 * supported pattern, or Digits, followed by ByteLevel; Metaspace; or a Sequence
 * of these.
 */
static int read_pretokenizer(struct json_reader *r, const json_t *o,
                             struct err *e)
{
    const json_t *type = json_object_get(o, "type");
    const json_t *parts = json_object_get(o, "pretokenizers");

    if (json_reader_is(type, "ByteLevel"))
        return read_byte_level(r, o, e);
    if (json_reader_is(type, "Split"))
        return read_split(r, o, e);
    if (json_reader_is(type, "Digits"))
        return read_digits(r, o, e);
    if (json_reader_is(type, "Metaspace"))
        return read_metaspace(r, o, e);
    if (!json_reader_is(type, "Sequence"))
        return err_input(e, "pre-tokenizer %.100s is not supported",
                         json_is_string(type) ? json_string_value(type)
                                              : "null");
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (read_pretokenizer(r, json_array_get(parts, i), e) < 0)
            return -1;
    return 0;
}

/* A space becomes U+2581. */
static int read_replace(struct json_reader *r, const json_t *o, struct err *e)
{
    const json_t *pattern = json_object_get(o, "pattern");

    if (!json_reader_is(json_object_get(pattern, "String"), " ") ||
        !json_reader_is(json_object_get(o, "content"), SENTENCEPIECE_SPACE))
        return json_reader_refuse(
            e, "a normalizer that replaces anything but spaces by U+2581");
    r->replaces = true;
    return 0;
}

/* A space, which may be U+2581 already, precedes every text. */
static int read_prepend(struct json_reader *r, const json_t *o, struct err *e)
{
    if (r->prepends)
        return json_reader_refuse(e, "Prepend twice");
    if (!json_reader_is(json_object_get(o, "prepend"), SENTENCEPIECE_SPACE))
        return json_reader_refuse(
            e, "a normalizer that prepends anything but U+2581");
    r->prepends = true;
    return 0;
}

/* NFC, and what SentencePiece does with spaces; or a Sequence of these, whose
 * order does not matter. */
static int read_normalizer(struct json_reader *r, const json_t *o,
                           struct err *e)
{
    const json_t *type = json_object_get(o, "type");
    const json_t *parts = json_object_get(o, "normalizers");

    if (!o || json_is_null(o))
        return 0;
    if (json_reader_is(type, "NFC")) {
        r->t->nfc = true;
        return 0;
    }
    if (json_reader_is(type, "Replace"))
        return read_replace(r, o, e);
    if (json_reader_is(type, "Prepend"))
        return read_prepend(r, o, e);
    if (!json_reader_is(type, "Sequence"))
        return err_input(e, "normalizer %.100s is not supported",
                         json_is_string(type) ? json_string_value(type)
                                              : "null");
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (read_normalizer(r, json_array_get(parts, i), e) < 0)
            return -1;
    return 0;
}

int json_reader_rules(struct json_reader *r, const json_t *o, struct err *e)
{
    const json_t *pretokenizer = json_object_get(o, "pre_tokenizer");

    if (read_normalizer(r, json_object_get(o, "normalizer"), e) < 0)
        return -1;
    if (pretokenizer && !json_is_null(pretokenizer) &&
        read_pretokenizer(r, pretokenizer, e) < 0)
        return -1;
    if (r->prepends && !r->replaces)
        return json_reader_refuse(e, "Prepend without Replace");
    if (!r->replaces && !r->t->metaspace)
        return 0;
    if (r->have_bytes || r->have_pattern || r->have_digits)
        return json_reader_refuse(
            e, "a rule that replaces spaces by U+2581 beside ByteLevel");
    r->t->kind = TOKENIZER_SENTENCEPIECE;
    if (r->prepends)
        r->t->prefix = PREFIX_ALWAYS;
    return 0;
}

static json_t *parse(const char *text, size_t n, struct err *e)
{
    json_error_t why;
    json_t *o =
        json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why);

    if (!o)
        err_input(e, "line %d, column %d: %s", why.line, why.column, why.text);
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
        return err_input(e, "there is no pre-tokenizer that splits as %s",
                         known);
    }
    if (!r->have_bytes)
        return err_input(e, "there is neither a pre-tokenizer ByteLevel nor a "
                            "rule that replaces spaces by U+2581");
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
    json_auto_t *o = NULL;
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
    return got;
}
