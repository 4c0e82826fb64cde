#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests that the job which breaks the context of a real GPU is named, and that all others continue. Jobs run beside one
whose kernel makes an illegal access at some moment, again and again (ADR 0018, 0020). A failed assertion prints its
text to its job. Nested; kernels in flight are repeated.

    test/e2e/faults/run_culprit.py [--list] [NAME-PART...]
"""
import os
import random
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import PATIENCE, Nested, program, run_tests, wait_for

ROUNDS = int(os.environ.get("SALUS_CULPRIT_ROUNDS", "8"))
SEED = int(os.environ.get("SALUS_CULPRIT_SEED", "0")) or int(time.time())
ILLEGAL_ADDRESS = 700
ASSERT = 710
SAID = "thread: [3,0,0] Assertion `p[threadIdx.x] == 0 && threadIdx.x < 3` failed."
# These programs' kernels read nothing that they write.
BYSTANDERS = [("vecadd", "250"), ("matmul", "100")]
JOBS = 7
AFTER = re.compile(r"event=recovered .*after_ms=(\d+)")


def solo():
    """Returns the output of each program alone."""
    with Nested() as d:
        return {b: d.run([program(b[0]), b[1]]).stdout for b in BYSTANDERS}


def at_work(d, count):
    wait_for("others are at work", lambda: sum(j["launches"] > 3 for j in d.jobs()) >= count)


def break_context(d):
    """Breaks the context, and checks that the history names the culprit."""
    culprit = d.start([program("offender"), "oob"])
    culprit.communicate(timeout=PATIENCE)
    wait_for("it is in the history", lambda: any(e["pid"] == culprit.pid for e in ended(d)))
    return culprit, next(e for e in ended(d) if e["pid"] == culprit.pid)


def ended(d):
    return d.ctl_json("history")["history"]


def test_who_broke_it_is_named_and_the_others_go_on():
    alone, chance = solo(), random.Random(SEED)
    with Nested() as d:
        jobs = []
        for i in range(ROUNDS):
            while len(jobs) < JOBS:
                what = BYSTANDERS[len(jobs) % len(BYSTANDERS)]
                jobs.append((what, d.start([program(what[0]), what[1]])))
            at_work(d, 4)
            time.sleep(chance.random() * 0.3)
            culprit, entry = break_context(d)
            if culprit.returncode != ILLEGAL_ADDRESS % 256 or entry["fault"] != ILLEGAL_ADDRESS \
                    or "read_far" not in entry["why"] or entry["how"] != "faulted":
                raise AssertionError(f"round {i} (seed {SEED}): {culprit.returncode} {entry}\n{d.log()[-6000:]}")
            jobs = [j for j in jobs if j[1].poll() is None or check(d, j, alone, i)]
        for j in jobs:
            check(d, j, alone, ROUNDS)
        print(f"    named {ROUNDS} of {ROUNDS}; after_ms {AFTER.findall(d.log())} (seed {SEED})", flush=True)


def test_a_failed_assertion_is_told_to_its_job():
    """The assertion's text is the reason of the job's end, and is in the log as usual."""
    with Nested() as d:
        culprit = d.start([program("offender"), "assert"])
        _, err = culprit.communicate(timeout=PATIENCE)
        wait_for("it is in the history", lambda: any(e["pid"] == culprit.pid for e in ended(d)))
        entry = next(e for e in ended(d) if e["pid"] == culprit.pid)
        for where, text in (("standard error", err), ("history", entry["why"]), ("log", d.log())):
            if SAID not in text:
                raise AssertionError(f"{where} lacks what the assertion said: {text}\n{d.log()[-6000:]}")
        if err.count(SAID) != 1 or culprit.returncode != ASSERT % 256 or entry["fault"] != ASSERT:
            raise AssertionError(f"{culprit.returncode} {entry}\n{err}")


def check(d, job, alone, i):
    """The bystander ended with its result."""
    what, p = job
    out, err = p.communicate(timeout=PATIENCE)
    if p.returncode or out != alone[what]:
        raise AssertionError(f"{what} in round {i} (seed {SEED}): {p.returncode} {out}{err}\n{d.log()[-6000:]}")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
