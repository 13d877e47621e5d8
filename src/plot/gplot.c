/*
 * gplot - figures of runs, through gnuplot or in the terminal
 */
#include "config.h"

#include "plot/plot_program.h"

int main(int argc, char **argv)
{
    return program_main(plot_program(), argc, argv);
}
