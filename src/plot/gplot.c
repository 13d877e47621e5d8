/*
 * gplot - figures of runs, through gnuplot or in the terminal
 */
#include "config.h"

#include <assert.h>
#include <stdio.h>

#include "common/program.h"
#include "plot/draw/gnuplot.h"
#include "plot/figures.h"
#include "plot/kind.h"

enum { COMMANDS = 32 };

static const struct cmd *const others[] = { FIGURE_CMDS(FIGURE_ADDRESS) NULL };

static const struct cmd *cmds[COMMANDS];

static void list_commands(void)
{
    int n = 0;

    for (const struct kind *k = kinds; k->cmd.name; k++) {
        assert(n < COMMANDS - 1);
        cmds[n++] = &k->cmd;
    }
    for (int i = 0; others[i]; i++) {
        assert(n < COMMANDS - 1);
        cmds[n++] = others[i];
    }
}

static void describe(void)
{
    char version[16];

    if (gnuplot_found(version))
        printf("gnuplot %s\n", version);
    else
        printf("gnuplot: not found; figures are drawn in the terminal only\n");
}

static const struct program program = {
    .name = "gplot",
    .summary = "Draw figures of training runs.",
    .cmds = cmds,
    .describe = describe,
};

int main(int argc, char **argv)
{
    list_commands();
    return program_main(&program, argc, argv);
}
