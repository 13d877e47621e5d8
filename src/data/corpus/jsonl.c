#include "config.h"
#include "data/corpus/jsonl.h"

#include <limits.h>
#include <string.h>

#include "common/format/json_scan.h"
#include "common/mem.h"
#include "common/output/emit.h"
#include "data/corpus/where.h"

enum { DEPTH = 16 }; /* of fields within fields */

static int take_value(struct json_scan *s, struct where_row *row,
                      struct buf *path, int depth);

/* Set the fields of an object whose path is known. */
static int take_object(struct json_scan *s, struct where_row *row,
                       struct buf *path, int depth)
{
    const size_t len = path->len;
    int more;

    for (more = json_scan_enter(s, '{'); more; more = json_scan_next(s, '{')) {
        char *key;
        size_t key_len;

        if (more < 0 || json_scan_name(s, &key, &key_len) < 0)
            return -1;
        buf_trim(path, len);
        buf_char(path, '.');
        buf_add(path, key, key_len);
        if (take_value(s, row, path, depth + 1) < 0)
            return -1;
    }
    return 0;
}

/* Set the field of this path, or those within it, and go on to its end. */
static int take_value(struct json_scan *s, struct where_row *row,
                      struct buf *path, int depth)
{
    const bool named = where_names(row->where, path->s);
    char *begin, *text;
    size_t len;

    json_scan_blanks(s);
    begin = s->at;
    if (s->at < s->end && *s->at == '{' && depth < DEPTH && !named &&
        where_names_within(row->where, path->s))
        return take_object(s, row, path, depth);
    if (!named || s->at == s->end)
        return json_scan_skip(s);
    if (*s->at == '"') {
        if (json_scan_string(s, &text, &len) < 0)
            return -1;
        where_row_set(row, path->s, text, len);
        return 0;
    }
    if (json_scan_skip(s) < 0)
        return -1;
    len = (size_t)(s->at - begin);
    if (len != 4 || memcmp(begin, "null", len) != 0)
        where_row_set(row, path->s, begin, len);
    return 0;
}

/* A member of the line that is not its text. */
static int take_member(struct json_scan *s, struct where_row *row,
                       const char *key, size_t key_len)
{
    AUTO(buf_clear) struct buf path = BUF_INIT;

    if (!row || !row->where)
        return json_scan_skip(s);
    buf_add(&path, key, key_len);
    return take_value(s, row, &path, 0);
}

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

/* Replace the messages by their text. */
static int read_chat(struct json_scan *s, char **text, size_t *len)
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

/* The place of a name among the names of the field, or INT_MAX. */
static int find_name(const char *field, const char *key, size_t key_len)
{
    for (int i = 0;; i++) {
        const size_t n = strcspn(field, "|");

        if (n == key_len && memcmp(field, key, n) == 0)
            return i;
        if (!field[n])
            return INT_MAX;
        field += n + 1;
    }
}

/* Read the members of the object.  *text stays NULL without the field. */
static int read_members(struct json_scan *s, const char *field, char kind,
                        struct where_row *row, char **text, size_t *len)
{
    char *wrong = NULL; /* the last field with this name, of another kind */
    int more, best = INT_MAX - 1;

    for (more = json_scan_enter(s, '{'); more; more = json_scan_next(s, '{')) {
        char *key;
        size_t key_len;
        int place;

        if (more < 0 || json_scan_name(s, &key, &key_len) < 0)
            return -1;
        place = find_name(field, key, key_len);
        if (place > best) {
            if (take_member(s, row, key, key_len) < 0)
                return -1;
            continue;
        }
        best = place;
        key[key_len] = '\0'; /* the quotation mark, or what it ended */
        wrong = s->at == s->end || *s->at != kind ? s->at : NULL;
        if ((wrong         ? json_scan_skip(s)
             : kind == '"' ? json_scan_string(s, text, len)
                           : read_chat(s, text, len)) < 0)
            return -1;
        if (!wrong && row && row->where)
            where_row_set(row, key, *text, *len);
    }
    json_scan_blanks(s);
    if (s->at != s->end)
        return json_scan_fail(s, "there is something after the object");
    if (!wrong)
        return 0;
    s->at = wrong;
    return json_scan_fail(s, kind == '"' ? "the field is not a string"
                                         : "the field is not an array");
}

int jsonl_row(char *line, size_t n, const char *field, char kind,
              struct where_row *row, char **text, size_t *len, struct err *e)
{
    struct json_scan s = { .at = line, .end = line + n };

    if (n >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0)
        s.at += 3; /* a byte order mark */
    json_scan_blanks(&s);
    if (s.at == s.end)
        return 0;
    *text = NULL;
    if (read_members(&s, field, kind, row, text, len) < 0)
        return err_input(e, "column %zu: %s", (size_t)(s.at - line) + 1, s.why);
    if (!*text)
        return err_input(e, "no field \"%s\"", field);
    return 1;
}

void jsonl_write(struct buf *b, const char *text, size_t n)
{
    struct emit o = { .b = b };

    emit_object(&o, NULL);
    emit_bytes(&o, "text", text, n);
    emit_object_end(&o);
    emit_newline(&o);
}

void jsonl_replace(struct buf *b, const char *line, size_t n, const char *field,
                   const char *text, size_t len)
{
    AUTO_FREE char *copy = xmalloc(n);
    struct json_scan rest = { .end = copy + n };
    char *old = copy;
    size_t old_len, begin, end;

    memcpy(copy, line, n);
    jsonl_row(copy, n, field, '"', NULL, &old, &old_len, ERR_IGNORED);
    begin = (size_t)(old - copy) - 1; /* the quotation marks around it */
    rest.at = copy + begin;
    memcpy(rest.at, line + begin, n - begin); /* escaped again */
    json_scan_skip(&rest);
    end = (size_t)(rest.at - copy);
    buf_add(b, line, begin);
    emit_quote(b, text, len, false);
    buf_add(b, line + end, n - end);
    buf_char(b, '\n');
}
