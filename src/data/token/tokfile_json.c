#include "config.h"
#include "data/token/tokfile.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "data/token/json.h"

/*
 * tokenizer.json, as Hugging Face's tokenizers write it.  Whatever would make
 * other ids than we do is refused, by name.
 */
struct added {
    int64_t id;
    size_t at, len; /* in reader.names */
    bool special;
};

struct reader {
    struct tokenizer *t;
    struct json j;
    struct buf bytes; /* of one name, or of the two of a merge */
    struct buf names; /* of added tokens, and odd ones */
    struct added *added;
    size_t n_added, added_room;
    struct added *odd; /* tokens of the vocabulary whose names are no bytes */
    size_t n_odd, odd_room;
    int64_t n_vocab;
    bool have_vocab, have_merges, have_split, have_bytes;
    bool unknown;      /* the model has an unknown token */
    struct json later; /* merges that came before the vocabulary */
};

static int refuse(struct reader *r, struct err *e, const char *what)
{
    return json_fail(&r->j, e, "%s is not supported", what);
}

static struct added name_here(struct reader *r, int64_t id,
                              const struct json_text *name)
{
    const struct added a = { id, r->names.len, name->n, false };

    buf_add(&r->names, name->s, name->n);
    return a;
}

/* null, or the err names what is there instead. */
static int only_null(struct reader *r, const char *what, struct err *e)
{
    return json_next(&r->j) == 'n' ? json_skip(&r->j, e) : refuse(r, e, what);
}

static int only_false(struct reader *r, const char *what, struct err *e)
{
    bool value = false;

    if (json_bool(&r->j, &value, e) < 0)
        return -1;
    return value ? refuse(r, e, what) : 0;
}

/* null or an empty string. */
static int only_empty(struct reader *r, const char *what, struct err *e)
{
    struct json_text text;

    if (json_next(&r->j) == 'n')
        return json_skip(&r->j, e);
    if (json_chars(&r->j, &text, e) < 0)
        return -1;
    return text.n > 0 ? refuse(r, e, what) : 0;
}

static int added_token(struct reader *r, struct err *e)
{
    struct added a = { -1, 0, 0, false };
    struct json_text key, text;
    bool special = false;
    int got;

    if (json_enter(&r->j, '{', e) < 0)
        return -1;
    while ((got = json_key(&r->j, &key, e)) > 0) {
        if (json_is(&key, "id")) {
            got = json_int(&r->j, &a.id, e);
        } else if (json_is(&key, "content")) {
            got = json_chars(&r->j, &text, e);
            if (got == 0)
                a = name_here(r, a.id, &text);
        } else if (json_is(&key, "special")) {
            got = json_bool(&r->j, &special, e);
        } else if (json_is(&key, "lstrip")) {
            got = only_false(r, "an added token with lstrip", e);
        } else if (json_is(&key, "rstrip")) {
            got = only_false(r, "an added token with rstrip", e);
        } else if (json_is(&key, "single_word")) {
            got = only_false(r, "an added token with single_word", e);
        } else {
            got = json_skip(&r->j, e);
        }
        if (got < 0)
            return -1;
    }
    if (got < 0)
        return -1;
    if (a.id < 0 || a.len == 0)
        return json_fail(&r->j, e, "an added token needs id and content");
    a.special = special;
    GROW(r->added, r->n_added, r->added_room);
    r->added[r->n_added++] = a;
    return 0;
}

static int added_tokens(struct reader *r, struct err *e)
{
    int got;

    if (json_next(&r->j) == 'n')
        return json_skip(&r->j, e);
    if (json_enter(&r->j, '[', e) < 0)
        return -1;
    while ((got = json_item(&r->j, e)) > 0)
        if (added_token(r, e) < 0)
            return -1;
    return got;
}

static int split_regex(struct reader *r, struct err *e)
{
    struct json_text key, text;
    int got, kind;

    if (json_enter(&r->j, '{', e) < 0)
        return -1;
    while ((got = json_key(&r->j, &key, e)) > 0) {
        if (!json_is(&key, "Regex"))
            return refuse(r, e, "a pre-tokenizer that splits at a string");
        if (json_chars(&r->j, &text, e) < 0)
            return -1;
        buf_trim(&r->bytes, 0);
        buf_add(&r->bytes, text.s, text.n);
        kind = split_from_pattern(r->bytes.s);
        if (kind < 0 || r->have_split)
            return json_fail(&r->j, e,
                             "the pre-tokenizer's pattern is none of those "
                             "supported (gpt2, cl100k, llama3, o200k)");
        r->t->split = (enum split)kind;
        r->have_split = true;
    }
    return got;
}

static int pre_tokenizer(struct reader *r, struct err *e);

static int pre_tokenizers(struct reader *r, struct err *e)
{
    int got;

    if (json_enter(&r->j, '[', e) < 0)
        return -1;
    while ((got = json_item(&r->j, e)) > 0)
        if (pre_tokenizer(r, e) < 0)
            return -1;
    return got;
}

/*
 * What a Split makes of its matches.  They cover the text, so it is one piece
 * for each unless they are joined or thrown away.
 */
static int behavior(struct reader *r, bool *removed, struct err *e)
{
    struct json_text text;

    if (json_chars(&r->j, &text, e) < 0)
        return -1;
    *removed = json_is(&text, "Removed");
    return json_is(&text, "Contiguous")
               ? refuse(r, e, "a pre-tokenizer that joins pieces (Contiguous)")
               : 0;
}

/*
 * ByteLevel, which splits as GPT-2 does unless use_regex is false; Split with a
 * pattern we know, and a ByteLevel behind; a Sequence of these.
 */
static int pre_tokenizer(struct reader *r, struct err *e)
{
    bool regex = true, byte_level = false, removed = false, invert = false;
    struct json_text key, text;
    int got;

    if (json_enter(&r->j, '{', e) < 0)
        return -1;
    while ((got = json_key(&r->j, &key, e)) > 0) {
        if (json_is(&key, "type")) {
            got = json_chars(&r->j, &text, e);
            byte_level = got == 0 && json_is(&text, "ByteLevel");
            if (got == 0 && !byte_level && !json_is(&text, "Sequence") &&
                !json_is(&text, "Split"))
                return json_fail(&r->j, e,
                                 "pre-tokenizer %.*s is not "
                                 "supported",
                                 (int)text.n, text.s);
        } else if (json_is(&key, "add_prefix_space")) {
            got = only_false(r, "add_prefix_space", e);
        } else if (json_is(&key, "use_regex")) {
            got = json_bool(&r->j, &regex, e);
        } else if (json_is(&key, "behavior")) {
            got = behavior(r, &removed, e);
        } else if (json_is(&key, "invert")) {
            got = json_bool(&r->j, &invert, e);
        } else if (json_is(&key, "pattern")) {
            if (r->have_bytes)
                return refuse(r, e, "splitting behind ByteLevel");
            got = split_regex(r, e);
        } else if (json_is(&key, "pretokenizers")) {
            got = pre_tokenizers(r, e);
        } else {
            got = json_skip(&r->j, e);
        }
        if (got < 0)
            return -1;
    }
    if (got < 0)
        return -1;
    if (removed && !invert)
        return refuse(r, e, "a pre-tokenizer that removes text");
    if (byte_level && r->have_bytes)
        return refuse(r, e, "ByteLevel twice");
    r->have_bytes = r->have_bytes || byte_level;
    if (byte_level && regex) {
        if (r->have_split && r->t->split != SPLIT_GPT2)
            return refuse(r, e, "splitting twice");
        r->t->split = SPLIT_GPT2;
        r->have_split = true;
    }
    return 0;
}

static int vocab(struct reader *r, struct err *e)
{
    struct json_text name;
    int64_t id;
    int got;

    if (json_enter(&r->j, '{', e) < 0)
        return -1;
    while ((got = json_key(&r->j, &name, e)) > 0) {
        ptrdiff_t len;

        buf_trim(&r->bytes, 0);
        buf_room(&r->bytes, name.n);
        len = tokfile_bytes(name.s, name.n, (uint8_t *)r->bytes.s);
        if (len < 0) { /* it must be among the added tokens */
            GROW(r->odd, r->n_odd, r->odd_room);
            r->odd[r->n_odd++] = name_here(r, -1, &name);
        }
        if (json_int(&r->j, &id, e) < 0)
            return -1;
        r->n_vocab++;
        if (len < 0) {
            r->odd[r->n_odd - 1].id = id;
        } else if (tokenizer_add(r->t, id, r->bytes.s, (size_t)len, e) < 0) {
            return err_wrap(e, "vocab");
        }
    }
    r->have_vocab = true;
    return got;
}

/* The bytes of one name of a merge, after those that are there. */
static int merge_name(struct reader *r, const char *s, size_t n, int32_t *id,
                      struct err *e)
{
    ptrdiff_t len;

    buf_room(&r->bytes, n);
    len = tokfile_bytes(s, n, (uint8_t *)r->bytes.s + r->bytes.len);
    *id = len < 0
              ? -1
              : tokenizer_find(r->t, r->bytes.s + r->bytes.len, (size_t)len);
    if (*id < 0)
        return json_fail(&r->j, e,
                         "merge of '%.*s', which is not in the "
                         "vocabulary",
                         (int)(n < 200 ? n : 200), s);
    r->bytes.len += (size_t)len;
    return 0;
}

static int merge_pair(struct reader *r, int32_t id[2], struct err *e)
{
    struct json_text text;

    if (json_enter(&r->j, '[', e) < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        const int got = json_item(&r->j, e);

        if (got < 0)
            return -1;
        if (got == 0)
            return json_fail(&r->j, e, "a merge has two names");
        if (json_chars(&r->j, &text, e) < 0 ||
            merge_name(r, text.s, text.n, &id[i], e) < 0)
            return -1;
    }
    switch (json_item(&r->j, e)) {
    case 0:
        return 0;
    case 1:
        return json_fail(&r->j, e, "a merge has two names");
    default:
        return -1;
    }
}

static int merge_text(struct reader *r, int32_t id[2], struct err *e)
{
    struct json_text text;
    const char *space;
    size_t left;

    if (json_chars(&r->j, &text, e) < 0)
        return -1;
    space = memchr(text.s, ' ', text.n);
    if (!space)
        return json_fail(&r->j, e, "a merge without a space");
    left = (size_t)(space - text.s);
    if (merge_name(r, text.s, left, &id[0], e) < 0)
        return -1;
    return merge_name(r, space + 1, text.n - left - 1, &id[1], e);
}

static int merges(struct reader *r, struct err *e)
{
    int got;

    if (json_enter(&r->j, '[', e) < 0)
        return -1;
    while ((got = json_item(&r->j, e)) > 0) {
        int32_t id[2], into;

        r->bytes.len = 0;
        if ((json_next(&r->j) == '[' ? merge_pair : merge_text)(r, id, e) < 0)
            return -1;
        into = tokenizer_find(r->t, r->bytes.s, r->bytes.len);
        if (into < 0)
            return json_fail(&r->j, e, "what a merge makes has no id");
        if (tokenizer_merge(r->t, id[0], id[1], into, e) < 0)
            return -1;
    }
    r->have_merges = true;
    return got;
}

static int model_field(struct reader *r, const struct json_text *key,
                       struct err *e)
{
    struct json_text text;

    if (json_is(key, "type")) {
        if (json_chars(&r->j, &text, e) < 0)
            return -1;
        return json_is(&text, "BPE") ? 0 : refuse(r, e, "a model but BPE");
    }
    if (json_is(key, "vocab"))
        return vocab(r, e);
    if (json_is(key, "merges")) {
        if (r->have_vocab)
            return merges(r, e);
        r->later = r->j;
        r->later.room = (struct buf)BUF_INIT;
        return json_skip(&r->j, e);
    }
    if (json_is(key, "dropout"))
        return only_null(r, "dropout", e);
    if (json_is(key, "continuing_subword_prefix"))
        return only_empty(r, "continuing_subword_prefix", e);
    if (json_is(key, "end_of_word_suffix"))
        return only_empty(r, "end_of_word_suffix", e);
    if (json_is(key, "byte_fallback"))
        return only_false(r, "byte_fallback", e);
    if (json_is(key, "ignore_merges"))
        return json_bool(&r->j, &r->t->whole, e);
    if (json_is(key, "unk_token"))
        r->unknown = json_next(&r->j) != 'n';
    return json_skip(&r->j, e);
}

static int model(struct reader *r, struct err *e)
{
    struct json_text key;
    int got;

    if (json_enter(&r->j, '{', e) < 0)
        return -1;
    while ((got = json_key(&r->j, &key, e)) > 0)
        if (model_field(r, &key, e) < 0)
            return -1;
    if (got == 0 && r->later.p && r->have_vocab) {
        const struct json back = r->j;

        r->j = r->later;
        got = merges(r, e);
        json_clear(&r->j);
        r->j = back;
    }
    return got;
}

static int field(struct reader *r, const struct json_text *key, struct err *e)
{
    if (json_is(key, "added_tokens"))
        return added_tokens(r, e);
    if (json_is(key, "normalizer"))
        return only_null(r, "a normalizer", e);
    if (json_is(key, "pre_tokenizer")) {
        if (json_next(&r->j) == 'n')
            return refuse(r, e, "a tokenizer without pre-tokenizer");
        return pre_tokenizer(r, e);
    }
    if (json_is(key, "model"))
        return model(r, e);
    return json_skip(&r->j, e);
}

static bool is_added(const struct reader *r, int64_t id)
{
    for (size_t i = 0; i < r->n_added; i++)
        if (r->added[i].id == id)
            return true;
    return false;
}

/* The id of the same name in a list, or -1. */
static int64_t id_in(const struct reader *r, const struct added *list, size_t n,
                     const struct added *a)
{
    for (size_t i = 0; i < n; i++)
        if (list[i].len == a->len &&
            memcmp(r->names.s + list[i].at, r->names.s + a->at, a->len) == 0)
            return list[i].id;
    return -1;
}

/*
 * The id that Hugging Face's tokenizers give to added token i, whatever the
 * file says: that of its name where there is one, else the next.
 */
static int64_t id_there(struct reader *r, size_t i, int64_t next)
{
    const struct added *a = &r->added[i];
    int64_t id = id_in(r, r->added, i, a);
    ptrdiff_t len;

    if (id >= 0)
        return id;
    buf_trim(&r->bytes, 0);
    buf_room(&r->bytes, a->len);
    len = tokfile_bytes(r->names.s + a->at, a->len, (uint8_t *)r->bytes.s);
    id = len < 0 ? id_in(r, r->odd, r->n_odd, a)
                 : tokenizer_find(r->t, r->bytes.s, (size_t)len);
    return id >= 0 ? id : next;
}

static int place_added(struct reader *r, struct err *e)
{
    int64_t next = r->n_vocab;

    for (size_t i = 0; i < r->n_odd; i++)
        if (!is_added(r, r->odd[i].id))
            return err_set(e, ERR_INPUT,
                           "id %lld: its name has characters "
                           "that stand for no byte",
                           (long long)r->odd[i].id);
    for (size_t i = 0; i < r->n_added; i++) {
        const struct added *a = &r->added[i];
        const char *const name = r->names.s + a->at;
        const int64_t id = id_there(r, i, next);

        if (a->id != id)
            return err_set(e, ERR_INPUT,
                           "added_tokens: '%.*s' has id %lld, but Hugging "
                           "Face's tokenizers would make that %lld",
                           (int)(a->len < 200 ? a->len : 200), name,
                           (long long)a->id, (long long)id);
        if (tokenizer_special(r->t, id, !a->special, name, a->len, e) < 0)
            return err_wrap(e, "added_tokens");
        next = id >= next ? id + 1 : next;
    }
    return 0;
}

static int check(struct reader *r, struct err *e)
{
    uint8_t all = 1;

    if (!r->have_vocab || !r->have_merges)
        return err_set(e, ERR_INPUT, "there is no model with vocab and merges");
    if (!r->have_split)
        return err_set(e, ERR_INPUT,
                       "there is no pre-tokenizer that splits "
                       "as gpt2, cl100k, llama3 or o200k");
    if (!r->have_bytes)
        return err_set(e, ERR_INPUT,
                       "there is no pre-tokenizer ByteLevel, and others than "
                       "byte-level BPE are not supported");
    for (int i = 0; i < 256; i++) {
        const uint8_t b = (uint8_t)i;

        all = all && tokenizer_find(r->t, &b, 1) >= 0;
    }
    if (r->unknown && !all)
        return err_set(e, ERR_INPUT,
                       "some bytes have no token; unk_token is "
                       "not supported");
    return place_added(r, e);
}

int tokfile_parse_json(struct tokenizer *t, const char *text, size_t n,
                       struct err *e)
{
    struct reader r = {
        .t = t, .j = json_over(text, n), .bytes = BUF_INIT, .names = BUF_INIT
    };
    struct json_text key;
    int got = json_enter(&r.j, '{', e);

    while (got == 0 && (got = json_key(&r.j, &key, e)) > 0)
        got = field(&r, &key, e);
    if (got == 0)
        got = json_end(&r.j, e);
    if (got == 0)
        got = check(&r, e);
    json_clear(&r.j);
    buf_clear(&r.bytes);
    buf_clear(&r.names);
    free(r.added);
    free(r.odd);
    return got;
}
