/*
 * abi - check that cublaslt.h agrees with the header of cuBLASLt
 */
#include "config.h"
#include "kernels/cuda/cublaslt.h"
#include "t/lib/tap.h"

#include <cublasLt.h>

/* clang-format off */
#define SAME(ours, theirs) { #theirs, ours, (long)(theirs) }
/* clang-format on */

static const struct {
    const char *name;
    long ours, theirs;
} all[] = {
    SAME(CUBLASLT_R_32F, CUDA_R_32F),
    SAME(CUBLASLT_R_16F, CUDA_R_16F),
    SAME(CUBLASLT_R_16BF, CUDA_R_16BF),
    SAME(CUBLASLT_R_8F_E4M3, CUDA_R_8F_E4M3),
    SAME(CUBLASLT_R_8F_E5M2, CUDA_R_8F_E5M2),
    SAME(CUBLASLT_COMPUTE_32F, CUBLAS_COMPUTE_32F),
    SAME(CUBLASLT_COMPUTE_32F_FAST_TF32, CUBLAS_COMPUTE_32F_FAST_TF32),
    SAME(CUBLASLT_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSA),
    SAME(CUBLASLT_DESC_TRANSB, CUBLASLT_MATMUL_DESC_TRANSB),
    SAME(CUBLASLT_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_EPILOGUE),
    SAME(CUBLASLT_DESC_BIAS_POINTER, CUBLASLT_MATMUL_DESC_BIAS_POINTER),
    SAME(CUBLASLT_DESC_AUX_POINTER, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER),
    SAME(CUBLASLT_DESC_AUX_LD, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD),
    SAME(CUBLASLT_DESC_A_SCALE_POINTER, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER),
    SAME(CUBLASLT_DESC_B_SCALE_POINTER, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER),
    SAME(CUBLASLT_EPI_DEFAULT, CUBLASLT_EPILOGUE_DEFAULT),
    SAME(CUBLASLT_EPI_BIAS, CUBLASLT_EPILOGUE_BIAS),
    SAME(CUBLASLT_EPI_GELU, CUBLASLT_EPILOGUE_GELU),
    SAME(CUBLASLT_EPI_GELU_BIAS, CUBLASLT_EPILOGUE_GELU_BIAS),
    SAME(CUBLASLT_EPI_GELU_AUX, CUBLASLT_EPILOGUE_GELU_AUX),
    SAME(CUBLASLT_EPI_GELU_AUX_BIAS, CUBLASLT_EPILOGUE_GELU_AUX_BIAS),
    SAME(CUBLASLT_EPI_DGELU, CUBLASLT_EPILOGUE_DGELU),
    SAME(CUBLASLT_EPI_BGRADB, CUBLASLT_EPILOGUE_BGRADB),
    SAME(CUBLASLT_PREF_WORKSPACE, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES),
    SAME(CUBLASLT_REDUCTION_COMPUTE_TYPE,
         CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE),
    SAME(CUBLASLT_REDUCTION_OUTPUT_TYPE, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE),
    SAME(CUBLASLT_PREF_REDUCTION, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK),
    SAME(CUBLASLT_PREF_ALIGN_A, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES),
    SAME(CUBLASLT_PREF_ALIGN_B, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES),
    SAME(CUBLASLT_PREF_ALIGN_C, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES),
    SAME(CUBLASLT_PREF_ALIGN_D, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES),
    SAME(sizeof(struct cublaslt_algo), sizeof(cublasLtMatmulAlgo_t)),
    SAME(sizeof(struct cublaslt_result),
         sizeof(cublasLtMatmulHeuristicResult_t)),
    SAME(offsetof(struct cublaslt_result, workspace),
         offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize)),
    SAME(offsetof(struct cublaslt_result, status),
         offsetof(cublasLtMatmulHeuristicResult_t, state)),
};

int main(void)
{
    struct cublaslt lt;
    struct err e = { 0 };

    bool good = true;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i].ours == all[i].theirs)
            continue;
        diag("%s is %ld here, %ld there", all[i].name, all[i].ours,
             all[i].theirs);
        good = false;
    }
    ok(good, "%zu numbers agree with cublasLt.h", sizeof all / sizeof *all);
    if (cublaslt_load(&lt, 0, &e) < 0 && cublaslt_load(&lt, 1, &e) < 0)
        skip(e.text, "the library has every function");
    else
        ok(lt.version() >= 120000, "the library has every function: %zu",
           lt.version());
    return done_testing();
}
