"""gtrack - record training runs from Python

    import gtrack

    with gtrack.init(project="c4", config={"lr": 6e-4}) as run:
        for step in range(100):
            run.log({"train/loss": 4 / (step + 1)})

A run is a folder of plain files in the store mlruns, which gtrack(1), gplot(1)
and MLflow read.  log() copies numbers to a thread of libgtrack and returns; it
never waits for the disk.  `import gtrack as wandb` serves programs that were
written for W&B, and `import gtrack.mlflow as mlflow` those for MLflow; see
gtrack-python(7).
"""
from __future__ import annotations

import sys as _sys

from ._errors import CommError, Error, UsageError, missing as _missing
from . import _current
from ._init import Settings, init
from ._run import Run

__version__ = "0.1.0"

_MEDIA = ("Image", "Audio", "Video", "Html", "Object3D", "Molecule", "Table",
          "Histogram")

# What W&B has and this package does not, with what to do instead.
_MISSING = {
    "sweep": "`gtrack sweep` runs a program for each combination of values",
    "agent": "`gtrack sweep` runs a program for each combination of values",
    "controller": "`gtrack sweep` runs a program for each combination of "
                  "values",
    "launch": "start the program itself",
    "Graph": "it does not draw models",
    "keras": "use gtrack.integrations.keras",
    "integration": "use gtrack.integrations, or python -m gtrack.as_wandb",
    "sdk": "use python -m gtrack.as_wandb",
    "tensorboard": "use init(sync_tensorboard=True), or `gtrack import`",
}


_MODULES = {"plot": "plot", "mlflow": "mlflow", "util": "util",
            "integrations": "integrations", "errors": "_errors",
            "data_types": "_media"}


class AlertLevel:
    INFO, WARN, ERROR = "INFO", "WARN", "ERROR"


def finish(exit_code: int | None = None, quiet: bool | None = None) -> None:
    """End the newest run, if there is one."""
    newest = _current.current()
    if newest:
        newest.finish(exit_code, quiet)


join = finish


def login(*_, **__) -> bool:
    """Nothing: a store needs no account."""
    return True


def setup(*_, **__) -> None:
    """Nothing: there is no service to start."""


teardown = require = ensure_configured = setup


def termlog(string: str = "", newline: bool = True, **_) -> None:
    """Print a message on standard error."""
    print(f"gtrack: {string}", file=_sys.stderr, end="\n" if newline else "")


termwarn = termerror = termlog


def __getattr__(name: str):
    """What is imported when it is first used."""
    if name in _MEDIA:
        from . import _media

        value = getattr(_media, name)
    elif name == "Artifact":
        from ._artifact import Artifact as value
    elif name == "Api":
        from ._api import Api as value
    elif name in _MODULES:
        import importlib

        value = importlib.import_module(f".{_MODULES[name]}", __name__)
    elif name in _MISSING:
        raise _missing(name, _MISSING[name])
    elif name == "plot_table":
        from .plot import plot_table as value
    else:
        raise AttributeError(f"gtrack has no '{name}'; gtrack-python(7) lists "
                             "the calls of W&B's that are there")
    globals()[name] = value
    return value


_current.publish()
