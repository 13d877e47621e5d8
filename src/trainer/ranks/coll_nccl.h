#pragma once

#include <stddef.h>

#include "common/err.h"

/*
 * coll_nccl - the part of NCCL that is used, declared without its header
 *
 * Names, numbers and layouts are those of nccl.h since 2.14;
 * t/ranks/t7004-nccl.t compares them where the header is installed.
 */
struct nccl_comm;

struct nccl_id {
    char bytes[128];
};

enum { NCCL_OK = 0, NCCL_INTERNAL = 3, NCCL_IN_PROGRESS = 7 };
enum { NCCL_U8 = 1, NCCL_F32 = 7, NCCL_BF16 = 9, NCCL_SUM = 0 };

/* The configuration of 2.14.  Newer versions have more members, and accept
 * this one because of its size and version. */
struct nccl_config {
    size_t size;
    unsigned magic, version;
    int blocking;
};

#define NCCL_CONFIG                                                            \
    {                                                                          \
        sizeof(struct nccl_config), 0xcafebeef, 21400, 0                       \
    }

struct nccl_calls {
    int (*get_id)(struct nccl_id *);
    int (*init)(struct nccl_comm **, int size, struct nccl_id, int rank,
                struct nccl_config *);
    int (*state)(struct nccl_comm *, int *code);
    int (*abort)(struct nccl_comm *);
    int (*destroy)(struct nccl_comm *);
    int (*all_reduce)(const void *send, void *recv, size_t n, int type, int op,
                      struct nccl_comm *, void *stream);
    int (*reduce_scatter)(const void *send, void *recv, size_t n_each, int type,
                          int op, struct nccl_comm *, void *stream);
    int (*all_gather)(const void *send, void *recv, size_t n_each, int type,
                      struct nccl_comm *, void *stream);
    int (*reduce)(const void *send, void *recv, size_t n, int type, int op,
                  int root, struct nccl_comm *, void *stream);
    int (*broadcast)(const void *send, void *recv, size_t n, int type, int root,
                     struct nccl_comm *, void *stream);
    int (*group_start)(void);
    int (*group_end)(void);
    const char *(*error_string)(int code);
    const char *(*last_error)(struct nccl_comm *);
};

/* The file of the library, or its name; to load it. */
const char *coll_nccl_name(void);
int coll_nccl_load(struct nccl_calls *, struct err *);
