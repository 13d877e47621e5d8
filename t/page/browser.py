# browser.py - gtrack serve, and Chromium driven through chromedriver, with the
# standard library
#
#     server = Server(folder)
#     with Browser() as b:
#         b.open(server.url)
#         b.wait("document.querySelector('table')")
#         b.click("button")
#         value = b.run("return document.title")
#     server.end()
#
# wait() fails after two minutes: a page that never gets there is an error.
import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
PATIENCE = 120


class BrowserError(Exception):
    pass


def gtrack(folder, *arguments):
    """What gtrack prints in this folder."""
    return subprocess.run(["gtrack", *arguments], cwd=folder, check=True,
                          capture_output=True, text=True).stdout


def ids_of(folder, *names):
    """The ids of runs, with commas between them."""
    text = gtrack(folder, "ls", "-c", "name,id", "--tsv", "--no-header")
    found = dict(line.split("\t") for line in text.splitlines())
    return ",".join(found[name] for name in names)


class Server:
    """gtrack serve in a folder, on the store of the environment; url is what
    it prints."""

    def __init__(self, folder, *options):
        self.process = subprocess.Popen(
            ["gtrack", "serve", *options], cwd=folder,
            stdout=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        self.base = self.url.split("?")[0]

    def end(self):
        self.process.terminate()
        self.process.wait()
        self.process.stdout.close()


class Browser:
    def __init__(self, width=1280, height=900, dark=False):
        self.size = (width, height)
        self.dark = dark

    def __enter__(self):
        self.folder = tempfile.mkdtemp(prefix="page-")
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, start_new_session=True)
        try:
            self.start_session()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start_session(self):
        port = None
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                port = line.split("port")[-1].strip(" .\n")
                break
        if not port:
            raise BrowserError("chromedriver did not start")
        self.base = f"http://127.0.0.1:{port}/session"
        args = ["--headless=new", "--disable-gpu", "--hide-scrollbars",
                "--disable-dev-shm-usage", "--no-first-run",
                "--disable-background-networking",
                f"--user-data-dir={self.folder}",
                f"--window-size={self.size[0]},{self.size[1]}"]
        if os.geteuid() == 0:
            args.append("--no-sandbox")
        answer = self.call("POST", "", {"capabilities": {"alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": {
                "binary": shutil.which("chromium"), "args": args},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        }}})
        self.base += "/" + answer["sessionId"]
        self.cdp("Emulation.setDeviceMetricsOverride", {
            "width": self.size[0], "height": self.size[1],
            "deviceScaleFactor": 1, "mobile": self.size[0] < 700})
        if self.dark:
            self.cdp("Emulation.setEmulatedMedia", {"features": [
                {"name": "prefers-color-scheme", "value": "dark"}]})

    def __exit__(self, *ignored):
        try:
            self.call("DELETE", "")
        except (BrowserError, OSError, AttributeError):
            pass
        self.driver.terminate()
        self.driver.wait()
        self.driver.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            self.base + path, data, {"Content-Type": "application/json"},
            method=method)
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                return json.load(response)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise BrowserError(value["message"].split("\n")[0]) from None

    def cdp(self, command, params=None):
        return self.call("POST", "/goog/cdp/execute",
                         {"cmd": command, "params": params or {}})

    def open(self, url):
        self.call("POST", "/url", {"url": url})

    def run(self, script, *args):
        return self.call("POST", "/execute/sync",
                         {"script": script, "args": list(args)})

    def wait(self, condition, what=None):
        """Wait until the condition, an expression, is true; its value."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            value = self.run(f"return ({condition})")
            if value:
                return value
            time.sleep(0.02)
        raise BrowserError(f"waited in vain for {what or condition}")

    def find(self, selector):
        self.wait(f"document.querySelector({json.dumps(selector)})")
        return self.call("POST", "/element", {
            "using": "css selector", "value": selector})[ELEMENT]

    def act_on(self, selector, action, body):
        """Act on an element, also if the page replaces it meanwhile."""
        for i in range(100):
            try:
                self.call("POST", f"/element/{self.find(selector)}/{action}",
                          body)
                return
            except BrowserError as error:
                if "stale element" not in str(error) or i == 99:
                    raise

    def click(self, selector):
        self.act_on(selector, "click", {})

    def type(self, selector, text):
        self.act_on(selector, "clear", {})
        self.act_on(selector, "value", {"text": text})

    def keys(self, *keys):
        actions = []
        for key in keys:
            actions += [{"type": "keyDown", "value": key},
                        {"type": "keyUp", "value": key}]
        self.act([{"type": "key", "id": "keys", "actions": actions}])

    def pointer(self, selector, *places, press=False):
        """Move over an element by parts of its size; press to drag."""
        box = self.run(
            "const e = document.querySelector(arguments[0]);"
            "e.scrollIntoView({block: 'nearest'});"
            "const b = e.getBoundingClientRect();"
            "return [b.x, b.y, b.width, b.height]", selector)
        actions = []
        for i, (x, y) in enumerate(places):
            actions.append({"type": "pointerMove", "duration": 0,
                            "x": round(box[0] + x * box[2]),
                            "y": round(box[1] + y * box[3])})
            if press and i == 0:
                actions.append({"type": "pointerDown", "button": 0})
        if press:
            actions.append({"type": "pointerUp", "button": 0})
        self.act([{"type": "pointer", "id": "mouse",
                   "parameters": {"pointerType": "mouse"},
                   "actions": actions}])

    def act(self, actions):
        self.call("POST", "/actions", {"actions": actions})

    def console(self):
        """Errors and warnings on the console since the last call."""
        return [entry["message"] for entry in
                self.call("POST", "/se/log", {"type": "browser"})
                if entry["level"] in ("SEVERE", "WARNING")]

    def requested(self):
        """The addresses requested since the last call."""
        found = []
        for entry in self.call("POST", "/se/log", {"type": "performance"}):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                found.append(message["params"]["request"]["url"])
        return found

    def picture(self, path):
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.call("GET", "/screenshot")))
