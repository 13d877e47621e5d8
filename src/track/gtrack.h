#ifndef TRACK_GTRACK_H
#define TRACK_GTRACK_H

#include "common/program.h"

/*
 * gtrack - the program itself, for commands that check what others print
 */
extern const struct program track_program;

#endif
