#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the runner of frameworks notices failures: each case of cases_broken.py gets its verdict, a framework that
cannot be installed is skipped, and a case that is no longer right is reported.

    test/frameworks/test_runner.py [--list] [NAME-PART...]
"""
import json
import os
import subprocess
import sys
import tempfile

import folders
import report
import tree

sys.path.insert(0, os.path.join(folders.HERE, "..", "e2e", "lib"))
from harness import run_tests

EARNED = {"right": "right", "wrong": "wrong", "not_a_number": "wrong", "too_few": "wrong", "nothing": "wrong",
          "raises": "failed", "crashes": "crashed", "hangs": "hangs", "refused": "refused",
          "refused_and_wrong": "wrong", "differ": "wrong", "agree": "right"}


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def run(*options):
    """Returns the exit status, output and records of the broken cases."""
    with tempfile.NamedTemporaryFile("r") as f:
        done = subprocess.run([sys.executable, os.path.join(folders.HERE, "run_frameworks.py"), "--only", "broken",
                               "--json", f.name, *options], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        return done.returncode, done.stdout, json.load(f)["broken"]


def test_each_gets_what_it_earned():
    status, out, records = run()
    equal({r["case"]: r["verdict"] for r in records}, EARNED, "verdicts")
    equal(status, 1, "exit status")
    bad = [n for n, v in EARNED.items() if v in ("wrong", "crashed", "hangs")]
    equal(sorted(l for l in out.splitlines() if l.startswith("failed: ")),
          sorted(f"failed: broken.{n} {EARNED[n]}" for n in bad), "what is said to have failed")
    line = next(r["line"] for r in records if r["case"] == "refused")
    equal(line, 'what="the program uses a part of CUDA that is not supported" call=cuImportExternalMemory', "its line")


def test_what_is_right_ends_with_0():
    equal(run("--case", "agree")[0], 0, "exit status")


def test_a_case_that_was_right_is_missed():
    framework = folders.read()["broken"]
    kept = {"broken": {"cases": [{"case": "a", "verdict": "right"}, {"case": "b", "verdict": "refused"}]}}
    now = [{"case": "a", "verdict": "refused"}, {"case": "b", "verdict": "refused"}, {"case": "c", "verdict": "failed"}]
    equal(report.regressions(kept, framework, now), ["a"], "regressions")


def commit(root):
    me = ["-c", "user.name=me", "-c", "user.email=me@here"]
    for argv in (["init", "-q"], ["add", "-A"], [*me, "commit", "-q", "-m", "all"]):
        subprocess.run(["git", "-C", root, *argv], check=True)
    return subprocess.run(["git", "-C", root, "rev-parse", "HEAD"], text=True, stdout=subprocess.PIPE).stdout


def test_a_record_says_which_engine():
    with tempfile.TemporaryDirectory() as root:
        equal(tree.engine(root), "", "where there is no repository")
        for folder in ("shim", "docs"):
            os.mkdir(os.path.join(root, folder))
            open(os.path.join(root, folder, "a"), "w").close()
        first = commit(root)
        open(os.path.join(root, "docs", "b"), "w").close()
        commit(root)
        equal(tree.engine(root), first[:9], "the engine's last commit")
        open(os.path.join(root, "shim", "b"), "w").close()
        equal(tree.engine(root), first[:9] + "+", "with a file that no commit has")


def reason_of(f, *arguments):
    try:
        f(*arguments)
    except folders.Unavailable as why:
        return str(why)
    return "none"


def test_what_cannot_be_had_says_why():
    section = {"title": "Large", "packages": "large==1.0", "package": "large", "gigabytes": 1 << 40}
    framework = folders.Framework("large", section, {"large": section})
    with tempfile.TemporaryDirectory() as root:
        why = reason_of(folders.python_of, framework, root)
        equal(why.split(" are needed")[0], f"{1 << 40} GiB of disk", "reason")
        equal(os.listdir(root), [], "what is left")
    equal(reason_of(folders._run, "pip", ["sh", "-c", "echo Looking; echo no such wheel; exit 1"]),
          "pip: no such wheel", "reason")


if __name__ == "__main__":
    sys.exit(run_tests(dict(globals())))
