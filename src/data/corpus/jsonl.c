#include "config.h"
#include "data/corpus/jsonl.h"

#include <string.h>

#include "common/format/json_scan.h"
#include "common/output/emit.h"
#include "data/corpus/chat.h"
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
    struct buf path = BUF_INIT;
    int ret;

    if (!row || !row->where)
        return json_scan_skip(s);
    buf_add(&path, key, key_len);
    ret = take_value(s, row, &path, 0);
    buf_clear(&path);
    return ret;
}

/* Read the members of the object.  *text stays NULL without the field. */
static int read_members(struct json_scan *s, const char *field, char kind,
                        struct where_row *row, char **text, size_t *len)
{
    const size_t field_len = strlen(field);
    char *wrong = NULL; /* the last field with this name, of another kind */
    int more;

    for (more = json_scan_enter(s, '{'); more; more = json_scan_next(s, '{')) {
        char *key;
        size_t key_len;

        if (more < 0 || json_scan_name(s, &key, &key_len) < 0)
            return -1;
        if (key_len != field_len || memcmp(key, field, key_len) != 0) {
            if (take_member(s, row, key, key_len) < 0)
                return -1;
            continue;
        }
        wrong = s->at == s->end || *s->at != kind ? s->at : NULL;
        if ((wrong         ? json_scan_skip(s)
             : kind == '"' ? json_scan_string(s, text, len)
                           : chat_scan(s, text, len)) < 0)
            return -1;
        if (!wrong && row && row->where)
            where_row_set(row, field, *text, *len);
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
        return err_set(e, ERR_INPUT, "column %zu: %s",
                       (size_t)(s.at - line) + 1, s.why);
    if (!*text)
        return err_set(e, ERR_INPUT, "no field \"%s\"", field);
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
