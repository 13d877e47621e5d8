/*
 * chat_template - a conversation as ids
 *
 * A template in a file is a program in Jinja.  A plain loop over messages is
 * read here, in one expression or several, and no other program:
 *
 *      {{ bos_token }}{% for m in messages %}{{ '<|im_start|>' + m['role'] +
 *      '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}
 *      {% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}
 *
 * chat_template_jinja() prints such a loop, on one line.
 */
#include "config.h"

#include <ctype.h>
#include <jansson.h>
#include <string.h>

#include "common/buf.h"
#include "common/mem.h"
#include "data/token/bpe.h"

/* The templates of Qwen2.5, of Llama 3 and of Gemma 2. */
static const struct {
    const char *name;
    struct chat_words words;
} forms[] = {
    { "chatml",
      { "", "<|im_start|>", "", "\n", "<|im_end|>", "\n", "assistant",
        false } },
    { "llama3",
      { "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "\n\n",
        "<|eot_id|>", "", "assistant", true } },
    { "gemma",
      { "<bos>", "<start_of_turn>", "", "\n", "<end_of_turn>", "\n", "model",
        true } },
};

/* ---- templates in files ------------------------------------------------- */

/* Characters of strings, and what stands for them after a backslash. */
static const char plain[] = "\n\t\r'\"\\", escaped[] = "ntr'\"\\";

static bool ends(const struct buf *b, const char *end)
{
    const size_t n = strlen(end);

    return b->len >= n && memcmp(b->s + b->len - n, end, n) == 0;
}

/*
 * Copy a program in Jinja, or of print_loop(), with \1 for quotation marks and
 * unknown escapes, without white space in tags and the end of a line after a
 * statement, as Hugging Face does, and with strings that are printed one after
 * another as one string.
 */
static void normalise(struct buf *b, const char *p)
{
    char quote = '\0'; /* of the string */
    bool tag = false;

    for (; *p; p++) {
        if (tag && (quote ? *p == quote : strchr("'\"\1", *p) != NULL)) {
            quote = quote ? '\0' : *p;
            if (quote && ends(b, "\1+"))
                buf_trim(b, b->len - 2);
            else
                buf_char(b, '\1');
        } else if (quote > '\1' && *p == '\\' && p[1]) {
            const char *at = strchr(escaped, *++p);

            buf_char(b, at ? plain[at - escaped] : '\1');
        } else if (quote || !tag || !isspace((unsigned char)*p)) {
            buf_char(b, *p);
        }
        if (quote)
            continue;
        tag = tag ? !ends(b, "}}") && !ends(b, "%}")
                  : ends(b, "{{") || ends(b, "{%");
        if (ends(b, "}}{{")) {
            buf_trim(b, b->len - 4);
            buf_char(b, '+');
        }
        if (ends(b, "%}") && p[1] == '\n')
            p++;
    }
}

/* The text up to a mark, behind which *p is then; NULL if there is no mark. */
static char *cut(struct arena *mem, const char **p, const char *mark)
{
    const char *start = *p, *end = strstr(start, mark);

    if (end)
        *p = end + strlen(mark);
    return end ? arena_strndup(mem, start, (size_t)(end - start)) : NULL;
}

/* Divide a text into the special token that it begins with and the rest. */
static const char *split(struct chat_template *c, const char **text)
{
    AUTO_FREE struct boundary_word *special = NULL;
    size_t n = tokenizer_specials(c->tokenizer, ENCODER_SPECIAL, &special);
    size_t len = 0;
    const char *begin = *text;

    while (n-- > 0)
        if (special[n].len > len &&
            strncmp(begin, special[n].text, special[n].len) == 0)
            len = special[n].len;
    *text = begin + len;
    return arena_strndup(&c->mem, begin, len);
}

/* The loop over messages that has these words, with \1 for quotation marks. */
static const char *print_loop(struct arena *mem, const struct chat_words *w,
                              const char *item, bool bos)
{
    const char *role = arena_printf(mem, "%s[\1role\1]", item);
    const char *begin =
        *w->begin ? arena_printf(mem, "{{ \1%s\1 }}", w->begin) : "";

    if (strcmp(w->assistant, "assistant") != 0)
        role = arena_printf(mem, "(\1%s\1 if %s == \1assistant\1 else %s)",
                            w->assistant, role, role);
    return arena_printf(
        mem,
        "%s%s{%% for %s in messages %%}{{ \1%s\1 + %s + \1%s%s\1 + "
        "%s[\1content\1]%s + \1%s%s\1 }}{%% endfor %%}"
        "{%% if add_generation_prompt %%}{{ \1%s%s%s%s\1 }}{%% endif %%}",
        bos ? "{{ bos_token }}" : "", begin, item, w->start, role, w->head,
        w->after_head, item, w->trims ? " | trim" : "", w->end, w->after_end,
        w->start, w->assistant, w->head, w->after_head);
}

/* Find the words of a program: it is a loop if one with them is the same, which
 * may have more, the beginning of an answer. */
static bool read_loop(struct chat_template *c, const char *program,
                      const char *bos)
{
    static const char *const mark[] = {
        "{%for", "inmessages%}{{\1", "\1+", "+\1", "\1+", "+\1", "\1}}"
    };
    struct chat_words *w = &c->words;
    AUTO(buf_clear) struct buf same = BUF_INIT;
    const char *part[7], *p = program;
    bool has_bos;

    for (int i = 0; i < 7; i++)
        if (!(part[i] = cut(&c->mem, &p, mark[i])) ||
            (i > 0 && i % 2 == 0 && strchr(part[i], '\1')))
            return false;
    has_bos = strstr(part[0], "bos_token");
    *w = forms[0].words;
    if (cut(&c->mem, &part[0], "\1"))
        w->begin = str_or_empty(cut(&c->mem, &part[0], "\1"));
    if (cut(&c->mem, &part[3], "(\1"))
        w->assistant = str_or_empty(cut(&c->mem, &part[3], "\1"));
    w->start = part[2];
    w->after_head = part[4];
    w->trims = str_ends(part[5], "|trim");
    w->after_end = part[6];
    w->head = w->end = "";
    normalise(&same, print_loop(&c->mem, w, part[1], has_bos));
    if (has_bos && !*w->begin)
        w->begin = bos;
    else if (has_bos && *bos && /* which all documents begin with */
             tokenizer_special_id(c->tokenizer, bos) !=
                 tokenizer_eot(c->tokenizer))
        return false;
    return strcmp(same.s, program) == 0 ||
           (strcmp(p, "{%endfor%}") == 0 &&
            strncmp(same.s, program, strlen(program)) == 0);
}

static int read_text(struct chat_template *c, const char *text, const char *bos,
                     struct err *e)
{
    struct chat_words *w = &c->words;
    AUTO(buf_clear) struct buf program = BUF_INIT;
    const char *rest;

    normalise(&program, text);
    if (strchr(text, '\1') || !read_loop(c, program.s, bos))
        return err_input(e, "its chat_template is no plain loop over messages");
    rest = w->start;
    w->start = split(c, &rest);
    w->head = split(c, &w->after_head);
    w->end = split(c, &w->after_end);
    return *rest || !*w->start || !*w->end
               ? err_input(e,
                           "its messages do not begin and end with a special "
                           "token of the tokenizer")
               : 0;
}

static int read_file(struct chat_template *c, const char *path, struct err *e)
{
    AUTO(buf_clear) struct buf file = BUF_INIT;
    json_auto_t *o = NULL;
    const char *text = "", *bos = "";

    if (buf_read_file(&file, path, 1 << 20, e) < 0)
        return -1;
    o = json_loadb(file.s, file.len, 0, NULL);
    json_unpack(o, "{s:s}", "chat_template", &text);
    if (json_unpack(o, "{s:s}", "bos_token", &bos) < 0)
        json_unpack(o, "{s:{s:s}}", "bos_token", "content", &bos);
    return read_text(c, text, arena_strdup(&c->mem, bos), e);
}

/* ---- templates ---------------------------------------------------------- */

int chat_template_open(struct chat_template *c, const struct tokenizer *t,
                       const char *name, struct err *e)
{
    const struct chat_words *w = &c->words;
    const bool is_text = strstr(name, "{%");
    int32_t *const id[] = { &c->begin, &c->start, &c->head, &c->end };
    int ret = 0;

    *c = (struct chat_template){ .tokenizer = t };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(forms[i].name, name) == 0)
            c->words = forms[i].words;
    if (is_text)
        ret = read_text(c, name, "", e);
    else if (!w->start && read_file(c, name, e) < 0)
        ret = err_wrap(e, "--chat=%s is not chatml, llama3 or gemma", name);
    for (int i = 0; i < 4 && ret == 0; i++) {
        const char *const word[] = { w->begin, w->start, w->head, w->end };

        *id[i] = *word[i] ? tokenizer_special_id(t, word[i]) : -1;
        if (*word[i] && *id[i] < 0)
            ret = err_usage(e,
                            "%s: the tokenizer has no special token %s; 'gdata "
                            "vocab --add' adds it",
                            is_text ? "chat_template" : name, word[i]);
    }
    if (ret == 0 && c->begin == tokenizer_eot(t)) /* all documents have it */
        c->words.begin = "", c->begin = -1;
    if (ret < 0)
        chat_template_clear(c);
    return ret;
}

void chat_template_clear(struct chat_template *c)
{
    arena_clear(&c->mem);
    *c = (struct chat_template){ 0 };
}

bool chat_template_find(struct chat_template *c, const struct tokenizer *t)
{
    for (size_t i = 0; t && i < sizeof forms / sizeof forms[0]; i++)
        if (chat_template_open(c, t, forms[i].name, ERR_IGNORED) == 0)
            return true;
    return false;
}

char *chat_template_jinja(const struct chat_template *c)
{
    AUTO(arena_clear) struct arena mem = { 0 };
    const char *p =
        print_loop(&mem, &c->words, "m", tokenizer_eot(c->tokenizer) >= 0);
    struct buf b = BUF_INIT;

    for (bool quote = false; *p; quote = quote != (*p++ == '\1')) {
        const char *at = quote ? strchr(plain, *p) : NULL;

        buf_str(&b, at ? "\\" : "");
        buf_char(&b, at ? escaped[at - plain] : *p == '\1' ? '\'' : *p);
    }
    return buf_detach(&b);
}

void chat_template_begin(const struct chat_template *c, int32_t mark,
                         struct ids *ids)
{
    if (c->begin >= 0)
        ids_add(ids, c->begin | mark);
}

size_t chat_template_head(const struct chat_template *c, struct encoder *enc,
                          const char *role, struct ids *ids)
{
    const char *after = c->words.after_head;
    AUTO(buf_clear) struct buf text = BUF_INIT;
    size_t left_out;

    ids_add(ids, c->start);
    buf_str(&text, strcmp(role, "assistant") == 0 ? c->words.assistant : role);
    if (c->head < 0)
        buf_str(&text, after);
    left_out = encoder_run(enc, text.s, text.len, ids);
    if (c->head >= 0) {
        ids_add(ids, c->head);
        left_out += encoder_run(enc, after, strlen(after), ids);
    }
    return left_out;
}

size_t chat_template_tail(const struct chat_template *c, struct encoder *enc,
                          struct ids *ids)
{
    const char *after = c->words.after_end;

    ids_add(ids, c->end);
    return encoder_run(enc, after, strlen(after), ids);
}

size_t chat_template_message(const struct chat_template *c, struct encoder *enc,
                             const char *role, const char *text, size_t n,
                             int32_t mark, struct ids *ids)
{
    const bool answers = strcmp(role, "assistant") == 0;
    const size_t from = ids->n;
    size_t left_out = chat_template_head(c, enc, role, ids), content = ids->n;

    if (c->words.trims)
        str_trim(&text, &n);
    left_out += encoder_run(enc, text, n, ids);
    n = ids->n;
    left_out += chat_template_tail(c, enc, ids);
    for (size_t i = from; i < ids->n; i++) /* the end token is predicted, too */
        ids->id[i] |= answers && i >= content && i <= n ? 0 : mark;
    return left_out;
}
