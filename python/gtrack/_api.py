"""Api: read the runs of a store, by the program gtrack."""
from __future__ import annotations

import json
import os
import subprocess

from ._errors import Error
from ._program import program
from ._run import store_root

_STATES = {"FINISHED": "finished", "RUNNING": "running", "FAILED": "failed",
           "KILLED": "killed", "STALE": "crashed", "PREEMPTED": "preempted",
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


def _number(text: str):
    """A parameter as what it was, as far as its text tells."""
    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


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
        return {k: _number(v) for k, v in self._show()["params"].items()}

    @property
    def summary(self) -> dict:
        out = {k: m["last"] for k, m in self._show()["metrics"].items()}
        out.update((k[len("summary."):], v)
                   for k, v in self._show()["tags"].items()
                   if k.startswith("summary."))
        return out

    @property
    def tags(self) -> list[str]:
        own = ("gtrack.", "mlflow.", "wandb.", "summary.", "config.", "alert.")
        return [f"{k}={v}" if v else k for k, v in self._show()["tags"].items()
                if not k.startswith(own)]

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

    def scan_history(self, keys=None, **_) -> list[dict]:
        """All points: one dict for each step."""
        words = ["metrics", "-r", self._root, "--long", self.id]
        rows = ask(*words, *(keys or self._show()["metrics"]))["rows"] \
            if keys or self._show()["metrics"] else []
        steps: dict = {}
        for row in rows:
            steps.setdefault(row["step"], {"_step": row["step"]})[
                row["metric"]] = row["value"]
        return [steps[s] for s in sorted(steps)]

    def history(self, samples: int | None = None, keys=None,
                pandas: bool = True, **_):
        """The points as a pandas DataFrame, if pandas is there; of more than
        `samples` steps, as many at equal distances."""
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


class Api:
    """Runs of a store: GTRACK_ROOT, or mlruns, or the argument."""

    def __init__(self, overrides=None, root: str | None = None, **_) -> None:
        self._root = os.fspath(root) if root else store_root()

    def _list(self, *arguments: str) -> list[ApiRun]:
        rows = ask("ls", "-r", self._root, *arguments)["rows"]
        return [ApiRun(self._root, row) for row in rows]

    def runs(self, path: str | None = None, filters=None,
             order: str | None = None, per_page: int | None = None,
             where: str | None = None, **_) -> list[ApiRun]:
        """The runs of an experiment ("project" or "entity/project").  where is
        a filter of gtrack(1); W&B's filters in MongoDB's language are not
        understood."""
        if filters:
            raise Error("Api.runs() does not understand W&B's filters; use "
                        "where=\"metrics.loss < 3\", see FILTERS in gtrack(1)")
        words = ["-e", path.rsplit("/", 1)[-1]] if path else []
        return self._list(*words, *(["-w", where] if where else []))

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

    def projects(self) -> list[str]:
        return sorted({r.project for r in self._list()})
