"""What a run is: its id, name, tags, notes and places."""
from __future__ import annotations

import os

_NOTE = "mlflow.note.content"


class About:
    """The properties of a run; Run has the members that they read."""

    _gtrack_id: str
    _given_id: str | None
    _name: str
    _notes: str | None
    _folder: str
    _project: str
    _entity = "local"  # a store belongs to nobody
    _group: str | None
    _job_type: str | None
    _resumed: bool
    _handed: bool
    _tags: tuple
    _step: int
    _start: int

    def _tag(self, key: str, text: str) -> None:
        raise NotImplementedError

    def _rename(self, name: str) -> None:
        raise NotImplementedError

    @property
    def id(self) -> str:
        return self._given_id or self._gtrack_id

    @property
    def name(self) -> str:
        return self._name

    @name.setter
    def name(self, name: str) -> None:
        self._rename(str(name))

    @property
    def notes(self) -> str | None:
        return self._notes

    @notes.setter
    def notes(self, text: str | None) -> None:
        self._notes = text
        self._tag(_NOTE, text or "")

    @property
    def tags(self) -> tuple:
        return self._tags

    @tags.setter
    def tags(self, tags) -> None:
        new = (tags,) if isinstance(tags, str) else tuple(tags or ())
        for tag in self._tags:
            if tag not in new:
                key, equals, _ = str(tag).partition("=")
                self._tag(key if equals and key else str(tag), None)
        for tag in new:
            if tag not in self._tags:
                key, equals, value = str(tag).partition("=")
                self._tag(key if equals and key else str(tag), value)
        self._tags = new

    @property
    def project(self) -> str:
        return self._project

    @property
    def group(self) -> str:
        return self._group or ""

    @property
    def job_type(self) -> str:
        return self._job_type or ""

    @property
    def entity(self) -> str:
        return self._entity

    @property
    def path(self) -> str:
        return f"{self._project}/{self.id}"

    @property
    def dir(self) -> str:
        """The folder of the run's artifacts: files in it belong to the run."""
        folder = os.path.join(self._folder, "artifacts")
        if self._handle:
            with self._below(os.path.join(folder, "file")):
                pass
        return folder

    @property
    def url(self) -> str:
        return "file://" + self._folder

    def get_url(self) -> str:
        return self.url

    @property
    def step(self) -> int:
        return self._step

    @property
    def starting_step(self) -> int:
        return self._start

    @property
    def resumed(self) -> bool:
        return self._resumed

    @property
    def disabled(self) -> bool:
        return False

    @property
    def offline(self) -> bool:
        return True

    @property
    def sweep_id(self) -> str | None:
        return os.environ.get("GTRACK_SWEEP_ID") if self._handed else None

    def _label(self, *_, **__) -> None:
        """Nothing: W&B counts the libraries that call this."""

    def __repr__(self) -> str:
        return f"<gtrack.Run {self._name} {self._folder}>"
