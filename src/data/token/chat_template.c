/*
 * chat_template - a conversation as ids
 *
 * A template in a file is a program in Jinja.  A plain loop over messages is
 * read here, in one expression or several, and no other program:
 *
 *      {{ bos_token }}{% for m in messages %}{{ '<|im_start|>' + m['role'] +
 *      '\n' + m['content'] + '<|im_end|>\n' }}{% endfor %}
 *      {% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}
 */
#include "config.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
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

static bool ends(const struct buf *b, const char *end)
{
    const size_t n = strlen(end);

    return b->len >= n && memcmp(b->s + b->len - n, end, n) == 0;
}

/*
 * Copy a program in Jinja with \1 for quotation marks, without white space in
 * tags and the end of a line after a statement, as Hugging Face does, and with
 * strings that are printed one after another as one string.
 */
static void normalise(struct buf *b, const char *p)
{
    char quote = '\0'; /* of the string */
    bool tag = false;

    for (; *p; p++) {
        if (tag && (quote ? *p == quote : *p == '\'' || *p == '"')) {
            quote = quote ? '\0' : *p;
            if (quote && ends(b, "\1+"))
                buf_trim(b, b->len - 2);
            else
                buf_char(b, '\1');
        } else if (quote && *p == '\\' && p[1]) {
            buf_char(b, *++p == 'n' ? '\n' : *p);
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

static int read_loop(struct chat_template *c, const char *p, struct err *e)
{
    struct chat_words *w = &c->words;
    const char *begin = cut(&c->mem, &p, "{%for"), *start = NULL;
    const char *item = begin ? cut(&c->mem, &p, "inmessages%}{{\1") : NULL;

    if (item)
        start =
            cut(&c->mem, &p, arena_printf(&c->mem, "\1+%s[\1role\1]+\1", item));
    if (start)
        w->after_head =
            cut(&c->mem, &p, arena_printf(&c->mem, "\1+%s[\1content\1]", item));
    if (w->after_head) {
        w->trims = strncmp(p, "|trim", 5) == 0;
        p += w->trims ? 5 : 0;
        w->after_end = cut(&c->mem, &p, "\1}}{%endfor%}");
    }
    if (!w->after_end || strncmp(w->after_end, "+\1", 2) != 0 ||
        strchr(w->after_end + 2, '\1') || strchr(w->after_head, '\1') ||
        (*begin && strcmp(begin, "{{bos_token}}") != 0) ||
        (*p && strcmp(p, arena_printf(&c->mem,
                                      "{%%ifadd_generation_prompt%%}{{\1%s"
                                      "assistant%s\1}}{%%endif%%}",
                                      start, w->after_head)) != 0))
        return err_set(e, ERR_INPUT,
                       "its chat_template is no plain loop over messages");
    w->after_end += 2;
    w->start = split(c, &start);
    w->head = split(c, &w->after_head);
    w->end = split(c, &w->after_end);
    return *start || !*w->start || !*w->end
               ? err_set(e, ERR_INPUT,
                         "its messages do not begin and end with a special "
                         "token of the tokenizer")
               : 0;
}

static int read_file(struct chat_template *c, const char *path, struct err *e)
{
    AUTO(buf_clear) struct buf file = BUF_INIT, plain = BUF_INIT;
    json_t *o = NULL, *bos;
    int ret = buf_read_file(&file, path, 1 << 20, e);

    if (ret == 0) {
        o = json_loadb(file.s, file.len, 0, NULL);
        bos = json_object_get(o, "bos_token");
        bos = json_is_object(bos) ? json_object_get(bos, "content") : bos;
        c->words.assistant = "assistant";
        normalise(&plain, str_or_empty(json_string_value(
                              json_object_get(o, "chat_template"))));
        ret = read_loop(c, plain.s, e);
        c->words.begin = "";
        if (ret == 0 && plain.s[1] == '{' && json_string_value(bos))
            c->words.begin = arena_strdup(&c->mem, json_string_value(bos));
    }
    json_decref(o);
    return ret;
}

/* ---- templates ---------------------------------------------------------- */

static int find_special(const struct tokenizer *t, const char *name,
                        int32_t *id, struct err *e)
{
    *id = *name ? tokenizer_special_id(t, name) : -1;
    return *name && *id < 0
               ? err_set(e, ERR_USAGE,
                         "the tokenizer has no special token %s; 'gdata vocab "
                         "--add' adds it",
                         name)
               : 0;
}

int chat_template_open(struct chat_template *c, const struct tokenizer *t,
                       const char *name, struct err *e)
{
    *c = (struct chat_template){ .tokenizer = t };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++)
        if (strcmp(forms[i].name, name) == 0)
            c->words = forms[i].words;
    if (!c->words.start && read_file(c, name, e) < 0) {
        chat_template_clear(c);
        return err_wrap(e, "--chat=%s is not chatml, llama3 or gemma", name);
    }
    if (find_special(t, c->words.begin, &c->begin, e) < 0 ||
        find_special(t, c->words.start, &c->start, e) < 0 ||
        find_special(t, c->words.head, &c->head, e) < 0 ||
        find_special(t, c->words.end, &c->end, e) < 0) {
        chat_template_clear(c);
        return err_wrap(e, "%s", name);
    }
    return 0;
}

void chat_template_clear(struct chat_template *c)
{
    arena_clear(&c->mem);
}

bool chat_template_find(struct chat_template *c, const struct tokenizer *t)
{
    for (size_t i = 0; t && i < sizeof forms / sizeof forms[0]; i++)
        if (chat_template_open(c, t, forms[i].name, ERR_IGNORED) == 0)
            return true;
    return false;
}

/* A string of the language may contain ends of lines. */
char *chat_template_jinja(const struct chat_template *c)
{
    const int32_t eot = tokenizer_eot(c->tokenizer);
    const struct chat_words *w = &c->words;
    const char *role = strcmp(w->assistant, "model") == 0
                           ? "('model' if m['role'] == 'assistant' else "
                             "m['role'])"
                           : "m['role']";

    return xasprintf(
        "%s%s{%% for m in messages %%}{{ '%s' + %s + '%s%s' + m['content']%s "
        "+ '%s%s' }}{%% endfor %%}{%% if add_generation_prompt %%}"
        "{{ '%s%s%s%s' }}{%% endif %%}",
        eot < 0 ? "" : "{{ bos_token }}", c->begin == eot ? "" : w->begin,
        w->start, role, w->head, w->after_head, w->trims ? " | trim" : "",
        w->end, w->after_end, w->start, w->assistant, w->head, w->after_head);
}

static void add_id(struct ids *ids, int32_t id)
{
    if (id >= 0)
        ids_add(ids, id);
}

static void mark_from(struct ids *ids, size_t from, int32_t mark)
{
    for (size_t i = from; i < ids->n; i++)
        ids->id[i] |= mark;
}

void chat_template_begin(const struct chat_template *c, int32_t mark,
                         struct ids *ids)
{
    const size_t from = ids->n;

    if (c->begin != tokenizer_eot(c->tokenizer))
        add_id(ids, c->begin);
    mark_from(ids, from, mark);
}

size_t chat_template_head(const struct chat_template *c, struct encoder *enc,
                          const char *role, struct ids *ids)
{
    const bool answers = strcmp(role, "assistant") == 0;
    const char *after = c->words.after_head;
    AUTO(buf_clear) struct buf text = BUF_INIT;
    size_t left_out;

    add_id(ids, c->start);
    buf_str(&text, answers ? c->words.assistant : role);
    if (c->head < 0)
        buf_str(&text, after);
    left_out = encoder_run(enc, text.s, text.len, ids);
    add_id(ids, c->head);
    if (c->head >= 0)
        left_out += encoder_run(enc, after, strlen(after), ids);
    return left_out;
}

size_t chat_template_tail(const struct chat_template *c, struct encoder *enc,
                          struct ids *ids)
{
    const char *after = c->words.after_end;

    add_id(ids, c->end);
    return encoder_run(enc, after, strlen(after), ids);
}

size_t chat_template_message(const struct chat_template *c, struct encoder *enc,
                             const char *role, const char *text, size_t n,
                             int32_t mark, struct ids *ids)
{
    size_t from = ids->n, left_out = chat_template_head(c, enc, role, ids);

    mark_from(ids, from, mark);
    from = ids->n;
    if (c->words.trims)
        str_trim(&text, &n);
    left_out += encoder_run(enc, text, n, ids);
    if (strcmp(role, "assistant") == 0)
        from = ids->n + 1; /* the end of the message is to be predicted */
    left_out += chat_template_tail(c, enc, ids);
    mark_from(ids, from, mark);
    return left_out;
}
