"""Files of a run: its artifacts."""
from __future__ import annotations

import contextlib
import ctypes
import os

from . import _lib
from ._errors import Error, ignore, warn_once


def _partial(run: str) -> str:
    """A name for what will be renamed to an artifact of a run: in our own
    folder, where the next attempt removes what a killed one left."""
    return os.path.join(run, ".gtrack", f"artifact.{os.urandom(8).hex()}.tmp")


def copy_file(path: str, to: str, run: str) -> None:
    """Copy a file to an artifact.  What was there may be linked to another
    artifact, so it is replaced, not written."""
    import shutil  # not before it is needed: programs start faster

    partial = _partial(run)
    try:
        shutil.copyfile(path, partial)
        os.replace(partial, to)
    except OSError:
        if os.path.exists(partial):
            os.unlink(partial)
        raise


def _remove_left(path: str, now: float) -> None:
    """Remove what killed processes left of a file, a minute later.  The clock
    is that of the file system."""
    import glob

    for left in glob.glob(glob.escape(path) + ".*.tmp"):
        with contextlib.suppress(OSError):
            if now - os.path.getmtime(left) > 60:
                os.unlink(left)


def write_whole(path: str, data: bytes, run: str | None = None) -> None:
    """Replace a file, which may be an artifact of a run, as a whole, or not at
    all."""
    partial = _partial(run) if run else f"{path}.{os.urandom(8).hex()}.tmp"
    try:
        with open(partial, "xb") as f:
            f.write(data)
        if not run:
            _remove_left(path, os.path.getmtime(partial))
        os.replace(partial, path)
    except OSError:
        if os.path.exists(partial):
            os.unlink(partial)
        raise


class Files:
    """The methods of a run that write artifacts."""

    _folder: str
    _handle: int | None
    _name: str
    _copies: dict[str, str]  # of save(): what is copied again at the end

    def _usable(self) -> bool:
        raise NotImplementedError

    def log_dataset(self, name: str, digest: str | None = None,
                    source: str | None = None, context: str | None = None) \
            -> None:
        raise NotImplementedError

    def _artifact(self, name: str) -> str:
        """The path of an artifact.  The name comes from a program, so it must
        stay inside of the run's folder."""
        parts = [p for p in name.replace("\\", "/").split("/")
                 if p not in ("", ".", "..")]
        return os.path.join(self._folder, "artifacts", *parts)

    @contextlib.contextmanager
    def _below(self, path: str):
        """Another path of an artifact, whose folder is made: no link that
        somebody put into the run leads out of the run there."""
        name = os.path.relpath(path, os.path.join(self._folder, "artifacts"))
        why = ctypes.create_string_buffer(_lib.WHY)
        fd = _lib.artifact_folder(self._handle, _lib.encode(name), why)
        _lib.check(fd, why)
        try:
            place = f"/proc/self/fd/{fd}"
            yield os.path.join(place if os.path.exists(place)
                               else os.path.dirname(path),
                               os.path.basename(path))
        finally:
            os.close(fd)

    def _write(self, name: str, data: bytes) -> str:
        """Write an artifact."""
        path = self._artifact(name)
        with self._below(path) as to:
            write_whole(to, data, self._folder)
        return path

    def _copy(self, path: str, name: str) -> None:
        """Copy a file to the artifacts."""
        if self._usable():
            with self._below(self._artifact(name)) as to:
                copy_file(path, to, self._folder)

    def save(self, glob_str: str | os.PathLike | None = None,
             base_path: str | os.PathLike | None = None,
             policy: str = "live") -> list[str]:
        """Copy files to the artifacts.  With the policy "live" or "end", they
        are copied again when the run ends."""
        import glob as glob_module

        if glob_str is None:
            raise Error("save() needs the path of a file, or a pattern of "
                        "paths")
        if not self._usable():
            return []
        pattern = os.fspath(glob_str)
        base = os.fspath(base_path) if base_path is not None else \
            os.path.dirname(pattern) if os.path.isabs(pattern) else "."
        saved = []
        for path in sorted(glob_module.glob(pattern, recursive=True)):
            if not os.path.isfile(path):
                continue
            to = self._artifact(os.path.relpath(path, base))
            if os.path.abspath(path) != to:
                self._copies[os.path.abspath(path)] = to
                with self._below(to) as place:
                    copy_file(path, place, self._folder)
            saved.append(to)
        if not saved and not glob_module.has_magic(pattern):
            warn_once(f"cannot save {pattern}: there is no such file")
        if policy == "now":
            self._copies = {k: v for k, v in self._copies.items()
                            if v not in saved}
        return saved

    def restore(self, name: str, run_path: str | None = None,
                replace: bool = False, root: str | None = None):
        """Open an artifact of this run."""
        ignore("restore", replace=replace, root=root)
        if run_path:
            raise Error("restore() reads files of this run only; "
                        "`gtrack artifacts RUN --cat=PATH` prints those of "
                        "another")
        try:
            return open(self._artifact(name))
        except FileNotFoundError:
            raise ValueError(f"run {self._name} has no artifact {name}") \
                from None

    def log_artifact(self, artifact_or_path, name: str | None = None,
                     type: str | None = None, aliases=None, tags=None):
        """Keep a file, a folder or an Artifact as the next version of its
        name; aliases are other names of this version."""
        from ._artifact import Artifact

        ignore("log_artifact", tags=tags)
        artifact = artifact_or_path
        if not isinstance(artifact, Artifact):
            path = os.path.normpath(os.fspath(artifact_or_path))
            artifact = Artifact(name or os.path.basename(path), type or "file")
            (artifact.add_dir if os.path.isdir(path) else artifact.add_file)(
                path)
        if self._usable():
            artifact._log(self, aliases)
        return artifact

    upsert_artifact = finish_artifact = log_artifact

    def log_model(self, path, name: str | None = None, aliases=None):
        return self.log_artifact(path, name or "model", "model", aliases)

    def link_artifact(self, artifact, target_path=None, aliases=None):
        warn_once("link_artifact() keeps the aliases: there is no registry to "
                  "link to")
        return self.log_artifact(artifact, aliases=aliases)

    def link_model(self, path, registered_model_name=None,
                   name: str | None = None, aliases=None):
        return self.link_artifact(self.log_model(path, name), aliases=aliases)

    def use_artifact(self, artifact_or_name, type: str | None = None,
                     aliases=None, use_as: str | None = None):
        """The artifact "NAME:ALIAS" or "PROJECT/NAME:ALIAS", which is recorded
        as an input of the run."""
        from ._artifact import Artifact, find_artifact

        ignore("use_artifact", aliases=aliases)
        artifact = artifact_or_name
        if not isinstance(artifact, Artifact):
            experiment = os.path.dirname(self._folder)
            artifact = find_artifact(os.path.dirname(experiment), artifact,
                                     experiment)
        if type and artifact.type != type:
            raise Error(f"{artifact.name} has the type {artifact.type}, not "
                        f"{type}")
        self.log_dataset(artifact.name, digest=artifact.digest[:36],
                         source=artifact._folder,
                         context=use_as or artifact.type)
        return artifact

    def use_model(self, name: str) -> str:
        """Copy a model; returns the path of its folder or its only file."""
        artifact = self.use_artifact(name)
        return artifact.file() if len(artifact.files()) == 1 else \
            artifact.download()

    def log_code(self, root: str = ".", name: str | None = None,
                 include_fn=None, exclude_fn=None) -> None:
        """Copy the Python files under a folder to artifacts/code."""
        ignore("log_code", name=name)
        if not self._usable():
            return
        for folder, inside, files in os.walk(root):
            inside[:] = [d for d in inside
                         if not d.startswith(".") and d != "mlruns"]
            for file in files:
                path = os.path.join(folder, file)
                if include_fn(path) if include_fn else file.endswith(".py"):
                    if not (exclude_fn and exclude_fn(path)):
                        self._copy(path, "code/" + os.path.relpath(path, root))
