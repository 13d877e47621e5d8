/*
 * cublaslt_emu - a stand-in for cuBLASLt: the calls of cublaslt.h, by plain
 * loops
 *
 * It takes the arguments of the library, column-major matrices, so that the
 * tests run all of gemm_cublaslt.cu: layouts, epilogues, offers, timing.  It
 * also rejects what the library rejects: sizes that do not match, a pointer
 * that is less aligned than promised, or than it was when the offer was made,
 * and memory that is not on the device; and in fp8, operands that do not lie
 * along the sum, lines that are not multiples of 16 bytes, two gradients, and
 * GPUs before 8.9.  With GT_EMU_LT=plain it has no
 * epilogue but a bias; with GT_EMU_LT=blind it rejects an algorithm only when
 * it is run.  With GT_EMU_LT=wrong its first algorithm stores nothing, and with
 * GT_EMU_LT=narrow it adds the parts of a sum in the type of the result where
 * that is allowed.  With GT_EMU_LT=first it leaves out the first column of each
 * product.  With GT_EMU_LT=none it is not found; with GT_EMU_LT=older, only
 * its older version can be initialized.  With GT_EMU_LT=half it leaves out half
 * of the columns of long sums, with half-sums it adds half of them up for a
 * bias, and with unsteady it rounds differently each time.
 */
#include "config.h"
#include "kernels/cuda/launch.cuh"
#include "kernels/cuda/cublaslt.h"

static bool is_set_to(const char *what)
{
    const char *s = getenv("GT_EMU_LT");

    return s && strcmp(s, what) == 0;
}

struct cublaslt_handle_data {
    int open;
};

struct cublaslt_desc_data {
    int compute, transa, transb, epilogue;
    void *bias, *aux;
    int64_t aux_ld;
    float *scale_a, *scale_b; /* of fp8 */
};

struct cublaslt_layout_data {
    int type;
    uint64_t rows, cols;
    int64_t ld;
};

struct cublaslt_pref_data {
    uint32_t align[4], reduction;
};

enum {
    OK,
    NOT_INITIALIZED,
    REJECTED = 7,
    NOT_RUN = 13,
    OFFER_MAGIC = 0x67656d6d
};

/* What an offer does instead of the product: nothing, or sums in the result's
 * type.  Other numbers, which the file of algorithms may have, do nothing else
 * than the product. */
enum { LONG = 64 };
enum { OFFER_WRONG = 100, OFFER_NARROW };

static float read_one(const void *p, int type, int64_t i)
{
    if (type == CUBLASLT_R_32F)
        return ((const float *)p)[i];
    if (type == CUBLASLT_R_16BF)
        return to_float(((const bf16 *)p)[i]);
    if (type == CUBLASLT_R_8F_E4M3)
        return float_from_fp8(((const uint8_t *)p)[i], E4M3_MANTISSA);
    if (type == CUBLASLT_R_8F_E5M2)
        return float_from_fp8(((const uint8_t *)p)[i], E5M2_MANTISSA);
    return to_float(((const f16 *)p)[i]);
}

static void write_one(void *p, int type, int64_t i, float v)
{
    if (type == CUBLASLT_R_32F)
        ((float *)p)[i] = v;
    else if (type == CUBLASLT_R_16BF)
        ((bf16 *)p)[i] = from_float<bf16>(v);
    else
        ((f16 *)p)[i] = from_float<f16>(v);
}

static float rounded(float v, int type)
{
    float out = 0; /* has room for every type */

    write_one(&out, type, 0, v);
    return read_one(&out, type, 0);
}

/* op(x) as floats, contiguous in k: (m,k) for A, (n,k) for B. */
static std::vector<float> gather(const void *p, const cublaslt_layout_data &l,
                                 bool turned, int64_t lines, int64_t k)
{
    std::vector<float> v((size_t)(lines * k));

    for (int64_t i = 0; i < lines; i++)
        for (int64_t j = 0; j < k; j++)
            v[(size_t)(i * k + j)] =
                read_one(p, l.type, turned ? i * l.ld + j : j * l.ld + i);
    return v;
}

/* The derivative of gelu(), which follows. */
static float gelu_slope(float x)
{
    const float u = 0.79788456f * (x + 0.044715f * x * x * x), t = tanhf(u);

    return 0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * 0.79788456f *
                                   (1.0f + 3.0f * 0.044715f * x * x);
}

static float gelu(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.79788456f * (x + 0.044715f * x * x * x)));
}

struct emu_product {
    cublaslt_desc_data desc;
    cublaslt_layout_data a, b, d;
    const void *pa, *pb, *pc;
    void *pd;
    float alpha, beta;
    uint64_t kind;
};

static float finish(const emu_product &p, int64_t r, int64_t c, float sum)
{
    float v = p.alpha * sum;

    if (p.desc.scale_a)
        v *= *p.desc.scale_a * *p.desc.scale_b;
    if (p.beta != 0.0f)
        v += p.beta * read_one(p.pc, p.d.type, c * p.d.ld + r);
    if (p.desc.epilogue & CUBLASLT_EPI_BIAS)
        v += read_one(p.desc.bias, p.d.type, r);
    if (p.desc.epilogue == CUBLASLT_EPI_DGELU)
        return v * gelu_slope(
                       read_one(p.desc.aux, p.d.type, c * p.desc.aux_ld + r));
    if (p.desc.epilogue & 128)
        write_one(p.desc.aux, p.d.type, c * p.desc.aux_ld + r, v);
    return p.desc.epilogue & CUBLASLT_EPI_GELU ? gelu(v) : v;
}

/* 1, or with GT_EMU_LT=unsteady a bit of an irregular row. */
static uint64_t next_bit()
{
    static uint64_t products;

    return is_set_to("unsteady") ? ++products * 0x9e3779b97f4a7c15u >> 63 : 1;
}

static void multiply(const emu_product &p)
{
    const int64_t m = (int64_t)p.d.rows, n = (int64_t)p.d.cols;
    const int64_t k = (int64_t)(p.desc.transa ? p.a.rows : p.a.cols);
    const std::vector<float> a = gather(p.pa, p.a, p.desc.transa, m, k);
    const std::vector<float> b = gather(p.pb, p.b, !p.desc.transb, n, k);

    const int64_t done = k > LONG && is_set_to("half") ? n / 2 : n;
    const int64_t added = k > LONG && is_set_to("half-sums") ? k / 2 : k;
    const float last = next_bit() ? 1.0f : 1.0f + 0x1p-20f;

#pragma omp parallel for if (m * n * k > 1 << 16)
    for (int64_t c = is_set_to("first") ? 1 : 0; c < done; c++) {
        for (int64_t r = 0; r < m; r++) {
            const float *x = &a[(size_t)(r * k)], *y = &b[(size_t)(c * k)];
            float part[8] = {}, sum = 0;
            int64_t i = 0;

            for (; i + 8 <= k; i += 8)
                for (int j = 0; j < 8; j++) {
                    part[j] += x[i + j] * y[i + j];
                    if (p.kind == OFFER_NARROW)
                        part[j] = rounded(part[j], p.d.type);
                }
            for (; i < k; i++)
                sum += x[i] * y[i];
            for (int j = 0; j < 8; j++)
                sum += part[j];
            sum *= last;
            write_one(p.pd, p.d.type, c * p.d.ld + r, finish(p, r, c, sum));
        }
    }
    for (int64_t c = 0; p.desc.epilogue == CUBLASLT_EPI_BGRADB && c < n; c++) {
        float sum = 0;

        for (int64_t i = 0; i < added; i++)
            sum += b[(size_t)(c * k + i)];
        write_one(p.desc.bias, p.d.type, c, sum);
    }
}

/* ---- the library's functions ------------------------------------------- */

static int create(cublaslt_handle *h)
{
    *h = new cublaslt_handle_data{ 1 };
    return OK;
}

static int destroy(cublaslt_handle h)
{
    delete h;
    return OK;
}

static size_t version()
{
    return 0;
}

static int desc_create(cublaslt_desc *d, int compute, int)
{
    *d = new cublaslt_desc_data{};
    (*d)->compute = compute;
    (*d)->epilogue = CUBLASLT_EPI_DEFAULT;
    return OK;
}

static int desc_destroy(cublaslt_desc d)
{
    delete d;
    return OK;
}

static int desc_set(cublaslt_desc d, int attribute, const void *v, size_t n)
{
    const struct {
        int attribute;
        void *to;
        size_t n;
    } all[] = { { CUBLASLT_DESC_TRANSA, &d->transa, 4 },
                { CUBLASLT_DESC_TRANSB, &d->transb, 4 },
                { CUBLASLT_DESC_EPILOGUE, &d->epilogue, 4 },
                { CUBLASLT_DESC_BIAS_POINTER, &d->bias, 8 },
                { CUBLASLT_DESC_AUX_POINTER, &d->aux, 8 },
                { CUBLASLT_DESC_AUX_LD, &d->aux_ld, 8 },
                { CUBLASLT_DESC_A_SCALE_POINTER, &d->scale_a, 8 },
                { CUBLASLT_DESC_B_SCALE_POINTER, &d->scale_b, 8 } };

    for (const auto &one : all) {
        if (one.attribute == attribute && one.n == n) {
            memcpy(one.to, v, n);
            return OK;
        }
    }
    return REJECTED;
}

static int layout_create(cublaslt_layout *l, int type, uint64_t rows,
                         uint64_t cols, int64_t ld)
{
    if (ld < (int64_t)rows)
        return REJECTED;
    *l = new cublaslt_layout_data{ type, rows, cols, ld };
    return OK;
}

static int layout_destroy(cublaslt_layout l)
{
    delete l;
    return OK;
}

static int pref_create(cublaslt_pref *p)
{
    *p = new cublaslt_pref_data{ { 256, 256, 256, 256 }, 7 };
    return OK;
}

static int pref_destroy(cublaslt_pref p)
{
    delete p;
    return OK;
}

static int pref_set(cublaslt_pref p, int attribute, const void *v, size_t n)
{
    if (attribute >= CUBLASLT_PREF_ALIGN_A &&
        attribute <= CUBLASLT_PREF_ALIGN_D && n == 4)
        memcpy(&p->align[attribute - CUBLASLT_PREF_ALIGN_A], v, 4);
    if (attribute == CUBLASLT_PREF_REDUCTION && n == 4)
        memcpy(&p->reduction, v, 4);
    return OK;
}

static bool is_fp8(const struct cublaslt_layout_data *l)
{
    return l->type == CUBLASLT_R_8F_E4M3 || l->type == CUBLASLT_R_8F_E5M2;
}

/* What holds of products in fp8 only, of which one operand is E4M3. */
static bool fits_fp8(const struct cublaslt_desc_data *o,
                     const struct cublaslt_layout_data *a,
                     const struct cublaslt_layout_data *b,
                     const struct cublaslt_layout_data *d)
{
    const int wide = d->type == CUBLASLT_R_32F ? 4 : 8;

    return emu::capability() >= 89 && o->transa && !o->transb && is_fp8(b) &&
           (a->type == CUBLASLT_R_8F_E4M3 || b->type == CUBLASLT_R_8F_E4M3) &&
           a->rows % 16 == 0 && a->ld % 16 == 0 && b->ld % 16 == 0 &&
           d->rows % (uint64_t)wide == 0 && d->ld % wide == 0 &&
           o->epilogue != CUBLASLT_EPI_BGRADB;
}

/* op(A) is m by k, op(B) k by n, D m by n; an aux has rows of 8 elements. */
static bool fits(const struct cublaslt_desc_data *o,
                 const struct cublaslt_layout_data *a,
                 const struct cublaslt_layout_data *b,
                 const struct cublaslt_layout_data *d)
{
    const uint64_t m = o->transa ? a->cols : a->rows;
    const uint64_t k = o->transa ? a->rows : a->cols;

    return m == d->rows && k == (o->transb ? b->cols : b->rows) &&
           d->cols == (o->transb ? b->rows : b->cols) &&
           (is_fp8(a) ? fits_fp8(o, a, b, d) : a->type == b->type) &&
           !((o->epilogue & 128) &&
             (o->aux_ld % 8 || !o->aux || (uintptr_t)o->aux % 16)) &&
           !((o->epilogue & CUBLASLT_EPI_BIAS ||
              o->epilogue == CUBLASLT_EPI_BGRADB) &&
             !o->bias);
}

static bool offered(int epilogue)
{
    return !is_set_to("plain") || epilogue == CUBLASLT_EPI_DEFAULT ||
           epilogue == CUBLASLT_EPI_BIAS;
}

/* What an address is a multiple of, up to 256. */
static uint64_t alignment(const void *p)
{
    const uintptr_t bits = (uintptr_t)p | 256;

    return bits & -bits;
}

/* What offer i does. */
static uint64_t kind_of(int i, uint32_t reduction)
{
    if (is_set_to("narrow") && reduction & CUBLASLT_REDUCTION_OUTPUT_TYPE)
        return OFFER_NARROW;
    if (is_set_to("wrong") && i == 1)
        return OFFER_WRONG;
    return (uint64_t)i;
}

/* Two offers, after one that cannot be run.  Each one contains the alignments
 * that it was made for, as the library's offers do. */
static int heuristic(cublaslt_handle, cublaslt_desc o, cublaslt_layout a,
                     cublaslt_layout b, cublaslt_layout, cublaslt_layout d,
                     cublaslt_pref p, int want, struct cublaslt_result *r,
                     int *got)
{
    *got = 0;
    if (!fits(o, a, b, d) || !offered(o->epilogue))
        return REJECTED;
    for (int i = 0; i < want && i < 3; i++, (*got)++) {
        r[i] = {};
        r[i].status = i == 0 ? REJECTED : OK;
        r[i].algo.data[0] = OFFER_MAGIC;
        r[i].algo.data[1] = kind_of(i, p->reduction);
        for (int j = 0; j < 4; j++)
            r[i].algo.data[2 + j] = p->align[j];
        r[i].algo.data[6] = alignment(o->bias);
        r[i].algo.data[7] = alignment(o->aux);
    }
    return OK;
}

static int check(cublaslt_handle, cublaslt_desc o, cublaslt_layout a,
                 cublaslt_layout b, cublaslt_layout, cublaslt_layout d,
                 const struct cublaslt_algo *algo, struct cublaslt_result *r)
{
    *r = {};
    r->algo = *algo;
    return fits(o, a, b, d) &&
                   (algo->data[0] == OFFER_MAGIC || is_set_to("blind"))
               ? OK
               : REJECTED;
}

static bool is_valid(const void *p, const struct cublaslt_algo *algo, int which)
{
    return emu::on_device(p, 1) && (uintptr_t)p % algo->data[2 + which] == 0;
}

/* A product uses its workspace for some time, when no other one may. */
static void give_product(const emu_product &p, cudaStream_t stream,
                         uint64_t *workspace)
{
    static uint64_t products;
    const uint64_t mine = ++products;
    char name[80];

    snprintf(name, sizeof name, "product %llu x %llu x %llu",
             (unsigned long long)p.d.cols, (unsigned long long)p.d.rows,
             (unsigned long long)(p.desc.transa ? p.a.rows : p.a.cols));
    emu::note_launch(name);
    emu::submit(stream, [=] { *workspace = mine; });
    emu::submit(stream, [=] {
        if (*workspace != mine) {
            fputs("emu: two products use one workspace\n", stderr);
            emu::die();
        }
        multiply(p);
    });
}

static int matmul(cublaslt_handle, cublaslt_desc o, const void *alpha,
                  const void *pa, cublaslt_layout a, const void *pb,
                  cublaslt_layout b, const void *beta, const void *pc,
                  cublaslt_layout, void *pd, cublaslt_layout d,
                  const struct cublaslt_algo *algo, void *workspace,
                  size_t room, void *stream)
{
    const emu_product p = { *o,
                            *a,
                            *b,
                            *d,
                            pa,
                            pb,
                            pc,
                            pd,
                            *(const float *)alpha,
                            *(const float *)beta,
                            algo->data[1] };

    if (algo->data[0] != OFFER_MAGIC || !fits(o, a, b, d) ||
        !is_valid(pa, algo, 0) || !is_valid(pb, algo, 1) ||
        !is_valid(pc, algo, 2) || !is_valid(pd, algo, 3) ||
        (is_fp8(a) && !(emu::on_device(o->scale_a, sizeof(float)) &&
                        emu::on_device(o->scale_b, sizeof(float)))) ||
        !emu::on_device(workspace, room) || (uintptr_t)workspace % 256 ||
        (o->bias && !is_valid(o->bias, algo, 4)) ||
        (o->aux && !is_valid(o->aux, algo, 5)))
        return REJECTED;
    if (emu::invalid((cudaStream_t)stream))
        return NOT_RUN;
    if (p.kind != OFFER_WRONG)
        give_product(p, (cudaStream_t)stream, (uint64_t *)workspace);
    return OK;
}

static int create_none(cublaslt_handle *)
{
    return NOT_INITIALIZED;
}

extern "C" int cublaslt_load(struct cublaslt *lt, int which, struct err *e)
{
    if (cublaslt_is_off())
        return err_set(e, ERR_MISSING, "GT_CUBLASLT is off");
    if (is_set_to("none"))
        return err_set(e, ERR_MISSING, "GT_EMU_LT is none");
    *lt = { create,   destroy,       version,        desc_create, desc_destroy,
            desc_set, layout_create, layout_destroy, pref_create, pref_destroy,
            pref_set, heuristic,     check,          matmul };
    if (which == 0 && is_set_to("older"))
        lt->create = create_none;
    return 0;
}

/* ---- for other stand-ins --------------------------------------------- */

/* For what stands for NCCL and cuDNN, in C: call(arg) whenever the stream comes
 * to it, and drop(arg), if it is not NULL, when that cannot happen again; is
 * the stream captured; does it refuse work; do all that was given; is this the
 * device's memory? */
extern "C" void emu_submit(void *stream, void (*call)(void *),
                           void (*drop)(void *), void *arg);
extern "C" bool emu_captures(void *stream);
extern "C" bool emu_refuses(void *stream);
extern "C" void emu_drain(void);
extern "C" bool emu_on_device(const void *p, size_t n);

extern "C" void emu_submit(void *stream, void (*call)(void *),
                           void (*drop)(void *), void *arg)
{
    const std::shared_ptr<void> kept(arg, [=](void *p) {
        if (drop)
            drop(p);
    });

    emu::submit((cudaStream_t)stream, [=] { call(kept.get()); });
}

extern "C" bool emu_captures(void *stream)
{
    return ((cudaStream_t)stream)->capture != nullptr;
}

extern "C" bool emu_refuses(void *stream)
{
    return emu::invalid((cudaStream_t)stream);
}

extern "C" void emu_drain(void)
{
    emu::drain(nullptr);
}

extern "C" bool emu_on_device(const void *p, size_t n)
{
    return emu::on_device(p, n);
}
