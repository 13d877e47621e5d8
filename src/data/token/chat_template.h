#pragma once

#include <stdbool.h>

#include "data/token/tokenizer.h"

/*
 * chat_template - a conversation as ids
 *
 *      if (chat_template_open(&c, tokenizer, CHAT_CHATML, e) < 0)
 *          return -1;
 *      chat_template_message(&c, enc, "user", "Hello!", 6, 0, &ids);
 *      chat_template_head(&c, enc, "assistant", &ids);
 *      the model continues until the id c.end
 *
 * Special tokens stand between messages.  They are never found within a
 * message: what looks like one there is encoded as ordinary text.
 */
enum chat_form { CHAT_NONE = -1, CHAT_CHATML, CHAT_LLAMA3, CHAT_GEMMA };

/* "chatml", "llama3", "gemma", in the order of the enum, ended by NULL. */
extern const char *const chat_forms[];

struct chat_template {
    const struct tokenizer *tokenizer;
    enum chat_form form;
    int32_t begin, start, head, end; /* or -1 */
};

/* Fails if a special token is missing. */
int chat_template_open(struct chat_template *, const struct tokenizer *,
                       enum chat_form, struct err *);
/* Open the first form whose special tokens the tokenizer has, if any. */
bool chat_template_find(struct chat_template *, const struct tokenizer *);
/* In the language of Hugging Face's templates.  The caller frees it. */
char *chat_template_jinja(const struct chat_template *);

/* What is before the first message. */
void chat_template_begin(const struct chat_template *, int32_t mark,
                         struct ids *);
/* Append what is before the content of a message.  These functions return the
 * number of characters without an id. */
size_t chat_template_head(const struct chat_template *, struct encoder *,
                          const char *role, struct ids *);
/* And what is after it. */
size_t chat_template_tail(const struct chat_template *, struct encoder *,
                          struct ids *);
/* Append a message, with `mark` set in the ids that an assistant does not
 * write. */
size_t chat_template_message(const struct chat_template *, struct encoder *,
                             const char *role, const char *text, size_t n,
                             int32_t mark, struct ids *);
