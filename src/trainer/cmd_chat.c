/*
 * gtrain chat - talk to a model that was trained on conversations
 */
#include "config.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/opt.h"
#include "common/output/emit.h"
#include "common/output/pager.h"
#include "common/save.h"
#include "common/sig.h"
#include "data/token/tokenizer.h"
#include "trainer/trained_model.h"
#include "trainer/training/sampler.h"

static struct trained_model model = { .micro_batch = 1 };
static const char *system_text;

static const struct opt chat_opts[] = {
    { 0, "system", "text", OPT_STRING, &system_text,
      "begin with TEXT as the message of the system" },
    { 0, "chat", "template", OPT_STRING, &model.chat,
      "the template, as for gdata encode (default: that of the data)" },
    TRAINED_MODEL_OPTS_TO_COMPUTE(model),
    { 0 }
};

struct chat {
    struct engine *engine;
    const struct chat_template *form;
    struct encoder *enc;
    struct sampler sampler;
    struct ids all;
    size_t fed;                     /* ids that the sampler has read */
    struct buf said;                /* the messages as JSON */
    size_t ids_before, said_before; /* the last answer */
    bool answered;
    bool forgets;  /* the conversation has become too long */
    bool terminal; /* a person types */
};

static void note(struct chat *c, const char *role, const char *text)
{
    struct emit o = { .b = &c->said, .comma = c->said.len > 0, .depth = 1 };

    emit_object(&o, NULL);
    emit_text(&o, "role", role);
    emit_text(&o, "content", text);
    emit_object_end(&o);
}

static void say(struct chat *c, const char *role, const char *text)
{
    note(c, role, text);
    chat_template_message(c->form, c->enc, role, text, strlen(text), 0,
                          &c->all);
}

/* Go back; the model reads what remains again. */
static void rewind_to(struct chat *c, size_t ids, size_t said)
{
    c->all.n = ids;
    buf_trim(&c->said, said);
    c->answered = false;
    c->fed = 0;
    c->sampler.read = 0;
}

/* As in training, a conversation begins with an end-of-text token. */
static void begin(struct chat *c, const char *text)
{
    const int32_t eot = tokenizer_eot(c->engine->data.tokenizer);

    rewind_to(c, 0, 0);
    c->forgets = false;
    if (eot >= 0)
        ids_add(&c->all, eot);
    chat_template_begin(c->form, 0, &c->all);
    if (text && *text)
        say(c, "system", text);
}

/* Let the model read what it has not read, or as much as it can. */
static int feed(struct chat *c, struct err *e)
{
    const size_t context = (size_t)c->engine->set->model.context;

    if (c->all.n > context && !c->forgets) {
        log_info("the conversation is longer than the model's context of %zu "
                 "tokens; from now on it forgets the beginning",
                 context);
        c->forgets = true;
    }
    if (c->fed == 0 && c->all.n > context)
        c->fed = c->all.n - context;
    if (sampler_read(&c->sampler, c->all.id + c->fed, c->all.n - c->fed, e) < 0)
        return -1;
    c->fed = c->all.n;
    return 0;
}

static void show(struct buf *text, size_t *shown, size_t until)
{
    pager_data(text->s + *shown, until - *shown, ERR_IGNORED);
    fflush(stdout);
    *shown = until;
}

/* Print an answer while it is generated.  A signal ends it. */
static int answer(struct chat *c, struct err *e)
{
    const struct tokenizer *t = c->engine->data.tokenizer;
    const int64_t most = c->engine->set->model.context;
    AUTO(buf_clear) struct buf text = BUF_INIT;
    size_t shown = 0;
    int ret;

    c->ids_before = c->all.n;
    c->said_before = c->said.len;
    chat_template_head(c->form, c->enc, "assistant", &c->all);
    ret = feed(c, e);
    for (int64_t i = 0; ret == 0 && i < most && !sig_caught(); i++) {
        const int32_t id = sampler_next(&c->sampler);

        if (id < 0)
            ret =
                err_set(e, ERR_NONFINITE, "the model's logits are not finite");
        if (id < 0 || id == c->form->end || id == tokenizer_eot(t))
            break;
        ids_add(&c->all, id);
        tokenizer_decode(t, &id, 1, &text);
        show(&text, &shown, pager_whole(text.s, text.len));
        ret = feed(c, e);
    }
    show(&text, &shown, text.len);
    putchar('\n');
    chat_template_tail(c->form, c->enc, &c->all);
    note(c, "assistant", text.s);
    c->answered = true;
    return ret;
}

/* Write the conversation as a line that 'gdata encode --chat' reads. */
static void save(const struct chat *c, const char *path)
{
    AUTO_FREE char *line = xasprintf("{\"messages\":[%s]}\n", c->said.s);
    struct err why = { 0 };

    if (save_text(path, line, &why) < 0)
        log_info("%s", why.text);
    else
        log_info("wrote %s", path);
}

/* The argument of a command, if the line is that command. */
static const char *argument(const char *line, const char *command)
{
    const size_t n = strlen(command);

    if (strncmp(line, command, n) != 0 || (line[n] && line[n] != ' '))
        return NULL;
    return line + n + strspn(line + n, " ");
}

/* Follow a command; 1 if it ends the program. */
static int obey(struct chat *c, const char *line, struct err *e)
{
    const char *text;

    if ((text = argument(line, "/system"))) {
        begin(c, text);
    } else if (argument(line, "/retry") && !c->answered) {
        log_info("there is no answer to generate again");
    } else if (argument(line, "/retry")) {
        rewind_to(c, c->ids_before, c->said_before);
        c->sampler.seed++;
        return answer(c, e);
    } else if ((text = argument(line, "/save")) && *text) {
        save(c, text);
    } else if (!argument(line, "/quit")) {
        log_info(
            "/system [TEXT] begins a new conversation, /retry generates the "
            "last answer again, /save FILE writes the conversation, and "
            "/quit ends; Ctrl-C ends an answer");
    }
    return argument(line, "/quit") != NULL;
}

/* False if a signal ended the program.  Signals are held until ppoll() waits,
 * so that none comes unnoticed before it. */
static bool wait_for_line(const struct chat *c)
{
    struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };
    sigset_t before;

    sigprocmask(SIG_BLOCK, NULL, &before);
    for (;;) {
        bool stopped;

        sig_hold();
        if (sig_caught() && sig_caught() != SIGINT)
            return false;
        sig_reset();
        if (c->terminal)
            printf("> ");
        fflush(stdout);
        stopped = ppoll(&in, 1, NULL, &before) < 0 && errno == EINTR;
        sig_watch();
        if (!stopped)
            return true;
        if (sig_caught() == SIGINT)
            log_info("/quit or Ctrl-D ends the program");
    }
}

static int talk(struct chat *c, struct err *e)
{
    AUTO_FREE char *line = NULL;
    size_t room = 0;
    ssize_t n;
    int ret = 0;

    setvbuf(stdin, NULL, _IONBF, 0); /* what is read ahead poll() cannot see */
    while (ret == 0 && wait_for_line(c) &&
           (n = getline(&line, &room, stdin)) >= 0) {
        n -= n > 0 && line[n - 1] == '\n';
        line[n] = '\0';
        if (*line == '/') {
            ret = obey(c, line, e);
        } else if (*line) {
            say(c, "user", line);
            ret = answer(c, e);
        }
    }
    if (ret == 0 && sig_caught())
        return err_set(e, ERR_INTERRUPTED, "stopped by a signal");
    return ret < 0 ? -1 : 0;
}

static int chat_with(struct engine *eng, struct err *e)
{
    struct chat c = { .engine = eng,
                      .form = &eng->data.form,
                      .said = BUF_INIT,
                      .terminal =
                          isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) };
    const struct tokenizer *t = eng->data.tokenizer;
    int ret;

    if (trained_model_chat(&model, eng, e) < 0)
        return -1;
    if (!c.form->tokenizer)
        return err_usage(e,
                         "the tokenizer of %s has no special tokens for "
                         "conversations; 'gtrain sample' continues texts",
                         model.path);
    ret = sampler_open(&c.sampler, eng, 1, INT64_MAX,
                       trained_model_bits[model.weights], false, e);
    c.enc = encoder_new(t, NULL, 0);
    if (ret == 0) {
        sig_watch();
        begin(&c, system_text);
        ret = talk(&c, e);
    }
    buf_clear(&c.said);
    ids_clear(&c.all);
    encoder_free(c.enc);
    sampler_close(&c.sampler);
    return ret;
}

static int chat_main(int argc, char **argv, struct err *e)
{
    return trained_model_run(&model, argc, argv, chat_with, e);
}

/* /save writes to this folder and those within it. */
static void confine_chat(void)
{
    trained_model_confine(&model, ".");
}

const struct cmd cmd_chat = {
    .name = "chat",
    .args = "[MODEL]",
    .help = "talk to a model that was trained on conversations",
    .opts = chat_opts,
    .confine = confine_chat,
    .run = chat_main,
};
