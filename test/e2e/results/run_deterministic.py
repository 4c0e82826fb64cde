#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the deterministic software GPU: programs whose threads and streams race have one result.

    test/e2e/results/run_deterministic.py [PART...] [--runs N] [--seconds S] [--racing ARGUMENTS] [--compare]

Parts: racing (test/e2e/programs/jobs/racing.cu N times, alone and beside other programs, on one and on four threads of
the device), programs (those that print a checksum give the usual one there). --seconds: begin no more runs of `racing`
after this time, but at least one of each way. --compare: also count the results without the mode; nothing is asserted
about these. Exit status 0 or 1.
"""
import argparse
import collections
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import CHECKSUM, PATIENCE, Daemon, program

MODE = ["--deterministic", "yes"]
USUAL = ["vecadd", "matmul", "reduce", "norm", "histogram", "pipeline", "train", "tensor", "thrust", "cub",
         "cluster", "graphs", "graph_memory"]
NOISE = [["matmul", "1000000"], ["histogram", "1000000"]]


def run(env, *argv):
    """Returns the checksums by name; an error shows the output."""
    p = subprocess.run([program(argv[0]), *argv[1:]], env=env, text=True, errors="replace",
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)
    sums = CHECKSUM.findall(p.stdout)
    if p.returncode or not sums:
        raise AssertionError(f"{' '.join(argv)}: exit {p.returncode}: {p.stdout[-1500:]}")
    return dict(sums)


class Beside:
    """Endless other programs, alternately present and absent."""

    def __init__(self, env):
        self.env, self.jobs = env, []

    def begin(self):
        self.jobs = [subprocess.Popen([program(name), *rest], env=self.env, stdin=subprocess.DEVNULL,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for name, *rest in NOISE]

    def end(self):
        for job in self.jobs:
            job.kill()
            job.wait()
        self.jobs = []


def count_results(options, runs, until, racing):
    """Counts how often each result of each part of `racing` came."""
    results = collections.defaultdict(collections.Counter)
    for threads in ("1", "4"):
        with Daemon("--device-threads", threads, *options) as d:
            beside = Beside(d.environment())
            try:
                for way in (beside.end, beside.begin):
                    way()
                    for k in range(-(-runs // 4)):
                        if k and time.monotonic() > until:
                            break
                        for name, value in run(d.environment(), "racing", "shown", *racing).items():
                            results[name][value] += 1
            finally:
                beside.end()
    return results


def test_racing(args):
    until = time.monotonic() + args.seconds
    results = count_results(MODE, args.runs, until, args.racing.split())
    if args.compare:
        other = count_results([], args.runs, until, args.racing.split())
        print("    without the mode: " + ", ".join(f"{n} {len(c)} of {sum(c.values())}" for n, c in other.items()))
    print("    results: " + ", ".join(f"{n} {len(c)} of {sum(c.values())}" for n, c in results.items()))
    for name, counts in results.items():
        assert len(counts) == 1, f"{name} has {len(counts)} results in {sum(counts.values())} runs: {counts}"
    assert len(results) >= 2, f"parts are missing: {list(results)}"


def test_programs(args):
    with Daemon() as usual, Daemon(*MODE) as mode:
        for name in USUAL:
            want, got = (run(d.environment(), name) for d in (usual, mode))
            assert got == want, f"{name}: {got}, without the mode {want}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--runs", type=int, default=24)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--racing", default="rounds=1", help="arguments of racing")
    parser.add_argument("--compare", action="store_true")
    args = parser.parse_args()
    for name, test in (("racing", test_racing), ("programs", test_programs)):
        if args.parts and name not in args.parts:
            continue
        begin = time.monotonic()
        test(args)
        print(f"  ok  {name} ({time.monotonic() - begin:.1f} s)", flush=True)


if __name__ == "__main__":
    try:
        main()
    except AssertionError as e:
        sys.exit(f"deterministic: {e}")
