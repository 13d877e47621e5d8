/*
 * corpus_docs - find the documents in a block
 */
#include "config.h"
#include "data/corpus/corpus_impl.h"

#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "data/corpus/jsonl.h"

static void add_doc(struct corpus_block *b, const char *text, size_t len,
                    int64_t line, bool begins, bool ends)
{
    APPEND(b->doc, b->n, b->room) = (struct corpus_doc){
        .text = text, .len = len, .line = line, .begins = begins, .ends = ends
    };
}

/* Copy the lines of a block, because strings are unescaped in place. */
static void copy_lines(struct corpus_block *b)
{
    if (b->lines_room < b->size) {
        b->lines_room = b->data_room;
        b->lines = xrealloc(b->lines, b->lines_room, 1);
    }
    memcpy(b->lines, b->data, b->size);
}

/* Keep a line, without a byte order mark and blanks, for the last document. */
static void keep_line(struct corpus_block *b, size_t begin, size_t end)
{
    struct corpus_doc *d = &b->doc[b->n - 1];

    while (begin < end && b->lines[begin] != '{')
        begin++;
    while (begin < end && b->lines[end - 1] != '}')
        end--;
    d->whole = b->lines + begin;
    d->whole_len = end - begin;
}

/* Each line of the block is a document. */
static int find_lines(struct corpus *c, struct corpus_block *b,
                      struct where_row *row, struct err *e)
{
    char *at = b->data, *end = b->data + b->size, *next;

    if (c->conf.keep_lines)
        copy_lines(b);
    for (int64_t line = b->at.line; at < end; at = next, line++) {
        char *newline = memchr(at, '\n', (size_t)(end - at)), *text;
        struct err why;
        size_t len;
        int got;

        next = newline ? newline + 1 : end;
        where_row_begin(row);
        got = jsonl_row(at, (size_t)((newline ? newline : end) - at), c->field,
                        c->conf.chat ? '[' : '"', row, &text, &len, &why);
        if (got > 0 && !where_row_matches(row)) {
            b->left_out++;
        } else if (got > 0) {
            add_doc(b, text, len, line, true, true);
            if (c->conf.keep_lines)
                keep_line(b, (size_t)(at - b->data), (size_t)(next - b->data));
        } else if (got < 0) {
            err_wrap(&why, "%s:%lld", corpus_shown_name(b->file),
                     (long long)line);
            if (corpus_bad_line(c, &why) < 0) {
                *e = why;
                return -1;
            }
            b->bad++;
        }
    }
    return 0;
}

static void warn_of_nul(struct corpus *c, const struct corpus_block *b)
{
    const char *nul = memchr(b->data, '\0', b->size);
    bool first;

    if (!nul)
        return;
    pthread_mutex_lock(&c->lock);
    first = c->nul_file <= b->at.file;
    c->nul_file = first ? b->at.file + 1 : c->nul_file;
    pthread_mutex_unlock(&c->lock);
    if (first)
        log_warn("%s:%lld: the text has a NUL byte, which is kept",
                 corpus_shown_name(b->file),
                 (long long)(b->at.line +
                             boundary_count_lines(b->data,
                                                  (size_t)(nul - b->data))));
}

/* Plain text: a part of a document, or several between separators. */
static void find_texts(struct corpus *c, struct corpus_block *b)
{
    const char *at = b->data, *end = b->data + b->size;
    int64_t line = b->at.line;
    bool begins = !b->at.inside;

    while (c->separator_len) {
        const char *found =
            memmem(at, (size_t)(end - at), c->conf.separator, c->separator_len);

        if (!found)
            break;
        if (found > at || !begins)
            add_doc(b, at, (size_t)(found - at), line, begins, true);
        found += c->separator_len;
        line += boundary_count_lines(at, (size_t)(found - at));
        at = found;
        begins = true;
    }
    if (at < end || !begins)
        add_doc(b, at, (size_t)(end - at), line, begins, !b->next.inside);
    warn_of_nul(c, b);
}

static int64_t count_invalid(const struct corpus_doc *d)
{
    const uint8_t *s = (const uint8_t *)d->text, *const end = s + d->len;
    int64_t count = 0;

    while ((s += utf8_good(s, (size_t)(end - s))) < end) {
        uint32_t c;
        const size_t n = utf8_decode(s, end, &c);

        count += (int64_t)n;
        s += n;
    }
    return count;
}

int corpus_find_docs(struct corpus *c, struct corpus_block *b, struct err *e)
{
    AUTO(where_row_clear)
    struct where_row row = { .where = c->where, .text = BUF_INIT };
    int64_t text = 0, ends = 0, invalid = 0;
    int ret = 0;

    if (!b->json && c->where)
        return err_usage(e, "%s is plain text, which has no fields for --where",
                         corpus_shown_name(b->file));
    if (c->conf.chat && (!b->json || b->n))
        return err_usage(e, "%s: conversations are read from JSON Lines only",
                         corpus_shown_name(b->file));
    if (!b->json)
        find_texts(c, b);
    else if (!b->n && b->size > 0)
        ret = find_lines(c, b, &row, e);
    if (ret < 0)
        return -1;
    for (size_t i = 0; i < b->n; i++) {
        b->doc[i].invalid = count_invalid(&b->doc[i]);
        text += (int64_t)b->doc[i].len;
        ends += b->doc[i].ends;
        invalid += b->doc[i].invalid;
    }
    pthread_mutex_lock(&c->lock);
    c->finding--;
    b->text_at = c->stats.text;
    c->stats.text += text;
    c->stats.left_out += b->left_out;
    c->stats.invalid += invalid;
    c->stats.documents += ends;
    pthread_mutex_unlock(&c->lock);
    return 0;
}
