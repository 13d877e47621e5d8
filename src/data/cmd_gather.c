/*
 * gdata gather - collect the text on this machine, for a first model
 *
 * Files are ordered by the hashes of their names, so the same files give the
 * same text on every machine.
 */
#include "config.h"

#include <ctype.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/buf.h"
#include "common/confine.h"
#include "common/hash.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/opt.h"
#include "common/path.h"
#include "common/save.h"
#include "common/utf8.h"
#include "common/output/emit.h"
#include "common/output/table.h"
#include "data/corpus/corpus.h"
#include "data/corpus/hashset.h"
#include "data/corpus/source/source.h"

static const char *folder, *root = "/";
static uint64_t size = 16 << 20;
static double val = 0.05;
static struct table_style style;

static const struct opt gather_opts[] = {
    { 'o', "output", "folder", OPT_STRING, &folder,
      "write train.jsonl and val.jsonl to FOLDER" },
    { 's', "size", "bytes", OPT_SIZE, &size,
      "stop at about this much text (default: 16MiB)" },
    { 0, "val", "share", OPT_REAL, &val,
      "hold out SHARE of the documents (default: 0.05)" },
    { 0, "root", "dir", OPT_STRING, &root,
      "look for files below DIR (default: /)" },
    TABLE_OPTS(style),
    { 0 }
};

enum {
    FILE_MAX = 512 << 10, /* larger files are tables, or generated */
    DOCUMENT_MIN = 300,
    WORDS_MIN = 12, /* of a paragraph */
    WINDOW = 5,     /* words whose repetition counts */
    DEPTH_MAX = 12,
};

/* clang-format off */
static const struct gather_kind {
    const char *name;
    const char *roots[4];       /* globs */
    const char *files[14];      /* globs of names, which may end in ".gz" */
    const char *except[5];
} kinds[] = {
    { "manuals", { "usr/share/man/man[0-9]*" }, { "*.[0-9]*" }, { 0 } },
    { "documentation",
      { "usr/share/doc", "usr/share/vim/vim*/doc" },
      { "README*", "NEWS*", "FAQ*", "INTRO*", "*.txt", "*.md", "*.rst" },
      { "*.html*", "*.json*", "*.xml*", "*[Cc]hange[Ll]og*",
        "CHANGE*" } },
    { "licences",
      { "usr/share/common-licenses", "usr/share/doc" },
      { "copyright", "*GPL*", "GFDL*", "MPL*", "Apache*", "Artistic", "BSD",
        "CC0*" }, { 0 } },
    { "perl",
      { "usr/share/perl*", "usr/lib/*/perl*", "usr/share/auto*" },
      { "*.pm", "*.pod" }, { 0 } },
    { "python",
      { "usr/lib/python3*", "usr/share/python3" }, { "*.py" },
      { "test_*" } },
    { "headers",
      { "usr/include", "usr/lib/gcc/*/*/include" }, { "*.h" }, { 0 } },
};

/* Words that are a third of English prose, and rare elsewhere. */
static const char *const common[] = {
    "a", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been",
    "but", "by", "can", "do", "does", "for", "from", "has", "have", "if", "in",
    "into", "is", "it", "its", "may", "more", "must", "no", "not", "of", "on",
    "one", "only", "or", "other", "should", "so", "such", "than", "that", "the",
    "then", "there", "these", "they", "this", "to", "use", "used", "was",
    "when", "which", "will", "with", "you", "your", NULL,
};
/* clang-format on */

struct gather_file {
    char *path;
    uint64_t key;
    int kind;
};

enum { KINDS = sizeof kinds / sizeof *kinds };

struct gather_stats {
    int64_t files, documents; /* found; used */
    int64_t bytes, repeated;  /* used; left out because they are repeated */
};

struct gatherer {
    struct gather_file *file;
    size_t n, room;
    struct hashset known; /* sequences of WINDOW words */
    struct buf raw, paragraph, kept;
    struct gather_stats stats[KINDS];

    struct save train, val;
    struct buf line;
    int64_t total, held_out;
};

static bool matches(const char *const *patterns, size_t n, const char *name)
{
    AUTO_FREE char *bare = xstrdup(name);
    const size_t len = strlen(bare);
    bool found = false;

    if (len > 3 && strcmp(bare + len - 3, ".gz") == 0)
        bare[len - 3] = '\0';
    for (size_t i = 0; i < n && patterns[i] && !found; i++)
        found = fnmatch(patterns[i], bare, 0) == 0;
    return found;
}

/* Find the files below a folder; links and unreadable folders are skipped. */
static void find_files(struct gatherer *s, int kind, const char *dir, int depth)
{
    const struct gather_kind *k = &kinds[kind];
    const size_t skip = strlen(root);
    AUTO(path_list_clear) struct path_list names = { 0 };

    if (depth == DEPTH_MAX || path_list(&names, dir, ERR_IGNORED) < 0)
        return;
    for (size_t i = 0; i < names.n; i++) {
        const char *path = path_listed(&names, i);
        struct stat st;

        if (lstat(path, &st) < 0) {
            ;
        } else if (S_ISDIR(st.st_mode)) {
            find_files(s, kind, path, depth + 1);
        } else if (S_ISREG(st.st_mode) && st.st_size <= FILE_MAX &&
                   matches(k->files, 14, names.name[i]) &&
                   !matches(k->except, 5, names.name[i])) {
            APPEND(s->file, s->n, s->room) = (struct gather_file){
                .path = xstrdup(path),
                .key = hash128(path + skip, strlen(path + skip), 0).hi,
                .kind = kind,
            };
        }
    }
}

static int by_key(const void *a, const void *b)
{
    const struct gather_file *x = a, *y = b;

    if (x->key != y->key)
        return x->key < y->key ? -1 : 1;
    return strcmp(x->path, y->path);
}

static void find_kind(struct gatherer *s, int kind)
{
    for (size_t i = 0; i < 4 && kinds[kind].roots[i]; i++) {
        AUTO_FREE char *pattern = path_join(root, kinds[kind].roots[i]);
        glob_t found;

        if (glob(pattern, 0, NULL, &found) == 0) {
            for (size_t j = 0; j < found.gl_pathc; j++)
                find_files(s, kind, found.gl_pathv[j], 0);
            globfree(&found);
        }
    }
}

/* Read a file, inflated; false if it is empty, too long or cannot be read. */
static bool read_text(struct buf *out, const char *path)
{
    struct source *source;
    ssize_t got;

    buf_trim(out, 0);
    if (source_open(&source, path, -1, NULL, ERR_IGNORED) < 0)
        return false;
    do {
        buf_room(out, 1 << 18);
        got = source_read(source, out->s + out->len, 1 << 18, ERR_IGNORED);
        if (got > 0)
            out->len += (size_t)got;
    } while (got > 0 && out->len <= FILE_MAX);
    out->s[out->len] = '\0';
    source_close(source);
    return got == 0 && out->len > 0;
}

/* Is this UTF-8 without control characters other than white space? */
static bool is_text(const struct buf *b)
{
    for (size_t i = 0; i < b->len; i++)
        if (((unsigned char)b->s[i] < ' ' && !memchr("\t\n\f\r", b->s[i], 4)) ||
            b->s[i] == 0x7f)
            return false;
    return utf8_valid(b->s);
}

/* A letter of markup: "\\fB" of a manual, "C<" of Perl's documentation. */
static size_t markup(const char *at, size_t n)
{
    if (n > 2 && at[0] == '\\' && at[1] == 'f')
        return at[2] == '(' ? 5 : at[2] == '[' ? strcspn(at, "]") + 1 : 3;
    if (n > 1 && at[0] == '\\' && strchr("-&|:c", at[1]))
        return at[1] == '-' ? 1 : 2;
    if (n > 1 && strchr("BCFILX", at[0]) && at[1] == '<')
        return 2;
    return 0;
}

/* Add a line to the paragraph, without its markup; `open` counts the brackets
 * of Perl's documentation that were opened. */
static void add_line(struct buf *paragraph, const char *at, size_t n)
{
    const char *end = at + n;
    int open = 0;

    if (paragraph->len > 0)
        buf_char(paragraph, ' ');
    while (at < end) {
        const size_t skip = markup(at, (size_t)(end - at));

        if (skip > 0) {
            open += at[0] != '\\';
            at += skip < (size_t)(end - at) ? skip : (size_t)(end - at);
        } else if (*at == '>' && open > 0) {
            open--;
            at++;
        } else {
            if (!isspace((unsigned char)*at) || !isspace((unsigned char)at[-1]))
                buf_char(paragraph, *at);
            at++;
        }
    }
}

/* What the words of a paragraph are like. */
struct prose {
    size_t words, common, windows, repeated;
};

/* Count the words, and remember each sequence of WINDOW words. */
static struct prose read_words(struct gatherer *s, const char *at)
{
    struct prose p = { 0 };
    uint64_t last[WINDOW] = { 0 };

    while (*at) {
        char word[24];
        size_t n = 0;

        for (; *at && *at != ' '; at++)
            if (isalpha((unsigned char)*at) && n < sizeof word - 1)
                word[n++] = (char)tolower((unsigned char)*at);
        word[n] = '\0';
        at += *at == ' ';
        p.common += opt_find_word(common, word) >= 0;
        last[p.words++ % WINDOW] = hash128(word, n, 0).hi;
        if (p.words >= WINDOW) {
            uint64_t sum = 0;

            for (size_t i = 0; i < WINDOW; i++)
                sum = sum * 0x9e3779b97f4a7c15 + last[(p.words + i) % WINDOW];
            p.windows++;
            p.repeated += !hashset_add(&s->known, sum);
        }
    }
    return p;
}

/* Does a paragraph begin and end as a sentence does, and consist of letters?
 * A backslash is markup that was not understood. */
static bool is_sentence(const struct buf *b)
{
    size_t letters = 0;

    if (b->len < 2 || !isupper((unsigned char)b->s[0]) ||
        !strchr(".:!?)\"", b->s[b->len - 1]) || strchr(b->s, '\\'))
        return false;
    for (size_t i = 0; i < b->len; i++)
        letters += b->s[i] == ' ' || isalpha((unsigned char)b->s[i]);
    return letters * 100 >= b->len * 93;
}

/* Keep the paragraph if it is English that was not there before, or not with
 * other names and numbers: half of its sequences of words must be new. */
static void end_paragraph(struct gatherer *s, struct gather_stats *stats)
{
    struct buf *b = &s->paragraph;

    if (is_sentence(b)) {
        const struct prose p = read_words(s, b->s);

        if (p.words >= WORDS_MIN && p.common * 4 >= p.words) {
            if (p.repeated * 2 > p.windows)
                stats->repeated += (int64_t)b->len;
            else
                buf_printf(&s->kept, "%s\n", b->s);
        }
    }
    buf_trim(b, 0);
}

/* Find the paragraphs: lines without letters, and requests of a manual, are
 * between them; a first line of comments and an item begin one. */
static void read_paragraphs(struct gatherer *s, struct gather_stats *stats)
{
    const char *at = s->raw.s, *end = s->raw.s + s->raw.len;
    bool was_comment = false;

    while (at < end) {
        const size_t n = strcspn(at, "\n");
        const bool is_comment = strchr("#*;|/>", at[strspn(at, " \t")]);
        const size_t skip = strspn(at, " \t#*;|/>");
        const bool is_item = at[skip] == '-';
        const size_t from = skip + is_item + strspn(at + skip + is_item, " \t");
        size_t letters = 0;

        for (size_t i = 0; i < n; i++)
            letters += isalpha((unsigned char)at[i]) != 0;
        if (letters == 0 || is_item || is_comment != was_comment ||
            strchr(".'=", *at))
            end_paragraph(s, stats);
        if (letters > 0 && !strchr(".'=", *at))
            add_line(&s->paragraph, at + from, n - from);
        was_comment = is_comment;
        at += n + 1;
    }
    end_paragraph(s, stats);
}

/* Write what was kept of a file, one paragraph a line. */
static void write_doc(struct gatherer *s, const struct gather_file *f)
{
    const struct buf *text = &s->kept;
    const struct corpus_doc doc = { .text = text->s,
                                    .len = text->len,
                                    .begins = true };
    struct emit o = { .b = &s->line };
    const bool held_out = corpus_doc_in_share(&doc, val);

    emit_object(&o, NULL);
    emit_bytes(&o, "text", text->s, text->len);
    emit_text(&o, "source", f->path + strlen(root));
    emit_object_end(&o);
    emit_newline(&o);
    fwrite(s->line.s, 1, s->line.len, held_out ? s->val.fp : s->train.fp);
    buf_trim(&s->line, 0);
    s->total += (int64_t)text->len;
    s->held_out += held_out ? (int64_t)text->len : 0;
    s->stats[f->kind].documents++;
    s->stats[f->kind].bytes += (int64_t)text->len;
}

static int gather(struct gatherer *s, struct err *e)
{
    for (int i = 0; i < KINDS; i++) {
        const size_t before = s->n;

        find_kind(s, i);
        s->stats[i].files = (int64_t)(s->n - before);
    }
    SORT(s->file, s->n, by_key);
    for (size_t i = 0; i < s->n && s->total < (int64_t)size; i++) {
        const struct gather_file *f = &s->file[i];

        if (!read_text(&s->raw, f->path) || !is_text(&s->raw))
            continue;
        buf_trim(&s->kept, 0);
        read_paragraphs(s, &s->stats[f->kind]);
        if (s->kept.len >= DOCUMENT_MIN)
            write_doc(s, f);
    }
    if (s->total == 0)
        return err_set(e, ERR_MISSING,
                       "there is no English text in the manuals, documentation "
                       "and libraries below %s",
                       root);
    return 0;
}

static void gatherer_clear(struct gatherer *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->file[i].path);
    free(s->file);
    hashset_clear(&s->known);
    buf_clear(&s->raw);
    buf_clear(&s->paragraph);
    buf_clear(&s->kept);
    buf_clear(&s->line);
    save_abandon(&s->train);
    save_abandon(&s->val);
}

static int print_stats(const struct gather_stats *s, struct err *e)
{
    struct table t = TABLE_INIT("gdata.gather/1");

    table_columns(&t, "kind", "files", "documents", "text", "repeated", NULL);
    for (int i = 0; i < KINDS; i++) {
        table_text(&t, kinds[i].name);
        table_int(&t, s[i].files);
        table_int(&t, s[i].documents);
        table_bytes(&t, s[i].bytes);
        table_bytes(&t, s[i].repeated);
    }
    return table_finish(&t, 0, &style, e);
}

static int open_outputs(struct gatherer *s, struct err *e)
{
    AUTO_FREE char *train = path_join(folder, "train.jsonl");
    AUTO_FREE char *held = path_join(folder, "val.jsonl");

    return save_open(&s->train, train, e) < 0 ? -1
                                              : save_open(&s->val, held, e);
}

static int gather_main(int argc, char **argv, struct err *e)
{
    AUTO(gatherer_clear)
    struct gatherer s = { .raw = BUF_INIT,
                          .paragraph = BUF_INIT,
                          .kept = BUF_INIT,
                          .line = BUF_INIT };
    char text[NUM_TEXT], held[NUM_TEXT];

    if (argc)
        return err_usage(e,
                         "unexpected argument '%s'; name the output with -o "
                         "FOLDER",
                         argv[0]);
    if (!folder)
        return err_usage(e, "name the output with -o FOLDER");
    if (val < 0 || val >= 1)
        return err_usage(e, "--val expects a share below 1, not %g", val);
    if (path_make(folder, e) < 0 || open_outputs(&s, e) < 0)
        return -1;
    confine(&folder, 1, false);
    if (gather(&s, e) < 0 || save_commit(&s.train, e) < 0 ||
        save_commit(&s.val, e) < 0 || print_stats(s.stats, e) < 0)
        return -1;
    log_info("%s of text in %s/train.jsonl, %s in %s/val.jsonl",
             num_bytes(text, (double)(s.total - s.held_out)), folder,
             num_bytes(held, (double)s.held_out), folder);
    return 0;
}

const struct cmd cmd_gather = {
    .name = "gather",
    .args = "-o FOLDER",
    .help = "collect the text on this machine",
    .opts = gather_opts,
    .run = gather_main,
};
