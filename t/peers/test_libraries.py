"""Libraries that import wandb, unchanged, by python -m gtrack.as_wandb."""
import importlib.util
import json
import os
import re
import subprocess
import sys
import unittest

from store import Case, folders, param, points, read, status
from test_python import needs


class Libraries(Case):
    def run_with_door(self, text):
        """Run a program whose libraries find gtrack; returns its last run."""
        with open("program.py", "w") as f:
            f.write(text)
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", "gtrack.as_wandb",
             "program.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            universal_newlines=True, timeout=500)
        self.assertEqual(done.returncode, 0, done.stderr[-3000:])
        self.stderr = done.stderr
        return folders()[-1]

    def versions(self, folder, name):
        return sorted(f for f in os.listdir(
            f"{folder}/artifacts/versions/{name}") if f.endswith(".json"))

    @needs("torch", "transformers", "accelerate")
    def test_transformers(self):
        """transformers' report_to="wandb" records one run of all phases"""
        folder = self.run_with_door("""
import os, torch
os.environ["WANDB_LOG_MODEL"] = "checkpoint"
os.environ["WANDB_PROJECT"] = "hf"
from transformers import (GPT2Config, GPT2LMHeadModel, Trainer,
                          TrainingArguments)
model = GPT2LMHeadModel(GPT2Config(
    n_layer=1, n_head=1, n_embd=8, vocab_size=16, n_positions=8,
    bos_token_id=0, eos_token_id=0))
data = [{"input_ids": torch.arange(8), "labels": torch.arange(8)}] * 8
trainer = Trainer(model, TrainingArguments(
    "out", run_name="r1", max_steps=4, logging_steps=1, eval_strategy="steps",
    eval_steps=2, save_steps=2, per_device_train_batch_size=2, use_cpu=True,
    report_to="wandb", disable_tqdm=True), train_dataset=data,
    eval_dataset=data)
trainer.train()
trainer.evaluate()
trainer.predict(data)
""")
        self.assertEqual(len(folders()), 1)
        self.assertEqual(status(folder), "finished")
        self.assertEqual([s for s, _ in points(folder, "train/loss")],
                         [1, 2, 3, 4])
        self.assertEqual([s for s, _ in points(folder, "eval/loss")],
                         [2, 4, 4])
        self.assertEqual(len(points(folder, "test/loss")), 1)
        self.assertEqual(param(folder, "n_embd"), "8")
        # the empty model, two checkpoints, and the final model
        self.assertEqual(len(self.versions(folder, "model-r1")), 4)

    @needs("torch", "lightning")
    def test_lightning(self):
        """Lightning's WandbLogger records steps, files and checkpoints"""
        folder = self.run_with_door("""
import lightning, torch
from lightning.pytorch.loggers import WandbLogger

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
logger = WandbLogger(project="pl", log_model="all", name="r")
logger.watch(Model())
trainer = lightning.Trainer(max_epochs=3, log_every_n_steps=2, logger=logger,
                            accelerator="cpu", enable_progress_bar=False)
trainer.fit(Model(), data)
logger.log_text("t", ["a"], [["x"]])
logger.log_image("i", [torch.zeros(3, 4, 4)], caption=["zero"])
""")
        self.assertEqual([s for s, _ in points(folder, "train/loss")],
                         [1, 3, 5, 7, 9, 11])
        self.assertEqual(param(folder, "width"), "3")
        self.assertEqual(status(folder), "finished")
        name, = os.listdir(f"{folder}/artifacts/versions")
        self.assertEqual(len(self.versions(folder, name)), 3)

    @needs("torch", "trl")
    def test_trl(self):
        """TRL's trainer reports to wandb"""
        folder = self.run_with_door("""
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from trl import SFTConfig
from transformers import Trainer
import trl.trainer.callbacks as callbacks
assert callbacks.is_wandb_available()
from trl.trainer.callbacks import LogCompletionsCallback
data = [{"input_ids": torch.arange(8), "labels": torch.arange(8)}] * 8
model = GPT2LMHeadModel(GPT2Config(
    n_layer=1, n_head=1, n_embd=8, vocab_size=16, n_positions=8,
    bos_token_id=0, eos_token_id=0))
Trainer(model, SFTConfig("out", max_steps=2, logging_steps=1, use_cpu=True,
                         bf16=False, gradient_checkpointing=False,
                         report_to="wandb", save_strategy="no"),
        train_dataset=data).train()
""")
        self.assertEqual([s for s, _ in points(folder, "train/loss")], [1, 2])

    @needs("torch", "accelerate")
    def test_accelerate(self):
        """Accelerate's tracker of wandb records values and images"""
        folder = self.run_with_door("""
import accelerate, numpy
a = accelerate.Accelerator(cpu=True, log_with="wandb")
a.init_trackers("acc", config={"lr": 0.1}, init_kwargs={"wandb": {
    "name": "n"}})
for i in range(3):
    a.log({"loss": 1 / (i + 1)}, step=i)
tracker = a.get_tracker("wandb")
tracker.log_images({"i": [numpy.zeros((4, 4, 3), "uint8")]}, step=2)
tracker.log_table("t", columns=["a"], data=[[1]], step=2)
a.end_training()
""")
        self.assertEqual(len(points(folder, "loss")), 3)
        self.assertEqual(param(folder, "lr"), "0.1")
        self.assertTrue(os.path.exists(folder + "/artifacts/tables/t/2.json"))

    @needs("stable_baselines3", "tensorboard", "gymnasium")
    def test_sb3(self):
        """Stable-Baselines3 with sync_tensorboard and W&B's callback"""
        folder = self.run_with_door("""
import wandb
from wandb.integration.sb3 import WandbCallback
from stable_baselines3 import PPO
run = wandb.init(project="sb3", config={"total": 256}, sync_tensorboard=True,
                 monitor_gym=True, save_code=True)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, tensorboard_log="tb",
            device="cpu")
model.learn(256, callback=WandbCallback(model_save_path="m", verbose=2,
                                        model_save_freq=128))
run.finish()
""")
        self.assertEqual([s for s, _ in points(folder, "rollout/ep_rew_mean")],
                         [64, 128, 192, 256])
        self.assertEqual(param(folder, "algo"), "PPO")
        self.assertTrue(self.versions(folder, "model"))
        self.assertIn("init() ignores monitor_gym", self.stderr)

    @needs("torch", "tensorboard")
    def test_cleanrl(self):
        """a program in the manner of CleanRL records what TensorBoard gets"""
        folder = self.run_with_door("""
import torch, wandb
from torch.utils.tensorboard import SummaryWriter
wandb.init(project="cleanRL", entity=None, sync_tensorboard=True,
           config={"seed": 1}, name="CartPole__1", monitor_gym=True,
           save_code=True)
writer = SummaryWriter("runs/CartPole__1")
writer.add_text("hyperparameters", "|a|b|")
for step in (100, 200):
    writer.add_scalar("charts/episodic_return", step / 2, step)
    writer.add_histogram("w", torch.arange(10.), step)
writer.close()
""")
        self.assertEqual(points(folder, "charts/episodic_return"),
                         [(100, 50), (200, 100)])
        self.assertEqual(len(read(folder, "artifacts/histograms/w.jsonl")
                             .splitlines()), 2)

    @needs("lm_eval")
    def test_lm_eval(self):
        """lm-eval's logger records results, tables and samples"""
        folder = self.run_with_door("""
from lm_eval.loggers import WandbLogger
logger = WandbLogger({"project": "eval", "job_type": "eval"})
task = {"alias": "t", "acc,none": 0.5, "acc_stderr,none": 0.1}
logger.post_init({
    "results": {"t": task}, "versions": {"t": 1}, "n-shot": {"t": 0},
    "configs": {"t": {"task": "t", "output_type": "multiple_choice",
                      "num_fewshot": 0, "metric_list": [{"metric": "acc"}]}},
    "config": {"model": "hf"}})
logger.log_eval_result()
logger.log_eval_samples({"t": [{
    "doc_id": 0, "doc": {"q": "x"}, "target": 0, "acc": 1.0,
    "arguments": [["a", "b"], ["a", "c"]], "resps": [[(-1.0, True)]] * 2,
    "filtered_resps": [(-1.0, True), (-2.0, False)]}]})
""")
        self.assertEqual(points(folder, "t/acc")[0][1], 0.5)
        self.assertTrue(self.versions(folder, "results"))

    @needs("keras", "torch")
    def test_keras(self):
        """Keras with the callbacks of wandb.integration.keras"""
        folder = self.run_with_door("""
import os
os.environ["KERAS_BACKEND"] = "torch"
import keras, numpy, wandb
from wandb.integration.keras import WandbMetricsLogger, WandbModelCheckpoint
wandb.init(project="k")
model = keras.Sequential([keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(numpy.ones((8, 3)), numpy.ones((8, 1)), epochs=2, batch_size=4,
          verbose=0, callbacks=[WandbMetricsLogger(log_freq="batch"),
                                WandbModelCheckpoint("m.keras")])
""")
        self.assertEqual(len(points(folder, "batch/loss")), 4)
        self.assertEqual(len(points(folder, "epoch/loss")), 2)
        self.assertTrue(os.listdir(folder + "/artifacts/versions"))

    def use_source(self, package, path):
        """A module of a package whose other parts are not needed."""
        places = [os.path.join(p, package, path) for p in
                  os.environ.get("GT_SOURCES", "").split(":") + sys.path]
        found = [p for p in places if os.path.exists(p)]
        if not found:
            self.skipTest(f"no {package}")
        return found[0]

    def test_ultralytics(self):
        """ultralytics' callbacks record epochs, curves and the best model"""
        path = self.use_source("ultralytics", "utils/callbacks/wb.py")
        if importlib.util.find_spec("numpy") is None:
            self.skipTest("no numpy")
        text = re.sub(r"import polars.*\n", "", read(path)) \
            .replace("import polars.selectors as cs", "")
        text = re.sub(r"from ultralytics.*\n", "", text)
        text = re.sub(r"    df = pl.*\n    data = .*\n",
                      "    data = list(zip(classes, y, x))\n", text)
        folder = self.run_with_door(
            "TESTS_RUNNING = False\n"
            "model_info_for_loggers = lambda trainer: {'model/GFLOPs': 1.5}\n"
            + text.replace("from __future__", "# ") + """
import numpy, pathlib
from types import SimpleNamespace as N
pathlib.Path("best.pt").write_text("weights")
pathlib.Path("plot.png").write_bytes(b"\\x89PNG")
curve = (numpy.linspace(0, 1, 5), numpy.ones((2, 5)), "Recall", "Precision")
metrics = N(curves=["PR(B)"], curves_results=[curve], names={0: "a", 1: "b"})
plots = {pathlib.Path("plot.png"): {"timestamp": 1}}
trainer = N(args=N(name="t", project="yolo", resume=False, save=True,
                   plots=True), save_dir=".", plots=plots, epoch=0,
            validator=N(plots={}, metrics=metrics), tloss=0, lr={"lr/pg0": 1},
            metrics={"metrics/mAP50(B)": 0.5}, best=pathlib.Path("best.pt"),
            label_loss_items=lambda t, prefix: {"train/box_loss": 2.0},
            callbacks={}, add_callback=lambda name, f: None)
on_pretrain_routine_end(trainer)
for trainer.epoch in range(3):
    on_train_epoch_end(trainer)
    on_fit_epoch_end(trainer)
on_train_end(trainer)
""")
        folder = folders("mlruns")[-1]
        self.assertEqual([s for s, _ in points(folder, "train/box_loss")],
                         [1, 2, 3])
        self.assertEqual(points(folder, "metrics/mAP50_B_") or
                         points(folder, "metrics/mAP50(B)"),
                         [(1, 0.5), (2, 0.5), (3, 0.5)])
        self.assertTrue(os.path.isdir(folder + "/artifacts/tables/curves"))

    def test_torchtune(self):
        """torchtune's WandBLogger records the global step"""
        path = self.use_source("torchtune", "training/metric_logging.py")
        text = read(path)
        body = text[text.index("class WandBLogger"):]
        body = body[:body.index("\nclass ", 10)]
        folder = self.run_with_door("""
from typing import Any, Mapping, Optional, Union
from pathlib import Path
import os
class MetricLoggerInterface: pass
class DictConfig(dict): pass
Scalar = float
log = None
def get_world_size_and_rank(): return 1, 0
""" + body.split("    def log_config")[0] + "\n    def log(self" +
            body.split("    def log(self", 1)[1] + """
logger = WandBLogger(project="tune", log_dir=".")
for step in (10, 20):
    logger.log("loss", 1 / step, step)
    logger.log_dict({"lr": 0.1}, step)
logger.close()
""")
        self.assertEqual([s for s, _ in points(folder, "loss")], [10, 20])

    def test_composer(self):
        """composer's WandBLogger records metrics, tables and files"""
        path = self.use_source("composer", "loggers/wandb_logger.py")
        if importlib.util.find_spec("torch") is None:
            self.skipTest("no torch")
        text = read(path).replace("from __future__ import annotations", "")
        text = re.sub(r"^from composer.*\n", "", text, flags=re.M)
        text = re.sub(r"^if TYPE_CHECKING:\n(    .*\n)+", "", text,
                      flags=re.M)
        folder = self.run_with_door("""
from __future__ import annotations
from types import SimpleNamespace as N
dist = N(get_global_rank=lambda: 0, get_world_size=lambda: 1,
         broadcast_object_list=lambda items: None)
LoggerDestination = object
MissingConditionalImportError = ImportError
""" + text + """
import numpy
logger = WandBLogger(project="mosaic", log_artifacts=True, name="m")
stamp = N(epoch=1, batch=7, state_dict=lambda: {"batch": 7})
state = N(run_name="m", timestamp=stamp, dataloader=1, train_dataloader=1)
logger.init(state, None)
logger.log_hyperparameters({"lr": 1})
for step in range(3):
    logger.log_metrics({"loss": 1.0}, step)
logger.log_table(["a"], [[1]], step=2)
logger.log_images(numpy.zeros((2, 3, 4, 4)), step=2)
open("ep1.pt", "w").write("weights")
logger.upload_file(state, "m/ep1.pt", __import__("pathlib").Path("ep1.pt"),
                   overwrite=True)
logger.download_file("m/ep1.pt", "back.pt")
assert open("back.pt").read() == "weights"
try:
    logger.download_file("none", "back.pt")
except FileNotFoundError:
    pass
""")
        self.assertEqual(len(points(folder, "loss")), 3)
        self.assertTrue(self.versions(folder, "m.ep1.pt"))
        table = json.loads(read(folder, "artifacts/tables/Table/2.json"))
        self.assertEqual(table["data"], [[1]])


class Types(Case):
    @needs("mypy")
    def test_mypy(self):
        """mypy finds wrong arguments of the package's functions"""
        with open("program.py", "w") as f:
            f.write("import gtrack as wandb\n"
                    "wandb.init(projct='x')\nwandb.log({'a': 1}, stp=3)\n"
                    "wandb.init(project='x', resume='allow').log({'a': 1})\n"
                    "wandb.Image([[1]], captoin='x')\n")
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--follow-imports=silent",
             "program.py"], stdout=subprocess.PIPE, universal_newlines=True,
            env=dict(os.environ, MYPYPATH=os.environ["PYTHONPATH"]))
        lines = [line for line in done.stdout.splitlines()
                 if line.startswith("program.py") and "error:" in line]
        self.assertEqual([int(line.split(":")[1]) for line in lines],
                         [2, 3, 5], done.stdout)


class Door(Case):
    def test_refuses_late(self):
        """gtrack.as_wandb is an error where wandb was imported before"""
        os.mkdir("wandb")
        open("wandb/__init__.py", "w").close()
        done = self.program("import wandb\nimport gtrack.as_wandb\n")
        self.assertIn("before anything imports wandb", done.stderr)


if __name__ == "__main__":
    unittest.main()
