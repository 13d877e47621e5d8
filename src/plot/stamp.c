#include "config.h"
#include "plot/stamp.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "common/format/percent.h"
#include "common/mem.h"

#define BEGIN "gplot-figure"

/* ---- words ------------------------------------------------------------ */

/* Two dashes in a row are not allowed in a comment of XML. */
static void encode_word(struct buf *out, const char *word)
{
    for (const char *s = word; *s; s++)
        if (isalnum((unsigned char)*s) || strchr("._/:=,@+~", *s) ||
            (*s == '-' && (s == word || s[-1] != '-')))
            buf_char(out, *s);
        else
            buf_printf(out, "%%%02X", (unsigned char)*s);
}

/* The number of words, from this one on, that only name the output. */
static int count_output(const char *word, const char *next, const char *output)
{
    if (strcmp(word, "-o") == 0 || strcmp(word, "--output") == 0)
        return next && strcmp(next, output) == 0 ? 2 : 0;
    if (strncmp(word, "-o", 2) == 0)
        return strcmp(word + 2, output) == 0;
    return strncmp(word, "--output=", 9) == 0 && strcmp(word + 9, output) == 0;
}

char *stamp_make(const char *hash, char *const *words, const char *output)
{
    struct buf out = BUF_INIT;

    buf_printf(&out, BEGIN "/2 %s", hash);
    while (*words) {
        const int skip = count_output(words[0], words[1], output);

        if (skip == 0) {
            buf_char(&out, ' ');
            encode_word(&out, *words);
        }
        words += skip ? skip : 1;
    }
    buf_char(&out, ';');
    return buf_detach(&out);
}

/* ---- formats ---------------------------------------------------------- */

static void add_big_endian(struct buf *b, uint32_t n)
{
    for (int shift = 24; shift >= 0; shift -= 8)
        buf_char(b, (char)(n >> shift));
}

/* A chunk of text before the last chunk, which is empty: 12 bytes. */
static void embed_png(struct buf *image, const char *stamp)
{
    struct buf text = BUF_INIT, end = BUF_INIT;

    if (image->len < 12)
        return;
    buf_add(&end, image->s + image->len - 12, 12);
    buf_trim(image, image->len - 12);
    buf_add(&text, "tEXtComment", 12);
    buf_str(&text, stamp);
    add_big_endian(image, (uint32_t)text.len - 4);
    buf_add(image, text.s, text.len);
    add_big_endian(image,
                   (uint32_t)crc32(0, (const Bytef *)text.s, (uInt)text.len));
    buf_add(image, end.s, end.len);
    buf_clear(&text);
    buf_clear(&end);
}

/* A PDF ends with the place of its table of contents, and readers look for the
 * last one: repeat it after the comment. */
static void embed_pdf(struct buf *image, const char *stamp)
{
    const char *last = NULL, *at = image->s;
    const char *const end = image->s + image->len;
    long long place;

    while ((at = memmem(at, (size_t)(end - at), "startxref", 9)))
        last = at++;
    if (!last)
        return;
    place = strtoll(last + 9, NULL, 10);
    buf_printf(image, "%% %s\nstartxref\n%lld\n%%%%EOF\n", stamp, place);
}

void stamp_embed(struct buf *image, const char *form, const char *stamp)
{
    if (strcmp(form, "png") == 0)
        embed_png(image, stamp);
    else if (strcmp(form, "pdf") == 0)
        embed_pdf(image, stamp);
    else if (strcmp(form, "eps") == 0)
        buf_printf(image, "%% %s\n", stamp);
    else if (strcmp(form, "svg") == 0 || strcmp(form, "html") == 0)
        buf_printf(image, "<!-- %s -->\n", stamp);
}

/* ---- finding ---------------------------------------------------------- */

static bool parse_stamp(struct stamp *s, const char *at, const char *end)
{
    const char *stop;

    if ((size_t)(end - at) < 3 + SHA256_TEXT)
        return false;
    s->of_text = *at == ' ';
    if (!s->of_text && memcmp(at, "/2 ", 3) != 0)
        return false;
    at += s->of_text ? 1 : 3;
    memcpy(s->hash, at, SHA256_TEXT - 1);
    s->hash[SHA256_TEXT - 1] = '\0';
    at += SHA256_TEXT - 1;
    stop = memchr(at, ';', (size_t)(end - at));
    if (!sha256_is_text(s->hash) || !stop)
        return false;
    while (at < stop) {
        const char *word = at + (*at == ' ');
        const char *next = memchr(word, ' ', (size_t)(stop - word));

        at = next ? next : stop;
        APPEND(s->word, s->n, s->room) = xstrndup(word, (size_t)(at - word));
        percent_decode(s->word[s->n - 1]);
    }
    return s->n > 0;
}

int stamp_find(struct stamp *s, const struct buf *file, struct err *e)
{
    const char *const end = file->s + file->len;
    const char *at = file->s;

    *s = (struct stamp){ .n = 0 };
    while ((at = memmem(at, (size_t)(end - at), BEGIN, strlen(BEGIN)))) {
        s->at = (size_t)(at - file->s);
        at += strlen(BEGIN);
        if (parse_stamp(s, at, end))
            return 0;
        stamp_clear(s);
    }
    return err_set(e, ERR_MISSING,
                   "the file does not say which command drew "
                   "it");
}

void stamp_clear(struct stamp *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->word[i]);
    free(s->word);
    *s = (struct stamp){ .n = 0 };
}
