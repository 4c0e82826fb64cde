#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the launches and waits of programs as the worker reads them, for the tests of the iteration detector.

    test/e2e/results/record_iterations.py FOLDER [NAME...]

Each program runs twice: unchanged, which gives the sequence, and with SALUS_MARK=1, which gives the true begins
of iterations. Both runs must have the same launches. So the truth does not depend on the detector, and the
sequence does not depend on the marks.

A recording is text; a line goes from one true beginning to the next:
    [xN] TOKEN...      the line, N times
A token is
    m                  an iteration begins with the next launch
    K[:LIVE][,LOW]     a launch: its fingerprint's number in order of first appearance; the live bytes, if they
                       differ from those at the launch before; the least live bytes between, if below both
    i                  the program waited until its queue was empty
    +T                 T tenths of a millisecond pass (1 ms and more are written)
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import Daemon, checksum_of, program, wait_for

RUNS = {
    "train": ["train", "300"],
    "temporaries": ["accumulate", "150", "1"],
    "accumulate2": ["accumulate", "100", "2"],
    "accumulate4": ["accumulate", "100", "4"],
    "accumulate16": ["accumulate", "30", "16"],
    "evaluate": ["evaluate", "200"],
    "pair": ["pair", "100"],
    "requests": ["requests", "200"],
    "requests_busy": ["requests", "200"],
    "aimless": ["aimless", "4000"],
}
# The programs that run beside it in the run that gives the sequence.
BESIDE = {"requests_busy": [["train", "10000000"], ["accumulate", "10000000", "1"]]}


def run(argv, marked, beside=()):
    """Returns the lines of the launch log: (fingerprint, live bytes, time, kind)."""
    with tempfile.NamedTemporaryFile(prefix="salus-launches-") as log:
        os.environ["SALUS_LAUNCH_LOG"] = log.name
        try:
            with Daemon() as d:
                others = [d.start([program(a[0])] + a[1:]) for a in beside]
                wait_for("they all run", lambda: sum(j["launches"] > 0 for j in d.jobs()) == len(others))
                checksum_of(d.run([program(argv[0])] + argv[1:], SALUS_MARK="1" if marked else "0"), d)
                for p in others:
                    p.kill()
                    p.communicate()
        finally:
            del os.environ["SALUS_LAUNCH_LOG"]
        rows = [line.split() for line in open(log.name)]
    last = max(int(row[0]) for row in rows)
    return [(p, int(live), int(now), kind) for job, p, live, now, kind in rows if int(job) == last]


def truths(rows):
    """Returns the numbers of the launches that begin an iteration."""
    found, launches = set(), 0
    for _, _, _, kind in rows:
        if kind == "mark":
            found.add(launches)
        launches += kind == "launch"
    return found


def encode(rows, begins):
    lines, line, numbers = [], [], {}
    launches, live, low, since = 0, 0, 0, rows[0][2]
    for fingerprint, now_live, now, kind in rows:
        if now - since >= 1000000:
            line.append(f"+{(now - since) // 100000}")
            since += (now - since) // 100000 * 100000
        if kind == "drop":
            low = min(low, now_live)
        if kind == "idle":
            line.append("i")
        if kind != "launch":
            continue
        if launches in begins:
            lines.append(line)
            line = ["m"]
        token = str(numbers.setdefault(fingerprint, len(numbers)))
        token += f":{now_live}" if now_live != live else ""
        token += f",{low}" if low < min(live, now_live) else ""
        line.append(token)
        launches, live, low = launches + 1, now_live, now_live
    return lines + [line]


def write(path, argv, lines, launches, begins):
    with open(path, "w") as f:
        f.write(f"# {' '.join(argv)}: {launches} launches, {begins} iterations\n")
        i = 0
        while i < len(lines):
            n = 1
            while i + n < len(lines) and lines[i + n] == lines[i]:
                n += 1
            f.write((f"x{n} " if n > 1 else "") + " ".join(lines[i]) + "\n")
            i += n


def record(folder, name):
    argv = RUNS[name]
    plain, marked = run(argv, False, BESIDE.get(name, ())), run(argv, True)
    launches = [p for p, _, _, kind in plain if kind == "launch"]
    if launches != [p for p, _, _, kind in marked if kind == "launch"]:
        raise AssertionError(f"{name}: the two runs differ")
    begins = truths(marked)
    path = os.path.join(folder, name + ".txt")
    write(path, argv, encode(plain, begins), len(launches), len(begins))
    print(f"{name}: {len(launches)} launches, {len(begins)} iterations, {os.path.getsize(path)} bytes")


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(RUNS)
    os.makedirs(folder, exist_ok=True)
    for name in names:
        record(folder, name)


if __name__ == "__main__":
    main()
