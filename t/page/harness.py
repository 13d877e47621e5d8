# harness.py - tests of the page of gtrack serve, as TAP
#
#     @test("the table has the runs")
#     def table(page):
#         page.go(view="runs")
#         equal(page.names(), ["run1"])
#
#     sys.exit(run_tests(folder))
#
# GT_PAGE=WORDS runs only the tests whose name has these words.  GT_AXE is the
# path of axe.min.js, which PyPI's axe-playwright-python has; without it, views
# are not checked with axe.
import contextlib
import json
import os
import sys
import urllib.parse

from browser import Browser, Server

tests = []


def test(name):
    def add(function):
        if os.environ.get("GT_PAGE", "") in name:
            tests.append((name, function))
        return function
    return add


def equal(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


class Page:
    """The page in a browser, and what the tests ask of it."""

    def __init__(self, chromium, server):
        self.browser = chromium
        self.server = server
        self.requests = []
        chromium.open(server.url)

    def go(self, **state):
        """Open the page anew, in a state."""
        self.keep_requests()
        self.browser.open("about:blank")
        self.browser.open(self.server.base + "#" +
                          urllib.parse.urlencode(state, safe=",/:"))
        self.browser.wait("document.querySelector('main section')")

    def keep_requests(self):
        new = self.browser.requested()
        self.requests += new
        return new

    def state(self):
        query = self.browser.run("return location.hash.slice(1)")
        return dict(urllib.parse.parse_qsl(query))

    def names(self):
        return self.browser.run(
            "return [...document.querySelectorAll('.runs tbody a')]"
            ".map(a => a.textContent)")

    def await_rows(self, n):
        self.browser.wait(
            f"document.querySelectorAll('.runs tbody a').length === {n}")

    def await_text(self, selector, text):
        self.browser.wait(
            f"document.querySelector({json.dumps(selector)})?.textContent"
            f".includes({json.dumps(text)})", f"'{text}' in {selector}")

    def await_charts(self, selector="figure.chart canvas"):
        self.browser.wait(
            f"[...document.querySelectorAll({json.dumps(selector)})].some("
            "c => { if (!c.width) return false;"
            "const s = document.createElement('canvas').getContext('2d',"
            "{ willReadFrequently: true });"
            "s.drawImage(c, 0, 0, 300, 150);"
            "return s.getImageData(0, 0, 300, 150).data.some(v => v); })",
            "a painted chart")
        self.browser.wait("!document.querySelector('[aria-busy]')")

    @contextlib.contextmanager
    def wide(self, width):
        """A screen of this width, until the end of the block."""
        def resize(width, height):
            self.browser.cdp("Emulation.setDeviceMetricsOverride", {
                "width": width, "height": height, "deviceScaleFactor": 1,
                "mobile": width < 700})
        resize(width, 844 if width < 700 else 900)
        try:
            yield
        finally:
            resize(*self.browser.size)

    def await_view(self):
        self.browser.wait("document.querySelector('main section h2, "
                          "main table a, .title') && "
                          "!document.querySelector('[aria-busy]')")

    def shift(self):
        """How far the view has jumped since it was opened."""
        return self.browser.run(
            "return new Promise(done => { let sum = 0; new PerformanceObserver("
            "l => { for (const e of l.getEntries()) sum += e.value; }).observe("
            "{ type: 'layout-shift', buffered: true });"
            "const frames = n => n ? requestAnimationFrame(() => frames(n - 1))"
            ": done(sum); frames(5); })")

    def axe(self):
        """What axe finds wrong in the view; nothing without axe."""
        if not os.environ.get("GT_AXE"):
            return []
        with open(os.environ["GT_AXE"]) as f:
            self.browser.cdp("Runtime.evaluate", {"expression": f.read()})
        return self.browser.call("POST", "/execute/async", {"args": [],
            "script": "axe.run().then(r => arguments[0](r.violations.map(v =>"
            "v.id + ': ' + v.nodes.map(n => n.html).join(' '))))"})

    def tip(self):
        """The list of values under the pointer: its title and its rows."""
        self.browser.wait("document.querySelector('.tip:not([hidden])')")
        return self.browser.run(
            "const t = document.querySelector('.tip:not([hidden])');"
            "return [t.querySelector('.tip-title').textContent,"
            "[...t.querySelectorAll('tr')].map(r =>"
            "[...r.cells].map(c => c.textContent))]")


def run_tests(folder):
    failed = 0
    with Browser() as chromium:
        page = Page(chromium, Server(folder))
        for i, (name, function) in enumerate(tests, 1):
            try:
                function(page)
                print(f"ok {i} - {name}", flush=True)
            except Exception as error:
                failed += 1
                print(f"not ok {i} - {name}", flush=True)
                for line in f"{type(error).__name__}: {error}".split("\n"):
                    print(f"# {line}", file=sys.stderr, flush=True)
        page.server.end()
    print(f"1..{len(tests)}")
    return 1 if failed else 0
