# page_peers.py - the page of gtrack serve beside those of MLflow, TensorBoard
# and Trackio
#
# usage: page_peers.py MKRUNS [RUNS [CURVES [POINTS [ROUNDS]]]]
#
# Prints for each program the median of ROUNDS (3) times, in turn: from opening
# a page until the first rows of RUNS runs (1,000) of 50 points are painted, and
# until the chart of CURVES runs (20) of POINTS points (10,000) is; inf means
# more than two minutes.  It also prints the share of a core that the server takes while the page of the chart
# is open, and the memory of the server with RUNS runs.  MLflow reads the same
# store as gtrack; the others have files with the same number of points, and
# TensorBoard has loaded them before.  The programs are those beside the Python
# that runs this (GT_PYTHON); it needs chromium and chromedriver.  Run it in the
# build folder (GT_PEERS=1 make bench-page).
import contextlib
import datetime
import json
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
runs, curves, points, rounds = [
    int(v) for v in sys.argv[2:6] + ["1000", "20", "10000", "3"][
        len(sys.argv) - 2:]]
PORT = 5611
MOST_SECONDS = 120
OPEN_SECONDS = 20

# Notes when the page has painted what a function finds.
WATCH = """
window.painted = 0;
const named = () => [...document.querySelectorAll('a, span, div')].some(e =>
    !e.children.length && /^run[0-9]+$/.test(e.textContent.trim()));
const deep = (root, selector) => [...root.querySelectorAll(selector),
    ...[...root.querySelectorAll('*')].flatMap(e => e.shadowRoot
        ? deep(e.shadowRoot, selector) : [])];
const lines = (selector, n) => deep(document, selector).filter(p =>
    (p.getAttribute('d') ?? '').length > 20).length >= n;
const filled = selector => [...document.querySelectorAll(selector)].some(c =>
    c.width && c.getContext('2d').getImageData(0, 0, c.width, c.height)
        .data.some(v => v));
const look = () => {
    if (%s)
        requestAnimationFrame(() => setTimeout(() => {
            painted = performance.now(); }));
    else
        requestAnimationFrame(look);
};
requestAnimationFrame(look);
"""


def value_at(step, count):
    return 3 - step / count


# What each program shows: how its files are written, how it is started, and the
# addresses of the table and of the chart, with what is there when it is painted.

def write_store(folder, n, count):
    subprocess.run([mkruns, os.path.join(folder, "store"), f"big:{n}:{count}"],
                   check=True)


def write_events(folder, n, count):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    for r in range(n):
        writer = EventFileWriter(os.path.join(folder, "events", f"run{r + 1}"))
        for step in range(count):
            value = Summary.Value(tag="train/loss",
                                  simple_value=value_at(step, count))
            writer.add_event(Event(wall_time=1.7e9 + step, step=step,
                                   summary=Summary(value=[value])))
        writer.close()


def write_trackio(folder, n, count):
    from trackio.sqlite_storage import SQLiteStorage

    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    times = [(begin + datetime.timedelta(seconds=i)).isoformat()
             for i in range(count)]
    for r in range(n):
        SQLiteStorage.bulk_log(
            os.path.basename(folder), f"run{r + 1}",
            [{"train/loss": value_at(i, count)} for i in range(count)],
            list(range(count)), times)


@contextlib.contextmanager
def started(*command):
    env = dict(os.environ, MLFLOW_ALLOW_FILE_STORE="true")
    command = [os.path.join(os.path.dirname(sys.executable), command[0]),
               *command[1:]]
    process = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        await_answer("/", lambda text: True)
        yield process.pid, f"http://127.0.0.1:{PORT}/", None
    finally:
        os.killpg(process.pid, 15)
        process.wait()


def await_answer(path, is_ready):
    end = time.monotonic() + 600
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(
                    f"http://127.0.0.1:{PORT}{path}") as answer:
                if is_ready(answer.read()):
                    return
        except OSError:
            pass
        time.sleep(0.5)
    raise SystemExit(f"nothing answers {path} at port {PORT}")


@contextlib.contextmanager
def start_gtrack(folder, n):
    server = Server(folder, "-r", os.path.join(folder, "store"))
    try:
        yield server.process.pid, server.base, server.url
    finally:
        server.end()


def start_mlflow(folder, n):
    return started("mlflow", "server", "--backend-store-uri",
                   os.path.join(folder, "store"), "--port", str(PORT),
                   "--workers", "1")


@contextlib.contextmanager
def start_tensorboard(folder, n):
    with started("tensorboard", "--logdir", os.path.join(folder, "events"),
                 "--port", str(PORT)) as at:
        await_answer("/data/runs", lambda text: text.count(b"run") >= n)
        yield at


def start_trackio(folder, n):
    return started("python3", "-c", "import trackio; trackio.show("
                   f"'{os.path.basename(folder)}', server_port={PORT}, "
                   "open_browser=False, block_thread=True)")


def ids(folder):
    """The experiment of a store, and its runs."""
    root = os.path.join(folder, "store")
    experiment = next(d for d in os.listdir(root)
                      if d.isdigit() and len(d) > 1)
    found = [d for d in os.listdir(os.path.join(root, experiment))
             if len(d) == 32]
    return experiment, sorted(found)


def mlflow_chart(folder):
    experiment, found = ids(folder)
    wanted = json.dumps(found, separators=(",", ":")).replace('"', "%22")
    return (f'#/metric?runs={wanted}&metric=%22train%2Floss%22&experiments='
            f'[%22{experiment}%22]&plot_metric_keys=[%22train%2Floss%22]')


PROGRAMS = {
    "gtrack serve": dict(
        write=write_store, start=start_gtrack,
        rows=lambda f: "", named="named()",
        chart=lambda f: "#view=charts&chart=kind:loss&runs=" +
                        ",".join(ids(f)[1]),
        drawn="document.querySelector('.over[aria-label]')"),
    "MLflow": dict(
        write=None, start=start_mlflow,
        rows=lambda f: f"#/experiments/{ids(f)[0]}/runs", named="named()",
        chart=mlflow_chart, drawn=f"lines('path.js-line', {curves})"),
    "TensorBoard": dict(
        write=write_events, start=start_tensorboard,
        rows=lambda f: "#timeseries", named="named()",
        chart=lambda f: "#scalars", drawn=f"lines('path.line', {curves})"),
    "Trackio": dict(
        write=write_trackio, start=start_trackio,
        rows=lambda f: f"?project={os.path.basename(f)}", named="named()",
        chart=lambda f: f"?project={os.path.basename(f)}",
        drawn="filled('canvas.marks')"),
}


def processes(pid):
    """A process and those of its session."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as stat:
                fields = stat.read().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if int(name) == pid or int(fields[3]) == pid:
            yield name, fields


def processor_time(pid):
    ticks = sum(int(f[11]) + int(f[12]) for _, f in processes(pid))
    return ticks / os.sysconf("SC_CLK_TCK")


def memory(pid):
    total = 0
    for name, _ in processes(pid):
        with open(f"/proc/{name}/status") as status:
            total += sum(int(line.split()[1]) for line in status
                         if line.startswith("VmHWM"))
    return total / 1024


def painted(b, url, login, ready):
    if login:
        b.open(login)
    b.cdp("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH % ready})
    b.open("about:blank")
    b.open(url)
    end = time.monotonic() + MOST_SECONDS
    while time.monotonic() < end:
        try:
            shown = b.run("return window.painted")
        except browser.BrowserError:
            continue  # the page is busy
        if shown:
            return shown
        time.sleep(0.02)
    return float("inf")


def measure_rows(program, folder):
    with program["start"](folder, runs) as (pid, base, login):
        with Browser() as b:
            shown = painted(b, base + program["rows"](folder), login,
                            program["named"])
        return {"rows": shown, "memory": memory(pid)}


def measure_chart(program, folder):
    with program["start"](folder, curves) as (pid, base, login):
        with Browser() as b:
            shown = painted(b, base + program["chart"](folder), login,
                            program["drawn"])
            begin = processor_time(pid)
            time.sleep(OPEN_SECONDS)
            spent = processor_time(pid) - begin
        return {"chart": shown, "open": 100 * spent / OPEN_SECONDS}


def print_results(found):
    texts = {"rows": f"first rows of {runs:,} runs, ms",
             "chart": f"chart of {curves} runs of {points:,} points, ms",
             "open": "an open chart, % of a core of the server",
             "memory": f"memory of the server with {runs:,} runs, MiB"}
    print("load", os.getloadavg()[0])
    print(f"{'':46}" + "".join(f"{name:>14}" for name in PROGRAMS))
    for key, text in texts.items():
        print(f"{text:46}" + "".join(
            f"{statistics.median(v[key] for v in found[name] if key in v):14.1f}"
            for name in PROGRAMS), flush=True)


def main(work):
    folders = {name: os.path.join(work, name) for name in ("many", "long")}
    os.environ["TRACKIO_DIR"] = os.path.join(work, "trackio")
    os.environ["GTRACK_CACHE"] = os.path.join(work, "cache")
    for folder in folders.values():
        os.mkdir(folder)
    for program in PROGRAMS.values():
        if program["write"]:
            program["write"](folders["many"], runs, 50)
            program["write"](folders["long"], curves, points)
    found = {name: [] for name in PROGRAMS}
    for _ in range(rounds):
        for name, program in PROGRAMS.items():
            found[name].append(measure_rows(program, folders["many"]))
            found[name].append(measure_chart(program, folders["long"]))
    print_results(found)


with tempfile.TemporaryDirectory() as work:
    main(work)
