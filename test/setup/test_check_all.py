#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the order in which scripts/check-all runs steps, and its output, with a stand-in for make."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
sys.dont_write_bytecode = True

# A make that notes when it begins and ends. `meets-X` ends once X has begun; `fails` prints sixty lines and fails;
# `hangs` never ends.
FAKE_MAKE = r'''#!/bin/sh
for target; do :; done
case $* in *-npq*) printf 'check-a: all x.o | y.o\ncheck-b: check-a z\nB := 1\n'; exit 1 ;; esac
echo "begin $target" >>notes
echo "first of $target"
case $target in
meets-*) until grep -q "begin ${target#meets-}" notes; do sleep 0.01; done ;;
fails) seq 60; echo "end $target" >>notes; exit 1 ;;
hangs) sleep 1000 ;;
esac
echo "last of $target"
echo "end $target" >>notes
'''


def script():
    loader = importlib.machinery.SourceFileLoader("check_all", os.path.join(ROOT, "scripts", "check-all"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


class CheckAll(unittest.TestCase):
    def setUp(self):
        self.check, self.before = script(), os.getcwd()
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)
        with open("make", "w") as f:
            f.write(FAKE_MAKE)
        os.chmod("make", 0o755)
        os.environ["MAKE"] = os.path.abspath("make")

    def tearDown(self):
        os.chdir(self.before)
        self.folder.cleanup()
        del os.environ["MAKE"]

    def run_steps(self, *steps, limit_s=600):
        """Returns (runs, output, notes in the order in which steps began and ended)."""
        with contextlib.redirect_stdout(io.StringIO()) as said:
            runs = self.check.run_all([self.check.Step(f"step {targets}", targets, **more) for targets, more in steps], limit_s)
        with open("notes") as f:
            return runs, said.getvalue(), f.read().splitlines()

    def test_two_run_at_the_same_time(self):
        runs, _, _ = self.run_steps(("meets-b", {}), ("b", {}))
        self.assertEqual([r.status for r in runs], [0, 0])

    def test_no_more_than_two(self):
        _, _, notes = self.run_steps(*((f"s{i}", {}) for i in range(9)))
        running = most = 0
        for note in notes:
            running += 1 if note.startswith("begin") else -1
            most = max(most, running)
        self.assertLessEqual(most, 2)
        self.assertEqual(len(notes), 18)

    def test_one_that_is_alone_is_alone(self):
        _, _, notes = self.run_steps(("a", {}), ("b", {"alone": True}), ("c", {}), ("meets-d", {}), ("d", {}))
        self.assertEqual(notes[:4], ["begin a", "end a", "begin b", "end b"])

    def test_a_build_folder_is_for_one_and_others_go_first(self):
        _, _, notes = self.run_steps(("meets-c", {"folder": "x"}), ("b", {"folder": "x"}), ("c", {}))
        self.assertLess(notes.index("end meets-c"), notes.index("begin b"))

    def test_output_is_in_one_piece(self):
        _, said, _ = self.run_steps(("meets-b", {}), ("b", {}))
        self.assertIn("== step meets-b\nfirst of meets-b\nlast of meets-b\n-- ", said)
        self.assertIn("== step b\nfirst of b\nlast of b\n-- ", said)

    def test_a_failure_is_shown_at_the_end(self):
        runs, said, _ = self.run_steps(("fails", {}), ("b", {}))
        with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(self.check.report("check", runs, 0), 1)
        self.assertIn("step fails: FAILED\n", out.getvalue())
        self.assertNotIn("step b: FAILED", out.getvalue())
        self.assertIn("once more\n" + "".join(f"{i}\n" for i in range(21, 61)), err.getvalue())
        self.assertTrue(err.getvalue().endswith("repeats it:\n    step fails: make fails\n"))
        self.assertIn("\n1\n2\n", said)

    def test_one_that_hangs_is_ended(self):
        runs, said, _ = self.run_steps(("hangs", {}), limit_s=0.5)
        self.assertNotEqual(runs[0].status, 0)
        self.assertIn("first of hangs\ncheck: 'step hangs' was ended after ", said)

    def test_what_the_steps_need_is_in_makes_data_base(self):
        self.assertEqual(self.check.needs([self.check.Step("b", "check-b")]), "z all x.o")
        self.assertEqual(self.check.needs([self.check.Step("b", "check-b", folder="x")]), "")


if __name__ == "__main__":
    unittest.main()
