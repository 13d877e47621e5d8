"""gtrack under the name wandb, with the modules that libraries import of it."""
import importlib
import importlib.machinery
import sys
import types

import gtrack

__version__ = "0.31.0"  # of the client whose calls these are


def __getattr__(name):
    """All names are gtrack's; some of them change when a run begins."""
    return getattr(gtrack, name)


def _make_printer(*_, **__):
    """An object whose methods print on standard error."""
    class Printer:
        display = staticmethod(
            lambda text, **_: gtrack.termlog(
                text if isinstance(text, str) else "\n".join(text)))

        def __getattr__(self, name):
            return lambda text="", *_, **__: text

    return Printer()


def _set_variable(name):
    def setter(value, env=None):
        import os

        (os.environ if env is None else env)[name] = value

    return setter


def _modules():
    """What each module has."""
    from gtrack._artifact import Artifact
    from gtrack._config import Config, Summary
    from gtrack._init import DisabledRun, Settings
    from gtrack._media import Media
    from gtrack._api import Api, ApiRun
    from gtrack import _media, plot, util

    media = {k: v for k, v in vars(_media).items()
             if isinstance(v, type) and issubclass(v, Media)}
    errors = {k: gtrack.Error for k in (
        "Error", "CommError", "UsageError", "AuthenticationError")}
    terminal = {k: getattr(gtrack, k)
                for k in ("termlog", "termwarn", "termerror")}
    run = {"Run": gtrack.Run}
    disabled = {"RunDisabled": DisabledRun}
    return {
        "sdk": {"Artifact": Artifact, "Settings": Settings, **run,
                "Config": Config, "Summary": Summary},
        "sdk.wandb_run": run,
        "sdk.wandb_config": {"Config": Config},
        "sdk.wandb_settings": {"Settings": Settings},
        "sdk.wandb_summary": {"Summary": Summary},
        "sdk.artifacts": {"Artifact": Artifact},
        "sdk.artifacts.artifact": {"Artifact": Artifact},
        "sdk.data_types": media,
        "sdk.data_types.base_types": {},
        "sdk.data_types.base_types.wb_value": {"WBValue": Media},
        "sdk.data_types.base_types.media": {"Media": Media},
        "sdk.data_types.image": {"Image": _media.Image},
        "sdk.data_types.video": {"Video": _media.Video},
        "sdk.data_types.table": {"Table": _media.Table},
        "sdk.data_types.histogram": {"Histogram": _media.Histogram},
        "sdk.lib": disabled,
        "sdk.lib.disabled": disabled,
        "sdk.lib.config_util": {"ConfigError": gtrack.Error},
        "sdk.lib.runid": {"generate_id": util.generate_id},
        "sdk.lib.printer": {"new_printer": _make_printer,
                            "get_printer": _make_printer},
        "wandb_run": run,
        "data_types": media,
        "errors": errors,
        "errors.term": terminal,
        "errors.errors": errors,
        "env": {f"set_{k}": _set_variable(f"WANDB_{k.upper()}")
                for k in ("project", "entity", "dir", "name")},
        "apis": {},
        "apis.public": {"Api": Api, "Run": ApiRun},
        "plot": vars(plot),
        "util": vars(util),
        "integration": {},
    }


def _lazy(module):
    """A module that imports one of gtrack.integrations when it is used."""
    def find(attribute):
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return getattr(importlib.import_module(
            f"gtrack.integrations.{module}"), attribute)

    return {"__getattr__": find}


def _publish():
    own = sys.modules[__name__]
    modules = _modules()
    for name in ("keras", "integration.keras"):
        modules[name] = _lazy("keras")
    modules["integration.sb3"] = _lazy("sb3")
    for name, content in modules.items():
        module = types.ModuleType(f"wandb.{name}", "gtrack's part of wandb")
        module.__dict__.update((k, v) for k, v in content.items()
                               if not k.startswith("__")
                               or k == "__getattr__")
        module.__spec__ = importlib.machinery.ModuleSpec(module.__name__, None,
                                                         is_package=True)
        module.__path__ = []
        sys.modules[module.__name__] = module
        parent, _, last = module.__name__.rpartition(".")
        setattr(sys.modules[parent] if parent != __name__ else own, last,
                module)


_publish()
