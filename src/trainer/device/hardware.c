#include "config.h"
#include "trainer/device/hardware.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/num.h"
#include "common/rng.h"
#include "common/machine/cores.h"
#include "common/machine/limits.h"
#include "kernels/ref.h"
#include "trainer/ranks/hello.h"

struct hardware hardware_of(const struct gpu *g)
{
    const double f32 = g->tf32 > 0 ? g->tf32 : g->f32;
    const bool old = g->capability && g->capability < GPU_CAPABILITY;

    return (struct hardware){
        .name = g->name,
        .tflops = { [PRECISION_FP32] = f32,
                    [PRECISION_BF16] = old ? f32 : g->half,
                    [PRECISION_FP16] = g->half,
                    [HARDWARE_FP8] = g->fp8 },
        .gib = g->gib,
        .memory = g->memory,
        .link = g->link,
        .devices = g->devices ? g->devices : 1,
        .source = g->capability ? "data sheet" : "Google Cloud"
    };
}

int hardware_parse(const char **text, char name[32], struct hardware *h,
                   struct err *e)
{
    const char *at = *text + strspn(*text, ", ");
    const size_t len = strcspn(at, ",");
    char number[3][24], row[128];
    double tflops, gib;
    int64_t devices;

    if (!*at)
        return 0;
    snprintf(row, sizeof row, "%.*s", (int)len, at);
    if (sscanf(row, "%31[^:]:%23[^:]:%23[^:]:%23[^:]", name, number[0],
               number[1], number[2]) != 4 ||
        !num_real(number[0], &tflops) || !num_real(number[1], &gib) ||
        !num_int(number[2], &devices) || tflops <= 0 || devices < 1)
        return err_usage(e,
                         "plan.hardware expects name:tflops:GiB:devices, not "
                         "'%s'",
                         row);
    *h = (struct hardware){ .name = name,
                            .tflops = { tflops, tflops, tflops },
                            .gib = gib,
                            .devices = (int)devices,
                            .source = "settings" };
    *text = at + len;
    return 1;
}

bool hardware_measure(struct hardware *h, const struct settings *s)
{
    static const enum dtype types[] = { [PRECISION_FP32] = DT_F32,
                                        [PRECISION_BF16] = DT_BF16,
                                        [PRECISION_FP16] = DT_F16 };
    const enum dtype type = types[s->train.precision];
    AUTO(dev_close) struct dev dev = { .threads = (int)s->train.threads };
    double flops = s->plan.peak_tflops * 1e12, bytes;
    bool measured;

    if (dev_open(&dev, s->train.device, ERR_IGNORED) < 0)
        return false;
    if (flops <= 0 && dev.type->peak)
        flops = dev.type->peak(&dev, type);
    measured = flops <= 0;
    if (measured)
        flops = measure_large_product(&dev, type);
    bytes = dev.memory.total ? (double)dev.memory.total
                             : limits_memory("", NULL, 0);
    *h = (struct hardware){ .name = "this machine",
                            .gib = bytes / 0x1p30,
                            .devices = 1,
                            .whole = measured,
                            .source = s->plan.peak_tflops > 0 ? "settings"
                                      : measured              ? "measured"
                                                              : "known" };
    h->tflops[s->train.precision] = flops / 1e12;
    return flops > 0;
}

double hardware_tflops(const struct hardware *h, const struct settings *s)
{
    return s->is.precision_auto
               ? fmax(h->tflops[PRECISION_FP32], h->tflops[PRECISION_BF16])
               : h->tflops[s->train.precision];
}

int hardware_threads(const struct settings *s, int local_ranks, bool shared)
{
    const char *env = getenv("OMP_NUM_THREADS");
    int64_t n;

    if (s->train.threads > 0)
        return (int)s->train.threads;
    if (env && num_int(env, &n) && n > 0 && n < 4096)
        return (int)n;
    return cores_of_rank(local_ranks, shared);
}

/* ---- measurements ------------------------------------------------------ */

/* A GPU, but not an emulated one. */
static bool is_large(const struct dev *dev)
{
    return dev->memory.total > (size_t)6 << 30;
}

/* Fill with numbers in (-1, 1): a product of zeros takes less power, and so is
 * faster than others. */
static void fill_random(struct dev *dev, char *to, size_t bytes,
                        enum dtype type)
{
    enum { NUMBERS = 1 << 16 };
    struct tensor t = tensor_vector(NULL, type, NUMBERS);
    size_t done = tensor_bytes(&t) < bytes ? tensor_bytes(&t) : bytes;

    t.data = xmalloc(tensor_bytes(&t));
    for (int64_t i = 0; i < NUMBERS; i++)
        ref_set(&t, i, 2 * (double)rng_uniform(1, 1, (uint64_t)i) - 1);
    dev->type->put(dev, to, t.data, done);
    for (size_t n; done < bytes; done += n) {
        n = done < bytes - done ? done : bytes - done;
        dev->type->copy(dev, to + done, to, n);
    }
    free(t.data);
}

/* The best rate of several products, each of which takes a few milliseconds.
 * On a CPU there are more, as other work may interfere. */
double measure_product(struct dev *dev, enum dtype type, int64_t m, int64_t k,
                       int64_t n)
{
    const int tries = is_large(dev) ? 4 : 12;
    const size_t size = dtype_size(type);
    const size_t x_bytes = (size_t)(m * k) * size;
    const size_t w_bytes = (size_t)(n * k) * size;
    struct tensor x, w, y;
    double best = 0;
    char *block;

    if (dev->ops == &ref_ops)
        return 0;
    block = dev_alloc(dev, x_bytes + w_bytes + (size_t)(m * n) * size,
                      DEV_TRIALS, ERR_IGNORED);
    if (!block)
        return 0;
    fill_random(dev, block, x_bytes + w_bytes, type);
    x = tensor_matrix(block, type, m, k);
    w = tensor_matrix(block + x_bytes, type, n, k);
    y = tensor_matrix(block + x_bytes + w_bytes, type, m, n);
    for (int i = 0; i < tries && dev_sync(dev, ERR_IGNORED) == 0; i++) {
        const double before = clock_mono();
        double rate;

        dev->ops->linear_fwd(dev, &y, &x, &w, NULL);
        if (dev_sync(dev, ERR_IGNORED) < 0)
            break;
        rate =
            2.0 * (double)m * (double)k * (double)n / (clock_mono() - before);
        best = i > 0 && rate > best ? rate : best;
    }
    dev_free(dev, block);
    return best;
}

double measure_large_product(struct dev *dev, enum dtype type)
{
    const int64_t n = is_large(dev) ? 8192 : 768;

    return measure_product(dev, type, n, n, n);
}

double measure_copy(struct dev *dev)
{
    const size_t bytes = (size_t)(is_large(dev) ? 1024 : 64) << 20;
    char *block = dev_alloc(dev, 2 * bytes, DEV_TRIALS, ERR_IGNORED);
    double best = 0;

    if (!block)
        return 0;
    dev->type->zero(dev, block, 2 * bytes);
    for (int i = 0; i < 4 && dev_sync(dev, ERR_IGNORED) == 0; i++) {
        const double before = clock_mono();
        double rate;

        dev->type->copy(dev, block + bytes, block, bytes);
        if (dev_sync(dev, ERR_IGNORED) < 0)
            break;
        rate = 2 * (double)bytes / (clock_mono() - before);
        best = i > 0 && rate > best ? rate : best;
    }
    dev_free(dev, block);
    return best;
}

/* ---- the CPU ----------------------------------------------------------- */

double measure_activations(struct dev *dev, enum dtype type)
{
    enum { NUMBERS = 1 << 15, TRIES = 40 };
    const size_t bytes = (size_t)NUMBERS * dtype_size(type);
    char *block = dev_alloc(dev, 2 * bytes, DEV_TRIALS, ERR_IGNORED);
    double best = 0;

    if (!block)
        return 0;
    fill_random(dev, block, 2 * bytes, type);
    for (int i = 0; i < TRIES; i++) {
        const struct tensor x = tensor_vector(block, type, NUMBERS);
        struct tensor y = tensor_vector(block + bytes, type, NUMBERS);
        const double before = clock_mono();

        dev->ops->act_fwd(dev, &y, &x, ACT_GELU);
        best = fmax(best, NUMBERS / (clock_mono() - before));
    }
    dev_free(dev, block);
    return best;
}

double measure_regions(int threads)
{
    enum { REGIONS = 1000, TRIES = 20 };
    double best = 0;

    for (int i = 0; i < TRIES; i++) {
        const double before = clock_mono();

        for (int k = 0; k < REGIONS; k++) {
#pragma omp parallel num_threads(threads)
            __asm__ volatile("" ::: "memory");
        }
        best = fmax(best, REGIONS / (clock_mono() - before));
    }
    return best;
}

/* What one rank sends and another adds to its own numbers; none is in the
 * cache. */
enum { LOOP_FLOATS = 1 << 23, LOOP_PIECE = 1 << 18 };

struct loop {
    int fd[2];
    float *from, *to, *piece;
};

/* Send some floats to the other socket, and add what has arrived there; false
 * if that failed. */
static bool move_piece(struct loop *l, size_t at)
{
    const size_t bytes = LOOP_PIECE * sizeof(float);
    size_t sent = 0, got = 0;

    while (got < bytes) {
        ssize_t n = send(l->fd[0], (char *)(l->from + at) + sent, bytes - sent,
                         MSG_NOSIGNAL | MSG_DONTWAIT);

        sent += n > 0 ? (size_t)n : 0;
        n = sent > got ? recv(l->fd[1], (char *)l->piece + got, bytes - got, 0)
                       : -1;
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
            return false;
        got += n > 0 ? (size_t)n : 0;
    }
    for (size_t i = 0; i < LOOP_PIECE; i++)
        l->to[at + i] += l->piece[i];
    return true;
}

/* Bytes per second, or 0 if that failed. */
static double move_all(struct loop *l)
{
    const double before = clock_mono();

    for (size_t at = 0; at < LOOP_FLOATS; at += LOOP_PIECE)
        if (!move_piece(l, at))
            return 0;
    return LOOP_FLOATS * sizeof(float) / (clock_mono() - before);
}

/* Two sockets that are connected over 127.0.0.1, as those of ranks are. */
static bool connect_pair(int fd[2])
{
    const int listener = peer_socket_listen("127.0.0.1", 0, ERR_IGNORED);
    const int port = (int)peer_socket_port(listener);

    fd[0] = peer_socket_connect("127.0.0.1", port, 0, ERR_IGNORED);
    fd[1] = peer_socket_accept(listener);
    if (listener >= 0)
        close(listener);
    return fd[0] >= 0 && fd[1] >= 0;
}

double measure_loopback(void)
{
    enum { TRIES = 4 };
    struct loop l = { .from = xcalloc(LOOP_FLOATS, sizeof(float)),
                      .to = xcalloc(LOOP_FLOATS, sizeof(float)),
                      .piece = xcalloc(LOOP_PIECE, sizeof(float)) };
    double best = 0;

    memset(l.from, 1, LOOP_FLOATS * sizeof(float));
    if (connect_pair(l.fd))
        for (int i = 0; i < TRIES; i++)
            best = fmax(best, move_all(&l));
    for (int i = 0; i < 2; i++)
        if (l.fd[i] >= 0)
            close(l.fd[i]);
    FREE(l.from, l.to, l.piece);
    return best;
}
