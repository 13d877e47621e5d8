"""The calls of W&B's client that programs use most, in one program

usage: wandb_calls.py MODULE

The module is wandb or gtrack; either accepts all of them.
"""
import importlib
import importlib.util
import sys
import wave

wandb = importlib.import_module(sys.argv[1])


def write_files():
    with wave.open("sound.wav", "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(8000)
        w.writeframes(bytes(160))
    for name, content in (("film.mp4", "film"), ("model.txt", "weights"),
                          ("shape.obj", "v 0 0 0"), ("water.pdb", "ATOM")):
        with open(name, "w") as f:
            f.write(content)


def log_media(run):
    table = wandb.Table(columns=["x", "y"])
    table.add_data(1, 2)
    run.log({
        "table": table,
        "histogram": wandb.Histogram([1, 2, 3]),
        "audio": wandb.Audio("sound.wav", caption="silence"),
        "video": wandb.Video("film.mp4", format="mp4"),
        "html": wandb.Html("<p>hi</p>"),
        "shape": wandb.Object3D("shape.obj"),
        "molecule": wandb.Molecule("water.pdb"),
    })
    run.log({"bars": wandb.plot.bar(table, "x", "y", title="bars")})


def log_files(run):
    artifact = wandb.Artifact("weights", type="model", metadata={"n": 1})
    artifact.add_file("model.txt")
    run.log_artifact(artifact)
    run.log_model("model.txt", name="again")
    run.log_code(".")
    run.save("model.txt", policy="now")


def main():
    write_files()
    wandb.setup()
    wandb.login()
    wandb.termlog("beginning")
    run = wandb.init(project="calls", name="all", mode="offline", tags=["a"],
                     id="all-1", resume="allow",
                     config={"lr": 0.1}, settings=wandb.Settings(silent=True))
    wandb.config.update({"epochs": 2})
    run.define_metric("loss", summary="min")
    for epoch in range(run.config.epochs):
        wandb.log({"loss": 1 / (epoch + 1)}, step=epoch)
    wandb.alert(title="low", text="the loss is low",
                level=wandb.AlertLevel.WARN)
    log_media(run)
    log_files(run)
    wandb.summary["best"] = 0.5
    run.summary.update({"words": 3})
    if importlib.util.find_spec("torch"):  # without it, W&B's client raises
        run.unwatch()
    run.mark_preempting()
    assert wandb.run is run and run.id and run.dir and run.name == "all"
    wandb.finish()


main()
