"""What gtrack has, for editors and for mypy: __init__.py imports most of it
when it is first used."""
import os
from typing import Any, Callable, Iterable, Literal, Mapping

from . import _errors as errors, _media as data_types
from . import integrations as integrations, plot as plot, util as util
from ._api import Api as Api
from ._artifact import Artifact as Artifact
from ._config import Config, Summary
from ._errors import CommError as CommError, Error as Error
from ._errors import UsageError as UsageError
from ._init import Settings as Settings
from ._media import Audio as Audio, Histogram as Histogram, Html as Html
from ._media import Image as Image, Molecule as Molecule
from ._media import Object3D as Object3D, Table as Table, Video as Video
from ._run import Run as Run
from .plot import plot_table as plot_table

__version__: str
run: Run | None
config: Config
summary: Summary

class AlertLevel:
    INFO: str
    WARN: str
    ERROR: str

def init(
    project: str | None = None,
    name: str | None = None,
    config: Any = None,
    tags: Iterable[str] | None = None,
    group: str | None = None,
    job_type: str | None = None,
    notes: str | None = None,
    resume: bool | Literal["allow", "must", "never", "auto"] | None = None,
    id: str | None = None,
    dir: str | os.PathLike[str] | None = None,
    mode: Literal["online", "offline", "disabled", "dryrun"] | None = None,
    reinit: bool | Literal["finish_previous", "create_new"] | None = None,
    resume_from: str | None = None,
    parent: str | None = None,
    capture: bool = True,
    system: bool | float = True,
    config_include_keys: Iterable[str] | None = None,
    config_exclude_keys: Iterable[str] | None = None,
    allow_val_change: bool = False,
    console: Literal["wrap", "off", "auto"] | None = None,
    steal: bool = False,
    *,
    sync_tensorboard: bool = False,
    tensorboard: bool = False,
    entity: str | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
    save_code: bool | None = None,
    force: bool | None = None,
    anonymous: str | None = None,
    monitor_gym: bool | None = None,
    magic: Any = None,
) -> Run: ...
def finish(exit_code: int | None = None, quiet: bool | None = None) -> None: ...
def join(exit_code: int | None = None, quiet: bool | None = None) -> None: ...
def login(*_: Any, **__: Any) -> bool: ...
def setup(*_: Any, **__: Any) -> None: ...
def teardown(*_: Any, **__: Any) -> None: ...
def require(*_: Any, **__: Any) -> None: ...
def ensure_configured(*_: Any, **__: Any) -> None: ...
def termlog(string: str = "", newline: bool = True, **_: Any) -> None: ...
def termwarn(string: str = "", newline: bool = True, **_: Any) -> None: ...
def termerror(string: str = "", newline: bool = True, **_: Any) -> None: ...

# The methods of the newest run.
def log(
    data: Mapping[str, Any],
    step: int | None = None,
    commit: bool | None = None,
    sync: bool | None = None,
) -> None: ...
def define_metric(
    name: str,
    step_metric: str | None = None,
    step_sync: bool | None = None,
    hidden: bool | None = None,
    summary: str | None = None,
    goal: str | None = None,
    overwrite: bool | None = None,
) -> None: ...
def save(
    glob_str: str | os.PathLike[str] | None = None,
    base_path: str | os.PathLike[str] | None = None,
    policy: str = "live",
) -> list[str]: ...
def restore(
    name: str,
    run_path: str | None = None,
    replace: bool = False,
    root: str | None = None,
) -> Any: ...
def alert(
    title: str, text: str = "", level: str | None = None,
    wait_duration: float = 60,
) -> None: ...
def watch(
    models: Any,
    criterion: Any = None,
    log: Literal["gradients", "parameters", "all"] | None = "gradients",
    log_freq: int = 1000,
    idx: int | None = None,
    log_graph: bool = False,
) -> None: ...
def unwatch(models: Any = None) -> None: ...
def log_artifact(
    artifact_or_path: Artifact | str | os.PathLike[str],
    name: str | None = None,
    type: str | None = None,
    aliases: Iterable[str] | None = None,
    tags: Iterable[str] | None = None,
) -> Artifact: ...
def log_code(
    root: str = ".",
    name: str | None = None,
    include_fn: Callable[[str], bool] | None = None,
    exclude_fn: Callable[[str], bool] | None = None,
) -> None: ...
def log_model(
    path: str | os.PathLike[str],
    name: str | None = None,
    aliases: Iterable[str] | None = None,
) -> Artifact: ...
def use_artifact(
    artifact_or_name: Artifact | str,
    type: str | None = None,
    aliases: Iterable[str] | None = None,
    use_as: str | None = None,
) -> Artifact: ...
def use_model(name: str) -> str: ...
def link_artifact(
    artifact: Artifact,
    target_path: str | None = None,
    aliases: Iterable[str] | None = None,
) -> Artifact: ...
def link_model(
    path: str | os.PathLike[str],
    registered_model_name: str | None = None,
    name: str | None = None,
    aliases: Iterable[str] | None = None,
) -> Artifact: ...
def mark_preempting() -> None: ...
