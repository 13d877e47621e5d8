"""The program gtrack, which does what libgtrack does not."""
from __future__ import annotations

import os
import shutil
import subprocess

from ._errors import Error, warn_once


def program() -> str:
    """The program gtrack: $GTRACK_PROGRAM, or one on the PATH."""
    path = os.environ.get("GTRACK_PROGRAM") or shutil.which("gtrack")
    if not path:
        raise Error("this needs the program gtrack, which is not on the PATH")
    return path


def raise_alerts(folder: str) -> None:
    """If $GTRACK_ALERTS names a file of alerts, have them raised for the run in
    this folder until it has ended, by a process that outlives this one."""
    if not os.environ.get("GTRACK_ALERTS"):
        return
    root = os.path.dirname(os.path.dirname(folder))
    try:
        done = subprocess.run(
            [program(), "alert", "--quiet", "--detach", "--root", root,
             os.path.basename(folder)], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        why = done.stderr.decode(errors="replace").strip()
    except (Error, OSError) as e:
        why = str(e)
    if why:
        warn_once(f"no alerts are raised for this run: {why}")
