# page.py - measure the page of gtrack serve in a browser
#
# usage: page.py MKRUNS [RUNS [CURVES [POINTS [ROUNDS]]]]
#
# Prints medians of ROUNDS (5): the time until the first rows of RUNS runs
# (1,000) are painted; from the click on Charts until CURVES runs (20) of POINTS
# points (100,000) are painted, the first time and later; and from logging a
# point until the page shows it; and the memory of the server.  It needs
# chromium and chromedriver.  Run it in the build folder (make bench-page).
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "t", "page"))
from browser import Browser, Server  # noqa: E402

mkruns = os.path.abspath(sys.argv[1])
runs, curves, points, rounds = [
    int(v) for v in sys.argv[2:6] + ["1000", "20", "100000", "5"][
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
    print_row("most memory of the server", [memory(server)], "MiB")
    server.end()


def measure_chart(folder):
    root = make_store(folder, "long", f"big:{curves}:{points}")
    server = Server(folder, "-r", root)
    with Browser() as b:
        b.open(server.url)
        b.cdp("Page.addScriptToEvaluateOnNewDocument", {"source": WATCH})
        times = [click_to_chart(b, server) for _ in range(rounds + 1)]
    print_row(f"chart of {curves} runs of {points:,} points, first time",
              times[:1])
    print_row("the same chart again", times[1:])
    server.end()


with tempfile.TemporaryDirectory() as work:
    print(f"gtrack serve in Chromium, median of {rounds}:")
    measure_table(work)
    measure_chart(work)
