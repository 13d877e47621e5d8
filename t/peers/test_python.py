"""The Python package with the libraries that programs use it with."""
import importlib.util
import json
import os
import re
import subprocess
import sys
import time
import unittest
import urllib.request

import gtrack
from store import Case, folders, param, points, read, status, tag


def needs(*names):
    """Skip a test unless these packages are installed."""
    missing = [n for n in names if importlib.util.find_spec(n) is None]
    return unittest.skipIf(missing, "no " + ", ".join(missing))


OFFLINE = dict(os.environ, WANDB_SILENT="true", WANDB_CONSOLE="off",
               WANDB_ERROR_REPORTING="false", WANDB_MODE="offline")

# What both W&B's client and this package run.
SCRIPT = """
import argparse, math, sys
import {module} as wandb

wandb.login()
args = argparse.Namespace(lr=0.1, layers=[1, 2], name="x", on=True, none=None,
                          opt={{"betas": [0.9, 0.95], "kind": "adam"}})
run = wandb.init(project="c4", name="same", group="g", job_type="train",
                 tags=["a", "b"], notes="why", config=args, mode="offline")
wandb.config.update({{"late": 3}})
wandb.config.seed = 7
run.define_metric("loss", summary="min")
for i in range(50):
    wandb.log({{"loss": 4 / (i + 1), "train": {{"acc": i / 50, "n": i}}}})
wandb.log({{"val": 1.5}}, commit=False)
wandb.log({{"val2": 2.5}})
wandb.log({{"at": 9}}, step=100)
wandb.log({{"same": 10}})
wandb.log({{"nan": math.nan, "inf": math.inf, "text": "hello"}})
wandb.log({{"h": wandb.Histogram([1, 2, 3]),
           "t": wandb.Table(columns=["a"], data=[[1]])}})
run.summary["best"] = 0.25
wandb.finish()
"""


class WeightsAndBiases(Case):
    def history(self, root):
        run = gtrack.Api(root=root).runs("c4")[0]
        facts = run._show()
        facts["params"] = run.config  # numbers in lists have other digits
        skip = ("mlflow.", "gtrack.", "wandb.run_id", "summary.")
        points = [{k.replace("loss_/", "loss."): v for k, v in row.items()
                   if not k.startswith("system/")}
                  for row in run.scan_history()]
        return (run.name, facts["params"], [p for p in points if len(p) > 1],
                {k: v for k, v in facts["tags"].items()
                 if not k.startswith(skip)}, run.notes, run.state)

    @needs("wandb")
    def test_calls(self):
        """W&B's client accepts the program of calls that this package does"""
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                               "../python/wandb_calls.py")
        done = subprocess.run([sys.executable, program, "wandb"], env=OFFLINE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)
        self.assertEqual(done.returncode, 0, done.stderr)

    @needs("wandb")
    def test_same(self):
        """W&B's client and this package record the same run"""
        for module in ("wandb", "gtrack"):
            done = self.program(SCRIPT.format(module=module), env=OFFLINE)
            self.assertEqual(done.returncode, 0, done.stderr)
        subprocess.run(["gtrack", "import", "-q", "-r", "imported"] +
                       [f"wandb/{d}" for d in os.listdir("wandb")
                        if d.startswith("offline-run")], check=True)
        ours, theirs = self.history("mlruns"), self.history("imported")
        one, two = [json.loads(read(folders(root)[0],
                                    "artifacts/histograms/h.jsonl"))
                    for root in ("mlruns", "imported")]
        self.assertEqual((one["step"], sum(one["values"]), one["bins"][0]),
                         (two["step"], sum(two["values"]), two["bins"][0]))
        one, two = [[json.loads(read(f"{folder}/artifacts/tables/t", name))
                     for name in os.listdir(f"{folder}/artifacts/tables/t")]
                    for folder in (folders(r)[0] for r in ("mlruns",
                                                           "imported"))]
        self.assertEqual([t["data"] for t in one], [t["data"] for t in two])
        for mine, wanted in zip(ours, theirs):
            self.assertEqual(json.dumps(mine, sort_keys=True),
                             json.dumps(wanted, sort_keys=True))


MEDIA = """
import wave
import numpy
import {module} as wandb

def picture(i):
    return wandb.Image(numpy.array([[i, 255, 7], [255, 0, 7]], dtype="uint8"),
                       caption=f"picture {{i}}")

with wave.open("sound.wav", "wb") as w:
    w.setnchannels(1)
    w.setsampwidth(2)
    w.setframerate(8000)
    w.writeframes(bytes(160))
with open("film.mp4", "wb") as f:
    f.write(bytes(100))
run = wandb.init(entity="team", project="c4", name="media")
run.log({{"loss": 1, "h": wandb.Histogram([1, 2, 2, 3], num_bins=4)}})
run.log({{"loss": 2, "val/picture": picture(0)}})
run.log({{"pictures": [picture(1), picture(2)]}})
run.log({{"table": wandb.Table(columns=["a", "b"], data=[[1, "x"], [2, "y"]])}})
run.log({{"page": wandb.Html("<p>hi</p>", inject=False),
         "sound": wandb.Audio("sound.wav", caption="silence"),
         "film": wandb.Video("film.mp4", caption="dark")}})
run.finish()
"""


def same_media(value):
    """A value of history without what may differ: the hash of a picture's or
    a table's file, and W&B's artifact of a table."""
    if isinstance(value, list):
        return [same_media(v) for v in value]
    if isinstance(value, str):
        return re.sub(r"_[0-9a-f]{20}[.]", "_HASH.", value)
    if not isinstance(value, dict):
        return value
    skip = ["artifact_path", "_latest_artifact_path"]
    if value.get("_type") in ("image-file", "table-file"):
        skip += ["sha256", "size"]
    return {k: same_media(v) for k, v in value.items() if k not in skip}


class Pushed(Case):
    def sent(self, url):
        """The values of history and the names of media at the server."""
        with urllib.request.urlopen(url + "/state/") as answer:
            (run,) = json.load(answer)["run"].values()
        rows = [{k: same_media(v) for k, v in json.loads(line).items()
                 if k not in ("_timestamp", "_runtime")}
                for line in run["wandb-history.jsonl"]]
        return rows, sorted(same_media(name) for name in run["uploaded"]
                            if name.startswith("media/"))

    def serve(self, folder):
        """The URL of a new server of W&B."""
        os.mkdir(folder)
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                               "../lib/server.pl")
        server = subprocess.Popen([program, "wandb", folder])
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        while not os.path.exists(folder + "/url"):
            self.assertIsNone(server.poll())
            time.sleep(0.01)
        return read(folder, "url").strip()

    @needs("wandb", "numpy", "PIL")
    def test_media(self):
        """gtrack push sends the media that W&B's client sends"""
        sent = []
        for module in ("wandb", "gtrack"):
            url = self.serve(module + "-server")
            env = dict(os.environ, WANDB_SILENT="true", WANDB_CONSOLE="off",
                       WANDB_ERROR_REPORTING="false", WANDB_BASE_URL=url,
                       WANDB_API_KEY="k" * 40)
            done = self.program(MEDIA.format(module=module), env=env)
            self.assertEqual(done.returncode, 0, done.stderr)
            if module == "gtrack":
                subprocess.run(["gtrack", "push", "-q", "--to", "wandb",
                                "--entity", "team"], env=env, check=True,
                               stdout=subprocess.DEVNULL)
            sent.append(self.sent(url))
        self.maxDiff = None
        self.assertEqual(sent[0], sent[1])


class TensorBoard(Case):
    @needs("torch", "tensorboard", "numpy")
    def test_import(self):
        """what PyTorch writes for TensorBoard is imported"""
        import numpy
        import torch
        from torch.utils.tensorboard import SummaryWriter

        writer = SummaryWriter("events/one")
        for i in range(2):
            writer.add_scalar("loss", 1 / (i + 1), i)
            writer.add_histogram("w", torch.arange(10.) - 3, i)
            writer.add_image("img", numpy.zeros((3, 8, 8), numpy.uint8), i)
            writer.add_text("note", "# hi", i)
        writer.close()
        subprocess.run(["gtrack", "import", "-q", "events"], check=True)
        kept = os.path.join(folders()[0], "artifacts")
        lines = read(kept, "histograms/w.jsonl").splitlines()
        h = json.loads(lines[1])
        self.assertEqual((len(lines), h["step"], sum(h["values"])), (2, 1, 10))
        self.assertEqual((h["bins"][0], h["bins"][-1]), (-3, 6))
        self.assertEqual(len(os.listdir(f"{kept}/images")), 2)
        self.assertEqual(read(kept, "text/note/text_summary/1.md"), "# hi")


class MLflow(Case):
    @needs("mlflow")
    def test_reads(self):
        """MLflow reads the run, its images and its tables"""
        import mlflow

        run = self.begin(config={"lr": 0.1}, notes="why")
        run.log({"loss": 3, "deep/er": 1})
        run.log({"loss": 2})
        run.log({"img": gtrack.Image([[0, 255]]),
                 "tab": gtrack.Table(["a", "b"], [[1, "x"]])}, step=4)
        run.finish()
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
        mlflow.set_tracking_uri("file://" + os.path.abspath("mlruns"))
        client = mlflow.MlflowClient()
        got = client.get_run(run.id)
        self.assertEqual(got.data.params, {"lr": "0.1"})
        self.assertEqual(got.data.metrics, {"loss": 2, "deep/er": 1})
        self.assertEqual(got.info.status, "FINISHED")
        self.assertEqual([m.step for m in
                          client.get_metric_history(run.id, "loss")], [0, 1])
        tables = json.loads(got.data.tags["mlflow.loggedArtifacts"])
        mlflow.set_experiment("p")
        frame = mlflow.load_table(tables[0]["path"], run_ids=[run.id])
        self.assertEqual(frame.values.tolist(), [[1, "x"]])
        images = [a.path for a in client.list_artifacts(run.id, "images")]
        self.assertTrue(any(i.endswith(".png") for i in images), images)

    @needs("mlflow")
    def test_fluent(self):
        """MLflow's fluent functions and ours write the same run"""
        script = """
import os
os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
import {module} as mlflow
mlflow.set_tracking_uri("file://" + os.path.abspath("{root}"))
mlflow.set_experiment("e")
with mlflow.start_run(run_name="n", tags={{"k": "v"}}):
    mlflow.log_params({{"lr": 0.1, "on": True, "none": None, "s": "x"}})
    for i in range(3):
        mlflow.log_metrics({{"loss": 1 / (i + 1), "a/b": i}}, step=i)
    mlflow.log_metric("last", 5)
    mlflow.log_text("hi", "t.txt")
    mlflow.log_dict({{"a": 1}}, "d.json")
    mlflow.log_table({{"c": [1, 2]}}, "t.json")
"""
        runs = []
        for module, root in (("mlflow", "one"), ("gtrack.mlflow", "two")):
            done = self.program(script.format(module=module, root=root))
            self.assertEqual(done.returncode, 0, done.stderr)
            f = folders(root)[0]
            runs.append((
                [param(f, k) for k in ("lr", "on", "s")],
                [points(f, k) for k in ("loss", "a/b", "last")],
                tag(f, "k"), tag(f, "mlflow.loggedArtifacts").replace(" ", ""),
                [json.loads(read(f, "artifacts", n))
                 for n in ("d.json", "t.json")], read(f, "artifacts/t.txt")))
        self.assertEqual(runs[0], runs[1])


def tiny_model():
    import transformers

    return transformers.GPT2LMHeadModel(transformers.GPT2Config(
        n_layer=1, n_head=1, n_embd=8, vocab_size=16, n_positions=8,
        bos_token_id=0, eos_token_id=0))


class Training(Case):
    @needs("torch", "transformers", "accelerate")
    def test_transformers(self):
        """transformers' Trainer logs by the callback"""
        import torch
        from transformers import Trainer, TrainingArguments

        from gtrack.integrations.transformers import GtrackCallback

        data = [{"input_ids": torch.arange(8), "labels": torch.arange(8)}] * 8
        trainer = Trainer(
            tiny_model(), TrainingArguments(
                "out", max_steps=4, logging_steps=1, eval_strategy="steps",
                eval_steps=2, per_device_train_batch_size=2, use_cpu=True,
                report_to=[], disable_tqdm=True, save_strategy="no"),
            train_dataset=data, eval_dataset=data,
            callbacks=[GtrackCallback(project="hf", name="trainer",
                                      capture=False)])
        trainer.train()
        trainer.evaluate()
        trainer.predict(data)
        self.assertEqual(status(folders()[0]), "running")
        gtrack.finish()
        folder, = folders()
        self.assertEqual([s for s, _ in points(folder, "train/loss")],
                         [1, 2, 3, 4])
        self.assertEqual(len(points(folder, "test/loss")), 1)
        self.assertEqual([s for s, _ in points(folder, "eval/loss")],
                         [2, 4, 4])
        self.assertEqual(param(folder, "n_embd"), "8")
        self.assertEqual(status(folder), "finished")

    @needs("torch", "lightning")
    def test_lightning(self):
        """Lightning's Trainer logs by the logger"""
        import lightning
        import torch

        from gtrack.integrations.lightning import GtrackLogger

        class Model(lightning.LightningModule):
            def __init__(self, width=3):
                super().__init__()
                self.save_hyperparameters()
                self.net = torch.nn.Linear(width, 1)

            def training_step(self, batch, _):
                loss = self.net(batch[0]).square().mean()
                self.log("train/loss", loss)
                return loss

            def configure_optimizers(self):
                return torch.optim.SGD(self.parameters(), 0.1)

        data = torch.utils.data.DataLoader(
            torch.utils.data.TensorDataset(torch.ones(8, 3)), batch_size=2)
        trainer = lightning.Trainer(
            max_epochs=2, log_every_n_steps=1, accelerator="cpu",
            logger=GtrackLogger("pl", capture=False), default_root_dir=".",
            enable_progress_bar=False, enable_model_summary=False)
        trainer.fit(Model(), data)
        folder = folders()[0]
        self.assertEqual([s for s, _ in points(folder, "train/loss")],
                         list(range(8)))
        self.assertEqual(param(folder, "width"), "3")
        self.assertEqual(status(folder), "finished")

    @needs("torch", "keras")
    def test_keras(self):
        """Keras logs by the callback"""
        os.environ.setdefault("KERAS_BACKEND", "torch")
        import keras
        import numpy

        from gtrack.integrations.keras import GtrackCallback

        model = keras.Sequential([keras.layers.Dense(1)])
        model.compile("sgd", "mse")
        model.fit(numpy.ones((8, 3)), numpy.ones((8, 1)), epochs=2,
                  batch_size=4, verbose=0,
                  callbacks=[GtrackCallback(1, project="k", capture=False)])
        folder = folders()[0]
        self.assertEqual([s for s, _ in points(folder, "epoch/loss")], [2, 4])
        self.assertEqual([s for s, _ in points(folder, "batch/loss")],
                         [1, 2, 3, 4])
        self.assertEqual(param(folder, "optimizer.name").lower(), "sgd")

    @needs("torch", "accelerate")
    def test_accelerate(self):
        """Accelerate logs by the tracker"""
        import accelerate

        from gtrack.integrations.accelerate import GtrackTracker

        a = accelerate.Accelerator(cpu=True, log_with=GtrackTracker(
            "acc", capture=False))
        a.init_trackers("acc", config={"lr": 0.1})
        for i in range(3):
            a.log({"loss": 1 / (i + 1)}, step=i)
        a.end_training()
        folder = folders()[0]
        self.assertEqual(len(points(folder, "loss")), 3)
        self.assertEqual(param(folder, "lr"), "0.1")

    @needs("sklearn", "numpy")
    def test_sklearn(self):
        """a loop over partial_fit() of scikit-learn is recorded by `with`"""
        import numpy
        from sklearn.linear_model import SGDClassifier

        x = numpy.array([[0.0], [1.0]] * 8)
        y = numpy.array([0, 1] * 8)
        model = SGDClassifier(random_state=0)
        with self.begin(config=model.get_params()) as run:
            for _ in range(5):
                model.partial_fit(x, y, classes=[0, 1])
                run.log({"score": model.score(x, y),
                         "coef": numpy.float32(model.coef_[0, 0])})
        self.assertEqual(points(run._folder, "score")[4], (4, 1))
        self.assertEqual(param(run._folder, "loss"), "hinge")

    @needs("torch")
    def test_torch(self):
        """tensors are numbers and histograms, and watch() logs norms"""
        import torch

        model = torch.nn.Sequential(torch.nn.Linear(3, 4),
                                    torch.nn.Linear(4, 1))
        run = self.begin()
        run.watch(model, log="all", log_freq=2)
        norms = []
        for _ in range(4):
            model.zero_grad()
            loss = model(torch.ones(2, 3)).sum()
            loss.backward()
            norms.append(float(torch.cat(
                [p.grad.ravel() for p in model.parameters()]).norm()))
            run.log({"loss": loss, "w": model[0].weight})
        run.finish()
        got = points(run._folder, "grad_norm")
        self.assertEqual([s for s, _ in got], [1, 3])
        self.assertAlmostEqual(got[0][1], norms[1], places=4)
        self.assertEqual(len(points(run._folder, "param_norm")), 2)
        self.assertEqual(len(read(run._folder, "artifacts/histograms/w.jsonl")
                             .splitlines()), 4)

    @needs("torch", "numpy")
    def test_array_images(self):
        """arrays and tensors become the same images as lists"""
        import numpy
        import torch

        from gtrack import _media

        for data in (numpy.arange(6).reshape(2, 3),
                     numpy.arange(18).reshape(2, 3, 3),
                     numpy.arange(30, dtype=float).reshape(3, 2, 5) / 40,
                     numpy.array([[300, -5]])):
            self.assertEqual(_media.png(data), _media.png(data.tolist()))
            self.assertEqual(_media.png(torch.tensor(data)),
                             _media.png(data))
        batch = numpy.arange(3 * 3 * 2 * 5).reshape(3, 3, 2, 5)  # N C H W
        rows = batch.transpose(0, 2, 3, 1)
        grid = numpy.concatenate([
            numpy.concatenate([rows[0], rows[1]], 1),
            numpy.concatenate([rows[2], rows[2] * 0], 1)])
        self.assertEqual(_media.png(batch), _media.png(grid))
        self.assertEqual(_media.png(torch.tensor(batch)), _media.png(grid))

    @needs("numpy")
    def test_odd_arrays(self):
        """films, arrays of text and points of numpy are kept"""
        import numpy

        run = self.begin()
        run.log({"v": gtrack.Video(numpy.zeros((3, 1, 4, 4), "uint8")),
                 "t": numpy.array(["a", "b"]),
                 "o": gtrack.Object3D(numpy.zeros((2, 3)))})
        run.finish()
        self.assertEqual(
            json.loads(read(run._folder, "artifacts/tables/t/0.json")),
            {"columns": ["value"], "data": [["a"], ["b"]]})
        for name in ("video/v/0.png", "object3D/o/0.json"):
            self.assertTrue(os.path.exists(f"{run._folder}/artifacts/{name}"))

    @needs("matplotlib", "pandas", "PIL")
    def test_objects(self):
        """figures, data frames and PIL's images are kept"""
        import matplotlib
        import pandas
        from PIL import Image

        matplotlib.use("Agg")
        from matplotlib import pyplot

        pyplot.plot([1, 2])
        run = self.begin()
        run.log({"figure": pyplot, "frame": pandas.DataFrame({"a": [1]}),
                 "image": gtrack.Image(Image.new("RGB", (4, 4))), "x": 1})
        run.finish()
        images = os.listdir(run._folder + "/artifacts/images")
        self.assertEqual(sum(i.endswith(".png") for i in images), 2)
        self.assertEqual(sum(i.endswith("+compressed.webp") for i in images),
                         2)
        table = json.loads(read(run._folder, "artifacts/tables/frame/0.json"))
        self.assertEqual(table, {"columns": ["a"], "data": [[1]]})
        history = gtrack.Api().run(run.name).history()
        self.assertEqual(history.to_dict("list"), {"_step": [0], "x": [1]})


if __name__ == "__main__":
    unittest.main()
