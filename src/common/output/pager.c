#include "config.h"
#include "common/output/pager.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/num.h"
#include "common/spawn.h"
#include "common/utf8.h"

static int env_int(const char *name)
{
    const char *s = getenv(name);
    int64_t n;

    return s && num_int(s, &n) && n > 0 && n < 100000 ? (int)n : 0;
}

void pager_screen(int *rows, int *columns)
{
    struct winsize w = { 0 };

    for (int fd = STDOUT_FILENO; fd <= STDERR_FILENO; fd++)
        if (ioctl(fd, TIOCGWINSZ, &w) == 0 && w.ws_col)
            break;
    *rows = env_int("LINES");
    *columns = env_int("COLUMNS");
    if (!*rows)
        *rows = w.ws_row ? w.ws_row : 24;
    if (!*columns)
        *columns = w.ws_col ? w.ws_col : 80;
}

static const char *pager_command(void)
{
    char name[64];
    const char *pager;
    size_t n = 0;

    for (const char *p = program_invocation_short_name;
         *p && n < sizeof name - 8; p++)
        name[n++] = (char)toupper((unsigned char)*p);
    memcpy(name + n, "_PAGER", sizeof "_PAGER");
    pager = getenv(name);
    if (!pager)
        pager = getenv("PAGER");
    if (!pager)
        return "less";
    return *pager && strcmp(pager, "cat") != 0 ? pager : NULL;
}

static bool by_pager(const char *text, size_t n)
{
    const char *argv[] = { "sh", "-c", pager_command(), NULL };
    struct spawn s = { .in = text, .in_len = n };

    if (!argv[2])
        return false;
    setenv("LESS", "FIRSX", 0);
    fflush(stdout);
    /* the pager may be left early; 127 is "not found" */
    return spawn_run(argv, &s, ERR_IGNORED) == 0 || s.status != 127;
}

/* Does the text have as many lines as the screen? */
static bool is_longer(const char *text, size_t n)
{
    int rows, columns, lines = 0;

    pager_screen(&rows, &columns);
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines >= rows;
}

int pager_text(const char *text, size_t n, bool pager, struct err *e)
{
    if (pager && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
        is_longer(text, n) && by_pager(text, n))
        return 0;
    if (fwrite(text, 1, n, stdout) != n && errno != EPIPE)
        return err_sys(e, "cannot write standard output");
    return 0;
}

int pager_data(const char *text, size_t n, struct err *e)
{
    AUTO(buf_clear) struct buf out = BUF_INIT;

    if (!isatty(STDOUT_FILENO))
        return pager_text(text, n, false, e);
    utf8_visible_lines(&out, text, n);
    return pager_text(out.s, out.len, false, e);
}

int pager_print(struct err *e, const char *fmt, ...)
{
    AUTO(buf_clear) struct buf text = BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    buf_vprintf(&text, fmt, ap);
    va_end(ap);
    return pager_data(text.s, text.len, e);
}

size_t pager_whole(const char *text, size_t n)
{
    for (size_t back = 1; back < UTF8_MAX && back <= n; back++) {
        const unsigned char c = (unsigned char)text[n - back];

        if (c >= 0xC0)
            return back < (c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2) ? n - back : n;
        if (c < 0x80)
            break;
    }
    return n;
}

int pager_file(FILE *fp, const char *name, struct err *e)
{
    char chunk[65536];
    size_t kept = 0, n;
    int ret = 0;

    do {
        n = kept + fread(chunk + kept, 1, sizeof chunk - kept, fp);
        kept = n == sizeof chunk ? n - pager_whole(chunk, n) : 0;
        ret = pager_data(chunk, n - kept, e);
        memmove(chunk, chunk + n - kept, kept);
    } while (ret == 0 && n == sizeof chunk);
    if (ret == 0 && ferror(fp))
        ret = err_sys(e, "cannot read %s", name);
    return ret;
}
