#pragma once

/*
 * complete - the scripts of the shells, in scripts/completion
 *
 * They ask the program for the completions of a line, and fall back on the
 * names of files.  The names of runs may hold anything: no script may let its
 * shell evaluate them.
 */
extern const char complete_bash[], complete_zsh[], complete_fish[];
