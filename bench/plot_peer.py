#!/usr/bin/env python3
"""plot_peer.py - draw the loss of runs with matplotlib, for bench/plot

usage: plot_peer.py OUT.png METRIC-FILE...

Each file has lines of "time value step", as MLflow writes them.  The figure has
the size and the resolution of gplot's.
"""
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

fig, ax = plt.subplots(figsize=(454 / 72, 284 / 72), dpi=200)
for i, path in enumerate(sys.argv[2:]):
    with open(path, "rb") as f:
        table = np.array(f.read().split(), dtype=np.float64).reshape(-1, 3)
    ax.plot(table[:, 2], table[:, 1], lw=1.2, label=f"run{i + 1}")
ax.set_xlabel("step")
ax.set_ylabel("loss (nats/token)")
ax.legend(loc="upper right")
fig.savefig(sys.argv[1])
