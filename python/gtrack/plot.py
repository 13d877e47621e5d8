"""W&B's charts.  gtrack keeps the table behind each chart and draws nothing
here; `gplot` draws metrics."""
from __future__ import annotations

from ._errors import missing
from ._media import Table


def line(table: Table, x=None, y=None, *_, **__) -> Table:
    return table


bar = scatter = histogram = line
CustomChart = Table


def plot_table(vega_spec_name=None, data_table: Table | None = None, *_, **__):
    return data_table


def line_series(xs, ys, keys=None, title=None, xname="x", **_) -> Table:
    """Curves as rows of x, the name of the curve and y."""
    ys = list(ys)
    many = hasattr(xs[0], "__len__")
    names = keys or [f"key_{i}" for i in range(len(ys))]
    table = Table([xname, "lineKey", "lineVal"])
    for i, curve in enumerate(ys):
        for x, y in zip(xs[i] if many else xs, curve):
            table.add_data(x, names[i], y)
    return table


def confusion_matrix(probs=None, y_true=None, preds=None, class_names=None,
                     **_) -> Table:
    """How often each class was taken for each other."""
    if preds is None:
        preds = [max(range(len(p)), key=lambda i: p[i]) for p in probs]
    preds, true = [int(p) for p in preds], [int(t) for t in y_true]
    n = max(preds + true, default=-1) + 1
    names = class_names or [f"Class_{i}" for i in range(n)]
    table = Table(["Actual", "Predicted", "nPredictions"])
    for actual in range(len(names)):
        for predicted in range(len(names)):
            table.add_data(names[actual], names[predicted], sum(
                t == actual and p == predicted
                for t, p in zip(true, preds)))
    return table


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    raise missing(f"plot.{name}", "log the numbers as a Table instead")
