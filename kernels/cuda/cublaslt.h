#ifndef KERNELS_CUDA_CUBLASLT_H
#define KERNELS_CUDA_CUBLASLT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * cublaslt - the part of cuBLASLt that gemm.cu calls, found at run time
 *
 * The library is half a gigabyte and not on every machine, so it is opened when
 * a CUDA device is, and what we need of its interface is written down here.
 * These numbers and types are those of cublasLt.h; t/cuda/abi.c compares them
 * where that header is installed.  cublaslt_emu.cu answers the same calls in
 * the emulation.
 */
enum {
    LT_R_32F = 0,
    LT_R_16F = 2,
    LT_R_16BF = 14,
    LT_COMPUTE_32F = 68,
    LT_COMPUTE_32F_FAST_TF32 = 77,

    LT_DESC_TRANSA = 3,
    LT_DESC_TRANSB = 4,
    LT_DESC_EPILOGUE = 7,
    LT_DESC_BIAS_POINTER = 8,
    LT_DESC_AUX_POINTER = 11,
    LT_DESC_AUX_LD = 12,

    LT_EPILOGUE_DEFAULT = 1,
    LT_EPILOGUE_BIAS = 4,
    LT_EPILOGUE_GELU = 32,
    LT_EPILOGUE_GELU_BIAS = 36,
    LT_EPILOGUE_GELU_AUX = 160,
    LT_EPILOGUE_GELU_AUX_BIAS = 164,
    LT_EPILOGUE_DGELU = 192,
    LT_EPILOGUE_BGRADB = 512,

    LT_PREF_WORKSPACE = 1,
    LT_PREF_REDUCTION = 3,
    LT_PREF_ALIGN_A = 5,
    LT_PREF_ALIGN_B = 6,
    LT_PREF_ALIGN_C = 7,
    LT_PREF_ALIGN_D = 8,
};

typedef struct lt_handle_data *lt_handle;
typedef struct lt_desc_data *lt_desc;
typedef struct lt_layout_data *lt_layout;
typedef struct lt_pref_data *lt_pref;

struct lt_algo {
    uint64_t data[8];
};

struct lt_result {
    struct lt_algo algo;
    size_t workspace;
    int status;
    float waves;
    int reserved[4];
};

/* Each returns 0, but for version; the names are the library's. */
struct lt {
    int (*create)(lt_handle *);
    int (*destroy)(lt_handle);
    size_t (*version)(void);
    int (*desc_create)(lt_desc *, int compute, int scale_type);
    int (*desc_destroy)(lt_desc);
    int (*desc_set)(lt_desc, int attribute, const void *, size_t);
    int (*layout_create)(lt_layout *, int type, uint64_t rows, uint64_t cols,
                         int64_t ld);
    int (*layout_destroy)(lt_layout);
    int (*pref_create)(lt_pref *);
    int (*pref_destroy)(lt_pref);
    int (*pref_set)(lt_pref, int attribute, const void *, size_t);
    int (*heuristic)(lt_handle, lt_desc, lt_layout a, lt_layout b, lt_layout c,
                     lt_layout d, lt_pref, int want, struct lt_result *,
                     int *got);
    int (*check)(lt_handle, lt_desc, lt_layout a, lt_layout b, lt_layout c,
                 lt_layout d, const struct lt_algo *, struct lt_result *);
    int (*matmul)(lt_handle, lt_desc, const void *alpha, const void *a,
                  lt_layout, const void *b, lt_layout, const void *beta,
                  const void *c, lt_layout, void *d, lt_layout,
                  const struct lt_algo *, void *workspace, size_t,
                  void *stream);
};

/* Fill in the library's functions, or say why not. */
int lt_open(struct lt *, struct err *e);

#ifdef __cplusplus
}
#endif

#endif
