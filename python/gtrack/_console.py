"""What a program prints, also as the artifact output.log of its runs.

The method write() of sys.stdout and sys.stderr is wrapped, so that what
another language or a child process prints is not kept; `gtrack exec` does so.
Of a line that a progress bar writes again and again, the last text is kept.
"""
from __future__ import annotations

import os
import sys
import threading

_lock = threading.RLock()
_logs: list[Log] = []
_wrapped: list = []  # (stream, its write, ours)


class Log:
    """The output.log of a run, which is there once a line was printed."""

    def __init__(self, path: str) -> None:
        self._path, self._fd = path, -1
        self._open: dict[int, str] = {}  # the unfinished line of each stream

    def add(self, stream: int, text: str) -> None:
        *lines, rest = (self._open.get(stream, "") + text).split("\n")
        self._open[stream] = rest[rest.rfind("\r") + 1:] \
            if not rest.endswith("\r") else rest
        if lines:
            self._write("".join(_last(line) + "\n" for line in lines))

    def _write(self, text: str) -> None:
        data = text.encode(errors="replace")
        try:
            if self._fd < 0:
                os.makedirs(os.path.dirname(self._path), exist_ok=True)
                self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT |
                                   os.O_APPEND | os.O_CLOEXEC, 0o666)
            while data:
                data = data[os.write(self._fd, data):]
        except OSError:
            pass  # printing does not fail for a full disk

    def close(self) -> None:
        for text in self._open.values():
            if text:
                self._write(_last(text) + "\n")
        if self._fd >= 0:
            os.close(self._fd)


def _last(line: str) -> str:
    """What a terminal shows of a line after its carriage returns."""
    return line.rstrip("\r").rpartition("\r")[2]


def _is_notebook() -> bool:
    return "ipykernel" in sys.modules


def begin(path: str, how: str | None) -> Log | None:
    """Keep what is printed from now on, unless `how` is "off"; in a notebook,
    only if it is "wrap"."""
    if how == "off" or (how != "wrap" and _is_notebook()):
        return None
    log = Log(path)
    with _lock:
        if not _logs:
            _wrap()
        _logs.append(log)
    return log


def end(log: Log) -> None:
    with _lock:
        _logs.remove(log)
        log.close()
        while not _logs and _wrapped:
            stream, write, ours = _wrapped.pop()
            if stream.write is ours:
                stream.write = write


def leave() -> None:
    """In a forked process: nothing is kept, and another thread of the parent
    may have held the lock."""
    global _lock
    _lock = threading.RLock()
    _logs.clear()


def _wrap() -> None:
    for number, stream in enumerate((sys.stdout, sys.stderr)):
        try:
            write = stream.write
            ours = _both(number, write)
            setattr(stream, "write", ours)
            _wrapped.append((stream, write, ours))
        except AttributeError:  # no stream, or one of another kind
            pass


def _both(number: int, write):
    def both(text):
        result = write(text)
        with _lock:
            for log in _logs:
                log.add(number, text)
        return result

    return both
