#include "config.h"
#include "plot/stamp.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "common/clock.h"
#include "common/buf.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/path.h"
#include "common/program.h"
#include "common/sig.h"
#include "common/spawn.h"
#include "plot/figures.h"

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
    AUTO(buf_clear) struct buf text = BUF_INIT, end = BUF_INIT;

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
                   "the file does not say which command drew it");
}

void stamp_clear(struct stamp *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->word[i]);
    free(s->word);
    *s = (struct stamp){ .n = 0 };
}

/* ---- gplot verify and redo, and what gtrack claims takes from them ------- */

enum { FILE_MAX = 256 << 20 };

static const struct opt no_opts[] = { { 0 } };

static int load_stamp(struct stamp *s, const char *path, struct err *e)
{
    AUTO(buf_clear) struct buf file = BUF_INIT;

    *s = (struct stamp){ .n = 0 };
    return buf_read_file(&file, path, FILE_MAX, e) < 0
               ? -1
               : stamp_find(s, &file, e);
}

/* A figure may come from somebody else: its command may only choose what is
 * drawn, and how. */
static const char *const allowed[] = {
    "root",        "title",    "size",   "font",     "legend",   "mono",
    "dark",        "xrange",   "yrange", "logx",     "logy",     "linx",
    "liny",        "skip",     "x",      "smooth",   "band",     "y2",
    "traces",      "stitch",   "mark",   "inset",    "sweep",    "exact",
    "term",        "group-by", "every",  "data",     "forecast", "color-by",
    "baseline",    "attempts", "quiet",  "verbose",  "no-title", "no-notes",
    "panel-label", "alias",    "panels", "finished", NULL
};

/* Run the command that drew the figure to this path, in a child process. */
static int draw_again(const struct stamp *s, const char *first,
                      const char *path, struct spawn *run, struct err *e)
{
    AUTO_FREE const char **argv = xcalloc(s->n + 2, sizeof *argv);
    AUTO_FREE char *output = xasprintf("--output=%s", path);
    const char *const own[] = { output, first, NULL };
    const struct program_limits limits = { allowed, own };
    size_t n = 1;

    argv[0] = "gplot";
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->word[i], "--watch") != 0)
            argv[n++] = s->word[i];
    return program_call(plot_program(true), argv, &limits, run, e);
}

/* ---- verify ----------------------------------------------------------- */

/* The hash of what the command draws now. */
static int hash_now(const struct stamp *s, const char *path, double secs,
                    char out[SHA256_TEXT], struct err *e)
{
    AUTO(buf_clear) struct buf data = BUF_INIT;
    struct spawn run = { .out = &data,
                         .quiet = true,
                         .secs = fmax(secs, 0.01) };
    const int ret =
        draw_again(s, s->of_text ? "--data" : "--hash", path, &run, e);

    if (s->of_text)
        sha256_of(data.s, data.len, out);
    else
        snprintf(out, SHA256_TEXT, "%s", data.s);
    return ret;
}

/* Read a figure without the time at which it was drawn, and without its end:
 * the stamp, whose hash may be an older one, and its head in a PNG. */
static int read_picture(struct buf *b, const char *path, struct err *e)
{
    enum { HEAD = 16 };
    static const char date[] = "CreationDate"; /* of PDF and EPS */
    const int ret = buf_read_file(b, path, FILE_MAX, e);
    char *at = b->s;
    struct stamp s;

    if (ret == 0 && stamp_find(&s, b, e) == 0) {
        buf_trim(b, s.at > HEAD ? s.at - HEAD : 0);
        at = b->s;
        stamp_clear(&s);
    }

    while (ret == 0 && (at = memmem(at, (size_t)(b->s + b->len - at), date,
                                    sizeof date - 1)))
        for (int i = 0; i < 40 && at < b->s + b->len; i++)
            *at++ = ' ';
    return ret;
}

/* Does the command draw this figure, where it can draw?  The picture of LaTeX
 * is another file. */
static bool same_picture(const struct stamp *s, const char *path, double secs)
{
    AUTO_FREE char *folder = xasprintf("%s/gplot-XXXXXX", path_temp());
    AUTO(buf_clear) struct buf was = BUF_INIT, is = BUF_INIT, words = BUF_INIT;
    struct spawn run = { .out = &words,
                         .words = &words,
                         .secs = fmax(secs, 0.01) };
    struct err e = { 0 };
    bool same = true;

    if (!str_ends(path, ".tex") && mkdtemp(folder)) {
        AUTO_FREE char *again = path_join(folder, path_name(path));

        if (draw_again(s, NULL, again, &run, &e) == 0)
            same = read_picture(&was, path, &e) == 0 &&
                   read_picture(&is, again, &e) == 0 && was.len == is.len &&
                   memcmp(was.s, is.s, is.len) == 0;
        path_remove(folder, &e);
    }
    return same;
}

enum stamped stamped_check(const char *path, double secs, struct buf *command,
                           struct err *why)
{
    char now[SHA256_TEXT];
    enum stamped result = STAMPED_UNKNOWN;
    AUTO(stamp_clear) struct stamp s = { 0 };

    if (load_stamp(&s, path, why) < 0)
        result = why->kind == ERR_MISSING ? STAMPED_NONE : STAMPED_UNKNOWN;
    else if (hash_now(&s, path, secs, now, why) == 0)
        result = strcmp(now, s.hash) != 0       ? STAMPED_DIFFERS
                 : same_picture(&s, path, secs) ? STAMPED_EQUAL
                                                : STAMPED_PICTURE;
    for (size_t i = 0; i < s.n; i++) {
        buf_str(command, i ? " " : "gplot ");
        buf_shell_short(command, s.word[i]);
    }
    return result;
}

void stamped_add(struct table *t, enum stamped result, const struct err *why)
{
    static const char *const words[] = { [STAMPED_EQUAL] = "equal",
                                         [STAMPED_DIFFERS] = "differs",
                                         [STAMPED_PICTURE] = "equal data, but "
                                                             "another picture",
                                         [STAMPED_NONE] = "unstamped" };

    table_text(t, result == STAMPED_UNKNOWN ? why->text : words[result]);
    table_mark(t, result == STAMPED_EQUAL ? MARK_NONE : MARK_BAD);
}

static bool verify_figure(struct table *t, const char *path, double secs)
{
    struct err why = { 0 };
    AUTO(buf_clear) struct buf command = BUF_INIT;
    const enum stamped result = stamped_check(path, secs, &command, &why);

    table_text(t, path);
    table_text(t, command.len ? command.s : NULL);
    stamped_add(t, result, &why);
    return result == STAMPED_EQUAL;
}

/* A file that cannot be read ends the check. */
static int check_readable(char **path, int n, struct err *e)
{
    for (int i = 0; i < n; i++)
        if (access(path[i], R_OK) < 0)
            return err_sys(e, "cannot read %s", path[i]);
    return 0;
}

static int verify_main(int argc, char **argv, struct err *e)
{
    const struct table_style style = { .json = false };
    AUTO(table_clear) struct table t = TABLE_INIT("gplot.verify/1");
    const double end = clock_mono() + STAMPED_SECS;
    char text[NUM_TEXT];
    int bad = 0, ret;

    if (argc == 0)
        return err_usage(e, "a figure is expected");
    if (check_readable(argv, argc, e) < 0)
        return -1;
    table_columns(&t, "figure", "command", "result", NULL);
    sig_watch();
    figure_confine((const char *const *)argv, argc, path_temp());
    for (int i = 0; i < argc && !sig_caught(); i++)
        bad += !verify_figure(&t, argv[i], end - clock_mono());
    ret = sig_caught() ? err_set(e, ERR_INTERRUPTED, "interrupted")
                       : table_print(&t, &style, e);
    if (ret == 0 && bad > 0)
        ret = err_input(e,
                        "%d of %s %s not known to show what the runs say; "
                        "'gplot redo' draws a figure again",
                        bad, num_count(text, argc, "figure"),
                        bad == 1 ? "is" : "are");
    return ret;
}

const struct cmd fig_verify = {
    .name = "verify",
    .args = "FILE...",
    .help = "check that figures show what the runs say now",
    .opts = no_opts,
    .run = verify_main,
};

/* ---- redo ------------------------------------------------------------- */

static int redo_figure(const char *path, struct err *e)
{
    struct spawn run = { .secs = STAMPED_SECS };
    AUTO(stamp_clear) struct stamp s = { 0 };
    int ret = load_stamp(&s, path, e);

    if (ret == 0)
        ret = draw_again(&s, NULL, path, &run, e);
    return ret < 0 ? err_wrap(e, "%s", path) : 0;
}

static int redo_main(int argc, char **argv, struct err *e)
{
    if (argc == 0)
        return err_usage(e, "a figure is expected");
    sig_watch();
    figure_confine((const char *const *)argv, argc, NULL);
    for (int i = 0; i < argc; i++)
        if (redo_figure(argv[i], e) < 0)
            return -1;
    return 0;
}

const struct cmd fig_redo = {
    .name = "redo",
    .args = "FILE...",
    .help = "draw figures again, by the commands that drew them",
    .opts = no_opts,
    .run = redo_main,
};
