#pragma once

/*
 * emu_fiber - the threads of a block as fibers: switching, barriers, warps
 *
 * Included by emu.cuh.
 */
namespace emu
{

/* The limits of the hardware. */
enum {
    WARP = 32,
    MAX_THREADS = 1024,
    MAX_GRID_YZ = 65535,
    MAX_SHARED_PLAIN = 48 << 10, /* of one block, before opting in */
    MAX_ARGUMENTS = 4096,        /* bytes, of one kernel */
};

enum { OP_SYNCWARP = 5 }; /* the operation of __syncwarp() */

/* The compute capability, as 90 for 9.0. */
inline int capability()
{
    static const int n = [] {
        const char *s = getenv("GT_EMU_CAPABILITY");

        return s ? (int)strtol(s, nullptr, 10) : 90;
    }();
    return n;
}

/* Shared memory of one block, after opting in. */
inline size_t most_shared()
{
    switch (capability()) {
    case 75:
        return 64 << 10;
    case 80:
    case 87:
        return 163 << 10;
    case 86:
    case 89:
    case 120:
        return 99 << 10;
    default:
        return 227 << 10;
    }
}

enum state : uint8_t { NEW, READY, IN_WARP, IN_BLOCK, DONE };

struct copy {
    void *dst;
    const void *src;
    unsigned n;
    int group;
};

/* One CUDA thread. */
struct fiber {
    uint3 tid;
    void *sp, *stack;
    state st;
    unsigned lane, warp;
    int op;                   /* the warp operation it waits in, */
    unsigned mask;            /* the mask it passed, */
    void *data;               /* and its argument */
    bool begun;               /* has called begin_kernel() */
    int group;                /* copies committed so far */
    std::vector<copy> copies; /* asynchronous copies not made yet */
};

struct warp {
    unsigned arrived, live;
    uint32_t synced; /* by __syncwarp(), so many times */
};

/* A __shared__ array of the block, by its declaration in the source. */
struct shared {
    const void *site;
    void *p;
    size_t n;
};

/* Bytes of shared memory that a launch asks for, and the most that a block may
 * have, including the arrays that the kernel declares. */
struct shared_room {
    size_t dynamic, most;
};

/* A kernel as it is launched. */
struct kernel_launch {
    const char *name;
    dim3 grid, dim;
    shared_room room;
    bool overlaps; /* may start while the kernel before it runs */
};

/* The block that one thread of the host is running. */
struct block {
    dim3 grid, dim;
    uint3 id;
    int n, live, at_barrier, vote[3], place;
    uint32_t epoch; /* another one after each barrier */
    std::vector<fiber> fibers;
    std::vector<warp> warps;
    std::vector<int> order, place_of;
    std::vector<void *> stacks; /* not in use */
    std::vector<shared> arrays; /* those that the block uses come first */
    size_t arrays_used;
    void *dynamic;
    size_t dynamic_size, shared_size, shared_most;
    uintptr_t low, high; /* all shared memory lies between */
    void *host_sp;
    const char *name;
    bool overlaps; /* the kernel before may still run */
    void (*call)(void *);
    void *arg;
};

inline thread_local block *blk;
inline thread_local fiber *cur;

/* Told of accesses to memory that may be shared, with the thread that is
 * responsible; emu_race.cu sets it in programs that look for races. */
typedef void access_fn(const void *p, size_t n, bool write, const fiber *who);
inline access_fn *note_access;

inline size_t stack_size()
{
    static const size_t n = [] {
        const char *s = getenv("GT_EMU_STACK_KB");

        return (s ? strtoul(s, nullptr, 10) : 256ul) << 10;
    }();
    return n;
}

[[noreturn]] inline void die(void)
{
    if (getenv("GT_EMU_ABORT"))
        abort();
    fflush(stdout);
    _Exit(86);
}

[[noreturn]] inline void fail(const char *why)
{
    static const char *const doing[] = { "not started", "ready",
                                         "in a warp operation", "at a barrier",
                                         "done" };
    int shown = 0;

    fprintf(stderr, "emu: kernel %s, block (%u,%u,%u): %s\n", blk->name,
            blk->id.x, blk->id.y, blk->id.z, why);
    for (int i = 0; i < blk->n && shown < 8; i++) {
        const fiber *f = &blk->fibers[(size_t)i];

        if (f->st != DONE && ++shown)
            fprintf(stderr, "emu:   thread (%u,%u,%u) %s\n", f->tid.x, f->tid.y,
                    f->tid.z, doing[f->st]);
    }
    die();
}

/*
 * Leave this fiber, with its registers on its stack and the stack's address in
 * *save, and continue where `to` was left.
 */
extern "C" void emu_switch(void **save, void *to);
extern "C" void emu_entry(void);

#if defined(__x86_64__)
enum { FRAME = 8, FRAME_ENTRY = 6 };
__asm__(".text\n"
        ".weak emu_switch\n"
        ".type emu_switch, @function\n"
        "emu_switch:\n"
        "push %rbp; push %rbx; push %r12; push %r13; push %r14; push %r15\n"
        "mov %rsp, (%rdi); mov %rsi, %rsp\n"
        "pop %r15; pop %r14; pop %r13; pop %r12; pop %rbx; pop %rbp\n"
        "ret\n");
#elif defined(__aarch64__)
enum { FRAME = 20, FRAME_ENTRY = 11 };
__asm__(".text\n"
        ".weak emu_switch\n"
        "emu_switch:\n"
        "sub sp, sp, #160\n"
        "stp x19, x20, [sp]; stp x21, x22, [sp, #16]\n"
        "stp x23, x24, [sp, #32]; stp x25, x26, [sp, #48]\n"
        "stp x27, x28, [sp, #64]; stp x29, x30, [sp, #80]\n"
        "stp d8, d9, [sp, #96]; stp d10, d11, [sp, #112]\n"
        "stp d12, d13, [sp, #128]; stp d14, d15, [sp, #144]\n"
        "mov x9, sp; str x9, [x0]; mov sp, x1\n"
        "ldp x19, x20, [sp]; ldp x21, x22, [sp, #16]\n"
        "ldp x23, x24, [sp, #32]; ldp x25, x26, [sp, #48]\n"
        "ldp x27, x28, [sp, #64]; ldp x29, x30, [sp, #80]\n"
        "ldp d8, d9, [sp, #96]; ldp d10, d11, [sp, #112]\n"
        "ldp d12, d13, [sp, #128]; ldp d14, d15, [sp, #144]\n"
        "add sp, sp, #160; ret\n");
#else
#error "emu.cuh: emu_switch() is not written for this processor"
#endif

inline void *new_stack()
{
    void *p;

    if (!blk->stacks.empty()) {
        p = blk->stacks.back();
        blk->stacks.pop_back();
        return p;
    }
    p = mmap(nullptr, stack_size(), PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        perror("emu: a stack");
        abort();
    }
    return p;
}

/* Switch to fiber i, giving it a stack if it has not begun. */
inline void resume(int i)
{
    fiber *f = &blk->fibers[(size_t)i], *me = cur;

    blk->place = blk->place_of[(size_t)i];
    if (f->st == NEW) {
        void **top;

        f->st = READY;
        f->stack = new_stack();
        top = (void **)((char *)f->stack + stack_size() - 64);
        top[-1] = nullptr; /* the return address at the end */
        f->sp = top - FRAME;
        ((void **)f->sp)[FRAME_ENTRY] = (void *)emu_entry;
    }
    cur = f;
    emu_switch(me ? &me->sp : &blk->host_sp, f->sp);
}

/* The first fiber after the current one that can run; or -1. */
inline int next_ready()
{
    for (int k = 1; k <= blk->n; k++) {
        const int i = blk->order[(size_t)((blk->place + k) % blk->n)];

        if (blk->fibers[(size_t)i].st <= READY)
            return i;
    }
    return -1;
}

inline int must_find_ready()
{
    const int i = next_ready();

    if (i < 0)
        fail("a barrier or a warp operation is not reached by all of its "
             "threads");
    return i;
}

inline void yield()
{
    const int i = must_find_ready();

    if (&blk->fibers[(size_t)i] != cur)
        resume(i);
}

inline void open_barrier()
{
    blk->at_barrier = 0;
    blk->epoch++;
    for (int i = 0; i < blk->n; i++)
        if (blk->fibers[(size_t)i].st == IN_BLOCK)
            blk->fibers[(size_t)i].st = READY;
}

inline void barrier()
{
    cur->st = IN_BLOCK;
    if (++blk->at_barrier == blk->live)
        open_barrier();
    else
        yield();
}

/* What a warp operation does when all its lanes have come; lane[i] may be
 * null. */
typedef void meet_fn(fiber **lane, unsigned mask);

inline void meet(unsigned mask, meet_fn *run)
{
    warp *w = &blk->warps[cur->warp];
    fiber *lane[WARP] = {};

    if ((w->arrived & mask) != mask)
        return;
    for (int i = 0; i < WARP; i++) {
        if (!(mask >> i & 1))
            continue;
        lane[i] = &blk->fibers[cur->warp * WARP + (unsigned)i];
        if (lane[i]->op != cur->op || lane[i]->mask != mask)
            fail("lanes of one mask are in different warp operations");
    }
    run(lane, mask);
    w->synced += cur->op == OP_SYNCWARP;
    w->arrived &= ~mask;
    for (int i = 0; i < WARP; i++)
        if (lane[i])
            lane[i]->st = READY;
}

/* Every lane of the mask passes data; the last one computes for all of them. */
inline void collective(unsigned mask, int op, void *data, meet_fn *run)
{
    warp *w = &blk->warps[cur->warp];

    if (!(mask >> cur->lane & 1))
        fail("a lane is not in the mask it passes");
    if (mask & ~w->live)
        fail("a mask has a lane that has returned or does not exist");
    cur->op = op;
    cur->mask = mask;
    cur->data = data;
    cur->st = IN_WARP;
    w->arrived |= 1u << cur->lane;
    meet(mask, run);
    if (cur->st == IN_WARP)
        yield();
}

/*
 * The bottom of every fiber's stack: run a thread, and while the next one to
 * run is new, run it on the same stack.  The compiler must not see that the
 * loop is endless: before a noreturn call the address sanitizer would unwind
 * the wrong stack.
 */
__attribute__((no_sanitize_address)) inline void run_fiber()
{
    for (static volatile int forever = 1; forever;) {
        void *stack = cur->stack, *dead, *to = blk->host_sp;
        int i = -1;

        blk->call(blk->arg);
        if (blk->overlaps && !cur->begun)
            fail("a thread has ended without begin_kernel()");
        cur->st = DONE;
        cur->copies.clear();
        blk->live--;
        blk->warps[cur->warp].live &= ~(1u << cur->lane);
        if (blk->live && blk->at_barrier == blk->live)
            open_barrier();
        if (blk->live)
            i = must_find_ready();
        if (i >= 0 && blk->fibers[(size_t)i].st == NEW) {
            cur = &blk->fibers[(size_t)i];
            cur->st = READY;
            cur->stack = stack;
            blk->place = blk->place_of[(size_t)i];
            continue;
        }
        blk->stacks.push_back(stack); /* not used before this fiber is left */
        cur = i < 0 ? nullptr : &blk->fibers[(size_t)i];
        if (cur) {
            blk->place = blk->place_of[(size_t)i];
            to = cur->sp;
        }
        emu_switch(&dead, to);
    }
}

extern "C" __attribute__((weak, noinline, no_sanitize_address)) void emu_entry(
    void)
{
    run_fiber();
}

} /* namespace emu */
