"""What the tests share: a folder for each, and a reader of runs' files."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

import gtrack


def read(*parts):
    with open(os.path.join(*parts)) as f:
        return f.read()


def points(folder, key):
    """The (step, value) pairs of a metric."""
    try:
        lines = read(folder, "metrics", *key.split("/")).splitlines()
    except FileNotFoundError:
        return []
    return [(int(line.split()[2]), float(line.split()[1])) for line in lines]


def param(folder, key):
    return read(folder, "params", key)


def tag(folder, key):
    try:
        return read(folder, "tags", key)
    except FileNotFoundError:
        return None


def folders(root="mlruns"):
    """The folders of all runs in a store."""
    found = []
    for experiment in os.listdir(root):
        inside = os.path.join(root, experiment)
        if experiment.isdigit():
            found += [os.path.join(inside, run) for run in os.listdir(inside)
                      if os.path.exists(os.path.join(inside, run,
                                                     "meta.yaml"))]
    return sorted(found, key=lambda f: os.path.getmtime(
        os.path.join(f, "params")))


def status(folder):
    """The status as gtrack finds it."""
    return gtrack.Api()._list(os.path.basename(folder))[0].state


class Case(unittest.TestCase):
    """Each test runs in a folder of its own and without a run."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, True)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(self.folder)

    def tearDown(self):
        while gtrack.run:
            gtrack.run.finish()

    def begin(self, **arguments):
        return gtrack.init(project="p", capture=False, **arguments)

    def program(self, text, **more):
        """Run a program; returns the finished process."""
        with open("program.py", "w") as f:
            f.write(text)
        return subprocess.run([sys.executable, "program.py"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True, timeout=120, **more)
