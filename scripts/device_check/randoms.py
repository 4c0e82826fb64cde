# SPDX-License-Identifier: Apache-2.0
"""Random programs (test/random). Each kernel's results are known, and a device that gives others is reported with them.
known-on-hardware.txt, in the same folder, lists kernels that may differ on hardware, and why."""
import glob
import os
import re

import device_check.processes as processes
from device_check.ways import ROOT, NotHere, harness

FOLDER = os.path.join(ROOT, "build", "data", "random")
KNOWN = os.path.join(ROOT, "test", "data", "random", "known-on-hardware.txt")
DIFFERS = re.compile(r"^differs: seed (\d+) kernel (k\d+) gives ([0-9a-f]+)$")
STOPPED = re.compile(r"^stopped: (k\d+)$")
COUNT = re.compile(r": (\d+) kernels, \d+ differ$")
STACK_BYTES = 8192  # some kernels are recursive: unoptimized they need more than a driver's 1 KiB
MOST_S = 60


def known(path=KNOWN):
    """Returns {(seed, kernel): reason} of kernels that hardware may compute differently."""
    with open(path, encoding="utf-8") as f:
        lines = [line.split(None, 2) for line in f if not line.startswith("#") and line.strip()]
    return {(seed, kernel): why.strip() for seed, kernel, why in lines}


def programs():
    return [(e, e[:-len(".expected")] + ".ptx") for e in sorted(glob.glob(os.path.join(FOLDER, "*.expected")))]


def names(expected):
    with open(expected, encoding="utf-8") as f:
        return [line.split()[0] for line in f if line.startswith("k")]


class Found:
    """Returns a way's results, {(seed, kernel): the sum of its results, or how it ended}, and the number of kernels."""

    def __init__(self):
        self.differ, self.ran = {}, 0

    def take(self, seed, expected, lines, status):
        """Returns the output of one process, and the kernel after which to continue (None: all are done)."""
        stopped = [m[1] for line in lines if (m := STOPPED.match(line))]
        for line in lines:
            if m := DIFFERS.match(line):
                self.differ[m[1], m[2]] = m[3]
        if stopped:
            self.differ[seed, stopped[0]] = " ".join(lines)[-200:]
            return stopped[0]
        counts = [int(m[1]) for line in lines if (m := COUNT.search(line))]
        if status not in (0, 1) or not counts:
            self.differ[seed, "all"] = f"status {status}: {' '.join(lines)[-200:]}"
            return None
        self.ran += counts[0]
        return None


def run(check, way, expected, image, found):
    """Runs a program's kernels. After a kernel that ends with an error, the following ones run in a new process."""
    seed = os.path.basename(expected).split(".")[0]
    order, after = names(expected), None
    while True:
        argv = [os.path.join(harness.BUILD, "test", "random", "job"), "-stack", str(STACK_BYTES)]
        argv += ["-after", after] if after else []
        process = processes.Process(argv + [expected, image], way.environment())
        status = process.wait(check.seconds(MOST_S))
        stopped = found.take(seed, expected, process.out + process.err, status)
        if stopped is None or stopped not in order:
            return
        done = order.index(stopped) + 1
        found.ran += done - (order.index(after) + 1 if after else 0)
        after = stopped
        if done == len(order):
            return


def all_of(check, way):
    found = Found()
    for expected, image in programs()[:check.sized(None, 3)]:
        run(check, way, expected, image, found)
    return found


def told(part, title, found, may):
    """Returns the rows of one way. An unknown difference is a failure."""
    new = {k: v for k, v in found.differ.items() if k not in may}
    old = sorted(k for k in found.differ if k in may)
    part.found(title, {" ".join(k): v for k, v in found.differ.items()})
    part.row(f"{title}: kernels", found.ran)
    part.row(f"{title}: failed", len(new), note=", ".join(f"{s} {k}" for s, k in sorted(new))[:300] or None)
    if old:
        part.row(f"{title}: differ as is known of hardware", len(old),
                 note="; ".join(sorted({may[k] for k in old})))
    gone = sorted(k for k in may if k not in found.differ)
    if old and gone:
        part.row(f"{title}: known to differ, and do not", len(gone), note=", ".join(f"{s} {k}" for s, k in gone)[:300])


def part(check, part):
    if not os.access(os.path.join(harness.BUILD, "test", "random", "job"), os.X_OK):
        raise NotHere("test/random/job was not built: make device-programs")
    may = known() if check.gpu else {}
    with check.native() as way:
        native = all_of(check, way)
    told(part, "random programs, native", native, may)
    with check.salus("salus") as way:
        salus = all_of(check, way)
    told(part, "random programs under Salus", salus, may)
    other = sorted(k for k in set(native.differ) | set(salus.differ) if native.differ.get(k) != salus.differ.get(k))
    part.row("random programs, native and under Salus unlike: failed", len(other),
             note=", ".join(f"{s} {k}" for s, k in other)[:300] or None)
