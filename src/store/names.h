#ifndef STORE_NAMES_H
#define STORE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

/*
 * names - from the keys that a program uses to the files of a run
 *
 *      file = names_find(&names, "loss", &fresh);
 *
 * A legal key is its own file.  Another is made legal (key_clean), and a key
 * that cannot be a file because it is a folder, or the reverse (`loss` beside
 * `loss/val`), gets "_" at its end, as does one whose file another key has.
 * One struct names is for one of metrics, params and tags.
 */
struct names {
    char *folder; /* RUN/metrics */
    struct names_entry {
        char *key, *file;
    } * item;
    size_t n, room;
};

void names_init(struct names *, const char *run, const char *kind);
void names_clear(struct names *);

/* The file of a key, inside the folder.  *fresh says that the key was not
 * known. */
const char *names_find(struct names *, const char *key, bool *fresh);
/* What an earlier attempt called it. */
void names_set(struct names *, const char *key, const char *file);

#endif
