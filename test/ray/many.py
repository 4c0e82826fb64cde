# SPDX-License-Identifier: Apache-2.0
"""Runs many more trials than GPUs, each a process of Ray with two short iterations. Checks that none is lost and
measures the time that Fluid takes of the tuning job's thread. Ray starts one process in about a second on two
processors.

    test/ray/run.py --many 1000
"""
import sys
import time

from search import Search, equal, os, seats, tune
from salus_fluid.scheduler import FluidScheduler

CALLS = ("on_trial_add", "on_trial_result", "on_trial_complete", "choose_trial_to_run")


class Timed(FluidScheduler):
    """A scheduler that measures the processor time of its calls on the tuning job's thread: {call: [times, s, the
    longest]}."""

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.spent = {name: [0, 0.0, 0.0] for name in CALLS}

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        return timed(found, self.spent[name]) if name in CALLS else found

    def costs(self):
        return [f"  {name}: {times} times, {spent:.2f} s, {1e3 * spent / max(times, 1):.2f} ms each, {1e3 * longest:.0f} at most"
                for name, (times, spent, longest) in self.spent.items()]


def timed(call, spent):
    def run(*args, **options):
        begin = time.thread_time()
        try:
            return call(*args, **options)
        finally:
            took = time.thread_time() - begin
            spent[:] = spent[0] + 1, spent[1] + took, max(spent[2], took)
    return run


def run():
    count = int(sys.argv[sys.argv.index("--many") + 1])
    with Search() as s:
        f = s.fluid(make=Timed, alpha=1.1, packed=4)
        space = {"lr": tune.grid_search([(n + 1) / 1000 for n in range(count)]), "width": 1, "epochs": 2, "wait": 0, "passes": 1}
        begin = time.monotonic()
        results = s.fit(space, f)
        took = time.monotonic() - begin
        equal((len(results), sum(bool(r.error) for r in results)), (count, 0), "trials, failures")
        equal({r.metrics["epoch"] for r in results}, {2}, "iterations")
        equal(len(seats(f)), count, "starts")
        s.right(list(results)[::max(count // 20, 1)])
    print(f"{count} trials on two GPUs: {took:.1f} s; load {os.getloadavg()[0]:.1f}")
    print("\n".join(f.costs()))
    return 0
