#ifndef PLOT_PLOT_PROGRAM_H
#define PLOT_PLOT_PROGRAM_H

#include "common/program.h"

/*
 * plot_program - the commands of gplot
 *
 *      return program_main(plot_program(), argc, argv);
 *
 * plot_program_figures() has only the commands that draw a figure: no others
 * may stand in the stamp of one, which may come from anybody.
 */
const struct program *plot_program(void);
const struct program *plot_program_figures(void);

#endif
