# page_peers.py - the page of gtrack serve beside those of MLflow and
# TensorBoard
#
# usage: page_peers.py MKRUNS [RUNS [ROUNDS]]
#
# Prints the median of ROUNDS (3) times, in turn, from opening a page until the
# first rows of RUNS runs (1,000) of 50 points are painted.  MLflow reads the
# same store; TensorBoard reads event files with the same points, and has loaded
# them before.  The programs are those beside the Python that runs this
# (GT_PYTHON), which has mlflow and tensorboard; it needs chromium and
# chromedriver.  Run it in the build folder (GT_PEERS=1 make bench-page).
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "t", "page"))
import browser  # noqa: E402
from browser import Browser, Server  # noqa: E402

mkruns = os.path.abspath(sys.argv[1])
runs, rounds = [int(v) for v in sys.argv[2:4] + ["1000", "3"][
    len(sys.argv) - 2:]]
MLFLOW, TENSORBOARD = 5611, 5612
browser.PATIENCE = 120

# Notes when the page has painted what an expression finds.
WATCH = """
window.painted = 0;
new MutationObserver(() => {
    if (painted || !(%s))
        return;
    painted = -1;
    requestAnimationFrame(() => setTimeout(() => {
        painted = performance.now(); }));
}).observe(document, {childList: true, subtree: true, attributes: true});
"""


def write_events(folder):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    for r in range(runs):
        writer = EventFileWriter(os.path.join(folder, f"run{r + 1}"))
        for step in range(50):
            value = Summary.Value(tag="train/loss",
                                  simple_value=3 - step / 100)
            writer.add_event(Event(wall_time=1.7e9 + step, step=step,
                                   summary=Summary(value=[value])))
        writer.close()


@contextlib.contextmanager
def started(port, *command):
    env = dict(os.environ, MLFLOW_ALLOW_FILE_STORE="true")
    command = [os.path.join(os.path.dirname(sys.executable), command[0]),
               *command[1:]]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        await_answer(port)
        yield
    finally:
        os.killpg(process.pid, 15)
        process.wait()


def await_answer(port):
    end = time.monotonic() + 120
    while time.monotonic() < end:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{port}/").close()
            return
        except OSError:
            time.sleep(0.5)
    raise SystemExit(f"nothing answers at port {port}")


def await_loaded():
    """Wait until TensorBoard has read all runs."""
    end = time.monotonic() + 300
    url = f"http://127.0.0.1:{TENSORBOARD}/data/runs"
    while time.monotonic() < end:
        with urllib.request.urlopen(url) as answer:
            if answer.read().count(b"run") >= runs:
                return
        time.sleep(1)
    raise SystemExit("TensorBoard does not read the runs")


def first_rows(url, rows, login):
    with Browser() as b:
        if login:
            b.open(login)
        b.cdp("Page.addScriptToEvaluateOnNewDocument",
              {"source": WATCH % rows})
        b.open("about:blank")
        b.open(url)
        return b.wait("window.painted > 0 && window.painted")


def measure(root, server):
    experiment = next(d for d in os.listdir(root)
                      if d.isdigit() and len(d) > 1)
    named = ("[...document.querySelectorAll('a, span, div')].some(e =>"
             "!e.children.length && /^run[0-9]+$/.test(e.textContent.trim()))")
    pages = {
        "gtrack serve": (server.base, named, server.url),
        "MLflow": (f"http://127.0.0.1:{MLFLOW}/#/experiments/{experiment}"
                   "/runs", named, None),
        "TensorBoard": (f"http://127.0.0.1:{TENSORBOARD}/#timeseries", named,
                        None),
    }
    times = {name: [] for name in pages}
    for _ in range(rounds):
        for name, page in pages.items():
            times[name].append(first_rows(*page))
    print(f"first rows of {runs:,} runs, median of {rounds}:")
    for name, values in times.items():
        print(f"  {name:14} {statistics.median(values):8.0f} ms", flush=True)


with tempfile.TemporaryDirectory() as work:
    root, events = (os.path.join(work, name) for name in ("runs", "events"))
    subprocess.run([mkruns, root, f"big:{runs}:50"], check=True)
    write_events(events)
    server = Server(work, "-r", root)
    with started(MLFLOW, "mlflow", "server", "--backend-store-uri", root,
                 "--port", str(MLFLOW), "--workers", "1"), \
            started(TENSORBOARD, "tensorboard", "--logdir", events, "--port",
                    str(TENSORBOARD), "--load_fast=false"):
        await_loaded()
        measure(root, server)
    server.end()
