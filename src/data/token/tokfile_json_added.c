/*
 * tokfile_json_added - the added tokens of tokenizer.json
 */
#include "config.h"
#include "data/token/tokfile_json_impl.h"

#include "data/token/sentencepiece.h"

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
        return err_set(e, ERR_INPUT, "expected id and content");
    actual = actual_id(r, i, *next);
    if (json_integer_value(id) != actual)
        return err_set(e, ERR_INPUT,
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
