"""Programs that were written for W&B, after `import gtrack as wandb`."""
import argparse
import os
import subprocess
import sys
import unittest
from unittest import mock

import gtrack
import gtrack as wandb
from store import Case, folders, param, points, read, tag

CALLS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "wandb_calls.py")


class QuickStart(Case):
    def test_quick_start(self):
        """the program of W&B's quick start runs unchanged"""
        wandb.login()
        run = wandb.init(
            entity="my-team", project="my-project",
            config={"learning_rate": 0.02, "architecture": "CNN",
                    "dataset": "CIFAR-100", "epochs": 10})
        offset = 0.25
        for epoch in range(2, run.config.epochs):
            acc = 1 - 2 ** -epoch - offset / epoch
            loss = 2 ** -epoch + offset / epoch
            run.log({"acc": acc, "loss": loss})
        run.finish()
        self.assertEqual(len(points(run._folder, "acc")), 8)
        self.assertEqual(param(run._folder, "architecture"), "CNN")

    def test_module(self):
        """the functions of the module are those of the newest run"""
        wandb.init(project="p", capture=False, tags=["t"], job_type="train",
                   settings=wandb.Settings(silent=True))
        wandb.config.update(argparse.Namespace(lr=1))
        wandb.config.setdefaults({"lr": 2, "wd": 3})
        wandb.define_metric("epoch")
        wandb.define_metric("val/*", step_metric="epoch")
        wandb.log({"epoch": 1, "val/loss": 2}, commit=True)
        wandb.summary["best"] = 1
        wandb.run.summary.update({"n": 2})
        wandb.alert(title="t", text="x", level=wandb.AlertLevel.INFO)
        wandb.termlog("hello")
        self.assertTrue(wandb.run.url.startswith("file:///"))
        self.assertEqual(wandb.run.project, "p")
        self.assertEqual(dict(wandb.config), {"lr": 1, "wd": 3})
        folder = wandb.run._folder
        self.assertTrue(os.path.isdir(wandb.run.dir))
        wandb.finish()
        self.assertEqual(points(folder, "val/loss"), [(1, 2)])

    def test_reinit(self):
        """init() returns the run that there is, or finishes it with reinit"""
        a = wandb.init(project="p", capture=False)
        self.assertIs(wandb.init(project="p", capture=False), a)
        b = wandb.init(project="p", reinit=True, capture=False)
        self.assertIsNot(a, b)
        self.assertIsNone(a._handle)

    def test_environment(self):
        """W&B's variables of the environment are understood"""
        with mock.patch.dict(os.environ, {
                "WANDB_PROJECT": "q", "WANDB_NAME": "n", "WANDB_TAGS": "a,b",
                "WANDB_DIR": "w", "WANDB_RUN_GROUP": "g"}):
            run = wandb.init(capture=False)
        run.finish()
        self.assertEqual(run.tags, ("a", "b"))
        self.assertIn('run_name: "n"', read(folders("w/mlruns")[0],
                                           "meta.yaml"))
        self.assertEqual(tag(run._folder, "wandb.group"), "g")
        with mock.patch.dict(os.environ, {"WANDB_MODE": "disabled"}):
            self.assertTrue(wandb.init().disabled)
        wandb.finish()
        self.assertTrue(wandb.init(
            settings=wandb.Settings(mode="disabled")).disabled)

    def test_plot(self):
        """a chart keeps its table"""
        run = self.begin()
        run.log({"cm": wandb.plot.confusion_matrix(
            y_true=[0, 1, 1], preds=[0, 1, 0], class_names=["a", "b"])})
        run.finish()
        self.assertIn('["b", "a", 1]',
                      read(run._folder, "artifacts/tables/cm/0.json"))

    def test_curves(self):
        """the curves of a classifier, and charts of any name, keep tables"""
        probas = [[0.9, 0.1], [0.4, 0.6], [0.35, 0.65], [0.2, 0.8]]
        true = [0, 0, 1, 1]
        roc = wandb.plot.roc_curve(true, probas, labels=["no", "yes"])
        self.assertEqual([r[1:] for r in roc.data if r[0] == "yes"],
                         [[0, 0.5], [0, 1], [0.5, 1], [1, 1]])
        pr = wandb.plot.pr_curve(true, probas, classes_to_plot=[1])
        self.assertEqual([r[1:] for r in pr.data],
                         [[0.5, 1], [1, 1], [1, 2 / 3], [1, 0.5]])
        table = wandb.Table(["a"], [[1]])
        self.assertIs(wandb.plot_table("wandb/line/v0", table, {}, {}), table)
        self.assertIs(wandb.plot.sunburst(1, data=table), table)

    def test_calls(self):
        """the calls of W&B's client that programs use most are there"""
        done = subprocess.run([sys.executable, CALLS, "gtrack"],
                              stderr=subprocess.PIPE, universal_newlines=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        folder = folders()[0]
        self.assertEqual(points(folder, "loss"), [(0, 1), (1, 0.5)])
        self.assertEqual(sorted(os.listdir(folder + "/artifacts/versions")),
                         ["again", "weights"])
        self.assertEqual(len(wandb.util.generate_id()), 8)

    def test_missing(self):
        """what is missing is an error with advice"""
        with self.assertRaisesRegex(gtrack.Error, "gtrack sweep"):
            wandb.sweep({})
        with self.assertRaisesRegex(AttributeError, "gtrack-python"):
            wandb.something_else
        with self.assertRaisesRegex(TypeError, "prject"):
            wandb.init(prject="p")

    def test_watch_refuses(self):
        """watch() refuses what is no model"""
        with self.assertRaisesRegex(gtrack.Error, "PyTorch model"):
            self.begin().watch(3)


class Reading(Case):
    def test_api(self):
        """Api() reads what was written"""
        run = self.begin(config={"lr": 0.1, "on": True, "word": "x"},
                         tags=["good"], notes="note")
        for i in range(5):
            run.log({"loss": i, "acc": 1})
        run.finish()
        other = wandb.init(project="q", capture=False)
        other.log({"loss": 0.5})
        other.finish()
        api = wandb.Api()
        self.assertEqual(api.projects(), ["p", "q"])
        self.assertEqual([r.id for r in api.runs("me/p")], [run.id])
        self.assertEqual(len(api.runs(where="metrics.loss > 3")), 1)
        found = api.run("p/" + run.name)
        self.assertEqual(found.config, {"lr": 0.1, "on": True, "word": "x"})
        self.assertEqual(found.summary, {"loss": 4, "acc": 1})
        self.assertEqual((found.tags, found.notes, found.state),
                         (["good"], "note", "finished"))
        self.assertEqual(found.scan_history(["loss"])[4],
                         {"_step": 4, "loss": 4})
        self.assertEqual(len(found.history(samples=2, pandas=False)), 2)
        for order, best in (("+summary_metrics.loss", other.id),
                            ("-summary_metrics.loss", run.id),
                            ("-config.lr.value", run.id),
                            ("-created_at", other.id)):
            self.assertEqual(api.runs(order=order)[0].id, best, order)
        with self.assertRaisesRegex(gtrack.Error, "heartbeat"):
            api.runs("p", order="heartbeat_at")
        with self.assertRaisesRegex(gtrack.Error, "FILTERS"):
            api.runs("p", filters={"state": "finished"})
        with self.assertRaises(gtrack.Error):
            api.run("p/none")


if __name__ == "__main__":
    unittest.main()
