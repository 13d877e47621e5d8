/*
 * gtrack completion - print a completion script for a shell
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "common/opt.h"
#include "track/complete.h"
#include "track/runs/track.h"

static int completion_main(int argc, char **argv, struct err *e)
{
    static const struct {
        const char *shell, *script;
    } scripts[] = {
        { "bash", complete_bash },
        { "zsh", complete_zsh },
        { "fish", complete_fish },
    };

    if (argc > 1 && strcmp(argv[0], "words") == 0) {
        struct buf out = BUF_INIT;

        track_confine_reader();
        complete(&out, argc - 1, argv + 1);
        fputs(out.s, stdout); /* style: own */
        buf_clear(&out);
        return 0;
    }
    for (size_t i = 0; argc == 1 && i < sizeof scripts / sizeof scripts[0];
         i++) {
        if (strcmp(argv[0], scripts[i].shell) == 0) {
            fputs(scripts[i].script, stdout); /* style: own */
            return 0;
        }
    }
    return err_set(e, ERR_USAGE,
                   "completion expects a shell: bash, zsh or fish");
}

const struct cmd cmd_completion = {
    .name = "completion",
    .args = "SHELL",
    .help = "print a completion script for a shell",
    .run = completion_main,
};
