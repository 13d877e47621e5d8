/*
 * tokfile_json - tokenizer.json and vocab.json, as Hugging Face writes them
 *
 * Whatever would give other ids in Hugging Face's tokenizers than here is
 * refused.  jansson reads what describes the tokenizer, and json_scan the many
 * names of vocab and merges: gdata with GPT-2's tokenizer.json starts in 0.04 s
 * this way, and in 0.16 s with jansson alone.
 */
#include "config.h"
#include "data/token/tokfile.h"

#include <jansson.h>
#include <string.h>

#include "common/json_scan.h"
#include "common/mem.h"
#include "common/opt.h"

/* A tokenizer.json while it is read. */
struct json_reader {
    struct tokenizer *t;
    struct json_scan vocab, merges; /* of a copy of the text */
    struct buf bytes;    /* of a token, or of the two tokens of a merge */
    const json_t *added; /* the added tokens, or NULL */
    json_t *odd;         /* names that stand for no bytes, and their ids */
    size_t n_vocab;
    bool have_digits, have_pattern, have_bytes;
};

static int refuse(struct err *e, const char *what)
{
    return err_set(e, ERR_INPUT, "%s is not supported", what);
}

static bool is_string(const json_t *v, const char *text)
{
    return json_is_string(v) && strcmp(json_string_value(v), text) == 0;
}

/* Refuse an object in which a key has a value but null, false or "". */
static int refuse_key(const json_t *o, const char *key, const char *what,
                      struct err *e)
{
    const json_t *v = json_object_get(o, key);

    if (!v || json_is_null(v) || json_is_false(v) || is_string(v, ""))
        return 0;
    return refuse(e, what);
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

/* Append the bytes of a name in GPT-2's alphabet; returns how many, or -1. */
static ptrdiff_t add_bytes(struct buf *b, const char *name, size_t n)
{
    ptrdiff_t len;

    buf_room(b, n);
    len = tokfile_bytes(name, n, (uint8_t *)b->s + b->len);
    if (len > 0)
        b->len += (size_t)len;
    return len;
}

/* The pre-tokenizer */

static int read_pattern(struct json_reader *r, const json_t *pattern,
                        struct err *e)
{
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    char known[128];
    int kind;

    if (r->have_bytes)
        return refuse(e, "a Split after ByteLevel");
    if (r->have_digits)
        return refuse(e, "a Split after Digits");
    if (!regex)
        return refuse(e, "a pre-tokenizer that splits at a string");
    kind = pretokenize_from_pattern(regex);
    if (kind < 0 || r->have_pattern) {
        opt_list_words(pretokenize_names, known, sizeof known);
        return err_set(e, ERR_INPUT,
                       "the pattern of the pre-tokenizer is not that of %s",
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

    if (is_string(behavior, "Contiguous"))
        return refuse(e, "a pre-tokenizer that joins pieces (Contiguous)");
    if (is_string(behavior, "Removed") &&
        !json_is_true(json_object_get(o, "invert")))
        return refuse(e, "a pre-tokenizer that removes text");
    return pattern ? read_pattern(r, pattern, e) : 0;
}

static int read_byte_level(struct json_reader *r, const json_t *o,
                           struct err *e)
{
    if (refuse_key(o, "add_prefix_space", "add_prefix_space", e) < 0)
        return -1;
    if (r->have_bytes)
        return refuse(e, "ByteLevel twice");
    r->have_bytes = true;
    if (json_is_false(json_object_get(o, "use_regex")))
        return 0;
    if (r->have_pattern && r->t->pretokenizer != PRETOKENIZE_GPT2)
        return refuse(e, "splitting twice");
    r->t->pretokenizer = r->have_digits ? PRETOKENIZE_DIGITS : PRETOKENIZE_GPT2;
    r->have_pattern = true;
    return 0;
}

static int read_digits(struct json_reader *r, const json_t *o, struct err *e)
{
    if (r->have_pattern || r->have_bytes)
        return refuse(e, "Digits after another pre-tokenizer");
    if (!json_is_true(json_object_get(o, "individual_digits")))
        return refuse(e, "Digits without individual_digits");
    r->have_digits = true;
    return 0;
}

/*
 * ByteLevel, which splits as GPT-2 does unless use_regex is false; Split with a
 * supported pattern, or Digits, followed by ByteLevel; or a Sequence of these.
 */
static int read_pretokenizer(struct json_reader *r, const json_t *o,
                             struct err *e)
{
    const json_t *type = json_object_get(o, "type");
    const json_t *parts = json_object_get(o, "pretokenizers");

    if (is_string(type, "ByteLevel"))
        return read_byte_level(r, o, e);
    if (is_string(type, "Split"))
        return read_split(r, o, e);
    if (is_string(type, "Digits"))
        return read_digits(r, o, e);
    if (!is_string(type, "Sequence"))
        return err_set(e, ERR_INPUT, "pre-tokenizer %.100s is not supported",
                       json_is_string(type) ? json_string_value(type) : "null");
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (read_pretokenizer(r, json_array_get(parts, i), e) < 0)
            return -1;
    return 0;
}

/* The model */

/* A copy that can be changed, with a NUL behind it. */
static char *copy_text(const char *text, size_t n)
{
    char *const copy = xmalloc(n + 1);

    memcpy(copy, text, n);
    copy[n] = 0;
    return copy;
}

static int read_id(struct json_scan *s, int64_t *id)
{
    char *end;

    *id = strtoll(s->at, &end, 10);
    if (!strchr("-0123456789", *s->at) || end == s->at ||
        (end < s->end && strchr(".eE", *end)))
        return -1;
    s->at = end;
    return 0;
}

static int add_name(struct json_reader *r, const char *name, size_t n,
                    int64_t id, struct err *e)
{
    buf_trim(&r->bytes, 0);
    if (add_bytes(&r->bytes, name, n) >= 0)
        return tokenizer_add(r->t, id, r->bytes.s, r->bytes.len, e);
    if (json_object_getn(r->odd, name, n))
        return err_set(e, ERR_INPUT, "'%.*s' occurs twice", (int)n, name);
    if (memchr(name, 0, n) ||
        json_object_setn_new(r->odd, name, n, json_integer(id)) < 0)
        return err_set(e, ERR_INPUT, "the name with id %lld is not text",
                       (long long)id);
    return 0;
}

static int read_vocab(struct json_reader *r, struct err *e)
{
    struct json_scan *const s = &r->vocab;
    int more = json_scan_enter(s, '{');

    for (; more; more = json_scan_next(s, '{'), r->n_vocab++) {
        char *name;
        size_t n;
        int64_t id;

        if (more < 0 || json_scan_name(s, &name, &n) < 0)
            return err_set(e, ERR_INPUT, "name %zu: %s", r->n_vocab + 1,
                           s->why);
        if (read_id(s, &id) < 0)
            return err_set(e, ERR_INPUT, "the id of '%.*s' is not an integer",
                           (int)(n < 100 ? n : 100), name);
        if (add_name(r, name, n, id, e) < 0)
            return -1;
    }
    return 0;
}

/* The id of one name of a merge; its bytes are appended to the others. */
static int read_merge_name(struct json_reader *r, const char *name, size_t n,
                           int32_t *id, struct err *e)
{
    const size_t at = r->bytes.len;
    const ptrdiff_t len = add_bytes(&r->bytes, name, n);

    *id = len < 0 ? -1 : tokenizer_find(r->t, r->bytes.s + at, (size_t)len);
    if (*id < 0)
        return err_set(e, ERR_INPUT, "'%.*s' is not in the vocabulary",
                       (int)(n < 100 ? n : 100), name);
    return 0;
}

/* A merge is "left right" or ["left", "right"]. */
static int scan_merge(struct json_scan *s, char *name[2], size_t n[2])
{
    json_scan_blanks(s);
    if (s->at < s->end && *s->at == '[')
        return json_scan_enter(s, '[') == 1 &&
                       json_scan_string(s, &name[0], &n[0]) == 0 &&
                       json_scan_next(s, '[') == 1 &&
                       (json_scan_blanks(s),
                        json_scan_string(s, &name[1], &n[1])) == 0 &&
                       json_scan_next(s, '[') == 0
                   ? 0
                   : -1;
    if (json_scan_string(s, &name[0], &n[1]) < 0 ||
        !(name[1] = memchr(name[0], ' ', n[1])))
        return -1;
    n[0] = (size_t)(name[1]++ - name[0]);
    n[1] -= n[0] + 1;
    return 0;
}

static int read_merge(struct json_reader *r, struct err *e)
{
    char *name[2];
    size_t n[2];
    int32_t id[2], into;

    if (scan_merge(&r->merges, name, n) < 0)
        return err_set(e, ERR_INPUT, "expected two names");
    buf_trim(&r->bytes, 0);
    for (int i = 0; i < 2; i++)
        if (read_merge_name(r, name[i], n[i], &id[i], e) < 0)
            return -1;
    into = tokenizer_find(r->t, r->bytes.s, r->bytes.len);
    if (into < 0)
        return err_set(e, ERR_INPUT, "the merged token has no id");
    return tokenizer_merge(r->t, id[0], id[1], into, e);
}

static int read_merges(struct json_reader *r, struct err *e)
{
    int more = json_scan_enter(&r->merges, '[');

    for (size_t i = 0; more > 0; more = json_scan_next(&r->merges, '['), i++)
        if (read_merge(r, e) < 0)
            return err_wrap(e, "model.merges[%zu]", i);
    return 0;
}

static bool all_bytes_known(const struct tokenizer *t)
{
    for (int i = 0; i < 256; i++) {
        const uint8_t byte = (uint8_t)i;

        if (tokenizer_find(t, &byte, 1) < 0)
            return false;
    }
    return true;
}

static int read_model(struct json_reader *r, const json_t *o, struct err *e)
{
    static const char *const unsupported[] = { "dropout",
                                               "continuing_subword_prefix",
                                               "end_of_word_suffix",
                                               "byte_fallback" };
    const json_t *type = json_object_get(o, "type");
    const json_t *unknown = json_object_get(o, "unk_token");

    if (type && !is_string(type, "BPE"))
        return refuse(e, "a model other than BPE");
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++)
        if (refuse_key(o, unsupported[i], unsupported[i], e) < 0)
            return -1;
    if (!r->vocab.at || !r->merges.at)
        return err_set(e, ERR_INPUT, "there is no model with vocab and merges");
    r->t->whole = json_is_true(json_object_get(o, "ignore_merges"));
    if (read_vocab(r, e) < 0)
        return err_wrap(e, "model.vocab");
    if (read_merges(r, e) < 0)
        return -1;
    if (unknown && !json_is_null(unknown) && !all_bytes_known(r->t))
        return err_set(e, ERR_INPUT,
                       "some bytes have no token, and unk_token is not "
                       "supported");
    return 0;
}

/* The added tokens */

/*
 * The id that Hugging Face's tokenizers give to added token i, whatever the
 * file says: the id of its name if there is one, else the next.
 */
static int64_t actual_id(struct json_reader *r, size_t i, int64_t next)
{
    const json_t *content =
        json_object_get(json_array_get(r->added, i), "content");
    const json_t *odd = json_object_get(r->odd, json_string_value(content));
    int32_t id;

    for (size_t k = 0; k < i; k++) {
        const json_t *o = json_array_get(r->added, k);

        if (json_equal(json_object_get(o, "content"), content))
            return json_integer_value(json_object_get(o, "id"));
    }
    if (odd)
        return json_integer_value(odd);
    buf_trim(&r->bytes, 0);
    if (add_bytes(&r->bytes, json_string_value(content),
                  json_string_length(content)) < 0)
        return next;
    id = tokenizer_find(r->t, r->bytes.s, r->bytes.len);
    return id >= 0 ? id : next;
}

static int read_added_token(struct json_reader *r, size_t i, int64_t *next,
                            struct err *e)
{
    const json_t *o = json_array_get(r->added, i);
    const json_t *content = json_object_get(o, "content");
    const json_t *id = json_object_get(o, "id");
    const char *name = json_string_value(content);
    int64_t actual;

    if (!json_is_integer(id) || !name || !*name)
        return err_set(e, ERR_INPUT, "expected id and content");
    if (refuse_key(o, "lstrip", "lstrip", e) < 0 ||
        refuse_key(o, "rstrip", "rstrip", e) < 0 ||
        refuse_key(o, "single_word", "single_word", e) < 0)
        return -1;
    actual = actual_id(r, i, *next);
    if (json_integer_value(id) != actual)
        return err_set(e, ERR_INPUT,
                       "'%.100s' has id %lld, but Hugging Face's tokenizers "
                       "would give it id %lld",
                       name, (long long)json_integer_value(id),
                       (long long)actual);
    *next = actual >= *next ? actual + 1 : *next;
    return tokenizer_special(r->t, actual,
                             !json_is_true(json_object_get(o, "special")), name,
                             json_string_length(content), e);
}

static bool is_added(const struct json_reader *r, int64_t id)
{
    for (size_t i = 0; i < json_array_size(r->added); i++)
        if (json_integer_value(
                json_object_get(json_array_get(r->added, i), "id")) == id)
            return true;
    return false;
}

/* Names that stand for no bytes are allowed if they are added tokens. */
static int read_added(struct json_reader *r, struct err *e)
{
    int64_t next = (int64_t)r->n_vocab;
    const char *name;
    json_t *id;

    json_object_foreach(r->odd, name, id)
    {
        if (!is_added(r, json_integer_value(id)))
            return err_set(e, ERR_INPUT,
                           "model.vocab: '%.100s' has a character that stands "
                           "for no byte",
                           name);
    }
    for (size_t i = 0; i < json_array_size(r->added); i++)
        if (read_added_token(r, i, &next, e) < 0)
            return err_wrap(e, "added_tokens[%zu]", i);
    return 0;
}

/* NFC, or a Sequence of no more than that. */
static int read_normalizer(struct json_reader *r, const json_t *o,
                           struct err *e)
{
    const json_t *parts = json_object_get(o, "normalizers");

    if (!o || json_is_null(o))
        return 0;
    if (is_string(json_object_get(o, "type"), "NFC")) {
        r->t->nfc = true;
        return 0;
    }
    if (!is_string(json_object_get(o, "type"), "Sequence"))
        return refuse(e, "a normalizer other than NFC");
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (read_normalizer(r, json_array_get(parts, i), e) < 0)
            return -1;
    return 0;
}

static int read_tokenizer(struct json_reader *r, const json_t *o, struct err *e)
{
    const json_t *pretokenizer = json_object_get(o, "pre_tokenizer");
    char known[128];

    if (read_normalizer(r, json_object_get(o, "normalizer"), e) < 0)
        return -1;
    if (pretokenizer && !json_is_null(pretokenizer) &&
        read_pretokenizer(r, pretokenizer, e) < 0)
        return -1;
    if (read_model(r, json_object_get(o, "model"), e) < 0)
        return -1;
    if (!r->have_pattern) {
        opt_list_words(pretokenize_names, known, sizeof known);
        return err_set(e, ERR_INPUT,
                       "there is no pre-tokenizer that splits as %s", known);
    }
    if (!r->have_bytes)
        return err_set(e, ERR_INPUT,
                       "there is no pre-tokenizer ByteLevel, and only "
                       "byte-level BPE is supported");
    return read_added(r, e);
}

/*
 * Note where the vocab and the merges of the model are in a copy of the text,
 * and append the text without them.  What is not JSON is left to jansson, whose
 * messages have a line and a column.
 */
struct model_scan {
    const char *text;
    char *copy;
    size_t done; /* bytes of the text that are in `rest` or left out */
    struct buf rest;
};

static int cut_value(struct model_scan *m, struct json_scan *s,
                     struct json_scan *found)
{
    const size_t from = (size_t)(s->at - m->copy);

    if (json_scan_skip(s) < 0)
        return -1;
    *found = (struct json_scan){ .at = m->copy + from, .end = s->at };
    memcpy(found->at, m->text + from, (size_t)(s->at - found->at));
    buf_add(&m->rest, m->text + m->done, from - m->done);
    buf_str(&m->rest, "null");
    m->done = (size_t)(s->at - m->copy);
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
    struct model_scan m = { text, copy_text(text, n), 0, BUF_INIT };
    struct json_scan s = { .at = m.copy, .end = m.copy + n };
    json_t *o;
    int got;

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
    free(m.copy);
    json_decref(r.odd);
    json_decref(o);
    return got;
}

/* encoder.json and vocab.json: names that stand for no bytes are special tokens
 * under their own names. */
int tokfile_parse_vocab(struct tokenizer *t, const char *text, size_t n,
                        struct err *e)
{
    struct json_reader r = { .t = t, .bytes = BUF_INIT, .odd = json_object() };
    char *const copy = copy_text(text, n);
    const char *name;
    json_t *id;
    int got;

    r.vocab = (struct json_scan){ .at = copy, .end = copy + n };
    json_scan_blanks(&r.vocab);
    got = read_vocab(&r, e);
    json_scan_blanks(&r.vocab);
    if (got == 0 && r.vocab.at < r.vocab.end)
        got = err_set(e, ERR_INPUT, "there is something after the object");
    json_object_foreach(r.odd, name, id)
    {
        if (got == 0)
            got =
                tokenizer_add(t, json_integer_value(id), name, strlen(name), e);
    }
    buf_clear(&r.bytes);
    free(copy);
    json_decref(r.odd);
    return got;
}
