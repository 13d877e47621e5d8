#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "kernels/dev.h"

/*
 * graph - a model as a list of operations, in the order they run
 *
 * A builder (gpt.c) calls one function per operation.  Each appends a node
 * and returns its index; nothing is computed and no memory is taken.  Then
 *
 *      graph_memory_alloc()    makes the list of calls (graph_calls.c) and
 *                              lays out every tensor (graph_memory.c)
 *      graph_run_forward()     runs the operations first to last
 *      graph_run_train()       run forward, then the gradients last to first
 *
 * The graph knows the rule of each operation (rules.c: its gradient, what the
 * gradient reads, its cost), and nothing about any device: a rule calls
 * dev->ops.  The nodes are not run themselves; they are made into a list of
 * calls once, in which neighbours are fused where the device can, and values
 * that were not kept are computed again before they are needed.  Addresses do
 * not change after graph_memory_alloc().
 *
 * Append one node per statement.  C does not define the order in which
 * arguments are evaluated, and the order of the nodes is the order of the
 * parameters.
 *
 * Parameters lie in one block, in the order in which backward finishes their
 * gradients; the gradients, the moments and the 16-bit copies lie in blocks of
 * the same shape.  So clipping, the update, a sum over ranks and a checkpoint
 * are each a walk over one range.  A unit is a group of parameters that are
 * finished together: a layer, the embedding, the head.
 *
 * The graph owns its nodes and its memory; the caller owns the device.
 */
enum { GRAPH_NONE = -1, GRAPH_MAX_SRC = 4, GRAPH_STACK = 3 };

enum graph_op {
    OP_INPUT,
    OP_PARAM,
    OP_EMBED,
    OP_LINEAR,
    OP_NORM,
    OP_QKNORM,
    OP_VALUE,
    OP_ROPE,
    OP_ATTENTION,
    OP_DECODE,
    OP_ACT,
    OP_GLU,
    OP_DROPOUT,
    OP_ADD,
    OP_MIX,
    OP_HEAD,
    OP_COUNT
};

/* An allocation on a device; without data it is only a size, which is enough
 * for gtrain plan. */
struct region {
    void *data;
    size_t bytes;
};

/* The parameters of an operation other than its operands. */
struct graph_attr {
    enum norm norm;
    float eps;
    enum act act;
    struct attn attn; /* the heads of rope and qknorm, too */
    struct dropout drop;
    struct rope rope;
    int64_t T; /* positions of a sequence */
    int64_t vocab;
    float softcap; /* of the logits; 0: none */
    double teacher_weight;
};

/* How the optimiser treats a parameter. */
enum param_group {
    GROUP_MATRIX,
    GROUP_EMBED,
    GROUP_HEAD,
    GROUP_VECTOR,
    GROUP_COUNT
};

struct graph_param {
    char name[48];
    int node, unit;
    enum param_group group;
    float std; /* of the initial normal distribution; 0: all are `value` */
    float value;
    double width; /* inputs / those at optim.base_width; 0: as they are */
    int64_t count;
    int64_t at; /* in the block, in elements; a multiple of 16 */
    /* The rows of the matrices that lie in it one above the other. */
    int64_t stack[GRAPH_STACK];
};

struct graph_unit {
    char name[16];
    int layer;         /* -1: not one of the layers, which are all alike */
    int64_t at, count; /* its part of the block, padding included */
    int last_call;     /* after which its gradients are final */
    int64_t weights_at, grads_at; /* in their regions; `at`, unless two layers
                                     share memory */
};

struct graph_node {
    enum graph_op op;
    char name[32];
    int n_src, src[GRAPH_MAX_SRC]; /* GRAPH_NONE where not given */
    struct tensor val, grad;
    struct tensor aux;  /* statistics kept for the gradient;
                           OP_PARAM: its quantized copy, if any */
    struct tensor aux2; /* the scales of that copy */
    /* The cache of OP_DECODE; where OP_ATTENTION stores what it reads, if
     * anywhere. */
    struct tensor keys, values;
    struct graph_attr attr;
    int param;               /* OP_PARAM: which */
    int layer;               /* -1 outside of layers */
    int same_val, same_grad; /* the node whose memory is used, or NONE */
    bool no_grad;
    bool recompute; /* the value is not kept, but computed again for backward */
};

/*
 * The time of each part of a step, by the clock of the device, which records
 * when it reaches a mark (dev.h: mark).  Only the last micro-step of a step is
 * measured.  A phase is the time between two marks.
 */
enum phase_mark {
    PHASE_BEGIN,   /* of the last micro-step */
    PHASE_FORWARD, /* up to the classifier */
    PHASE_HEAD,    /* the classifier, its gradient too */
    PHASE_BACKWARD,
    PHASE_NORM, /* sums over ranks and the gradient's norm */
    PHASE_UPDATE,
    PHASE_MARKS
};

enum { PHASES = 6 };
extern const struct phase {
    const char *metric;
    enum phase_mark from, to;
} phases[PHASES];

struct phases {
    int turn; /* steps take turns with two sets of marks */
    bool given[2][PHASE_MARKS];
};

/* Called before a call that reads parameters: the weights of its unit must be
 * in memory when it returns. */
struct graph;
typedef void graph_fetch_fn(void *arg, struct graph *, int call);

/* How a graph is going to be used. */
struct graph_conf {
    bool training; /* with memory for gradients */
    bool fuse;     /* use the device's fused operations */
    /* Layers take turns in memory for two of them, instead of having their own;
     * the caller is responsible for its contents. */
    bool share_weights, share_grads;
    enum dtype masters; /* of the master weights: F32, or the graph's type */
    bool masters_elsewhere;     /* with copies, there are no masters here */
    const struct graph *borrow; /* use the weights of this one, or NULL */
};

struct graph {
    struct dev *dev;
    enum dtype type;    /* of activations, and of weights in products */
    enum dtype masters; /* of the weights that the optimiser updates */
    struct graph_node *node;
    int n, room;
    struct graph_param *param; /* in the order they were declared */
    int n_params, room_params;
    struct graph_unit *unit; /* in the order of the block */
    int n_units, room_units;
    int64_t count;           /* elements of the block, padding included */
    int layer, current_unit; /* while building */

    struct graph_call *call; /* forward calls first */
    int n_calls, room_calls, n_forward;
    bool training; /* as in graph_conf */
    struct region weights, copies, grads, activations, inputs, caches;
    struct region quantized; /* weights and their scales */
    bool borrowed;           /* weights and copies belong to another graph */
    graph_fetch_fn *fetch;   /* or NULL */
    void *fetch_arg;

    /* set by a step before it runs */
    bool evaluating;       /* no dropout, losses alone */
    bool first_micro;      /* gradients are set, not added to */
    float head_scale;      /* of the sum of losses; loss scaling, too */
    uint64_t seed, step;   /* of dropout */
    uint64_t first_row;    /* of this micro-batch within the step */
    int64_t position;      /* of the first row, when decoding */
    struct phases *phases; /* graph_run_train() marks them, if given */
};

void graph_init(struct graph *, enum dtype activations);
void graph_clear(struct graph *);

/* Parameters and nodes that follow belong to this unit, of this layer. */
void graph_unit(struct graph *, int layer, const char *name);

/* With cols = 0 it is a vector of `rows` elements. */
int graph_input(struct graph *, const char *name, int64_t rows, int64_t cols);
int graph_param(struct graph *, const char *name, enum param_group,
                int64_t rows, int64_t cols, double std, double value);
int graph_embed(struct graph *, int tokens, int wte, int wpe, int64_t T);
int graph_linear(struct graph *, int x, int w, int b);
int graph_norm(struct graph *, int x, int w, int b, enum norm, double eps);
int graph_qknorm(struct graph *, int qkv, int wq, int wk, int H, int K,
                 double eps);
/* The embeddings e of the tokens are added to the values, by a gate that is
 * computed from the first columns of x. */
int graph_value(struct graph *, int qkv, int x, int w, int e);
int graph_rope(struct graph *, int qkv, int H, int K, int64_t T,
               const struct rope *);
/* The width of a head and the scale follow from the rest; begins is GRAPH_NONE
 * or an input, as of struct attn. */
int graph_attention(struct graph *, int qkv, int begins, struct attn);
/* T positions of each sequence that follow the cached ones, of which there are
 * at most attn.T; without dropout. */
int graph_decode(struct graph *, int qkv, int64_t T, struct attn);
/* From now on, the attention of a graph of prompts stores its keys and values
 * in the caches of a decoder for the sequences from i on. */
void graph_store_keys(struct graph *prompt, const struct graph *decoder,
                      int64_t i);
/* Copy the first T positions that sequence `from` of a decoder has cached to
 * another one. */
void graph_copy_keys(const struct graph *decoder, int64_t from, int64_t to,
                     int64_t T);
/* From now on, it is for B sequences of T positions instead of others. */
void graph_resize(struct graph *, int64_t old_B, int64_t old_T, int64_t B,
                  int64_t T);
int graph_act(struct graph *, int x, enum act, bool gated);
int graph_dropout(struct graph *, int x, double p); /* x itself if p = 0 */
int graph_add(struct graph *, int a, int b);
int graph_mix(struct graph *, int a, int b, int wa, int wb); /* wa a + wb b */
int graph_head(struct graph *, int x, int w, int targets, int teacher,
               double weight, int64_t vocab, double softcap);

/* All parameters; tied ones count once, padding of the block does not. */
int64_t graph_parameters(const struct graph *);
int64_t graph_largest(const struct graph *); /* elements of one parameter */

/* The model reads copies of the master weights if it needs another type. */
static inline bool graph_has_copies(const struct graph *g)
{
    return g->type != g->masters;
}

static inline const struct region *graph_read_weights(const struct graph *g)
{
    return graph_has_copies(g) ? &g->copies : &g->weights;
}

static inline struct tensor *graph_val(struct graph *g, int node)
{
    return &g->node[node].val;
}

/* ---- memory ---------------------------------------------------------- */

/* Allocate the bytes, cleared; nothing if there are none.  An error names the
 * use of the memory and a setting that makes it smaller. */
int region_alloc(struct region *, struct dev *, enum dev_use, struct err *);
void region_free(struct region *, struct dev *);

/* Make the calls of the graph, allocate its regions and set the address of each
 * tensor.  After a failure the graph can only be cleared. */
int graph_memory_alloc(struct graph *, struct dev *, const struct graph_conf *,
                       struct err *);
/* Lay out memory without a device: the regions get sizes, but no data. */
void graph_memory_size(struct graph *, const struct graph_conf *);

/*
 * Weights of 8 or 4 bits for inference: a copy of each matrix that a linear
 * operation reads, with a scale for each group of numbers.  From then on, the
 * operation reads the copy.  The weights must have been loaded before.
 * Another graph of the same model can read the copies of the first, which must
 * live longer.
 */
int quantize_weights(struct graph *, int bits, struct err *);
void quantize_borrow(struct graph *to, const struct graph *from);

/* ---- running --------------------------------------------------------- */

/* Called during backward as soon as the gradients of a unit are final. */
typedef void graph_ready_fn(void *arg, struct graph *, int unit);

/* The losses alone, or logits; or forward, keeping what backward needs, then
 * backward.  The device is given the work; dev_sync() waits for it and reports
 * errors. */
void graph_run_forward(struct graph *);
void graph_run_train(struct graph *, graph_ready_fn *ready, void *arg);

/* One call after another, for a profile or to find the first bad result:
 * graph_run_begin() comes before the first. */
void graph_run_begin(struct graph *);
void graph_run_call(struct graph *, int call);

void phases_mark(struct phases *, struct dev *, enum phase_mark);
/* At the end of a step.  To avoid waiting for the device, these are the times
 * of the step before; a phase is NaN unless both of its marks were given.
 * False if no time is known. */
bool phases_end_step(struct phases *, struct dev *, double ms[PHASES]);
