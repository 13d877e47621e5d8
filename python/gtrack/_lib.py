"""libgtrack.so.0 by ctypes: the functions of gtrack.h that the package calls.

The library is the file that $GTRACK_LIBRARY names, or the one inside the
package, where a wheel has it, or one that the system finds.
"""
from __future__ import annotations

import ctypes
import os

from ._errors import Error

WHY = 512  # GTRACK_WHY
FINISHED, FAILED, KILLED, PREEMPTED = 3, 4, 5, 6
NO_CAPTURE, STEAL = 1, 2


class Conf(ctypes.Structure):
    """struct gtrack_conf"""

    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_char_p)
        for name in ("root", "experiment", "name", "id", "parent", "resume",
                     "command")
    ] + [("flags", ctypes.c_uint), ("system_every", ctypes.c_double)]


class Dataset(ctypes.Structure):
    """struct gtrack_dataset"""

    _fields_ = [("size", ctypes.c_size_t)] + [
        (name, ctypes.c_char_p)
        for name in ("name", "digest", "source", "source_type", "schema",
                     "profile", "context")
    ]


def _path() -> str:
    """The library to load: a path, or a name for the system to find."""
    inside = os.path.join(os.path.dirname(__file__), "lib", "libgtrack.so.0")
    named = os.environ.get("GTRACK_LIBRARY")
    if named:
        return named
    return inside if os.path.exists(inside) else "libgtrack.so.0"


def _load() -> tuple[ctypes.CDLL, ctypes.PyDLL]:
    """The library twice: for functions that may wait, which release the
    interpreter's lock, and for those that only copy, which are faster without
    doing so."""
    path = _path()
    try:
        return ctypes.CDLL(path), ctypes.PyDLL(path)
    except OSError as e:
        raise Error(f"cannot load libgtrack: {e}; install the wheel, or set "
                    "GTRACK_LIBRARY to the path of libgtrack.so.0") from None


_waits, _copies = _load()
_text, _run, _why = ctypes.c_char_p, ctypes.c_void_p, ctypes.c_char_p


def _function(library: ctypes.CDLL, name: str, result, *arguments):
    f = library[name]
    f.restype = result
    f.argtypes = arguments
    return f


begin = _function(_waits, "gtrack_begin", _run, ctypes.POINTER(Conf), _why)
end = _function(_waits, "gtrack_end", ctypes.c_int, _run, ctypes.c_int, _why)
end_at_exit = _function(_waits, "gtrack_end_at_exit", None, _run)
flush = _function(_waits, "gtrack_flush", ctypes.c_int, _run, _why)
dataset = _function(_waits, "gtrack_dataset", ctypes.c_int, _run,
                    ctypes.POINTER(Dataset), _why)
rename = _function(_waits, "gtrack_rename", ctypes.c_int, _run, _text, _why)
artifact_folder = _function(_waits, "gtrack_artifact_folder", ctypes.c_int,
                            _run, _text, _why)
run_id = _function(_copies, "gtrack_id", _text, _run)
run_name = _function(_copies, "gtrack_name", _text, _run)
run_folder = _function(_copies, "gtrack_folder", _text, _run)
last_step = _function(_copies, "gtrack_last_step", ctypes.c_int64, _run)
had_param = _function(_copies, "gtrack_had_param", _text, _run, ctypes.c_int,
                      ctypes.POINTER(_text))
had_tag = _function(_copies, "gtrack_had_tag", _text, _run, ctypes.c_int,
                    ctypes.POINTER(_text))
had_metric = _function(_copies, "gtrack_had_metric", _text, _run, ctypes.c_int,
                       ctypes.POINTER(ctypes.c_double))
rewind = _function(_copies, "gtrack_rewind", None, _run, ctypes.c_int64)
param = _function(_copies, "gtrack_param", None, _run, _text, _text)
tag = _function(_copies, "gtrack_tag", None, _run, _text, _text)
reason = _function(_copies, "gtrack_reason", None, _run, _text)
keys = _function(_copies, "gtrack_keys", _run, _run, ctypes.POINTER(_text),
                 ctypes.c_int)
# The row is the bytes of its doubles.
row = _function(_copies, "gtrack_row", None, _run, ctypes.c_char_p)


def encode(text: str | None) -> bytes | None:
    """A string for C: UTF-8 without NUL characters."""
    if text is None:
        return None
    return text.replace("\0", "").encode("utf-8", "surrogateescape")


def decode(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


def had(run: int, function, kind) -> dict:
    """What a run had when it was resumed, by had_param and the like."""
    value = kind()
    found: dict = {}
    while True:
        key = function(run, len(found), ctypes.byref(value))
        if key is None:
            return found
        found[decode(key)] = value.value if kind is ctypes.c_double else \
            decode(value.value or b"")


def check(result: int | None, why: ctypes.Array) -> None:
    """Raise what the library says if it failed: with -1, or NULL."""
    if result is None or result < 0:
        raise Error(decode(why.value))
