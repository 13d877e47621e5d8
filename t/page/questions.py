# questions.py - what a reader asks of a sweep of 200 runs, as TAP
#
# usage: questions.py FOLDER
#
# FOLDER is empty, and the store of the environment is FOLDER/runs; planted.py
# knows the answers.
import os
import re
import shlex
import sys

import browser
import planted
from harness import equal, run_tests, test

folder = sys.argv[1]
SHIFT = "\ue008"


def gtrack(*arguments):
    return browser.gtrack(folder, *arguments)


def shown(p):
    """The names in the list beside the charts."""
    return p.browser.run("return [...document.querySelectorAll('.run-list a')]"
                         ".map(a => a.title)")


def chosen_text(p):
    return p.browser.run("return document.querySelector("
                         "'.charts-view aside summary, .chosen').textContent")


# The chosen set.

@test("without a selection, charts and the comparison show all 200 runs")
def all_runs(p):
    p.go(view="charts", chart="kind:loss")
    p.await_charts()
    equal(len(shown(p)), 200)
    assert chosen_text(p).startswith("200 runs"), chosen_text(p)
    p.go(view="compare")
    p.await_text(".chosen", "200 runs")


@test("charts and the comparison show the runs of the filter, and say so")
def filtered(p):
    words = "params.optim.name = 'adamw' and params.optim.lr = 0.001"
    p.go(filter=words)
    p.await_rows(20)
    p.browser.keys("2")
    p.await_charts()
    equal(set(shown(p)), {f"adamw-1e-3-wd{wd}-s{s}" for wd in planted.DECAYS
                          for s in planted.SEEDS})
    assert chosen_text(p).startswith("20 of 200 runs, which match"), \
        chosen_text(p)
    p.browser.keys("c")
    p.await_text("#announcement", "gplot loss")
    command = p.browser.run("return document.getElementById('announcement')"
                            ".textContent")
    assert words in shlex.split(command) and len(command) < 200, command
    p.browser.keys("3")
    p.await_text(".chosen", "20 of 200 runs, which match")
    p.await_text("[aria-label='Best run']", "adamw-1e-3")
    p.browser.keys("c")
    p.await_text("#announcement", "gtrack compare")


@test("the box in the head of the table selects all runs of the filter")
def select_all(p):
    p.go(filter="params.seed = 3")
    p.await_rows(20)
    p.browser.click("thead input[type=checkbox]")
    p.browser.keys("2")
    p.await_charts()
    equal(len(shown(p)), 20)
    assert chosen_text(p) == "20 of 200 runs, selected", chosen_text(p)
    p.browser.keys("1")
    p.browser.click("thead input[type=checkbox]")
    p.browser.wait("!location.hash.includes('runs=')")


@test("with Shift, a click selects the rows from the one before")
def select_range(p):
    p.go(filter="params.seed = 3", sort="name", columns="name")
    p.await_rows(20)
    names = p.names()
    p.browser.click(f"[aria-label='select {names[2]}']")
    p.browser.run("document.querySelector(arguments[0]).dispatchEvent("
                  "new MouseEvent('click', {shiftKey: true, bubbles: true}))",
                  f"[aria-label='select {names[8]}']")
    p.browser.wait("document.querySelectorAll('tr.selected').length === 7")
    p.browser.keys("2")
    p.await_charts()
    equal(sorted(shown(p)), sorted(names[2:9]))


@test("the copied command prints the rows in the order of the table")
def same_order(p):
    for state in ({"filter": "params.seed = 2"},
                  {"filter": "params.seed = 2", "sort": "-metrics.val/loss"}):
        p.go(columns="name,lr", **state)
        p.await_rows(20)
        names = p.names()
        p.browser.keys("c")
        p.await_text("#announcement", "gtrack ls")
        command = p.browser.run(
            "return document.getElementById('announcement').textContent")
        words = command.removeprefix("Copied: ").removeprefix(
            "The command is: ")
        printed = os.popen(f"cd {folder} && {words} --tsv --no-header").read()
        equal([line.split("\t")[0] for line in printed.splitlines()], names)


# What the sweep says.

def sentence(p):
    p.await_text("[aria-label='Parameters that matter'] .sentence", ".")
    return p.browser.run("return document.querySelector('.sentence')"
                         ".textContent")


def number_after(text, words):
    return float(re.search(re.escape(words) + r" (\d+\.\d+)", text).group(1))


@test("a sentence says that the rate matters most, and its best value")
def best_rate(p):
    p.go(view="compare")
    text = sentence(p)
    assert re.search(r"^optim\.lr explains most of min\(val/loss\) .*: the best "
                     r"is 0\.001,", text), text
    gap = number_after(text, "better than 0.0003 by")
    assert abs(gap - planted.RATES["3e-4"]) < 0.02, text


@test("a sentence says by how much one optimiser is better, with an interval")
def categorical(p):
    p.go(view="compare")
    text = sentence(p)
    gap = number_after(text, "optim.name: muon is better than adamw by")
    half = number_after(text, f"{gap} ±")
    assert abs(gap - planted.GAP) < half < 0.05, text
    assert re.search(r"No clear difference: [^.]*optim\.weight_decay", text), \
        text


@test("a sentence counts the runs that failed or diverged, and says where")
def failures(p):
    p.go(view="compare")
    text = sentence(p)
    assert "8 of 200 runs failed and are not in the means" in text, text
    assert "5 of them with optim.lr = 0.01" in text, text


@test("the mean of each value leaves out the runs that failed, and counts them")
def means(p):
    p.go(view="compare")
    sentence(p)
    rows = p.browser.run(
        "return [...document.querySelectorAll('.importance tbody')].find(b =>"
        "b.textContent.startsWith('optim.lr')).innerText.split('\\n')")
    cells = p.browser.run(
        "return [...[...document.querySelectorAll('.importance tbody')].find("
        "b => b.textContent.startsWith('optim.lr')).rows].map(r =>"
        "[...r.cells].slice(-5).map(c => c.textContent))")
    assert [c[0] for c in cells] == ["0.0001", "0.0003", "0.001", "0.003",
                                     "0.01"], rows
    equal([c[3] for c in cells], ["40", "40", "40", "37", "35"])
    equal([c[4] for c in cells], ["", "", "", "3", "5"])
    middle = float(cells[3][1].split(" ")[0])
    wanted = [planted.final_loss("3e-3", o, d, s) for o in planted.OPTIMISERS
              for d in planted.DECAYS for s in planted.SEEDS if
              f"{o}-3e-3-wd{d}-s{s}" not in planted.FAILED]
    assert abs(middle - sum(wanted) / len(wanted)) < 0.01, cells


@test("groups stand in the order of their means, and fold")
def folded(p):
    p.go(group="optim.lr", sort="metrics.val/loss", columns="name,val/loss")
    p.browser.wait("document.querySelector('.group-row')")
    heads = ("return [...document.querySelectorAll('.group-row th')].map(e =>"
             "e.textContent)")
    for i in range(5):
        first = p.browser.run(heads)[i]
        p.browser.click(f".group-row:nth-child({i + 2}) button")
        p.browser.wait(f"document.querySelectorAll('.group-row').length > {i}")
    found = p.browser.run(heads)
    assert [float(re.search(r"\de-\d", h).group()) for h in found] == [
        1e-3, 3e-4, 3e-3, 1e-4, 1e-2], (found, first)
    equal(p.names(), [])
    equal(p.browser.run("return document.querySelector('.group-row button')"
                        ".getAttribute('aria-expanded')"), "false")
    p.browser.call("POST", "/refresh", {})
    p.browser.wait("document.querySelectorAll('.group-row').length === 5")
    p.browser.click(".group-row button")
    p.browser.wait("document.querySelectorAll('.runs tbody a').length > 10")
    assert p.names()[0] == planted.BEST, p.names()


@test("a drag along an axis keeps the runs whose lines pass there")
def brush(p):
    p.go(view="compare")
    sentence(p)
    lines = ("return [...document.querySelectorAll('.spread .line')].filter(l =>"
             "!l.classList.contains('dim')).map(l =>"
             "l.textContent.split(':')[0])")
    equal(len(p.browser.run(lines)), 200)
    colours = p.browser.run("return new Set([...document.querySelectorAll("
                            "'.spread .line')].map(l => l.style.stroke)).size")
    assert colours > 20, colours
    assert p.browser.run(
        "const all = [...document.querySelectorAll('.spread')[0].children];"
        "const last = (c) => all.findLastIndex(e => e.classList.contains(c));"
        "return all.findIndex(e => e.classList.contains('axis')) >"
        "last('line') && last('brush') > last('axis')"), "lines cover labels"
    p.browser.run("document.querySelector('.spread .brush').id = 'brush'")
    p.browser.pointer("#brush", (0.5, 0.45), (0.5, 0.5), (0.5, 0.55), press=True)
    p.browser.wait("document.querySelector('.spread .dim')")
    equal(sorted(p.browser.run(lines)), sorted(
        f"{o}-1e-3-wd{wd}-s{s}" for o in planted.OPTIMISERS
        for wd in planted.DECAYS for s in planted.SEEDS))
    p.browser.run("[...document.querySelectorAll('button')].find(b =>"
                  "b.textContent === 'Select 40 runs').click()")
    p.await_text(".chosen", "40 of 200 runs, selected")


@test("a parameter whose values are words is an axis of parallel coordinates")
def words_axis(p):
    p.go(view="compare")
    sentence(p)
    axes = p.browser.run(
        "return [...document.querySelectorAll('.spread:not(.scatter) .axis')]"
        ".map(a => [...a.querySelectorAll('text')].map(t => [t.textContent,"
        "Number(t.getAttribute('y'))]))")
    equal([axis[0][0] for axis in axes],
          ["optim.lr", "optim.name", "optim.weight_decay", "seed",
           "min(train/loss)", "min(val/loss)"])
    (_, top), *names = axes[1]
    equal([name for name, _ in names], ["adamw", "muon"])
    ends = p.browser.run(
        "const l = document.querySelectorAll('.spread .axis')[1]"
        ".querySelector('line'); return [l.getAttribute('y1'),"
        "l.getAttribute('y2')].map(Number)")
    places = [(ends[1] - (y - 4)) / (ends[1] - ends[0]) for _, y in names]
    equal(places, [0.25, 0.75])  # evenly spread
    text = p.browser.run("return [...document.querySelectorAll('.spread .line')]"
                         ".map(l => l.textContent).join()")
    assert text.count("optim.name adamw") == 100 == text.count(
        "optim.name muon"), text[:200]
    p.browser.run("document.querySelectorAll('.spread .brush')[1].id = 'words'")
    p.browser.pointer("#words", (0.5, 0.6), (0.5, 0.7), (0.5, 0.9), press=True)
    p.await_text(".tools button", "Select 100 runs")
    p.browser.run("document.querySelector('.tools button').click()")
    p.await_text(".chosen", "100 of 200 runs, selected")
    p.await_text("[aria-label='Best run']", "adamw")


POINTS = """
    const pixels = (cell) => {
        const node = [...cell.childNodes].find(n => n.nodeType === 3);
        if (!/^-?[0-9.]+$/.test(node?.data ?? ''))
            return null;
        const range = document.createRange();
        const at = node.data.indexOf('.');
        range.setStart(node, 0);
        range.setEnd(node, at < 0 ? node.data.length : at);
        return range.getBoundingClientRect().right;
    };
    return [...document.querySelectorAll(arguments[0])].map(table => {
        const rows = [...table.rows].map(r => [...r.cells].map(pixels));
        const n = Math.max(...rows.map(r => r.length));
        return [...Array(n).keys()].map(i => rows.map(r => r[i])
            .filter(x => typeof x === 'number')).filter(all => all.length)
            .map(all => Math.max(...all) - Math.min(...all));
    });"""


@test("the points of the numbers of a column are below each other")
def points_aligned(p):
    run = browser.ids_of(folder, planted.SPIKY)
    for state, tables in (
            ({"view": "run", "id": run}, "#part-metrics table"),
            ({"view": "compare"}, ".side, .heat"),
            ({"group": "optim.lr", "sort": "metrics.val/loss",
              "baseline": run, "columns": "name,weight_decay,val/loss"},
             "table.runs")):
        for width in (390, 1280):
            with p.wide(width):
                p.go(**state)
                p.await_view()
                p.browser.wait(f"document.querySelector('{tables}')?.rows"
                               ".length > 2")
                off = p.browser.run(POINTS, tables)
                assert off and all(off), (state, off)
                assert max(x for table in off for x in table) < 1, (state, off)


@test("the points of the numbers under the pointer are below each other")
def pointed_aligned(p):
    p.go(view="charts", filter="params.seed = 3", chart="kind:loss")
    p.await_charts()
    for x in (0.3, 0.5, 0.7, 0.9):
        p.browser.pointer("canvas.over", (x, 0.5))
        p.browser.wait("document.querySelector('.tip:not([hidden]) table')")
        off = p.browser.run(POINTS, ".tip table")
        assert off[0] and max(off[0]) < 1, (x, off)


@test("means and their intervals have the same number of digits")
def mean_digits(p):
    p.go(view="compare")
    sentence(p)
    texts = p.browser.run("return [...document.querySelectorAll("
                          "'.importance tbody tr')].map(r =>"
                          "[...r.cells].at(-4).textContent)")
    assert all(re.fullmatch(r"\d\.\d{3} ± 0\.\d{3}", t) for t in texts), texts


@test("values that are not finite stand below the others of their column")
def not_finite(p):
    run = sorted(planted.DIVERGED)[0]
    p.go(view="compare", runs=browser.ids_of(folder, run, planted.BEST))
    sentence_of = "[aria-label=Metrics] td"
    p.await_text("[aria-label=Metrics]", "val/loss")
    equal(p.browser.run("return [...document.querySelectorAll(arguments[0])]"
                        ".filter(e => e.textContent === 'nan').map(e =>"
                        "getComputedStyle(e).textAlign)", sentence_of),
          ["right", "right"])


@test("each of five questions is answered rightly after three clicks at most")
def five_questions(p):
    def start():
        clicks.clear()
        p.go()
        p.browser.wait("document.querySelectorAll('.runs tbody a').length > 20")

    def click(selector):
        clicks.append(selector)
        assert len(clicks) <= 3, clicks
        p.browser.click(selector)

    def read(selector, part):
        p.await_text(selector, part)
        return p.browser.run("return document.querySelector(arguments[0])"
                             ".textContent", selector)

    clicks, compare = [], "nav a:nth-child(3)"
    start()  # which run is the best, and why
    click(compare)
    text = read("[aria-label='Best run']", "The best run is")
    assert f"The best run is {planted.BEST}: its lowest val/loss is" in text
    assert "optim.lr = 1e-3, optim.name = muon" in text, text
    start()  # what the sweep says
    click(compare)
    assert sentence(p).startswith("optim.lr explains most of min(val/loss)")
    start()  # is this run healthy
    p.browser.type("#filter", "status = 'failed' and params.optim.lr = 0.01")
    p.await_rows(len(planted.DIVERGED))
    click(".runs tbody a")
    text = read(".health", ".")
    assert "not finite, the first at step 41" in text, text
    start()  # where did it spike, and on what data
    p.browser.type("#filter", f"name = '{planted.SPIKY}'")
    p.await_rows(1)
    click(".runs tbody a")
    text = read(".health", ".")
    assert f"1 spike, the highest at step {planted.SPIKE_STEP}." in text, text
    click(".health button")
    read("#announcement",
         f"gtrain batch {planted.SPIKY} {planted.SPIKE_STEP}")
    start()  # how do two runs differ
    two = ["muon-1e-2-wd0-s10", "adamw-1e-2-wd0-s10"]
    for name in two:
        click(f"[aria-label='select {name}']")
    click(compare)
    text = read("[aria-label='Difference of two runs'] table", "optim.name")
    assert re.search(r"optim\.name\s*(muon\s*adamw|adamw\s*muon)", text), text


# One run.

def open_run(p, name):
    p.go(view="run", id=browser.ids_of(folder, name))
    p.await_text(".health", ".")
    p.await_charts(".run-view .area canvas")
    return p.browser.run("return document.querySelector('.health')"
                         ".textContent")


@test("the first screen of a run has its charts, its health and its log")
def first_screen(p):
    text = open_run(p, planted.BEST)
    assert text.startswith("All 60 values of train/loss are finite; no spikes."
                           ), text
    assert "The last point, of step 60, came" in text, text
    equal(p.browser.run(
        "return [...document.querySelectorAll('.run-view > .grid .title')]"
        ".map(t => t.textContent)"), ["Loss", "Learning rate",
                                      "Gradient norm"])
    top = p.browser.run("return document.querySelector('[aria-label=Log]')"
                        ".getBoundingClientRect().top")
    assert top < 900, top
    equal(p.browser.run("return document.querySelector('#part-note')"), None)
    equal(p.browser.run("return document.getElementById('part-charts')"
                        ".checkVisibility()"), False)


@test("a run that diverged says how many losses are not finite, and since when")
def diverged_run(p):
    text = open_run(p, sorted(planted.DIVERGED)[0])
    assert text.startswith("20 of 60 values of train/loss are not finite, the "
                           "first at step 41"), text


@test("a run with a spike says where, and copies the command for its documents")
def spiky_run(p):
    text = open_run(p, planted.SPIKY)
    assert f"1 spike, the highest at step {planted.SPIKE_STEP}." in text, text
    p.browser.click(".health button")
    p.await_text("#announcement", f"gtrain batch {planted.SPIKY} "
                 f"{planted.SPIKE_STEP}")


@test("the views of a run and of a comparison do not jump while they load")
def no_jumps(p):
    for state in ({"view": "run", "id": browser.ids_of(folder, planted.BEST)},
                  {"view": "compare", "filter": "params.seed = 1"},
                  {"view": "charts", "filter": "params.seed = 1"},
                  {"filter": "params.seed = 1"}):
        for width in (390, 1280):
            with p.wide(width):
                p.go(**state)
                p.await_view()
                shift = p.shift()
                assert shift < 0.1, (state, width, shift)


@test("axe finds nothing wrong in any view, narrow or wide, light or dark")
def axe(p):
    run = browser.ids_of(folder, planted.SPIKY)
    for state in ({"group": "optim.lr"}, {"view": "charts"},
                  {"view": "charts", "chart": "kind:loss", "mark": "spike"},
                  {"view": "compare"}, {"view": "run", "id": run}):
        for width, theme in ((390, "light"), (1280, "dark")):
            with p.wide(width):
                p.go(filter="params.seed = 4", theme=theme, **state)
                p.await_view()
                found = p.axe()
                assert not found, (state, width, theme, found)


# A phone.

@test("on a phone, the name stays in sight, with the loss, and controls fold")
def phone(p):
    with p.wide(390):
        p.go(filter="params.seed = 4", sort="metrics.val/loss")
        p.await_rows(20)
        equal(p.browser.run(
            "const s = document.querySelector('.scroll'); s.scrollLeft = 200;"
            "const b = document.querySelector('.runs tbody th')"
            ".getBoundingClientRect(), r = s.getBoundingClientRect();"
            "return [s.scrollLeft, b.left - r.left, b.width < r.width * .6]"),
            [200, 0, True])
        name, value = p.browser.run(
            "const t = document.querySelector('.runs tbody th');"
            "return [t.querySelector('a').textContent,"
            "t.querySelector('.main-value').innerText]")
        assert name == p.names()[0] and float(value) < 3.1, (name, value)
        for view in ("runs", "charts"):
            p.go(filter="params.seed = 4", view=view)
            p.await_view()
            top = p.browser.run("return document.querySelector("
                                "'.scroll, .groups').getBoundingClientRect()"
                                ".top")
            assert top < 844 / 4, (view, top)
            p.browser.click("details.more summary")
            p.browser.wait("document.querySelector('details.more label')"
                           ".checkVisibility()")


planted.write(os.path.join(folder, "runs"))
sys.exit(run_tests(folder))
