"""The examples of gtrack-python(7)."""
import ast
import contextlib
import inspect
import io
import os
import re
import unittest

import gtrack
from store import Case, folders, read

PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                    "man", "gtrack-python.7")


class Manual(Case):
    def test_examples(self):
        """the examples of gtrack-python(7) run one after the other"""
        text = read(PAGE)
        examples = re.findall(r"^\.Bd.*\n(import[^\0]*?)^\.Ed", text, re.M)
        for example in examples:
            done = self.program(example.replace("\\-", "-"))
            self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("run1 {'optim.lr': 0.0006} 0.04", done.stdout)
        self.assertEqual(len(examples), 3)
        self.assertEqual(len(folders()), 2)

    def test_names(self):
        """every call that gtrack-python(7) names is there"""
        import gtrack.mlflow as mlflow

        run = self.begin()
        for name in re.findall(r"(?:^\.Fn|^\.It Fn|^\.It Fa|^\.Li|^\.It Li) "
                               r"(run|gtrack|Api|config)\."
                               r"(?!NAME|integrations)(\w+)",
                               read(PAGE), re.M):
            owner = {"run": run, "gtrack": gtrack, "config": run.config,
                     "Api": gtrack.Api}[name[0]]
            self.assertTrue(hasattr(owner, name[1]), name)
        section = read(PAGE).split(".Sh MLFLOW")[1].split(".Sh")[0]
        names = re.findall(r"^\.Fn (\w+)", section, re.M)
        self.assertGreater(len(names), 15)
        for name in names:
            self.assertTrue(callable(getattr(mlflow, name)), name)

    def test_ignored(self):
        """gtrack-python(7) lists the arguments that are ignored"""
        found = {}
        for file in os.listdir(os.path.dirname(gtrack.__file__)):
            if not file.endswith(".py"):
                continue
            for node in ast.walk(ast.parse(read(
                    os.path.dirname(gtrack.__file__), file))):
                if isinstance(node, ast.Call) and \
                        getattr(node.func, "id", "") == "ignore":
                    found.setdefault(node.args[0].value, set()).update(
                        k.arg for k in node.keywords if k.arg)
        from gtrack import _init

        found["init"] |= _init._IGNORED
        listed = re.findall(r"^\.It Fn (\S+)\n((?:\.Fa .*\n)+)", read(
            PAGE).split("These arguments change nothing")[1], re.M)
        self.assertEqual(
            {call: set(re.findall(r"\w+", names.replace(".Fa", "")))
             for call, names in listed},
            {call: names for call, names in found.items() if names})
        run = self.begin()
        with contextlib.redirect_stderr(io.StringIO()) as err:
            run.log({"x": 1}, sync=True)
            run.log({"x": 1}, sync=True)
            run.log_code(name="code")
        run.finish()
        self.assertEqual(err.getvalue().count("log() ignores sync"), 1)
        self.assertIn("log_code() ignores name", err.getvalue())

    def test_types(self):
        """the types of the package name what it has, and all arguments"""
        stub = ast.parse(read(os.path.dirname(gtrack.__file__),
                              "__init__.pyi"))
        run = self.begin()
        for node in stub.body:
            if isinstance(node, ast.FunctionDef):
                a = node.args
                names = [x.arg for x in a.args + a.kwonlyargs]
                owner = run if hasattr(run, node.name) else gtrack
                wanted = inspect.signature(getattr(owner,
                                                   node.name)).parameters
                self.assertEqual([n for n in wanted if n not in
                                  ("more", "_", "__", *names)], [], node.name)
            elif isinstance(node, ast.ImportFrom):
                for name in node.names:
                    if name.asname and node.module != "typing":
                        self.assertTrue(hasattr(gtrack, name.asname),
                                        name.asname)
        public = {n for n in vars(gtrack) if not n.startswith("_")}
        named = {n for node in stub.body for n in
                 [getattr(node, "name", None)] + [
                     x.asname or x.name for x in getattr(node, "names", [])] +
                 [getattr(getattr(node, "target", None), "id", None)]}
        self.assertEqual(public - named - {"annotations", "mlflow"}, set())


if __name__ == "__main__":
    unittest.main()
