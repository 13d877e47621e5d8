"""What libraries that import wandb find by gtrack.as_wandb."""
import subprocess
import sys
import unittest

from store import Case, folders, points, status

USE = """
import importlib.metadata
import importlib.util
import os
import sys
import wandb
from wandb import Artifact
from wandb.sdk.lib import RunDisabled
from wandb.sdk.lib.config_util import ConfigError
from wandb.sdk.lib.printer import new_printer
from wandb.sdk.wandb_run import Run
from wandb.wandb_run import Run as SameRun
import wandb.apis.public
import wandb.data_types
import wandb.env
import wandb.errors

assert importlib.util.find_spec("wandb") and importlib.util.find_spec(
    "wandb.sdk")
assert importlib.metadata.version("wandb") == wandb.__version__
assert tuple(map(int, wandb.__version__.split("."))) > (0, 13, 6)
assert wandb.run is None and not hasattr(wandb, "sweep")
wandb.env.set_project("door")
run = wandb.init(config={"lr": 1}, capture=False)
assert isinstance(run, Run) and Run is SameRun and wandb.run is run
assert isinstance(wandb.Table(), wandb.data_types.Table)
assert isinstance(wandb.init(mode="disabled", reinit="create_new"),
                  RunDisabled)
wandb.finish()
try:
    wandb.config.lr = 2
except ConfigError:
    pass
try:
    wandb.Api().artifact("none:v0")
except wandb.errors.CommError:
    pass
wandb.run._label(code="test")
new_printer().display("shown")
wandb.log({"loss": 1})
assert sys.argv[1:] == ["a", "b"]
if len(os.environ.get("CHILD", "")) == 0:
    import subprocess
    os.environ["CHILD"] = "1"
    subprocess.run([sys.executable, *sys.argv], check=True)
    sys.exit(3)
"""


class Door(Case):
    def use(self, *words):
        done = subprocess.run(
            [sys.executable, "-m", "gtrack.as_wandb", *words],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            universal_newlines=True)
        return done.returncode, done.stderr

    def test_script(self):
        """a script and the programs it starts find gtrack as wandb"""
        with open("use.py", "w") as f:
            f.write(USE)
        code, err = self.use("use.py", "a", "b")
        self.assertEqual(code, 3, err)
        self.assertIn("shown", err)
        self.assertEqual([points(f, "loss") for f in folders()],
                         [[(0, 1)]] * 2)
        self.assertEqual(sorted(map(status, folders())),
                         ["failed", "finished"])

    def test_module(self):
        """a module finds gtrack as wandb"""
        with open("use.py", "w") as f:
            f.write("import wandb\n"
                    "wandb.init(capture=False).log({'loss': 2})\n")
        self.assertEqual(self.use("-m", "use")[0], 0)
        self.assertEqual(points(folders()[0], "loss"), [(0, 2)])

    def test_usage(self):
        """gtrack.as_wandb without a program tells its usage"""
        code, err = self.use()
        self.assertEqual((code, err[:3]), (2, "Run"))


if __name__ == "__main__":
    unittest.main()
