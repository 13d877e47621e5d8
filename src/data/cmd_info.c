/*
 * gdata info - say what files of tokens or text hold
 */
#include "config.h"
#include "data/cmds.h"

#include <stdio.h>

#include "common/num.h"
#include "data/shard.h"

const struct opt info_opts[] = { { 0 } };

static int show(const char *path, struct err *e)
{
    struct shard s;
    char count[NUM_TEXT];

    if (shard_open(&s, path, 0, e) < 0)
        return -1;
    printf("%s: %s, uint%d, %s tokens\n", path, shard_format_name(s.format),
           8 * s.width, num_comma(count, s.n));
    shard_close(&s);
    return 0;
}

int cmd_info(int argc, char **argv, struct err *e)
{
    if (argc == 0)
        return err_set(e, ERR_USAGE, "info of which file?");
    for (int i = 0; i < argc; i++)
        if (show(argv[i], e) < 0)
            return -1;
    return 0;
}
