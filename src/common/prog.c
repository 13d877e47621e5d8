#include "config.h"
#include "common/prog.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

static const struct cmd *running;
static bool want_help, want_version, want_dump, verbose, quiet;

static const struct opt own_opts[] = {
    { 'h', "help", NULL, OPT_FLAG, &want_help, "say what there is, and stop" },
    { 'v', "verbose", NULL, OPT_FLAG, &verbose, "say more" },
    { 'q', "quiet", NULL, OPT_FLAG, &quiet, "say only what goes wrong" },
    { 0 }
};

static const struct opt program_opts[] = {
    { 'V', "version", NULL, OPT_FLAG, &want_version,
      "print the version; with -v, what it was built with" },
    { 0, "dump-options", NULL, OPT_FLAG, &want_dump,
      "print every option, one a line, for programs" },
    { 0 }
};

enum { MAX_TABLE = 96 };

/* One table of two, the second after the first. */
static void join(struct opt out[MAX_TABLE], const struct opt *a,
                 const struct opt *b)
{
    int n = 0;

    for (; a && a->name && n < MAX_TABLE - 1; a++)
        out[n++] = *a;
    for (; b && b->name && n < MAX_TABLE - 1; b++)
        out[n++] = *b;
    out[n] = (struct opt){ 0 };
}

static void help(const struct prog *p)
{
    printf("usage: %s COMMAND [OPTION]... [ARGUMENT]...\n%s\n\ncommands:\n",
           p->name, p->summary);
    opt_help_cmds(p->cmds);
    printf("\noptions:\n");
    opt_help(program_opts);
    opt_help(own_opts);
    printf("\n'%s COMMAND --help' tells the options of one command; '%s %s' "
           "tells all.\n",
           p->name, "man", p->name);
}

static void help_cmd(const struct prog *p, const struct cmd *c,
                     const struct opt *table)
{
    const bool bare = p->bare && strcmp(p->bare, c->name) == 0;

    printf("usage: %s %s%s%s [OPTION]... %s\n%s\n\noptions:\n", p->name,
           bare ? "[" : "", c->name, bare ? "]" : "", c->args, c->help);
    opt_help(table);
}

static void dump(const struct prog *p)
{
    for (const struct opt *o = program_opts; o->name; o++)
        printf("\t%c\t%s\t%s\t%s\n", o->letter ? o->letter : '-', o->name,
               o->arg ? o->arg : "", o->help);
    for (const struct cmd *c = p->cmds; c->name; c++) {
        struct opt table[MAX_TABLE];

        join(table, c->opts, own_opts);
        printf("%s\t\t\t%s\t%s\n", c->name, c->args, c->help);
        for (const struct opt *o = table; o->name; o++)
            printf("%s\t%c\t%s\t%s\t%s\n", c->name, o->letter ? o->letter : '-',
                   o->name, o->arg ? o->arg : "", o->help);
    }
}

static void set_level(const struct prog *p)
{
    log_setup(p->name, verbose ? LOG_DEBUG : quiet ? LOG_WARN : LOG_INFO);
}

/* Is the first word something other than a command's name? */
static bool is_bare(const struct prog *p, const char *word)
{
    if (!p->bare || !word)
        return false;
    if (word[0] == '-')
        return true;
    if (!p->words)
        return false;
    for (const struct cmd *c = p->cmds; c->name; c++)
        if (strcmp(c->name, word) == 0)
            return false;
    return true;
}

static int run_cmd(const struct prog *p, const struct cmd *c, int argc,
                   char **argv, struct err *e)
{
    struct opt table[MAX_TABLE];

    join(table, c->opts, own_opts);
    argc = opt_parse(table, argc, argv, e);
    if (argc < 0)
        return -1;
    set_level(p);
    if (want_help) {
        help_cmd(p, c, table);
        return 0;
    }
    running = c;
    return c->run(argc, argv, e);
}

/* Is this an option of the program itself, before any command? */
static bool is_own(const char *word)
{
    static const char *const own[] = { "-h", "--help", "-V", "--version",
                                       "--dump-options" };

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(word, own[i]) == 0)
            return true;
    return false;
}

/* The first that is neither -v nor -q, or NULL. */
static const char *first_word(char **argv)
{
    static const char *const level[] = { "-v", "-q", "--verbose", "--quiet" };
    size_t i = 0;

    while (*++argv) {
        for (i = 0; i < 4 && strcmp(*argv, level[i]) != 0; i++)
            ;
        if (i == 4)
            break;
    }
    return *argv;
}

static int run(const struct prog *p, int argc, char **argv, struct err *e)
{
    struct opt table[MAX_TABLE];
    const struct cmd *c;
    bool own = false, asked;

    for (int i = 1; i < argc && argv[i][0] == '-'; i++)
        own = own || is_own(argv[i]);
    if (!own && argc > 1 && is_bare(p, first_word(argv))) {
        c = opt_find_cmd(p->cmds, p->bare, e);
        return c ? run_cmd(p, c, argc, argv, e) : -1;
    }
    join(table, program_opts, own_opts);
    argc = opt_parse_until_word(table, argc, argv, e);
    if (argc < 0)
        return -1;
    if (want_dump) {
        dump(p);
        return 0;
    }
    if (want_version) {
        printf("%s %s\n", p->name, PACKAGE_VERSION);
        if (verbose && p->describe)
            p->describe();
        return 0;
    }
    /* PROGRAM help COMMAND is COMMAND --help, for those who are used to it */
    asked = argc > 0 && strcmp(argv[0], "help") == 0;
    if (want_help || (asked && argc == 1)) {
        help(p);
        return 0;
    }
    if (argc == 0)
        return err_set(e, ERR_USAGE, "which command? try '%s --help'", p->name);
    want_help = asked;
    c = opt_find_cmd(p->cmds, argv[asked], e);
    return c ? run_cmd(p, c, argc - asked, argv + asked, e) : -1;
}

/* Nobody reads on; that is no failure: "| head". */
static bool reader_is_gone(void)
{
    struct pollfd p = { STDOUT_FILENO, POLLOUT, 0 };

    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

/* The write that failed may be long ago, and the last one went well. */
static void finish_output(struct err *e)
{
    const bool failed = ferror(stdout);

    if (fflush(stdout) != 0 && errno != EPIPE)
        err_sys(e, "cannot write standard output");
    else if (failed && !reader_is_gone())
        err_set(e, ERR_SYSTEM,
                "cannot write standard output: a part is missing");
}

int prog_main(const struct prog *p, int argc, char **argv)
{
    struct err e = ERR_INIT;

    signal(SIGPIPE, SIG_IGN);
    set_level(p);
    if (run(p, argc, argv, &e) == 0)
        finish_output(&e);
    if (e.kind != ERR_NONE)
        log_error("%s", e.text);
    return err_status(e.kind);
}

const char *prog_command(void)
{
    return running ? running->name : "";
}
