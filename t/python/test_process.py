"""Processes that end in every way, and many at once."""
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import gtrack

from store import Case, folders, points, read, status

BEGIN = ("import gtrack, os, sys\n"
         "run = gtrack.init(project='p', capture=False)\n"
         "run.log({'x': 1})\n")


class Ends(Case):
    def check(self, text, want, code):
        """The status that a program leaves, and its only run."""
        done = self.program(BEGIN + text)
        self.assertEqual(done.returncode, code, done.stderr)
        found = folders()
        self.assertEqual(len(found), 1)
        self.assertEqual(status(found[0]), want)
        self.assertEqual(points(found[0], "x"), [(0, 1)])
        return found[0], done

    def test_exit(self):
        """a program that just ends leaves a finished run"""
        self.check("", "finished", 0)

    def test_exception(self):
        """an exception that nobody catches is why a run failed"""
        folder, done = self.check("raise ValueError('loss is nan')\n",
                                  "failed", 1)
        self.assertIn("loss is nan", read(folder, ".gtrack/attempt.1.yaml"))
        self.assertIn("Traceback", done.stderr)

    def test_exit_status(self):
        """a run fails if the exit status is not 0, however it came about"""
        for i, (text, want, code) in enumerate((
                ("sys.exit(3)", "failed", 3),
                ("raise SystemExit(4)", "failed", 4),
                ("sys.exit('why')", "failed", 1),
                ("sys.exit()", "finished", 0),
                ("try:\n    sys.exit(2)\nexcept SystemExit:\n    pass",
                 "finished", 0))):
            os.mkdir(f"{i}")
            os.chdir(f"{i}")
            folder, _ = self.check(text + "\n", want, code)
            if code:
                self.assertIn(f"exit status {code}",
                              read(folder, ".gtrack/attempt.1.yaml"))
            os.chdir("..")

    def test_interrupt(self):
        """an interrupt makes a killed run"""
        self.check("raise KeyboardInterrupt\n", "killed", -signal.SIGINT)

    def test_os_exit(self):
        """os._exit() after flush() loses no point"""
        self.check("run.flush()\nos._exit(0)\n", "crashed", 0)

    def test_alerts(self):
        """the alerts of a run are raised, even of a program that was killed"""
        with open("alerts.ini", "w") as f:
            f.write("every = 100ms\n[end]\nwhen = status != 'RUNNING'\n"
                    "do = cat >told; mv told alert\n")
        self.program(BEGIN + "run.flush()\nos.kill(os.getpid(), 9)\n",
                     env=dict(os.environ, GTRACK_ALERTS="alerts.ini"))
        for _ in range(3000):
            if os.path.exists("alert"):
                break
            time.sleep(0.01)
        self.assertIn("status != 'RUNNING'", read("alert"))

    def test_steal(self):
        """a run that another process writes is resumed by steal=True alone"""
        with open("first.py", "w") as f:
            f.write("import gtrack, sys\n"
                    "run = gtrack.init(project='p', id='a', capture=False)\n"
                    "run.log({'x': 1})\nrun.flush()\n"
                    "print('begun', flush=True)\nsys.stdin.read()\n"
                    "run.log({'x': 2})\nrun.finish()\n")
        p = subprocess.Popen([sys.executable, "first.py"], text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        self.assertEqual(p.stdout.readline(), "begun\n")
        with self.assertRaisesRegex(gtrack.Error, "is being written by"):
            self.begin(id="a", resume="must")
        run = self.begin(id="a", resume="must", steal=True)
        run.log({"x": 3})
        run.finish()
        _, said = p.communicate("", timeout=120)
        self.assertIn("is now written by process", said)
        self.assertEqual(points(run._folder, "x"), [(0, 1), (1, 3)])

    def test_leftovers(self):
        """what is half written is no artifact, also after a kill"""
        with open("model.pt", "wb") as f:
            f.write(b"m" * 100)
        done = self.program(BEGIN + "os.replace = lambda *a: os._exit(9)\n"
                            "run.save('model.pt')\n")
        self.assertEqual(done.returncode, 9, done.stderr)
        self.assertNotIn(".tmp", str(os.listdir(folders()[0] + "/artifacts")))
        self.assertEqual(os.path.exists("model.pt"), True)

    def test_leftover_versions(self):
        """what a killed process had of a version is removed by the next one"""
        with open("model.pt", "wb") as f:
            f.write(b"m" * 100)
        keep = "a = gtrack.Artifact('m', 'model')\na.add_file('model.pt')\n"
        done = self.program(BEGIN + keep + "os.rename = lambda *a: os._exit(9)\n"
                            "run.log_artifact(a)\n")
        self.assertEqual(done.returncode, 9, done.stderr)
        home = folders()[0] + "/artifacts/versions/m"
        self.assertEqual([n[:9] for n in os.listdir(home)], [".partial-"])
        left = home + "/v0.json.0123456789abcdef.tmp"
        open(left, "w").close()
        os.utime(left, (1e9, 1e9))
        again = BEGIN.replace("init(", f"init(id={folders()[0][-32:]!r}, "
                                      "resume='must', ")
        done = self.program(again + keep + "run.log_artifact(a)\nrun.finish()\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(os.listdir(home)), ["v0", "v0.json"])

    def test_kill(self):
        """kill -9 leaves whole lines and a run that is found crashed"""
        with open("program.py", "w") as f:
            f.write(BEGIN + "run.flush()\nprint('ready', flush=True)\n"
                    "while True:\n    run.log({'y': 1.25})\n")
        with subprocess.Popen([sys.executable, "program.py"],
                              stdout=subprocess.PIPE) as p:
            p.stdout.readline()
            folder = folders()[0]
            deadline = time.monotonic() + 60
            while not points(folder, "y") and time.monotonic() < deadline:
                pass
            p.kill()
        self.assertEqual(status(folder), "crashed")
        self.assertTrue(read(folder, "metrics", "y").endswith("\n"))
        steps = [s for s, _ in points(folder, "y")]
        self.assertEqual(steps, list(range(1, len(steps) + 1)))

    def test_fork(self):
        """a forked child warns once, and the parent's run stays whole"""
        folder, done = self.check(
            "if os.fork() == 0:\n"
            "    run.log({'x': 5})\n    run.log({'x': 6})\n"
            "    gtrack.log({'x': 7})\n    run.finish()\n    sys.exit(0)\n"
            "os.wait()\n", "finished", 0)
        self.assertEqual(done.stderr.count("forked"), 1, done.stderr)

    def test_fork_with_own_run(self):
        """a forked child begins a run of its own"""
        self.program(BEGIN + "if os.fork() == 0:\n"
                     "    mine = gtrack.init(project='p', name='child',"
                     " capture=False)\n"
                     "    assert mine is not run\n"
                     "    gtrack.log({'x': 5})\n    sys.exit(0)\n"
                     "os.wait()\nrun.log({'x': 2})\n")
        found = {re.search('run_name: "(.*)"', read(f, "meta.yaml"))[1]:
                 points(f, "x") for f in folders()}
        self.assertEqual(found, {"run1": [(0, 1), (1, 2)],
                                 "child": [(0, 5)]})

    def test_multiprocessing(self):
        """workers of multiprocessing do not end the run of their parent"""
        self.check("import multiprocessing as m\n"
                   "m.set_start_method('fork')\n"
                   "with m.Pool(2) as pool: pool.map(abs, range(9))\n",
                   "finished", 0)


class Output(Case):
    def run_program(self, text, **env):
        done = self.program(text, env=dict(os.environ, **env))
        self.assertEqual(done.returncode, 0, done.stderr)
        return folders()[0] + "/artifacts/output.log", done

    def test_console(self):
        """what a program prints is kept, progress bars as their last text"""
        path, done = self.run_program(
            BEGIN + "print('one', 2)\n"
            "for i in range(3): sys.stderr.write(f'\\r{i}/3')\n"
            "sys.stderr.write('\\n')\n"
            "if os.fork() == 0:\n    print('child')\n    os._exit(0)\n"
            "os.wait()\n"
            "run.finish()\nprint('after')\n")
        self.assertEqual(read(path), "one 2\n2/3\n")
        self.assertIn("after", done.stdout)
        self.assertIn("2/3", done.stderr)

    def test_no_console(self):
        """what a program prints is not kept with console="off" """
        path, _ = self.run_program(BEGIN + "print(1)\n", WANDB_CONSOLE="off")
        self.assertFalse(os.path.exists(path))

    def test_notebook(self):
        """in a notebook, only console="wrap" keeps what a program prints"""
        notebook = "import sys\nsys.modules['ipykernel'] = sys\n"
        for console, kept in ("auto", False), ("wrap", True):
            self.run_program(notebook + BEGIN + "print(1)\n",
                             WANDB_CONSOLE=console)
            self.assertEqual("output.log" in os.listdir(
                folders()[-1] + "/artifacts"), kept)

    def test_two_runs(self):
        """two runs at once keep what is printed while they last"""
        path, _ = self.run_program(
            BEGIN + "b = gtrack.init(project='p', reinit='create_new',"
            " capture=False)\nprint('both')\nrun.finish()\nprint('b')\n"
            "b.finish()\nprint('none')\n")
        self.assertEqual(sorted(read(f, "artifacts/output.log")
                                for f in folders()), ["both\n", "both\nb\n"])


class Many(Case):
    def test_writers(self):
        """64 processes begin runs in one store at once"""
        with open("program.py", "w") as f:
            f.write(BEGIN + "run.log({'x': 2})\n")
        writers = [subprocess.Popen([sys.executable, "program.py"],
                                    stderr=subprocess.PIPE)
                   for _ in range(64)]
        errors = [w.communicate()[1] for w in writers]
        self.assertEqual([w.returncode for w in writers], [0] * 64, errors)
        found = folders()
        names = {re.search('run_name: "(.*)"', read(f, "meta.yaml"))[1]
                 for f in found}
        self.assertEqual(names, {f"run{i}" for i in range(1, 65)})
        self.assertTrue(all(points(f, "x") == [(0, 1), (1, 2)]
                            for f in found))

    def test_full_disk(self):
        """points of a time when files cannot grow are written later"""
        done = self.program(
            "import resource\n" + BEGIN + "run.flush()\n"
            "_, most = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))\n"
            "for i in range(1000): run.log({'x': i})\n"
            "try:\n    run.flush()\nexcept gtrack.Error as e: print(e)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))\n")
        self.assertIn("File too large", done.stdout, done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(points(folders()[0], "x")), 1001)

    def test_saved_before(self):
        """a file that finds no space keeps the copy that was saved before"""
        done = self.program(
            "import resource\n" + BEGIN +
            "open('model.pt', 'wb').write(b'a' * 500000)\n"
            "run.save('model.pt')\n"
            "run.log_artifact('model.pt', name='model')\n"
            "open('model.pt', 'wb').write(b'b' * 900000)\n"
            "_, most = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (600000, most))\n"
            "for again in (lambda: run.save('model.pt'),\n"
            "              lambda: run.log_artifact('model.pt', name='model')):\n"
            "    try:\n        again()\n"
            "    except OSError as e:\n        print(e)\n"
            "run.finish()\n")
        self.assertEqual(done.stdout.count("File too large"), 2, done.stderr)
        self.assertIn("File too large", done.stderr)
        run = folders()[0]
        copies = [os.path.join(at, "model.pt")
                  for at, _, names in os.walk("mlruns") if "model.pt" in names]
        self.assertEqual(len(copies), 2, copies)
        for path in copies:
            with open(path, "rb") as f:
                self.assertTrue(f.read() == b"a" * 500000, path)
        self.assertEqual([name for name in os.listdir(run + "/.gtrack")
                          if name.endswith(".tmp")], [])

    def test_lost(self):
        """points that are never written are an error at the end"""
        done = self.program(
            "import resource\n" + BEGIN + "run.flush()\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
            "for i in range(1000): run.log({'x': i})\n"
            "try:\n    run.finish()\n"
            "except gtrack.Error as e: print('lost:', e)\n")
        self.assertIn("lost:", done.stdout, done.stderr)


if __name__ == "__main__":
    unittest.main()


class Machine(Case):
    def test_system(self):
        """init() records the use of the machine, at the step of the program"""
        run = gtrack.init(project="p", capture=False, system=0.05)
        deadline = time.monotonic() + 60
        while not points(run._folder, "system/net_sent_bytes") and \
                time.monotonic() < deadline:
            run.log({"x": 1}, step=7)
            run.flush()
        run.finish()
        found = points(run._folder, "system/rss_bytes")
        self.assertGreater(found[0][1], 1e6)
        self.assertEqual(found[-1][0], 7)
        for name in ("cpu_util", "disk_read_bytes", "disk_written_bytes",
                     "net_received_bytes"):
            self.assertTrue(points(run._folder, f"system/{name}"), name)

    def test_no_system(self):
        """init() records nothing of the machine in a short run, or with
        system=False"""
        for system in (True, False):
            run = gtrack.init(project="p", capture=False, system=system)
            run.log({"x": 1})
            run.finish()
            self.assertEqual(points(run._folder, "system/rss_bytes"), [])

    def test_profiler(self):
        """a trace of the profiler becomes an artifact"""
        from gtrack.integrations.torch import trace_handler

        class Profiler:
            step_num = 5

            def export_chrome_trace(self, path):
                with open(path, "w") as f:
                    f.write("{}")

        with self.assertRaisesRegex(gtrack.Error, "call gtrack.init"):
            trace_handler()(Profiler())
        run = gtrack.init(project="p", capture=False)
        trace_handler()(Profiler())
        run.finish()
        self.assertEqual(read(run._folder, "artifacts/traces/5.json"), "{}")
