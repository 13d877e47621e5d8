/*
 * tokfile_tiktoken - .tiktoken files, and tokenizer.model of Llama 3 and 4
 *
 * A line is a token in Base64, a space and a rank.  Such a file has neither a
 * pattern nor special tokens.  They are inferred from the number of tokens; for
 * an unknown number the caller has to choose the pre-tokenizer.
 */
#include "config.h"
#include "data/token/tokfile.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"

/*
 * The special tokens are numbers, the ids of the next ones, and names without
 * their brackets <| and |>; name_{2-5} stands for four of them.
 */
static const struct known {
    int32_t n;
    enum pretokenizer pretokenizer;
    bool nfc;
    const char *special;
} known[] = {
    { 50256, PRETOKENIZE_GPT2, false, "50256 endoftext" },
    { 50280, PRETOKENIZE_GPT2, false, "50256 endoftext" },
    { 100256, PRETOKENIZE_CL100K, false,
      "100257 endoftext fim_prefix fim_middle fim_suffix 100276 endofprompt" },
    { 128000, PRETOKENIZE_LLAMA3, false,
      "128000 begin_of_text end_of_text reserved_special_token_{0-3} "
      "start_header_id end_header_id reserved_special_token_{4-4} eot_id "
      "reserved_special_token_{5-250}" },
    { 151643, PRETOKENIZE_QWEN2, true,
      "151643 endoftext im_start im_end extra_{0-204}" },
    { 199998, PRETOKENIZE_O200K, false, "199999 endoftext 200018 endofprompt" },
    { 200000, PRETOKENIZE_O200K, false,
      "200000 begin_of_text end_of_text fim_prefix fim_middle fim_suffix "
      "header_start header_end eom eot step "
      "text_post_train_reserved_special_token_{0-5} python_start python_end "
      "finetune_right_pad text_post_train_reserved_special_token_{6-66} "
      "image_start image_end vision_reserved_special_token_{0-1} "
      "tile_x_separator tile_y_separator vision_reserved_special_token_{2-5} "
      "image vision_reserved_special_token_{6-6} patch "
      "vision_reserved_special_token_{7-1047} "
      "reasoning_reserved_special_token_{0-7} reasoning_thinking_start "
      "reasoning_thinking_end reserved_special_token_{0-903}" },
};

static const char alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Returns the number of bytes, or -1. */
static ptrdiff_t from_base64(const char *s, size_t n, uint8_t *out)
{
    uint32_t bits = 0;
    int have = 0;
    ptrdiff_t count = 0;

    if (n % 4 != 0 || n == 0)
        return -1;
    for (int i = 0; i < 2 && s[n - 1] == '='; i++)
        n--;
    for (size_t i = 0; i < n; i++) {
        const char *at = s[i] ? strchr(alphabet, s[i]) : NULL;

        if (!at)
            return -1;
        bits = bits << 6 | (uint32_t)(at - alphabet);
        have += 6;
        if (have >= 8) {
            have -= 8;
            out[count++] = (uint8_t)(bits >> have);
        }
    }
    return count;
}

static int parse_line(struct tokenizer *t, const char *line, size_t n,
                      struct err *e)
{
    const char *space = memchr(line, ' ', n);
    uint8_t bytes[TOKENIZER_MAX_LEN];
    ptrdiff_t len = -1;
    int64_t rank = 0;

    if (space && (size_t)(space - line) <= sizeof bytes / 3 * 4)
        len = from_base64(line, (size_t)(space - line), bytes);
    if (len <= 0)
        return err_input(e, "expected a token in Base64 and a rank");
    if (space + 1 == line + n || line + n - space > 10)
        return err_input(e, "the rank is not a number below 10^9");
    for (const char *p = space + 1; p < line + n; p++) {
        if (*p < '0' || *p > '9')
            return err_input(e, "the rank is not a number");
        rank = rank * 10 + (*p - '0');
    }
    return tokenizer_add(t, rank, bytes, (size_t)len, e);
}

/*
 * Find the two tokens that a token is merged from: the encoding of its bytes
 * with only the merges of lower rank.  False if these are not two.
 */
static bool find_parts(const struct tokenizer *t, int32_t id, size_t *end,
                       int32_t *rank, int32_t out[2])
{
    const struct token *k = &t->token[id];
    const uint8_t *s = token_text(t, id);
    size_t n = k->len;

    /* part i is s[end[i] .. end[i + 1]); parts i and i + 1 make rank[i] */
    for (size_t i = 0; i <= n; i++)
        end[i] = i;
    for (size_t i = 0; i + 1 < n; i++)
        rank[i] = tokenizer_find(t, s + i, 2);
    while (n > 2) {
        size_t at = n;

        for (size_t i = 0; i + 1 < n; i++)
            if (rank[i] >= 0 && rank[i] < id && (at == n || rank[i] < rank[at]))
                at = i;
        if (at == n)
            return false;
        memmove(end + at + 1, end + at + 2, (n - at - 1) * sizeof *end);
        memmove(rank + at, rank + at + 1, (n - at - 1) * sizeof *rank);
        n--;
        if (at + 1 < n)
            rank[at] = tokenizer_find(t, s + end[at], end[at + 2] - end[at]);
        if (at > 0)
            rank[at - 1] =
                tokenizer_find(t, s + end[at - 1], end[at + 1] - end[at - 1]);
    }
    out[0] = tokenizer_find(t, s, end[1]);
    out[1] = tokenizer_find(t, s + end[1], k->len - end[1]);
    return n == 2 && out[0] >= 0 && out[1] >= 0;
}

static int find_merges(struct tokenizer *t, struct err *e)
{
    AUTO_FREE size_t *end = xmalloc(((size_t)t->longest + 1) * sizeof *end);
    AUTO_FREE int32_t *rank = xmalloc(((size_t)t->longest + 1) * sizeof *rank);
    int got = 0;

    for (int32_t id = 0; id < t->n_ids && got == 0; id++) {
        int32_t part[2];

        if (t->token[id].len > 1 && find_parts(t, id, end, rank, part))
            got = tokenizer_merge(t, part[0], part[1], id, e);
    }
    return got;
}

static const struct known *find_known(int32_t n)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].n == n)
            return &known[i];
    return NULL;
}

int tokfile_tiktoken_pretokenizer(const struct tokenizer *t)
{
    const struct known *k;
    int32_t n = 0;

    for (int32_t id = 0; id < t->n_ids; id++)
        n += t->token[id].len > 0 && !tokenizer_find_special(t, id);
    k = find_known(n);
    return k ? (int)k->pretokenizer : -1;
}

static int add_special(struct tokenizer *t, int32_t id, const char *name,
                       int len, struct err *e)
{
    char text[64];
    const int n = snprintf(text, sizeof text, "<|%.*s|>", len, name);

    return tokenizer_special(t, id, 0, text, (size_t)n, e);
}

static int add_specials(struct tokenizer *t, const char *p, struct err *e)
{
    int32_t id = 0;

    for (; *p; p += strspn(p, " ")) {
        const int len = (int)strcspn(p, " ");
        int first, last, got = 0;

        if (sscanf(p, "%*[a-z_]{%d-%d}", &first, &last) == 2) {
            for (int i = first; i <= last && got == 0; i++) {
                char name[64];
                const int n = snprintf(name, sizeof name, "%.*s%d",
                                       (int)strcspn(p, "{"), p, i);

                got = add_special(t, id++, name, n, e);
            }
        } else if (sscanf(p, "%d", &id) != 1) {
            got = add_special(t, id++, p, len, e);
        }
        if (got < 0)
            return -1;
        p += len;
    }
    return 0;
}

static int guess_rest(struct tokenizer *t, int32_t n, struct err *e)
{
    const struct known *k = find_known(n);

    if (!k && t->pretokenizer == PRETOKENIZE_ALL)
        return err_usage(e,
                         "no known tokenizer has %d tokens, and the file does "
                         "not name the pre-tokenizer; 'gdata vocab --split "
                         "NAME -o FOLDER' writes a tokenizer.json with both",
                         n);
    if (!k)
        return tokenizer_special(t, t->n_ids, 0, "<|endoftext|>", 13, e);
    if (t->pretokenizer == PRETOKENIZE_ALL) {
        t->pretokenizer = k->pretokenizer;
        t->nfc = k->nfc;
    }
    return add_specials(t, k->special, e);
}

int tokfile_parse_tiktoken(struct tokenizer *t, const char *text, size_t n,
                           struct err *e)
{
    const char *const end = text + n;
    int32_t count = 0;
    long number = 1;

    for (const char *p = text; p < end; number++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));

        if (!stop)
            stop = end;
        if (stop > p) {
            if (parse_line(t, p, (size_t)(stop - p), e) < 0)
                return err_wrap(e, "line %ld", number);
            count++;
        }
        p = stop + (stop < end);
    }
    t->whole = true;
    t->joined = true;
    if (find_merges(t, e) < 0)
        return -1;
    return guess_rest(t, count, e);
}

int tokfile_parse_model(struct tokenizer *t, const char *text, size_t n,
                        struct err *e)
{
    const size_t token = strcspn(text, " \n");

    if (token > 0 && text[token] == ' ')
        return tokfile_parse_tiktoken(t, text, n, e);
    return err_input(e, "SentencePiece's own file is not supported; use the "
                        "tokenizer.json of the same model");
}

int tokfile_add_tiktoken(struct buf *b, const struct tokenizer *t,
                         struct err *e)
{
    for (size_t i = 1; i < t->n_merges; i++)
        if (t->merge[i].into <= t->merge[i - 1].into)
            return err_input(e, "ids are not in the order of the merges, which "
                                ".tiktoken cannot express");
    for (int32_t id = 0; id < t->n_ids; id++) {
        if (t->token[id].len == 0 || tokenizer_find_special(t, id))
            continue;
        buf_base64(b, token_text(t, id), t->token[id].len);
        buf_printf(b, " %d\n", id);
    }
    return 0;
}
