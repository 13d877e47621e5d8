"""Keep the traces of PyTorch's profiler:

    from torch.profiler import profile, schedule
    from gtrack.integrations.torch import trace_handler

    with profile(schedule=schedule(wait=1, warmup=1, active=3),
                 on_trace_ready=trace_handler()) as profiler:
        for batch in batches:
            train(batch)
            profiler.step()
"""
from __future__ import annotations

import os

import gtrack


def trace_handler(run=None, folder: str = "traces"):
    """What profile(on_trace_ready=) calls: each trace becomes an artifact of
    the run, FOLDER/STEP.json, which Perfetto and chrome://tracing show."""

    def keep(profiler) -> None:
        own = run or gtrack.run
        if own is None:
            raise gtrack.Error("call gtrack.init() before the profiler starts")
        path = os.path.join(own.dir, folder)
        os.makedirs(path, exist_ok=True)
        profiler.export_chrome_trace(
            os.path.join(path, f"{profiler.step_num}.json"))

    return keep
