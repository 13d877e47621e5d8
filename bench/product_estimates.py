#!/usr/bin/env python3
"""Print what NVIDIA's performance model expects of the products of a micro-step
of GPT-2 124M with 64 sequences of 1,024 tokens, on an H200.

It needs no GPU, but the package nvidia-matmul-heuristics of PyPI, whose tile
and time for each shape are printed beside the time that gtrain plan expects:
that of 70% of the peak rate.  The model knows no limit of power.  Activations
are bf16, gradients of weights F32.
"""

from nvMatmulHeuristics import (
    NvMatmulHeuristicsFlags,
    NvMatmulHeuristicsInterfaceEx,
    NvMatmulHeuristicsMatmulLayout,
    NvMatmulHeuristicsNvidiaGpu,
    NvMatmulHeuristicsTarget,
)

RATE = 0.7 * 989.4e12
TOKENS, LAYERS, WIDTH = 65536, 12, 768
CHUNKS, ROWS, VOCAB = 4, 16384, 50304  # of the head's logits

# The library's matrices are column-major, so it computes the transpose.
LAYOUTS = {
    "forward": NvMatmulHeuristicsMatmulLayout.TN_COL_MAJOR,
    "gradient of weights": NvMatmulHeuristicsMatmulLayout.NT_COL_MAJOR,
    "gradient of input": NvMatmulHeuristicsMatmulLayout.NN_COL_MAJOR,
}


def products():
    """The name, the shape and the number of each kind of product."""
    linear = [(3 * WIDTH, WIDTH), (WIDTH, WIDTH), (4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH)]
    all_linear = [(LAYERS, TOKENS, m, k) for m, k in linear]
    for calls, rows, m, k in all_linear + [(CHUNKS, ROWS, VOCAB, WIDTH)]:
        yield "forward", (rows, m, k), calls
        yield "gradient of weights", (m, k, rows), calls
        yield "gradient of input", (rows, k, m), calls


def best_kernel(model, name, shape):
    """The kernel of the shortest estimate for a product of m x n x k."""
    m, n, k = shape
    types = "TSS" if name.endswith("weights") else "TST"
    problem = model.makeNvMatmulHeuristicsProblem(n, m, k, LAYOUTS[name])
    return min(model.get(problem, 8, types), key=lambda c: c["runtime"])


def main():
    model = NvMatmulHeuristicsInterfaceEx(
        backend=NvMatmulHeuristicsTarget.CUTLASS3,
        flags=NvMatmulHeuristicsFlags.PERF_MODEL_BASED_AUTO_TUNING,
        gpu=NvMatmulHeuristicsNvidiaGpu.H200_SXM,
    )
    planned = expected = 0.0
    print("| product | shape | calls | planned ms | model ms | TFLOP/s | tile | parts |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name, shape, calls in products():
        flops = 2.0 * calls * shape[0] * shape[1] * shape[2]
        best = best_kernel(model, name, shape)
        kernel, time = best["kernel"], best["runtime"] * calls
        planned += flops / RATE
        expected += time
        print(
            f"| {name} | {' x '.join(map(str, shape))} | {calls} "
            f"| {1e3 * flops / RATE:.2f} | {1e3 * time:.2f} | {flops / time / 1e12:.0f} "
            f"| {kernel.cta_tile_m} x {kernel.cta_tile_n} | {kernel.split_k} |"
        )
    print(f"| **sum** | | | {1e3 * planned:.2f} | {1e3 * expected:.2f} | | | |")


if __name__ == "__main__":
    main()
