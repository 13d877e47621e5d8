"""The examples of gtrack-python(7)."""
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


if __name__ == "__main__":
    unittest.main()
