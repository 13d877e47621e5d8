#pragma once

/*
 * err - say what went wrong, once, in words a user can act on
 *
 * A function that can fail returns 0, or -1 after filling the struct err its
 * caller passed last.  The struct is a plain value on the caller's stack: it
 * holds its text, so reporting "out of memory" needs no memory, and nothing
 * has to be freed.
 *
 *      struct err e = { 0 };
 *      if (conf_read(&conf, path, false, &e) < 0)
 *          return err_wrap(&e, "reading %s", path);
 *
 * Only main() prints an err and chooses the exit status.
 */

/* Around what C defines and CUDA's C++ declares, too. */
#ifdef __cplusplus
#define BEGIN_EXTERN_C extern "C" {
#define END_EXTERN_C   }
#else
#define BEGIN_EXTERN_C
#define END_EXTERN_C
#endif

BEGIN_EXTERN_C

enum err_kind {
    ERR_NONE,
    ERR_SYSTEM,      /* a system call failed; disk, memory, permissions */
    ERR_INPUT,       /* a file is not what it should be */
    ERR_USAGE,       /* an option or a setting is wrong */
    ERR_MISSING,     /* a store, a run or a file does not exist */
    ERR_REMOTE,      /* a server refused, or could not be reached */
    ERR_NONFINITE,   /* training met a NaN, an infinity or a spike */
    ERR_RANK,        /* another process of the job died or hangs */
    ERR_BUSY,        /* another process writes the run or the folder */
    ERR_STOPPED,     /* a signal, after writing a checkpoint */
    ERR_INTERRUPTED, /* a signal, without a checkpoint */
    ERR_COMMAND,     /* a command that the user gave: sys is its status, or
                         * the signal that ended it, negative */
};

struct err {
    enum err_kind kind;
    int sys; /* errno at the time, or 0; see ERR_COMMAND */
    char text[496];
};

/* For a failure that nobody is told of. */
#define ERR_IGNORED (&(struct err){ 0 })

/* Record a failure.  These return -1, so a caller can return their result. */
int err_set(struct err *e, enum err_kind kind, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
int err_sys(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* err_set() of the two kinds that are the most frequent. */
#define err_usage(e, ...) err_set(e, ERR_USAGE, __VA_ARGS__)
#define err_input(e, ...) err_set(e, ERR_INPUT, __VA_ARGS__)

/* err_sys() after opening a file: if it does not exist, it is ERR_MISSING. */
int err_open(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* The exit status of a program that ends with this kind of error:
 * 1 failed, 2 usage, 3 not found, 4 remote, 5 non-finite, 6 a rank died,
 * 7 another process writes, 75 stopped after a checkpoint, 130 interrupted
 * without one; 0 for none.  program_main() ends as the command of ERR_COMMAND
 * did. */
int err_status(enum err_kind);

/* A failure that is none: 0, and no error, if that is of this kind; else what
 * the call returned. */
int err_allow(int ret, enum err_kind, struct err *e);

/* Put "context: " before what is already there.  Returns -1. */
int err_wrap(struct err *e, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

END_EXTERN_C
