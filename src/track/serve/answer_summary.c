/*
 * answer_summary - what a report says of runs: the best one, where they come
 * from, their commands, and a sample
 */
#include "config.h"

#include <stdlib.h>

#include "common/output/emit.h"
#include "common/output/table.h"
#include "track/report/report.h"
#include "track/serve/chosen.h"

/* The columns that have a cell, and the rows of these. */
static void write_origin(struct emit *o, const struct run_set *set)
{
    struct table t = TABLE_INIT("");
    bool *used;

    facts_table(set, &t);
    used = xcalloc(t.n_columns, sizeof *used);
    for (size_t i = 0; i < set->n; i++)
        for (size_t j = 0; j < t.n_columns; j++)
            used[j] |= table_cell(&t, i, j)->type != TABLE_NONE;
    emit_array(o, "origin");
    emit_array(o, NULL);
    for (size_t j = 0; j < t.n_columns; j++)
        if (used[j])
            emit_text(o, NULL, t.column[j]);
    emit_array_end(o);
    for (size_t i = 0; i < set->n; i++) {
        emit_array(o, NULL);
        for (size_t j = 0; j < t.n_columns; j++) {
            struct buf text = BUF_INIT;

            table_cell_text(&text, table_cell(&t, i, j), -1);
            if (used[j])
                emit_text(o, NULL, text.s);
            buf_clear(&text);
        }
        emit_array_end(o);
    }
    emit_array_end(o);
    free(used);
    table_clear(&t);
}

int answer_summary(struct site *s, struct query *q, struct answer *a,
                   struct err *e)
{
    struct emit o = { .b = &a->body };
    struct buf best = BUF_INIT, commands = BUF_INIT, sample = BUF_INIT;
    struct arena mem = { 0 };
    struct run_set set;
    struct chosen chosen;
    const struct runs *runs = &chosen.runs;
    size_t at;

    if (chosen_open(&chosen, s, q, e) < 0)
        return -1;
    run_set_init(&set, runs->run, runs->n, &mem);
    at = runs->n ? facts_best(&set, &best) : 0;
    if (at < runs->n)
        facts_sample(&runs->run[at], &sample);
    facts_commands(&set, &commands);
    emit_object(&o, NULL);
    emit_text(&o, "best", best.len ? best.s : NULL);
    write_origin(&o, &set);
    emit_text(&o, "commands", commands.len ? commands.s : NULL);
    emit_text(&o, "sample", sample.len ? sample.s : NULL);
    emit_object_end(&o);
    buf_clear(&best);
    buf_clear(&commands);
    buf_clear(&sample);
    arena_clear(&mem);
    chosen_close(&chosen);
    return 0;
}
