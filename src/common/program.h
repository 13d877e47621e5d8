#pragma once

#include "common/opt.h"
#include "common/sha256.h"

/*
 * program - commands, options and exit statuses of every program
 *
 *      int main(int argc, char **argv)
 *      {
 *          return program_main(&program, argc, argv);
 *      }
 *
 * program_main() finds the command, parses its options, runs it, prints the err
 * if it failed (unless its text is empty, because it was reported elsewhere),
 * checks that standard output could be written, and returns the exit status
 * (err_status), or ends by the signal of an ERR_COMMAND.  No file gets the
 * number of a standard stream that is closed.  Every command has the options
 * --help, -v and -q; the program also --version, which with -v prints what it
 * was built with.
 *
 * An option may stand before the command, too: `gtrack --root D ls`.  bare
 * names the command that runs when there are options alone: `gtrain --config
 * F` is `gtrain train --config F`.  --dump-options prints the tables, one
 * line per option, for completion and for the test that compares them with the
 * manual: command, letter, name, argument, help and the words that the option
 * accepts, separated by tabs.  program.dump() adds lines whose first three
 * fields are empty: a setting, its help and its words.
 */
struct program {
    const char *name;
    const char *summary;           /* one line */
    const struct cmd *const *cmds; /* ends with NULL */
    const char *bare;              /* or NULL */
    const char *file;              /* the option of `bare` that takes the file
                                 * which someone may give alone, or NULL */
    void (*describe)(void);        /* more for --version -v; or NULL */
    void (*dump)(void);            /* more for --dump-options; or NULL */
};

/* The commands of gdata, gtrain or gtrack: cmd_NAME in each cmd_NAME.c that the
 * local.mk of the program lists.  The Makefile makes this table. */
extern const struct cmd *const program_cmds[];

/* The commit that the program was built from, empty if it is not known.  The
 * Makefile makes this, too; tests that link with program.c do without it. */
extern char program_commit[64] __attribute__((weak));

/* The hash of the program's code and constants, the same for a commit that
 * changes neither, and without debug information.  Returns out. */
char *program_hash(char out[SHA256_TEXT]);

int program_main(const struct program *, int argc, char **argv);

/* The command that runs, for functions that several commands share. */
const struct cmd *program_command(void);
/* The command line, as it was given to program_main(), ended by NULL. */
char *const *program_words(void);

/*
 * Run a command line that came with a file of somebody else, such as
 * { "gtrack", "ls", NULL }, in a child process, by spawn_call().  It may use
 * the options of a table alone, no path outside of the current folder but the
 * store that GTRACK_ROOT names, and ten minutes of processor time.  `own` are
 * options that the caller adds.  No variable of the options may be in use,
 * since the child has the values of this process.
 */
struct program_limits {
    const char *const *options; /* names, ended by NULL */
    const char *const *own;     /* words, ended by NULL */
};

struct spawn;
int program_call(const struct program *, const char *const *argv,
                 const struct program_limits *, struct spawn *, struct err *);
