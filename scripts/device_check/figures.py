# SPDX-License-Identifier: Apache-2.0
"""Overhead, turns, a service beside training, two trainings: the same programs run in every way, one after the other
within each repeat, so that a drift of the machine's speed affects all alike. Ratios are taken within a repeat, or of
the minima."""
import contextlib
import signal
import statistics
import time

import device_check.processes as processes
from device_check.processes import value
from device_check.ways import NotHere

OPEN = [("native", lambda c: c.native()), ("salus", lambda c: c.salus("salus", "--kernel-policy", "streams")),
        ("mps", lambda c: c.mps())]


def opened(check, part, stack, makers):
    """The ways that exist on this machine, by name; for the others the reason."""
    ways = {}
    for name, make in makers:
        try:
            ways[name] = stack.enter_context(make(check))
        except NotHere as why:
            part.row(f"{name}: not measured", None, note=str(why))
    return ways


def floors(runs, figure):
    """Returns the least, the median and the number of the values."""
    values = [v for v in (value(r, figure) for r in runs) if v is not None]
    return (min(values), statistics.median(values), len(values)) if values else None


def ratio(part, what, runs, over, figure):
    """Returns the ratio of the least of one way to that of another, and the spread of the ratios within each repeat."""
    a, b = floors(runs.get(over[0], []), figure), floors(runs.get(over[1], []), figure)
    if not a or not b or not b[0]:
        part.row(what, None, note="not measured")
        return
    each = [value(x, figure) / value(y, figure) for x, y in zip(runs[over[0]], runs[over[1]])
            if value(x, figure) and value(y, figure)]
    part.row(what, a[0] / b[0], spread=(min(each), max(each)) if each else None,
             note=f"least {a[0]:.5g} and {b[0]:.5g}, medians {a[1]:.5g} and {b[1]:.5g}, {a[2]} times")


# ---- overhead ------------------------------------------------------------------------------------------

def overhead(check, part):
    sizes = check.sized({"launch": (400, 50), "copy": (256, 8), "compute": (20, 512, 400)},
                        {"launch": (8, 10), "copy": (2, 2), "compute": (2, 1, 4)})
    repeats = check.sized(5, 1)
    runs = {name: {way: [] for way, _ in OPEN} for name in sizes}
    with contextlib.ExitStack() as stack:
        ways = opened(check, part, stack, OPEN)
        for repeat in range(repeats):
            for name, numbers in sizes.items():
                for way in list(ways) if repeat % 2 == 0 else reversed(list(ways)):
                    done = check.work(ways[way], name, numbers, persistent=check.sized("2GiB", "64MiB"))
                    runs[name][way].append(done)
            part.found("runs", runs)
    pair = ("salus", "native")
    ratio(part, "compute: time against native", runs["compute"], pair, "iteration_min")
    for kind in ("pinned", "pageable"):
        for way in ("to", "from"):
            name = f"copy, {kind}: time against native" if way == "to" else f"copy, {kind}, back: time against native"
            ratio(part, name, runs["copy"], pair, f"{kind}_{way}_the_device_min")
    ratio(part, "launch-bound: time a launch against native", runs["launch"], pair, "launch_in_a_step")
    ratio(part, "launch-bound, 5 us of CPU between: against native", runs["launch"], pair, "step_with_5us_between_min")
    ratio(part, "handing in a launch, against native", runs["launch"], pair, "launch_handed_in")
    if runs["launch"]["mps"]:
        for name, figure in (("compute", "iteration_min"), ("launch", "launch_in_a_step"), ("copy", "pinned_to_the_device_min")):
            ratio(part, f"{name} under MPS: time against native", runs[name], ("mps", "native"), figure)


# ---- several programs at once ----------------------------------------------------------------------------

class Together:
    """A training that runs, with its progress in a window of time."""

    def __init__(self, check, way):
        self.check, self.way, self.jobs = check, way, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process, _, _ in self.jobs:
            process.kill()
            process.wait(5)

    def train(self, numbers, **job):
        process = self.check.start(self.way, "train", numbers, **job)
        self.jobs.append((process, numbers, [0]))
        return process

    def ready(self, most):
        """Returns False when one of them never gets so far."""
        return all(p.line("ready", self.check.seconds(most)) for p, _, _ in self.jobs)

    def mark(self):
        """Returns [(iterations, ns)] of each now; None for one that does not answer."""
        found = []
        for process, _, seen in self.jobs:
            process.signal(signal.SIGUSR1)
        for process, _, seen in self.jobs:
            got = process.line("window", self.check.seconds(30), seen[0])
            if got:
                seen[0] = got[0]
            found.append(tuple(int(w) for w in got[1].split()[1:]) if got else None)
        return found

    def rates(self, before, after):
        """Returns the iterations per second of each."""
        return [1e9 * (b[0] - a[0]) / (b[1] - a[1]) if a and b and b[1] > a[1] else 0.0
                for a, b in zip(before, after)]

    def stop(self):
        """Returns the result of each, compared with all earlier ones."""
        results = []
        for process, _, _ in self.jobs:
            process.signal(signal.SIGTERM)
        for process, numbers, _ in self.jobs:
            results.append(processes.verdict(process, process.wait(self.check.seconds(60))))
            self.check.judge(self.way, "train", numbers, results[-1])
        return results

    def all_there(self):
        return all(p.popen.poll() is None for p, _, _ in self.jobs)

    def window(self, seconds):
        """Returns the rates of all over this many seconds."""
        before = self.mark()
        time.sleep(self.check.seconds(seconds))
        return self.rates(before, self.mark())


def trainings(check, cap=None):
    """A program that streams memory and one that computes: (seconds, kernels, KiB, rounds)."""
    cap = cap or check.sized(60, 120)
    return check.sized([(cap, 40, 65536, 4), (cap, 40, 8192, 200)], [(cap, 3, 64, 2), (cap, 3, 16, 20)])


def needs(check):
    return {"persistent": check.sized("512MiB", "12MiB"), "ephemeral": check.sized("16MiB", "4MiB")}


def alone_rates(check, way):
    found = []
    for numbers in trainings(check):
        with Together(check, way) as t:
            t.train(numbers, **needs(check))
            if not t.ready(60):
                return None
            found.append(t.window(check.sized(3, 0.3))[0])
            t.stop()
    return found


# ---- a service beside training -----------------------------------------------------------------------------

# row: Salus's policies in it
CELLS = {"slack": ("fair", "slack", "auto"), "orion": ("fair", "orion", "auto"), "fair": ("fair", "streams", "yes"),
         "fifo": ("fifo", "streams", "yes"), "streams": ("fair", "streams", "auto")}


def serve(check, way, numbers, most):
    return check.work(way, "serve", numbers, most, priority=10, **needs(check))


def beside(check, way, numbers, most, cap=None):
    """Returns the service's result while both train, and the rates of the trainings meanwhile. When the training ends
    before the service has had a request, its wait counts as the latency of its requests."""
    with Together(check, way) as t:
        for training in trainings(check, cap):
            t.train(training, **needs(check))
        if not t.ready(60):
            return None, []
        service = check.start(way, "serve", numbers, priority=10, **needs(check))
        try:
            service.line("ready", check.seconds(most))
            waited = time.monotonic() - service.begin
            late = not t.all_there()
            before = [] if late else t.mark()
            result = processes.verdict(service, service.wait(check.seconds(most)))
            rates = t.rates(before, t.mark()) if not late and t.all_there() else []
        finally:
            service.kill()
        check.judge(way, "serve", numbers, result)
        t.stop()
        if late and result["how"] == "answered":
            result["waited_s"] = round(waited, 3)
            result["figures"].update(p99={"value": 1e6 * waited, "unit": "us"}, p50={"value": 1e6 * waited, "unit": "us"})
        return result, rates


def colocation(check, part):
    numbers, repeats = check.sized((1000, 3000, 30, 1024), (40, 2000, 4, 16)), check.sized(3, 1)
    most = check.sized(90, 15)
    makers = [("alone", lambda c: c.native()), ("salus", lambda c: c.salus("salus", "--lane-policy", "fair")),
              ("mps", lambda c: c.mps())]
    found = {}
    with contextlib.ExitStack() as stack:
        ways = opened(check, part, stack, makers)
        for repeat in range(repeats):
            seeded = numbers + (repeat + 1,)
            cells = [("alone, native", lambda: (serve(check, ways["alone"], seeded, most), []))]
            cells.append(("time-sliced", lambda: beside(check, ways["alone"], seeded, most)))
            if "mps" in ways:
                cells.append(("mps", lambda: beside(check, ways["mps"], seeded, most)))
            if "salus" in ways:
                cells.append(("alone, salus", lambda: (serve(check, ways["salus"], seeded, most), [])))
                cells += [(cell, lambda c=cell: under(check, ways["salus"], c, seeded, most)) for cell in CELLS
                          # in FIFO order, a later client waits for the end of the training
                          if cell != "fifo" or repeat == 0]
            for cell, run in cells:
                result, rates = run()
                found.setdefault(cell, []).append({"result": result, "rates": rates})
                part.found("cells", found)
        training = alone_rates(check, ways["alone"])
        part.found("training_alone", training)
    judge_colocation(part, found, training)


def under(check, salus, cell, numbers, most):
    lane, kernel, exclusive = CELLS[cell]
    salus.policy(kernel, lane)
    salus.daemon.ctl("policy", "set", f"exclusive={exclusive}")
    return beside(check, salus, numbers, most, cap=check.sized(5, 2) if cell == "fifo" else None)


def median_of(cells, figure):
    values = [v for v in (value(c["result"] or {}, figure) for c in cells) if v is not None]
    return statistics.median(values) if values else None


def judge_colocation(part, found, training):
    reference = {"salus": median_of(found.get("alone, salus", []), "p99"),
                 "native": median_of(found.get("alone, native", []), "p99")}
    for cell, runs in found.items():
        p99 = median_of(runs, "p99")
        alone = reference["native" if cell in ("time-sliced", "mps", "alone, native") else "salus"]
        rates = [r["rates"] for r in runs if r["rates"]]
        got = ""
        if rates and training and all(training):
            share = statistics.median(sum(a / b for a, b in zip(r, training)) for r in rates)
            got = f", training {share:.2f} of alone"
        waited = any((r["result"] or {}).get("waited_s") for r in runs)
        part.row(f"p99, {cell}", p99, "us", note="not served before the training had ended" if waited else
                 f"p50 {median_of(runs, 'p50')}{got}")
        if p99 and alone and not cell.startswith("alone"):
            name = "p99 beside training under slack, of alone" if cell == "slack" else f"p99 beside training, {cell}, of alone"
            part.row(name, p99 / alone)


# ---- two trainings ------------------------------------------------------------------------------------------

def packing(check, part):
    repeats, seconds = check.sized(5, 1), check.sized(4, 0.4)
    makers = [("native", lambda c: c.native()), ("salus", lambda c: c.salus("salus", "--lane-policy", "pack")),
              ("mps", lambda c: c.mps())]
    found = {}
    with contextlib.ExitStack() as stack:
        ways = opened(check, part, stack, makers)
        alone = alone_rates(check, ways["native"])
        part.found("alone", alone)
        if not alone or not all(alone):
            raise NotHere("a training does not run alone")
        cells = [("time-sliced", ways["native"], None)]
        if "mps" in ways:
            cells.append(("mps", ways["mps"], None))
        if "salus" in ways:
            cells += [("pack", ways["salus"], "pack"), ("fair", ways["salus"], "fair")]
        for repeat in range(repeats):
            for cell, way, lane in cells[repeat % len(cells):] + cells[:repeat % len(cells)]:
                if lane:
                    way.policy("streams", lane)
                found.setdefault(cell, []).append(pair(check, way, seconds, alone))
                part.found("cells", found)
    done = {cell: [s for s in sums if s] for cell, sums in found.items()}
    for cell, sums in done.items():
        part.row(f"two trainings, {cell}: of one alone", max(sums) if sums else None,
                 spread=(min(sums), max(sums)) if sums else None)
    if done.get("mps") and done.get("pack"):
        part.row("two trainings, pack: throughput against MPS", max(done["pack"]) / max(done["mps"]))


def pair(check, way, seconds, alone):
    """Returns the sum of both programs' speeds side by side, each relative to its speed alone."""
    with Together(check, way) as t:
        for numbers in trainings(check):
            t.train(numbers, **needs(check))
        if not t.ready(60):
            return None
        rates = t.window(seconds)
        t.stop()
    return sum(a / b for a, b in zip(rates, alone))


# ---- the fault of another job -----------------------------------------------------------------------------

def bystanders(check, part):
    """Runs two trainings beside a job whose kernel writes to an unmapped address. Reports which trainings continue with
    the right results, and after how long. Under Salus, all of them have savepoints."""
    job = dict(needs(check), savepoints="yes")
    makers = [("native", lambda c: c.native()), ("salus", lambda c: c.salus("salus")), ("mps", lambda c: c.mps())]
    with contextlib.ExitStack() as stack:
        for name, way in opened(check, part, stack, makers).items():
            with Together(check, way) as t:
                for numbers in trainings(check):
                    t.train(numbers, **job)
                if not t.ready(60):
                    part.row(f"illegal address beside two trainings, {name}: go on", None, note="they do not run")
                    continue
                before, begin = t.mark(), time.monotonic()
                fault = processes.ask([check.probe("after_fault")], check.environment(way.environment(**job)), check.seconds(60))
                after = t.mark()
                went_on = sum(bool(a and b and b[0] > a[0]) for a, b in zip(before, after))
                part.found(f"fault beside, {name}", {"fault": fault, "seconds": time.monotonic() - begin})
                ends = [r["how"] for r in t.stop()]
                part.row(f"illegal address beside two trainings, {name}: go on", went_on,
                         note=f"of 2; {fault['answer']}; at their ends: {', '.join(ends)}")


# ---- turns ------------------------------------------------------------------------------------------------------

def stamps(process):
    """Returns [(begin, end)] of its iterations, in the device's ns."""
    return [(int(b), int(e)) for _, b, e in (line.split() for line in process.out if line.startswith("stamp "))]


def gaps(first, second):
    """Returns the device's idle time between two consecutive iterations, in us: (of one job, of both)."""
    both = sorted([(b, e, 0) for b, e in first] + [(b, e, 1) for b, e in second])
    same, other = [], []
    for (_, end, who), (begin, _, whose) in zip(both, both[1:]):
        if begin >= end:
            (same if who == whose else other).append((begin - end) / 1e3)
    return same, other


def turns(check, salus, numbers, jobs):
    """Runs this many at once. Returns [(begin, end)] of each."""
    running = [check.start(salus, "turns", numbers, **needs(check)) for _ in range(jobs)]
    found = []
    try:
        for process in running:
            process.line("ready", check.seconds(60))
        for process in running:
            process.signal(signal.SIGUSR1)
        for process in running:
            result = processes.verdict(process, process.wait(check.seconds(60)))
            check.judge(salus, "turns", numbers, result)
            found.append(stamps(process))
    finally:
        for process in running:
            process.kill()
    return found


def middle(values):
    return statistics.median(values) if values else None


def switch(check, part):
    """Measures two jobs in one lane with queued iterations that take turns: the device's idle time between iterations
    of both, minus the same time within a job that runs alone."""
    numbers, found = check.sized((2000, 4, 16384), (1000, 2, 16)), []
    with contextlib.ExitStack() as stack:
        salus = stack.enter_context(check.salus("salus", "--lane-policy", "fair", "--max-lanes", "1"))
        for _ in range(5):
            alone = gaps(*turns(check, salus, numbers, 1), [])[0]
            same, other = gaps(*turns(check, salus, numbers, 2))
            found.append({"alone_us": middle(alone), "same_us": middle(same), "other_us": middle(other),
                          "turns": len(other)})
            part.found("runs", found)
            if check.small and other:
                break
    each = [f["other_us"] - f["alone_us"] for f in found if f["other_us"] is not None and f["alone_us"] is not None]
    part.row("lane switch", middle(each), "us", spread=(min(each), max(each)) if each else None,
             note=f"{sum(f['turns'] for f in found)} turns; between two iterations alone "
                  f"{middle([f['alone_us'] for f in found if f['alone_us'] is not None])} us")
