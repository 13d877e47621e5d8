"""Lightning: a logger

    trainer = Trainer(logger=GtrackLogger(project="c4"))
"""
from __future__ import annotations

import os

try:
    from lightning.pytorch.loggers.logger import Logger, rank_zero_experiment
    from lightning.pytorch.utilities import rank_zero_only
except ImportError:
    from pytorch_lightning.loggers.logger import Logger, rank_zero_experiment
    from pytorch_lightning.utilities import rank_zero_only

import gtrack


class GtrackLogger(Logger):
    """Logs metrics and hyperparameters of rank 0.  The arguments are those of
    gtrack.init()."""

    def __init__(self, project: str | None = None, **init) -> None:
        super().__init__()
        self._init = {"project": project, **init}
        self._run = None

    @property
    @rank_zero_experiment
    def experiment(self):
        """The run, which begins when it is first needed."""
        if self._run is None:
            self._run = gtrack.run or gtrack.init(**self._init)
        return self._run

    @property
    def name(self) -> str | None:
        return self._init["project"] or "Default"

    @property
    def version(self) -> str | None:
        return self._run.name if self._run else None

    @property
    def save_dir(self) -> str | None:
        """Where Lightning keeps its checkpoints."""
        return os.path.join(self._run.dir, "lightning") if self._run else None

    @rank_zero_only
    def log_hyperparams(self, params, *_, **__) -> None:
        self.experiment.config.update(params, allow_val_change=True)

    @rank_zero_only
    def log_metrics(self, metrics, step: int | None = None) -> None:
        self.experiment.log(dict(metrics), step=step)

    @rank_zero_only
    def log_image(self, key: str, images: list, step: int | None = None,
                  **_) -> None:
        self.experiment.log({key: [gtrack.Image(i) for i in images]},
                            step=step)

    def watch(self, model, **how) -> None:
        self.experiment.watch(model, **how)

    @rank_zero_only
    def finalize(self, status: str) -> None:
        if self._run:
            self._run.finish(0 if status == "success" else 1)
