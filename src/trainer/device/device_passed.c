/*
 * device_passed - the file of devices that have passed their check
 */
#include "config.h"
#include "trainer/device/device_check.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/path.h"
#include "common/save.h"
#include "common/sha256.h"

enum { MOST_BYTES = 1 << 20 };

/* The settings that choose operations, their widths and their types. */
static bool is_of_model(const char *key)
{
    return (strncmp(key, "model.", 6) == 0 &&
            strcmp(key, "model.layers") != 0) ||
           strcmp(key, "optim.name") == 0 ||
           strcmp(key, "train.micro_batch") == 0 ||
           strcmp(key, "train.precision") == 0 ||
           strcmp(key, "train.tf32") == 0 || strcmp(key, "train.fp8") == 0 ||
           strcmp(key, "train.deterministic") == 0;
}

/* The version of the driver of NVIDIA's GPUs, where it tells it. */
static void add_driver(struct buf *b)
{
    struct err e = { 0 };
    struct buf text = BUF_INIT;

    if (buf_read_file(&text, "/proc/driver/nvidia/version", 4096, &e) == 0)
        buf_str(b, text.s);
    buf_clear(&text);
}

/* The hash of all that a result of the check depends on. */
static void hash_of(struct dev *dev, const struct settings *s,
                    char out[SHA256_TEXT])
{
    struct buf b = BUF_INIT;
    char program[SHA256_TEXT] = "", text[512];
    int64_t size;

    sha256_file("/proc/self/exe", program, &size, ERR_IGNORED);
    buf_printf(&b, "%s\n%s\n%s\n", program,
               dev->type->describe(dev, text, sizeof text), dev->unit);
    add_driver(&b);
    for (const struct setting *row = settings_table; row->key; row++) {
        if (!is_of_model(row->key))
            continue;
        buf_printf(&b, "%s=", row->key);
        conf_text(&s->conf, row, &b);
        buf_char(&b, '\n');
    }
    sha256_of(b.s, b.len, out);
    buf_clear(&b);
}

/* The file; NULL if there is no folder for it. */
static char *file_path(void)
{
    char *folder = path_cache("gtrain");
    char *path = folder ? path_join(folder, "checked") : NULL;

    free(folder);
    return path;
}

/* The lines of the file, none if it cannot be read. */
static void read_lines(struct buf *lines, const char *path)
{
    if (path)
        buf_read_file(lines, path, MOST_BYTES, ERR_IGNORED);
}

bool device_passed(struct dev *dev, const struct settings *s)
{
    char *path = file_path(), hash[SHA256_TEXT];
    struct buf lines = BUF_INIT;
    bool found;

    read_lines(&lines, path);
    hash_of(dev, s, hash);
    found = lines.s && strstr(lines.s, hash);
    buf_clear(&lines);
    free(path);
    return found;
}

void device_passed_add(struct dev *dev, const struct settings *s, int result)
{
    char *path, hash[SHA256_TEXT];
    struct buf lines = BUF_INIT;

    if (result & ~DEVICE_WITHOUT_GRAPHS)
        return;
    path = file_path();
    read_lines(&lines, path);
    hash_of(dev, s, hash);
    buf_printf(&lines, "%s\n", hash);
    if (path)
        save_text(path, lines.s, ERR_IGNORED);
    buf_clear(&lines);
    free(path);
}
