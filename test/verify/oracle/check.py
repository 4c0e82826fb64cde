#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the software GPU with results that a real GPU gave for the same forms (test/data/oracle).

    check.py RUN [FOLDER]    RUN is oracle_run; FOLDER (default build/oracle-check) is written anew

Fails when a form that is not in known.txt differs, and when a form in known.txt no longer differs or does not
exist. Given FOLDER/results.bin and a real GPU's results, compare.py shows where and by how much.
"""
import array
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(HERE)))
sys.path.insert(0, os.path.join(ROOT, "test", "e2e", "lib"))

import harness
import pack
import results
import sums

DATA = os.path.join(ROOT, "test", "data", "oracle")
FEWEST = 4000  # number of forms; fewer indicate a mistake


def known():
    """Names of forms that are known to differ, by reason."""
    found, reason = {}, None
    with open(os.path.join(DATA, "known.txt")) as f:
        for line in f.read().splitlines():
            if line.startswith("## "):
                reason = line[3:]
            elif line and not line.startswith("#"):
                found[line] = reason
    return found


def packed(folder):
    said = sums.read(os.path.join(DATA, "h200.txt"))
    forms = [f for f in pack.all_forms() if sums.key(f) in said]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    pack.write(folder, forms)
    with open(os.path.join(folder, "expected.bin"), "wb") as f:
        f.write(array.array("Q", [said[sums.key(x)] for x in forms]).tobytes())
    return forms


def main():
    run, folder = os.path.abspath(sys.argv[1]), (sys.argv + [os.path.join(ROOT, "build", "oracle-check")])[2]
    forms, bad = packed(folder), 0
    with harness.Soft() as daemon:
        subprocess.run([run, os.path.abspath(folder), os.path.join(os.path.abspath(folder), "results.bin"), "2"], check=True,
                       env=daemon.environment(), cwd=folder, stderr=subprocess.DEVNULL)
    records = results.records(os.path.join(folder, "results.bin"))
    differ = {sums.name(f) for n, f in enumerate(forms) if n not in records or records[n].status != "same"}
    expected = known()
    for name in sorted(differ - expected.keys()):
        print(f"differs from the GPU: {name}")
    for name in sorted(expected.keys() - differ):
        print(f"in known.txt ({expected[name]}), but it does not differ: {name}")
    bad = len(differ ^ expected.keys()) + (len(forms) < FEWEST)
    print(f"{len(forms)} forms as a GPU computed them: {len(forms) - len(differ)} equal, {len(differ)} differ, {bad} not as known")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
