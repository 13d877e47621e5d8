/*
 * gdata lock - identify the data of a run in a data.lock
 */
#include "config.h"

#include <string.h>

#include "common/log.h"
#include "common/num.h"
#include "common/opt.h"
#include "data/shards/lock.h"

static const char *output = "data.lock", *command, *source;
static struct opt_list text, fit, eval, tokenizer;

static const struct opt lock_opts[] = {
    { 'o', "output", "file", OPT_STRING, &output,
      "write to FILE (default: data.lock)" },
    { 0, "text", "path", OPT_LIST, &text,
      "add text that the shards were encoded from" },
    { 0, "fit", "path", OPT_LIST, &fit,
      "add text that the tokenizer was trained on" },
    { 0, "eval", "path", OPT_LIST, &eval, "add evaluation text" },
    { 0, "source", "list", OPT_STRING, &source,
      "add the shards of the sources in LIST, as data.train has it" },
    { 'T', "tokenizer", "path", OPT_LIST, &tokenizer, "add the tokenizer" },
    { 0, "command", "text", OPT_STRING, &command,
      "store TEXT, the command that wrote the shards" },
    { 0 }
};

static int lock_main(int argc, char **argv, struct err *e)
{
    const struct {
        enum lock_role role;
        const struct opt_list *paths;
    } lists[] = {
        { LOCK_TEXT, &text },
        { LOCK_FIT, &fit },
        { LOCK_EVAL, &eval },
        { LOCK_TOKENIZER, &tokenizer },
    };
    char count[NUM_TEXT];
    AUTO(lock_clear) struct lock l = { 0 };
    int ret = 0;

    lock_init(&l, output);
    l.command = command;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        for (size_t k = 0; k < lists[i].paths->n && ret == 0; k++)
            ret = lock_add(&l, lists[i].role, lists[i].paths->item[k], e);
    for (int i = 0; i < argc && ret == 0; i++)
        ret = lock_add(&l, LOCK_TOKENS, argv[i], e);
    if (ret < 0 || (source && lock_add_sources(&l, source, e) < 0))
        return -1;
    if (l.n == 0)
        return err_usage(e, "name the files to lock");
    if (command && strchr(command, '\n'))
        return err_usage(e, "--command expects one line");
    if (lock_write(&l, output, e) < 0)
        return -1;
    log_info("%s lists %s", output, num_count(count, (int64_t)l.n, "file"));
    return 0;
}

const struct cmd cmd_lock = {
    .name = "lock",
    .args = "[FILE]...",
    .help = "write a data.lock, which identifies the data",
    .opts = lock_opts,
    .output = &output,
    .run = lock_main,
};
