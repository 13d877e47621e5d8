#pragma once

#include "common/buf.h"
#include "common/err.h"
#include "common/output/table.h"
#include "common/sha256.h"

/*
 * stamp - the command that drew a figure, and the hash of what it drew
 *
 *      char *text = stamp_make(hash, words, path);
 *
 *      stamp_embed(&image, "png", text);
 *      ...
 *      if (stamp_find(&s, &file, e) == 0)
 *          ... s.hash, s.word, s.n ...
 *      stamp_clear(&s);
 *
 * A stamp is one line of ASCII, which may stand in a comment of any format:
 *
 *      gplot-figure/2 HASH WORD...;
 *
 * Characters that could end a comment, or the stamp, are written as %XX.  The
 * hash is that of figure_hash().  Older stamps lack the /2, and have the
 * SHA-256 of what --data prints.
 */
struct stamp {
    char hash[SHA256_TEXT];
    bool of_text; /* the hash is that of a text */
    char **word;  /* the arguments of gplot, ended by NULL */
    size_t n, room;
    size_t at; /* where it begins in the file */
};

/* The stamp of a command, whose words are ended by NULL, which draws data with
 * this hash to the file `output`; the caller frees it.  It does not name that
 * file, so that a figure has the same bytes under any name. */
char *stamp_make(const char *hash, char *const *words, const char *output);

/* Add the stamp to an image in this format: png svg html pdf eps.  In LaTeX it
 * is a comment of the figure (struct figure).  Other formats have no place for
 * it. */
void stamp_embed(struct buf *image, const char *form, const char *stamp);

/* The stamp of a file.  ERR_MISSING if it has none. */
int stamp_find(struct stamp *, const struct buf *file, struct err *);
void stamp_clear(struct stamp *);

/*
 * stamped - whether a figure shows what the runs say now
 *
 *      const enum stamped result = stamped_check(path, secs, &command, &why);
 *
 *      table_text(&t, path);
 *      stamped_add(&t, result, &why);
 *
 * The command in the stamp of the figure computes its data again, in the
 * current folder.  It runs in a child process, which gives up the same rights
 * as gplot does before it reads a store; a figure may come from anybody.  It is
 * killed after `secs`, or, by sig_caught(), when a signal has come.
 */
enum { STAMPED_SECS = 600 }; /* enough for all figures of a report */

enum stamped {
    STAMPED_EQUAL,
    STAMPED_DIFFERS,
    STAMPED_PICTURE, /* the data are equal, but the command draws other bytes */
    STAMPED_UNKNOWN, /* the error says why */
    STAMPED_NONE,    /* the file has no stamp */
};

/* Append the command of the stamp, if there is one. */
enum stamped stamped_check(const char *path, double secs, struct buf *command,
                           struct err *why);
/* A cell with the result in a word, or with the error. */
void stamped_add(struct table *, enum stamped, const struct err *why);
