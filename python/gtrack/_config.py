"""The configuration and the summary of a run, as W&B's objects of that name."""
from __future__ import annotations

from ._errors import Error, warn_once
from ._values import as_dict, flatten, number, param_text

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


class Config(Fields):
    """Parameters of a run.  A value that is set can be set again only with
    allow_val_change; the store keeps the first one, and the new one as the tag
    config.KEY.  The values of a sweep's cell stay as they are."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        object.__setattr__(self, "_locked", frozenset())

    def _lock(self, values: dict) -> None:
        """Take values that the run has, and keep them."""
        self._items.update(values)
        object.__setattr__(self, "_locked", frozenset(values))

    def _set(self, key, value, change: bool) -> None:
        old = self._items.get(key, self)
        if old is not self and _same(old, value):
            return
        if key in self._locked:
            warn_once(f"config.{key} keeps the value of the sweep, {old!r}")
            return
        if old is not self and not change:
            raise Error(f"config.{key} is {old!r} already; to change it to "
                        f"{value!r}, call config.update() with "
                        "allow_val_change=True")
        self._items[key] = value
        for name, item in flatten({str(key): value}, ".").items():
            if old is self:
                self._run._param(name, param_text(item))
            else:
                self._run._tag(f"config.{name}", param_text(item))

    def __setitem__(self, key, value) -> None:
        self._set(key, value, False)

    def update(self, d=None, allow_val_change: bool = False, **more) -> None:
        for key, value in {**as_dict(d), **more}.items():
            self._set(key, value, allow_val_change)

    def setdefaults(self, d) -> dict:
        for key, value in as_dict(d).items():
            if key not in self._items:
                self._set(key, value, False)
        return self.as_dict()


class Summary(Fields):
    """The last value of each metric, and what a program sets itself.  A number
    for a key that was never logged becomes a point at the last step; all else
    becomes the tag summary.KEY."""

    def _logged(self, data: dict) -> None:
        self._items.update(data)

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
            if x is None or self._run._has_metric(name):
                self._run._tag(f"summary.{name}", param_text(item))
            else:
                self._run._point(name, x)

    def update(self, d=None, **more) -> None:
        for key, value in {**as_dict(d), **more}.items():
            self[key] = value


def _same(a, b) -> bool:
    try:
        return bool(a == b) and type(a) is type(b)
    except (TypeError, ValueError):  # arrays compare to arrays
        return False
