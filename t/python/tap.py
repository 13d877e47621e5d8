"""tap - run tests of unittest and print TAP

usage: tap.py FOLDER [NAME]...

Runs the files test_*.py of a folder, or only test_NAME.py.  A test is named by
its docstring.
"""
import os
import sys
import unittest


class Result(unittest.TestResult):
    """Prints a line for each test."""

    count = 0

    def _line(self, good, test, more=""):
        Result.count += 1
        print(f"{'' if good else 'not '}ok {Result.count} - "
              f"{test.shortDescription() or test.id()}{more}", flush=True)

    def addSuccess(self, test):
        self._line(True, test)

    def addSkip(self, test, reason):
        self._line(True, test, f" # SKIP {reason}")

    def _failed(self, test, problem):
        self._line(False, test)
        for line in self._exc_info_to_string(problem, test).splitlines():
            print(f"# {line}")

    def addFailure(self, test, problem):
        super().addFailure(test, problem)
        self._failed(test, problem)

    def addError(self, test, problem):
        super().addError(test, problem)
        self._failed(test, problem)


def main():
    folder, *wanted = sys.argv[1:]
    sys.path.insert(0, folder)
    names = [f[:-3] for f in sorted(os.listdir(folder))
             if f.startswith("test_") and f.endswith(".py")
             and (not wanted or f[5:-3] in wanted)]
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    result = Result()
    suite.run(result)
    print(f"1..{Result.count}")
    return 0 if Result.count and result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
