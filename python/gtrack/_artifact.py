"""Artifact: versions of files that are logged under one name, as W&B's class.

The files of a version are artifacts/versions/NAME/vN/ of the run that logged
it, and vN.json beside this folder has its aliases and digests.  Versions are
numbered through all runs of an experiment.  A file that an earlier version has
is a hard link to it.
"""
from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile

from ._errors import Error, ignore, warn_once
from ._values import to_json

FOLDER = os.path.join("artifacts", "versions")


def _sha256(path: str, to: str | None = None) -> str:
    """The digest of a file, which is copied on the way."""
    from hashlib import sha256

    digest = sha256()
    with open(path, "rb") as source, \
            open(to or os.devnull, "wb") as copy:
        while block := source.read(1 << 20):
            digest.update(block)
            if to:
                copy.write(block)
    return digest.hexdigest()


@contextlib.contextmanager
def _locked(experiment: str):
    """One process at a time numbers versions and moves aliases.  Servers know
    no locks of folders, so a file is locked."""
    import fcntl

    fd = os.open(os.path.join(os.path.dirname(experiment), ".gtrack.trash",
                              "artifacts.lock"),
                 os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        with contextlib.suppress(OSError):  # where files have no locks
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


# What this process begins to write; only one process writes a run.
_PARTIAL = f".partial-{os.urandom(4).hex()}-"


def _remove_partial(home: str) -> None:
    """Remove the versions that a killed process had begun."""
    if not os.path.isdir(home) or os.path.islink(home):
        return
    for name in os.listdir(home):
        if name.startswith(".partial-") and not name.startswith(_PARTIAL):
            shutil.rmtree(os.path.join(home, name), ignore_errors=True)


def _is_deleted(run_folder: str) -> bool:
    try:
        with open(os.path.join(run_folder, "meta.yaml")) as f:
            return "lifecycle_stage: deleted" in f.read()
    except OSError:
        return True


def find_versions(experiment: str, name: str) -> dict:
    """The versions of an artifact: the path without .json, by number."""
    found: dict = {}
    for run in os.scandir(experiment):
        folder = os.path.join(run.path, FOLDER, name)
        try:
            files = os.listdir(folder)
        except OSError:
            continue
        inside = os.path.realpath(folder).startswith(
            os.path.realpath(run.path) + os.sep)
        if not inside or _is_deleted(run.path):
            continue
        found.update((int(f[1:-5]), os.path.join(folder, f[:-5]))
                     for f in files if re.fullmatch(r"v\d+\.json", f))
    return found


def _facts(path: str) -> dict:
    import json

    with open(path + ".json") as f:
        return json.load(f)


def find_experiment(root: str, project: str) -> str | None:
    """The folder of an experiment with this name."""
    import json

    for folder in os.scandir(root):
        try:
            with open(os.path.join(folder.path, "meta.yaml")) as f:
                word = re.search(r"^name: *(.*?) *$", f.read(), re.M)
        except OSError:
            continue
        name = word[1] if word else ""
        if name[:1] == '"':
            name = json.loads(name)
        elif name[:1] == "'":
            name = name[1:-1].replace("''", "'")
        if name == project:
            return folder.path
    return None


def find_artifact(root: str, words: str, experiment: str | None) -> Artifact:
    """The artifact that "entity/project/name:alias" names; experiment is the
    folder to search if it names no project."""
    *places, name = str(words).split("/")
    name, _, alias = name.partition(":")
    if places:
        experiment = find_experiment(root, places[-1])
    versions = find_versions(experiment, name) if experiment else {}
    alias = alias or "latest"
    for number in sorted(versions, reverse=True):
        facts = _facts(versions[number])
        if alias in ("latest", f"v{number}", *facts["aliases"]):
            return Artifact._stored(versions[number], facts)
    raise Error(f"there is no artifact {words} in {root}: " + (
        "its versions are " + ", ".join(f"v{n}" for n in sorted(versions))
        if versions else "none has this name"))


class Entry:
    """A file of an artifact."""

    def __init__(self, artifact: Artifact, name: str) -> None:
        self.name = self.path = name
        self._artifact = artifact

    def download(self, root=None, **_) -> str:
        folder = self._artifact._target(root)
        to = os.path.join(folder, self.name)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copyfile(self.local_path, to)
        return to

    @property
    def local_path(self) -> str:
        """The file itself, in the store."""
        return os.path.join(self._artifact._folder, self.name)


class Artifact:
    _folder: str = ""  # of the version, once it is logged

    def __init__(self, name: str, type: str, description: str | None = None,
                 metadata: dict | None = None, **more) -> None:
        ignore("Artifact", **more)
        self._name = re.sub(r"[^\w.-]", "_", str(name))
        if self._name != name:
            warn_once(f"an artifact's name has letters, digits and _ . - only: "
                      f"{name} becomes {self._name}")
        self.type, self.description = str(type), description
        self.metadata = dict(metadata or {})
        self.version, self.digest, self.size = "v0", "", 0
        self.aliases: list = []
        self._files: dict[str, str] = {}
        self._media: dict = {}
        self._references: dict[str, str] = {}
        self._made: list = []  # the folders of new_file()

    @classmethod
    def _stored(cls, folder: str, facts: dict) -> Artifact:
        self = cls(facts["name"], facts["type"], facts["description"],
                   facts["metadata"])
        self._take(folder, facts)
        return self

    def _take(self, folder: str, facts: dict) -> None:
        """Be the version that is stored in this folder."""
        self._folder = folder
        self.version = os.path.basename(folder)
        self.aliases, self.digest = list(facts["aliases"]), facts["digest"]
        self.size = sum(f["size"] for f in facts["files"].values())
        self._files = {name: os.path.join(folder, name)
                       for name in facts["files"]}
        self._references = facts["references"]

    @property
    def name(self) -> str:
        return f"{self._name}:{self.version}" if self._folder else self._name

    @property
    def collection_name(self) -> str:
        return self._name

    # -- what is put in ------------------------------------------------------

    def _put(self, name: str, path: str) -> None:
        if self._folder:
            raise Error(f"{self.name} is logged already; make a new Artifact "
                        "for other files")
        self._files[os.path.normpath(name)] = path

    def add_file(self, local_path, name: str | None = None, **more) -> None:
        ignore("add_file", **more)
        path = os.fspath(local_path)
        if not os.path.isfile(path):
            raise ValueError(f"cannot add {path}: there is no such file")
        self._put(name or os.path.basename(path), path)

    def add_dir(self, local_path, name: str | None = None, **more) -> None:
        ignore("add_dir", **more)
        root = os.fspath(local_path)
        if not os.path.isdir(root):
            raise ValueError(f"cannot add {root}: there is no such folder")
        for folder, _, files in os.walk(root):
            for file in files:
                path = os.path.join(folder, file)
                self._put(os.path.join(name or "",
                                       os.path.relpath(path, root)), path)

    def add(self, obj, name: str, **more) -> None:
        ignore("add", **more)
        self._media[name] = obj

    def add_reference(self, uri, name: str | None = None, **more) -> None:
        ignore("add_reference", **more)
        self._references[name or os.path.basename(str(uri))] = str(uri)

    @contextlib.contextmanager
    def new_file(self, name: str, mode: str = "w", encoding=None):
        folder = tempfile.TemporaryDirectory()
        self._made.append(folder)
        path = os.path.join(folder.name, os.path.basename(name))
        with open(path, mode, encoding=encoding) as f:
            yield f
        self._put(name, path)

    # -- a version in the store ----------------------------------------------

    def _log(self, run, aliases) -> None:
        """Make a version of the run's, unless the latest one is the same."""
        from . import _media

        experiment = os.path.dirname(run._folder)
        home = os.path.join(run._folder, FOLDER, self._name)
        if not self._folder:
            for name, obj in self._media.items():
                medium = _media.wrap(obj)
                if medium is None:
                    warn_once(f"an artifact cannot keep {name}, which is no "
                              "medium")
                    continue
                with self.new_file(name + medium._ending(), "wb") as f:
                    f.write(medium._bytes(run))
            _remove_partial(home)
            word = f"{_PARTIAL}{os.urandom(4).hex()}"
            with run._below(os.path.join(home, word)) as partial:
                os.mkdir(partial)
                try:
                    files = self._copy_files(partial, experiment)
                    with _locked(experiment):
                        self._commit(partial, home, files, experiment)
                finally:
                    shutil.rmtree(partial, ignore_errors=True)
        with _locked(experiment):
            self._add_aliases(aliases, experiment)

    def _copy_files(self, to: str, experiment: str) -> dict:
        """Copy or link the files; returns their digests and sizes."""
        stored = {}
        for path in find_versions(experiment, self._name).values():
            for name, facts in _facts(path)["files"].items():
                stored[facts["size"], facts["sha256"]] = \
                    os.path.join(path, name)
        sizes = {size for size, _ in stored}
        files = {}
        for name, path in sorted(self._files.items()):
            copy = os.path.join(to, name)
            if not os.path.abspath(copy).startswith(to + os.sep):
                raise ValueError(f"the name {name} leads out of the artifact")
            os.makedirs(os.path.dirname(copy), exist_ok=True)
            digest = None
            if os.path.getsize(path) in sizes:
                found = os.path.getsize(path), _sha256(path)
                with contextlib.suppress(KeyError, OSError):
                    os.link(stored[found], copy)
                    digest = found[1]
            if digest is None:
                digest = _sha256(path, copy)
            files[name] = {"sha256": digest, "size": os.path.getsize(copy)}
        return files

    def _commit(self, partial: str, home: str, files: dict, experiment: str) \
            -> None:
        from hashlib import sha256

        digest = sha256(to_json([files, self._references],
                                sort_keys=True).encode()).hexdigest()
        versions = find_versions(experiment, self._name)
        if versions:
            last = versions[max(versions)]
            facts = _facts(last)
            if (facts["digest"], facts["type"]) == (digest, self.type):
                self._take(last, facts)
                return
        version = f"v{max(versions, default=-1) + 1}"
        folder = os.path.join(os.path.dirname(partial), version)
        shutil.rmtree(folder, ignore_errors=True)  # of a process that died
        os.rename(partial, folder)
        self._take(os.path.join(home, version), {"aliases": [], "digest": digest, "files": files,
                            "references": self._references})
        self._write_facts(files)

    def _write_facts(self, files: dict) -> None:
        from ._run_files import write_whole

        write_whole(self._folder + ".json", to_json({
            "name": self._name, "version": self.version, "type": self.type,
            "description": self.description, "aliases": self.aliases,
            "metadata": self.metadata, "digest": self.digest, "files": files,
            "references": self._references}, indent=1).encode())

    def _add_aliases(self, aliases, experiment: str) -> None:
        """Give the version names, which other versions lose."""
        new = [str(a) for a in
               ([aliases] if isinstance(aliases, str) else aliases or ())
               if a not in ("latest", self.version)]
        if not new:
            return
        for path in find_versions(experiment, self._name).values():
            if path != self._folder:
                other = Artifact._stored(path, _facts(path))
                kept = [a for a in other.aliases if a not in new]
                if kept != other.aliases:
                    other.aliases = kept
                    other._write_facts(_facts(path)["files"])
        self.aliases = list(dict.fromkeys(self.aliases + new))
        self._write_facts(_facts(self._folder)["files"])

    def _experiment(self) -> str:
        # EXPERIMENT/RUN/artifacts/versions/NAME/vN
        return os.path.normpath(os.path.join(self._folder, *[".."] * 5))

    def save(self, *_, **__) -> None:
        """Log the artifact, or keep its new aliases and metadata."""
        from . import _current

        run = _current.current()
        if self._folder:
            with _locked(self._experiment()):
                wanted, self.aliases = self.aliases, []
                self._add_aliases(wanted, self._experiment())
                self._write_facts(_facts(self._folder)["files"])
        elif run:
            run.log_artifact(self)
        else:
            raise Error("call gtrack.init() before Artifact.save()")

    def wait(self, timeout=None) -> Artifact:
        return self

    def is_draft(self) -> bool:
        return not self._folder

    def delete(self, delete_aliases: bool = False) -> None:
        """Delete the version, if it has no alias."""
        self._logged()
        if self.aliases and not delete_aliases:
            raise Error(f"{self.name} has the aliases "
                        f"{', '.join(self.aliases)}; delete_aliases=True "
                        "deletes it nevertheless")
        os.unlink(self._folder + ".json")
        shutil.rmtree(self._folder)

    # -- what is taken out ---------------------------------------------------

    def _logged(self) -> None:
        if not self._folder:
            raise Error(f"{self.name} is not logged yet")

    def _target(self, root) -> str:
        return os.fspath(root) if root is not None else \
            os.path.join("artifacts", f"{self._name}:{self.version}")

    def files(self) -> list:
        self._logged()
        return [Entry(self, name) for name in self._files]

    def get_entry(self, name: str) -> Entry:
        self._logged()
        if name not in self._files:
            raise KeyError(f"{self.name} has no file {name}")
        return Entry(self, name)

    get_path = get_entry

    def get(self, name: str):
        """A table that add() put in, or None."""
        from ._media import Table

        import json

        path = self._files.get(name + ".json")
        if path is None:
            return None
        with open(path) as f:
            data = json.load(f)
        return Table(data["columns"], data["data"])

    def download(self, root=None, **more) -> str:
        """Copy the files to a folder, artifacts/NAME:VERSION by default."""
        ignore("download", **more)
        for entry in self.files():
            entry.download(root)
        folder = self._target(root)
        os.makedirs(folder, exist_ok=True)
        return folder

    checkout = download

    def file(self, root=None) -> str:
        """Copy the only file; returns its path."""
        if len(self.files()) != 1:
            raise ValueError(f"{self.name} has {len(self._files)} files")
        return self.files()[0].download(root)

    def verify(self, root=None) -> None:
        """Compare a download with the digests."""
        self._logged()
        for name, facts in _facts(self._folder)["files"].items():
            path = os.path.join(self._target(root), name)
            if _sha256(path) != facts["sha256"]:
                raise ValueError(f"{path} differs from {self.name}")

    def __repr__(self) -> str:
        return f"<gtrack.Artifact {self.name}>"
