"""Accelerate: a tracker

    accelerator = Accelerator(log_with=GtrackTracker("c4"))
    accelerator.init_trackers("c4", config=config)
"""
from __future__ import annotations

from accelerate.tracking import GeneralTracker, on_main_process

import gtrack


class GtrackTracker(GeneralTracker):
    """Logs values of the main process.  The arguments are those of
    gtrack.init()."""

    name = "gtrack"
    requires_logging_directory = False
    main_process_only = True

    def __init__(self, project: str | None = None, **init) -> None:
        super().__init__()
        self._init = {"project": project, **init}
        self._run = None

    @property
    @on_main_process
    def tracker(self):
        if self._run is None:
            self._run = gtrack.run or gtrack.init(**self._init)
        return self._run

    @on_main_process
    def start(self) -> None:
        self.tracker

    @on_main_process
    def store_init_configuration(self, values: dict) -> None:
        self.tracker.config.update(values, allow_val_change=True)

    @on_main_process
    def log(self, values: dict, step: int | None = None, **_) -> None:
        self.tracker.log(values, step=step)

    @on_main_process
    def log_images(self, values: dict, step: int | None = None, **_) -> None:
        self.tracker.log({k: [gtrack.Image(i) for i in images]
                          for k, images in values.items()}, step=step)

    @on_main_process
    def finish(self) -> None:
        self.tracker.finish()
