#include "config.h"
#include "data/corpus/corpus_files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "data/corpus/source/download.h"

static const struct {
    const char *suffix;
    enum corpus_format format;
} suffixes[] = {
    { ".txt", CORPUS_TEXT },     { ".text", CORPUS_TEXT },
    { ".md", CORPUS_TEXT },      { ".rst", CORPUS_TEXT },
    { ".jsonl", CORPUS_JSONL },  { ".json", CORPUS_JSONL },
    { ".ndjson", CORPUS_JSONL }, { ".parquet", CORPUS_PARQUET },
};

static const char *const compressed[] = { ".gz", ".zst", ".zstd" };

enum { DEPTH_MAX = 64 }; /* of nested folders */

/* Does a name of this length end in the suffix, after something else? */
static bool has_suffix(const char *name, size_t len, const char *suffix)
{
    const size_t n = strlen(suffix);

    return len > n && memcmp(name + len - n, suffix, n) == 0;
}

/* The length of a name, without the query of a URL. */
static size_t full_length(const char *name)
{
    return download_is_url(name) ? strcspn(name, "?#") : strlen(name);
}

/* The length of the name without the suffix of a compressed file. */
static size_t plain_length(const char *name)
{
    const size_t len = full_length(name);

    for (size_t i = 0; i < sizeof compressed / sizeof compressed[0]; i++)
        if (has_suffix(name, len, compressed[i]))
            return len - strlen(compressed[i]);
    return len;
}

bool corpus_files_compressed(const char *name)
{
    return plain_length(name) < full_length(name);
}

enum corpus_format corpus_files_format(const char *name)
{
    const size_t len = plain_length(name);

    for (size_t i = 0; i < sizeof suffixes / sizeof suffixes[0]; i++)
        if (has_suffix(name, len, suffixes[i].suffix))
            return suffixes[i].format;
    return CORPUS_AUTO;
}

static void add_file(struct corpus_files *f, const char *name,
                     const struct stat *st)
{
    path_list_add(&f->list, xstrdup(name));
    f->pipes |= !S_ISREG(st->st_mode) && !download_is_url(name);
    if (!S_ISREG(st->st_mode))
        f->total = -1;
    else if (f->total >= 0)
        f->total += st->st_size;
}

/* Does a link lead to a folder that it is in, at any depth? */
static bool leads_upwards(const char *link, const char *folder)
{
    AUTO_FREE char *to = realpath(link, NULL), *in = realpath(folder, NULL);
    const size_t n = to ? strlen(to) : 0;

    return to && in && strncmp(in, to, n) == 0 &&
           (in[n] == '/' || in[n] == '\0' || n == 1);
}

static int add_folder(struct corpus_files *f, const char *folder, int depth,
                      struct err *e);

static int add_name(struct corpus_files *f, const char *folder,
                    const char *path, int depth, struct err *e)
{
    const bool known = corpus_files_format(path) != CORPUS_AUTO;
    struct stat st;

    if (stat(path, &st) < 0)
        return !known && path_is_link(path)
                   ? 0
                   : err_sys(e, "cannot read %s", path);
    if (S_ISDIR(st.st_mode)) {
        if (!path_is_link(path) || !leads_upwards(path, folder))
            return add_folder(f, path, depth + 1, e);
        log_warn("%s leads to a folder that it is in; skipped", path);
    } else if (S_ISREG(st.st_mode) && known) {
        add_file(f, path, &st);
    }
    return 0;
}

static int add_folder(struct corpus_files *f, const char *folder, int depth,
                      struct err *e)
{
    AUTO(path_list_clear) struct path_list names = { 0 };
    int ret = 0;

    if (depth == DEPTH_MAX)
        return err_input(e, "%s: folders are nested too deeply", folder);
    if (path_list(&names, folder, e) < 0)
        return -1;
    for (size_t i = 0; i < names.n && ret == 0; i++) {
        if (names.name[i][0] != '.')
            ret = add_name(f, folder, path_listed(&names, i), depth, e);
    }
    return ret;
}

static int add_path(struct corpus_files *f, const char *path, struct err *e)
{
    const size_t had = f->list.n;
    struct stat st = { 0 };

    if (strcmp(path, "-") == 0 || download_is_url(path)) {
        add_file(f, path, &st);
        return 0;
    }
    if (stat(path, &st) < 0) {
        err_sys(e, "cannot open %s", path);
        if (e->sys == ENOENT || e->sys == ENOTDIR)
            e->kind = ERR_MISSING;
        return -1;
    }
    if (!S_ISDIR(st.st_mode)) {
        add_file(f, path, &st);
        return 0;
    }
    if (add_folder(f, path, 0, e) < 0)
        return -1;
    if (f->list.n == had)
        return err_set(e, ERR_MISSING,
                       "%s: the folder has no .txt, .jsonl or .parquet file, "
                       "compressed or not; name other files individually",
                       path);
    return 0;
}

int corpus_files_find(struct corpus_files *f, char *const *path, size_t n,
                      struct err *e)
{
    *f = (struct corpus_files){ 0 };
    for (size_t i = 0; i < n; i++)
        if (add_path(f, path[i], e) < 0) {
            path_list_clear(&f->list);
            return -1;
        }
    return 0;
}

int corpus_files_part(struct corpus_files *f, const char *part, struct err *e)
{
    struct path_list all = f->list;
    size_t number = 1, of = 1;
    int end = 0, ret = 0;

    if (!part)
        return 0;
    f->list = (struct path_list){ 0 };
    f->total = f->total < 0 ? -1 : 0;
    if (sscanf(part, "%9zu/%9zu%n", &number, &of, &end) != 2 || part[end] ||
        part[strspn(part, "0123456789/")] || number < 1 || number > of)
        ret = err_usage(e,
                        "--part expects a part of the files such as 3/16, not "
                        "'%s'",
                        part);
    else if (of > all.n)
        ret = err_usage(e, "--part %s needs %zu files or more, not %zu", part,
                        of, all.n);
    for (size_t i = 0; ret == 0 && i < all.n; i++) {
        struct stat st;

        if (i < (number - 1) * all.n / of || i >= number * all.n / of)
            continue;
        path_list_add(&f->list, xstrdup(all.name[i]));
        if (f->total >= 0 && stat(all.name[i], &st) == 0)
            f->total += st.st_size;
    }
    path_list_clear(&all);
    return ret;
}

/* clang-format off */
static const struct magic {
    const char *name, *help;
    size_t at, len;
    const char *bytes;
} magics[] = {
#define USE(command) "; '" command "' converts it"
    { "UTF-32 text", USE("iconv -f utf-32 -t utf-8"), 0, 4, "\xff\xfe\0\0" },
    { "UTF-16 text", USE("iconv -f utf-16 -t utf-8"), 0, 2, "\xff\xfe" },
    { "UTF-16 text", USE("iconv -f utf-16 -t utf-8"), 0, 2, "\xfe\xff" },
    { "a bzip2 file", USE("bzcat"), 4, 6, "\x31\x41\x59\x26\x53\x59" },
    { "an xz file", USE("xzcat"), 0, 6, "\xfd" "7zXZ\0" },
    { "an lzma file", USE("xzcat"), 0, 3, "\x5d\0\0" },
    { "a compress file", USE("zcat"), 0, 2, "\x1f\x9d" },
    { "an lz4 file", USE("lz4 -dc"), 0, 4, "\x04\x22\x4d\x18" },
    { "a zip archive", USE("unzip -p"), 0, 4, "PK\x03\x04" },
    { "a 7z archive", USE("7z x -so"), 0, 6, "7z\xbc\xaf\x27\x1c" },
    { "a tar archive", "; unpack it", 257, 5, "ustar" },
    { "a PDF document", USE("pdftotext"), 0, 5, "%PDF-" },
    { "a program", "", 0, 4, "\x7f" "ELF" },
    { "a PNG image", "", 0, 8, "\x89PNG\r\n\x1a\n" },
    { "a JPEG image", "", 0, 3, "\xff\xd8\xff" },
    { "a GIF image", "", 0, 5, "GIF87" },
    { "a GIF image", "", 0, 5, "GIF89" },
    { "an SQLite database", USE("sqlite3 -json"), 0, 16, "SQLite format 3\0" },
    { "a pickle file", "", 0, 2, "\x80\x02" },
    { "a pickle file", "", 0, 2, "\x80\x03" },
    { "a pickle file", "", 0, 2, "\x80\x04" },
    { "a pickle file", "", 0, 2, "\x80\x05" },
    { "a NumPy file", USE("gdata decode"), 0, 6, "\x93NUMPY" },
    { "a shard", USE("gdata decode"), 0, 4, "\x88\xd8\x34\x01" },
    { "a shard", USE("gdata decode"), 0, 4, "\xa1\xd9\x34\x01" },
    { "a Parquet file", "; --input parquet reads it", 0, 5, "PAR1\x15" },
    { "an Arrow file", "", 0, 8, "ARROW1\0\0" },
#undef USE
};
/* clang-format on */

const char *magic_name(const char *data, size_t n, const char **help)
{
    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++) {
        const struct magic *m = &magics[i];

        if (n < m->at + m->len || memcmp(data + m->at, m->bytes, m->len) != 0)
            continue;
        *help = m->help;
        return m->name;
    }
    return NULL;
}

bool magic_is_html(const char *data, size_t n)
{
    static const char *const starts[] = { "<!doctype html", "<html" };
    size_t blank = 0;

    while (blank < n && strchr(" \t\r\n", data[blank]) && data[blank])
        blank++;
    for (size_t i = 0; i < sizeof starts / sizeof starts[0]; i++) {
        const size_t len = strlen(starts[i]);

        if (n - blank >= len && strncasecmp(data + blank, starts[i], len) == 0)
            return true;
    }
    return false;
}
