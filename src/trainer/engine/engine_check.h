#ifndef TRAINER_ENGINE_ENGINE_CHECK_H
#define TRAINER_ENGINE_ENGINE_CHECK_H

#include "trainer/engine/engine_data.h"

/*
 * engine_check - check that an engine with these settings can be opened
 *
 *      struct engine_check seen = { 0 };
 *
 *      for each settings s
 *          if (engine_check(&seen, s, ranks, e) < 0) ...
 *      engine_check_clear(&seen);
 *
 * The settings are resolved for this number of ranks, and the files that they
 * name are opened and closed again.  An error names the line of the settings
 * file.  Files that the last call has checked are not opened again, so checking
 * many settings that differ little is fast.
 */
struct engine_check {
    struct engine_data data; /* the tokenizer alone stays open */
    char *tokenizer;         /* its path */
    char *files; /* the values that opening token files depends on */
};

int engine_check(struct engine_check *seen, struct settings *, int ranks,
                 struct err *);
void engine_check_clear(struct engine_check *);

#endif
