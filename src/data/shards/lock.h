#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/err.h"
#include "common/mem.h"
#include "common/sha256.h"

/*
 * lock - data.lock, a small text file that identifies the data
 *
 *      # data.lock 1
 *      command gdata encode --tokenizer tok -o data/c4 ...
 *      vocabulary 2c26b46b... 50257
 *      eot first
 *      chat {{ bos_token }}{% for m in messages %}...
 *      clean 8d969eef...
 *      dropped gopher.words_min 50 321
 *      text 9f86d081...  1115394 corpus/train.jsonl
 *      fit 9f86d081...  1115394 corpus/train.jsonl
 *      eval 60303ae2...  61303 corpus/val.jsonl
 *      tokenizer 1b4f0e98...  482113 tok/tokenizer.json
 *      tokens fd61a03a...  668222 data/train_000000.bin
 *      tokens:wiki 5feceb66...  33890 data/wiki_000000.bin
 *
 * A line has a role, the SHA-256 of a file, its size, and its path relative to
 * the folder of the lock.  Shards may have the source that they are in a
 * mixture.  Lines are sorted by role and path, so the same data gives the same
 * text.  lock_add() adds a file, or all files of a folder except locks.
 *
 * The vocabulary is the tokenizer_hash() and the number of ids of the tokenizer
 * that encoded the shards, and eot tells where documents have their end-of-text
 * token; chat is the template of conversations (chat_template_jinja()).  With
 * --clean, the lock has the hash of the file of rules, and of each rule the
 * limit and how many documents it dropped; these are not read.  gdata encode
 * writes this to PREFIX.tokens.lock; sink_join() compares the command of parts.
 */
enum lock_role {
    LOCK_TEXT, /* what the tokens were encoded from */
    LOCK_FIT,  /* what the tokenizer was trained on */
    LOCK_EVAL, /* evaluation text */
    LOCK_TOKENIZER,
    LOCK_TOKENS,
    LOCK_ROLES
};

struct lock_entry {
    enum lock_role role;
    char sha256[SHA256_TEXT];
    int64_t size;
    const char *path;   /* in the arena of the lock */
    const char *source; /* likewise; "" without one */
};

struct lock {
    struct arena mem;
    const char *path;    /* of the lock */
    const char *folder;  /* paths are relative to it */
    const char *command; /* or NULL */
    char vocabulary[SHA256_TEXT];
    int64_t ids;      /* of the vocabulary; 0: it is not known */
    const char *eot;  /* first, last, none, or NULL */
    const char *chat; /* template of conversations, or NULL */
    struct buf clean; /* lines about dropped documents */
    struct lock_entry *entry;
    size_t n, room;
};

void lock_init(struct lock *, const char *path); /* where it will be written */
int lock_add(struct lock *, enum lock_role, const char *path, struct err *);
/* Add the shards of sources, as the setting data.train names them. */
int lock_add_sources(struct lock *, const char *sources, struct err *);
/* Add a shard; its hash is "" if it must be computed. */
int lock_add_shard(struct lock *, const char *path, const char *sha256,
                   int64_t size, struct err *);
int lock_write(struct lock *, const char *path, struct err *);
int lock_load(struct lock *, const char *path, struct err *);
void lock_clear(struct lock *);

extern const char *const lock_roles[LOCK_ROLES]; /* their names */

/* The path of an entry from the current folder; the caller frees it. */
char *lock_path(const struct lock *, const struct lock_entry *);

/* The entry of a shard, or NULL. */
const struct lock_entry *lock_entry_of(const struct lock *, const char *shard);

/* Find a lock in the folder of a shard that lists it and has a vocabulary;
 * false if there is none.  The caller clears it in any case. */
bool lock_find(struct lock *, const char *shard);

/* The width of the ids of a raw shard by its lock, else by the tokenizer, else
 * 0, which is not known. */
struct tokenizer;
int lock_width(const char *shard, const struct tokenizer *);

/* Fails if the shard was encoded with another tokenizer, as far as is known. */
int lock_same_tokenizer(const char *shard, const struct tokenizer *,
                        struct err *);

/*
 * Compare shards and the tokenizer (NULL and "" without one) with the locks in
 * the folder of the shards: the sizes of all files, and the content of the
 * tokenizer and of the smallest shard, which differs if the text or the
 * tokenizer was another one.  gdata verify compares everything.  A shard may
 * not be listed as one of another source; `source` may be "".  *chat
 * becomes the template that a lock has, unless it has one; the caller frees it.
 */
struct loader;
int lock_check(const struct loader *, const char *source,
               const struct tokenizer *, const char *tokenizer_path,
               char **chat, struct err *);

/* The path of a shard that does not exist although a lock in the folder of the
 * shards lists it; NULL if there is none.  The caller frees it. */
char *lock_missing(const struct loader *);

/* Store the SHA-256 of the hashes of all shards; false unless the locks in
 * their folder list all of them. */
bool lock_recorded(const struct loader *, char out[SHA256_TEXT]);
