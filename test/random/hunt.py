# SPDX-License-Identifier: Apache-2.0
"""Generates many programs and checks each by two host builds. Then compiles it in several ways and runs it on the
interpreter and through the real daemon, several programs at a time."""
import collections
import concurrent.futures
import os
import re
import sys
import threading
import time

import toolchain
from generator.program import Program
from reduce import Reducer

sys.path.insert(0, os.path.join(toolchain.ROOT, "test", "e2e", "lib"))

KERNELS = 40  # kernels of a file
# Variants in turn: half as nvcc compiles by default, a quarter for debugging.
TURNS = ("75", "90-debug", "80", "80-plain", "90", "75-debug", "86-lineinfo", "89")


class Hunt:
    def __init__(self, folder, seed, files, jobs, daemon=None, keep=False):
        self.folder, self.seed, self.files, self.jobs, self.daemon, self.keep = folder, seed, files, jobs, daemon, keep
        self.counts = collections.Counter()
        self.by_variant = collections.Counter()
        self.failures = {}  # (seed, kernel index, variant): the first message about it
        self.lock = threading.Lock()
        self.begin = time.monotonic()
        os.makedirs(folder, exist_ok=True)

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(self.guarded, range(self.seed, self.seed + self.files)))
        self.say("done")
        return not self.failures and not self.counts["generator faults"]

    def guarded(self, seed):
        try:
            self.one(seed)
        except toolchain.GeneratorFault as e:
            with self.lock:
                self.counts["generator faults"] += 1
            print(f"generator's fault: seed {seed}: {e}", flush=True)

    def one(self, seed):
        source = os.path.join(self.folder, f"{seed}.cu")
        program = Program(seed, range(KERNELS))
        with open(source, "w") as f:
            f.write(program.text())
        variant = TURNS[seed % len(TURNS)]
        expected = toolchain.reference(source, variant)
        image = toolchain.compile_image(source, variant)
        differs, said = toolchain.play(expected, image)
        self.note(seed, variant, differs + self.through_daemon(expected, image), said)
        with self.lock:
            self.counts["kernels"] += KERNELS
            self.counts["programs"] += 1
        if self.counts["programs"] % 10 == 0:
            self.say("so far")
        for path in () if self.keep else (source, expected, image):
            os.unlink(path)

    def through_daemon(self, expected, image):
        if not self.daemon:
            return []
        done = self.daemon.run([os.path.join(toolchain.BUILD, "test", "random", "job"), expected, image],
                               seconds=toolchain.PATIENCE)
        self.counts["jobs"] += 1
        differs = [d + " (daemon)" for d in toolchain.DIFFERS.findall(done.stdout)]
        if done.returncode and not differs:
            differs = [f"differs: the job of {image} exits {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}"]
        return differs

    def note(self, seed, variant, differs, said):
        launches = re.search(r"(\d+) launches", said)
        with self.lock:
            self.counts["launches"] += int(launches.group(1)) if launches else 0
            self.by_variant[variant] += KERNELS
            for d in differs:
                kernel = re.search(r"kernel k(\d+)", d)
                key = (seed, int(kernel.group(1)) if kernel else -1, variant)
                if key not in self.failures:
                    self.failures[key] = d
                    print(d, flush=True)

    def say(self, when):
        seconds = time.monotonic() - self.begin
        kernels = self.counts["kernels"]
        wrong = len({k[:2] for k in self.failures})
        print(f"{when}: {kernels} kernels in {seconds:.0f} s ({60 * kernels / seconds:.0f} a minute), "
              f"{self.counts['launches']} launches, "
              f"{self.counts['jobs']} jobs through the daemon; {wrong} kernels differ, "
              f"{self.counts['generator faults']} generator's faults; " +
              ", ".join(f"{n} {v}" for v, n in sorted(self.by_variant.items())), flush=True)

    def reduce(self, most):
        """Reduces the first failures."""
        for seed, index, variant in list(self.failures)[:most]:
            if index >= 0:
                Reducer(seed, index, variant, os.path.join(self.folder, "reduced")).run()


def hunt_with_daemon(folder, seed, files, jobs, keep=False):
    from harness import Daemon
    with Daemon() as daemon:
        hunt = Hunt(folder, seed, files, jobs, daemon, keep)
        right = hunt.run()
    return hunt, right
