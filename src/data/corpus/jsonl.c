#include "config.h"
#include "data/corpus/jsonl.h"

#include <string.h>

#include "common/format/json_scan.h"
#include "common/output/emit.h"

/* Read the members of the object.  *text stays NULL without the field. */
static int read_members(struct json_scan *s, const char *field, char **text,
                        size_t *len)
{
    const size_t field_len = strlen(field);
    char *wrong = NULL; /* where the last field with this name is no string */
    int more;

    for (more = json_scan_enter(s, '{'); more; more = json_scan_next(s, '{')) {
        char *key;
        size_t key_len;

        if (more < 0 || json_scan_name(s, &key, &key_len) < 0)
            return -1;
        if (key_len != field_len || memcmp(key, field, key_len) != 0) {
            if (json_scan_skip(s) < 0)
                return -1;
            continue;
        }
        wrong = s->at == s->end || *s->at != '"' ? s->at : NULL;
        if ((wrong ? json_scan_skip(s) : json_scan_string(s, text, len)) < 0)
            return -1;
    }
    json_scan_blanks(s);
    if (s->at != s->end)
        return json_scan_fail(s, "there is something after the object");
    if (!wrong)
        return 0;
    s->at = wrong;
    return json_scan_fail(s, "the field is not a string");
}

int jsonl_field(char *line, size_t n, const char *field, char **text,
                size_t *len, struct err *e)
{
    struct json_scan s = { .at = line, .end = line + n };

    if (n >= 3 && memcmp(line, "\xEF\xBB\xBF", 3) == 0)
        s.at += 3; /* a byte order mark */
    json_scan_blanks(&s);
    if (s.at == s.end)
        return 0;
    *text = NULL;
    if (read_members(&s, field, text, len) < 0)
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
