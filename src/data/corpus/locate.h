#pragma once

#include "data/corpus/corpus.h"

/*
 * locate - find the file and the line that pieces of text come from
 *
 *      struct locate_piece piece[] = { { .text = text, .len = n }, ... };
 *
 *      if (locate_pieces(piece, n, &conf, e) < 0) ...
 *      printf("%s:%lld\n", piece[0].file, (long long)piece[0].line);
 *      locate_clear(piece, n);
 *
 * Reads the documents once, however many pieces there are, and stops when all
 * are found.  A piece is found where its first LOCATE_MOST bytes occur within a
 * document; the first such place counts.  Pieces shorter than LOCATE_LEAST
 * bytes are not looked for.
 */
enum { LOCATE_LEAST = 24, LOCATE_MOST = 512 };

struct locate_piece {
    const char *text;
    size_t len;
    char *file;   /* NULL: not found */
    int64_t line; /* of the piece in plain text, else of its document; in
                   * Parquet, the row */
};

int locate_pieces(struct locate_piece *, size_t n, const struct corpus_conf *,
                  struct err *);
void locate_clear(struct locate_piece *, size_t n);
