#include "config.h"
#include "track/complete_program.h"

#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/spawn.h"

enum { COMMAND, LETTER, NAME, ARG, HELP, WORDS, FIELDS };

struct reading {
    struct complete_program *to;
    struct cmd *cmd; /* the last one, with n_opts options so far */
    struct opt *opts;
    size_t n_cmds, n_opts;
};

/* "a|b" as a list. */
static const char *const *split_words(struct arena *mem, char *text)
{
    const char **list = NULL, *word;
    size_t n = 0;

    if (!*text)
        return NULL;
    while ((word = strsep(&text, "|"))) {
        list = arena_grow(mem, list, n, sizeof *list);
        list[n++] = word;
    }
    list = arena_grow(mem, list, n, sizeof *list);
    list[n] = NULL;
    return list;
}

/* The options of the last command end here. */
static void end_cmd(struct reading *r)
{
    if (!r->cmd)
        return;
    r->opts = arena_grow(&r->to->mem, r->opts, r->n_opts, sizeof *r->opts);
    r->opts[r->n_opts] = (struct opt){ 0 };
    r->cmd->opts = r->opts;
    r->opts = NULL;
    r->n_opts = 0;
}

static void add_cmd(struct reading *r, char **field)
{
    struct arena *mem = &r->to->mem;

    end_cmd(r);
    r->cmd = arena_alloc(mem, sizeof *r->cmd);
    *r->cmd = (struct cmd){ .name = field[COMMAND],
                            .args = *field[ARG] ? field[ARG] : NULL,
                            .help = field[HELP] };
    r->to->cmds = arena_grow(mem, r->to->cmds, r->n_cmds, sizeof *r->to->cmds);
    r->to->cmds[r->n_cmds++] = r->cmd;
}

static void add_opt(struct reading *r, char **field)
{
    struct arena *mem = &r->to->mem;

    r->opts = arena_grow(mem, r->opts, r->n_opts, sizeof *r->opts);
    r->opts[r->n_opts++] = (struct opt){
        .letter = *field[LETTER] == '-' ? '\0' : *field[LETTER],
        .name = field[NAME],
        .arg = *field[ARG] ? field[ARG] : NULL,
        .help = field[HELP],
        .words = split_words(mem, field[WORDS]),
    };
}

static void add_setting(struct complete_program *p, char **field)
{
    p->setting =
        arena_grow(&p->mem, p->setting, p->n_settings, sizeof *p->setting);
    p->setting[p->n_settings++] = (struct complete_setting){
        .key = field[ARG],
        .help = field[HELP],
        .words = split_words(&p->mem, field[WORDS]),
    };
}

static void add_line(struct reading *r, char *line)
{
    char *field[FIELDS];

    for (int i = 0; i < FIELDS; i++) {
        field[i] = strsep(&line, "\t");
        if (!field[i])
            return;
    }
    if (*field[COMMAND] && !*field[NAME])
        add_cmd(r, field);
    else if (*field[COMMAND] && r->cmd)
        add_opt(r, field);
    else if (!*field[NAME])
        add_setting(r->to, field);
}

int complete_program_load(struct complete_program *p, const char *name,
                          struct err *e)
{
    char *path = spawn_find(name, e);
    const char *const argv[] = { path, "--dump-options", NULL };
    struct buf out = BUF_INIT, words = BUF_INIT;
    struct spawn s = { .out = &out, .words = &words, .secs = 5 };
    struct reading r = { .to = p };
    int ret = path ? spawn_run(argv, &s, e) : -1;
    char *at, *line;

    *p = (struct complete_program){ .mem = ARENA_INIT };
    at = arena_strdup(&p->mem, ret == 0 ? out.s : "");
    while ((line = strsep(&at, "\n")))
        add_line(&r, line);
    end_cmd(&r);
    p->cmds = arena_grow(&p->mem, p->cmds, r.n_cmds, sizeof *p->cmds);
    p->cmds[r.n_cmds] = NULL;
    buf_clear(&words);
    buf_clear(&out);
    free(path);
    return ret;
}

void complete_program_clear(struct complete_program *p)
{
    arena_clear(&p->mem);
}
