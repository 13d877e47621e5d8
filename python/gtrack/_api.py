"""Api: read the runs of a store, by the program gtrack."""
from __future__ import annotations

import json
import os
import subprocess

from ._errors import Error, ignore
from ._program import program
from ._run import store_root
from ._values import from_text, own_tags

_STATES = {"FINISHED": "finished", "RUNNING": "running", "FAILED": "failed",
           "KILLED": "killed", "STALE": "crashed", "PREEMPTED": "preempted",
           "STOPPED": "killed",
           "SCHEDULED": "pending"}


def ask(*arguments: str):
    """What a command of gtrack prints with --json."""
    done = subprocess.run([program(), *arguments, "--json"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode != 0:
        text = done.stderr.decode(errors="replace").strip()
        raise Error(text.splitlines()[0] if text else
                    f"gtrack ended with status {done.returncode}")
    return json.loads(done.stdout)


class ApiRun:
    """A run of a store.  What it has is read when it is first asked for."""

    def __init__(self, root: str, row: dict) -> None:
        self._root, self._row = root, row
        self._shown: dict | None = None
        self.name, self.id = row["name"], row["id"]
        self.project = row["experiment"]
        self.state = _STATES.get(row["status"], row["status"].lower())
        self.user, self.created_at = row["user"], row["started"]

    def _show(self) -> dict:
        if self._shown is None:
            self._shown = ask("show", self.id, "-r", self._root)
        return self._shown

    @property
    def config(self) -> dict:
        changed = ((k[len("config."):], v)
                   for k, v in self._show()["tags"].items()
                   if k.startswith("config."))
        return {k: from_text(v) for k, v in
                {**self._show()["params"], **dict(changed)}.items()}

    @property
    def summary(self) -> dict:
        out = {k: m["last"] for k, m in self._show()["metrics"].items()}
        out.update((k[len("summary."):], from_text(v))
                   for k, v in self._show()["tags"].items()
                   if k.startswith("summary."))
        return out

    @property
    def tags(self) -> list[str]:
        return own_tags(self._show()["tags"])

    @property
    def notes(self) -> str | None:
        return self._show()["tags"].get("mlflow.note.content")

    @property
    def group(self) -> str | None:
        return self._show()["tags"].get("wandb.group")

    @property
    def path(self) -> str:
        return self._show()["run"]["folder"]

    url = path

    def files(self) -> list[str]:
        """The paths of the artifacts."""
        return [a["path"] if isinstance(a, dict) else a
                for a in self._show()["artifacts"]]

    def scan_history(self, keys=None, page_size=None, **more) -> list[dict]:
        """All points: one dict for each step."""
        ignore("scan_history", **more)
        words = ["metrics", "-r", self._root, "--long", self.id]
        rows = ask(*words, *(keys or self._show()["metrics"]))["rows"] \
            if keys or self._show()["metrics"] else []
        steps: dict = {}
        for row in rows:
            steps.setdefault(row["step"], {"_step": row["step"]})[
                row["metric"]] = row["value"]
        return [steps[s] for s in sorted(steps)]

    def history(self, samples: int | None = None, keys=None,
                pandas: bool = True, **more):
        """The points as a pandas DataFrame, if pandas is there; of more than
        `samples` steps, as many at equal distances."""
        ignore("history", **more)
        rows = self.scan_history(keys)
        if samples and len(rows) > samples:
            rows = [rows[i * len(rows) // samples] for i in range(samples)]
        if not pandas:
            return rows
        try:
            from pandas import DataFrame
        except ImportError:
            return rows
        return DataFrame(rows)

    def __repr__(self) -> str:
        return f"<gtrack.Api run {self.project}/{self.name} {self.state}>"


_COLUMNS = {"created_at": "started", "createdAt": "started", "name": "name",
            "display_name": "name", "displayName": "name", "state": "status",
            "duration": "time", "username": "user"}


def sort_column(order: str) -> str:
    """W&B's order, "-summary_metrics.loss", as a column of `gtrack ls`."""
    minus, word = order[:1] == "-", order.lstrip("+-")
    kind, _, key = word.partition(".")
    if key and kind in ("summary_metrics", "summaryMetrics", "summary"):
        column = f"metrics.{key}"
    elif key and kind == "config":
        column = "params." + (key[:-6] if key.endswith(".value") else key)
    elif word in _COLUMNS:
        column = _COLUMNS[word]
    else:
        raise Error(f"Api.runs() cannot order by {order}; use created_at, "
                    "name, state, duration, summary_metrics.NAME or "
                    "config.NAME, after + or -")
    return "-" + column if minus else column


class Api:
    """Runs of a store: GTRACK_ROOT, or mlruns, or the argument."""

    def __init__(self, overrides=None, root: str | None = None,
                 timeout: float | None = None, api_key: str | None = None) \
            -> None:
        ignore("Api", overrides=overrides)
        self._root = os.fspath(root) if root else store_root()

    def _list(self, *arguments: str) -> list[ApiRun]:
        rows = ask("ls", "-r", self._root, *arguments)["rows"]
        return [ApiRun(self._root, row) for row in rows]

    def runs(self, path: str | None = None, filters=None,
             order: str | None = None, per_page: int | None = None,
             where: str | None = None, **more) -> list[ApiRun]:
        """The runs of an experiment ("project" or "entity/project"), oldest
        first or in W&B's order.  where is a filter of gtrack(1); W&B's filters
        in MongoDB's language are not understood.  All runs are read, whatever
        per_page is."""
        ignore("Api.runs", **more)
        if filters:
            raise Error("Api.runs() does not understand W&B's filters; use "
                        "where=\"metrics.loss < 3\", see FILTERS in gtrack(1)")
        words = ["-e", path.rsplit("/", 1)[-1]] if path else []
        words += ["-w", where] if where else []
        words += ["--sort=" + sort_column(order)] if order else []
        return self._list(*words)

    def run(self, path: str) -> ApiRun:
        """The run with this name or id, after "project/" if need be."""
        project, _, word = path.rpartition("/")
        found = self._list(word)
        if project:
            found = [r for r in found
                     if r.project == project.rsplit("/", 1)[-1]]
        if len(found) != 1:
            raise Error(f"{len(found)} runs are named {path}")
        return found[0]

    def artifact(self, name: str, type: str | None = None):
        """The artifact "PROJECT/NAME:ALIAS"; the project may be left out if
        WANDB_PROJECT has it, or the run of this process."""
        from . import _current
        from ._artifact import find_artifact, find_experiment

        run = _current.current()
        project = run.project if run else os.environ.get("WANDB_PROJECT")
        return find_artifact(self._root, name, find_experiment(
            self._root, project) if project else None)

    def projects(self) -> list[str]:
        return sorted({r.project for r in self._list()})
