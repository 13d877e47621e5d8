"""Values of other libraries as numbers and texts.

Texts are those that `gtrack import` writes for runs of W&B, so that a run that
was logged here and one that was imported have the same parameters.
"""
from __future__ import annotations


def plain(value):
    """The value without numpy, torch and the like: what JSON can hold."""
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v) for v in value]
    for name in ("tolist", "item"):  # arrays, tensors and their scalars
        if callable(getattr(value, name, None)):
            try:
                return plain(getattr(value, name)())
            except (TypeError, ValueError, RuntimeError):
                break
    return str(value)


def to_json(value, **options) -> str:
    import json  # not before it is needed: programs start faster

    return json.dumps(plain(value), ensure_ascii=False, **options)


def param_text(value) -> str:
    """The text of a parameter."""
    value = plain(value)
    if isinstance(value, str):
        return value
    if isinstance(value, (list, dict)):
        return to_json(value, separators=(",", ":"))
    return str(value)


def from_text(text: str):
    """A parameter as what it was, as far as its text tells."""
    import json

    words = {"True": True, "False": False, "None": None}
    if text in words:
        return words[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def own_tags(tags: dict) -> list:
    """The tags that a program gave to its run, as init(tags=) takes them."""
    others = ("gtrack.", "mlflow.", "wandb.", "summary.", "config.", "alert.",
              "sweep.", "step_metric.")
    return [f"{k}={v}" if v else k for k, v in tags.items()
            if not k.startswith(others)]


def flatten(data: dict, separator: str, prefix: str = "") -> dict:
    """{"a": {"b": 1}} as {"a.b": 1}; an empty dict stays a value."""
    out: dict = {}
    for key, value in data.items():
        name = f"{prefix}{key}"
        if isinstance(value, dict) and value:
            out.update(flatten(value, separator, name + separator))
        else:
            out[name] = value
    return out


def as_dict(config) -> dict:
    """What a program may give as its configuration, as a dict."""
    if config is None:
        return {}
    if isinstance(config, dict):
        return dict(config)
    for name in ("to_dict", "as_dict", "items"):
        if callable(getattr(config, name, None)):
            return dict(getattr(config, name)())
    if hasattr(config, "__dataclass_fields__"):
        import dataclasses

        return dataclasses.asdict(config)
    if hasattr(config, "__dict__"):  # argparse.Namespace and the like
        return dict(vars(config))
    raise TypeError("config must be a dict, or an object with attributes, not "
                    f"{type(config).__name__}")


def number(value) -> float | None:
    """The value as a number, or None if it is no single number."""
    if isinstance(value, str) or value is None:
        return None
    size = getattr(value, "size", 1)
    size = size() if callable(size) else size
    try:
        if getattr(value, "shape", ()) and not isinstance(size, tuple) \
                and size != 1:
            return None
        return float(value)
    except (TypeError, ValueError, RuntimeError, OverflowError):
        return None
