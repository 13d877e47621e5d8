# page_peers.py - the page of gtrack serve beside those of MLflow, TensorBoard
# and Trackio
#
# usage: page_peers.py [--runs N] [--curves N] [--points N] [--rounds N]
#                      [--only MEASURE]... [--beside PROGRAM]... MKRUNS
#
# Prints for each program the median of the rounds (3), which take turns:
#
#   table  from opening a page until the first rows of N runs (1,000) of 50
#          points are painted, and the memory of the server
#   chart  from opening a page until the chart of N curves (20) of N points
#          (10,000) is painted, and the share of a core that the server takes
#          while nothing changes; requests, and bytes on the wire
#   long   the time and the bytes of the chart of N curves of 1,000,000 points
#   wide   the same of 200 runs of 20 metrics and 100 points
#   live   from logging a point of a run of 50 until the chart of that run
#          changes, and the share of a core while a point a second is logged
#   pages  that share while 20 pages of the chart are open, each in a window
#
# inf means more than two minutes.  MLflow reads the same store as gtrack; the
# others have files with the same number of points, and TensorBoard has loaded
# them before.  TensorBoard's page, which is not up to date by itself, is told
# to reload its data, which it does every thirty seconds.  The programs are
# those beside the Python that runs this (GT_PYTHON); it needs chromium and
# chromedriver.  Run it in the build folder (GT_PEERS=1 make bench-page).
import argparse
import contextlib
import datetime
import itertools
import json
import os
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "t", "page"))
import browser  # noqa: E402
from browser import Browser, Server  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("mkruns", type=os.path.abspath)
for option, number in (("runs", 1000), ("curves", 20), ("points", 10000),
                       ("rounds", 3)):
    parser.add_argument("--" + option, type=int, default=number)
parser.add_argument("--only", action="append", choices=(
    "table", "chart", "long", "wide", "live", "pages"))
parser.add_argument("--beside", action="append",
                    choices=("MLflow", "TensorBoard", "Trackio"))
args = parser.parse_args()
PORT = 5611
MOST_SECONDS = 120
OPEN_SECONDS = 20
SETTLE_SECONDS = 3
WIDE = 200, 100, 20  # runs, points and metrics
LONG = 1000000  # points
PAGES = 20

# What TensorBoard's page keeps when it is told to reload.
RELOAD = """
if (location.protocol === 'http:')
    localStorage.setItem('_tb_global_settings',
        JSON.stringify({autoReload: true, autoReloadPeriodInMs: 30000}));
"""

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
const picture = () => JSON.stringify([
    ...deep(document, 'canvas').map(c => c.width && c.toDataURL()),
    ...deep(document, 'path').map(p => p.getAttribute('d'))]);
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


# What each program shows: how its files are written, how it is started, how a
# point is logged, and the addresses of the table and of the chart, with what is
# there when it is painted.

def write_store(folder, n, count, metrics=1):
    subprocess.run([args.mkruns, os.path.join(folder, "store"),
                    f"big:{n}:{count}:{metrics}"], check=True)


def names_of(metrics):
    return ["train/loss", *(f"more/metric{i}" for i in range(1, metrics))]


@contextlib.contextmanager
def log_to_store(folder):
    log = subprocess.Popen(
        ["gtrack", "log", "-r", os.path.join(folder, "store"), "-e", "big",
         "live"],
        stdin=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)

    def add(step, value):
        log.stdin.write(json.dumps({"step": step, "train/loss": value}) + "\n")
        log.stdin.flush()
    yield add
    log.stdin.close()
    log.wait()


@contextlib.contextmanager
def log_to_events(folder, run="run1"):
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(os.path.join(folder, "events", run),
                             flush_secs=0.1)

    def add(step, value, metrics=1):
        summary = Summary(value=[Summary.Value(tag=name, simple_value=value)
                                 for name in names_of(metrics)])
        writer.add_event(Event(wall_time=1.7e9 + step, step=step,
                               summary=summary))
    yield add
    writer.close()


def write_events(folder, n, count, metrics=1):
    with log_to_events(folder) as add:
        for step in range(count):
            add(step, value_at(step, count), metrics)
    for r in range(1, n):
        shutil.copytree(os.path.join(folder, "events", "run1"),
                        os.path.join(folder, "events", f"run{r + 1}"))


@contextlib.contextmanager
def log_to_trackio(folder):
    from trackio.sqlite_storage import SQLiteStorage

    def add(step, value):
        SQLiteStorage.bulk_log(os.path.basename(folder), "run1",
                               [{"train/loss": value}], [step])
    yield add


def write_trackio(folder, n, count, metrics=1):
    from trackio.sqlite_storage import SQLiteStorage

    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
    times = [(begin + datetime.timedelta(seconds=i)).isoformat()
             for i in range(count)]
    project = os.path.basename(folder)
    SQLiteStorage.bulk_log(
        project, "run1", [dict.fromkeys(names_of(metrics), value_at(i, count))
                          for i in range(count)], list(range(count)), times)
    with contextlib.closing(sqlite3.connect(os.path.join(
            os.environ["TRACKIO_DIR"], project + ".db"))) as base, base:
        for r in range(1, n):
            base.execute(
                "INSERT INTO metrics(run_id, timestamp, run_name, step, metrics)"
                " SELECT ?1, timestamp, ?1, step, metrics FROM metrics"
                " WHERE run_name = 'run1'", [f"run{r + 1}"])


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
    experiment = next(d for d in sorted(os.listdir(root), key=len, reverse=True)
                      if d.isdigit())
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
        write=write_store, start=start_gtrack, log=log_to_store,
        rows=lambda f: "", named="named()",
        chart=lambda f: "#view=charts&chart=kind:loss&runs=" +
                        ",".join(ids(f)[1]),
        drawn=lambda n: "document.querySelector('.over[aria-label]')"),
    "MLflow": dict(
        write=None, start=start_mlflow, log=log_to_store,
        rows=lambda f: f"#/experiments/{ids(f)[0]}/runs", named="named()",
        chart=mlflow_chart,
        drawn=lambda n: f"lines('path.js-line', {n})"),
    "TensorBoard": dict(
        write=write_events, start=start_tensorboard, log=log_to_events,
        rows=lambda f: "#timeseries", named="named()",
        chart=lambda f: "#scalars",
        drawn=lambda n: f"lines('path.line', {n})"),
    "Trackio": dict(
        write=write_trackio, start=start_trackio, log=log_to_trackio,
        rows=lambda f: f"?project={os.path.basename(f)}", named="named()",
        chart=lambda f: f"?project={os.path.basename(f)}",
        drawn=lambda n: "filled('canvas.marks')"),
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


def await_page(b, condition):
    """What a condition gives as soon as it holds, or inf."""
    end = time.monotonic() + MOST_SECONDS
    while time.monotonic() < end:
        try:
            shown = b.run("return " + condition)
        except (browser.BrowserError, OSError):
            continue  # the page is busy
        if shown:
            return shown
        time.sleep(0.02)
    return float("inf")


def painted(b, url, login, ready):
    if login:
        b.open(login)
    b.cdp("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH % ready})
    b.open("about:blank")
    with contextlib.suppress(browser.BrowserError, OSError):
        b.open(url)  # a page can be busy for longer than this waits
    return await_page(b, "window.painted")


def measure_table(program, folder):
    with program["start"](folder, args.runs) as (pid, base, login):
        with Browser() as b:
            shown = painted(b, base + program["rows"](folder), login,
                            program["named"])
        return {"rows": shown, "memory": memory(pid)}


def share(pid, work=lambda: None):
    """Percent of a core that a server takes, with this work every second."""
    begin = processor_time(pid)
    for _ in range(OPEN_SECONDS):
        work()
        time.sleep(1)
    return 100 * (processor_time(pid) - begin) / OPEN_SECONDS


def traffic(b):
    """The requests of a page, and their bytes on the wire in KiB."""
    n, total = b.run(
        "const all = ['navigation', 'resource'].flatMap(t =>"
        "performance.getEntriesByType(t));"
        "return [all.length, all.reduce((n, e) => n + e.transferSize, 0)]")
    return {"requests": n, "wire": total / 1024}


def measure_chart(program, folder):
    with program["start"](folder, args.curves) as (pid, base, login):
        with Browser() as b:
            shown = painted(b, base + program["chart"](folder), login,
                            program["drawn"](args.curves))
            return {"chart": shown, **traffic(b), "open": share(pid)}


def measure_long(program, folder):
    with program["start"](folder, args.curves) as (pid, base, login):
        with Browser() as b:
            shown = painted(b, base + program["chart"](folder), login,
                            program["drawn"](args.curves))
            return {"long chart": shown, "long wire": traffic(b)["wire"]}


def measure_wide(program, folder):
    with program["start"](folder, WIDE[0]) as (pid, base, login):
        with Browser() as b:
            shown = painted(b, base + program["chart"](folder), login,
                            program["drawn"](WIDE[0]))
            return {"chart of many": shown, **{
                f"{key} of many": value for key, value in traffic(b).items()}}


@contextlib.contextmanager
def growing_chart(program, folder):
    """A page with the chart of a run, its address, and a function that logs one
    more point of this run."""
    steps = itertools.count(50)
    with program["start"](folder, 1) as (pid, base, login), \
            program["log"](folder) as add, Browser() as b:
        b.cdp("Page.addScriptToEvaluateOnNewDocument", {"source": RELOAD})
        add(next(steps), 3)
        time.sleep(SETTLE_SECONDS)
        url = base + program["chart"](folder)
        painted(b, url, login, program["drawn"](1))
        time.sleep(SETTLE_SECONDS)
        yield pid, b, url, lambda value: add(next(steps), value)


def measure_live(program, folder):
    with growing_chart(program, folder) as (pid, b, _, add):
        b.run("""const before = picture();
            const look = () => { if (picture() !== before) seen = Date.now();
                else setTimeout(look, 20); };
            window.seen = 0;
            look();""")
        begin = time.time()
        add(5)
        seen = await_page(b, "window.seen") - 1000 * begin
        return {"point": seen, "logged": share(pid, lambda: add(3))}


def measure_pages(program, folder):
    with growing_chart(program, folder) as (pid, b, url, add):
        for _ in range(1, PAGES):
            b.cdp("Target.createTarget", {"url": url, "newWindow": True})
        time.sleep(OPEN_SECONDS)
        return {"pages": share(pid, lambda: add(3))}


PROGRAMS = {name: program for name, program in PROGRAMS.items()
            if not args.beside or name in ["gtrack serve", *args.beside]}

# How each measure is done, of how many runs and points, and what it finds.
MEASURES = {
    "table": (measure_table, args.runs, 50, {
        "rows": f"first rows of {args.runs:,} runs, ms",
        "memory": f"memory of the server with {args.runs:,} runs, MiB"}),
    "chart": (measure_chart, args.curves, args.points, {
        "chart": f"chart of {args.curves} runs of {args.points:,} points, ms",
        "requests": "requests for it",
        "wire": "bytes on the wire for it, KiB",
        "open": "an open chart, % of a core of the server"}),
    "long": (measure_long, args.curves, LONG, {
        "long chart": f"chart of {args.curves} runs of {LONG:,} points, ms",
        "long wire": "bytes on the wire for it, KiB"}),
    "wide": (measure_wide, *WIDE, {
        "chart of many": f"chart of {WIDE[0]} runs of {WIDE[2]} metrics, ms",
        "requests of many": "requests for it",
        "wire of many": "bytes on the wire for it, KiB"}),
    "live": (measure_live, 1, 50, {
        "point": "from logging a point to the chart, ms",
        "logged": "a point a second, one page, % of a core"}),
    "pages": (measure_pages, 1, 50, {
        "pages": f"a point a second, {PAGES} pages, % of a core"}),
}


def main(work):
    os.environ["TRACKIO_DIR"] = os.path.join(work, "trackio")
    os.environ["GTRACK_CACHE"] = os.path.join(work, "cache")
    print(f"{'':46}" + "".join(f"{name:>14}" for name in PROGRAMS))
    for name in args.only or MEASURES:
        measure, *size, texts = MEASURES[name]
        folder = os.path.join(work, name)
        os.mkdir(folder)
        for program in PROGRAMS.values():
            if program["write"]:
                program["write"](folder, *size)
        print(f"{name}: the load is {os.getloadavg()[0]:.1f}", file=sys.stderr)
        found = [[measure(program, folder) for program in PROGRAMS.values()]
                 for _ in range(args.rounds)]
        for key, text in texts.items():
            print(f"{text:46}" + "".join(
                f"{statistics.median(one[i][key] for one in found):14.1f}"
                for i in range(len(PROGRAMS))), flush=True)
        shutil.rmtree(folder)
    print("load", os.getloadavg()[0])


with tempfile.TemporaryDirectory() as work:
    main(work)
