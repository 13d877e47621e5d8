#include "config.h"
#include "data/token/tokfile.h"

#include <string.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/utf8.h"

/* The largest file of a tokenizer. */
#define FILE_MAX ((size_t)512 << 20)

ptrdiff_t tokfile_bytes(const char *name, size_t n, uint8_t *out)
{
    const uint8_t *p = (const uint8_t *)name, *const end = p + n;
    ptrdiff_t count = 0;

    while (p < end) {
        uint32_t c;
        int byte;

        if (*p > ' ' && *p < 0x7F) {
            out[count++] = *p++;
            continue;
        }
        p += utf8_decode(p, end, &c);
        byte = c == UTF8_BAD ? -1 : bpe_char_byte(c);
        if (byte < 0)
            return -1;
        out[count++] = (uint8_t)byte;
    }
    return count;
}

/* A token that is neither a byte nor made by a merge must be a special token.
 */
static int mark_specials(struct tokenizer *t, struct err *e)
{
    AUTO_FREE uint8_t *made = xcalloc((size_t)t->n_ids, 1);
    int got = 0;

    for (size_t i = 0; i < t->n_merges; i++)
        made[t->merge[i].into] = 1;
    for (int32_t id = 0; id < t->n_ids && got == 0; id++)
        if (t->token[id].len > 1 && !made[id])
            got = tokenizer_special(t, id, 0, token_text(t, id),
                                    t->token[id].len, e);
    return got;
}

/* A line is two names with a space between them. */
static int parse_merge(struct tokenizer *t, const char *line, size_t n,
                       bool vocab, struct err *e)
{
    const char *space = memchr(line, ' ', n);
    const size_t left = space ? (size_t)(space - line) : 0;
    uint8_t bytes[2 * TOKENIZER_MAX_LEN];
    ptrdiff_t a, b;
    int32_t id[3];

    if (left == 0 || left + 1 == n || memchr(space + 1, ' ', n - left - 1))
        return err_input(e, "expected two names with a space between them");
    if (n > TOKENIZER_MAX_LEN)
        return err_input(e, "the names are longer than %d bytes",
                         TOKENIZER_MAX_LEN);
    a = tokfile_bytes(line, left, bytes);
    b = a < 0 ? -1 : tokfile_bytes(space + 1, n - left - 1, bytes + a);
    if (b < 0)
        return err_input(e, "a character stands for no byte");
    id[0] = tokenizer_find(t, bytes, (size_t)a);
    id[1] = tokenizer_find(t, bytes + a, (size_t)b);
    if (id[0] < 0 || id[1] < 0)
        return err_input(e, "'%.*s' is not a known token",
                         (int)(id[0] < 0 ? left : n - left - 1),
                         id[0] < 0 ? line : space + 1);
    id[2] = vocab ? tokenizer_find(t, bytes, (size_t)(a + b)) : t->n_ids;
    if (!vocab && tokenizer_add(t, id[2], bytes, (size_t)(a + b), e) < 0)
        return -1;
    if (id[2] < 0)
        return err_input(e, "the token that '%.*s' makes has no id", (int)n,
                         line);
    return tokenizer_merge(t, id[0], id[1], id[2], e);
}

int tokfile_parse_merges(struct tokenizer *t, const char *text, size_t n,
                         struct err *e)
{
    const bool vocab = t->n_ids > 0;
    const char *const end = text + n;
    long number = 1;

    if (!vocab && bpe_add_bytes(t, e) < 0)
        return -1;
    for (const char *p = text; p < end; number++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t len;

        if (!stop)
            stop = end;
        len = (size_t)(stop - p);
        if (len > 0 && p[len - 1] == '\r')
            len--;
        if (number == 1 && len >= 8 && memcmp(p, "#version", 8) == 0)
            len = 0;
        if (len > 0 && parse_merge(t, p, len, vocab, e) < 0)
            return err_wrap(e, "line %ld", number);
        p = stop + (stop < end);
    }
    if (vocab)
        return mark_specials(t, e);
    return tokenizer_special(t, t->n_ids, 0, "<|endoftext|>", 13, e);
}

static int read_into(struct tokenizer *t, const char *path,
                     tokfile_parse_fn *parse, struct err *e)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;

    if (buf_read_file(&text, path, FILE_MAX, e) < 0)
        return -1;
    return parse(t, text.s, text.len, e) < 0 ? err_wrap(e, "%s", path) : 0;
}

/* The first of these names that exists in the folder of path, or NULL. */
static char *find_in_folder(const char *path, const char *const names[])
{
    AUTO_FREE char *folder = path_parent(path);
    char *found = NULL;

    for (int i = 0; names[i] && !found; i++) {
        found = path_join(folder, names[i]);
        if (!path_exists(found)) {
            free(found);
            found = NULL;
        }
    }
    return found;
}

static const char *const vocab_names[] = { "encoder.json", "vocab.json", NULL };
static const char *const merge_names[] = { "vocab.bpe", "merges.txt", NULL };

/* The ids of merges are in a vocabulary in the same folder, or else GPT-2's. */
static int read_parts(struct tokenizer *t, const char *path,
                      tokfile_parse_fn *parse, struct err *e)
{
    AUTO_FREE char *vocab = parse == tokfile_parse_merges
                                ? find_in_folder(path, vocab_names)
                                : NULL;

    if ((vocab && read_into(t, vocab, tokfile_parse_vocab, e) < 0) ||
        read_into(t, path, parse, e) < 0)
        return -1;
    if (t->pretokenizer == PRETOKENIZE_ALL)
        t->pretokenizer = PRETOKENIZE_GPT2;
    return tokenizer_ready(t, e) < 0 ? err_wrap(e, "%s", path) : 0;
}

static int read_file(struct tokenizer **out, const char *path,
                     tokfile_parse_fn *parse, enum pretokenizer split,
                     struct err *e)
{
    const bool chars = parse == tokfile_parse_pickle;
    struct tokenizer *t;
    int got;

    if (parse == tokfile_parse_vocab) { /* the merges are in another file */
        AUTO_FREE char *merges = find_in_folder(path, merge_names);

        if (!merges)
            return err_set(
                e, ERR_MISSING,
                "%s: its folder has neither vocab.bpe nor merges.txt", path);
        return read_file(out, merges, tokfile_parse_merges, split, e);
    }
    t = tokenizer_new(chars ? TOKENIZER_CHARS : TOKENIZER_BPE, split);
    got = read_parts(t, path, parse, e);
    if (got == 0 && split != PRETOKENIZE_ALL && t->pretokenizer != split)
        got = err_usage(e, "%s names its pre-tokenizer, so it cannot be %s",
                        path, pretokenize_names[split]);
    if (got == 0)
        *out = t;
    else
        tokenizer_free(t);
    return got;
}

/* The order in which a folder is searched. */
static const struct {
    const char *suffix;
    tokfile_parse_fn *parse;
} readers[] = {
    { "tokenizer.json", tokfile_parse_json },
    { "vocab.bpe", tokfile_parse_merges },
    { "merges.txt", tokfile_parse_merges },
    { ".tiktoken", tokfile_parse_tiktoken },
    { "meta.pkl", tokfile_parse_pickle },
    { "tokenizer.model", tokfile_parse_model },
    { "encoder.json", tokfile_parse_vocab },
    { "vocab.json", tokfile_parse_vocab },
    { ".json", tokfile_parse_json },
    { ".bpe", tokfile_parse_merges },
    { ".txt", tokfile_parse_merges },
    { ".pkl", tokfile_parse_pickle },
    { ".model", tokfile_parse_model },
};

enum { IN_FOLDERS = 6 };

static int load_folder(struct tokenizer **out, const char *folder,
                       enum pretokenizer split, struct err *e)
{
    AUTO(path_list_clear) struct path_list list = { 0 };

    if (path_list(&list, folder, e) < 0)
        return -1;
    for (int i = 0; i < IN_FOLDERS; i++) {
        for (size_t k = 0; k < list.n; k++) {
            if (str_ends(list.name[k], readers[i].suffix))
                return read_file(out, path_listed(&list, k), readers[i].parse,
                                 split, e);
        }
    }
    return err_set(e, ERR_MISSING,
                   "%s holds no tokenizer: no tokenizer.json, vocab.bpe, "
                   "merges.txt, .tiktoken, meta.pkl or tokenizer.model",
                   folder);
}

int tokenizer_load(struct tokenizer **out, const char *path, struct err *e)
{
    return tokfile_load(out, path, PRETOKENIZE_ALL, e);
}

int tokfile_load(struct tokenizer **out, const char *path,
                 enum pretokenizer split, struct err *e)
{
    *out = NULL;
    if (path_is_folder(path))
        return load_folder(out, path, split, e);
    if (!path_exists(path))
        return err_set(e, ERR_MISSING,
                       "no tokenizer %s; 'gdata bpe' trains one, and 'gdata "
                       "fetch gpt2-vocab' downloads GPT-2's",
                       path);
    for (size_t i = 0; i < sizeof readers / sizeof readers[0]; i++)
        if (str_ends(path, readers[i].suffix))
            return read_file(out, path, readers[i].parse, split, e);
    return err_usage(e,
                     "%s: unknown kind of tokenizer; the name must end in "
                     ".json, .bpe, .txt, .tiktoken, .model or .pkl",
                     path);
}
