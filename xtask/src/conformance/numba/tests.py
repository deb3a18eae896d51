"""Runs the tests of one module of numba-cuda, and writes what came of each to a file, a line of JSON
for each test that begins and for each that ends. Run by `cargo xtask conformance numba`:

    tests.py MODULE FILE [TEST...]

with the tests that are left out."""

import json
import sys
import unittest

import pytest


def name(test):
    # A part of a test has the test's name.
    return getattr(test, "test_case", test).id().removeprefix("numba.cuda.tests.")


class Results(unittest.TestResult):
    """Writes each result at once: a test may end the process."""

    def __init__(self, file):
        super().__init__()
        self.file = file

    def write(self, test, result, text=""):
        json.dump({"test": name(test), "result": result, "text": text}, self.file)
        self.file.write("\n")
        self.file.flush()

    def startTest(self, test):
        super().startTest(test)
        self.write(test, "begun")

    def addSuccess(self, test):
        super().addSuccess(test)
        self.write(test, "passed")

    def addExpectedFailure(self, test, error):
        super().addExpectedFailure(test, error)
        self.write(test, "passed")

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.write(test, "failed", "it was expected to fail")

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.write(test, "skipped", reason)

    def addFailure(self, test, error):
        super().addFailure(test, error)
        self.write(test, "failed", self.failures[-1][1])

    def addError(self, test, error):
        # What some tests skip by, and unittest knows nothing of.
        if issubclass(error[0], pytest.skip.Exception):
            self.addSkip(test, str(error[1]))
            return
        super().addError(test, error)
        self.write(test, "failed", self.errors[-1][1])

    def addSubTest(self, test, subtest, error):
        super().addSubTest(test, subtest, error)
        if error is not None:
            failed = self.failures if issubclass(error[0], test.failureException) else self.errors
            self.write(test, "failed", f"{subtest.id()}\n{failed[-1][1]}")


def tests_of(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from tests_of(part)
        else:
            yield part


def main(module, file, *left_out):
    with open(file, "w") as results:
        try:
            loaded = unittest.defaultTestLoader.loadTestsFromName(module)
        except pytest.skip.Exception as reason:
            # The whole module skips itself, for want of a package: it counts as one test.
            @unittest.skip(str(reason))
            class Module(unittest.TestCase):
                def runTest(self):
                    pass

                def id(self):
                    return module

            loaded = [Module()]
        # A new suite has the fixtures of classes and modules run as the old one would.
        tests = [test for test in tests_of(loaded) if name(test) not in left_out]
        unittest.TestSuite(tests).run(Results(results))
        results.write(json.dumps({"test": module, "result": "ended", "text": ""}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
