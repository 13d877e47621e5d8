"""Print what lm_eval computes of the questions in a folder.

usage: tasks.py MODEL FOLDER SHOTS NAME=FILE[=FILE]...

A line for each choice has the file and the log-likelihood; one for each task
has acc, acc_norm and acc_bytes, or acc and perplexity of continuations.  NAME
is the path of a task in lm_eval, such as piqa/piqa, and the second file has
what SHOTS examples are drawn from.
"""

import math
import pathlib
import sys

import lm_eval
from lm_eval.api.task import ConfigurableTask
from lm_eval.models.huggingface import HFLM
from lm_eval.tasks._yaml_loader import load_yaml

model, folder, shots, *names = sys.argv[1:]
tasks = pathlib.Path(lm_eval.__file__).parent / "tasks"
lm = HFLM(pretrained=model, device="cpu", dtype="float32", batch_size=1)
for name in names:
    path, file, *examples = name.split("=")
    config = load_yaml(tasks / f"{path}.yaml")
    for key in ("tag", "dataset_name"):
        config.pop(key, None)
    files = {split: f"{folder}/{file}.jsonl"
             for split in ("validation", "test")}
    files |= {split: f"{folder}/{(examples or [file])[0]}.jsonl"
              for split in ("train", "dev")}
    metrics = (("acc", "perplexity") if config["output_type"] == "loglikelihood"
               else ("acc", "acc_norm", "acc_bytes"))
    config.update(task="own", dataset_path="json",
                  dataset_kwargs={"data_files": files},
                  metric_list=[{"metric": m, "aggregation": "mean",
                                "higher_is_better": True} for m in metrics])
    task = ConfigurableTask(config=config)
    task.set_fewshot_seed(1234)
    scores = []
    for doc in task.eval_docs:
        context = task.fewshot_context(doc, int(shots))
        requests = task.construct_requests(doc, context)
        requests = requests if isinstance(requests, list) else [requests]
        answers = lm.loglikelihood(requests, disable_tqdm=True)
        scores.append(task.process_results(doc, answers))
        for answer in answers:
            print(file, "%.4f" % answer[0])
    means = {m: sum(s[m] for s in scores) / len(scores) for m in metrics}
    if "perplexity" in means:
        means["perplexity"] = math.exp(-means["perplexity"])
    print(file, *("%.4f" % means[m] for m in metrics))
