#pragma once

#include <stdbool.h>

/*
 * instructions - the sets of instructions that the CPU's operations use
 *
 *      if (instructions_present("avx2"))
 *          setenv("GTRAIN_ISA", "avx2", 1);
 *
 * Can this CPU compute with these, as the variable names them?
 */
bool instructions_present(const char *name);
