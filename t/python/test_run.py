"""A run from begin to end."""
import contextlib
import io
import os
import threading
import unittest

import gtrack
from store import Case, param, points, read, status, tag


class Logging(Case):
    def test_step(self):
        """log() without a step counts steps from 0"""
        run = self.begin()
        for x in (3, 2, 1):
            run.log({"loss": x})
        run.finish()
        self.assertEqual(points(run._folder, "loss"),
                         [(0, 3), (1, 2), (2, 1)])

    def test_explicit_step(self):
        """a step that is given is used, and the next log() shares it"""
        run = self.begin()
        run.log({"a": 1}, step=7)
        run.log({"b": 2})
        run.log({"b": 3})
        run.finish()
        self.assertEqual(points(run._folder, "a"), [(7, 1)])
        self.assertEqual(points(run._folder, "b"), [(7, 2), (8, 3)])

    def test_commit(self):
        """commit=False lets the next log() use the same step"""
        run = self.begin()
        run.log({"a": 1}, commit=False)
        run.log({"b": 2})
        run.log({"a": 3})
        run.finish()
        self.assertEqual(points(run._folder, "a"), [(0, 1), (1, 3)])
        self.assertEqual(points(run._folder, "b"), [(0, 2)])

    def test_nested(self):
        """nested dicts become names with slashes"""
        run = self.begin()
        run.log({"train": {"loss": 1, "acc": {"top1": 0.5}}})
        run.finish()
        self.assertEqual(points(run._folder, "train/loss"), [(0, 1)])
        self.assertEqual(points(run._folder, "train/acc/top1"), [(0, 0.5)])

    def test_special_numbers(self):
        """NaN, infinities, bools and objects with __float__ are numbers"""
        class Half:
            def __float__(self):
                return 0.5

        run = self.begin()
        run.log({"x": float("nan"), "y": float("-inf"), "b": True,
                 "h": Half()})
        run.finish()
        self.assertIn(" nan 0", read(run._folder, "metrics", "x"))
        self.assertIn(" -inf 0", read(run._folder, "metrics", "y"))
        self.assertEqual(points(run._folder, "b"), [(0, 1)])
        self.assertEqual(points(run._folder, "h"), [(0, 0.5)])

    def test_text(self):
        """a text that is logged is a tag, and None is left out"""
        run = self.begin()
        run.log({"say": "hello", "none": None, "x": 1})
        run.finish()
        self.assertEqual(tag(run._folder, "summary.say"), "hello")
        self.assertEqual(points(run._folder, "x"), [(0, 1)])
        self.assertFalse(os.path.exists(run._folder + "/metrics/none"))

    def test_wrong(self):
        """log() refuses what is no dict, and makes texts of names"""
        run = self.begin()
        with self.assertRaises(TypeError):
            run.log(3)
        run.log({1: 2})
        run.finish()
        self.assertEqual(points(run._folder, "1"), [(1, 2)])

    def test_many(self):
        """200 metrics of one call have their values"""
        run = self.begin()
        run.log({f"m/{i}": i for i in range(200)})
        run.finish()
        self.assertEqual([points(run._folder, f"m/{i}")
                          for i in range(200)],
                         [[(0, i)] for i in range(200)])

    def test_changing_names(self):
        """a run remembers a limited number of sets of names"""
        from gtrack import _run

        run = self.begin()
        before, _run.ROWS = _run.ROWS, 8
        self.addCleanup(setattr, _run, "ROWS", before)
        for i in range(1, 64):
            run.log({f"m{b}": i for b in range(6) if i >> b & 1}, step=i)
        self.assertLess(len(run._rows), 8 + 7)
        run.finish()
        self.assertEqual(points(run._folder, "m5"),
                         [(i, i) for i in range(32, 64)])

    def test_strange_steps(self):
        """a step is an integer below 2^53, and a bad one changes nothing"""
        run = self.begin()
        run.log({"x": 1}, step=-3)
        run.log({"x": 2}, step=2.0)
        for step in ("soon", 2 ** 53, -2 ** 63):
            with self.assertRaises(ValueError):
                run.log({"x": 3}, step=step)
        run.log({"x": 4})
        run.log({"x": 10 ** 400, "y": 1})
        run.finish()
        self.assertEqual(points(run._folder, "x"), [(-3, 1), (2, 2), (2, 4)])
        self.assertEqual(points(run._folder, "y"), [(3, 1)])

    def test_threads(self):
        """eight threads log to one run, and no point is lost"""
        run = self.begin()

        def work(n):
            for i in range(500):
                run.log({"shared": i, f"own{n}": i}, step=n * 500 + i)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        run.finish()
        self.assertEqual(len(points(run._folder, "shared")), 4000)
        self.assertEqual(points(run._folder, "own3"),
                         [(1500 + i, i) for i in range(500)])

    def test_several(self):
        """several runs are written at the same time"""
        a, b = self.begin(), self.begin(reinit="create_new")
        a.log({"x": 1})
        b.log({"x": 2})
        a.finish()
        b.finish()
        self.assertEqual(points(a._folder, "x"), [(0, 1)])
        self.assertEqual(points(b._folder, "x"), [(0, 2)])


class Facts(Case):
    def test_config(self):
        """the configuration becomes parameters, and nested names have dots"""
        run = self.begin(config={"lr": 6e-4, "layers": [1, 2], "on": True,
                                 "none": None, "opt": {"name": "adam"}})
        run.config.batch = 8
        run.config["seed"] = 1
        run.finish()
        f = run._folder
        self.assertEqual(
            [param(f, k) for k in ("lr", "layers", "on", "none", "opt.name",
                                   "batch", "seed")],
            ["0.0006", "[1,2]", "True", "None", "adam", "8", "1"])

    def test_config_secrets(self):
        """a configuration is recorded without its secrets"""
        run = self.begin(config={"api_key": "abc", "pad_token": "<pad>",
                                 "db": "mysql://me:p@ss@host/x",
                                 "servers": [{"password": "abc"}],
                                 "hub": "hf_abcdefghijklmnop12"})
        run.finish()
        f = run._folder
        self.assertEqual(
            [param(f, k) for k in ("api_key", "pad_token", "db", "hub")],
            ["***", "<pad>", "mysql://me:***@host/x", "***"])
        self.assertNotIn("abc", param(f, "servers"))
        self.assertEqual(run.config.api_key, "abc")

    def test_config_change(self):
        """a parameter changes only with allow_val_change"""
        run = self.begin(config={"lr": 1})
        with self.assertRaisesRegex(gtrack.Error, "allow_val_change"):
            run.config.lr = 2
        run.config.update({"lr": 2}, allow_val_change=True)
        run.config.update({"lr": 2})
        run.finish()
        self.assertEqual(run.config.lr, 2)
        self.assertEqual(param(run._folder, "lr"), "1")
        self.assertEqual(tag(run._folder, "config.lr"), "2")

    def test_config_copies(self):
        """a configuration is copied and pickled as a dict with attributes"""
        import copy
        import pickle

        run = self.begin(config={"lr": 1, "opt": {"b": [1]}, "gone": 2})
        self.assertEqual((run.config.pop("gone"), run.config.pop("no", 3)),
                         (2, 3))
        for other in (copy.deepcopy(run.config), copy.copy(run.config),
                      pickle.loads(pickle.dumps(run.config))):
            self.assertEqual(other, {"lr": 1, "opt": {"b": [1]}})
            other.lr = 5
            self.assertEqual((other["lr"], run.config.lr), (5, 1))
        run.finish()
        self.assertEqual(param(run._folder, "gone"), "2")

    def test_namespace(self):
        """the arguments of argparse are a configuration"""
        import argparse

        run = self.begin(config=argparse.Namespace(lr=1, name="x"))
        run.finish()
        self.assertEqual(param(run._folder, "name"), "x")

    def test_summary(self):
        """the summary has last values, and what a program sets"""
        run = self.begin()
        run.log({"loss": 3})
        run.log({"loss": 2, "acc": 1})
        self.assertEqual(run.summary["loss"], 2)
        self.assertEqual(dict(run.summary.items()), {"loss": 2, "acc": 1})
        run.summary["best"] = 0.5
        run.summary["loss"] = 9
        run.summary.update({"word": "good"})
        run.finish()
        self.assertEqual(points(run._folder, "best"), [(1, 0.5)])
        self.assertEqual(points(run._folder, "loss"), [(0, 3), (1, 2)])
        self.assertEqual(tag(run._folder, "summary.loss"), "9")
        self.assertEqual(tag(run._folder, "summary.word"), "good")

    def test_summary_again(self):
        """the value that a program set last is in the summary and listed"""
        run = self.begin()
        run.log({"loss": 3})
        for x in (0.5, 0.7):
            run.summary["best"] = run.summary["loss"] = x
            self.assertEqual((run.summary["best"], run.summary["loss"]),
                             (x, x))
        run.log({"loss": 2})
        self.assertEqual(run.summary["loss"], 2)
        run.finish()
        self.assertEqual(gtrack.Api().run(run.name).summary,
                         {"best": 0.7, "loss": 2})

    def test_summary_without(self):
        """a value that a program deletes is in the summary when it comes again"""
        run = self.begin()
        run.log({"loss": 3})
        with self.assertRaises(KeyError):
            del run.summary["none"]
        with contextlib.redirect_stderr(io.StringIO()) as err:
            del run.summary["loss"]
        self.assertIn("does not remove summary.loss", err.getvalue())
        self.assertNotIn("loss", run.summary.keys())
        run.log({"loss": 2})
        self.assertEqual(run.summary["loss"], 2)
        run.finish()
        self.assertEqual(points(run._folder, "loss"), [(0, 3), (1, 2)])

    def test_config_keys(self):
        """init() records only the values that it may"""
        config = {"lr": 1, "api_key": "SECRET"}
        for more in ({"config_exclude_keys": ["api_key"]},
                     {"config_include_keys": ["lr"]}):
            run = self.begin(config=config, **more)
            run.finish()
            self.assertEqual(os.listdir(run._folder + "/params"), ["lr"])
        with self.assertRaisesRegex(gtrack.Error, "not both"):
            self.begin(config_include_keys=["a"], config_exclude_keys=["b"])

    def test_define_metric(self):
        """define_metric() keeps the least and the greatest value"""
        run = self.begin()
        run.define_metric("loss", summary="min,max")
        run.define_metric("acc*", summary="best", goal="maximize")
        for x in (3, 1, 2):
            run.log({"loss": x, "acc1": x})
        run.finish()
        rows = gtrack.Api().run(run.name).scan_history()
        self.assertEqual(rows[2], {"_step": 2, "loss": 2, "acc1": 2,
                                   "loss.min": 1, "loss.max": 3,
                                   "acc1.max": 3})
        with self.assertRaises(gtrack.Error):
            run.define_metric("x", summary="mid")

    def test_step_metric(self):
        """define_metric(step_metric=) makes the value of a metric its step"""
        run = self.begin()
        run.define_metric("val/*", step_metric="epoch", summary="min")
        run.define_metric("val/own", step_metric="tokens")
        for epoch in (1, 2):
            for _ in range(3):
                run.log({"loss": 1})
            run.log({"epoch": epoch, "val/loss": 4 - epoch, "val/own": 1})
        run.log({"val/acc": 5})
        with contextlib.redirect_stderr(io.StringIO()) as err:
            run.log({"epoch": 2.5, "val/acc": 6})
            run.log({"epoch": float("nan"), "val/acc": 7})
            run.log({"epoch": 3, "val/acc": 8})
        run.finish()
        f = run._folder
        self.assertEqual(points(f, "val/loss"), [(1, 3), (2, 2)])
        self.assertEqual(points(f, "val/own"), [(3, 1), (7, 1)])
        self.assertEqual(points(f, "epoch")[:3], [(3, 1), (7, 2), (9, 2.5)])
        self.assertEqual(points(f, "val/acc"), [(2, 5), (9, 6), (10, 7),
                                                (11, 8)])
        self.assertIn("epoch is no whole number", err.getvalue())

    def test_names(self):
        """name, notes, tags, group and job type are recorded"""
        run = self.begin()
        run.finish()
        self.assertEqual([t for t in os.listdir(run._folder + "/tags")
                          if not t.startswith(("gtrack.", "mlflow."))], [])
        run = self.begin(name="first", notes="why", tags=["a", "k=v"],
                         group="g", job_type="eval")
        run.tags += ("b", "c", "d=e")
        run.flush()
        run.tags = [t for t in run.tags if t[0] not in "cd"]
        run.name = "second"
        run.finish()
        f = run._folder
        self.assertEqual(
            [tag(f, k) for k in ("a", "k", "b", "mlflow.note.content",
                                 "wandb.group", "wandb.job_type",
                                 "mlflow.runName")],
            ["", "v", "", "why", "g", "eval", "second"])
        self.assertEqual([tag(f, k) for k in ("c", "d")], [None, None])
        self.assertIn('run_name: "second"', read(f, "meta.yaml"))

    def test_parent(self):
        """a run belongs to its parent"""
        a = self.begin()
        b = self.begin(reinit="create_new", parent=a.id)
        b.finish()
        self.assertEqual(tag(b._folder, "mlflow.parentRunId"), a.id)

    def test_alert(self):
        """an alert is printed, kept as a tag, and not repeated at once"""
        run = self.begin()
        with contextlib.redirect_stderr(io.StringIO()) as err:
            run.alert("loss", "is high", level=gtrack.AlertLevel.WARN)
            run.alert("loss", "is high")
        run.finish()
        self.assertEqual(err.getvalue().count("WARN: loss: is high"), 1)
        self.assertEqual(tag(run._folder, "alert.1"), "WARN: loss: is high")
        self.assertIsNone(tag(run._folder, "alert.2"))

    def test_dataset(self):
        """a dataset is recorded as an input"""
        run = self.begin()
        run.log_dataset("c4", digest="d1", context="training")
        run.finish()
        self.assertEqual(len(os.listdir(run._folder + "/inputs")), 1)


class Resuming(Case):
    def test_resume(self):
        """resume="allow" begins a run, and continues it with its id"""
        a = self.begin(id="my-id", resume="allow")
        a.log({"x": 1})
        a.finish()
        b = self.begin(id="my-id", resume="allow")
        b.log({"x": 2})
        b.finish()
        self.assertEqual((a.id, a.resumed, b.resumed), ("my-id", False, True))
        self.assertEqual(a._folder, b._folder)
        self.assertEqual(points(b._folder, "x"), [(0, 1), (1, 2)])

    def test_must(self):
        """resume="must" needs a run, and "never" needs that there is none"""
        with self.assertRaises(gtrack.Error):
            self.begin(id="none", resume="must")
        self.begin(id="there").finish()
        with self.assertRaises(gtrack.Error):
            self.begin(id="there", resume="never")
        with self.assertRaisesRegex(gtrack.Error, "resume it"):
            self.begin(id="there")
        with self.assertRaises(gtrack.Error):
            self.begin(resume="sometimes")

    def test_auto(self):
        """resume="auto" continues the run that was not finished"""
        done = self.program("import gtrack, os\n"
                            "r = gtrack.init(resume='auto', capture=False)\n"
                            "r.log({'x': 1}); r.flush(); print(r.id)\n"
                            "os._exit(0)\n")
        again = gtrack.init(resume="auto", capture=False)
        self.assertEqual(again.id, done.stdout.strip())
        self.assertEqual(again.step, 1)

    def test_state(self):
        """a resumed run has its configuration, summary, tags and notes"""
        a = self.begin(id="s", notes="why", tags=["a", "k=v"], group="g",
                       config={"lr": 1, "opt": {"name": "adam", "b": [1, 2]}})
        a.log({"loss": 3, "say": "hello"})
        a.summary["best"] = 0.25
        a.config.update({"lr": 2}, allow_val_change=True)
        a.finish()
        b = self.begin(id="s", resume="must", tags=["b"])
        self.assertEqual((b.config.lr, b.config.opt, b.config["opt"]["name"]),
                         (2, {"name": "adam", "b": [1, 2]}, "adam"))
        self.assertEqual(b.summary.as_dict(),
                         {"loss": 3, "say": "hello", "best": 0.25})
        self.assertEqual((b.tags, b.notes, b.group),
                         (("a", "k=v", "b"), "why", "g"))
        with self.assertRaises(AttributeError):
            b.config.lrr

    def test_changed_config(self):
        """what a resumed program configures anew is recorded"""
        self.begin(id="s", config={"lr": 1, "opt": {"b": 1}}).finish()
        b = self.begin(id="s", resume="allow",
                       config={"lr": 3, "opt": {"b": 1}, "new": 4})
        self.assertEqual(b.config.as_dict(),
                         {"lr": 3, "opt": {"b": 1}, "new": 4})
        with self.assertRaises(gtrack.Error):
            b.config.lr = 5
        b.finish()
        self.assertEqual([tag(b._folder, f"config.{k}")
                          for k in ("lr", "opt.b")], ["3", None])
        self.assertEqual(gtrack.Api().run(b.name).config,
                         {"lr": 3, "opt.b": 1, "new": 4})

    def test_rewind(self):
        """resume_from retracts the points after a step"""
        a = self.begin(id="r")
        for i in range(10):
            a.log({"x": i})
        a.finish()
        b = self.begin(resume_from="r?_step=3")
        self.assertEqual(b.summary["x"], 3)
        b.log({"x": 99})
        b.finish()
        history = gtrack.Api().run("p/" + b.name).scan_history()
        self.assertEqual([(h["_step"], h["x"]) for h in history],
                         [(0, 0), (1, 1), (2, 2), (3, 3), (4, 99)])


class Ends(Case):
    def test_with(self):
        """an exception inside of `with` makes a failed run"""
        with self.assertRaises(ValueError):
            with self.begin() as run:
                raise ValueError("too much")
        self.assertEqual(status(run._folder), "failed")
        with self.begin() as good:
            pass
        self.assertEqual(status(good._folder), "finished")

    def test_exit_code(self):
        """finish(1) makes a failed run, and a second finish() nothing"""
        run = self.begin()
        run.finish(1)
        run.finish(0)
        self.assertEqual(status(run._folder), "failed")

    def test_preempting(self):
        """mark_preempting() makes a preempted run"""
        run = self.begin()
        run.mark_preempting()
        run.finish()
        self.assertEqual(status(run._folder), "preempted")

    def test_after_end(self):
        """log() after finish() and before init() is an error with advice"""
        run = self.begin()
        run.finish()
        with self.assertRaisesRegex(gtrack.Error, "has ended"):
            run.log({"x": 1})
        with self.assertRaisesRegex(gtrack.Error, "init"):
            gtrack.log({"x": 1})
        with self.assertRaisesRegex(gtrack.Error, "init"):
            gtrack.config.lr = 1
        self.assertIsNone(gtrack.run)

    def test_disabled_folder(self):
        """the folder of a disabled run is nobody else's"""
        run = self.begin(mode="disabled")
        os.makedirs(run._folder, exist_ok=True)
        os.symlink(os.getcwd(), run._folder + "/artifacts")
        guessed = run._folder
        self.assertFalse(os.path.samefile(run.dir, "."))
        self.assertEqual(os.stat(os.path.dirname(run.dir)).st_mode & 0o777,
                         0o700)
        os.unlink(guessed + "/artifacts")
        os.rmdir(guessed)
        os.rmdir(run.dir)
        os.rmdir(run._folder)
        run.finish()

    def test_disabled(self):
        """mode="disabled" accepts every call and writes nothing"""
        run = self.begin(mode="disabled", config={"lr": 1})
        gtrack.log({"x": 1})
        run.summary["y"] = 2
        run.name = "other"
        run.alert("quiet")
        self.assertEqual(run.config.lr, 1)
        run.finish()
        self.assertEqual(os.listdir("."), [])

    def test_bad_store(self):
        """a store that cannot be created is an error that names it"""
        with self.assertRaisesRegex(gtrack.Error, "/proc/nowhere"):
            gtrack.init(dir="/proc/nowhere", capture=False)


if __name__ == "__main__":
    unittest.main()
