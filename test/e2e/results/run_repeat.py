#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every program many times, several at a time, under pairs of policies; each run must print the checksum
that the program gives alone.

    test/e2e/results/run_repeat.py --programs "NAME..." [--runs N] [--seconds S] [--at-once N] [--pairs A/B,C/D] [--state FILE]

A NAME is a program of build/e2e/default-static, VARIANT/NAME one of another, or a path. Each program runs N times under
each pair. With --seconds the script stops after that time. With --state, the next start continues there until all runs
are done, unless something was built anew. Exit status 0; 1 when a run differed (with its program, policies and output);
3 when the time was over with runs left.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import BUILD, CHECKSUM, PATIENCE, Daemon, program, tool

PAIRS = "pack/streams,fair/orion,srtf/slack"
# Less work for programs that idle or take long.
ARGUMENTS = {"requests": ["15"], "train": ["12"], "accumulate": ["60"], "pair": ["40"], "evaluate": ["20"]}
UNFINISHED = 3
DIFFERENCES_MAX = 20
REPORT_S = 15


def path_of(name):
    if os.path.isabs(name):
        return name
    variant, _, base = name.rpartition("/")
    return program(base, variant or "default-static")


def argv_of(name):
    return [path_of(name)] + ARGUMENTS.get(name, [])


def fingerprint(args):
    """Returns a hash of everything that a run depends on."""
    h = hashlib.sha256(json.dumps([args.runs, args.pairs, args.programs, ARGUMENTS]).encode())
    for path in [path_of(n) for n in args.programs] + [tool("salus-gpu"), tool("salusd"),
                                                       os.path.join(BUILD, "shim", "libcuda.so.1")]:
        with open(path, "rb") as f:
            h.update(f.read())
    return h.hexdigest()


class State:
    """The number of right runs of each program, by pair; stored in a file if one is given."""

    def __init__(self, args):
        self.path, self.print = args.state, fingerprint(args)
        self.done = {pair: dict.fromkeys(args.programs, 0) for pair in args.pairs}
        if self.path and os.path.exists(self.path):
            with open(self.path) as f:
                kept = json.load(f)
            if kept["print"] == self.print:
                self.done = kept["done"]

    def save(self, finished):
        if not self.path:
            return
        if finished:
            if os.path.exists(self.path):
                os.unlink(self.path)
            return
        with open(self.path + ".new", "w") as f:
            json.dump({"print": self.print, "done": self.done}, f)
        os.replace(self.path + ".new", self.path)


def run_once(name, env):
    """Returns the checksum, or None, and the output."""
    try:
        p = subprocess.run(argv_of(name), env=env, text=True, errors="replace", stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return None, f"hangs: not over after {PATIENCE:g} s"
    found = CHECKSUM.search(p.stdout)
    right = p.returncode == 0 and found
    return found.group(2) if right else None, f"exit {p.returncode}: {p.stdout[-1500:]}"


def alone(names):
    """Returns the checksums of runs alone."""
    sums = {}
    with Daemon() as d:
        env = d.environment()
        for name in names:
            sums[name], text = run_once(name, env)
            if sums[name] is None:
                raise SystemExit(f"repeat: {name} alone: {text}")
    return sums


class Repeat:
    def __init__(self, args):
        self.args = args
        self.state = State(args)
        self.want = alone(args.programs)
        self.differences = []
        self.begin = self.said = time.monotonic()
        self.ran = 0

    def over(self):
        return self.args.seconds and time.monotonic() - self.begin > self.args.seconds

    def left(self, pair):
        """Yields the runs that are left, in turns, so that each program runs beside every other."""
        done = self.state.done[pair]
        runs = [(name, i + 1) for name in self.args.programs for i in range(done[name], self.args.runs)]
        random.Random(len(runs)).shuffle(runs)
        return runs

    def judge(self, pair, name, number, result):
        got, text = result
        self.ran += 1
        self.state.done[pair][name] += 1
        if got != self.want[name]:
            what = f"checksum {got}, alone {self.want[name]}" if got else text
            self.differences.append(f"{name} under {pair}, run {number}: {what}")
            print(f"    DIFFERENT {self.differences[-1]}", flush=True)
        if time.monotonic() - self.said > REPORT_S:
            self.say(pair)

    def say(self, pair):
        self.said = time.monotonic()
        total = self.args.runs * len(self.args.programs) * len(self.args.pairs)
        done = sum(sum(d.values()) for d in self.state.done.values())
        rate = self.ran / max(self.said - self.begin, 1e-3)
        self.state.save(False)
        print(f"    {pair}: {done} of {total} runs, {rate:.1f} a second, {len(self.differences)} different", flush=True)

    def run_pair(self, pair):
        lane, kernel = pair.split("/")
        waiting = self.left(pair)
        if not waiting:
            return
        with Daemon("--lane-policy", lane, "--kernel-policy", kernel) as d, \
                concurrent.futures.ThreadPoolExecutor(self.args.at_once) as pool:
            env, worker, running = d.environment(), d.worker_pid(), {}
            while (waiting and not self.over() and len(self.differences) < DIFFERENCES_MAX) or running:
                while waiting and len(running) < self.args.at_once and not self.over():
                    name, number = waiting.pop()
                    running[pool.submit(run_once, name, env)] = (name, number)
                ended, _ = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
                for future in ended:
                    self.judge(pair, *running.pop(future), future.result())
            if d.worker_pid() != worker:
                self.differences.append(f"under {pair} the worker was lost: {d.log()[-2000:]}")
        self.say(pair)

    def run(self):
        for pair in self.args.pairs:
            self.run_pair(pair)
        finished = all(n >= self.args.runs for d in self.state.done.values() for n in d.values())
        self.state.save(finished or bool(self.differences))
        return finished


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--programs", type=str.split, required=True)
    p.add_argument("--runs", type=int, default=500)
    p.add_argument("--seconds", type=float, default=0)
    p.add_argument("--at-once", type=int, default=8)
    p.add_argument("--pairs", type=lambda text: text.split(","), default=PAIRS.split(","))
    p.add_argument("--state")
    args = p.parse_args()
    repeat = Repeat(args)
    finished = repeat.run()
    took = time.monotonic() - repeat.begin
    print(f"repeat: {repeat.ran} runs of {len(args.programs)} programs, {args.at_once} at a time, in {took:.0f} s "
          f"({repeat.ran / took:.1f} a second): {len(repeat.differences)} different"
          + ("" if finished else "; not finished"))
    for difference in repeat.differences:
        print(f"different: {difference}")
    return 1 if repeat.differences else 0 if finished else UNFINISHED


if __name__ == "__main__":
    sys.exit(main())
