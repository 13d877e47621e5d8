"""Let libraries that import wandb find gtrack instead.

    python -m gtrack.as_wandb train.py        # or -m module

A folder with a small package wandb comes before all others, in this process
and, by PYTHONPATH, in those that it starts.  A program can do the same itself:

    import gtrack.as_wandb  # before what imports wandb
"""
from __future__ import annotations

import os
import sys

from .._errors import Error

DOOR = os.path.join(os.path.dirname(os.path.abspath(__file__)), "door")


def install() -> None:
    there = sys.modules.get("wandb")
    if there is not None and \
            not (getattr(there, "__file__", None) or "").startswith(DOOR):
        raise Error("import gtrack.as_wandb before anything imports wandb")
    if DOOR not in sys.path:
        sys.path.insert(0, DOOR)
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    package = os.path.dirname(os.path.dirname(os.path.dirname(DOOR)))
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [DOOR, package] + [p for p in paths if p and p not in (DOOR, package)])


install()
