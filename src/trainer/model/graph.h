#ifndef TRAINER_MODEL_GRAPH_H
#define TRAINER_MODEL_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "kernels/dev.h"

/*
 * graph - a model as a list of operations, in the order they run
 *
 * A builder (gpt.c) calls one function per operation.  Each appends a node
 * and returns its index; nothing is computed and no memory is taken.  Then
 *
 *      graph_place()     lays every tensor out in memory (graph_memory.c)
 *      graph_forward()   runs the operations first to last
 *      graph_backward()  runs their gradients last to first
 *
 * The graph knows the rule of each operation (rules.c: its gradient, what that
 * needs, its cost), and nothing of any device: a rule calls dev->ops, and that
 * is all.  What runs is not the nodes themselves but a program made of them
 * once: a list of calls, in which neighbours are fused where the device can,
 * and values that were not kept are computed again before they are needed.
 * Addresses do not change after graph_place().
 *
 * Append one node in one statement.  C does not say in which order arguments
 * are evaluated, and the order of the nodes is the order of the parameters.
 *
 * Parameters lie in one block, in the order in which backward finishes their
 * gradients; the gradients, the moments and the 16-bit copies lie in blocks of
 * the same shape.  So clipping, the update, a sum over ranks and a checkpoint
 * are each a walk over one range.  A unit is a run of parameters that are
 * finished together: a layer, the embedding, the head.
 *
 * The graph owns its nodes and what graph_place() allocated; the caller owns
 * the device.
 */
enum { GRAPH_NONE = -1, GRAPH_MAX_SRC = 4 };

enum op {
    OP_INPUT,
    OP_PARAM,
    OP_EMBED,
    OP_LINEAR,
    OP_NORM,
    OP_QKNORM,
    OP_ROPE,
    OP_ATTENTION,
    OP_DECODE,
    OP_ACT,
    OP_GLU,
    OP_DROPOUT,
    OP_ADD,
    OP_HEAD,
    OP_COUNT
};

/* What an operation is told besides its operands. */
struct attr {
    enum norm norm;
    float eps;
    enum act act;
    struct attn attn; /* also the heads of rope and qknorm */
    struct dropout drop;
    float theta;
    int64_t T; /* positions of a sequence */
    int64_t vocab;
};

/* How the optimiser sees a parameter. */
enum group { GROUP_MATRIX, GROUP_EMBED, GROUP_HEAD, GROUP_VECTOR, GROUP_COUNT };

struct param {
    char name[48];
    int node, unit;
    enum group group;
    float std; /* of the initial normal; 0: all `value` */
    float value;
    int64_t count;
    int64_t at; /* in the block, in elements; 16-aligned */
};

struct unit {
    char name[16];
    int layer;         /* -1: not one of the layers, which are alike */
    int64_t at, count; /* its part of the block, padding included */
    int last_call;     /* of the program: its gradients are done */
    int64_t weights_at, grads_at; /* where it lies; `at`, unless shared */
};

struct node {
    enum op op;
    char name[32];
    int n_src, src[GRAPH_MAX_SRC]; /* GRAPH_NONE where not given */
    struct tensor val, grad;
    struct tensor aux;  /* statistics kept for the gradient */
    struct tensor aux2; /* OP_DECODE: aux and aux2 are the cache;
                           OP_PARAM: its 8-bit copy and their scales, if any */
    struct attr attr;
    int param;               /* OP_PARAM: which */
    int layer;               /* -1 outside of layers */
    int same_val, same_grad; /* the node whose memory is used, or NONE */
    bool no_grad;
    bool again; /* not kept: computed again for backward */
};

enum call_kind {
    CALL_FORWARD,
    CALL_BACKWARD,
    CALL_ADD_NORM,   /* node and the OP_ADD before it */
    CALL_LINEAR_ACT, /* node and the OP_LINEAR before it */
    CALL_ACT_LINEAR_BACK, /* backward through node, an OP_LINEAR, and the OP_ACT
                             that it reads */
    CALL_HEAD        /* loss and its gradient */
};

struct call {
    enum call_kind kind;
    int node;
    int unit; /* whose parameters it reads, or GRAPH_NONE */
};

static inline bool call_is_backward(const struct call *c)
{
    return c->kind == CALL_BACKWARD || c->kind == CALL_ACT_LINEAR_BACK;
}

/* Before a call of the program that reads parameters: its unit must be there.
 */
struct graph;
typedef void graph_need_fn(void *arg, struct graph *, int call);

struct region { /* one allocation on the device; planned, it has no data */
    void *data;
    size_t bytes;
};

/* Take the bytes that were planned, cleared. */
int region_take(struct region *, struct dev *, enum dev_use, struct err *);
void region_give(struct region *, struct dev *);

struct graph {
    struct dev *dev;
    enum dtype type; /* of activations */
    struct node *node;
    int n, room;
    struct param *param; /* in the order they were declared */
    int n_params, room_params;
    struct unit *unit; /* in the order of the block */
    int n_units, room_units;
    int64_t count;           /* elements of the block, padding included */
    int layer, current_unit; /* while building */

    struct call *call; /* forward calls first */
    int n_calls, room_calls, n_forward;
    bool training; /* as placed: is there memory for gradients */
    struct region weights, copies, grads, activations, inputs, caches, bytes;
    graph_need_fn *need; /* or NULL */
    void *need_arg;
    bool borrowed; /* weights and copies belong to another */

    /* what a step sets before it runs */
    bool evaluating;     /* no dropout, losses alone */
    bool first_micro;    /* gradients are set, not added to */
    float head_scale;    /* of the sum of losses; loss scaling too */
    uint64_t seed, step; /* of dropout */
    uint64_t first_row;  /* of this micro-batch within the step */
    int64_t from;        /* position of the first row: decoding */
    int bad_node;        /* graph_find_nonfinite() */
    struct phases *phases; /* graph_train() marks them, if given */
};

/* ---- building --------------------------------------------------------- */

void graph_init(struct graph *, enum dtype activations);
/* Parameters and nodes that follow belong to this unit, of this layer. */
void graph_unit(struct graph *, int layer, const char *name);

int graph_input(struct graph *, const char *name, int64_t rows);
/* cols 0 is a vector of rows. */
int graph_param(struct graph *, const char *name, enum group, int64_t rows,
                int64_t cols, double std, double value);
int graph_embed(struct graph *, int tokens, int wte, int wpe, int64_t T);
int graph_linear(struct graph *, int x, int w, int b);
int graph_norm(struct graph *, int x, int w, int b, enum norm, double eps);
int graph_qknorm(struct graph *, int qkv, int wq, int wk, int H, int K,
                 double eps);
int graph_rope(struct graph *, int qkv, int H, int K, int64_t T, double theta);
int graph_attention(struct graph *, int qkv, int H, int K, int64_t T,
                    double dropout);
/* One position after what the cache of `room` positions holds. */
int graph_decode(struct graph *, int qkv, int H, int K, int64_t room);
int graph_act(struct graph *, int x, enum act);
int graph_glu(struct graph *, int x, enum act);
int graph_dropout(struct graph *, int x, double p); /* x itself if p = 0 */
int graph_add(struct graph *, int a, int b);
int graph_head(struct graph *, int x, int w, int targets, int64_t vocab);

/* Parameters in all, tied ones once, padding of the block not counted. */
int64_t graph_parameters(const struct graph *);
int64_t graph_largest(const struct graph *); /* elements of one parameter */
int64_t graph_group_parameters(const struct graph *, enum group, int *tensors);

/* ---- placing (graph_memory.c) ------------------------------------------- */

struct place {
    bool training;               /* memory for gradients */
    bool fuse;                   /* use the device's fused operations */
    /* Layers lie in two places by turns, instead of each in its own: there is
     * room for two at a time, and the caller sees to what is in them. */
    bool share_weights, share_grads;
    bool low_alone; /* if there are 16-bit weights, fp32 ones are elsewhere */
    const struct graph *weights; /* take those of this one, or NULL */
};

/* Make the program and the block; called by the two below. */
void graph_schedule(struct graph *, const struct place *,
                    const struct ops *ops);
/* The size of each region that graph_place() would take; needs no device. */
void graph_plan(struct graph *, const struct place *, const struct ops *ops);
int graph_place(struct graph *, struct dev *, const struct place *,
                struct err *);
/* Beside each matrix that a linear operation reads, the same in 8 bits, which
 * it reads from now on.  For inference, after the weights are there. */
int graph_quantize(struct graph *, struct err *);
void graph_clear(struct graph *);

/* ---- running ---------------------------------------------------------- */

/* Called during backward as soon as the gradients of a unit are final. */
typedef void graph_ready_fn(void *arg, struct graph *, int unit);

void graph_forward(struct graph *); /* losses alone, or logits */
/* Forward with what backward needs, then backward. */
void graph_train(struct graph *, graph_ready_fn *ready, void *arg);
/* One call of the program: for a profile, or to look for what went bad. */
void graph_run(struct graph *, int call);
void graph_begin(struct graph *); /* before the first graph_run() */
const char *graph_call_name(const struct graph *, int call);
double graph_call_flops(const struct graph *, int call);
double graph_call_bytes(const struct graph *, int call);

/* The parameter's tensors. */
static inline struct tensor *graph_val(struct graph *g, int node)
{
    return &g->node[node].val;
}

#endif
