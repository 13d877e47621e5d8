"""The runs that this process writes, and how they end with it.

The newest run is gtrack.run, and the functions of the package are its methods.
Runs that are left at exit end as the program does: an exception, or an exit
status other than 0, makes them failed runs.
"""
from __future__ import annotations

import atexit
import os
import sys

from . import _console, _lib
from ._errors import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._run import Run

# Methods of a run that are functions of the package while there is one.
METHODS = ("log", "define_metric", "save", "restore", "alert", "watch",
           "unwatch", "log_artifact", "log_code", "log_model", "use_artifact",
           "use_model", "link_artifact", "link_model", "mark_preempting")

_runs: list[Run] = []
_hooked = False
_end: tuple = ()  # what an exception that nobody caught makes of the runs


class NotBegun:
    """gtrack.config and gtrack.summary before init()."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def _fail(self, *_, **__):
        raise Error(f"call gtrack.init() before you use gtrack.{self._name}")

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self._fail()

    __setattr__ = __getitem__ = __setitem__ = __contains__ = __iter__ = _fail


def _refuse(name: str):
    def refuse(*_, **__):
        raise Error(f"call gtrack.init() before gtrack.{name}()")

    refuse.__name__ = name
    return refuse


def current() -> Run | None:
    return _runs[-1] if _runs else None


def active() -> list[Run]:
    return list(_runs)


def publish() -> None:
    """Let the names of the package be those of the newest run."""
    names = sys.modules[__package__].__dict__
    run = current()
    names["run"] = run
    for name in METHODS:
        names[name] = getattr(run, name) if run else _refuse(name)
    for name in ("config", "summary"):
        names[name] = getattr(run, name) if run else NotBegun(name)


def begun(run: Run) -> None:
    global _hooked
    if not _hooked:
        _hooked = True
        _hook()
    _runs.append(run)
    publish()


def ended(run: Run) -> None:
    if run in _runs:
        _runs.remove(run)
        publish()


def how_it_ends(kind, value) -> tuple:
    """The status of a run that an exception ends, and the reason."""
    if issubclass(kind, KeyboardInterrupt):
        return _lib.KILLED, "interrupted"
    if issubclass(kind, SystemExit):
        return (_lib.FAILED if getattr(value, "code", None)
                else _lib.FINISHED), None
    text = f"{kind.__name__}: {value}" if str(value) else kind.__name__
    return _lib.FAILED, text[:500]


def _hook() -> None:
    show = sys.excepthook

    def note_exception(kind, value, traceback):
        global _end
        _end = how_it_ends(kind, value)
        show(kind, value, traceback)

    sys.excepthook = note_exception
    atexit.register(_finish_all)
    os.register_at_fork(after_in_child=_leave_all)


def _finish_all() -> None:
    for run in reversed(active()):
        try:
            run._end(*_end) if _end else run._end_at_exit()
        except (Error, OSError) as e:
            print(f"gtrack: {e}", file=sys.stderr)


def _leave_all() -> None:
    """In a forked process: init() begins a new run here."""
    for run in _runs:
        run._leave_to_parent()
    _runs.clear()
    _console.leave()
