/*
 * plot_program - the commands of gplot
 */
#include "config.h"
#include "plot/figures.h"

#include <assert.h>
#include <stdio.h>

#include "plot/curve_kind.h"
#include "plot/draw/gnuplot.h"

enum { COMMANDS = 32 };

static void describe(void)
{
    char version[16];

    if (gnuplot_found(version))
        printf("gnuplot %s\n", version); /* style: own */
    else
        printf("gnuplot: not found; figures are drawn in the terminal only\n");
}

static const struct cmd *const others[] = { FIGURE_CMDS(FIGURE_ADDRESS) NULL };

const struct program *plot_program(bool figures)
{
    static const struct cmd *cmds[2][COMMANDS];
    static const struct program program[] = {
        { .name = "gplot",
          .summary = "Draw figures of training runs.",
          .cmds = cmds[0],
          .describe = describe },
        { .name = "gplot", .cmds = cmds[1] },
    };
    size_t n = 0;

    for (const struct curve_kind *k = curve_kinds; k->cmd.name; k++)
        cmds[figures][n++] = &k->cmd;
    for (int i = 0; others[i]; i++) {
        assert(n < COMMANDS - 1);
        if (!figures || others[i]->run == figure_main)
            cmds[figures][n++] = others[i];
    }
    return &program[figures];
}
