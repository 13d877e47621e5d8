#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/err.h"

BEGIN_EXTERN_C

/*
 * cublaslt - the part of cuBLASLt that gemm_cublaslt.cu calls
 *
 * The library is half a gigabyte, and many machines do not have it, so it is
 * opened at run time, and the part of its interface that is needed is declared
 * here.  The numbers and types are those of cublasLt.h; t/cuda/abi.c compares
 * them if that header is installed.  The emulator has a stand-in,
 * t/emu/cublaslt_emu.cu.
 */
enum {
    CUBLASLT_R_32F = 0,
    CUBLASLT_R_16F = 2,
    CUBLASLT_R_16BF = 14,
    CUBLASLT_R_8F_E4M3 = 28,
    CUBLASLT_R_8F_E5M2 = 29,
    CUBLASLT_COMPUTE_32F = 68,
    CUBLASLT_COMPUTE_32F_FAST_TF32 = 77,

    CUBLASLT_DESC_TRANSA = 3,
    CUBLASLT_DESC_TRANSB = 4,
    CUBLASLT_DESC_EPILOGUE = 7,
    CUBLASLT_DESC_BIAS_POINTER = 8,
    CUBLASLT_DESC_AUX_POINTER = 11,
    CUBLASLT_DESC_AUX_LD = 12,
    CUBLASLT_DESC_A_SCALE_POINTER = 17,
    CUBLASLT_DESC_B_SCALE_POINTER = 18,

    CUBLASLT_EPI_DEFAULT = 1,
    CUBLASLT_EPI_BIAS = 4,
    CUBLASLT_EPI_GELU = 32,
    CUBLASLT_EPI_GELU_BIAS = 36,
    CUBLASLT_EPI_GELU_AUX = 160,
    CUBLASLT_EPI_GELU_AUX_BIAS = 164,
    CUBLASLT_EPI_DGELU = 192,
    CUBLASLT_EPI_BGRADB = 512,

    CUBLASLT_REDUCTION_COMPUTE_TYPE = 2,
    CUBLASLT_REDUCTION_OUTPUT_TYPE = 4,

    CUBLASLT_PREF_WORKSPACE = 1,
    CUBLASLT_PREF_REDUCTION = 3,
    CUBLASLT_PREF_ALIGN_A = 5,
    CUBLASLT_PREF_ALIGN_B = 6,
    CUBLASLT_PREF_ALIGN_C = 7,
    CUBLASLT_PREF_ALIGN_D = 8,
};

typedef struct cublaslt_handle_data *cublaslt_handle;
typedef struct cublaslt_desc_data *cublaslt_desc;
typedef struct cublaslt_layout_data *cublaslt_layout;
typedef struct cublaslt_pref_data *cublaslt_pref;

struct cublaslt_algo {
    uint64_t data[8];
};

struct cublaslt_result {
    struct cublaslt_algo algo;
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
};

/* Each but version() returns 0 on success.  The names are the library's. */
struct cublaslt {
    int (*create)(cublaslt_handle *);
    int (*destroy)(cublaslt_handle);
    size_t (*version)(void);
    int (*desc_create)(cublaslt_desc *, int compute, int scale_type);
    int (*desc_destroy)(cublaslt_desc);
    int (*desc_set)(cublaslt_desc, int attribute, const void *, size_t);
    int (*layout_create)(cublaslt_layout *, int type, uint64_t rows,
                         uint64_t cols, int64_t ld);
    int (*layout_destroy)(cublaslt_layout);
    int (*pref_create)(cublaslt_pref *);
    int (*pref_destroy)(cublaslt_pref);
    int (*pref_set)(cublaslt_pref, int attribute, const void *, size_t);
    int (*heuristic)(cublaslt_handle, cublaslt_desc, cublaslt_layout a,
                     cublaslt_layout b, cublaslt_layout c, cublaslt_layout d,
                     cublaslt_pref, int want, struct cublaslt_result *,
                     int *got);
    int (*check)(cublaslt_handle, cublaslt_desc, cublaslt_layout a,
                 cublaslt_layout b, cublaslt_layout c, cublaslt_layout d,
                 const struct cublaslt_algo *, struct cublaslt_result *);
    int (*matmul)(cublaslt_handle, cublaslt_desc, const void *alpha,
                  const void *a, cublaslt_layout, const void *b,
                  cublaslt_layout, const void *beta, const void *c,
                  cublaslt_layout, void *d, cublaslt_layout,
                  const struct cublaslt_algo *, void *workspace, size_t,
                  void *stream);
};

/* Whether the environment asks to do without the library. */
static inline bool cublaslt_is_off(void)
{
    const char *off = getenv("GT_CUBLASLT");

    return off && strcmp(off, "off") == 0;
}

/* Find the functions of version `which` of the library, 0 for the newest; -1
 * and why if that fails. */
enum { CUBLASLT_VERSIONS = 2 };
int cublaslt_load(struct cublaslt *, int which, struct err *e);

END_EXTERN_C
