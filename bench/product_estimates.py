#!/usr/bin/env python3
"""Print what NVIDIA's performance model expects of the products of a step.

    gtrain plan conf/gpt2-124M.ini --device h200 --only launches --tsv |
        bench/product_estimates.py

It needs no GPU, but the package nvidia-matmul-heuristics of PyPI, whose tile
and time for each shape are printed beside the time that the plan expects.  The
model knows no limit of power.  Activations are bf16, gradients of weights F32.
"""

import sys

from nvMatmulHeuristics import (
    NvMatmulHeuristicsFlags,
    NvMatmulHeuristicsInterfaceEx,
    NvMatmulHeuristicsMatmulLayout,
    NvMatmulHeuristicsNvidiaGpu,
    NvMatmulHeuristicsTarget,
)

# The library's matrices are column-major, so it computes the transpose.
LAYOUTS = {
    "product, forward": NvMatmulHeuristicsMatmulLayout.TN_COL_MAJOR,
    "product, gradient of input": NvMatmulHeuristicsMatmulLayout.NN_COL_MAJOR,
    "product, gradient of weights": NvMatmulHeuristicsMatmulLayout.NT_COL_MAJOR,
}


def best_kernel(model, name, shape):
    """The kernel of the shortest estimate for a product of m x n x k."""
    m, n, k = (int(x) for x in shape.split(" x "))
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
    for line in sys.stdin:
        name, shape, calls, gflop, _, ms = line.rstrip("\n").split("\t")
        if name not in LAYOUTS:
            continue
        best = best_kernel(model, name, shape)
        kernel, time = best["kernel"], 1e3 * best["runtime"] * int(calls)
        planned += float(ms)
        expected += time
        print(
            f"| {name.removeprefix('product, ')} | {shape} | {calls} | {ms} "
            f"| {time:.2f} | {float(gflop) / time:.0f} "
            f"| {kernel.cta_tile_m} x {kernel.cta_tile_n} | {kernel.split_k} |"
        )
    print(f"| **sum** | | | {planned:.2f} | {expected:.2f} | | | |")


if __name__ == "__main__":
    main()
