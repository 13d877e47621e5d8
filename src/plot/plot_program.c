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
static const struct cmd *all[COMMANDS], *figures[COMMANDS];

static void list(void)
{
    size_t n = 0, m = 0;

    for (const struct curve_kind *k = curve_kinds; k->cmd.name; k++)
        all[n++] = figures[m++] = &k->cmd;
    for (int i = 0; others[i]; i++) {
        assert(n < COMMANDS - 1);
        all[n++] = others[i];
        if (others[i]->run == figure_main)
            figures[m++] = others[i];
    }
}

const struct program *plot_program(void)
{
    static const struct program program = {
        .name = "gplot",
        .summary = "Draw figures of training runs.",
        .cmds = all,
        .describe = describe,
    };

    list();
    return &program;
}

const struct program *plot_program_figures(void)
{
    static const struct program program = { .name = "gplot", .cmds = figures };

    list();
    return &program;
}
