# SPDX-License-Identifier: Apache-2.0
"""scripts/gen-promises must reject a damaged file and name the place. Run by make check-gen."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOOL = os.path.join(ROOT, "scripts/gen-promises")
with open(os.path.join(ROOT, "proto/promises.def"), encoding="utf-8") as f:
    SOURCE = f.read()


class BadFile(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.dir)

    def run_tool(self, text):
        path = os.path.join(self.dir, "promises.def")
        with open(path, "w", encoding="utf-8") as f:
            f.write(text)
        command = [sys.executable, TOOL, "--spec", path, "--check"]
        return subprocess.run(command, capture_output=True, text=True)

    def refuse(self, old, new, message):
        self.assertIn(old, SOURCE)
        done = self.run_tool(SOURCE.replace(old, new, 1))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(message, done.stderr)

    def test_whole(self):
        done = self.run_tool(SOURCE)
        self.assertEqual(done.stderr, "")

    def test_setter_without_a_record(self):
        self.refuse("cuDeviceSetGraphMemAttribute ", "", "cuDeviceSetGraphMemAttribute sets or counts")

    def test_no_such_call(self):
        self.refuse("calls cuTensorMapSet", "calls cuTensorMapUnset", "is no call of the driver")

    def test_no_such_test(self):
        self.refuse("test deep_recursion", "test shallow_recursion", "has no shallow_recursion()")
        self.refuse("test_nest.c:PENDING", "test_nest.c:PANDING", "has no PANDING")
        self.refuse("test_nest.c:", "test_nets.c:", "there is no test/unit/daemon/device/soft/dev/test_nets.c")

    def test_nothing_tests_it(self):
        self.refuse("    test stream_ids\n", "", "stream_id has neither a check nor a test")

    def test_too_long_for_the_table(self):
        self.refuse("cuda Unique", "cuda " + "x" * 121 + " Unique", "more than 120")

    def test_bad_lines(self):
        self.refuse("promise limit_stack", "promise limit_heap", "is there twice")
        self.refuse("    about the id", "    abuot the id", "unknown keyword abuot")
        self.refuse("    about the id", "about the id", "outside of a record")

    def test_edited_page(self):
        done = self.run_tool(SOURCE.replace("cuda A preference", "cuda The preference", 1))
        self.assertEqual(done.returncode, 1)
        self.assertIn("docs/promises.md: differs", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=[a for a in sys.argv if a != "--quiet"], verbosity=0)
