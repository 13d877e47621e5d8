"""What the package raises, and its warnings, each of which is given once."""
from __future__ import annotations

import sys

_said: set[str] = set()


class Error(Exception):
    """Something that gtrack cannot do; the text says why, and what to do."""


class MissingError(Error, AttributeError):
    """A name of W&B's that gtrack does not have: hasattr() is False."""


UsageError = CommError = Error


def warn_once(text: str) -> None:
    """Print a warning on standard error, the first time."""
    if text not in _said:
        _said.add(text)
        print(f"gtrack: warning: {text}", file=sys.stderr)


def ignore(call: str, **given) -> None:
    """Warn of arguments that change nothing here."""
    for name, value in given.items():
        if value is not None and value is not False:
            warn_once(f"{call}() ignores {name}")


def missing(name: str, advice: str) -> MissingError:
    """The error for a call of W&B's or MLflow's that is not here."""
    return MissingError(f"gtrack has no {name}: {advice}")
