"""Stable-Baselines3: a callback

    model.learn(100_000, callback=WandbCallback(model_save_path="models"))

It has the name and the arguments of W&B's, wandb.integration.sb3.WandbCallback.
The numbers of training come from TensorBoard's files: begin the run by
gtrack.init(sync_tensorboard=True), and give the model a tensorboard_log.
"""
from __future__ import annotations

import os

from stable_baselines3.common.callbacks import BaseCallback

import gtrack


class WandbCallback(BaseCallback):
    """Records the model's configuration, and its weights in an artifact."""

    def __init__(self, verbose: int = 0, model_save_path: str | None = None,
                 model_save_freq: int = 0, gradient_save_freq: int = 0,
                 log: str | None = "all") -> None:
        super().__init__(verbose)
        if gtrack.run is None:
            raise gtrack.Error("call gtrack.init() before WandbCallback()")
        self._folder, self._every = model_save_path, model_save_freq
        self._watch_every, self._watched = gradient_save_freq, log

    def _init_callback(self) -> None:
        plain = {k: v for k, v in vars(self.model).items()
                 if isinstance(v, (str, bool, int, float)) or v is None}
        gtrack.run.config.update(
            {"algo": type(self.model).__name__, **{
                k: v for k, v in plain.items() if k not in gtrack.run.config}},
            allow_val_change=True)
        if self._watch_every > 0:
            gtrack.run.watch(self.model.policy, log=self._watched,
                             log_freq=self._watch_every)

    def _on_step(self) -> bool:
        if self._folder and self._every > 0 and \
                self.n_calls % self._every == 0:
            self._save()
        return True

    def _on_training_end(self) -> None:
        if self._folder:
            self._save()

    def _save(self) -> None:
        os.makedirs(self._folder, exist_ok=True)
        path = os.path.join(self._folder, "model.zip")
        self.model.save(path)
        gtrack.run.log_model(path, name="model")


GtrackCallback = WandbCallback
