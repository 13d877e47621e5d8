# page.py - measure the page of gtrack serve in a browser
#
# usage: page.py MKRUNS [RUNS [CURVES [POINTS [ROUNDS]]]]
#
# Prints medians of ROUNDS (5): the time until the first rows of RUNS runs
# (1,000) are painted; from the click on Charts until CURVES runs (20) of POINTS
# points (1,000,000) are painted, the first time of all, the first time of a
# server and later; and from logging a point until the page shows it.  It also
# prints the share of a core that the server takes for 20 open pages of a
# running store, and its memory with each store, and with ten times RUNS runs.
# It needs chromium and chromedriver.  Run it in the build folder (make
# bench-page).
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "t", "page"))
from browser import Browser, Server  # noqa: E402

mkruns = os.path.abspath(sys.argv[1])
runs, curves, points, rounds = [
    int(v) for v in sys.argv[2:6] + ["1000", "20", "1000000", "5"][
        len(sys.argv) - 2:]]

# Notes when the page has painted what a selector finds.
WATCH = """
window.painted = {};
const selectors = ['.runs tbody a', '.over[aria-label]'];
new MutationObserver(() => {
    for (const s of selectors)
        if (!painted[s] && document.querySelector(s)) {
            painted[s] = -1;
            requestAnimationFrame(() => setTimeout(() => {
                painted[s] = performance.now(); }));
        }
}).observe(document, {childList: true, subtree: true, attributes: true});
"""
ROW, CHART = ".runs tbody a", ".over[aria-label]"


def painted(browser, selector):
    return browser.wait(f"window.painted && painted['{selector}'] > 0 && "
                        f"painted['{selector}']")


def first_rows(browser, server):
    browser.open("about:blank")
    browser.open(server.base)
    return painted(browser, ROW)


def click_to_chart(browser, server):
    browser.open("about:blank")
    browser.open(server.base + "#chart=kind:loss")
    painted(browser, ROW)
    browser.run("for (let i = 0; i < arguments[0]; i++)"
                "document.querySelectorAll('.runs tbody input')[i].click()",
                curves)
    browser.run("const { hash } = document.querySelector('nav a:nth-child(2)');"
                "window.clicked = performance.now();"
                "location.hash = hash + '&chart=kind:loss';")
    return painted(browser, CHART) - browser.run("return clicked")


def new_point(browser, log, value):
    shown = (f"[...document.querySelectorAll('.runs td')].some(c => "
             f"c.textContent.startsWith('{value}'))")
    browser.run(f"""window.seen = 0;
        const look = () => {{ if ({shown}) seen = Date.now();
            else requestAnimationFrame(look); }};
        look();""")
    begin = time.time()
    log.stdin.write(f'{{"train/loss": {value}}}\n')
    log.stdin.flush()
    return browser.wait("seen") - 1000 * begin


def memory(server):
    with open(f"/proc/{server.process.pid}/status") as status:
        for line in status:
            if line.startswith("VmHWM"):
                return int(line.split()[1]) / 1024
    return float("nan")


def make_store(folder, name, how):
    root = os.path.join(folder, name)
    subprocess.run([mkruns, root, how], check=True)
    return root


def print_row(what, values, unit="ms"):
    print(f"  {what:52} {statistics.median(values):8.1f} {unit}", flush=True)


def measure_table(folder):
    root = make_store(folder, "many", f"big:{runs}:50")
    server = Server(folder, "-r", root)
    with Browser() as b:
        b.open(server.url)
        b.cdp("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        print_row(f"first rows of {runs:,} runs",
                  [first_rows(b, server) for _ in range(rounds)])
        log = subprocess.Popen(
            ["gtrack", "log", "-r", root, "added"], cwd=folder,
            stdin=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL)
        b.open("about:blank")
        b.open(server.base + "#columns=name,train/loss")
        painted(b, ROW)
        print_row("from logging a point until it is on the page",
                  [new_point(b, log, f"{7 + i}.125") for i in range(rounds)])
        log.stdin.close()
        log.wait()
    measure_pages(server, root)
    print_row(f"memory of the server with {runs:,} runs", [memory(server)],
              "MiB")
    server.end()


class OpenPage(threading.Thread):
    """What an open page asks: the events, and when a run has changed the table
    and the figure of the losses."""

    def __init__(self, server, run):
        super().__init__(daemon=True)
        url = urllib.parse.urlsplit(server.url)
        self.base = server.base
        self.cookie = (f"gtrack-{url.port}=" +
                       urllib.parse.parse_qs(url.query)["token"][0])
        self.run_id = run
        self.answers = 0

    def ask(self, path):
        return urllib.request.urlopen(urllib.request.Request(
            self.base + path, headers={"Cookie": self.cookie}))

    def run(self):
        try:
            self.follow()
        except OSError:
            pass  # the server has ended

    def follow(self):
        with self.ask("api/events?store=0") as events:
            for line in events:
                if not line.startswith(b"data:"):
                    continue
                for path in ("api/runs?limit=100&store=0",
                             f"api/figure?kind=loss&runs={self.run_id}"
                             "&store=0&width=600"):
                    with self.ask(path) as answer:
                        answer.read()
                self.answers += 1


def processor_time(server):
    with open(f"/proc/{server.process.pid}/stat") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure_pages(server, root, pages=20, seconds=20):
    log = subprocess.Popen(
        ["gtrack", "log", "-r", root, "running"], stdin=subprocess.PIPE,
        text=True, stderr=subprocess.DEVNULL)
    log.stdin.write('{"train/loss": 3}\n')
    log.stdin.flush()
    time.sleep(3)
    run = subprocess.run(["gtrack", "ls", "-r", root, "-c", "id", "--tsv",
                          "--no-header", "-w", "name = 'running'"],
                         check=True, capture_output=True, text=True)
    opened = [OpenPage(server, run.stdout.strip()) for _ in range(pages)]
    for page in opened:
        page.start()
    time.sleep(3)
    begin, answers = processor_time(server), sum(p.answers for p in opened)
    for i in range(seconds):
        log.stdin.write(f'{{"train/loss": {3 - i / 100}}}\n')
        log.stdin.flush()
        time.sleep(1)
    share = (processor_time(server) - begin) / seconds
    assert sum(p.answers for p in opened) > answers + pages * seconds / 4
    print_row(f"{pages} open pages, a point a second", [100 * share],
              "% of a core")
    log.stdin.close()
    log.wait()


def measure_chart(folder):
    root = make_store(folder, "long", f"big:{curves}:{points}")
    cold, first, again, spent, most = [], [], [], [], []
    for _ in range(rounds):
        server = Server(folder, "-r", root)
        with Browser() as b:
            b.open(server.url)
            b.cdp("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
            begin = processor_time(server)
            (first if cold else cold).append(click_to_chart(b, server))
            spent.append(1000 * (processor_time(server) - begin))
            again.append(click_to_chart(b, server))
        most.append(memory(server))
        server.end()
    print_row(f"chart of {curves} runs of {points:,} points, never read", cold)
    print_row("the same chart, the first time of a server", first)
    print_row("processor time of the server for it", spent[1:])
    print_row("the same chart again", again)
    print_row("memory of the server with these runs", most, "MiB")


def measure_memory(folder):
    root = make_store(folder, "most", f"big:{10 * runs}:50")
    server = Server(folder, "-r", root)
    with Browser() as b:
        b.open(server.url)
        b.wait(f"document.querySelector('{ROW}')")
    print_row(f"memory of the server with {10 * runs:,} runs",
              [memory(server)], "MiB")
    server.end()


with tempfile.TemporaryDirectory() as work:
    os.environ["GTRACK_CACHE"] = os.path.join(work, "cache")
    print(f"gtrack serve in Chromium, median of {rounds}:")
    measure_table(work)
    measure_chart(work)
    measure_memory(work)
