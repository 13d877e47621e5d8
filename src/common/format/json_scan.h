#pragma once

#include <stddef.h>

/*
 * json_scan - walk through large JSON without building a tree
 *
 *      struct json_scan s = { .at = text, .end = text + n };
 *
 *      for (more = json_scan_enter(&s, '{'); more;
 *           more = json_scan_next(&s, '{'))
 *          if (more < 0 || json_scan_name(&s, &name, &len) < 0 ||
 *              json_scan_skip(&s) < 0)
 *              return err_input(e, "byte %zu: %s",
 *                             (size_t)(s.at - text), s.why);
 *
 * jansson reads all other JSON.  This is for the two places where its tree
 * takes longer than the work itself, a corpus in JSON Lines (83 MB/s with
 * jansson, 1550 MB/s here) and the vocabulary and merges of a tokenizer; and to
 * find the events of a trace of threads, a million of which would be a tree of
 * 1.3 GB.
 *
 * It reads RFC 8259 and Python's extension of it with NaN and infinities.
 * Strings are unescaped in place, so the text changes.  A lone surrogate
 * (\ud800) becomes U+FFFD, and bytes that are not UTF-8 are kept.  Functions
 * return -1 if the text is not JSON; then `why` says what is wrong at `at`.
 */
struct json_scan {
    char *at, *end;
    const char *why;
};

int json_scan_fail(struct json_scan *, const char *why); /* returns -1 */

void json_scan_blanks(struct json_scan *);

/* Enter an array ('[') or object ('{'): 1 if it has elements, 0 if it is empty,
 * -1 if there is none. */
int json_scan_enter(struct json_scan *, char kind);

/* After an element: 1 if another one follows, 0 after the closing bracket. */
int json_scan_next(struct json_scan *, char kind);

/* Read a string; or the name of a member and its colon. */
int json_scan_string(struct json_scan *, char **text, size_t *len);
int json_scan_name(struct json_scan *, char **text, size_t *len);

/* Skip any value, without recursion. */
int json_scan_skip(struct json_scan *);
