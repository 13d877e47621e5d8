/*
 * clean_lists - files of words, domains and URLs that drop a document
 */
#include "config.h"
#include "data/corpus/clean.h"

#include <string.h>

#include "common/conf.h"
#include "common/format/unicode.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/utf8.h"
#include "data/corpus/jsonl.h"
#include "data/corpus/roll.h"
#include "data/corpus/where.h"

enum { LIST_MAX = 1 << 30, LONGEST = 4096 }; /* bytes: of a file, of a line */

/* Is the next character one of a word?  Scripts without spaces have none. */
static inline bool is_in_word(const uint8_t *p, const uint8_t *end)
{
    uint32_t c;

    if (p == end || *p < 0x80)
        return p < end &&
               ((uint8_t)((*p | 0x20) - 'a') < 26 || (uint8_t)(*p - '0') < 10);
    utf8_decode(p, end, &c);
    return c <= 0x10ffff && unicode_is_word(c) && !roll_is_word((int32_t)c) &&
           !roll_is_unspaced((int32_t)c);
}

/* Add to a hash what is up to the next end of a word, in any case; returns
 * where that is. */
static const uint8_t *hash_part(uint64_t *hash, const uint8_t *p,
                                const uint8_t *end)
{
    uint32_t c;

    do {
        p += utf8_decode(p, end, &c);
        if (c >= 0x80)
            c = (uint32_t)utf8_fold((int32_t)c);
        else if (c - 'A' < 26)
            c += 'a' - 'A';
        *hash = (*hash + c + 1) * 0xff51afd7ed558ccdu;
        *hash ^= *hash >> 29;
    } while (is_in_word(p, end));
    return p;
}

/* Know the parts that entries begin with; then, set the line of each. */
static int read_entries(struct clean_list *l, const struct buf *text,
                        const char *path, struct err *e)
{
    const uint8_t *s = (const uint8_t *)text->s, *const end = s + text->len;

    for (uint32_t line = 1; s < end; line++, s++) {
        const uint8_t *const stop = s + strcspn((const char *)s, "\n");
        const char *entry = (const char *)s;
        size_t n = (size_t)(stop - s);
        const uint8_t *last;
        uint64_t hash = 0;

        str_trim(&entry, &n);
        s = (const uint8_t *)entry;
        last = s + n;
        if (n > LONGEST)
            return err_usage(e, "%s:%u: a line has at most %d bytes", path,
                             line, LONGEST);
        if (*s == '#')
            last = s;
        while (s < last) {
            s = hash_part(&hash, s, last);
            if (!l->line && (s == last || !l->whole))
                hashset_add(&l->known, hash);
            else if (l->line && s == last)
                l->line[hashset_find(&l->known, hash)] = line;
        }
        s = stop;
    }
    if (l->known.n > 0)
        return 0;
    return err_usage(e, "%s has no entries", path);
}

int clean_read_list(struct clean *c, int rule, const struct conf *f,
                    const char *name, struct err *e)
{
    const char *const file = conf_origin(f, clean_name[rule]);
    const int folder = *name == '/' ? 0 : (int)(path_name(file) - file);
    AUTO_FREE char *path = xasprintf("%.*s%s", folder, file, name);
    AUTO(buf_clear) struct buf text = BUF_INIT;
    struct clean_list *const l = &c->list[rule];

    l->whole = rule == CLEAN_DOMAINS || rule == CLEAN_LIST_LINES;
    if (buf_read_file(&text, path, LIST_MAX, e) < 0 ||
        read_entries(l, &text, path, e) < 0)
        return conf_wrap(f, clean_name[rule], e);
    sha256_of(text.s, text.len, l->sha256);
    l->line = xcalloc(l->known.room, sizeof *l->line);
    return read_entries(l, &text, path, e);
}

void clean_unload(struct clean *c)
{
    for (int i = 0; i < CLEAN_RULES; i++) {
        hashset_clear(&c->list[i].known);
        free(c->list[i].line);
    }
    where_free(c->url);
}

/* ---- what a document has of them ----------------------------------------- */

/* The line of an entry that begins with what ends at p and has this hash, or 0;
 * if it must be whole, of one that ends with the text. */
static uint32_t find_on(const struct clean_list *l, uint64_t hash,
                        const uint8_t *p, const uint8_t *end)
{
    size_t i;

    while (l->whole && p < end)
        p = hash_part(&hash, p, end);
    while ((i = hashset_find(&l->known, hash)) != SIZE_MAX) {
        if (l->line[i] || p == end)
            return l->line[i];
        p = hash_part(&hash, p, end);
    }
    return 0;
}

const char *clean_host(const char *url, size_t *n)
{
    const char *const end = url + *n, *const scheme = memmem(url, *n, "://", 3);

    url = scheme ? scheme + 3 : url;
    for (const char *p = url; p < end && !strchr("/?#", *p); p++)
        url = *p == '@' ? p + 1 : url; /* after a user */
    for (*n = 0; url + *n < end && !strchr("/?#:", url[*n]);)
        ++*n;
    return url;
}

double clean_find(const struct clean *c, int rule, const char *text, size_t n)
{
    const struct clean_list *const l = &c->list[rule];
    const char *const s = rule == CLEAN_DOMAINS ? clean_host(text, &n) : text;
    const uint8_t *p = (const uint8_t *)s, *const begin = p, *const end = p + n;
    uint32_t line = 0, skipped;

    while (p < end && !line) {
        const bool is_word = is_in_word(p, end);
        const uint8_t *const at = p;
        uint64_t hash = 0;

        p = hash_part(&hash, p, end);
        if (*at > ' ' && (!l->whole || at == begin || at[-1] == '.'))
            line = find_on(l, hash, p, end);
        if (rule == CLEAN_LIST_LINES)
            break;
        p = is_word ? p : at; /* and what ends the word */
        p += p < end ? utf8_decode(p, end, &skipped) : 0;
    }
    return line;
}

void clean_find_in_url(const struct clean *c, const struct corpus_doc *d,
                       double *value)
{
    AUTO(where_row_clear)
    struct where_row row = { .where = c->url, .text = BUF_INIT };
    AUTO(buf_clear) struct buf line = BUF_INIT;
    char *text;
    size_t n;

    buf_add(&line, d->whole, d->whole_len);
    where_row_begin(&row);
    jsonl_row(line.s, line.len, "", '"', &row, &text, &n, ERR_IGNORED);
    c->count[CLEAN_URL_FIELD] += !row.at[0];
    for (int i = CLEAN_DOMAINS; row.at[0] && i <= CLEAN_URLS; i++)
        if (c->list[i].line) {
            text = row.text.s + row.at[0] - 1;
            value[i] = clean_find(c, i, text, strlen(text));
        }
}
