#include "config.h"
#include "data/token/chat_template.h"

#include <ctype.h>
#include <string.h>

#include "common/mem.h"
#include "data/token/bpe.h"

const char *const chat_forms[] = { [CHAT_CHATML] = "chatml",
                                   [CHAT_LLAMA3] = "llama3",
                                   [CHAT_GEMMA] = "gemma",
                                   NULL };

/* A message is START ROLE HEAD after_head CONTENT END after_end, where the
 * names in capitals are special tokens, or empty.  The templates of Qwen2.5,
 * of Llama 3 and of Gemma 2. */
static const struct {
    const char *begin, *start, *head, *after_head, *end, *after_end;
    const char *assistant; /* its role */
    bool trims;            /* white space around the content is removed */
} forms[] = {
    [CHAT_CHATML] = { "", "<|im_start|>", "", "\n", "<|im_end|>", "\n",
                      "assistant", false },
    [CHAT_LLAMA3] = { "<|begin_of_text|>", "<|start_header_id|>",
                      "<|end_header_id|>", "\n\n", "<|eot_id|>", "",
                      "assistant", true },
    [CHAT_GEMMA] = { "<bos>", "<start_of_turn>", "", "\n", "<end_of_turn>",
                     "\n", "model", true },
};

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
                       enum chat_form form, struct err *e)
{
    *c = (struct chat_template){ .tokenizer = t, .form = form };
    if (find_special(t, forms[form].begin, &c->begin, e) < 0 ||
        find_special(t, forms[form].start, &c->start, e) < 0 ||
        find_special(t, forms[form].head, &c->head, e) < 0 ||
        find_special(t, forms[form].end, &c->end, e) < 0)
        return err_wrap(e, "%s", chat_forms[form]);
    return 0;
}

bool chat_template_find(struct chat_template *c, const struct tokenizer *t)
{
    for (int form = 0; chat_forms[form]; form++)
        if (chat_template_open(c, t, (enum chat_form)form, ERR_IGNORED) == 0)
            return true;
    return false;
}

/* A string of the language may contain ends of lines. */
char *chat_template_jinja(const struct chat_template *c)
{
    const int32_t eot = tokenizer_eot(c->tokenizer);
    const char *start = forms[c->form].start, *head = forms[c->form].head;
    const char *name = forms[c->form].assistant;
    const char *after_head = forms[c->form].after_head;

    return xasprintf(
        "%s%s{%% for m in messages %%}{{ '%s' + ('%s' if m['role'] == "
        "'assistant' else m['role']) + '%s%s' + m['content']%s + '%s%s' }}"
        "{%% endfor %%}{%% if add_generation_prompt %%}{{ '%s%s%s%s' }}"
        "{%% endif %%}",
        eot < 0 ? "" : "{{ bos_token }}",
        c->begin == eot ? "" : forms[c->form].begin, start, name, head,
        after_head, forms[c->form].trims ? " | trim" : "", forms[c->form].end,
        forms[c->form].after_end, start, name, head, after_head);
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
    const char *after = forms[c->form].after_head;
    struct buf text = BUF_INIT;
    size_t left_out;

    add_id(ids, c->start);
    buf_str(&text, answers ? forms[c->form].assistant : role);
    if (c->head < 0)
        buf_str(&text, after);
    left_out = encoder_run(enc, text.s, text.len, ids);
    add_id(ids, c->head);
    if (c->head >= 0)
        left_out += encoder_run(enc, after, strlen(after), ids);
    buf_clear(&text);
    return left_out;
}

size_t chat_template_tail(const struct chat_template *c, struct encoder *enc,
                          struct ids *ids)
{
    const char *after = forms[c->form].after_end;

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
    for (; forms[c->form].trims && n > 0 && isspace((uint8_t)*text); n--)
        text++;
    while (forms[c->form].trims && n > 0 && isspace((uint8_t)text[n - 1]))
        n--;
    left_out += encoder_run(enc, text, n, ids);
    if (strcmp(role, "assistant") == 0)
        from = ids->n + 1; /* the end of the message is to be predicted */
    left_out += chat_template_tail(c, enc, ids);
    mark_from(ids, from, mark);
    return left_out;
}
