#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A latency-bound service beside two best-effort training jobs, in the real daemon.

    test/e2e/sharing/run_colocation.py --check [--list] [NAME-PART...]
    test/e2e/sharing/run_colocation.py [--policies A,B+KEY=VALUE,...] [--requests N] [--repeat R]
                               [--gap MS] [--report FILE.md]

With --check: under every kernel policy of the daemon, each result is that of the job alone, the training makes
progress, and policies change live; nothing is asserted about time. Otherwise runs the experiment. Each repeat serves
the same requests alone and under each policy, in an order that rotates from repeat to repeat, so that a drift of the
machine's speed affects all alike. Ratios relate to the `alone` of the same repeat. The exit status is 0 when every
checksum was that of a run alone.
"""
import argparse
import os
import re
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from colocation import (GAP_MS, MEMORY, Count, Policies, Together, compare, known_policies,
                        service, trainers, wait_for_progress)
from harness import PATIENCE, Daemon, run_tests, wait_for

ONE_LANE = "streams+exclusive=yes"  # one lane at a time is no kernel policy, but it combines with them
ALONE = "alone"
WARM_UP = 8  # iterations before requests come, after which a trainer has printed a checksum


def daemon():
    return Daemon("--device-memory", MEMORY, "--lane-policy", "fair")


# ---- check ------------------------------------------------------------------------------------------

def alone(*jobs):
    """Returns the checksums of each job with the whole device."""
    found = []
    with daemon() as d, Together(d) as t:
        for job in jobs:
            found.append(t.start(job).finish())
    return found


def choices(d):
    return known_policies(d) + [ONE_LANE]


def test_results_are_those_of_alone_under_every_policy():
    """The trainers end while the service is still there: an idle service delays no job."""
    jobs = [service(12, 40, hold=True)] + trainers(24)
    want = alone(*jobs)
    with daemon() as d:
        policies = Policies(d)
        for choice in choices(d):
            policies.choose(choice)
            with Together(d) as t:
                training = [t.start(j) for j in jobs[1:]]
                wait_for_progress(d, training, 2)
                serving = t.start(jobs[0])
                serving.read_until("service ready")
                count = Count(d)
                serving.read_until("service checksum")
                rates = count.rates()
                got = [r.finish() for r in training]
                got.insert(0, serving.finish())
            for job, g, w in zip(jobs, got, want):
                compare(g, w, f"{job.name} under {choice}")
            print(f"    {choice}: beside the service " +
                  ", ".join(f"{n} {r:.1f} it/s" for n, r in rates.items() if n != "service"), flush=True)


def test_policies_change_while_jobs_run():
    jobs = [service(40, 40, hold=True)] + trainers(48)
    want, changes = alone(*jobs), []
    with daemon() as d, Together(d) as t:
        policies = Policies(d)
        running = [t.start(j) for j in jobs]
        training = running[1:]
        while any(r.process.poll() is None for r in training):
            changes.append(choices(d)[len(changes) % len(choices(d))])
            policies.choose(changes[-1])
            wait_for_progress(d, training, 1)
        got = [r.finish() for r in running]
        for job, g, w in zip(jobs, got, want):
            compare(g, w, job.name)
        missing = set(choices(d)) - set(changes)
    print(f"    {len(changes)} choices of {len(set(changes))} policies", flush=True)
    if missing:
        raise AssertionError(f"the training ended before {', '.join(missing)} had been chosen")


def turns(d, name):
    return max((j["switches"] for j in d.jobs() if j["name"] == name), default=0)


def test_kernel_policies_compose_with_lanes():
    """The two trainers take turns in one lane by `fair`; the service in another lane precedes them by the kernel
    policy."""
    jobs = [service(12, 40, hold=True)] + trainers()  # stopped after as many iterations as it takes
    want = alone(jobs[0], *trainers(40))
    for kernel in ("orion", "slack"):
        with Daemon("--device-memory", MEMORY, "--lane-policy", "fair", "--max-lanes", "2",
                    "--kernel-policy", kernel) as d, Together(d) as t:
            training = [t.start(jobs[1])]  # the first lane is large enough for the other trainer too
            wait_for_progress(d, training, 1)
            serving = t.start(jobs[0])
            serving.read_until("service ready")
            training.append(t.start(jobs[2]))
            wait_for_progress(d, training, 9)  # each trainer has printed a checksum by then
            lanes = {j["name"]: j["lane"] for j in d.jobs()}
            if lanes["streaming"] != lanes["computing"] or lanes["service"] == lanes["streaming"]:
                raise AssertionError(f"the lanes are {lanes}")
            wait_for("the trainers take turns", lambda: turns(d, "streaming") >= 3)
            switches = turns(d, "streaming")
            got = [r.stop() for r in training]
            got.insert(0, serving.finish())
            for job, g, w in zip(jobs, got, want):
                compare(g, w, f"{job.name} under {kernel}")
            print(f"    {kernel}: the trainers in lane {lanes['streaming']}, {switches} turns of one;"
                  f" the service in lane {lanes['service']}", flush=True)


def job(d, name):
    return next(j for j in d.jobs() if j["name"] == name)


def test_targets_of_latency_are_kept_at_the_cost_of_trainers():
    """With a target that cannot be kept, the trainers pause and have few multiprocessors, and the service reports it.
    With a target that is kept at once, they get everything back. The results stay the same."""
    jobs = [service(1000, 5, hold=True)] + trainers()
    want = alone(jobs[0], *trainers(40))
    jobs[0].env.update(SALUS_SLO="1us", SALUS_SLO_OF="p50")
    keys = ("period=20ms", "period_requests=2", "period_cycles=2", "most_pause=20ms", "share_first=no")
    with Daemon("--device-memory", MEMORY, "--control-policy", "gpucolo") as d, Together(d) as t:
        d.ctl("policy", "set", *keys)
        training = [t.start(j) for j in jobs[1:]]
        wait_for_progress(d, training, 2)
        serving = t.start(jobs[0])
        serving.read_until("service ready")
        wait_for("the target cannot be kept", lambda: job(d, "service")["stuck"])
        served = job(d, "service")
        if (served["slo_seconds"], served["slo_of"]) != (1e-6, "p50") or not served["measured_seconds"]:
            raise AssertionError(f"the target is {served}")
        for name in ("streaming", "computing"):
            gives = job(d, name)
            if gives["pause_seconds"] != 0.02 or gives["sms"] != 1:
                raise AssertionError(f"{name} gives up {gives['pause_seconds']} s, has {gives['sms']} multiprocessors")
        wait_for("a trainer says why", lambda: any("pauses after each iteration" in j["why"] for j in d.jobs()))
        d.ctl("job", "set", str(served["id"]), "slo=10h")
        wait_for("nothing is given up", lambda: not any(j["pause_seconds"] or j["sms"] for j in d.jobs()))
        d.ctl("job", "set", str(served["id"]), "slo=1us")
        wait_for("it is again", lambda: job(d, "computing")["sms"])
        d.ctl("policy", "set", "--control", "open")
        wait_for("a controller that goes gives it back", lambda: not any(j["pause_seconds"] or j["sms"] for j in d.jobs()))
        wait_for_progress(d, training, 9)
        got = [r.stop() for r in training]
        got.insert(0, serving.finish())
        for j, g, w in zip(jobs, got, want):
            compare(g, w, j.name)


def refused(what, check):
    try:
        check()
    except AssertionError:
        return
    raise AssertionError(f"not noticed: {what}")


def test_a_wrong_result_is_noticed():
    """Checks a premise of the other tests: another number of requests or layers gives another result."""
    few, more = alone(service(3, 1), service(4, 1))
    refused("one request more", lambda: compare(few, more, "service"))
    refused("no result", lambda: compare({}, more, "service"))
    short, job = trainers(8)[0], trainers(8)[0]
    job.argv[3] = str(int(job.argv[3]) - 1)
    a, b = alone(short, job)
    refused("a layer less", lambda: compare(a, b, "streaming"))


def test_a_trainer_that_stands_still_is_noticed():
    with daemon() as d, Together(d) as t:
        training = [t.start(j) for j in trainers()]
        wait_for_progress(d, training, 2)
        number = next(j["id"] for j in d.jobs() if j["name"] == "computing")
        d.ctl("job", "pause", str(number))
        wait_for("it stands", lambda: not next(j["turn"] for j in d.jobs() if j["id"] == number))
        refused("a paused trainer", lambda: wait_for_progress(d, training, 1, seconds=1))
        d.ctl("job", "resume", str(number))
        wait_for_progress(d, training, 1)


# ---- the experiment -----------------------------------------------------------------------------------

class Experiment:
    """`rows`: by policy and measure, a value for each repeat. `reference`: checksums of runs alone."""

    def __init__(self, d, args):
        self.d, self.args, self.policies = d, args, Policies(d)
        self.rows, self.reference, self.compared = {}, {}, {}

    def add(self, row, measure, value):
        self.rows.setdefault(row, {}).setdefault(measure, []).append(value)

    def judge(self, row, job, got):
        """Compares with the results of the same job alone; a run alone is compared with earlier ones."""
        want = self.reference.setdefault(job, dict(got))
        compare(got, want, f"{job} under {row}")
        self.compared[row] = self.compared.get(row, 0) + len(got.keys() & want.keys())
        if row == ALONE:
            want.update(got)  # this run may have got further

    def serve(self, t, row, repeat):
        """Serves the requests of this repeat. Returns the trainers' rates from the first request to the last."""
        serving = t.start(service(self.args.requests, self.args.gap, seed=1 + repeat))
        serving.read_until("service ready")
        count = Count(self.d)
        # Ten times the requests' time alone: no policy is that slow, only a hang
        serving.read_until("service checksum", PATIENCE + self.args.requests * self.args.gap / 100)
        rates = count.rates()
        self.judge(row, "service", serving.finish())
        for measure, value in re.findall(r"^service (\w+) ([0-9.]+)$", serving.output, re.M):
            self.add(row, measure, float(value))
        return rates

    def alone(self, repeat):
        """Serves the requests, then runs each trainer for half that time: beside others none gets further."""
        self.policies.choose("streams")
        with Together(self.d) as t:
            self.serve(t, ALONE, repeat)
        for job in trainers():
            with Together(self.d) as t:
                training = t.start(job)
                wait_for_progress(self.d, [training], WARM_UP)
                count = Count(self.d)
                time.sleep(self.args.requests * self.args.gap / 2000)
                self.add(ALONE, job.name, count.rates()[job.name])
                self.judge(ALONE, job.name, training.stop())

    def together(self, choice, repeat):
        self.policies.choose(choice)
        with Together(self.d) as t:
            training = [t.start(job) for job in trainers()]
            wait_for_progress(self.d, training, WARM_UP)
            rates = self.serve(t, choice, repeat)
            for r in training:
                self.add(choice, r.job.name, rates[r.job.name])
                self.judge(choice, r.job.name, r.stop())

    def run(self):
        cells = [ALONE] + self.args.policies
        for choice in cells[1:]:
            self.policies.choose(choice)  # an unknown policy fails here, not after minutes
        for repeat in range(self.args.repeat):
            first = repeat % len(cells)  # the very first row is `alone`: the others need its checksums
            for row in cells[first:] + cells[:first]:
                if row == ALONE:
                    self.alone(repeat)
                else:
                    self.together(row, repeat)
                self.say(row, repeat)

    def say(self, row, repeat):
        last = {m: v[-1] for m, v in self.rows[row].items()}
        print(f"  {repeat + 1}/{self.args.repeat} {row:24} p50 {last['p50_us'] / 1000:7.1f}"
              f"  p99 {last['p99_us'] / 1000:7.1f} ms  busy {last['utilisation']:.2f}  " +
              "  ".join(f"{j.name} {last[j.name]:5.1f} it/s" for j in trainers()),
              file=sys.stderr, flush=True)

    # ---- results ----

    def relative(self, row, measure):
        return [a / b for a, b in zip(self.rows[row][measure], self.rows[ALONE][measure])]

    def cells(self, row):
        found = [row]
        for measure in ("p50_us", "p99_us"):
            found += [spread([v / 1000 for v in self.rows[row][measure]], "{:.1f}"),
                      spread(self.relative(row, measure), "{:.2f}")]
        found.append(spread(self.rows[row]["utilisation"], "{:.2f}"))
        parts = [self.relative(row, j.name) for j in trainers()]
        for job, part in zip(trainers(), parts):
            found += [spread(self.rows[row][job.name], "{:.1f}"), spread(part, "{:.2f}")]
        found.append("-" if row == ALONE else spread([sum(p) for p in zip(*parts)], "{:.2f}"))
        return found + [f"{self.compared[row]} equal"]

    def table(self):
        head = ["policy", "p50, ms", "of alone", "p99, ms", "of alone", "busy with requests"]
        for j in trainers():
            head += [f"{j.name}, it/s", "of alone"]
        head += ["both, of alone", "checksums"]
        rows = [head, ["---"] * len(head)] + [self.cells(row) for row in [ALONE] + self.args.policies]
        return "\n".join("| " + " | ".join(row) + " |" for row in rows)

    def text(self):
        a = self.args
        jobs = "\n".join(f"- {j.name}: `{' '.join([os.path.basename(j.argv[0])] + j.argv[1:])}`"
                         for j in [service(a.requests, a.gap)] + trainers())
        return (f"{a.requests} requests, {a.gap:g} ms apart in the mean, {a.repeat} repeats; median"
                f" (lowest to highest) of the repeats, ratios within each\n\n{jobs}\n\n{self.table()}\n")


def spread(values, form):
    middle = form.format(statistics.median(values))
    if len(values) == 1:
        return middle
    return f"{middle} ({form.format(min(values))} to {form.format(max(values))})"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--policies", default="streams,temporal,orion", type=lambda s: s.split(","),
                        help="kernel policies, each with settings: A,B+KEY=VALUE+KEY=VALUE")
    parser.add_argument("--requests", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--gap", type=float, default=GAP_MS, help="mean time between requests, in ms")
    parser.add_argument("--report", help="Markdown file to which the table is written as well")
    args = parser.parse_args()
    if args.requests < 1 or args.repeat < 1 or args.gap <= 0:
        parser.error("--requests, --repeat and --gap are above 0")
    if args.requests * args.gap > 240_000:  # and the trainers' output would fill their pipes
        parser.error("a run takes more than four minutes: have fewer requests and more repeats")
    return args


def main():
    args = arguments()
    try:
        with daemon() as d:
            experiment = Experiment(d, args)
            experiment.run()
    except AssertionError as e:
        sys.exit(f"run_colocation.py: {e}")
    print(experiment.text())
    if args.report:
        with open(args.report, "w") as f:
            f.write(experiment.text())
    return 0


if __name__ == "__main__":
    sys.exit(run_tests(globals()) if "--check" in sys.argv else main())
