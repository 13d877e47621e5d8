/*
 * tokfile_json_model - the vocabulary, the merges and the added tokens of
 * tokenizer.json, and vocab.json
 */
#include "config.h"
#include "data/token/tokfile_json_impl.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "data/token/bpe.h"

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
    const int byte = r->byte_fallback ? sentencepiece_byte(name, n) : -1;
    AUTO_FREE char *text = NULL;
    int ret = 0;

    if (byte >= 0)
        return tokenizer_byte(r->t, id, (uint8_t)byte, e);
    buf_trim(&r->bytes, 0);
    if (json_reader_add_bytes(r, name, n) >= 0)
        return tokenizer_add(r->t, id, r->bytes.s, r->bytes.len, e);
    text = xstrndup(name, n);
    if (json_object_get(r->odd, text))
        ret = err_input(e, "'%s' occurs twice", text);
    else if (strlen(text) < n ||
             json_object_set_new(r->odd, text, json_integer(id)) < 0)
        ret = err_input(e, "the name with id %lld is not text", (long long)id);
    return ret;
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
            return err_input(e, "name %zu: %s", r->n_vocab + 1, s->why);
        if (read_id(s, &id) < 0)
            return err_input(e, "the id of '%.*s' is not an integer",
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
    const ptrdiff_t len = json_reader_add_bytes(r, name, n);

    *id = len < 0 ? -1 : tokenizer_find(r->t, r->bytes.s + at, (size_t)len);
    if (*id < 0)
        return err_input(e, "'%.*s' is not in the vocabulary",
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
        return err_input(e, "expected two names");
    buf_trim(&r->bytes, 0);
    for (int i = 0; i < 2; i++)
        if (read_merge_name(r, name[i], n[i], &id[i], e) < 0)
            return -1;
    into = tokenizer_find(r->t, r->bytes.s, r->bytes.len);
    if (into < 0)
        return err_input(e, "the merged token has no id");
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

/* With all bytes there is no unknown character; else there is a token for it.
 */
static int read_unknown(struct json_reader *r, const json_t *o, struct err *e)
{
    struct tokenizer *const t = r->t;
    const json_t *name = json_object_get(o, "unk_token");

    for (int i = 0; r->byte_fallback && i < 256; i++)
        if (t->byte_id[i] < 0)
            return err_input(e, "byte_fallback needs the token <0x%02X>", i);
    if (r->byte_fallback)
        return 0;
    t->fuse_unknown = json_is_true(json_object_get(o, "fuse_unk"));
    buf_trim(&r->bytes, 0);
    if (json_is_string(name) &&
        json_reader_add_bytes(r, json_string_value(name),
                              json_string_length(name)) > 0)
        t->unknown = tokenizer_find(t, r->bytes.s, r->bytes.len);
    if (t->unknown < 0)
        return err_input(e,
                         "there is neither byte_fallback nor a token unk_token "
                         "in the vocabulary");
    for (size_t i = 0; i < t->n_merges; i++)
        if (t->merge[i].left == t->unknown || t->merge[i].right == t->unknown)
            return json_reader_refuse(e, "a merge with unk_token");
    return 0;
}

static int check_bytes(const struct json_reader *r, const json_t *o,
                       struct err *e)
{
    const json_t *unknown = json_object_get(o, "unk_token");

    if (unknown && !json_is_null(unknown) && !all_bytes_known(r->t))
        return err_input(e, "some bytes have no token, and unk_token is not "
                            "supported in byte-level BPE");
    return 0;
}

int json_reader_model(struct json_reader *r, const json_t *o, struct err *e)
{
    static const char *const unsupported[] = { "dropout",
                                               "continuing_subword_prefix",
                                               "end_of_word_suffix" };
    const bool characters = r->t->kind == TOKENIZER_SENTENCEPIECE;
    const json_t *type = json_object_get(o, "type");

    if (type && !json_reader_is(type, "BPE"))
        return json_reader_refuse(e, "a model other than BPE");
    for (size_t i = 0; i < sizeof unsupported / sizeof unsupported[0]; i++)
        if (json_reader_refuse_key(o, unsupported[i], e) < 0)
            return -1;
    r->byte_fallback = json_is_true(json_object_get(o, "byte_fallback"));
    if (r->byte_fallback && !characters)
        return json_reader_refuse(e, "byte_fallback in byte-level BPE");
    if (!r->vocab.at || !r->merges.at)
        return err_input(e, "there is no model with vocab and merges");
    r->t->whole = json_is_true(json_object_get(o, "ignore_merges"));
    if (read_vocab(r, e) < 0)
        return err_wrap(e, "model.vocab");
    if (read_merges(r, e) < 0)
        return -1;
    if (!characters)
        return check_bytes(r, o, e);
    if (tokenizer_find(r->t, " ", 1) < 0)
        return err_input(e, "U+2581 is not in the vocabulary");
    return read_unknown(r, o, e);
}

/* ---- added tokens -------------------------------------------------------- */

/*
 * The id that Hugging Face's tokenizers give to added token i, whatever the
 * file says: the id of its name if there is one, else the next.
 */
static int64_t actual_id(struct json_reader *r, size_t i, int64_t next)
{
    const json_t *content =
        json_object_get(json_array_get(r->added, i), "content");
    const json_t *odd = json_object_get(r->odd, json_string_value(content));
    const int byte = r->byte_fallback
                         ? sentencepiece_byte(json_string_value(content),
                                              json_string_length(content))
                         : -1;
    int32_t id;

    for (size_t k = 0; k < i; k++) {
        const json_t *o = json_array_get(r->added, k);

        if (json_equal(json_object_get(o, "content"), content))
            return json_integer_value(json_object_get(o, "id"));
    }
    if (odd)
        return json_integer_value(odd);
    if (byte >= 0)
        return r->t->byte_id[byte];
    buf_trim(&r->bytes, 0);
    if (json_reader_add_bytes(r, json_string_value(content),
                              json_string_length(content)) < 0)
        return next;
    id = tokenizer_find(r->t, r->bytes.s, r->bytes.len);
    return id >= 0 ? id : next;
}

static int added_flags(const json_t *o)
{
    static const struct {
        const char *key;
        int flag;
    } keys[] = { { "lstrip", SPECIAL_LSTRIP },
                 { "rstrip", SPECIAL_RSTRIP },
                 { "single_word", SPECIAL_WORD },
                 { "normalized", SPECIAL_NORMALIZED } };
    int flags =
        json_is_true(json_object_get(o, "special")) ? 0 : SPECIAL_ALWAYS;

    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        if (json_is_true(json_object_get(o, keys[i].key)))
            flags |= keys[i].flag;
    return flags;
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
        return err_input(e, "expected id and content");
    actual = actual_id(r, i, *next);
    if (json_integer_value(id) != actual)
        return err_input(e,
                         "'%.100s' has id %lld, but Hugging Face's tokenizers "
                         "would give it id %lld",
                         name, (long long)json_integer_value(id),
                         (long long)actual);
    *next = actual >= *next ? actual + 1 : *next;
    return tokenizer_special(r->t, actual, added_flags(o), name,
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

int json_reader_added(struct json_reader *r, struct err *e)
{
    int64_t next = (int64_t)r->n_vocab;
    const char *name;
    json_t *id;

    json_object_foreach(r->odd, name, id)
    {
        if (!is_added(r, json_integer_value(id)))
            return err_input(e,
                             "model.vocab: '%.100s' has a character that "
                             "stands for no byte",
                             name);
    }
    for (size_t i = 0; i < json_array_size(r->added); i++)
        if (read_added_token(r, i, &next, e) < 0)
            return err_wrap(e, "added_tokens[%zu]", i);
    return 0;
}

/* ---- vocab.json ---------------------------------------------------------- */

/* encoder.json and vocab.json: names that stand for no bytes are special tokens
 * under their own names. */
int tokfile_parse_vocab(struct tokenizer *t, const char *text, size_t n,
                        struct err *e)
{
    struct json_reader r = { .t = t, .bytes = BUF_INIT, .odd = json_object() };
    AUTO(buf_clear) struct buf copy = BUF_INIT;
    const char *name;
    json_t *id;
    int got;

    buf_add(&copy, text, n);
    r.vocab = (struct json_scan){ .at = copy.s, .end = copy.s + n };
    json_scan_blanks(&r.vocab);
    got = read_vocab(&r, e);
    json_scan_blanks(&r.vocab);
    if (got == 0 && r.vocab.at < r.vocab.end)
        got = err_input(e, "there is something after the object");
    json_object_foreach(r.odd, name, id)
    {
        if (got == 0)
            got =
                tokenizer_add(t, json_integer_value(id), name, strlen(name), e);
    }
    buf_clear(&r.bytes);
    json_decref(r.odd);
    return got;
}
