#ifndef TRACK_COMPLETE_PROGRAM_H
#define TRACK_COMPLETE_PROGRAM_H

#include "common/err.h"
#include "common/mem.h"
#include "common/opt.h"

/*
 * complete_program - the commands and options of gtrain and gdata
 *
 *      struct complete_program p;
 *
 *      if (complete_program_load(&p, "gtrain", e) == 0)
 *          ... p.cmds ...
 *      complete_program_clear(&p);
 *
 * They are what the program prints with --dump-options.  The commands have no
 * functions, and their options no variables.
 */
struct complete_setting {
    const char *key, *help;
    const char *const *words; /* its values, ended by NULL; or NULL */
};

struct complete_program {
    struct arena mem;
    const struct cmd **cmds; /* ended by NULL */
    struct complete_setting *setting;
    size_t n_settings;
};

int complete_program_load(struct complete_program *, const char *name,
                          struct err *);
void complete_program_clear(struct complete_program *);

#endif
