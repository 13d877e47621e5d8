#include "config.h"
#include "common/program.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/confine.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/path.h"
#include "common/sig.h"
#include "common/spawn.h"

static const struct cmd *running;
static char **given;                        /* the command line */
static const struct program_limits *limits; /* of a child of program_call() */
static bool want_help, want_version, want_dump, verbose, quiet;

static const struct opt common_opts[] = {
    { 'h', "help", NULL, OPT_FLAG, &want_help,
      "print a summary of the options and exit" },
    { 'v', "verbose", NULL, OPT_FLAG, &verbose, "print more messages" },
    { 'q', "quiet", NULL, OPT_FLAG, &quiet, "print only warnings and errors" },
    { 0 }
};

static const struct opt program_opts[] = {
    { 'V', "version", NULL, OPT_FLAG, &want_version,
      "print the version and exit; with -v, print details" },
    { 0, "dump-options", NULL, OPT_FLAG, &want_dump,
      "print all options, one per line, for programs" },
    { 0 }
};

enum { MAX_TABLE = 96, MOST_SECS = 600 };

/* Put two tables into one. */
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

static void help(const struct program *p)
{
    printf("usage: %s COMMAND [OPTION]... [ARGUMENT]...\n%s\n\ncommands:\n",
           p->name, p->summary);
    opt_help_cmds(p->cmds);
    printf("\noptions:\n");
    opt_help(program_opts);
    opt_help(common_opts);
    printf("\nSee '%s COMMAND --help' for the options of a command, and 'man "
           "%s'.\n",
           p->name, p->name);
}

static void help_cmd(const struct program *p, const struct cmd *c,
                     const struct opt *table)
{
    const bool bare = p->bare && strcmp(p->bare, c->name) == 0;

    printf("usage: %s %s%s%s [OPTION]... %s\n%s\n\noptions:\n", p->name,
           bare ? "[" : "", c->name, bare ? "]" : "", c->args ? c->args : "",
           c->help);
    opt_help(table);
}

static void dump_opts(const char *command, const struct opt *o)
{
    char help[512];

    for (; o->name; o++) {
        opt_help_text(o, help, sizeof help);
        printf("%s\t%c\t%s\t%s\t%s\t", command, o->letter ? o->letter : '-',
               o->name, o->arg ? o->arg : "", help);
        for (int i = 0; o->words && o->words[i]; i++)
            printf("%s%s", i ? "|" : "", o->words[i]);
        putchar('\n');
    }
}

static void dump(const struct program *p)
{
    struct opt table[MAX_TABLE];

    join(table, program_opts, common_opts);
    dump_opts("", table);
    for (const struct cmd *const *cmds = p->cmds; *cmds; cmds++) {
        const struct cmd *c = *cmds;

        join(table, c->opts, common_opts);
        printf("%s\t\t\t%s\t%s\t\n", c->name, c->args ? c->args : "", c->help);
        dump_opts(c->name, table);
    }
    if (p->dump)
        p->dump();
}

static void set_level(const struct program *p)
{
    log_setup(p->name, verbose ? LOG_DEBUG : quiet ? LOG_WARN : LOG_INFO);
}

/* Set the options of the caller, and leave those in the table that a file may
 * use. */
static int limit_options(struct opt *table, struct err *e)
{
    char *own[8] = { NULL };
    int n = 1, kept = 0;

    for (const char *const *w = limits->own; *w && n < 7; w++)
        own[n++] = (char *)(uintptr_t)*w;
    if (opt_parse(table, n, own, e) < 0)
        return -1;
    for (struct opt *o = table; o->name; o++)
        if (opt_find_word(limits->options, o->name) >= 0)
            table[kept++] = *o;
    table[kept] = (struct opt){ 0 };
    return 0;
}

/* Below this folder, where no link leads elsewhere; a name is no path. */
static bool is_below(const char *path)
{
    return path_stays_below(path) &&
           !(path_exists(path) && path_leaves(path, "."));
}

/* A path is one of this folder, or of the store that the user chose. */
static int limit_paths(const struct opt *table, char **argv, struct err *e)
{
    const char *store = getenv("GTRACK_ROOT"), *root;

    while (table->name && strcmp(table->name, "root") != 0)
        table++;
    root = table->name ? *(const char *const *)table->value : NULL;
    if (root && !is_below(root) && (!store || strcmp(root, store) != 0))
        return err_usage(e,
                         "the store %s is not below this folder; if it is "
                         "yours, set GTRACK_ROOT=%s",
                         root, root);
    for (; *argv; argv++)
        if (**argv && !is_below(*argv))
            return err_usage(e, "%s is not below this folder", *argv);
    return 0;
}

static int run_cmd(const struct program *p, const struct cmd *c, int argc,
                   char **argv, struct err *e)
{
    struct opt table[MAX_TABLE];

    join(table, c->opts, common_opts);
    if (limits && limit_options(table, e) < 0)
        return -1;
    argc = opt_parse(table, argc, argv, e);
    if (limits && (argc < 0 || limit_paths(table, argv, e) < 0))
        return err_wrap(e, "a file may not ask for this");
    if (argc < 0)
        return -1;
    set_level(p);
    if (want_help) {
        help_cmd(p, c, table);
        return 0;
    }
    running = c;
    if (c->confine)
        c->confine();
    if (c->output)
        confine_output(*c->output, false);
    return c->run(argc, argv, e);
}

static bool is_cmd(const struct program *p, const char *word)
{
    for (const struct cmd *const *c = p->cmds; *c; c++)
        if (strcmp((*c)->name, word) == 0)
            return true;
    return false;
}

/* In how many tables an option is a flag, and in how many it has an argument.
 * */
struct use {
    int flag, arg;
};

/* Look for a letter or, where that is 0, for the beginning of a name. */
static void count_use(struct use *u, const struct opt *o, char letter,
                      const char *name)
{
    for (; o && o->name; o++)
        if (letter ? o->letter == letter
                   : strncmp(o->name, name, strcspn(name, "=")) == 0)
            ++*(o->arg ? &u->arg : &u->flag);
}

/*
 * Is the next word the argument of this option?  If that depends on the
 * command, it is, unless the word is a command itself.
 */
static bool takes_next(const struct program *p, char letter, const char *name,
                       const char *next, bool *unknown)
{
    struct use u = { 0 };

    count_use(&u, program_opts, letter, name);
    count_use(&u, common_opts, letter, name);
    for (const struct cmd *const *c = p->cmds; *c; c++)
        count_use(&u, (*c)->opts, letter, name);
    *unknown |= u.arg + u.flag == 0;
    return u.arg && !(u.flag && next && is_cmd(p, next));
}

/* The words before the command, all of them options and their values. */
struct head {
    int end;       /* the index of the first other word, or argc */
    char *unknown; /* the first option that does not exist, or NULL */
    bool own;      /* one of them is for the program itself */
};

/* Set a flag of the program itself, even among options of commands. */
static void set_own(char letter, const char *name)
{
    const struct opt *const tables[] = { program_opts, common_opts };

    for (int i = 0; i < 2; i++)
        for (const struct opt *o = tables[i]; o->name; o++)
            if (letter ? o->letter == letter : strcmp(o->name, name) == 0)
                *(bool *)o->value = true;
}

static struct head read_head(const struct program *p, int argc, char **argv)
{
    struct head h = { .end = 1 };

    while (h.end < argc && argv[h.end][0] == '-' && argv[h.end][1]) {
        char *word = argv[h.end++];
        const char *next = h.end < argc ? argv[h.end] : NULL;
        bool unknown = false;

        if (word[1] == '-') {
            set_own('\0', word + 2);
            h.end += takes_next(p, '\0', word + 2, next, &unknown) &&
                     !strchr(word, '=');
        }
        for (const char *at = word + 1; word[1] != '-' && *at; at++) {
            set_own(*at, NULL);
            if (takes_next(p, *at, NULL, at[1] ? NULL : next, &unknown)) {
                h.end += at[1] == '\0';
                break;
            }
        }
        if (unknown && !h.unknown)
            h.unknown = word;
    }
    if (h.end > argc)
        h.end = argc;
    h.own = want_help || want_version || want_dump;
    return h;
}

/* Hash memory with the gaps between its variables, which AddressSanitizer would
 * take for an error. */
__attribute__((no_sanitize("address"))) static void add_memory(
    struct sha256 *h, const volatile unsigned char *p, size_t size)
{
    unsigned char block[4096];

    while (size > 0) {
        size_t n = 0;

        for (; n < size && n < sizeof block; n++)
            block[n] = *p++;
        sha256_add(h, block, n);
        size -= n;
    }
}

/* Add the segments that nothing writes to; the commit is a variable.  The notes
 * and the header before them depend on the whole file. */
static int add_segments(struct dl_phdr_info *info, size_t size UNUSED,
                        void *hash)
{
    const ElfW(Phdr) *p = info->dlpi_phdr + info->dlpi_phnum;
    ElfW(Addr) notes = 0; /* where they end; their headers come last */

    while (p-- > info->dlpi_phdr) {
        const ElfW(Addr) end = p->p_vaddr + p->p_filesz;
        const ElfW(Addr) at =
            p->p_vaddr < notes && notes < end ? notes : p->p_vaddr;

        if (p->p_type == PT_NOTE && end > notes)
            notes = end;
        if (p->p_type == PT_LOAD && !(p->p_flags & PF_W))
            add_memory(hash, (const void *)(info->dlpi_addr + at), end - at);
    }
    return 1; /* the libraries follow */
}

char *program_hash(char out[SHA256_TEXT])
{
    struct sha256 h;

    sha256_init(&h);
    dl_iterate_phdr(add_segments, &h);
    sha256_text(&h, out);
    return out;
}

/* Obey the options of the program itself; an unknown option is an error. */
static int run_own(const struct program *p, char *unknown, struct err *e)
{
    char *words[] = { NULL, unknown, NULL };
    struct opt table[MAX_TABLE];

    join(table, program_opts, common_opts);
    if (unknown && opt_parse(table, 2, words, e) < 0)
        return -1;
    if (want_dump) {
        dump(p);
    } else if (want_version) {
        printf("%s %s", p->name, PACKAGE_VERSION);
        if (program_commit && *program_commit)
            printf(" (commit %s)", program_commit);
        putchar('\n');
        if (verbose)
            printf("guards: %s\nsandbox: %s\n", GUARDS, confine_name());
        if (verbose && p->describe)
            p->describe();
    } else {
        help(p);
    }
    return 0;
}

static int find_and_run(const struct program *p, int argc, char **argv,
                        struct err *e)
{
    struct head h = read_head(p, argc, argv);
    const struct cmd *c;
    const char *name;

    /* PROGRAM help COMMAND is the same as PROGRAM COMMAND --help */
    if (h.end < argc && strcmp(argv[h.end], "help") == 0) {
        memmove(argv + h.end, argv + h.end + 1,
                (size_t)(argc - h.end) * sizeof *argv);
        h = read_head(p, --argc, argv);
        want_help = true;
    }
    if (h.own)
        return run_own(p, h.unknown, e);
    if (p->bare && h.end > 1 && (h.end == argc || !is_cmd(p, argv[h.end]))) {
        name = p->bare;
    } else if (h.end == argc) {
        if (h.unknown || want_help)
            return run_own(p, h.unknown, e);
        if (argc == 1) {
            help(p);
            return err_usage(e, "%s", "");
        }
        return err_usage(e, "a command is expected; try '%s --help'", p->name);
    } else { /* options before a command are those after it */
        char *word = argv[h.end];

        name = word;
        memmove(argv + 2, argv + 1, (size_t)(h.end - 1) * sizeof *argv);
        argv[1] = word;
        argc--;
        argv++;
    }
    if (p->file && !is_cmd(p, name) && access(name, R_OK) == 0)
        return err_usage(e, "unknown command '%s'; did you mean '--%s %s'?",
                         name, p->file, name);
    c = opt_find_cmd(p->cmds, name, e);
    return c ? run_cmd(p, c, argc, argv, e) : -1;
}

/* The reader has closed the pipe, which is no failure: "| head". */
static bool reader_is_gone(void)
{
    struct pollfd p = { STDOUT_FILENO, POLLOUT, 0 };

    return poll(&p, 1, 0) == 1 && (p.revents & POLLERR);
}

/* An earlier write may have failed although the last one succeeded. */
static void finish_output(struct err *e)
{
    const bool failed = ferror(stdout);

    if (fflush(stdout) != 0 && errno != EPIPE)
        err_sys(e, "cannot write standard output");
    else if (failed && !reader_is_gone())
        err_set(e, ERR_SYSTEM,
                "cannot write standard output: some of it is missing");
}

/* End as a command ended: with its status, or by its signal. */
static int end_as(int status)
{
    const struct rlimit no_core = { 0, 0 };

    if (status >= 0)
        return status;
    setrlimit(RLIMIT_CORE, &no_core); /* the command has left one */
    signal(-status, SIG_DFL);
    raise(-status);
    return 128 - status;
}

/* A file would get the number of a stream that is closed, and messages or
 * output would go into it.  As before, a closed one cannot be read or written,
 * but messages vanish. */
static bool fill_streams(void)
{
    static const int mode[] = { O_WRONLY, O_RDONLY, O_WRONLY };

    for (int i = 0; i < 3; i++)
        if (fcntl(i, F_GETFD) < 0 && open("/dev/null", mode[i]) != i)
            return false;
    return true;
}

/* The stack of a thread is as large as the limit allows, and text is read in
 * blocks of 64 KiB. */
static int check_stack(struct err *e)
{
    enum { LEAST = 128 << 10 };
    struct rlimit stack;

    if (getrlimit(RLIMIT_STACK, &stack) < 0 || stack.rlim_cur >= LEAST)
        return 0;
    return err_set(e, ERR_SYSTEM,
                   "a stack of %lld KiB is too small; 'ulimit -s 8192' "
                   "allows a larger one",
                   (long long)(stack.rlim_cur >> 10));
}

int program_main(const struct program *p, int argc, char **argv)
{
    struct err e = { 0 };

    if (!fill_streams())
        return err_status(ERR_SYSTEM);
    free(given);
    given = xcalloc((size_t)argc + 1, sizeof *given);
    memcpy(given, argv, (size_t)argc * sizeof *given);
    sig_ignore_writes();
    prctl(PR_SET_NAME, p->name); /* a rank runs /proc/self/exe */
    set_level(p);
    if (check_stack(&e) == 0 && find_and_run(p, argc, argv, &e) == 0)
        finish_output(&e);
    if (e.kind != ERR_NONE && *e.text)
        log_error("%s", e.text);
    if (e.kind == ERR_COMMAND)
        return end_as(e.sys);
    return err_status(e.kind == ERR_NONE && log_lacks() ? ERR_SYSTEM : e.kind);
}

const struct cmd *program_command(void)
{
    return running;
}

char *const *program_words(void)
{
    return given;
}

struct call {
    const struct program *program;
    const struct program_limits *limits;
    int argc;
    char **argv;
};

static int call_main(void *arg)
{
    const struct rlimit most = { MOST_SECS, MOST_SECS };
    const struct call *c = arg;

    limits = c->limits;
    setrlimit(RLIMIT_CPU, &most);
    return program_main(c->program, c->argc, c->argv);
}

int program_call(const struct program *p, const char *const *argv,
                 const struct program_limits *l, struct spawn *s, struct err *e)
{
    struct call c = { .program = p,
                      .limits = l,
                      .argv = (char **)(uintptr_t)argv };

    while (argv[c.argc])
        c.argc++;
    s->whole = true;
    return spawn_call(p->name, call_main, &c, s, e);
}
