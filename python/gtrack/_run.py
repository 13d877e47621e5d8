"""A run: what init() returns."""
from __future__ import annotations

import ctypes
import os
import struct
import sys
import threading
import time

from . import _console, _current, _lib
from ._config import Config, Summary
from ._errors import Error, ignore, warn_once
from ._run_about import About
from ._program import raise_alerts
from ._run_files import Files, copy_file
from ._values import from_text, number, own_tags, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_row = _lib.row
ROWS = 4096  # sets of names that are remembered
MAX_STEP = 2 ** 53  # the library takes steps as doubles


def store_root(folder: str | None = None) -> str:
    """The store: mlruns in a folder, or what GTRACK_ROOT names, or mlruns."""
    if folder is None:
        folder = os.environ.get("WANDB_DIR")
    if folder is not None:
        return os.path.join(os.fspath(folder), "mlruns")
    return os.environ.get("GTRACK_ROOT") or "mlruns"


def id_of(project: str | None, word: str) -> str:
    """The id in the store for the id that a program chose: itself if it has 32
    hexadecimal digits, or else a digest of it and the project."""
    if len(word) == 32 and not word.strip("0123456789abcdef"):
        return word
    from hashlib import md5

    return md5(f"{project or 'Default'}/{word}".encode(),
               usedforsecurity=False).hexdigest()


class Run(Files, About):
    """A run that this process writes.  All methods may be called from any
    thread; in a forked process they do nothing but warn once."""

    _handle: int | None  # of the library; None after the end

    def __init__(self, handle: int, *, project: str | None,
                 given_id: str | None = None, group: str | None = None,
                 job_type: str | None = None, resumed: bool = False) -> None:
        self._set_up(project, given_id, group, job_type)
        self._handle = handle
        self._step = self._start = _lib.last_step(handle) + 1
        self._gtrack_id = _lib.decode(_lib.run_id(handle))
        self._name = _lib.decode(_lib.run_name(handle))
        self._folder = os.path.abspath(_lib.decode(_lib.run_folder(handle)))
        self._resumed = resumed
        raise_alerts(self._folder)
        if resumed:
            self._restore()

    def _restore(self) -> None:
        """Be as the run was when it was interrupted."""
        had, run = _lib.had, self._handle or 0
        tags = had(run, _lib.had_tag, ctypes.c_char_p)
        self._tags = tuple(own_tags(tags))
        self._notes = tags.get("mlflow.note.content") or None
        self._group = self._group or tags.get("wandb.group")
        self._job_type = self._job_type or tags.get("wandb.job_type")

        def below(prefix: str) -> dict:
            return {k[len(prefix):]: v for k, v in tags.items()
                    if k.startswith(prefix)}

        self.config._restore({
            **had(run, _lib.had_param, ctypes.c_char_p), **below("config.")})
        self.summary._items.update(
            (k, x) for k, x in had(run, _lib.had_metric,
                                   ctypes.c_double).items()
            if not k.startswith("system/"))
        self.summary._items.update(
            (k, from_text(v)) for k, v in below("summary.").items())

    def _set_up(self, project: str | None, given_id: str | None,
                group: str | None, job_type: str | None) -> None:
        """What every run has, also one that is disabled."""
        self._handle = None
        self._lock = threading.RLock()
        self._rows: dict = {}
        self._forked = self._resumed = self._preempted = False
        self._handed = False  # a cell of a sweep
        self._console: _console.Log | None = None  # what keeps the output of the program
        self._follows = False  # what is written for TensorBoard
        self._axes: list = []  # (pattern, step metric) of define_metric()
        self._axis_of: dict = {}  # the step metric of each metric, or None
        self._at: dict = {}  # the last value of each step metric
        self._uneven: set = set()  # step metrics that were no whole number
        self._metric_summary: list[tuple[str, tuple]] = []
        self._extremes: dict = {}
        self._watched: list = []
        self._tags = ()
        self._notes = None
        self._alerts: dict = {}
        self._copies = {}
        self._project, self._given_id = project or "Default", given_id
        self._group, self._job_type = group, job_type
        self.start_time = time.time()
        self.config = Config(self)
        self.summary = Summary(self)

    # -- what the library is told ------------------------------------------

    def _usable(self) -> bool:
        """False in a forked process; an error after the end."""
        if self._forked:
            warn_once(f"run {self._name} belongs to the process that this one "
                      "was forked from, so what is logged here is ignored; "
                      "call gtrack.init() here for a run of its own")
            return False
        if self._handle is None:
            raise Error(f"run {self._name} has ended; call gtrack.init() "
                        "before you log more")
        return True

    def _rename(self, name: str) -> None:
        with self._lock:
            if self._usable():
                why = ctypes.create_string_buffer(_lib.WHY)
                _lib.check(_lib.rename(self._handle, _lib.encode(name), why),
                           why)
            self._name = name

    def _param(self, key: str, text: str) -> None:
        with self._lock:
            if self._usable():
                _lib.param(self._handle, _lib.encode(key), _lib.encode(text))

    def _tag(self, key: str, text: str | None) -> None:
        with self._lock:
            if self._usable():
                _lib.tag(self._handle, _lib.encode(key),
                         None if text is None else _lib.encode(text))

    def _entry(self, names: tuple) -> list:
        """What logs a row of these metrics: the keys in the library, how to
        pack the step and the values, and the row that was logged last."""
        array = (ctypes.c_char_p * len(names))(*map(_lib.encode, names))
        entry = [_lib.keys(self._handle, array, len(names)),
                 struct.Struct(f"{len(names) + 1}d").pack, b""]
        self._rows[names] = entry
        return entry

    def _points(self, data: dict, step: int) -> None:
        """Log numbers at a step."""
        names = tuple(data)
        if len(names) > 1 and len(self._rows) >= ROWS and \
                names not in self._rows:
            for name in names:  # sets that never come again
                self._points({name: data[name]}, step)
        elif names:
            entry = self._rows.get(names) or self._entry(names)
            entry[2] = packed = entry[1](step, *data.values())
            _row(entry[0], packed)

    def _points_of_axes(self, numbers: dict, step: int) -> None:
        """Log each number at the value of its step metric."""
        rows: dict = {}
        self._at.update((k, x) for k, x in numbers.items() if k in self._at)
        for key, x in numbers.items():
            axis = self._axis(key)
            at = step if axis is None else self._at[axis]
            if not float(at).is_integer():
                warn_once(f"{key} is logged at steps where {axis} is no whole "
                          f"number; gplot --x {axis} draws against it")
                self._uneven.add(axis)
                at = step
            rows.setdefault(int(at), {})[key] = x
        for at, row in rows.items():
            self._points(row, at)

    def _axis(self, key: str) -> str | None:
        """The step metric of a metric, if it has a value."""
        if key not in self._axis_of:
            import fnmatch

            found = [axis for pattern, axis in self._axes if pattern == key] \
                or [axis for pattern, axis in self._axes
                    if fnmatch.fnmatchcase(key, pattern)]
            self._axis_of[key] = found[-1] if found and key not in self._at \
                else None
        axis = self._axis_of[key]
        at = self._at.get(axis)
        return axis if at is not None and abs(at) < MAX_STEP and \
            axis not in self._uneven else None

    def _last_at(self) -> int:
        """The step of what is logged after the last log()."""
        step = max([self._step - 1, 0] +
                   [int(at) for at, _ in self._last_points().values()])
        known = [x for x in self._at.values()
                 if x is not None and x == x and abs(x) < MAX_STEP]
        return int(max(known)) if known else step

    def _point(self, name: str, value: float) -> None:
        with self._lock:
            if self._usable():
                self._points({name: value}, self._last_at())

    def _last_points(self) -> dict:
        """The last point of each metric, (step, value), by name."""
        last: dict = {}
        for names, (_, _, packed) in list(self._rows.items()):
            if not packed:
                continue
            step, *values = struct.unpack(f"{len(names) + 1}d", packed)
            for name, value in zip(names, values):
                if name not in last or step >= last[name][0]:
                    last[name] = step, value
        return last

    def _has_metric(self, name: str) -> bool:
        return any(name in names for names in list(self._rows))

    def _refresh_summary(self) -> None:
        with self._lock:
            self.summary._logged(self._last_points())

    # -- log ---------------------------------------------------------------

    def log(self, data: dict[str, Any], step: int | None = None,
            commit: bool | None = None, sync: bool | None = None) -> None:
        """Log numbers and media at a step.  Without a step, that is the next
        one; with commit=False, the next call logs at the same one."""
        if sync:
            ignore("log", sync=sync)
        with self._lock:
            if step is None:
                step = self._step
                if commit is not False:
                    self._step = step + 1
            else:
                if type(step) is not int:
                    step = int(step)
                if not -MAX_STEP < step < MAX_STEP:
                    raise ValueError(f"a step is less than 2^53, not {step}")
                self._step = step + 1 if commit else step
            if self._axes:
                self._log_any(data, step)
                return
            try:  # numbers that were logged together before
                entry = self._rows[tuple(data)]
                entry[2] = packed = entry[1](step, *data.values())
                _row(entry[0], packed)
                if not self._metric_summary:
                    return
            except Exception:  # anything else, and what is wrong
                self._log_any(data, step)
                return
            self._note_extremes(data)

    def _log_any(self, data: dict, step: int) -> None:
        if not self._usable():
            return
        if not hasattr(data, "items"):
            raise TypeError("log() needs a dict of names and values, not "
                            f"{type(data).__name__}")
        numbers: dict = {}
        for key, value in data.items():
            if not isinstance(key, str):
                warn_once(f"the name of a metric is a str: {key!r} is logged "
                          f"as {str(key)!r}")
                key = str(key)
            self._sort_value(key, value, step, numbers)
        if self._axes:
            self._points_of_axes(numbers, step)
        else:
            self._points(numbers, step)
        if self._metric_summary:
            self._note_extremes(numbers)

    def _sort_value(self, key: str, value, step: int, numbers: dict) -> None:
        """Add a number to what is logged; keep anything else as what it is."""
        if value is None:
            return
        if isinstance(value, str):
            self.summary._items[key] = value
            self._tag(f"summary.{key}", value)
            return
        if isinstance(value, dict):
            for inner, item in value.items():
                self._sort_value(f"{key}/{inner}", item, step, numbers)
            return
        x = number(value)
        if x is not None:
            numbers[key] = x
            return
        from . import _media

        _media.keep(self, key, value, step)

    def define_metric(self, name: str, step_metric=None, step_sync=None,
                      hidden=None, summary: str | None = None, goal=None,
                      overwrite=None, **more) -> None:
        """What the summary keeps of a metric: min, max, mean, best, last, copy
        or none, separated by commas; and the metric whose value is its step,
        until this is no whole number."""
        ignore("define_metric", hidden=hidden, overwrite=overwrite, **more)
        kinds = tuple(k.strip() for k in (summary or "").split(",") if k)
        for kind in kinds:
            if kind not in ("min", "max", "mean", "best", "last", "copy",
                            "first", "none"):
                raise Error(f"define_metric() expects a summary of min, max, "
                            f"mean, first, last, best or none, not '{kind}'")
        wanted = tuple(dict.fromkeys(
            ("min" if goal != "maximize" else "max") if k == "best" else k
            for k in kinds if k in ("min", "max", "mean", "best", "first")))
        with self._lock:
            if wanted:
                self._metric_summary.append((str(name), wanted))
            if step_metric is not None:
                axis = str(getattr(step_metric, "name", step_metric))
                self._axes.append((str(name), axis))
                self._at.setdefault(axis, None)
                self._axis_of.clear()

    def _note_extremes(self, data: dict) -> None:
        """Keep what define_metric() asked for; finish() logs it."""
        import fnmatch

        for key, value in data.items():
            for pattern, kinds in self._metric_summary:
                x = number(value)
                if x is None or x != x or not fnmatch.fnmatchcase(key, pattern):
                    continue
                old = self._extremes.get(key)
                if old is None:
                    self._extremes[key] = [kinds, x, x, x, x, 1]
                    continue
                old[0], old[1], old[2] = kinds, min(old[1], x), max(old[2], x)
                old[4] += x
                old[5] += 1

    def _log_extremes(self) -> None:
        step = self._last_at()
        for key, (kinds, least, most, first, total, n) in \
                self._extremes.items():
            value = {"min": least, "max": most, "first": first,
                     "mean": total / n}
            self._points({f"{key}.{kind}": value[kind] for kind in kinds},
                         step)

    def log_dataset(self, name: str, digest: str | None = None,
                    source: str | None = None, context: str | None = None) \
            -> None:
        """Record that the run reads a dataset: a digest of its content, where
        it is, and what it is used for, such as "training"."""
        e = _lib.encode
        with self._lock:
            if self._usable():
                d = _lib.Dataset(
                    ctypes.sizeof(_lib.Dataset), e(name), e(digest),
                    e(to_json(source)) if source else None,
                    b"local" if source else None, None, None, e(context))
                why = ctypes.create_string_buffer(_lib.WHY)
                _lib.check(_lib.dataset(self._handle, ctypes.byref(d), why),
                           why)

    # -- alerts, gradients -------------------------------------------------

    def alert(self, title: str, text: str = "", level=None,
              wait_duration: float = 60) -> None:
        """Print an alert on standard error and keep it as a tag; a title is
        repeated after wait_duration seconds at the earliest."""
        wait = getattr(wait_duration, "total_seconds", lambda: wait_duration)()
        now = time.monotonic()
        with self._lock:
            last = self._alerts.get(title)
            if last is not None and now - last < wait:
                return
            self._alerts[title] = now
            word = str(getattr(level, "value", level) or "INFO")
            line = f"{word}: {title}: {text}" if text else f"{word}: {title}"
            print(f"gtrack: {self._name}: {line}", file=sys.stderr)
            self._tag(f"alert.{len(self._alerts)}", line)

    def watch(self, models, criterion=None, log: str | None = "gradients",
              log_freq: int = 1000, idx=None, log_graph: bool = False) -> None:
        """Log norms of a PyTorch model's gradients, parameters or both, every
        log_freq backward passes."""
        from ._watch import Watch

        ignore("watch", criterion=criterion, idx=idx, log_graph=log_graph)
        for model in models if isinstance(models, (list, tuple)) else [models]:
            self._watched.append(Watch(self, model, log, log_freq))

    def unwatch(self, models=None) -> None:
        wanted = models if isinstance(models, (list, tuple)) else [models]
        for watch in list(self._watched):
            if models is None or watch.model in wanted:
                watch.close()
                self._watched.remove(watch)

    # -- the end -----------------------------------------------------------

    def mark_preempting(self) -> None:
        """The run is going to be resumed: it ends as preempted."""
        self._preempted = True

    def finish(self, exit_code: int | None = None,
               quiet: bool | None = None) -> None:
        """End the run; a second call does nothing."""
        ignore("finish", quiet=quiet)
        status = _lib.FAILED if exit_code else \
            _lib.PREEMPTED if self._preempted else _lib.FINISHED
        self._end(status)

    join = finish

    def _end(self, status: int, reason: str | None = None) -> None:
        with self._lock:
            handle = self._close()
            if handle:
                if reason:
                    _lib.reason(handle, _lib.encode(reason))
                why = ctypes.create_string_buffer(_lib.WHY)
                _lib.check(_lib.end(handle, status, why), why)

    def _end_at_exit(self) -> None:
        """End the run with the process, whose exit status Python does not tell:
        `raise SystemExit(4)` is no exception that a hook would see."""
        if self._preempted:
            self._end(_lib.PREEMPTED)
            return
        with self._lock:
            handle = self._close()
            if handle:
                _lib.end_at_exit(handle)

    def _close(self) -> int | None:
        """Log what is logged last; returns the run for the library to end, if
        it has not ended."""
        with self._lock:
            if self._forked or self._handle is None:
                return None
            self.unwatch()
            self._log_extremes()
            for path, to in self._copies.items():
                try:
                    with self._below(to) as place:
                        copy_file(path, place, self._folder)
                except (OSError, Error) as e:
                    warn_once(f"cannot save {path} again: "
                              f"{getattr(e, 'strerror', None) or e}")
            self._refresh_summary()
            self.summary._forget_older()
            handle, self._handle = self._handle, None
            self._rows = {}
            if self._console:
                _console.end(self._console)
                self._console = None
            _current.ended(self)
            return handle

    def flush(self) -> None:
        """Wait until all that was logged is in the files."""
        with self._lock:
            if self._usable():
                why = ctypes.create_string_buffer(_lib.WHY)
                _lib.check(_lib.flush(self._handle, why), why)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, kind, value, traceback) -> None:
        if kind is None:
            self.finish()
        else:
            self._end(*_current.how_it_ends(kind, value))

    def _leave_to_parent(self) -> None:
        """In a forked process: the lock may be held by a thread that is not
        here, and the library ignores what this run is told."""
        self._forked = True
        self._lock = threading.RLock()
        self._rows = {}

    # -- other calls of W&B's ----------------------------------------------

    def display(self, *_, **__) -> bool:
        return False

    def status(self) -> None:
        return None

    def to_html(self, *_, **__) -> str:
        return f"<code>{self._folder}</code>"
