"""Norms of a PyTorch model's gradients and parameters, as run.watch() logs."""
from __future__ import annotations

from ._errors import Error


class Watch:
    """Logs grad_norm and param_norm of the whole model every `every` backward
    passes, at the step of the next log()."""

    def __init__(self, run, model, what: str | None, every: int) -> None:
        if what not in ("gradients", "parameters", "all", None):
            raise Error('watch() expects log="gradients", "parameters" or '
                        f'"all", not {what!r}')
        self.run, self.model = run, model
        self.every = max(int(every), 1)
        self._kinds = {"gradients": ("gradients",),
                       "parameters": ("parameters",),
                       "all": ("gradients", "parameters"), None: ()}[what]
        self._passes = 0
        self._hooks: list = []
        self._begin()

    def _begin(self) -> None:
        if not callable(getattr(self.model, "parameters", None)):
            raise Error("watch() needs a PyTorch model, not "
                        f"{type(self.model).__name__}")
        parameters = [p for p in self.model.parameters() if p.requires_grad]
        if not parameters or not self._kinds:
            return
        # The gradient of the first parameter is the last that is computed.
        first = parameters[0]
        add = getattr(first, "register_post_accumulate_grad_hook", None)
        if add is None:
            raise Error("watch() needs PyTorch 2.1 or later")
        self._hooks.append(add(lambda _: self._passed()))

    def _passed(self) -> None:
        self._passes += 1
        if self._passes % self.every:
            return
        values = {}
        for kind in self._kinds:
            square = 0.0
            for p in self.model.parameters():
                t = p.grad if kind == "gradients" else p
                if t is not None:
                    square += float(t.detach().float().norm()) ** 2
            values["grad_norm" if kind == "gradients" else "param_norm"] = \
                square ** 0.5
        self.run.log(values, commit=False)

    def close(self) -> None:
        for hook in self._hooks:
            hook.remove()
        self._hooks = []
