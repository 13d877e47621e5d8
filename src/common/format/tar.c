#include "config.h"
#include "common/format/tar.h"

#include <stdbool.h>
#include <string.h>

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
        return err_set(e, ERR_INPUT, "the name %s is too long for an archive",
                       name);
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
                      : err_set(e, ERR_INPUT, "the archive ends too early");
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
        return err_set(e, ERR_INPUT, "not a tar archive, or a damaged one");
    slash = b.prefix[0] ? "/" : "";
    snprintf(h->name, sizeof h->name, "%.*s%s%.*s", (int)sizeof b.prefix,
             b.prefix, slash, (int)sizeof b.name, b.name);
    h->size = get_size(b.size);
    if (h->size < 0 || (b.type != '0' && b.type != '\0'))
        return err_set(e, ERR_INPUT, "%s in the archive is not a regular file",
                       h->name);
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
