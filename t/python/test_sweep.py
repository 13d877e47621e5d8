"""A program that gtrack sweep runs: its run and its values are the cell's."""
import os
import subprocess
import sys

from store import Case, folders, param, points, status, tag

PROGRAM = """
import gtrack as wandb, os, subprocess, sys

run = wandb.init(project="mine", name="mine", config={"lr": 9.0, "more": 2})
assert "GTRACK_RESUME" not in os.environ
assert (run.config.lr, run.config["name"]) == (0.5, "a"), dict(run.config)
assert run.sweep_id
for i in range(3):
    run.log({"loss": i})
if os.path.exists("fail"):
    run.flush()
    os._exit(1)
other = wandb.init(project="mine", reinit="create_new")
assert other.id != run.id and other.sweep_id is None
"""


class Sweep(Case):
    def sweep(self, *more):
        with open("train.py", "w") as f:
            f.write(PROGRAM)
        return subprocess.run(
            ["gtrack", "sweep", "--grid", "lr=0.5", "--grid", "name=a",
             "--experiment", "swept", *more, "--", sys.executable, "train.py"],
            capture_output=True, text=True)

    def cell(self):
        return [f for f in folders() if tag(f, "sweep.cell")]

    def test_cell(self):
        """init() resumes the run of the cell, whose values stay"""
        done = self.sweep()
        log = "".join(open(os.path.join("sweeps/sweep/cells", f)).read()
                      for f in os.listdir("sweeps/sweep/cells")
                      if f.endswith(".log"))
        self.assertEqual(done.returncode, 0, done.stderr + log)
        self.assertIn("config.lr keeps the value of the sweep, 0.5", log)
        folder, = self.cell()
        self.assertEqual(points(folder, "loss"), [(0, 0), (1, 1), (2, 2)])
        self.assertEqual((param(folder, "lr"), param(folder, "more")),
                         ("0.5", "2"))
        self.assertEqual(status(folder), "finished")
        self.assertEqual(len(folders()), 3)  # the parent, and the second run

    def test_again(self):
        """a cell that failed begins again at step 0, in the same run"""
        open("fail", "w").close()
        self.assertEqual(self.sweep("-q").returncode, 1)
        folder, = self.cell()
        self.assertEqual(status(folder), "failed")
        os.unlink("fail")
        self.assertEqual(self.sweep("-q").returncode, 0)
        self.assertEqual(self.cell(), [folder])
        self.assertEqual(points(folder, "loss")[-3:], [(0, 0), (1, 1), (2, 2)])
        self.assertEqual(status(folder), "finished")
