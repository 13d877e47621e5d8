#include "config.h"
#include "common/format/yaml.h"

#include <string.h>
#include <yaml.h>

#include "common/num.h"
#include "common/opt.h"
#include "common/utf8.h"

/* No file of a store comes near these.  libyaml takes time quadratic in the
 * depth: 23 s for 40 kB of '['. */
enum { DEPTH_MAX = 16, EVENTS_MAX = 100000 };

struct reader {
    yaml_parser_t parser;
    int depth, events;
    struct arena *mem;
    struct yaml_pair *pair;
    size_t n;
    bool deep; /* read what is inside lists and inner mappings */
    struct err *e;
};

/* The name of an entry of a mapping. */
static const char *join(struct reader *r, const char *prefix, const char *key)
{
    return *prefix ? arena_printf(r->mem, "%s.%s", prefix, key) : key;
}

static void add_pair(struct reader *r, const char *prefix, const char *key,
                     const char *value, bool plain)
{
    r->pair = arena_grow(r->mem, r->pair, r->n, sizeof *r->pair);
    r->pair[r->n++] = (struct yaml_pair){ join(r, prefix, key), value, plain };
}

static int no_memory(struct err *e)
{
    return err_set(e, ERR_SYSTEM, "out of memory for the YAML parser");
}

static int next_event(struct reader *r, yaml_event_t *event)
{
    if (!yaml_parser_parse(&r->parser, event))
        return r->parser.error == YAML_MEMORY_ERROR
                   ? no_memory(r->e)
                   : err_input(
                         r->e, "line %zu: %s", r->parser.problem_mark.line + 1,
                         r->parser.problem ? r->parser.problem : "not YAML");
    r->depth += event->type == YAML_SEQUENCE_START_EVENT ||
                event->type == YAML_MAPPING_START_EVENT;
    r->depth -= event->type == YAML_SEQUENCE_END_EVENT ||
                event->type == YAML_MAPPING_END_EVENT;
    if (r->depth <= DEPTH_MAX && ++r->events <= EVENTS_MAX)
        return 0;
    yaml_event_delete(event);
    return err_input(r->e, "line %zu: %s", r->parser.mark.line + 1,
                     r->depth > DEPTH_MAX ? "nested more than 16 levels deep"
                                          : "more than 100,000 values");
}

/* Does a plain scalar stand for nothing? */
static bool is_null(const char *s)
{
    static const char *const words[] = {
        "", "~", "null", "Null", "NULL", NULL
    };

    return opt_find_word(words, s) >= 0;
}

static const char *text_of(struct reader *r, const yaml_event_t *event)
{
    return arena_strndup(r->mem, (const char *)event->data.scalar.value,
                         event->data.scalar.length);
}

static bool is_plain(const yaml_event_t *event)
{
    return event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
}

/* Skip a list or a mapping whose start was read. */
static int pass(struct reader *r)
{
    for (const int outside = r->depth - 1; r->depth > outside;) {
        yaml_event_t event;

        if (next_event(r, &event) < 0)
            return -1;
        yaml_event_delete(&event);
    }
    return 0;
}

static int read_map(struct reader *r, const char *prefix);

static int read_list(struct reader *r, const char *prefix, const char *key);

static int read_event(struct reader *r, yaml_event_t *event, const char *prefix,
                      const char *key)
{
    const yaml_event_type_t type = event->type;
    int ret = 0;

    if (type == YAML_SCALAR_EVENT) {
        const char *text = text_of(r, event);

        if (is_plain(event) && is_null(text))
            text = NULL;
        add_pair(r, prefix, key, text, is_plain(event));
    }
    yaml_event_delete(event);
    switch (type) {
    case YAML_SCALAR_EVENT:
        break;
    case YAML_SEQUENCE_START_EVENT:
        add_pair(r, prefix, key, "[]", true);
        ret = r->deep ? read_list(r, prefix, key) : pass(r);
        break;
    case YAML_MAPPING_START_EVENT:
        if (r->deep)
            add_pair(r, prefix, key, "{}", true);
        ret = *prefix && !r->deep ? pass(r) : read_map(r, join(r, prefix, key));
        break;
    case YAML_ALIAS_EVENT:
        ret =
            err_input(r->e,
                      "line %zu: the value of %s is an alias (*name), which is "
                      "not supported; write the value here, too",
                      r->parser.mark.line + 1, key);
        break;
    default:
        ret = err_input(r->e, "line %zu: %s has no value",
                        r->parser.mark.line + 1, key);
        break;
    }
    return ret;
}

static int read_list(struct reader *r, const char *prefix, const char *key)
{
    for (int i = 0;; i++) {
        yaml_event_t event;

        if (next_event(r, &event) < 0)
            return -1;
        if (event.type == YAML_SEQUENCE_END_EVENT) {
            yaml_event_delete(&event);
            return 0;
        }
        if (read_event(r, &event, prefix,
                       arena_printf(r->mem, "%s[%d]", key, i)) < 0)
            return -1;
    }
}

static int read_map(struct reader *r, const char *prefix)
{
    for (;;) {
        yaml_event_t event;
        const char *key = NULL;
        yaml_event_type_t type;

        if (next_event(r, &event) < 0)
            return -1;
        type = event.type;
        if (type == YAML_SCALAR_EVENT)
            key = text_of(r, &event);
        yaml_event_delete(&event);
        if (type == YAML_MAPPING_END_EVENT)
            return 0;
        if (!key)
            return err_input(r->e, "line %zu: a key is expected",
                             r->parser.mark.line + 1);
        if (next_event(r, &event) < 0 || read_event(r, &event, prefix, key) < 0)
            return -1;
    }
}

static int read_document(struct reader *r)
{
    yaml_event_t event;
    yaml_event_type_t type;

    do {
        if (next_event(r, &event) < 0)
            return -1;
        type = event.type;
        yaml_event_delete(&event);
    } while (type == YAML_STREAM_START_EVENT ||
             type == YAML_DOCUMENT_START_EVENT);
    if (type == YAML_STREAM_END_EVENT)
        return err_input(r->e, "the file is empty");
    if (type != YAML_MAPPING_START_EVENT)
        return err_input(r->e, "not a mapping of keys to values");
    return read_map(r, "");
}

int yaml_parse(struct yaml *y, struct arena *mem, const char *text, size_t n,
               bool deep, struct err *e)
{
    struct reader r = { .mem = mem, .deep = deep, .e = e };
    int ret;

    *y = (struct yaml){ NULL, 0 };
    if (!yaml_parser_initialize(&r.parser))
        return no_memory(e);
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, n);
    ret = read_document(&r);
    yaml_parser_delete(&r.parser);
    if (ret == 0)
        *y = (struct yaml){ r.pair, r.n };
    return ret;
}

int yaml_load(struct yaml *y, struct arena *mem, const char *path,
              enum path_links links, bool deep, struct err *e)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;

    if (buf_read_open(&text, path_open(path, links, e), path, YAML_MAX, e) < 0)
        return -1;
    return yaml_parse(y, mem, text.s, text.len, deep, e) < 0
               ? err_wrap(e, "%s", path)
               : 0;
}

const struct yaml_pair *yaml_find(const struct yaml *y, const char *key)
{
    for (size_t i = y->n; i-- > 0;)
        if (strcmp(y->pair[i].key, key) == 0)
            return &y->pair[i];
    return NULL;
}

const char *yaml_get(const struct yaml *y, const char *key)
{
    const struct yaml_pair *p = yaml_find(y, key);

    return p ? p->value : NULL;
}

bool yaml_int(const struct yaml *y, const char *key, int64_t *out)
{
    const char *s = yaml_get(y, key);

    return s && s[strspn(s, "+-0123456789")] == '\0' && num_int(s, out);
}

/* Characters that YAML allows unescaped inside double quotes. */
static bool is_printable(int32_t c)
{
    return c >= 0x20 && !(c >= 0x7f && c <= 0x9f) && c != '"' && c != '\\' &&
           c != 0xfeff && c != 0xfffe && c != 0xffff && c != 0x2028 &&
           c != 0x2029;
}

static void put_quoted(struct buf *b, const char *s)
{
    buf_char(b, '"');
    while (*s) {
        const char *const from = s;
        const int32_t c = utf8_next(&s);

        if (c < 0)
            buf_str(b, "\xef\xbf\xbd");
        else if (is_printable(c))
            buf_add(b, from, (size_t)(s - from));
        else if (c == '"' || c == '\\')
            buf_printf(b, "\\%c", (char)c);
        else if (c == '\n')
            buf_str(b, "\\n");
        else if (c == '\t')
            buf_str(b, "\\t");
        else if (c < 0x100)
            buf_printf(b, "\\x%02x", (unsigned)c);
        else
            buf_printf(b, "\\u%04x", (unsigned)c);
    }
    buf_char(b, '"');
}

/* A name of letters only needs no quotes, as all of MLflow's. */
static void put_key(struct buf *b, const char *key)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

    if (*key && key[strspn(key, letters)] == '\0')
        buf_str(b, key);
    else
        put_quoted(b, key);
    buf_str(b, ": ");
}

void yaml_put(struct buf *b, const char *key, const char *value)
{
    put_key(b, key);
    if (value)
        put_quoted(b, value);
    else
        buf_str(b, "null");
    buf_char(b, '\n');
}

void yaml_put_int(struct buf *b, const char *key, int64_t value)
{
    put_key(b, key);
    buf_printf(b, "%lld\n", (long long)value);
}

void yaml_put_list(struct buf *b, const char *key, const char *texts, int n)
{
    put_key(b, key);
    buf_char(b, '[');
    for (int i = 0; i < n; i++, texts += strlen(texts) + 1) {
        buf_str(b, i ? ", " : "");
        put_quoted(b, texts);
    }
    buf_str(b, "]\n");
}

void yaml_put_raw(struct buf *b, const char *key, const char *value)
{
    put_key(b, key);
    buf_printf(b, "%s\n", value);
}
