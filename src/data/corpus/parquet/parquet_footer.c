/*
 * parquet_footer - the schema and the row groups
 *
 * Field numbers are those in parquet.thrift of the Apache Parquet format.
 */
#include "config.h"
#include "data/corpus/parquet/parquet_footer.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "data/corpus/parquet/thrift.h"

enum { OPTIONAL = 1, LIST = 3, DEPTH_MOST = 64 };

int parquet_damaged(struct err *e, const char *what)
{
    return err_set(e, ERR_INPUT, "damaged Parquet file: %s", what);
}

struct schema_element {
    int64_t type, repetition, children, converted, logical;
    const char *name;
    size_t len;
};

/* The number of the member that a union has, or -1. */
static int64_t read_union(struct thrift *t)
{
    struct thrift_field f;
    int64_t id = -1;

    thrift_begin(t);
    while (thrift_field(t, &f)) {
        id = f.id;
        thrift_skip(t, f.type);
    }
    return id;
}

static struct schema_element read_element(struct thrift *t)
{
    struct schema_element s = {
        .type = -1, .name = "", .converted = -1, .logical = -1
    };
    int64_t *const to[] = { [1] = &s.type,
                            [3] = &s.repetition,
                            [5] = &s.children,
                            [6] = &s.converted };
    struct thrift_field f;

    thrift_begin(t);
    while (thrift_field(t, &f))
        if (f.id == 4)
            s.name = thrift_text(t, &s.len);
        else if (f.id == 10 && f.type == THRIFT_STRUCT)
            s.logical = read_union(t);
        else
            thrift_store(t, &f, to, 7);
    return s;
}

void parquet_column_clear(struct parquet_column *c)
{
    for (size_t i = 0; i < c->n_all; i++)
        free(c->all[i].name);
    FREE(c->all, c->group);
}

/* Where an element of the tree is. */
struct place {
    const char *path;
    struct parquet_leaf of; /* what its columns have */
    int bare;               /* as many levels below have no names in the path */
    int depth;
};

/* Add the columns of the next element.  In the usual form of a list, its
 * element is within a group that is repeated, in a group that is not. */
static void read_tree(struct parquet_column *c, struct thrift *t, size_t *left,
                      const struct place *above)
{
    const struct schema_element s = read_element(t);
    struct place at = *above;
    char *path = above->bare > 0
                     ? xstrdup(above->path)
                     : xasprintf("%s%s%.*s", above->path,
                                 *above->path ? "." : "", (int)s.len, s.name);

    --*left;
    at.path = path;
    at.of.nulls += s.repetition != 0;
    at.of.nested |=
        at.of.list > 0 && (s.repetition > OPTIONAL || above->bare == 0);
    if (s.repetition > OPTIONAL)
        at.of.list = at.of.nulls;
    at.bare = s.converted == LIST || s.logical == LIST ? 2
              : above->bare == 2 && s.children == 1    ? 1
                                                       : 0;
    if (s.children > (int64_t)*left || ++at.depth > DEPTH_MOST) {
        t->bad = true;
    } else if (s.children > 0) {
        for (int64_t i = 0; i<s.children && * left> 0 && !t->bad; i++)
            read_tree(c, t, left, &at);
    } else {
        at.of.type = s.type;
        at.of.converted = s.converted;
        at.of.logical = s.logical;
        at.of.name = path;
        APPEND(c->all, c->n_all, c->all_room) = at.of;
        return;
    }
    free(path);
}

/* Find the column in the tree of columns, which is stored depth first. */
static int read_schema(struct parquet_column *c, struct thrift *t,
                       struct err *e)
{
    const struct place top = { .path = "" };
    enum thrift_type type;
    size_t left = thrift_list(t, &type);

    if (left-- > 0)
        read_element(t); /* the root */
    while (left > 0 && !t->bad)
        read_tree(c, t, &left, &top);
    if (t->bad)
        return parquet_damaged(e, "invalid schema");
    for (size_t i = 0; i < c->n_all && c->name; i++) {
        if (strcmp(c->all[i].name, c->name) != 0)
            continue;
        if (c->leaf >= 0)
            return err_set(e, ERR_INPUT, "two columns are named \"%s\"",
                           c->name);
        c->leaf = (int)i;
    }
    if (c->leaf < 0 && c->name)
        return err_set(e, ERR_INPUT, "there is no column \"%s\"", c->name);
    return 0;
}

static void read_column(struct thrift *t, struct parquet_group *g)
{
    int64_t dictionary = 0;
    int64_t *const to[] = { [4] = &g->codec,
                            [5] = &g->values,
                            [7] = &g->size,
                            [9] = &g->offset,
                            [11] = &dictionary };
    struct thrift_field f;

    thrift_begin(t);
    while (thrift_field(t, &f))
        thrift_store(t, &f, to, 12);
    if (dictionary > 0 && dictionary < g->offset)
        g->offset = dictionary;
}

/* A column may be encrypted while the footer is not. */
static void read_chunk(struct parquet_column *c, struct thrift *t,
                       struct parquet_group *g)
{
    struct thrift_field f;

    thrift_begin(t);
    while (thrift_field(t, &f)) {
        c->encrypted = c->encrypted || f.id == 8;
        if (f.id == 3 && f.type == THRIFT_STRUCT)
            read_column(t, g);
        else
            thrift_skip(t, f.type);
    }
}

static void read_group(struct parquet_column *c, struct thrift *t)
{
    struct parquet_group g = { .offset = -1 };
    struct thrift_field f;
    enum thrift_type type;

    thrift_begin(t);
    while (thrift_field(t, &f)) {
        if (f.id == 1 && f.type == THRIFT_LIST) {
            const size_t n = thrift_list(t, &type);

            for (size_t i = 0; i < n && !t->bad; i++)
                if ((int64_t)i == c->leaf)
                    read_chunk(c, t, &g);
                else
                    thrift_skip(t, type);
        } else if (f.id == 3) {
            g.rows = thrift_int(t);
        } else {
            thrift_skip(t, f.type);
        }
    }
    APPEND(c->group, c->n, c->room) = g;
}

/* The schema has the lower field number, so it comes before the row groups. */
static int read_footer(struct parquet_column *c, const uint8_t *at, size_t n,
                       struct err *e)
{
    struct thrift t = { .at = at, .end = at + n };
    struct thrift_field f;
    enum thrift_type type;

    c->leaf = -1;
    thrift_begin(&t);
    while (thrift_field(&t, &f)) {
        if (f.id == 2 && f.type == THRIFT_LIST) {
            if (read_schema(c, &t, e) < 0)
                return -1;
        } else if (f.id == 4 && f.type == THRIFT_LIST && c->n_all > 0) {
            const size_t groups = thrift_list(&t, &type);

            for (size_t i = 0; i < groups && !t.bad; i++)
                read_group(c, &t);
        } else {
            thrift_skip(&t, f.type);
        }
    }
    if (c->encrypted)
        return err_set(e, ERR_INPUT, "the column \"%s\" is encrypted", c->name);
    return t.bad || c->n_all == 0 ? parquet_damaged(e, "invalid footer") : 0;
}

int parquet_footer(struct parquet_column *c, const uint8_t *file, size_t size,
                   struct err *e)
{
    const uint8_t *tail = file + size - 8;
    uint32_t n;

    if (size < 12 || memcmp(file, "PAR", 3) != 0)
        return err_set(e, ERR_INPUT, "this is not a Parquet file");
    if (memcmp(tail + 4, "PARE", 4) == 0)
        return err_set(e, ERR_INPUT, "the Parquet file is encrypted");
    if (memcmp(tail + 4, "PAR1", 4) != 0)
        return err_set(e, ERR_INPUT,
                       "the Parquet footer is missing; was the download "
                       "interrupted?");
    memcpy(&n, tail, sizeof n);
    if (n > size - 12)
        return parquet_damaged(e, "invalid size of the footer");
    return read_footer(c, tail - n, n, e);
}
