#include "config.h"
#include "data/corpus/chat.h"

#include <stdbool.h>
#include <string.h>

#include "common/format/json_scan.h"

struct text {
    char *s;
    size_t n;
};

static bool equals(const struct text *t, const char *word)
{
    return t->n == strlen(word) && memcmp(t->s, word, t->n) == 0;
}

static const char *find_role(const struct text *t)
{
    static const char *const roles[][2] = {
        { "system", "system" },       { "developer", "system" },
        { "user", "user" },           { "human", "user" },
        { "assistant", "assistant" }, { "gpt", "assistant" },
        { "model", "assistant" },     { "chatbot", "assistant" },
        { "tool", "tool" },           { "function", "tool" },
        { "observation", "tool" },
    };

    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (equals(t, roles[i][0]))
            return roles[i][1];
    return NULL;
}

static int read_message(struct json_scan *s, const char **role,
                        struct text *content)
{
    struct text named = { 0 };
    int more;

    *content = (struct text){ 0 };
    json_scan_blanks(s);
    for (more = json_scan_enter(s, '{'); more; more = json_scan_next(s, '{')) {
        struct text key, *to = NULL;

        if (more < 0 || json_scan_name(s, &key.s, &key.n) < 0)
            return -1;
        if (equals(&key, "role") || equals(&key, "from"))
            to = &named;
        else if (equals(&key, "content") || equals(&key, "value"))
            to = content;
        if ((to ? json_scan_string(s, &to->s, &to->n) : json_scan_skip(s)) < 0)
            return -1;
    }
    if (!named.s || !content->s)
        return json_scan_fail(s, "a message needs a role and a content");
    *role = find_role(&named);
    if (!*role)
        return json_scan_fail(s, "the role is not system, user, assistant or "
                                 "tool");
    if (memchr(content->s, '\0', content->n))
        return json_scan_fail(s, "a message has a NUL byte");
    return 0;
}

int chat_scan(struct json_scan *s, char **text, size_t *len)
{
    char *out = s->at; /* what is written is shorter than what was read */
    int more;

    *text = out;
    for (more = json_scan_enter(s, '['); more; more = json_scan_next(s, '[')) {
        struct text content;
        const char *role = NULL;

        if (more < 0 || read_message(s, &role, &content) < 0)
            return -1;
        memcpy(out, role, strlen(role) + 1);
        out += strlen(role) + 1;
        memmove(out, content.s, content.n);
        out += content.n;
        *out++ = '\0';
    }
    *len = (size_t)(out - *text);
    return *len > 0 ? 0 : json_scan_fail(s, "the conversation has no messages");
}
