#include "config.h"
#include "track/proof/claimed_table.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/opt.h"
#include "common/spawn.h"

static const char *const commands[] = { "ls", "compare", "best", "metrics",
                                        NULL };

enum { WORDS = 64 };

/* The next word of a command, which is cut out of *at; NULL at the end. */
static char *next_word(char **at)
{
    char *from = *at + strspn(*at, " \t\n"), *to = from;
    char quote = '\0';

    if (!*from)
        return NULL;
    for (*at = from; **at && (quote || !strchr(" \t\n", **at)); (*at)++) {
        if (**at == quote)
            quote = '\0';
        else if (!quote && strchr("'\"", **at))
            quote = **at;
        else
            *to++ = **at;
    }
    if (**at)
        (*at)++;
    *to = '\0';
    return from;
}

static int run_command(struct buf *out, const char *const *argv, struct err *e)
{
    struct buf words = BUF_INIT;
    struct spawn run = { .out = out, .words = &words, .max = 1 << 24 };
    const int ret = spawn_run(argv, &run, e);

    buf_clear(&words);
    return ret;
}

int claimed_table_print(struct buf *out, const char *command, bool tex,
                        struct err *e)
{
    char *copy = xstrdup(command), *at = copy, *gtrack;
    const char *argv[WORDS + 4];
    int n = 1, ret = -1;

    while (n <= WORDS && (argv[n] = next_word(&at)))
        n++;
    gtrack = spawn_find("gtrack", e);
    if (n == 1 || n > WORDS || opt_find_word(commands, argv[1]) < 0) {
        err_set(e, ERR_USAGE,
                "a table is that of ls, compare, best or metrics, not of '%s'",
                command);
    } else if (gtrack) {
        argv[0] = gtrack;
        argv[n++] = tex ? "--latex" : "--markdown";
        argv[n] = NULL;
        buf_char(out, '\n');
        ret = run_command(out, argv, e);
    }
    free(gtrack);
    free(copy);
    return ret;
}
