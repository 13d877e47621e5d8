"""Keras 3: a callback

    model.fit(x, y, callbacks=[GtrackCallback()])
"""
from __future__ import annotations

import keras

import gtrack


class GtrackCallback(keras.callbacks.Callback):
    """Logs every epoch as epoch/loss, epoch/val_loss and so on, at the number
    of the batch; with log_freq, also every so many batches as batch/loss.  The
    other arguments are those of gtrack.init()."""

    def __init__(self, log_freq: int | None = None, **init) -> None:
        super().__init__()
        self._every, self._init = log_freq, init
        self.run, self._own, self._batch = None, False, 0

    def on_train_begin(self, logs=None) -> None:
        self._own = gtrack.run is None
        self.run = gtrack.run or gtrack.init(**self._init)
        optimizer = getattr(self.model, "optimizer", None)
        if optimizer is not None:
            self.run.config.update({"optimizer": optimizer.get_config()},
                                   allow_val_change=True)
        self.run.config.update(self.params or {}, allow_val_change=True)

    def on_train_batch_end(self, batch, logs=None) -> None:
        self._batch += 1
        if self._every and self._batch % self._every == 0:
            self.run.log({f"batch/{k}": v for k, v in (logs or {}).items()},
                         step=self._batch)

    def on_epoch_end(self, epoch, logs=None) -> None:
        values = {f"epoch/{k}": v for k, v in (logs or {}).items()}
        self.run.log({**values, "epoch/epoch": epoch}, step=self._batch)

    def on_train_end(self, logs=None) -> None:
        if self._own:
            self.run.finish()


class WandbMetricsLogger(GtrackCallback):
    """The same with the arguments of W&B's callback of this name."""

    def __init__(self, log_freq="epoch", initial_global_step: int = 0,
                 *_, **__) -> None:
        super().__init__({"epoch": None, "batch": 1}.get(log_freq, log_freq))
        self._batch = initial_global_step


class WandbModelCheckpoint(keras.callbacks.ModelCheckpoint):
    """Keras's callback, whose files are also versions of an artifact."""

    def _save_model(self, epoch, batch, logs) -> None:
        super()._save_model(epoch, batch, logs)
        import os

        path = self._get_file_path(epoch, batch, logs)
        if gtrack.run is not None and os.path.exists(path):
            gtrack.run.log_model(path, name=f"run_{gtrack.run.id}_model",
                                 aliases=[f"epoch_{epoch}"])
