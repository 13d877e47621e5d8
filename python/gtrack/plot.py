"""W&B's charts.  gtrack keeps the table behind each chart and draws nothing
here; `gplot` draws metrics."""
from __future__ import annotations

from ._errors import warn_once
from ._media import Table, _as_array


_DRAWS = "gtrack.plot keeps the table of a chart, and not how it is drawn"


def line(table: Table, x=None, y=None, *_, **__) -> Table:
    warn_once(_DRAWS)
    return table


bar = scatter = histogram = line
CustomChart = Table


def plot_table(vega_spec_name=None, data_table: Table | None = None, *_, **__):
    warn_once(_DRAWS)
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


def _scores(y_true, y_probas, labels, classes_to_plot):
    """For each class: its name, and (score, is it this class) by score."""
    rows = [list(p) if hasattr(p, "__len__") else [1 - p, p]
            for p in _as_array(y_probas)]
    true = list(_as_array(y_true))
    for c in range(len(rows[0]) if rows else 0):
        if classes_to_plot is None or c in classes_to_plot:
            yield (labels[c] if labels else c,
                   sorted(((float(p[c]), t == c) for p, t in zip(rows, true)),
                          key=lambda x: -x[0]))


def _curve(columns, classes, point, most: int = 1000) -> Table:
    """A row of each class at each score that differs from the next."""
    table = Table(columns)
    for name, scores in classes:
        positive = sum(hit for _, hit in scores)
        hits, rows = 0, []
        for i, (score, hit) in enumerate(scores):
            hits += hit
            if i + 1 == len(scores) or scores[i + 1][0] != score:
                rows.append(point(hits, i + 1, positive, len(scores)))
        every = max(-(-len(rows) // most), 1)
        for row in rows[::every] + rows[-1:] * (len(rows) % every > 1):
            table.add_data(name, *row)
    return table


def roc_curve(y_true=None, y_probas=None, labels=None, classes_to_plot=None,
              *_, **__) -> Table:
    """How many of each class are found, against how many others are taken
    for it, from the highest score to the lowest."""
    return _curve(["class", "fpr", "tpr"], _scores(
        y_true, y_probas, labels, classes_to_plot),
        lambda hits, n, positive, total: (
            (n - hits) / max(total - positive, 1), hits / max(positive, 1)))


def pr_curve(y_true=None, y_probas=None, labels=None, classes_to_plot=None,
             *_, **__) -> Table:
    """The precision of each class against its recall."""
    return _curve(["class", "recall", "precision"], _scores(
        y_true, y_probas, labels, classes_to_plot),
        lambda hits, n, positive, total: (hits / max(positive, 1), hits / n))


def __getattr__(name: str):
    """A chart that is not here keeps the table that it is given."""
    if name.startswith("__"):
        raise AttributeError(name)

    def chart(*given, **more) -> Table:
        warn_once(f"gtrack has no plot.{name}(): only its table is kept")
        return next((x for x in (*given, *more.values())
                     if isinstance(x, Table)), Table([]))

    return chart
