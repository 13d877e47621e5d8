"""init(sync_tensorboard=True): what a program writes for TensorBoard is logged.

The classes of torch.utils.tensorboard and tensorboardX give each event to
add_event() of an EventFileWriter, which also tells the run here.  TensorFlow
writes its events itself; `gtrack import` reads them.
"""
from __future__ import annotations

import importlib

from ._errors import warn_once

_WRITERS = ("tensorboard.summary.writer.event_file_writer",
            "tensorboardX.event_file_writer")


def follow() -> None:
    """Log what is written from now on to the newest run."""
    found = 0
    for name in _WRITERS:
        try:
            writer = importlib.import_module(name).EventFileWriter
        except ImportError:
            continue
        found += 1
        if not hasattr(writer, "_gtrack"):
            writer._gtrack = writer.add_event
            writer.add_event = _told(writer.add_event)
    if not found:
        warn_once("sync_tensorboard needs tensorboard or tensorboardX; "
                  "`gtrack import` reads event files")


def _told(add_event):
    def add(self, event, *more, **named):
        try:
            _log(event)
        except Exception as e:  # recording must not end a training
            warn_once(f"cannot log what is written for TensorBoard: {e}")
        return add_event(self, event, *more, **named)

    return add


def _log(event) -> None:
    from . import _current, _media

    run = _current.current()
    if run is None or run._handle is None or not run._follows or \
            not event.HasField("summary"):
        return
    numbers: dict = {}
    others: dict = {}
    for value in event.summary.value:
        kind = value.WhichOneof("value")
        if kind == "simple_value":
            numbers[value.tag] = value.simple_value
        elif kind == "tensor" and len(value.tensor.float_val) == 1:
            numbers[value.tag] = value.tensor.float_val[0]
        elif kind == "image":
            others[value.tag] = _media.Image(
                value.image.encoded_image_string)
        elif kind == "histo" and len(value.histo.bucket) > 1:
            h = value.histo
            edges = [h.min, *h.bucket_limit[:-1], h.max]
            others[value.tag] = _media.Histogram(
                np_histogram=(list(h.bucket), edges))
        elif kind == "tensor" and len(value.tensor.string_val) == 1 and \
                "hparams" not in value.metadata.plugin_data.plugin_name:
            others[value.tag] = value.tensor.string_val[0].decode(
                errors="replace")
        else:
            warn_once(f"sync_tensorboard leaves out {value.tag}")
    if numbers or others:
        run.log({**numbers, **others}, step=event.step)
