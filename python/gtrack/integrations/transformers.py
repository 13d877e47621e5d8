"""transformers: a callback for Trainer

    trainer = Trainer(model, args, callbacks=[GtrackCallback()], ...)

Metrics are named as those of transformers' own callbacks: train/loss,
eval/loss.  The run that exists is used, and one is begun otherwise; it ends
with the program, since evaluate() and predict() log to it after train().
"""
from __future__ import annotations

from transformers import TrainerCallback

import gtrack


def metric_name(name: str) -> str:
    """eval_loss as eval/loss, and loss as train/loss."""
    for group in ("eval", "test"):
        if name.startswith(group + "_"):
            return f"{group}/{name[len(group) + 1:]}"
    return f"train/{name}"


class GtrackCallback(TrainerCallback):
    """Logs what Trainer logs.  The arguments are those of gtrack.init()."""

    def __init__(self, **init) -> None:
        self._init = init
        self.run = None

    def _begin(self, args, state, model) -> None:
        if not state.is_world_process_zero or \
                (self.run and self.run._handle is not None):
            return
        self.run = gtrack.run or gtrack.init(
            **{"name": getattr(args, "run_name", None), **self._init})
        config = args.to_sanitized_dict()
        if getattr(getattr(model, "config", None), "to_dict", None):
            config = {**model.config.to_dict(), **config}
        self.run.config.update(config, allow_val_change=True)

    def on_train_begin(self, args, state, control, model=None, **_) -> None:
        if self.run and state.is_hyper_param_search:
            self.run.finish()
        self._begin(args, state, model)

    def on_log(self, args, state, control, model=None, logs=None, **_) -> None:
        self._begin(args, state, model)
        if self.run:
            values = {metric_name(k): v for k, v in (logs or {}).items()
                      if isinstance(v, (int, float))}
            self.run.log({**values, "train/epoch": state.epoch or 0.0},
                         step=state.global_step)

    def on_predict(self, args, state, control, metrics=None, **_) -> None:
        if self.run and metrics:
            self.run.summary.update({metric_name(k): v
                                     for k, v in metrics.items()})
