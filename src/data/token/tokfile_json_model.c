/*
 * tokfile_json_model - the vocabulary and the merges of tokenizer.json, and
 * vocab.json
 */
#include "config.h"
#include "data/token/tokfile_json_impl.h"

#include <string.h>

#include "data/token/sentencepiece.h"

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

    if (byte >= 0)
        return tokenizer_byte(r->t, id, (uint8_t)byte, e);
    buf_trim(&r->bytes, 0);
    if (json_reader_add_bytes(r, name, n) >= 0)
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
    const ptrdiff_t len = json_reader_add_bytes(r, name, n);

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

/* With all bytes there is no unknown character; else there is a token for it.
 */
static int read_unknown(struct json_reader *r, const json_t *o, struct err *e)
{
    struct tokenizer *const t = r->t;
    const json_t *name = json_object_get(o, "unk_token");

    for (int i = 0; r->byte_fallback && i < 256; i++)
        if (t->byte_id[i] < 0)
            return err_set(e, ERR_INPUT,
                           "byte_fallback needs the token <0x%02X>", i);
    if (r->byte_fallback)
        return 0;
    t->fuse_unknown = json_is_true(json_object_get(o, "fuse_unk"));
    buf_trim(&r->bytes, 0);
    if (json_is_string(name) &&
        json_reader_add_bytes(r, json_string_value(name),
                              json_string_length(name)) > 0)
        t->unknown = tokenizer_find(t, r->bytes.s, r->bytes.len);
    if (t->unknown < 0)
        return err_set(e, ERR_INPUT,
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
        return err_set(e, ERR_INPUT,
                       "some bytes have no token, and unk_token is not "
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
        return err_set(e, ERR_INPUT, "there is no model with vocab and merges");
    r->t->whole = json_is_true(json_object_get(o, "ignore_merges"));
    if (read_vocab(r, e) < 0)
        return err_wrap(e, "model.vocab");
    if (read_merges(r, e) < 0)
        return -1;
    if (!characters)
        return check_bytes(r, o, e);
    if (tokenizer_find(r->t, " ", 1) < 0)
        return err_set(e, ERR_INPUT, "U+2581 is not in the vocabulary");
    return read_unknown(r, o, e);
}

/* encoder.json and vocab.json: names that stand for no bytes are special tokens
 * under their own names. */
int tokfile_parse_vocab(struct tokenizer *t, const char *text, size_t n,
                        struct err *e)
{
    struct json_reader r = { .t = t, .bytes = BUF_INIT, .odd = json_object() };
    struct buf copy = BUF_INIT;
    const char *name;
    json_t *id;
    int got;

    buf_add(&copy, text, n);
    r.vocab = (struct json_scan){ .at = copy.s, .end = copy.s + n };
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
    buf_clear(&copy);
    json_decref(r.odd);
    return got;
}
