/*
 * answer_diff - what differs between two runs, as gtrack diff prints it
 */
#include "config.h"

#include "track/runs/diff_table.h"
#include "track/serve/site.h"

int answer_diff(struct site *s, struct query *q, struct answer *ans,
                struct err *e)
{
    const struct live *l = site_store(s, q, e);
    const struct run_info *a = l ? site_run(s, q, "a", e) : NULL;
    const struct run_info *b = a ? site_run(s, q, "b", e) : NULL;
    struct table t = TABLE_INIT("");
    struct buf command = BUF_INIT;

    if (!b)
        return -1;
    buf_str(&command, "gtrack diff");
    site_run_word(&command, l, a);
    site_run_word(&command, l, b);
    site_write_command(&ans->out, l, &command);
    diff_table_fill(&t, a, b, DIFF_LINES);
    site_write_table(&ans->out, "rows", &t, true);
    table_clear(&t);
    return 0;
}
