"""The configuration and the summary of a run, as W&B's objects of that name."""
from __future__ import annotations

from ._errors import Error, warn_once
from ._values import as_dict, flatten, from_text, number, param_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._run import Run


class Fields:
    """A mapping whose items are attributes, too."""

    def __init__(self, run: Run) -> None:
        object.__setattr__(self, "_run", run)
        object.__setattr__(self, "_items", {})

    def __getitem__(self, key):
        return self._items[key]

    def __getattr__(self, key):
        try:
            return self._items[key]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no '{key}'") \
                from None

    def __setattr__(self, key, value) -> None:
        self[key] = value

    def __contains__(self, key) -> bool:
        return key in self._items

    def __iter__(self):
        return iter(self._items)

    def __len__(self) -> int:
        return len(self._items)

    def __repr__(self) -> str:
        return repr(self._items)

    def keys(self):
        return self._items.keys()

    def values(self):
        return self._items.values()

    def items(self):
        return self._items.items()

    def get(self, key, default=None):
        return self._items.get(key, default)

    def as_dict(self) -> dict:
        return dict(self._items)

    def _as_dict(self) -> dict:
        return self.as_dict()


class Values(dict):
    """A copy of a configuration: a dict with attributes, of no run."""

    def __getattr__(self, key):
        try:
            return self[key]
        except KeyError:
            raise AttributeError(key) from None

    __setattr__ = dict.__setitem__


class Config(Fields):
    """Parameters of a run.  A value that is set can be set again only with
    allow_val_change, or if the run had it before it was resumed; the store
    keeps the first one, and the new one as the tag config.KEY.  The values of a
    sweep's cell stay as they are."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        object.__setattr__(self, "_locked", frozenset())
        object.__setattr__(self, "_change", False)  # allow_val_change of init()
        object.__setattr__(self, "_texts", {})  # of the store, by flat names
        object.__setattr__(self, "_before", set())

    def _restore(self, texts: dict) -> None:
        """Take the parameters that a run had, whose names are flat."""
        self._texts.update(texts)
        self._items.update({k: from_text(v) for k, v in texts.items()})
        self._before.update(texts)

    def _lock(self, values: dict) -> None:
        """Take values that the run has, and keep them."""
        for key in values:
            self._forget(key)
        self._items.update(values)
        object.__setattr__(self, "_locked", frozenset(values))

    def _below(self, key) -> list:
        """The flat names below a name: opt.lr and opt.name for opt."""
        return [k for k in self._before if k.startswith(f"{key}.")]

    def _forget(self, key) -> None:
        """The program sets what the run had before."""
        for name in [key, *self._below(key)]:
            if name in self._before:
                self._before.discard(name)
                self._items.pop(name, None)

    def __getitem__(self, key):
        if key in self._items or not self._below(key):
            return self._items[key]
        inside: dict = {}
        for name in self._below(key):
            *folders, last = name[len(str(key)) + 1:].split(".")
            place = inside
            for folder in folders:
                place = place.setdefault(folder, {})
            place[last] = self._items[name]
        return inside

    def __getattr__(self, key):
        try:
            return self[key]
        except KeyError:
            raise AttributeError(f"Config has no '{key}'") from None

    def __contains__(self, key) -> bool:
        return key in self._items or bool(self._below(key))

    def get(self, key, default=None):
        return self[key] if key in self else default

    def _set(self, key, value, change: bool) -> None:
        if key in self._locked:
            if not _same(self._items.get(key, self), value):
                warn_once(f"config.{key} keeps the value of the sweep, "
                          f"{self._items[key]!r}")
            return
        self._forget(key)
        old = self._items.get(key, self)
        if old is not self and _same(old, value):
            return
        if old is not self and not (change or self._change):
            raise Error(f"config.{key} is {old!r} already; to change it to "
                        f"{value!r}, call config.update() with "
                        "allow_val_change=True")
        self._items[key] = value
        for name, item in flatten({str(key): value}, ".").items():
            text = param_text(item)
            if name not in self._texts:
                self._run._param(name, text)
            elif text != self._texts[name]:
                self._run._tag(f"config.{name}", text)
            self._texts[name] = text

    def __setitem__(self, key, value) -> None:
        self._set(key, value, False)

    def update(self, d=None, allow_val_change: bool = False, **more) -> None:
        for key, value in {**as_dict(d), **more}.items():
            self._set(key, value, allow_val_change)

    def pop(self, key, *default):
        """Forget a value here; the store keeps it."""
        warn_once(f"config.pop() does not remove {key} from the store")
        if key not in self and default:
            return default[0]
        value = self[key]
        self._forget(key)
        self._items.pop(key, None)
        return value

    def __delitem__(self, key) -> None:
        self.pop(key)

    def __deepcopy__(self, memo) -> Values:
        import copy

        return Values(copy.deepcopy(dict(self._items), memo))

    def __reduce__(self):
        return Values, (dict(self._items),)

    def __copy__(self) -> Values:
        return Values(self._items)

    def setdefaults(self, d) -> dict:
        for key, value in as_dict(d).items():
            if key not in self:
                self._set(key, value, False)
        return self.as_dict()


class Summary(Fields):
    """The last value of each metric, and what a program sets itself.  A number
    for a key that was never logged becomes a point at the last step; images
    and the like become files, and all else becomes the tag summary.KEY."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        # The point that was the last one when a program set another value, and
        # the names that have no points but those of the summary.
        object.__setattr__(self, "_over", {})
        object.__setattr__(self, "_own", set())

    def _logged(self, points: dict) -> None:
        """Take the last point of each metric, (step, value)."""
        for key, point in points.items():
            if self._over.get(key) != point:
                self._items[key] = point[1]

    def _forget_older(self) -> None:
        """Let tags that were set before the last points have their values."""
        for key, point in self._run._last_points().items():
            if key in self._over and self._over[key] != point:
                self._run._tag(f"summary.{key}", param_text(point[1]))

    def __getitem__(self, key):
        self._run._refresh_summary()
        return super().__getitem__(key)

    def __getattr__(self, key):
        self._run._refresh_summary()
        return super().__getattr__(key)

    def get(self, key, default=None):
        self._run._refresh_summary()
        return super().get(key, default)

    def as_dict(self) -> dict:
        self._run._refresh_summary()
        return super().as_dict()

    def keys(self):
        self._run._refresh_summary()
        return super().keys()

    def items(self):
        self._run._refresh_summary()
        return super().items()

    def __setitem__(self, key, value) -> None:
        self._run._refresh_summary()
        self._items[key] = value
        for name, item in flatten({str(key): value}, "/").items():
            x = number(item)
            if x is None and self._keep(name, item):
                continue
            if x is None or (name not in self._own and
                             self._run._has_metric(name)):
                self._run._tag(f"summary.{name}", param_text(item))
            else:
                self._own.add(name)
                self._run._point(name, x)
        self._hold(key)

    def _hold(self, key) -> None:
        """Let the last point of a metric not change what a program did."""
        last = self._run._last_points().get(key)
        if last:
            self._over[key] = last

    def __delitem__(self, key) -> None:
        self._run._refresh_summary()
        del self._items[key]
        warn_once(f"del does not remove summary.{key} from the store")
        self._hold(key)

    def _keep(self, name: str, item) -> bool:
        """Keep an image, a table or the like as files of the run."""
        from . import _media

        if isinstance(item, (str, dict)) or not _media.is_media(item):
            return False
        warn_once(f"summary.{name} is kept as a file of the run, at the last "
                  "step")
        with self._run._lock:
            if self._run._usable():
                _media.keep(self._run, name, item, self._run._last_at())
        return True

    def update(self, d=None, **more) -> None:
        for key, value in {**as_dict(d), **more}.items():
            self[key] = value


def _same(a, b) -> bool:
    try:
        return bool(a == b) and type(a) is type(b)
    except (TypeError, ValueError):  # arrays compare to arrays
        return False
