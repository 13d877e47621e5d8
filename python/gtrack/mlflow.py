"""MLflow's fluent functions: `import gtrack.mlflow as mlflow`.

The run of start_run() is written into the store that set_tracking_uri() names,
or MLFLOW_TRACKING_URI, GTRACK_ROOT or mlruns, in MLflow's own format.
"""
from __future__ import annotations

import os
import urllib.parse

from . import _current, _media
from ._errors import Error, ignore, missing
from ._init import begin
from ._run import Run
from ._values import param_text, plain, to_json

_uri: str | None = None
_experiment: str | None = None
_last: Run | None = None
_STATUS = {"FINISHED": 3, "FAILED": 4, "KILLED": 5}


class _Info:
    """run.info of MLflow."""

    def __init__(self, run: Run) -> None:
        self.run_id = self.run_uuid = run._gtrack_id
        self.run_name = run.name
        self.experiment_id = os.path.basename(os.path.dirname(run._folder))
        self.artifact_uri = "file://" + urllib.parse.quote(run.dir)


class ActiveRun:
    """What start_run() returns; `with` ends it."""

    def __init__(self, run: Run) -> None:
        self._run, self.info = run, _Info(run)

    def __enter__(self) -> ActiveRun:
        return self

    def __exit__(self, kind, value, traceback) -> None:
        self._run.__exit__(kind, value, traceback)


def set_tracking_uri(uri) -> None:
    """The store: a folder, or its file: URI."""
    global _uri
    _uri = os.fspath(uri)
    _root()


def get_tracking_uri() -> str:
    return "file://" + urllib.parse.quote(os.path.abspath(_root()))


def _root() -> str:
    uri = _uri or os.environ.get("MLFLOW_TRACKING_URI") or \
        os.environ.get("GTRACK_ROOT") or "mlruns"
    if uri.startswith("file:"):
        return urllib.parse.unquote(urllib.parse.urlsplit(uri).path)
    if "://" in uri:
        raise Error(f"gtrack writes to folders, not to {uri}; write to a "
                    "folder, and send the runs by `gtrack push --to mlflow`")
    return uri


def set_experiment(experiment_name: str | None = None,
                   experiment_id: str | None = None) -> None:
    global _experiment
    if experiment_name is None:
        raise Error("set_experiment() needs the name of the experiment")
    _experiment = experiment_name


def start_run(run_id: str | None = None, experiment_id: str | None = None,
              run_name: str | None = None, nested: bool = False,
              parent_run_id: str | None = None, tags: dict | None = None,
              description: str | None = None, log_system_metrics=None) \
        -> ActiveRun:
    """Begin a run, or resume the one with this id."""
    outer = _current.current()
    if outer and not nested:
        raise Error(f"run {outer.name} has not ended; call end_run(), or "
                    "start_run(nested=True)")
    if experiment_id is not None:
        raise Error("start_run() does not take experiment_id; call "
                    "set_experiment() with the name of the experiment")
    project = _experiment or os.environ.get("MLFLOW_EXPERIMENT_NAME")
    resume = run_id or os.environ.get("MLFLOW_RUN_ID")
    parent = parent_run_id or (outer._gtrack_id if outer and nested else None)
    run = Run(begin(root=_root(), experiment=project, name=run_name,
                    parent=parent, resume=resume,
                    system=bool(log_system_metrics)),
              project=project, resumed=bool(resume))
    _current.begun(run)
    global _last
    _last = run
    set_tags(tags or {})
    if description:
        run.notes = description
    return ActiveRun(run)


def end_run(status: str = "FINISHED") -> None:
    if status not in _STATUS:
        raise Error(f"end_run() expects {', '.join(_STATUS)}, not {status}")
    run = _current.current()
    if run:
        run._end(_STATUS[status])


def active_run() -> ActiveRun | None:
    run = _current.current()
    return ActiveRun(run) if run else None


def last_active_run() -> ActiveRun | None:
    run = _current.current() or _last
    return ActiveRun(run) if run else None


def _active(run_id: str | None = None) -> Run:
    """The active run; as in MLflow, one is begun if there is none."""
    run = _current.current() or start_run(run_id)._run
    if run_id and run_id != run._gtrack_id:
        raise Error(f"run {run_id} is not the active one; call "
                    "start_run(run_id=...) to write it")
    return run


def log_param(key: str, value, synchronous=None):
    _active()._param(key, param_text(value))
    return value


def log_params(params: dict, synchronous=None, run_id=None) -> None:
    for key, value in params.items():
        _active(run_id)._param(key, param_text(value))


def log_metric(key: str, value: float, step: int | None = None,
               synchronous=None, timestamp=None, run_id=None, **more) -> None:
    log_metrics({key: value}, step, run_id=run_id, timestamp=timestamp,
                **more)


def log_metrics(metrics: dict, step: int | None = None, synchronous=None,
                run_id=None, timestamp=None, **more) -> None:
    """Log numbers at a step, 0 by default."""
    ignore("log_metrics", timestamp=timestamp, **more)
    _active(run_id).log({k: float(v) for k, v in metrics.items()},
                  step=int(step or 0))


def set_tag(key: str, value, synchronous=None) -> None:
    _active()._tag(key, str(value))


def set_tags(tags: dict, synchronous=None) -> None:
    for key, value in tags.items():
        set_tag(key, value)


def log_input(dataset, context: str | None = None, tags=None, **_) -> None:
    """Record a dataset: an object with name and digest, or a name."""
    _active().log_dataset(getattr(dataset, "name", None) or str(dataset),
                          digest=getattr(dataset, "digest", None),
                          context=context)


def get_artifact_uri(artifact_path: str | None = None) -> str:
    folder = _active().dir
    return "file://" + urllib.parse.quote(
        os.path.join(folder, artifact_path) if artifact_path else folder)


def log_artifact(local_path, artifact_path: str | None = None, run_id=None) \
        -> None:
    """Copy a file, or a folder with its name, to the artifacts."""
    path = os.fspath(local_path)
    name = os.path.join(artifact_path or "",
                        os.path.basename(os.path.normpath(path)))
    if os.path.isdir(path):
        log_artifacts(path, name, run_id)
    else:
        _active(run_id)._copy(path, name)


def log_artifacts(local_dir, artifact_path: str | None = None, run_id=None) \
        -> None:
    """Copy what is in a folder to the artifacts."""
    root = os.fspath(local_dir)
    for folder, _, files in os.walk(root):
        for file in files:
            path = os.path.join(folder, file)
            _active(run_id)._copy(path, os.path.join(
                artifact_path or "", os.path.relpath(path, root)))


def log_text(text: str, artifact_file: str, run_id=None) -> None:
    _active(run_id)._write(artifact_file, text.encode())


def log_dict(dictionary, artifact_file: str, run_id=None) -> None:
    """Write JSON, or YAML if the name says so and PyYAML is there."""
    if artifact_file.endswith((".yml", ".yaml")):
        try:
            import yaml
        except ImportError:
            raise Error("log_dict() needs PyYAML to write YAML; use a name "
                        "that ends in .json") from None
        text = yaml.safe_dump(plain(dictionary), sort_keys=False)
    else:
        text = to_json(dictionary, indent=2)
    log_text(text, artifact_file, run_id)


def log_figure(figure, artifact_file: str, save_kwargs: dict | None = None,
               **_) -> None:
    """Save a figure of matplotlib or plotly."""
    run = _active()
    with run._below(run._artifact(artifact_file)) as path:
        if callable(getattr(figure, "savefig", None)):
            figure.savefig(path, **(save_kwargs or {}))
        elif artifact_file.endswith(".html"):
            figure.write_html(path)
        else:
            figure.write_image(path)


def log_image(image, artifact_file: str | None = None, key: str | None = None,
              step: int | None = None, timestamp=None, synchronous=None) \
        -> None:
    """Keep an image: a file, or with a key, one of a series over steps."""
    medium = _media.wrap(image) if not hasattr(image, "shape") else None
    medium = medium or _media.Image(image)
    if (artifact_file is None) == (key is None):
        raise TypeError("log_image() needs either artifact_file or key")
    if key is not None:
        medium._keep(_active(), key, int(step or 0), None)
    elif artifact_file is not None:
        _active()._write(artifact_file, medium._bytes(_active()))


def log_table(data, artifact_file: str, run_id=None) -> None:
    """Write a table as JSON; rows are added to a table that is there."""
    if not artifact_file.endswith(".json"):
        raise Error(f"log_table() writes JSON: {artifact_file} must end in "
                    ".json")
    if isinstance(data, dict):
        values = {k: v if isinstance(v, (list, tuple)) or
                  hasattr(v, "tolist") else [v] for k, v in data.items()}
        table = _media.Table(list(values), list(zip(*map(list,
                                                         values.values()))))
    else:
        table = _media.Table(dataframe=data)
    run = _active(run_id)
    path = run._artifact(artifact_file)
    if os.path.exists(path):
        import json

        with open(path) as f:
            old = json.load(f)
        if old["columns"] != table.columns:
            raise Error(f"the table {artifact_file} has other columns")
        table.data = old["data"] + table.data
    run._write(artifact_file, table._bytes(run))
    _media.note_table(run, artifact_file)


def flush_async_logging() -> None:
    run = _current.current()
    if run:
        run.flush()


def autolog(*_, **__):
    raise missing("mlflow.autolog",
                  "log what you need by log_params() and log_metrics(), or "
                  "use a callback of gtrack.integrations")


def __getattr__(name: str):
    if name.startswith("__"):
        raise AttributeError(name)
    raise AttributeError(f"gtrack.mlflow has no '{name}'; gtrack-python(7) "
                         "lists what it has")
