"""Run a program whose libraries find gtrack where they import wandb

usage: python -m gtrack.as_wandb SCRIPT|-m MODULE [ARGUMENT]...
"""
import os
import runpy
import sys

import gtrack.as_wandb  # noqa: F401: this is what lets them find it


def main() -> None:
    words = sys.argv[1:]
    if not words or words[0] in ("-h", "--help") or words == ["-m"]:
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    if words[0] == "-m":
        sys.argv = words[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        sys.path.insert(0, os.path.dirname(os.path.abspath(words[0])))
        runpy.run_path(words[0], run_name="__main__")


main()
