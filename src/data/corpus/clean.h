#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/sha256.h"
#include "data/corpus/corpus.h"
#include "data/corpus/grams.h"
#include "data/corpus/hashset.h"

/*
 * clean - find the documents that are not worth training on
 *
 *      struct clean rules;
 *      double value;
 *
 *      if (clean_load(&rules, "clean-gopher.ini", e) == 0 &&
 *          clean_test(&rules, &doc, &value, count) < 0)
 *          use(doc.text, doc.len);
 *      clean_clear(&rules);
 *      clean_unload(&rules);
 *
 * A file of settings says which of the rules in clean_rules.def apply, and with
 * which limits.  Words are what white space separates, and lengths are in
 * characters.
 */
enum clean_rule {
#define RULE(id, ...) CLEAN_##id,
#include "data/corpus/clean_rules.def"
    CLEAN_RULES
};

extern const char *const clean_name[CLEAN_RULES]; /* "section.key" */

bool clean_is_of_lines(int rule); /* or of what it replaces */

struct clean {
    double limit[CLEAN_RULES]; /* NaN: the rule does not apply */
    bool edits;                /* does one of C4's? */
    struct buf kept;           /* what these keep */
    struct buf replaced;       /* what is kept, without personal data */
    uint8_t may_begin[3][256]; /* see count_phrases() */
    int64_t *count;            /* of clean_test() */
    struct grams grams;
    struct clean_list {
        struct hashset known; /* hashes of what entries begin with */
        bool whole;           /* must an entry be all of a host, or a line? */
        uint32_t *line;       /* by index, of an entry, or 0; NULL: no list */
        char sha256[SHA256_TEXT];
    } list[CLEAN_RULES];
    struct where *url; /* the field, if a list needs it, or NULL */
};

int clean_load(struct clean *, const char *path, struct err *);

/* One that has tested nothing may be copied, for another thread.
 *
 * The first rule that a document breaks, or -1; *value is what this rule
 * compares with its limit, or the line of the entry in a list.  What the rules
 * drop, remove and replace is counted in count[rule].  If the document is kept,
 * its text becomes what is left of it, which is valid until the next call.
 * With `url`, the document needs its line. */
int clean_test(struct clean *, struct corpus_doc *, double *value,
               int64_t count[CLEAN_RULES]);

/* The last part of clean_test(), for what is kept. */
void clean_replace(struct clean *, const char **text, size_t *n);

void clean_clear(struct clean *);  /* of a copy, too */
void clean_unload(struct clean *); /* the lists, once */

/* For clean_load(): read the list of a rule. */
struct conf;
int clean_read_list(struct clean *, int rule, const struct conf *,
                    const char *name, struct err *);

/* For clean_test(): the line of an entry of a list that a text has, or 0; and
 * those that the URL of a document has, by rule. */
double clean_find(const struct clean *, int rule, const char *text, size_t n);
void clean_find_in_url(const struct clean *, const struct corpus_doc *,
                       double *value);

const char *clean_host(const char *url, size_t *n); /* of *n bytes */
