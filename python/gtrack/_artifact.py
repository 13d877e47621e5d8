"""Artifact: files that are logged under one name, as W&B's class."""
from __future__ import annotations

import contextlib
import os
import shutil
import tempfile

from ._errors import Error
from ._values import to_json


class Artifact:
    def __init__(self, name: str, type: str, description: str | None = None,
                 metadata: dict | None = None, **_) -> None:
        self.name, self.type = str(name), str(type)
        self.description = description
        self.metadata = dict(metadata or {})
        self.version = "v0"
        self._files: dict[str, str] = {}
        self._media: dict = {}
        self._references: dict[str, str] = {}
        self._made: list = []  # the folders of new_file()

    def add_file(self, local_path, name: str | None = None, **_) -> None:
        path = os.fspath(local_path)
        if not os.path.isfile(path):
            raise ValueError(f"cannot add {path}: there is no such file")
        self._files[name or os.path.basename(path)] = path

    def add_dir(self, local_path, name: str | None = None, **_) -> None:
        root = os.fspath(local_path)
        if not os.path.isdir(root):
            raise ValueError(f"cannot add {root}: there is no such folder")
        for folder, _, files in os.walk(root):
            for file in files:
                path = os.path.join(folder, file)
                inside = os.path.relpath(path, root)
                self._files[os.path.join(name or "", inside)] = path

    def add(self, obj, name: str, **_) -> None:
        self._media[name] = obj

    def add_reference(self, uri, name: str | None = None, **_) -> None:
        self._references[name or os.path.basename(str(uri))] = str(uri)

    @contextlib.contextmanager
    def new_file(self, name: str, mode: str = "w", encoding=None):
        folder = tempfile.TemporaryDirectory()
        self._made.append(folder)
        path = os.path.join(folder.name, os.path.basename(name))
        with open(path, mode, encoding=encoding) as f:
            yield f
        self._files[name] = path

    def wait(self, timeout=None) -> Artifact:
        return self

    def download(self, *_, **__):
        raise Error("gtrack has no registry of artifacts to download from; "
                    "`gtrack where RUN` prints the folder of a run")

    get_path = get = checkout = download

    def _copy_to(self, run) -> None:
        for name, path in self._files.items():
            shutil.copyfile(path, run._artifact(f"{self.name}/{name}"))
        for name, obj in self._media.items():
            from . import _media

            medium = _media.wrap(obj)
            if medium is None:
                raise ValueError(f"cannot add {name}: it is no medium")
            run._write(f"{self.name}/{name}{medium._ending()}",
                       medium._bytes(run))
        facts = {"type": self.type, "description": self.description,
                 "metadata": self.metadata, "references": self._references}
        if self.description or self.metadata or self._references:
            run._write(f"{self.name}/artifact.json",
                       to_json(facts, indent=1).encode())
