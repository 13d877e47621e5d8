"""init(): begin a run, or resume one."""
from __future__ import annotations

import ctypes
import os
import sys

from . import _console, _current, _lib
from ._errors import Error, ignore
from ._run import Run, id_of, store_root
from ._run_files import write_whole
from ._values import as_dict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Arguments of W&B's init() that change nothing here.
_IGNORED = {"entity", "save_code", "force", "anonymous",
            "monitor_gym", "magic"}
_MORE = {"sync_tensorboard", "tensorboard", "settings"}
# What init() reads of W&B's settings.
_SETTINGS = {"mode", "x_disable_stats", "_disable_stats", "project", "run_name",
             "run_id", "run_group", "run_job_type", "run_notes", "run_tags",
             "root_dir", "resume", "sync_tensorboard", "console"}


class Settings:
    """W&B's settings."""

    def __init__(self, **settings) -> None:
        self.__dict__.update(settings)


class DisabledRun(Run):
    """A run of mode "disabled", which keeps nothing."""

    def __init__(self, project: str | None, name: str | None) -> None:
        self._set_up(project, None, None, None)
        self._step = self._start = 0
        self._gtrack_id = "0" * 32
        self._name = name or "disabled"
        self._folder = os.path.join(os.environ.get("TMPDIR", "/tmp"),
                                    f"gtrack-disabled-{os.getpid()}")
        self._made = False

    @property
    def dir(self) -> str:
        """A folder that nobody else made: its name can be guessed."""
        if not self._made:
            import tempfile

            self._folder = tempfile.mkdtemp(prefix="gtrack-disabled-")
            os.mkdir(os.path.join(self._folder, "artifacts"))
            self._made = True
        return os.path.join(self._folder, "artifacts")

    def _usable(self) -> bool:
        return False

    @property
    def disabled(self) -> bool:
        return True

    def save(self, *_, **__) -> list[str]:
        return []

    def finish(self, *_, **__) -> None:
        _current.ended(self)

    join = finish

    def _end(self, *_) -> None:
        self.finish()

    _end_at_exit = finish


def _quoted(word: str) -> str:
    """A word for the shell; importing shlex takes longer than all the rest."""
    if word and not word.strip("@%+=:,./-_0123456789abcdefghijklmnopqrstuvwxyz"
                               "ABCDEFGHIJKLMNOPQRSTUVWXYZ"):
        return word
    return "'" + word.replace("'", "'\"'\"'") + "'"


def _command() -> str:
    """The command line, as a shell would take it."""
    return " ".join(map(_quoted, getattr(sys, "orig_argv", sys.argv)))


SYSTEM_EVERY = 10.0  # seconds between readings of the machine


def begin(*, root: str, experiment: str | None, name: str | None = None,
          own_id: str | None = None, parent: str | None = None,
          resume: str | None = None, capture: bool = True,
          system: bool | float = False, steal: bool = False) -> int:
    """Begin or resume a run by the library."""
    e = _lib.encode
    conf = _lib.Conf(ctypes.sizeof(_lib.Conf), e(root), e(experiment), e(name),
                     e(own_id), e(parent), e(resume), e(_command()),
                     (0 if capture else _lib.NO_CAPTURE) |
                     (_lib.STEAL if steal else 0),
                     SYSTEM_EVERY if system is True else float(system))
    why = ctypes.create_string_buffer(_lib.WHY)
    handle = _lib.begin(ctypes.byref(conf), why)
    _lib.check(handle, why)
    return handle


def _first(*values):
    return next((v for v in values if v), None)


def _resume_file(root: str) -> str:
    return os.path.join(root, ".gtrack.trash", "resume.json")


def _auto_id(root: str, project: str | None) -> str | None:
    """The id of the run that resume="auto" left unfinished."""
    import json

    try:
        with open(_resume_file(root)) as f:
            last = json.load(f)
        return last["id"] if last["project"] == project else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _handed(root: str) -> tuple[str, str | None]:
    """The store and the id of the run that `gtrack sweep` prepared for this
    program.  Programs that this one starts do not get it, too."""
    run_id = os.environ.pop("GTRACK_RESUME", None)
    return (os.environ.get("GTRACK_ROOT", root) if run_id else root), run_id


def _sweep_values() -> dict:
    """The values of this program's cell of a sweep, by name."""
    import json

    return json.loads(os.environ.get("GTRACK_SWEEP_VALUES") or "{}")


def _find(root: str, run_id: str) -> bool:
    try:
        experiments = os.listdir(root)
    except OSError:
        return False
    return any(os.path.exists(os.path.join(root, e, run_id, "meta.yaml"))
               for e in experiments)


def _to_resume(root: str, word, run_id: str | None) -> bool:
    """Is there a run to resume, as W&B's argument resume says?"""
    exists = run_id is not None and _find(root, run_id)
    if word == "must" and not exists:
        raise Error('resume="must" needs the id of a run that exists')
    if word == "never" and exists:
        raise Error('resume="never", but there is a run with this id')
    if word not in (None, False, True, "allow", "must", "never", "auto"):
        raise Error('resume expects "allow", "must", "never" or "auto", not '
                    f"{word!r}")
    return exists and word in (True, "allow", "must", "auto")


def init(project: str | None = None, name: str | None = None,
         config: Any = None, tags=None, group: str | None = None,
         job_type: str | None = None, notes: str | None = None,
         resume: bool | str | None = None, id: str | None = None,
         dir: str | os.PathLike | None = None, mode: str | None = None,
         reinit: bool | str | None = None, resume_from: str | None = None,
         parent: str | None = None, capture: bool = True,
         system: bool | float = True, config_include_keys=None,
         config_exclude_keys=None, allow_val_change: bool = False,
         console: str | None = None, steal: bool = False, **more) -> Run:
    """Begin a run.

    project is the experiment, and dir the folder with the store, mlruns.
    parent is the id of the run to which this one belongs; with capture=False,
    git and the machine are not recorded, and with system=False, its use is not;
    a number is the interval in seconds.  With steal=True, a run is resumed even
    though another process writes it, which can then write no more.  The other arguments are those of
    wandb.init().  If there is a run already, it is returned, unless reinit says
    "finish_previous" (or True) or "create_new".
    """
    env = os.environ.get
    if not (isinstance(project, str) or project is None):
        raise TypeError("project must be a str")
    for word in more:
        if word == "fork_from":
            raise Error("gtrack cannot copy a run: fork_from is not there; "
                        "begin a run with parent=ID instead")
        if word not in _IGNORED and word not in _MORE:
            raise TypeError(f"init() has no argument '{word}'")
    settings = more.pop("settings", None) or {}
    if not isinstance(settings, dict):
        settings = vars(settings)
    follows = bool(more.pop("sync_tensorboard", False) or
                   more.pop("tensorboard", False) or
                   settings.get("sync_tensorboard"))
    entity = more.pop("entity", None)
    ignore("init", entity=entity, **more)
    ignore("Settings", **{k: v for k, v in settings.items()
                          if k not in _SETTINGS})

    def first(value, variable: str, setting: str):
        """An argument, or a setting, or a variable of the environment."""
        return _first(value, settings.get(setting), env(f"WANDB_{variable}"))

    previous = _current.current()
    if previous:
        if reinit in (True, "finish_previous"):
            previous.finish()
        elif reinit != "create_new":
            return previous
    project = first(project, "PROJECT", "project")
    name = first(name, "NAME", "run_name")
    mode = _first(mode, settings.get("mode"), env("GTRACK_MODE"),
                  env("WANDB_MODE"))
    if mode not in (None, "online", "offline", "disabled", "dryrun"):
        raise Error('mode expects "online", "offline" or "disabled", not '
                    f"{mode!r}; one process writes a run")
    if env("WANDB_DISABLED", "").lower() == "true":
        mode = "disabled"
    if mode == "disabled":
        run: Run = DisabledRun(project, name)
    else:
        if settings.get("x_disable_stats") or settings.get("_disable_stats"):
            system = False
        run = _begin_run(project, name, parent, capture, system,
                         _first(dir, settings.get("root_dir")),
                         first(id, "RUN_ID", "run_id"),
                         first(resume, "RESUME", "resume"), resume_from,
                         first(group, "RUN_GROUP", "run_group"),
                         first(job_type, "JOB_TYPE", "run_job_type"), steal)
    run._entity = str(entity or env("WANDB_ENTITY") or "local")
    _current.begun(run)
    if mode != "disabled":
        console = console or settings.get("console") or env("WANDB_CONSOLE")
        run._console = _console.begin(
            os.path.join(run._folder, "artifacts", "output.log"), console)
    if follows and mode != "disabled":
        from . import _tensorboard

        run._follows = True
        _tensorboard.follow()
    if tags is None:
        tags = settings.get("run_tags")
    if tags is None:
        tags = [t for t in (env("WANDB_TAGS") or "").split(",") if t]
    tags = [tags] if isinstance(tags, str) else list(tags)
    run.tags = dict.fromkeys([*run.tags, *tags])
    notes = first(notes, "NOTES", "run_notes")
    if notes:
        run.notes = notes
    if run._handed:
        run.config._lock(_sweep_values())
    object.__setattr__(run.config, "_change", bool(allow_val_change))
    run.config.update(_chosen(as_dict(config), config_include_keys,
                              config_exclude_keys))
    return run


def _chosen(config: dict, include, exclude) -> dict:
    """The values of a configuration that init() may record."""
    if include and exclude:
        raise Error("init() takes config_include_keys or config_exclude_keys, "
                    "not both")
    for keys in (include, exclude):
        if isinstance(keys, str):
            raise TypeError("config_include_keys and config_exclude_keys are "
                            "lists of names")
    return {k: v for k, v in config.items()
            if (not include or k in include) and k not in (exclude or ())}


def _begin_run(project, name, parent, capture, system, folder, given_id,
               resume, resume_from, group, job_type, steal) -> Run:
    root = store_root(folder)
    step = None
    if resume_from:
        given_id, _, step = str(resume_from).partition("?_step=")
        if not step.isdigit():
            raise Error('resume_from expects "ID?_step=STEP", not '
                        f"{resume_from!r}")
        resume = "must"
    auto = resume in (True, "auto")
    own_id = id_of(project, given_id) if given_id else \
        _auto_id(root, project) if auto else None
    again, handed = _to_resume(root, resume, own_id), None
    if not (given_id or parent or auto):
        root, handed = _handed(root)
    if handed:
        again, own_id = True, handed
    handle = begin(root=root, experiment=project, name=name, parent=parent,
                   capture=capture, system=system, steal=steal, own_id=None if again else
                   own_id if given_id else None,
                   resume=own_id if again else None)
    if step is not None:
        _lib.rewind(handle, int(step))
    run = Run(handle, project=project, given_id=given_id, group=group,
              job_type=job_type, resumed=again)
    run._handed = handed is not None
    if step is not None:
        run._step = run._start = int(step) + 1
    if auto:
        import json

        write_whole(_resume_file(root), json.dumps(
            {"id": run._gtrack_id, "project": project}).encode())
    if given_id and not again:
        run._tag("wandb.run_id", given_id)
    if group:
        run._tag("wandb.group", group)
    if job_type:
        run._tag("wandb.job_type", job_type)
    return run
