# page.py - what the page of gtrack serve does in a browser, as TAP
#
# usage: page.py FOLDER MKRUNS
#
# FOLDER has the store "runs", which is the one of the environment, and is free
# for what else is written.  MKRUNS is the program t/lib/mkruns.
import base64
import contextlib
import json
import os
import re
import struct
import subprocess
import sys
import urllib.parse

import browser
from browser import Browser, Server
from harness import equal, run_tests, test

folder, mkruns = sys.argv[1:3]
store = os.path.join(folder, "runs")
ALT, ENTER, LEFT = "\ue00a", "\ue007", "\ue012"
ESCAPE, TAB = "\ue00c", "\ue004"


def gtrack(*arguments):
    return browser.gtrack(folder, *arguments)


@contextlib.contextmanager
def other_server(p, *options):
    """Another server, whose requests and errors are not those of the page."""
    p.keep_requests()
    server = Server(folder, *options)
    try:
        yield server
    finally:
        p.browser.open("about:blank")
        server.end()
        p.browser.requested()
        p.browser.console()


def ids_of(*names):
    return browser.ids_of(folder, *names)


RATES = ("run1", "run2", "run3")
ALIKE = ("a-long-beginning-of-names-1e-3", "a-long-beginning-of-names-1e-4")
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAADklEQVR4nGNoAAMGCAUAKg4GAR"
    "WeQtcAAAAASUVORK5CYII=")
WAV = (b"RIFF" + struct.pack("<I", 36 + 800) + b"WAVEfmt " + struct.pack(
    "<IHHIIHH", 16, 1, 1, 8000, 8000, 1, 8) + b"data" +
    struct.pack("<I", 800) + 800 * b"\x80")
WIDE = 60 * "wide"
LONG = "<b>&\"" + 40 * "long"


# The table.

@test("the table of the page has the runs of the store")
def table(p):
    p.go()
    p.await_text(".count", "run")
    count = int(gtrack("ls", "-c", "name", "--no-header", "--tsv").count("\n"))
    p.await_text(".count", f"{count} runs")
    assert "run1" in p.names(), p.names()


@test("the page comes in three files")
def three_files(p):
    p.keep_requests()
    p.go()
    p.await_text(".count", "run")
    equal(sorted({u.removeprefix(p.server.base).split("#")[0]
                  for u in p.keep_requests() if "/api/" not in u and
                  u.startswith(p.server.base)}),
          ["", "page/main.js", "page/style.css"])


@test("a filter that is typed selects rows and is kept in the address")
def filter_rows(p):
    p.go()
    p.browser.type("#filter", "experiment = 'rates'")
    p.await_rows(3)
    equal(sorted(p.names()), ["run1", "run2", "run3"])
    equal(p.state()["filter"], "experiment = 'rates'")


@test("a filter that is typed has a list of words that go on from it")
def words(p):
    def offered():
        return p.browser.run("return [...document.querySelectorAll("
                             "'datalist option')].map(o => o.value)")
    gtrack("tag", "run1", "phase=warm")
    p.go()
    p.await_text(".count", "run")
    for typed, wanted in (
            ("val/l", ["val/loss"]), ("nam", ["name"]),
            ("params.model.wi", ["params.model.width"]),
            ("min(val/lo", ["min(val/loss"]), ("tags.ph", ["tags.phase"]),
            ("status = 'f", ["status = 'FINISHED'", "status = 'FAILED'"]),
            ("status in ('FAILED', 'sta", ["status in ('FAILED', 'STALE'"]),
            ("optim.lr = 1 and optim.l", ["optim.lr = 1 and optim.lr"]),
            ("nothing.like", [])):
        p.browser.type("#filter", typed)
        equal(offered()[:len(wanted) or 1], wanted)
    p.browser.type("#filter", "status = ")
    equal(len(offered()), 8)
    equal(p.axe(), [])
    p.browser.console()  # of filters that are not complete


@test("a wrong filter is answered by a sentence on the page")
def wrong_filter(p):
    p.go(filter="los <")
    p.await_text(".problem", "value")
    p.browser.console()


@test("a click on the head of a column sorts the table by it")
def sort(p):
    p.go(filter="experiment = 'rates'", columns="name,val/loss")
    p.await_rows(3)
    p.browser.click("[data-focus='head-metrics.val/loss']")
    p.browser.wait("document.querySelector('[aria-sort=ascending]')")
    equal(p.names(), gtrack("ls", "-w", "experiment = 'rates'", "--sort", "val/loss",
                 "-c", "name", "--no-header", "--tsv").split())
    p.browser.click("[data-focus='head-metrics.val/loss']")
    p.browser.wait("document.querySelector('[aria-sort=descending]')")


@test("the best value of a column is marked")
def best(p):
    p.go(filter="experiment = 'rates'", columns="name,min(val/loss)")
    p.await_rows(3)
    equal(p.browser.run("return document.querySelector('td.best')"
                        ".parentNode.querySelector('a').textContent"), "run2")


@test("chosen columns are shown and survive a reload")
def columns(p):
    p.go(filter="experiment = 'rates'", columns="name,lr")
    p.await_rows(3)
    p.browser.run("[...document.querySelectorAll('button')].find(b =>"
                  "b.textContent === 'Columns…').click()")
    p.browser.wait("document.querySelector('dialog .column-list input')")
    p.browser.run("[...document.querySelectorAll('dialog .check')].find(l =>"
                  "l.textContent === 'model.width').querySelector('input').click()")
    p.browser.wait("document.querySelector('[data-focus=\"head-params.model.width\"]')")
    p.browser.call("POST", "/refresh", {})
    p.browser.wait("document.querySelector('[data-focus=\"head-params.model.width\"]')")
    equal(p.state()["columns"], "name,lr,params.model.width")


@test("a column is moved by the keyboard")
def move_column(p):
    p.go(filter="experiment = 'rates'", columns="name,lr,width")
    p.await_rows(3)
    p.browser.run("document.querySelector('[data-focus=\"head-params.model.width\"]')"
                  ".focus()")
    p.browser.act([{"type": "key", "id": "keys", "actions": [
        {"type": "keyDown", "value": ALT}, {"type": "keyDown", "value": LEFT},
        {"type": "keyUp", "value": LEFT}, {"type": "keyUp", "value": ALT}]}])
    p.browser.wait("location.hash.includes("
                   "'name,params.model.width,params.optim.lr')")


@test("a column is moved by dragging its head onto another")
def drag_column(p):
    p.go(filter="experiment = 'rates'", columns="name,lr,width")
    p.await_rows(3)
    p.browser.run("""
        const dataTransfer = new DataTransfer();
        const drag = (name, type) => document.querySelector(
            `[data-focus="head-params.${name}"]`).dispatchEvent(new DragEvent(
                type, { dataTransfer, bubbles: true, cancelable: true }));
        drag("model.width", "dragstart");
        drag("optim.lr", "dragover");
        drag("optim.lr", "drop");""")
    p.browser.wait("location.hash.includes("
                   "'name,params.model.width,params.optim.lr')")


@test("groups of runs have a row with their means above them")
def groups(p):
    p.go(filter="experiment = 'seeds'", group="lr", columns="lr,val/loss")
    p.await_rows(9)
    p.browser.wait("document.querySelectorAll('.group-row').length === 3")
    p.await_text(".group-row", "±")


@test("the baseline is the first row, and others show their difference")
def baseline(p):
    p.go(filter="experiment = 'rates'", columns="name,val/loss",
         baseline=ids_of("run3"))
    p.await_rows(3)
    equal(p.names()[0], "run3")
    p.browser.wait("[...document.querySelectorAll('.difference')].filter("
                   "e => e.textContent).length === 2")


@test("of many rows, only those in sight are elements of the page")
def few_elements(p):
    many = os.path.join(folder, "many")
    subprocess.run([mkruns, many, "big:300:2"], check=True)
    with other_server(p, "-r", many) as server:
        p.browser.open(server.url)
        p.await_text(".count", "300 runs")
        assert len(p.names()) < 100, len(p.names())
        last = gtrack("ls", "-r", many, "-c", "name", "--tsv", "--no-header",
                      "-n", "300").split()[0]
        p.browser.run("const s = document.querySelector('.scroll');"
                      "s.scrollTop = s.scrollHeight")
        p.await_text(".runs tbody", last)
        assert len(p.names()) < 100, len(p.names())


# Charts.

@test("selected runs are shown in charts of all their metrics")
def charts(p):
    p.go(filter="experiment = 'rates'")
    p.await_rows(3)
    for name in RATES:
        p.browser.click(f"[aria-label='select {name}']")
    p.browser.keys("2")
    p.await_charts()
    equal(p.browser.run("return [...document.querySelectorAll('.run-list a')]"
                        ".map(a => a.textContent)"), list(RATES))
    titles = p.browser.run("return [...document.querySelectorAll('.title')]"
                           ".map(t => t.textContent)")
    assert "Loss" in titles and len(titles) > 2, titles


@test("the pointer lists the exact values of all runs, the highest first")
def values(p):
    p.go(view="charts", runs=ids_of(*RATES), chart="kind:loss", x="step",
         smooth="none")
    p.await_charts()
    p.browser.pointer("canvas.over", (0.7, 0.5))
    title, rows = p.tip()
    numbers = [float(row[1]) for row in rows]
    equal(numbers, sorted(numbers, reverse=True))
    equal(len({row[0].split(",")[0] for row in rows}), 3)
    step = int(float(re.search(r"[\d.]+$", title).group()))
    for name, value, more in rows:
        run, line = name.split(", ")
        metric = "train/loss" if line == "train" else "val/loss"
        at = re.search(r"at ([\d.]+)", more)
        row = gtrack("metrics", run, metric, "--from",
                     str(int(float(at.group(1))) if at else step), "--tsv",
                     "--no-header").split("\n")[0].split("\t")
        assert abs(float(row[-1]) - float(value)) < 1e-6 * abs(float(value)), \
            f"{name}: {value} on the page, {row} in the store"


@test("a drag zooms all charts together, and a double-click goes back")
def zoom(p):
    p.go(view="charts", runs=ids_of(*RATES))
    p.await_charts()
    p.keep_requests()
    p.browser.pointer("canvas.over", (0.4, 0.5), (0.5, 0.5), (0.7, 0.5),
                      press=True)
    p.browser.wait("location.hash.includes('from=')")
    p.browser.wait("!document.querySelector('[aria-busy]')")
    asked = [u for u in p.keep_requests() if "/api/figure" in u]
    assert len(asked) > 1 and all("from=" in u for u in asked), asked
    p.browser.run("document.querySelector('canvas.over').dispatchEvent("
                  "new MouseEvent('dblclick', {bubbles: true}))")
    p.browser.wait("!location.hash.includes('from=')")


@test("a drag along y zooms one chart")
def zoom_y(p):
    p.go(view="charts", runs=ids_of(*RATES), chart="kind:loss")
    p.await_charts()
    p.keep_requests()
    p.browser.pointer("canvas.over", (0.5, 0.3), (0.5, 0.5), (0.5, 0.8),
                      press=True)
    p.browser.wait("performance.getEntriesByType('resource').some(e =>"
                   "e.name.includes('yfrom='))")
    assert "from" not in p.state()


@test("hiding a run, showing one alone and back again change the curves")
def toggles(p):
    p.go(view="charts", runs=ids_of(*RATES), chart="kind:loss")
    p.await_charts()

    def shown():
        p.browser.pointer("canvas.over", (0.6, 0.5), (0.7, 0.5))
        return {row[0].split(",")[0] for row in p.tip()[1]}

    p.browser.click("[aria-label='hide run2']")
    equal(shown(), {"run1", "run3"})
    p.browser.click("[aria-label='hide run2']")
    p.browser.click("[aria-label='show only run1']")
    equal(shown(), {"run1"})
    p.browser.click("[aria-label='show only run1']")
    equal(shown(), set(RATES))


@test("smoothing keeps the raw values in the list")
def smoothing(p):
    p.go(view="charts", runs=ids_of("run1"), chart="kind:loss",
         smooth="ema:0.9")
    p.await_charts()
    p.browser.pointer("canvas.over", (0.6, 0.5))
    rows = [row for row in p.tip()[1] if "train" in row[0]]
    assert rows and "raw" in rows[0][2], rows


@test("the curve nearest to the pointer is emphasised in the values and the list")
def nearest_curve(p):
    p.go(view="charts", runs=ids_of(*RATES), chart="kind:lr")
    p.await_charts()
    seen = set()
    for y in (0.1, 0.3, 0.5, 0.7, 0.9):
        p.browser.pointer("canvas.over", (0.3, y))
        row = p.browser.run("return document.querySelector('.tip .nearest')"
                            ".textContent")
        name = p.browser.run("return document.querySelector("
                             "'.run-list .nearest a').textContent")
        assert row.startswith(name), (row, name)
        seen.add(name)
    assert len(seen) > 1, seen


@test("colours that stand for words have a key")
def words(p):
    p.go(view="charts", runs=ids_of(*RATES), chart="kind:lr",
         colour="param:name")
    p.await_charts()
    p.await_text(".legend", "name run1")
    p.await_text(".legend", "name run3")


@test("names that begin alike are shown without that beginning")
def name_parts(p):
    p.go(view="charts", runs=ids_of(*ALIKE))
    p.browser.wait("document.querySelectorAll('.run-list a').length === 2")
    equal(p.browser.run("return [...document.querySelectorAll('.run-list a')]"
                        ".map(a => a.textContent)"), ["…1e-3", "…1e-4"])


@test("a click on a curve opens its run")
def click_curve(p):
    p.go(view="charts", runs=ids_of("run1"), chart="kind:lr")
    p.await_charts()
    for y in range(5, 95, 3):
        p.browser.pointer("canvas.over", (0.3, y / 100), (0.3, y / 100),
                          press=True)
        if p.state().get("view") == "run":
            break
    equal((p.state()["view"], p.state()["id"]), ("run", ids_of("run1")))


@test("each horizontal axis and scale can be chosen")
def axes(p):
    p.go(view="charts", runs=ids_of("run1"), chart="kind:loss")
    p.await_charts()
    for x in ("tokens", "time", "wall", "step"):
        p.go(view="charts", runs=ids_of("run1"), chart="kind:loss", x=x,
             logy="1")
        p.await_charts()
        panel = figure_of(p)["panels"][0]
        assert panel["y"]["log"] and not panel["x"]["log"], panel
        assert not p.browser.run(
            "return document.querySelector('.problem')?.textContent")


@test("any metric can be the horizontal axis")
def metric_axis(p):
    p.go(view="charts", runs=ids_of("run1"), chart="kind:loss")
    p.await_charts()
    p.browser.wait("[...document.querySelectorAll('.tools option')]"
                   ".some(o => o.value === 'train/lr')")
    p.browser.run("const s = document.querySelector('.tools select');"
                  "s.value = 'train/lr'; s.dispatchEvent(new Event('change'))")
    p.browser.wait("location.hash.includes('x=train')")
    p.await_charts()
    equal(figure_of(p)["panels"][0]["x"]["title"], "train/lr")
    assert not p.browser.run(
        "return document.querySelector('.problem')?.textContent")


@test("a drag zooms an axis that is logarithmic")
def zoom_log(p):
    p.go(view="charts", runs=ids_of("run1"), chart="kind:loss", x="step",
         logx="1")
    p.await_charts()
    axis = figure_of(p)["panels"][0]["x"]
    assert axis["log"], axis
    p.browser.pointer("canvas.over", (0.4, 0.5), (0.5, 0.5), (0.6, 0.5),
                      press=True)
    p.browser.wait("location.hash.includes('from=')")
    p.await_charts()
    first, last = float(p.state()["from"]), float(p.state()["to"])
    # Equal ways are equal ratios: a fifth of the axis ends far below the
    # middle of the steps.
    assert axis["from"] < first < last < axis["to"] / 3, (first, last, axis)


@test("the mean over seeds has a band")
def seeds(p):
    names = [f"seed-{i}-{j}" for i in (1, 2, 3) for j in (1, 2, 3)]
    p.go(view="charts", runs=ids_of(*names), chart="kind:loss", mean="lr")
    p.await_charts()
    p.browser.pointer("canvas.over", (0.6, 0.5))
    rows = p.tip()[1]
    assert any(" to " in row[2] for row in rows), rows
    equal(p.browser.run("return document.querySelectorAll('.legend span')"
                        ".length"), 6)
    assert "lr" in p.browser.run("return [...document.querySelectorAll("
                                 "'.tools select')].map(s => s.value)")
    equal(len(set(colours_in_list(p).values())), 1)


@test("the legend shows the plain line of runs, whichever comes first")
def plain_line(p):
    names = [f"seed-{i}-{j}" for i in (3, 2, 1) for j in (3, 2, 1)]
    p.go(view="charts", runs=ids_of(*names), chart="kind:loss")
    p.await_charts()
    equal(p.browser.run("return document.querySelector('.legend i')"
                        ".className"), "line dash0")


def figure_of(p):
    """The figure that the large chart asked for last, as the server sends
    it."""
    url = p.browser.wait(
        "performance.getEntriesByType('resource').filter(e =>"
        "e.name.includes('/api/figure')).at(-1)?.name")
    return p.browser.call("POST", "/execute/async", {"args": [url], "script":
        "const [url, done] = arguments;"
        "fetch(url).then(r => r.json()).then(done)"})


def colours_in_list(p):
    """The colours of the swatches beside the runs, by name."""
    return dict(p.browser.run(
        "return [...document.querySelectorAll('.run-list li')].map(l =>"
        "[l.querySelector('a').textContent,"
        "getComputedStyle(l.querySelector('.swatch')).backgroundColor])"))


@test("runs are coloured by a parameter, and a ramp says the numbers")
def ramp(p):
    p.go(view="charts", runs=ids_of(*RATES), chart="kind:loss",
         colour="param:optim.lr")
    p.await_charts()
    p.browser.wait("document.querySelector('.ramp')")
    text = p.browser.run(
        "return document.querySelector('.ramp').parentElement.textContent")
    assert "lr 0.0003" in text, text
    panel = figure_of(p)["panels"][0]
    equal((panel["ramp"]["from"], panel["ramp"]["to"]), (0.0003, 0.0012))
    equal(len(set(colours_in_list(p).values())), 3)


def see_two_groups(p, **how):
    """the two seeds of a learning rate have one colour, the others another"""
    names = [f"seed-{i}-{j}" for i in (1, 2) for j in (1, 2)]
    p.go(view="charts", runs=ids_of(*names), chart="kind:loss", **how)
    p.await_charts()
    colours = colours_in_list(p)
    equal(len(set(colours.values())), 2)
    equal(colours["seed-1-1"], colours["seed-1-2"])
    equal(colours["seed-2-1"], colours["seed-2-2"])


@test("runs of one group have one colour")
def group_colour(p):
    see_two_groups(p, colour="param:lr")


@test("colour by group gives the runs of each group of the table one colour")
def table_group_colour(p):
    see_two_groups(p, colour="group", group="lr")


@test("resumes and values that are not numbers are marked")
def marks(p):
    for run, mark, kind in (("resumed", "resume", "at-x"),
                            ("broken", "", "nan")):
        p.go(view="charts", runs=ids_of(run), chart="kind:loss", mark=mark)
        p.await_charts()
        kinds = [m["kind"] for m in figure_of(p)["panels"][0]["marks"]]
        assert kind in kinds, (run, kinds)


@test("outliers are above the chart until they are asked for")
def outliers(p):
    highest = []
    for wanted in ("", "1"):
        p.go(view="charts", runs=ids_of("spiky"), chart="kind:loss",
             outliers=wanted)
        p.await_charts()
        highest.append(figure_of(p)["panels"][0]["y"]["to"])
    assert highest[0] < 8 < highest[1], highest


@test("spikes are circled, and the note says which command shows the batch")
def spikes(p):
    p.go(view="charts", runs=ids_of("spiky"), chart="kind:loss", mark="spike")
    p.await_charts()
    p.await_text(".notes", "1 spike circled")
    p.await_text(".notes", "gtrain batch spiky 150")


@test("the circle of a spike opens a note whose command can be copied")
def spike_note(p):
    p.go(view="charts", runs=ids_of("spiky"), chart="kind:loss", mark="spike")
    p.await_charts()
    p.browser.wait("document.querySelector('.mark')")
    equal(p.browser.run("return document.querySelectorAll('.mark').length"), 1)
    p.browser.click(".mark")
    p.await_text(".mark-note code", "gtrain batch spiky 150")
    p.browser.click(".mark-note .copy")
    p.await_text("#announcement", "gtrain batch spiky 150")
    p.browser.keys(ESCAPE)
    p.browser.wait("!document.querySelector('.mark-note')")


@test("the keyboard opens the note of a spike and returns to its circle")
def spike_note_by_key(p):
    p.go(view="charts", runs=ids_of("spiky"), chart="kind:loss", mark="spike")
    p.await_charts()
    p.browser.wait("document.querySelector('.mark')")
    p.browser.run("document.querySelector('.over').focus()")
    p.browser.keys(TAB)
    equal(p.browser.run("return document.activeElement.className"), "mark")
    p.browser.keys(ENTER)
    p.await_text(".mark-note code", "gtrain batch spiky 150")
    p.browser.keys(ESCAPE)
    equal(p.browser.run("return document.activeElement.className"), "mark")


@test("GPU hours and FLOPs are horizontal axes of runs that record them")
def costs(p):
    for x, axis in (("gpuh", "GPU hours"), ("flops", "FLOPs")):
        p.go(view="charts", runs=ids_of("priced"), chart="kind:loss", x=x)
        p.await_charts()
        equal(figure_of(p)["panels"][0]["x"]["title"], axis)
    p.go(view="charts", runs=ids_of("spiky"), chart="kind:loss", x="gpuh")
    p.await_text(".problem", "no GPU")


PANELS = "loss,train/loss+val/loss|train/lr!"


def titles(p):
    p.await_charts()
    return p.browser.run("return [...document.querySelectorAll('.title')]"
                         ".map(t => t.textContent)")


@test("panels of one's own come first, with metrics together and two axes")
def panels(p):
    p.go(view="charts", runs=ids_of(*RATES), panels=PANELS)
    equal(titles(p)[:2], PANELS.replace("!", "").split(","))
    wide = p.browser.run("return [...document.querySelectorAll('.chart')]"
                         ".map(c => c.offsetWidth)")
    assert wide[1] > 1.8 * wide[0], wide
    p.browser.wait("[...document.querySelectorAll('.notes')].length > 1")
    p.go(view="charts", runs=ids_of(*RATES), chart="panel:" + PANELS[5:],
         panels=PANELS)
    p.await_charts()
    panel = figure_of(p)["panels"][0]
    equal(panel["y2"]["title"], "learning rate")
    equal({c["line"] for c in panel["curves"]},
          {"train/loss", "val/loss", "learning rate"})
    p.browser.keys("c")
    p.await_text("#announcement", "gplot dashboard --panels")


@test("expressions over metrics are panels, and an error names the place")
def expressions(p):
    p.go(view="charts", runs=ids_of(*RATES),
         panels="val/loss - train/loss,exp(val/loss)+val/loss,lr - 2 )")
    equal(titles(p)[:3], ["val/loss - train/loss", "exp(val/loss)+val/loss",
                          "lr - 2 )"])
    p.browser.wait("document.querySelector('.problem')")
    equal(p.browser.run("return document.querySelector('.problem')"
                        ".textContent"),
          "expression: an operator is expected at: )")
    p.go(view="charts", runs=ids_of("run1"), chart="panel:val/loss - train/loss",
         panels="val/loss - train/loss")
    p.await_charts()
    panel = figure_of(p)["panels"][0]
    equal(panel["y"]["title"], "val/loss - train/loss")
    assert len(panel["curves"][0]["y"]) > 2, panel["curves"]
    p.browser.keys("c")
    p.await_text("#announcement", "--panels 'val/loss - train/loss'")


@test("the panels may call a run by another name, and give it a colour")
def aliases(p):
    p.go(view="charts", runs=ids_of(*RATES), chart="kind:loss",
         panels="lr,run1=ours,run1#=5")
    p.await_charts()
    equal(p.browser.run("return [...document.querySelectorAll('.run-list a')]"
                        ".map(a => a.textContent)").count("ours"), 1)
    curve = [c for c in figure_of(p)["panels"][0]["curves"]
             if c["name"] == "run1"][-1]
    assert curve["label"].startswith("ours"), curve["label"]
    p.browser.pointer("canvas.over", (0.5, 0.5))
    assert any("ours" in row[0] for row in p.tip()[1]), p.tip()
    p.browser.keys("c")
    p.await_text("#announcement", "--alias run1=ours --alias 'run1#=5'")
    p.go(view="charts", runs=ids_of(*RATES), panels="lr,run1=ours")
    equal(titles(p)[:2], ["lr", "Loss"])


@test("a chart is pinned to the panels, and panels are saved under a name")
def pin(p):
    with other_server(p, "--edit") as server:
        p.browser.open(server.url)
        p.browser.open("about:blank")
        p.browser.open(f"{server.base}#view=charts&runs={ids_of('run1')}"
                       "&chart=kind:lr&panels=loss")
        p.await_charts()
        p.browser.run("[...document.querySelectorAll('button')].find(b =>"
                      "b.textContent === 'Pin').click()")
        p.browser.wait("location.hash.includes('panels=loss,lr')")
        equal(titles(p)[:2], ["loss", "lr"])
        p.browser.wait("[...document.querySelectorAll('.field')].some(f =>"
                       "f.textContent === 'Save panels as')")
        p.browser.run("[...document.querySelectorAll('.field')].find(f =>"
                      "f.textContent === 'Save panels as')"
                      ".querySelector('input').id = 'save'")
        p.browser.type("#save", "night" + ENTER)
        p.await_text("#announcement", "Saved as night")
    with open(os.path.join(store, "panels.json")) as f:
        equal(json.load(f), {"night": "loss,lr"})
    p.go(view="charts", runs=ids_of("run1"))
    p.browser.wait("[...document.querySelectorAll('option')].some(o =>"
                   "o.textContent === 'night')")
    p.browser.run("const s = [...document.querySelectorAll('select')].find(s =>"
                  "[...s.options].some(o => o.textContent === 'night'));"
                  "s.value = 'loss,lr'; s.dispatchEvent(new Event('change'))")
    p.browser.wait("location.hash.includes('panels=loss,lr')")
    equal(titles(p)[:2], ["loss", "lr"])


@test("charts are found by a part of their name")
def find(p):
    p.go(view="charts", runs=ids_of("run1"))
    p.await_charts()
    p.browser.type("#find", "throughput")
    p.browser.wait("document.querySelectorAll('.chart').length === 1")


@test("the keyboard reads values, zooms and enlarges a chart")
def keyboard(p):
    p.go(view="charts", runs=ids_of(*RATES))
    p.await_charts()
    p.browser.run("document.querySelector('canvas.over').focus()")
    p.browser.keys(LEFT)
    first = p.tip()[0]
    p.browser.keys(LEFT)
    assert p.tip()[0] != first, first
    p.browser.keys("+")
    p.browser.wait("location.hash.includes('from=')")
    p.browser.keys("0")
    p.browser.wait("!location.hash.includes('from=')")
    p.browser.keys(ENTER)
    p.browser.wait("document.querySelector('.chart.large')")
    p.browser.call("POST", "/back", {})
    p.browser.wait("!document.querySelector('.chart.large')")


@test("an enlarged chart can be downloaded as SVG, PDF and PNG")
def download(p):
    p.go(view="charts", runs=ids_of("run1"), chart="kind:loss")
    p.await_charts()
    for word, begins in (("SVG", "<"), ("PDF", "%PDF"), ("PNG", "\x89PNG")):
        text = p.browser.call("POST", "/execute/async", {"args": [word],
            "script": """
            const [word, done] = arguments;
            const a = [...document.querySelectorAll('a.button')].find(a =>
                a.textContent === word);
            a.addEventListener('click', e => e.preventDefault());
            a.click();
            fetch(a.href).then(r => r.arrayBuffer()).then(b => done(
                String.fromCharCode(...new Uint8Array(b).slice(0, 4))));
            """})
        assert text.startswith(begins), (word, text)


# Comparison and one run.

@test("the comparison shows what differs, and what matters with its number")
def compare(p):
    names = [f"grid-{i:02}" for i in range(1, 13)]
    p.go(view="compare", runs=ids_of(*names))
    p.await_text("[aria-label=Parameters]", "width")
    p.await_text("[aria-label='Parameters that matter']", "12")
    p.browser.wait("document.querySelectorAll('.spread path').length === 12")
    p.browser.wait("document.querySelectorAll('.spread circle').length === 12")
    p.browser.wait("document.querySelectorAll("
                   "'[aria-label=\"Map over two parameters\"] td.number')"
                   ".length === 12")
    p.await_text("[aria-label='Difference of two runs'] td", "param")


@test("the comparison draws the best values over one parameter as gplot does")
def sweep(p):
    p.go(view="compare", runs=ids_of(*RATES), across="optim.lr",
         metric="val/loss")
    sweep = "[aria-label='Sweep over one parameter']"
    p.await_charts(f"{sweep} canvas")
    panel = figure_of(p)["panels"][0]
    equal(panel["curves"][0]["x"], [0.0003, 0.0006, 0.0012])
    p.browser.pointer(f"{sweep} canvas.over", (0.02, 0.5), (0.5, 0.5))
    assert "0.0006" in p.tip()[0], p.tip()


@test("the name of a parameter leaves the values of a comparison in sight")
def wide_name(p):
    p.go(view="compare", runs=ids_of("spiky", "broken"))
    p.await_text("[aria-label=Parameters]", WIDE)
    left = p.browser.run("return document.querySelector("
                         "'[aria-label=Parameters] tbody td')"
                         ".getBoundingClientRect().left")
    assert left < 640, left


@test("a run has its parameters, its metrics and its charts")
def one_run(p):
    p.go(view="run", id=ids_of("run1"))
    p.await_text("h1", "run1")
    p.await_text("[aria-label=Parameters]", "lr")
    p.await_text("[aria-label=Metrics]", "val/loss")
    p.await_charts()


@test("the use of the processor and of the GPU has a curve for each rank")
def by_rank(p):
    for find in ("cpu_util", "gpu_util"):
        p.go(view="run", id=ids_of("two-ranks"), find=find)
        p.await_charts()
        p.browser.pointer("canvas.over", (0.6, 0.5))
        equal(sorted(row[0] for row in p.tip()[1]),
              2 * ["two-ranks, rank 0"] + 2 * ["two-ranks, rank 1"])
        equal(p.browser.run("return document.querySelector('.legend')"
                            ".textContent"), "rank 0rank 1")


@test("a run that was resumed has a row for each attempt")
def attempts(p):
    p.go(view="run", id=ids_of("resumed"))
    p.await_text("[aria-label=Attempts]", "started")
    equal(p.browser.run("return [...document.querySelectorAll("
                        "'[aria-label=Attempts] tbody tr')].map(r => "
                        "[...r.cells].slice(0, 2).map(c => c.textContent))"),
          [["1", "FINISHED"], ["2", "FINISHED"]])


@test("the note of a run is Markdown, and its markup stays text")
def note(p):
    gtrack("note", "run1", "# Head\n**bold** <img src=x onerror="
           "alert(1)> [x](javascript:alert(1)) [y](https://example.org)\n\n"
           "| loss | why |\n|---:|:--|\n| 3.1 | **low** |\n\n> as in\n"
           "> https://example.net/a_b.\n\n" + 300 * "long")
    p.go(view="run", id=ids_of("run1"))
    p.await_text("[aria-label=Note] strong", "bold")
    p.await_text("[aria-label=Note]", "<img src=x")
    assert not p.browser.run("return document.querySelector("
                             "'[aria-label=Note] img')")
    equal(p.browser.run("return [...document.querySelectorAll("
                        "'[aria-label=Note] a')].map(a => a.href)"),
          ["https://example.org/", "https://example.net/a_b"])
    equal(p.browser.run("return getComputedStyle(document.querySelector("
                        "'[aria-label=Note] a')).textDecorationLine"),
          "underline")
    equal(p.browser.run("return [...document.querySelectorAll("
                        "'[aria-label=Note] table tr')].map(r =>"
                        "[...r.cells].map(c => c.tagName + c.textContent))"),
          [["THloss", "THwhy"], ["TD3.1", "TDlow"]])
    p.await_text("[aria-label=Note] blockquote", "as in")
    wide = p.browser.run("return document.documentElement.scrollWidth")
    assert wide <= 1280, wide


@test("a character that reverses a note is shown as its number")
def reversing(p):
    gtrack("note", "run2", "one \u202etwo")
    p.go(view="run", id=ids_of("run2"))
    p.await_text("[aria-label=Note]", "one <U+202E>two")


@test("names of runs and metrics from the store stay text")
def odd_names(p):
    p.go(filter="experiment = 'odd'")
    p.browser.wait("document.querySelectorAll('.runs tbody a').length > 2")
    assert any("&\"b'" in name for name in p.names()), p.names()


SVG = """<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">
<script>parent.document.title = "run"</script><rect width="9" height="9"/></svg>
"""


@test("artifacts are text, tables and images in folders, and run no script")
def artifacts(p):
    run = gtrack("where", "run2").strip()
    files = {"table.csv": 'a,b\n1,"x, y"\n', "c.json": '{"k":[1,2]}',
             "page.html": "<script>document.title = 'run'</script>",
             "image.svg": SVG, "samples/step-10.txt": "The cat",
             "samples/step-20.txt": "The <b>dog"}
    for name, text in files.items():
        path = os.path.join(run, "artifacts", name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as out:
            out.write(text)
    p.go(view="run", id=ids_of("run2"))

    def show(name):
        p.await_text("[aria-label=Artifacts]", name)
        p.browser.run("[...document.querySelectorAll('button.link')].find("
                      "b => b.textContent === arguments[0]).click()", name)
        p.await_text(".file h3", name)

    show("table.csv")
    p.browser.wait("document.querySelector('.file td:last-child')"
                   "?.textContent === 'x, y'")
    show("c.json")
    p.await_text(".file pre", '"k": [')
    show("page.html")
    p.await_text(".file pre", "<script>")
    show("image.svg")
    p.browser.wait("document.querySelector('.file img')?.naturalWidth === 9")
    p.await_text("[aria-label=samples]", "The <b>dog")
    p.browser.run("const r = document.querySelector("
                  "'[aria-label=samples] input'); r.value = 0;"
                  "r.dispatchEvent(new Event('input'))")
    p.await_text("[aria-label=samples]", "The cat")
    assert "run" != p.browser.run("return document.title")
    seen = ("return [...document.querySelectorAll('[aria-label=Artifacts] tr')]"
            ".filter(e => e.checkVisibility()).map(e => e.textContent).join()")
    assert "step-10" not in p.browser.run(seen)
    p.browser.click("[aria-label=Artifacts] details summary")
    assert "step-10" in p.browser.run(seen)


@test("media of runs are shown side by side by a slider for the step")
def media(p):
    for run, steps in (("run1", (1, 5)), ("run3", (1, 9))):
        base = os.path.join(gtrack("where", run).strip(), "artifacts")
        for step in steps:
            for name, data in (
                    (f"images/sample~{run[3]}+step+{step}+timestamp+7+f0.png",
                     PNG), (f"images/both+step+{step}+timestamp+7+f1.png", PNG),
                    (f"audio/tone/{step}.wav", WAV),
                    (f"audio/tone/{step}.txt", f"{run} <b>{step}".encode()),
                    (f"tables/words/{step}.json", json.dumps({
                        "columns": ["word", "n"],
                        "data": [["<i>", step]]}).encode())):
                path = os.path.join(base, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "wb") as out:
                    out.write(data)
    p.go(view="charts", runs=ids_of("run1", "run3"))
    p.await_text(".media", "both")
    part = "[aria-label=both]"

    def steps():
        return p.browser.run(
            "return [...document.querySelectorAll(arguments[0])].map(e =>"
            "e.innerText.trim())", f"{part} figcaption")

    equal(steps(), ["run1 step 5", "run3 step 9"])
    p.browser.wait(f"[...document.querySelectorAll('{part} img')].filter(i =>"
                   "i.naturalWidth === 2).length === 2")
    p.browser.run("const r = document.querySelector(arguments[0]); r.value = 0;"
                  "r.dispatchEvent(new Event('input'))", f"{part} input")
    equal(steps(), ["run1 step 1", "run3 step 1"])
    p.await_text("[aria-label=tone]", "run3 <b>9")
    p.browser.wait("[...document.querySelectorAll('audio')].every(a =>"
                   "a.duration > 0.09)")
    equal(p.browser.run("return document.querySelector('[aria-label=words] td')"
                        ".textContent"), "<i>")
    p.go(view="run", id=ids_of("run3"))
    p.await_text(".media", "sample/3")
    equal(steps(), ["step 9"])


@test("a histogram is a map whose cells the pointer and the keyboard read")
def histogram(p):
    base = os.path.join(gtrack("where", "run1").strip(), "artifacts/histograms")
    os.makedirs(base, exist_ok=True)
    with open(os.path.join(base, "weights.jsonl"), "w") as out:
        for step in (10, 20, 30):
            out.write(json.dumps({"step": step, "values": [1, 3],
                                  "bins": [0, 16, 32]}) + "\n")
    p.go(view="run", id=ids_of("run1"), chart=f"hist:weights:{ids_of('run1')}")
    p.await_charts()
    p.browser.pointer("canvas.over", (0.5, 0.2))
    text = "return document.querySelector('.tip').textContent"
    equal(p.browser.run(text).split(":")[0].split(",")[0], "step 20")
    # a row is 1 of 16 in the upper half, which has three quarters
    assert p.browser.run(text).endswith(": 4.7 percent"), p.browser.run(text)
    p.browser.run("document.querySelector('canvas.over').focus()")
    p.browser.keys(LEFT)
    p.browser.wait("document.querySelector('.tip').textContent"
                   ".startsWith('step 10')")
    p.await_text(".legend", "percent")


@test("axe finds nothing wrong in media, maps, panels and notes")
def axe(p):
    for state in ({"view": "run", "id": ids_of("run1")},
                  {"view": "run", "id": ids_of("run2")},
                  {"view": "charts", "runs": ids_of(*RATES), "panels": PANELS},
                  {"view": "compare", "runs": ids_of(*RATES)}):
        for width, theme in ((390, "dark"), (1280, "light")):
            with p.wide(width):
                p.go(theme=theme, **state)
                p.await_view()
                found = p.axe()
                assert not found, (state, width, theme, found)


@test("notes, tags and deletion are changed on the page of a server with --edit")
def edited(p):
    p.go(view="run", id=ids_of("run3"))
    p.await_text("h1", "run3")
    assert not p.browser.run("return document.querySelector('main textarea,"
                             "[title=\"Change the note of this run\"]')")
    with other_server(p, "--edit") as server:
        p.browser.open(server.url)
        p.browser.open("about:blank")
        p.browser.open(f"{server.base}#view=run&id={ids_of('run3')}")
        p.browser.click("[title='Change the note of this run']")
        p.browser.type("textarea", "**better** than before")
        p.browser.click("[title='Save the note']")
        p.await_text("[aria-label=Note] strong", "better")
        p.browser.type("[aria-label=Note] input", "state=good" + ENTER)
        p.await_text(".tags", "state = good")
        equal(gtrack("note", "run3").strip(), "**better** than before")
        p.browser.click("[title='Move this run to the deleted ones']")
        p.browser.find("[title='Move this run back from the deleted ones']")
        assert "run3" in gtrack("ls", "-d", "-c", "name", "--tsv")
        assert "run3" not in gtrack("ls", "-c", "name", "--tsv")
        p.browser.click("[title='Move this run back from the deleted ones']")
        p.browser.find("[title='Move this run to the deleted ones']")
        assert "run3" in gtrack("ls", "-c", "name", "--tsv")


@test("another store is chosen at the top of the page")
def stores(p):
    other = os.path.join(folder, "other")
    subprocess.run([mkruns, other, "hella"], check=True)
    with other_server(p, "-r", store, "-r", other) as server:
        p.browser.open(server.url)
        p.browser.wait("document.querySelector('#store select')")
        p.browser.run("const s = document.querySelector('#store select');"
                      "s.value = '1'; s.dispatchEvent(new Event('change'))")
        p.await_rows(1)
        equal(p.names(), ["gpt2-124M"])
        assert "store=1" in p.browser.run("return location.hash")


# Commands, addresses, keys.

@test("the copied command prints the same table")
def copied(p):
    p.go(filter="experiment = 'rates'", columns="name,lr", sort="-lr")
    p.await_rows(3)
    p.browser.run("document.querySelector('#actions .copy').click()")
    p.await_text("#announcement", ":")
    text = p.browser.run("return document.getElementById('announcement')"
                         ".textContent").split(": ", 1)[1]
    command = text.removeprefix("The command is: ")
    done = subprocess.run(command + " --no-header --tsv", shell=True,
                          cwd=folder, check=True, capture_output=True,
                          text=True)
    equal([line.split("\t")[0] for line in done.stdout.splitlines()],
          p.names())


@test("the Back button returns to the view before")
def back(p):
    p.go()
    p.await_text(".count", "run")
    p.browser.click("nav a:nth-child(2)")
    p.browser.wait("document.querySelector('.charts-view')")
    p.browser.call("POST", "/back", {})
    p.browser.wait("document.querySelector('.runs-view')")


@test("the fields show what an address has that is opened on the same page")
def fields(p):
    p.go()
    p.await_text(".count", "run")
    p.browser.run("location.hash = 'filter=experiment+=+%27rates%27'")
    p.await_rows(3)
    equal(p.browser.run("return document.querySelector('#filter').value"),
          "experiment = 'rates'")
    p.browser.run(f"location.hash = 'view=charts&runs={ids_of('run1')}'")
    p.await_charts()
    p.browser.run("location.hash += '&x=tokens&smooth=ema:0.9'")
    p.browser.wait("document.querySelector('.tools select').value === 'tokens'"
                   " && document.querySelector('[type=range]').value === '4'")


@test("an address restores the whole view")
def restored(p):
    state = {"view": "charts", "runs": ids_of(*RATES), "chart": "kind:loss",
             "x": "tokens", "smooth": "ema:0.9", "logy": "1",
             "hidden": ids_of("run2"), "theme": "dark"}
    p.go(**state)
    p.await_charts()
    equal(p.state(), state)
    equal(p.browser.run("return document.querySelector('.hidden-run a')"
                        ".textContent"), "run2")
    equal(p.browser.run("return document.querySelector("
                        "'input[type=range]').value"), "4")


VIEWS = ("runs", "charts", "compare", "run")


def go_to_view(p, view):
    p.go(view=view, runs=ids_of(*RATES), id=ids_of("run1"),
         filter="experiment = 'rates'")
    p.await_view()


@test("every control has a name, and the page has its landmarks")
def names_of_controls(p):
    for view in ("runs", "charts", "compare"):
        p.go(view=view, runs=ids_of(*RATES))
        p.browser.wait("document.querySelector('main section h2, "
                       "main table a, .title')")
        nodes = p.browser.cdp("Accessibility.getFullAXTree")["nodes"]
        roles = {n["role"]["value"] for n in nodes if not n.get("ignored")}
        assert {"main", "navigation", "banner"} <= roles, roles
        for n in nodes:
            role = n.get("role", {}).get("value")
            if not n.get("ignored") and role in ("button", "textbox", "link",
                                                 "checkbox", "combobox",
                                                 "slider"):
                assert n.get("name", {}).get("value"), f"{view}: a {role}"


@test("every view has one first heading, and no control is within another")
def structure(p):
    for view in VIEWS:
        go_to_view(p, view)
        equal(p.browser.run("return document.querySelectorAll('h1').length"),
              1)
        equal(p.browser.run(
            "return [...document.querySelectorAll(':is(a, button, summary) "
            ":is(a, button, input, select)')].map(e => e.outerHTML)"), [])
        equal(p.browser.run(
            "return [...document.querySelectorAll('th')].filter(e =>"
            "!e.textContent).map(e => e.outerHTML)"), [])
        equal(p.browser.run(
            "return [...document.querySelectorAll('[role=img]')].filter(e =>"
            "!e.getAttribute('aria-label')).map(e => e.outerHTML)"), [])


@test("the tab key reaches every control of a view, and is seen where it is")
def tab_walk(p):
    for view in VIEWS:
        go_to_view(p, view)
        p.browser.run("""
            window.walked = new Set();
            window.unseen = [];
            document.addEventListener("focusin", e => {
                walked.add(e.target);
                if (getComputedStyle(e.target).outlineStyle === "none")
                    unseen.push(e.target.outerHTML);
            });""")
        before = -1
        while (count := p.browser.run("return walked.size")) > before:
            before = count
            p.browser.keys(*40 * [TAB])
        equal(p.browser.run("return unseen"), [])
        equal(p.browser.run(
            "return [...document.querySelectorAll('a[href], button, input,"
            "select, textarea, summary, [tabindex=\"0\"]')].filter(e =>"
            "e.checkVisibility() && !walked.has(e)).map(e => e.outerHTML)"),
              [])


@test("nothing is wider than the screen, from 390 to 2560 pixels")
def widths(p):
    for width in (390, 768, 1280, 2560):
        for view in VIEWS:
            with p.wide(width):
                p.go(view=view, runs=ids_of(*RATES, LONG), id=ids_of(LONG))
                p.await_view()
                wide = p.browser.run(
                    "return document.documentElement.scrollWidth")
                assert wide <= width, f"{view}: {wide} of {width} pixels"
                p.browser.keys("?")
                p.browser.wait("document.querySelector('dialog[open]')")
                assert p.browser.run(
                    "const d = document.querySelector('dialog');"
                    "return d.scrollWidth <= d.clientWidth"), f"keys at {width}"


@test("the page follows the choice of dark or light")
def dark(p):
    ground = "return getComputedStyle(document.body).backgroundColor"
    p.go()
    light = p.browser.run(ground)
    p.browser.keys("d")
    p.browser.wait("document.documentElement.dataset.theme === 'dark'")
    assert p.browser.run(ground) != light


@test("a printed page leaves out the controls")
def printed(p):
    p.go(view="charts", runs=ids_of(*RATES))
    p.await_charts()
    try:
        p.browser.cdp("Emulation.setEmulatedMedia", {"media": "print"})
        equal(p.browser.run("return getComputedStyle(document.querySelector("
                            "'.tools')).display"), "none")
    finally:
        p.browser.cdp("Emulation.setEmulatedMedia", {"media": ""})


# Live.

TINY = """[model]
layers = 2
heads = 2
width = 16
context = 16
vocab = 32
vocab_multiple = 1
[data]
train = train.bin
[train]
micro_batch = 2
batch = 4
device = cpu
threads = 1
[optim]
lr = 1e-3
[schedule]
steps = 1000000
warmup = 2
[run]
system_every = 0s
name = live
"""


@test("a training that starts appears, and its charts grow but stay zoomed")
def live(p):
    p.go(filter="name = 'live'")
    p.await_text(".runs-view", "No run matches")
    with open(os.path.join(folder, "train.bin"), "wb") as out:
        out.write(b"".join(bytes([(i * i + i // 7) % 31, 0])
                           for i in range(6000)))
    with open(os.path.join(folder, "tiny.ini"), "w") as out:
        out.write(TINY)
    training = subprocess.Popen(
        ["gtrain", "--config", "tiny.ini", "--root", store], cwd=folder,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        p.await_rows(1)
        p.await_text(".status.running", "left")
        p.browser.wait("document.querySelector('.status.running progress')")
        p.go(view="charts", runs=ids_of("live"), **{"from": "2", "to": "9"})
        p.await_charts()
        p.browser.run("scrollTo(0, 60); window.before = scrollY;"
                      "window.figure = document.querySelector('.chart')")
        p.keep_requests()
        asked = []
        while len(asked) < 2:
            p.browser.wait(f"performance.getEntriesByType('resource').filter("
                           f"e => e.name.includes('/api/figure')).length > "
                           f"{len(asked)}")
            asked += [u for u in p.keep_requests() if "/api/figure" in u]
        assert all("from=2" in u and "to=9" in u for u in asked), asked
        equal(p.browser.run("return [scrollY === before,"
                            "document.querySelector('.chart') === figure]"),
              [True, True])
        p.go(view="run", id=ids_of("live"))
        p.await_text(".status.running", "running")
        p.await_text("[aria-label=Log]", "step")
        p.await_text("[aria-label=Again]", "gtrain")
        size = p.browser.run("return document.querySelector('.log')"
                             ".textContent.length")
        p.browser.wait("document.querySelector('.log').textContent.length > "
                       f"{size}", "more of the log")
    finally:
        training.terminate()
        training.wait()


@test("a chart stays as it is when a new metric gets a chart beside it")
def new_metric(p):
    log = subprocess.Popen(["gtrack", "log", "grown"], cwd=folder, text=True,
                           stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        p.go(filter="name = 'grown'")
        log.stdin.write('{"train/loss": 2.5}\n')
        log.stdin.flush()
        p.await_rows(1)
        p.go(view="charts", runs=ids_of("grown"))
        p.await_charts()
        p.browser.run("window.figure = document.querySelector('.chart')")
        log.stdin.write('{"train/loss": 2, "extra/new": 1}\n')
        log.stdin.flush()
        p.await_text(".groups", "extra/new")
        assert p.browser.run("return figure.isConnected")
    finally:
        log.stdin.close()
        log.wait()


@test("charts of a filter draw a new point, and are sent only what has changed")
def grows(p):
    log = subprocess.Popen(["gtrack", "log", "longer"], cwd=folder, text=True,
                           stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        p.go(filter="name = 'longer'")
        log.stdin.write('{"train/loss": 2.5}\n{"train/loss": 2.25}\n')
        log.stdin.flush()
        p.await_rows(1)
        p.browser.keys("2")
        p.await_charts()
        p.keep_requests()
        log.stdin.write('{"train/loss": 7.5}\n')
        log.stdin.flush()
        p.browser.wait("(() => { const c = document.querySelector("
                       "'canvas.over'); c.blur(); c.focus();"
                       "c.dispatchEvent(new KeyboardEvent('keydown', { key:"
                       "'ArrowRight', bubbles: true })); return document"
                       ".querySelector('.tip').textContent.includes('7.5'); "
                       "})()", "the new point")
        assert any("/api/figure" in u and "&have=" in u
                   for u in p.keep_requests())
    finally:
        log.stdin.close()
        log.wait()


@test("the first screen of charts of 200 runs takes at most 3 MB on the wire")
def light(p):
    many = os.path.join(folder, "wide")
    subprocess.run([mkruns, many, "big:200:1000:20"], check=True)
    with other_server(p, "-r", many) as server:
        p.browser.open(server.url)
        p.await_text(".count", "200 runs")
        p.browser.keys("2")
        p.browser.wait("(a => a.length > 3 && a.every(e => 'painted' in "
                       "e.dataset))([...document.querySelectorAll('.area')]"
                       ".filter(e => e.getBoundingClientRect().top < "
                       "innerHeight))")
        sizes = p.browser.run(
            "return performance.getEntriesByType('resource').filter(e =>"
            "e.name.includes('/api/')).map(e => e.encodedBodySize)")
        assert len(sizes) > 6 and sum(sizes) < 3e6, sizes
        figures = p.browser.run(
            "return performance.getEntriesByType('resource').filter(e =>"
            "e.name.includes('/api/figure')).map(e => [e.encodedBodySize,"
            "e.decodedBodySize])")
        assert all(2 * wire < text for wire, text in figures), figures


# A saved page.

@test("a saved page works from a file, without asking for anything")
def saved(p):
    gtrack("serve", "--freeze", "saved.html", "experiment = 'rates'")
    url = "file://" + os.path.join(folder, "saved.html")
    p.keep_requests()
    try:
        p.browser.open(url)
        p.await_rows(3)
        p.browser.click("[data-focus='head-metrics.val/loss']")
        p.browser.wait("document.querySelector('[aria-sort=ascending]')")
        equal(p.names(), ["run2", "run3", "run1"])
        p.browser.keys("2")
        p.await_charts()
        p.browser.pointer("canvas.over", (0.6, 0.5))
        equal({row[0].split(",")[0] for row in p.tip()[1]}, set(RATES))
        p.browser.click("[aria-label='hide run2']")
        p.browser.pointer("canvas.over", (0.6, 0.5), (0.7, 0.5))
        equal({row[0].split(",")[0] for row in p.tip()[1]}, {"run1", "run3"})
        p.browser.pointer("canvas.over", (0.4, 0.5), (0.5, 0.5), (0.6, 0.5),
                          press=True)
        p.browser.wait("location.hash.includes('from=')")
        p.browser.run(
            "const s = [...document.querySelectorAll('.tools select')].find("
            "s => [...s.options].some(o => o.value === 'time'));"
            "s.value = 'time'; s.dispatchEvent(new Event('change'))")
        p.browser.wait("location.hash.includes('x=time')")
        p.browser.pointer("canvas.over", (0.6, 0.5), (0.65, 0.5))
        assert "training time" in p.tip()[0], p.tip()
        p.browser.keys("3")
        p.await_text("[aria-label=Parameters]", "lr")
        p.await_charts("[aria-label='Sweep over one parameter'] canvas")
        equal(p.browser.run(
            "const t = document.querySelector('[aria-label=Parameters] table');"
            "const r = [...t.rows].find(r => /lr/.test(r.cells[0].textContent));"
            "return [...r.cells].map((c, i) => t.rows[0].cells[i].textContent +"
            "':' + c.textContent).slice(1).sort()"),
            ["run1:0.0003", "run2:0.0006", "run3:0.0012"])
        p.browser.click("[aria-label=Parameters] thead a")
        p.await_text("[aria-label=Metrics]", "val/loss")
        p.browser.keys("d")
        p.browser.wait("document.documentElement.dataset.theme")
        asked = [u for u in p.browser.requested() if u != url]
        assert all(u.startswith(("data:", url)) for u in asked), asked
        equal(p.browser.console(), [])
    finally:
        p.browser.open(p.server.url)


# What is asked of other hosts, and what the console says.

@test("no view asks another host for anything")
def own_host(p):
    p.keep_requests()
    others = [u for u in p.requests if not u.startswith(p.server.base) and
              not u.startswith(("data:", "about:", "blob:", "chrome"))]
    assert p.requests and not others, others


@test("of many pages in one browser, each shows a new point, and outlives others")
def many_pages(p):
    log = subprocess.Popen(["gtrack", "log", "shared"], cwd=folder, text=True,
                           stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def add(value):
        log.stdin.write(f'{{"train/loss": {value}}}\n')
        log.stdin.flush()
    add(9.5)
    p.go(columns="name,train/loss")
    p.await_text(".runs", "9.5")
    url = p.browser.run("return location.href")
    first = p.browser.call("GET", "/window")
    for _ in range(8):
        p.browser.cdp("Target.createTarget", {"url": url, "newWindow": True})
    windows = [w for w in p.browser.call("GET", "/window/handles") if w != first]
    equal(len(windows), 8)

    def show(window, value):
        p.browser.call("POST", "/window", {"handle": window})
        p.await_text("#connection", "live")
        p.await_text(".runs", str(value))
    try:
        for window in windows:
            show(window, 9.5)
        add(9.25)
        for window in [first, *windows]:
            show(window, 9.25)
        show(first, 9.25)
        p.browser.open("about:blank")  # it has told the others
        add(9.125)
        for window in windows:
            show(window, 9.125)
    finally:
        for window in windows:
            p.browser.call("POST", "/window", {"handle": window})
            p.browser.call("DELETE", "/window")
        p.browser.call("POST", "/window", {"handle": first})
        log.stdin.close()
        log.wait()


@test("no view leaves an error on the console")
def console(p):
    equal(p.browser.console(), [])


@test("a page whose server has ended says so")
def ended(p):
    p.go()
    p.await_text("#connection", "live")
    p.server.end()
    p.await_text("#connection", "not connected")
    p.browser.console()


def make_runs():
    """Runs with what those of mkruns lack."""
    spiky = [{"step": i, "train/loss": 3 + 0.01 * (i % 7) + (5 if i == 150 else 0)}
             for i in range(300)]
    priced = [{"train/loss": 3 - 0.01 * i, "train/tokens": 1000 * i}
              for i in range(50)]
    broken = [{"train/loss": float("nan") if i == 20 else 3 - 0.01 * i}
              for i in range(40)]
    for name, points, options in (
            ("spiky", spiky, ["-p", f"{WIDE}=1"]),
            ("broken", broken, []),
            (LONG, [{"train/loss": 1}], []),
            *((name, [{"train/loss": 1}], []) for name in ALIKE),
            ("priced", priced, ["-p", "model.parameters=124000000"])):
        subprocess.run(["gtrack", "log", "-q", name, *options], cwd=folder,
                       input="".join(json.dumps(p) + "\n" for p in points),
                       text=True, check=True)
    attempt = os.path.join(gtrack("where", "priced").strip(), ".gtrack",
                           "attempt.1.yaml")
    with open(attempt) as f:
        text = f.read()
    with open(attempt, "w") as f:
        f.write(re.sub(r"gpus: \d+", "gpus: 8", text))


make_runs()
sys.exit(run_tests(folder))
