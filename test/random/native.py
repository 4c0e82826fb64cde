# SPDX-License-Identifier: Apache-2.0
"""Runs new programs on a real GPU, on the driver's own libcuda.so.1 without Salus. A result that differs from the
host's is an error of the reference, of the generator or of the driver's compiler. The software GPU agrees with the
reference (hunt.py), so an error of the reference is also one of the software GPU."""
import collections
import concurrent.futures
import os
import re
import subprocess
import threading
import time

import toolchain
from generator import matrices
from generator.program import Program
from hunt import TURNS

JOB = os.path.join(toolchain.BUILD, "test", "random", "job")
PART = 10  # kernels of a file: the driver compiles one kernel within a second
STACK_BYTES = "8192"
PATIENCE_S = 30
DIFFERS = re.compile(r"^differs: seed \d+ kernel k(\d+)", re.M)
STOPPED = re.compile(r"^stopped: k(\d+)$", re.M)


def without_floating_matrices():
    """Floating-point products are left out: their sums are known to differ (ADR 0009)."""
    matrices.PRODUCTS = tuple(p for p in matrices.PRODUCTS if re.match(r"f64$|s\d|b1", p))
    matrices.TILES = {"bytes": matrices.TILES["bytes"]}


def ask(expected, image, *options):
    """Runs a job on the driver that the loader finds; returns (status, output)."""
    env = dict(os.environ, CUDA_CACHE_DISABLE="1")
    try:
        done = subprocess.run([JOB, "-stack", STACK_BYTES, *options, expected, image], env=env, text=True, errors="replace",
                              timeout=PATIENCE_S, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
    except subprocess.TimeoutExpired:
        return None, "does not end"
    return done.returncode, done.stdout


class Native:
    def __init__(self, folder, seed, seconds, jobs):
        self.folder, self.seed, self.jobs = folder, seed, jobs
        self.end = time.monotonic() + seconds
        self.counts = collections.Counter()
        self.lock = threading.Lock()
        self.log = os.path.join(folder, "differences.txt")
        os.makedirs(folder, exist_ok=True)

    def run(self):
        parts = ((s, at) for s in range(self.seed, self.seed + 10 ** 6) for at in range(0, 40, PART))
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for worker in [pool.submit(self.work, parts) for _ in range(self.jobs)]:
                worker.result()
        self.say(f"native: {dict(self.counts)}")
        return not set(self.counts) - {"kernels", "the driver's optimizer"}

    def work(self, parts):
        while time.monotonic() < self.end:
            with self.lock:
                seed, at = next(parts)
            try:
                self.one(seed, at)
            except (toolchain.GeneratorFault, subprocess.TimeoutExpired) as e:
                self.note("generator's faults", f"generator's fault: seed {seed} from {at}: {str(e)[:600]}")

    def say(self, text):
        with self.lock:
            print(text, flush=True)
            with open(self.log, "a", encoding="utf-8") as f:
                f.write(text + "\n")

    def note(self, kind, text):
        with self.lock:
            self.counts[kind] += 1
        self.say(text)

    def made(self, name, seed, kernels, variant):
        """Returns (source, expected, image) of a program."""
        source = os.path.join(self.folder, f"{name}.cu")
        with open(source, "w", encoding="utf-8") as f:
            f.write(Program(seed, kernels).text())
        return source, toolchain.reference(source, variant), toolchain.compile_image(source, variant)

    def one(self, seed, at):
        variant = TURNS[seed % len(TURNS)]
        files = self.made(f"{seed}-{at}", seed, range(at, at + PART), variant)
        status, said = ask(*files[1:])
        wrong = {int(k) for k in DIFFERS.findall(said)}
        for k in STOPPED.findall(said):  # the kernels after it did not run
            wrong |= set(range(int(k), at + PART))
        with self.lock:
            self.counts["kernels"] += PART
        if status and not wrong:
            self.note("no answer", f"no answer: seed {seed} from {at} variant {variant}: status {status}: {said[-500:]}")
        for k in sorted(wrong):
            self.look(seed, k, variant)
        for path in files:
            os.unlink(path)

    def look(self, seed, kernel, variant):
        """Runs one kernel that differs by itself, and again without optimization: if that result is right, the
        driver's compiler is wrong. Keeps its source, PTX and both results."""
        base = os.path.join(self.folder, f"{seed}-k{kernel:02}-{variant}")
        source, expected, image = self.made(os.path.basename(base), seed, [kernel], variant)
        toolchain.host_says(source, toolchain.HOSTS[1], variant, dump=True)
        status, said = ask(expected, image, "-want", source + ".host", "-got", base)
        if status == 0:
            self.note("not by itself", f"not by itself: seed {seed} kernel {kernel} variant {variant}")
            return
        kind = "the driver's optimizer" if ask(expected, image, "-opt", "0")[0] == 0 else "differ"
        self.note(kind, f"{kind}: seed {seed} kernel {kernel} variant {variant}: status {status}\n{said.rstrip()}")
