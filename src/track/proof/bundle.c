#include "config.h"
#include "track/proof/bundle.h"

#include <fcntl.h>
#include <string.h>

#include "common/mem.h"
#include "common/path.h"
#include "common/sig.h"
#include "common/spawn.h"

char *bundle_top(const char *path)
{
    const char *name = path_name(path);
    const size_t n = strlen(name) - (str_ends(name, ".tar") ? 4 : 0);

    return xstrndup(name, n);
}

/* ---- unpacking -------------------------------------------------------- */

bool bundle_copy(FILE *in, FILE *out, int64_t size, struct sha256 *h)
{
    char block[1 << 16];

    while (size > 0 && !sig_caught()) {
        const size_t want =
            size < (int64_t)sizeof block ? (size_t)size : sizeof block;
        const size_t n = fread(block, 1, want, in);

        if (n == 0)
            return false;
        sha256_add(h, block, n);
        fwrite(block, 1, n, out);
        size -= (int64_t)n;
    }
    return size == 0;
}

/* Create a file that does not exist yet, and the folders above it. */
static FILE *create_file(const char *path, struct err *e)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
    int fd;

    if (path_make_parent(path, e) < 0)
        return NULL;
    fd = open(path, flags, 0666);
    if (fd < 0)
        err_sys(e, "cannot create %s", path);
    return fd < 0 ? NULL : fdopen(fd, "w");
}

static int unpack_file(FILE *in, const char *path, int64_t size,
                       char sum[SHA256_TEXT], struct err *e)
{
    FILE *out = create_file(path, e);
    struct sha256 h;
    bool failed;
    int ret = 0;

    if (!out)
        return -1;
    sha256_init(&h);
    if (!bundle_copy(in, out, size, &h))
        ret = tar_ended(in, e);
    failed = ferror(out);
    if ((fclose(out) != 0 || failed) && ret == 0)
        ret = err_sys(e, "cannot write %s", path);
    if (ret == 0)
        ret = tar_read_pad(in, size, e);
    sha256_text(&h, sum);
    return ret;
}

/* The name of a file without the folder that all files are in, or NULL.  A line
 * feed in it would look like a line of MANIFEST. */
static const char *below_top(const char *name)
{
    const char *slash = strchr(name, '/');

    return slash && slash > name && path_stays_below(name) && slash[1] &&
                   !strchr(name, '\n')
               ? slash + 1
               : NULL;
}

/* Unpack all files; `found` gets the lines that MANIFEST should have, and `sum`
 * belongs to the last file. */
static int unpack_files(FILE *in, const char *folder, struct buf *found,
                        char last[TAR_NAME], char sum[SHA256_TEXT],
                        struct bundle_unpacked *u, struct err *e)
{
    struct tar_head h;
    int got = 0;

    while (!sig_caught() && (got = tar_read_head(in, &h, e)) > 0) {
        const char *name = below_top(h.name);
        AUTO_FREE char *path = name ? path_join(folder, name) : NULL;
        int ret;

        if (u->files++ > 0)
            buf_printf(found, "%s  %s\n", sum, last);
        ret = name ? unpack_file(in, path, h.size, sum, e)
                   : err_input(e, "the path %s is not allowed", h.name);
        if (ret < 0)
            return -1;
        snprintf(last, TAR_NAME, "%s", name);
    }
    return sig_caught() ? err_set(e, ERR_INTERRUPTED, "interrupted") : got;
}

/* ---- comparing -------------------------------------------------------- */

/* A line is a sum, two blanks and a name. */
static const char *name_of(const char *line, int *n)
{
    const int len = (int)strcspn(line, "\n"), sum = SHA256_TEXT + 1;

    *n = len > sum ? len - sum : len;
    return len > sum ? line + sum : line;
}

/* Say how the first lines that differ do so. */
static int describe_difference(const char *found, const char *listed,
                               struct err *e)
{
    int n, m;
    const char *is = name_of(found, &n), *wanted = name_of(listed, &m);

    if (n == 0)
        return err_input(e, "%.*s of MANIFEST is missing", m, wanted);
    if (m == 0)
        return err_input(e, "%.*s is not in MANIFEST", n, is);
    if (n == m && memcmp(is, wanted, (size_t)n) == 0)
        return err_input(e, "%.*s has another SHA-256 than MANIFEST says", n,
                         is);
    return err_input(e, "%.*s is where MANIFEST has %.*s", n, is, m, wanted);
}

static int compare_lines(const struct buf *found, const struct buf *listed,
                         struct err *e)
{
    size_t same = 0, line;

    while (same < found->len && found->s[same] == listed->s[same])
        same++;
    if (same == found->len && same == listed->len)
        return 0;
    for (line = same; line > 0 && found->s[line - 1] != '\n';)
        line--;
    return describe_difference(found->s + line, listed->s + line, e);
}

static int compare_manifest(const char *folder, const struct buf *found,
                            struct err *e)
{
    AUTO_FREE char *path = path_join(folder, BUNDLE_MANIFEST);
    AUTO(buf_clear) struct buf listed = BUF_INIT;

    return buf_read_unlinked(&listed, path, BUNDLE_MANIFEST_MAX, e) < 0
               ? -1
               : compare_lines(found, &listed, e);
}

int bundle_unpack(struct bundle_unpacked *u, const char *path,
                  const char *folder, struct err *e)
{
    const int fd = path_open(path, PATH_FOLLOW_LINKS, e);
    AUTO(path_fclose) FILE *in = fd < 0 ? NULL : fdopen(fd, "r");
    AUTO(buf_clear) struct buf found = BUF_INIT;
    char last[TAR_NAME] = "";
    int ret;

    *u = (struct bundle_unpacked){ 0 };
    if (!in)
        return -1;
    ret = unpack_files(in, folder, &found, last, u->head, u, e);
    if (ret == 0 && strcmp(last, BUNDLE_MANIFEST) != 0)
        ret = err_input(e, "its last file is not MANIFEST");
    if (ret == 0)
        ret = compare_manifest(folder, &found, e);
    return ret < 0 ? err_wrap(e, "%s", path) : 0;
}

/* ---- signatures ------------------------------------------------------- */

static int ask_ssh(const char *const *argv, const struct buf *text,
                   struct buf *out, struct err *e)
{
    struct spawn s = {
        .in = text->s, .in_len = text->len, .out = out, .quiet = true
    };

    return spawn_run(argv, &s, e);
}

int bundle_sign(struct buf *signature, const char *key, const struct buf *text,
                struct err *e)
{
    const char *const sign[] = { "ssh-keygen", "-Y", "sign",   "-f",
                                 key,          "-n", "gtrack", NULL };

    return ask_ssh(sign, text, signature, e) < 0
               ? err_wrap(e, "cannot sign with %s", key)
               : 0;
}

/* ssh-keygen prints "... SHA256:FINGERPRINT" of both. */
int bundle_check_signature(const char *file, const char *key,
                           const struct buf *text, struct err *e)
{
    const char *const check[] = { "ssh-keygen", "-Y",     "check-novalidate",
                                  "-n",         "gtrack", "-s",
                                  file,         NULL };
    const char *const list[] = { "ssh-keygen", "-l", "-f", key, NULL };
    AUTO(buf_clear) struct buf of_text = BUF_INIT, of_key = BUF_INIT;
    int ret = ask_ssh(list, text, &of_key, e);
    char *print = strstr(of_key.s, "SHA256:");

    if (ret == 0)
        ret = ask_ssh(check, text, &of_text, e);
    if (print)
        print[strcspn(print, " \n")] = '\0';
    if (ret == 0 && (!print || !strstr(of_text.s, print)))
        ret = err_input(e, "%s is by another key than %s", file, key);
    return ret;
}

/* ---- tar ----------------------------------------------------------------- */

enum { BLOCK = 512 };

/* The layout of a head; all of it is text. */
struct block {
    char name[100], mode[8], uid[8], gid[8], size[12], mtime[12], sum[8];
    char type, link[100], magic[6], version[2], user[32], group[32];
    char major[8], minor[8], prefix[155], rest[12];
};
_Static_assert(sizeof(struct block) == BLOCK, "a head is one block");

/* The sum of all bytes, those of the sum itself as blanks. */
static unsigned sum_block(const struct block *b)
{
    const unsigned char *at = (const unsigned char *)b;
    unsigned sum = 0;

    for (size_t i = 0; i < BLOCK; i++)
        sum += at[i];
    for (size_t i = 0; i < sizeof b->sum; i++)
        sum = sum + ' ' - (unsigned char)b->sum[i];
    return sum;
}

/* ---- writing ---------------------------------------------------------- */

/* Octal digits, or for larger numbers GNU's binary form. */
static void put_size(char out[12], int64_t size)
{
    if (size < (int64_t)1 << 33) {
        snprintf(out, 12, "%011llo", (unsigned long long)size);
        return;
    }
    memset(out, 0, 12);
    out[0] = (char)0x80;
    for (int i = 0; i < 8; i++)
        out[11 - i] = (char)(size >> 8 * i);
}

/* A long name is cut at a slash. */
static bool put_name(struct block *b, const char *name)
{
    const size_t len = strlen(name);
    const char *cut = name;

    if (len <= sizeof b->name) {
        memcpy(b->name, name, len);
        return true;
    }
    while ((cut = strchr(cut + 1, '/')))
        if (strlen(cut + 1) <= sizeof b->name)
            break;
    if (!cut || (size_t)(cut - name) > sizeof b->prefix)
        return false;
    memcpy(b->prefix, name, (size_t)(cut - name));
    memcpy(b->name, cut + 1, strlen(cut + 1));
    return true;
}

int tar_write_head(FILE *fp, const char *name, int64_t size, struct err *e)
{
    struct block b = { .mode = "0000644",
                       .uid = "0000000",
                       .gid = "0000000",
                       .mtime = "00000000000",
                       .type = '0',
                       .magic = "ustar",
                       .version = { '0', '0' } };

    if (!put_name(&b, name))
        return err_input(e, "the name %s is too long for an archive", name);
    put_size(b.size, size);
    snprintf(b.sum, sizeof b.sum, "%06o", sum_block(&b));
    b.sum[7] = ' ';
    fwrite(&b, sizeof b, 1, fp);
    return 0;
}

void tar_write_pad(FILE *fp, int64_t size)
{
    static const char zeros[BLOCK];

    fwrite(zeros, 1, (size_t)(-size & (BLOCK - 1)), fp);
}

void tar_write_end(FILE *fp)
{
    static const char zeros[2 * BLOCK];

    fwrite(zeros, 1, sizeof zeros, fp);
}

/* ---- reading ---------------------------------------------------------- */

/* Octal digits up to a blank or a NUL; -1 if they are none. */
static int64_t get_octal(const char *text, size_t n)
{
    int64_t x = 0;
    size_t i = 0;

    while (i < n && text[i] >= '0' && text[i] <= '7')
        x = x * 8 + (text[i++] - '0');
    return i > 0 && (i == n || text[i] == '\0' || text[i] == ' ') ? x : -1;
}

static int64_t get_size(const char text[12])
{
    uint64_t x = 0;

    if ((unsigned char)text[0] != 0x80)
        return get_octal(text, 12);
    for (int i = 4; i < 12; i++)
        x = x << 8 | (unsigned char)text[i];
    return x > INT64_MAX ? -1 : (int64_t)x;
}

static bool is_zero(const struct block *b)
{
    static const struct block zero;

    return memcmp(b, &zero, sizeof zero) == 0;
}

int tar_ended(FILE *fp, struct err *e)
{
    return ferror(fp) ? err_sys(e, "cannot read the archive")
                      : err_input(e, "the archive ends too early");
}

int tar_read_head(FILE *fp, struct tar_head *h, struct err *e)
{
    struct block b;
    const char *slash;

    if (fread(&b, sizeof b, 1, fp) != 1)
        return tar_ended(fp, e);
    if (is_zero(&b))
        return 0;
    if (memcmp(b.magic, "ustar", 5) != 0 ||
        get_octal(b.sum, sizeof b.sum) != (int64_t)sum_block(&b))
        return err_input(e, "not a tar archive, or a damaged one");
    slash = b.prefix[0] ? "/" : "";
    snprintf(h->name, sizeof h->name, "%.*s%s%.*s", (int)sizeof b.prefix,
             b.prefix, slash, (int)sizeof b.name, b.name);
    h->size = get_size(b.size);
    if (h->size < 0 || (b.type != '0' && b.type != '\0'))
        return err_input(e, "%s in the archive is not a regular file", h->name);
    return 1;
}

int tar_read_pad(FILE *fp, int64_t size, struct err *e)
{
    char pad[BLOCK];
    const size_t n = (size_t)(-size & (BLOCK - 1));

    if (fread(pad, 1, n, fp) != n)
        return tar_ended(fp, e);
    return 0;
}
