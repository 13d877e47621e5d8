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

int claimed_table_print(struct buf *out, const struct program *gtrack,
                        const char *command, bool tex, struct err *e)
{
    char *copy = xstrdup(command), *at = copy;
    const char *argv[WORDS + 4] = { gtrack->name };
    struct buf words = BUF_INIT;
    struct spawn s = { .out = out, .words = &words, .max = 1 << 24 };
    int n = 1, ret = -1;

    while (n <= WORDS && (argv[n] = next_word(&at)))
        n++;
    if (n == 1 || n > WORDS || opt_find_word(commands, argv[1]) < 0) {
        err_set(e, ERR_USAGE,
                "a table is that of ls, compare, best or metrics, not of '%s'",
                command);
    } else {
        argv[n++] = tex ? "--latex" : "--markdown";
        argv[n] = NULL;
        buf_char(out, '\n');
        ret = program_call(gtrack, argv, &s, e);
    }
    buf_clear(&words);
    free(copy);
    return ret;
}
