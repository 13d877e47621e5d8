/*
 * gplot - figures of runs, through gnuplot or in the terminal
 */
#include "config.h"

#include "plot/figures.h"

int main(int argc, char **argv)
{
    return program_main(plot_program(false), argc, argv);
}
