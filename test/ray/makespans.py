# SPDX-License-Identifier: Apache-2.0
"""Measures how long a search of 27 trials takes in four ways, one after the other, in rounds:
docs/results/2026-11-ray.md.

    make bench-ray [ROUNDS=3] [WAYS="FIFO Fluid"]

A trial takes some 15, 30 or 60 s alone, a round a quarter of an hour. No way begins while other processes use more than
a tenth of the processors. Their use during a run is printed: above a tenth, the time is printed but does not count.
"""
import os
import statistics
import sys
import threading
import time

from search import Search, equal, trial, tune

OTHERS_MOST = 0.1    # the part of the processors that other processes may use
PATIENCE_S = 600     # seconds to wait until the machine is quiet
EPOCHS = (60, 120, 240)
WAIT_S = 0.2         # seconds of an iteration in which it waits for input; computing takes a tenth of that, alone


class Others:
    """Measures the part of the processors that processes outside this process's tree use. Looks each second, so a
    process that lives for less is not seen."""

    def __init__(self):
        self.over, self.took, self.begin = threading.Event(), 0, time.monotonic()
        self.thread = threading.Thread(target=self.watch)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def watch(self):
        before = foreign()
        while not self.over.wait(1):
            now = foreign()
            self.took += sum(ticks - before[pid] for pid, ticks in now.items() if pid in before)
            before = now

    def part(self):
        seconds = self.took / os.sysconf("SC_CLK_TCK")
        return seconds / (os.cpu_count() * (time.monotonic() - self.begin))


def foreign():
    """Returns {pid: processor ticks} of the processes that are neither this one nor its descendants."""
    parents, ticks = {}, {}
    for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{pid}/stat") as f:
                fields = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        parents[pid], ticks[pid] = int(fields[1]), int(fields[11]) + int(fields[12])
    return {pid: t for pid, t in ticks.items() if not descends(pid, parents)}


def descends(pid, parents):
    while pid > 1 and pid != os.getpid():
        pid = parents.get(pid, 0)
    return pid == os.getpid()


def wait_until_quiet():
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        with Others() as others:
            time.sleep(5)
        if others.part() <= OTHERS_MOST:
            return
    sys.exit(f"makespans: for {PATIENCE_S} s others took more than {OTHERS_MOST:.0%} of the processors: {others.part():.0%}")


def plain(share):
    return tune.with_resources(trial.train, {"cpu": 1, "gpu": share})


class Stamped(list):
    """A scheduler's log with the time of each entry."""

    def __init__(self):
        self.begin, self.at = time.monotonic(), []

    def append(self, entry):
        super().append(entry)
        self.at.append(time.monotonic() - self.begin)

    def known(self):
        """Returns when c and alpha were measured, with their values."""
        return [f"{at:.0f} s: c={e[2]['packed']} alpha={e[2]['alpha']:.3f}" for at, e in zip(self.at, self) if e[0] == "known"]


def makespan(s, scheduler, train=None):
    """Returns (seconds, a text about them)."""
    space = {"lr": tune.grid_search([0.1, 0.2, 0.3]), "width": tune.grid_search([1, 2, 3]),
             "epochs": tune.grid_search(list(EPOCHS)), "wait": WAIT_S, "passes": 20}
    begin = time.monotonic()
    results = s.fit(space, scheduler, train=train)
    took = time.monotonic() - begin
    equal(len(results), 27, "trials")
    s.right(results)
    return took, timeline(results)


def timeline(results):
    """Tells where the time went: the mean number of concurrent iterations from the first end to the last, and the mean
    time of one."""
    ends = sorted((time_ for r in results for time_ in r.metrics_dataframe["timestamp"]))
    each = [took for r in results for took in r.metrics_dataframe["time_this_iter_s"][1:]]
    starts = [r.metrics_dataframe["time_this_iter_s"][0] for r in results]
    return (f"{sum(each) / (ends[-1] - ends[0]):.1f} at once, {sum(each) / len(each):.2f} s each, "
            f"the first of a trial {sum(starts) / len(starts):.2f} s")


def under_fluid(s, **options):
    f = s.fluid(packed=4, budget=lambda config: config["epochs"], **options)
    f.log = Stamped()
    took, words = makespan(s, f)
    return took, " ".join([words, *f.log.known()])


WAYS = {"FIFO": lambda s: makespan(s, None, plain(1)), "fractions": lambda s: makespan(s, None, plain(0.25)),
        "Fluid": under_fluid, "told": lambda s: under_fluid(s, alpha=1.1)}


def run():
    """Other work on the machine affects all ways alike, since each round contains all of them."""
    states, wanted = {}, [a for a in sys.argv[1:] if a in WAYS] or list(WAYS)
    counted = {name: [] for name in wanted}
    for number in range(1, int(os.environ.get("ROUNDS", "3")) + 1):
        for name in wanted:
            wait_until_quiet()
            with Search(states=states) as s, Others() as others:
                took, words = WAYS[name](s)
            loud = others.part() > OTHERS_MOST
            if not loud:
                counted[name].append(took)
            print(f"27 trials on two GPUs, round {number}, {name}: {took:.1f} s, {words}; others took {others.part():.0%}"
                  f"{': does not count' if loud else ''}", flush=True)
    for name, times in counted.items():
        print(f"{name}: " + (f"median {statistics.median(times):.1f} s of {len(times)}" if times else "nothing that counts"))
    return 0 if all(counted.values()) else 1
