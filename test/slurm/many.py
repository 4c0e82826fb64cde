#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs sixteen nodes on this machine, each with a slurmd and a salusd of its own, and some hundred real sbatch jobs.
Measures the total time, the waiting and the slowdown under each policy. Checks that each job ends once, whichever
daemon is killed.

    test/slurm/many.py [--policies A,B] [--seeds N] [--jobs N] [--workload W-large|W-small] [--scale X] [--json FILE]
    test/slurm/many.py --kills [--jobs N] [--seeds N]
    test/slurm/many.py --self-test

docs/results/2026-11-slurm.md has the rules and the results.
"""
import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import mix  # noqa: E402
from cluster import SHORT, Cluster  # noqa: E402

from harness import BUILD, Soft, program, tool, wait_for  # noqa: E402

LIMIT = 1800  # seconds: jobs that have not ended by then are lost
PAUSE = 0.5   # seconds between two looks at ended jobs
NODES = int(os.environ.get("SALUS_TEST_NODES", "16"))
HEALTH = "HealthCheckProgram={d}/health\nHealthCheckNodeState=ANY,CYCLE\nHealthCheckInterval="
# A program exits with 99 when salusd ended under it; its job is queued again. Status 3: another program had the same
# number.
SCRIPT = """#!/bin/sh
export SALUS_MARK=1 {mode}
{paced} "$@"
status=$?
[ $status -eq 0 ] || [ $status -eq 3 ] || exit 99
exit $status
"""


class Book:
    """The lines that the jobs' `paced` programs have written."""

    def __init__(self, path):
        self.path, self.begins, self.ends, self.twice = path, {}, {}, set()

    def read(self):
        self.begins, self.ends, self.twice = {}, {}, set()
        if not os.path.exists(self.path):
            return self
        with open(self.path) as f:
            for line in f:
                number, what, at, node, _, checksum = line.split()
                if what == "twice":
                    self.twice.add(int(number))
                else:
                    getattr(self, what).setdefault(int(number), []).append((float(at), node, checksum))
        return self


class Run:
    """The jobs in a cluster: Slurm's numbers and submission times, by our job numbers."""

    def __init__(self, c, jobs, computed):
        self.c, self.jobs, self.ids, self.submitted = c, jobs, {}, {}
        self.book = Book(os.path.join(c.dir, "book"))
        self.script = os.path.join(c.dir, "job.sh")
        c.write("job.sh", SCRIPT.format(mode="" if computed else "SALUS_DEVICE_MODE=null", paced=program("paced")))

    def submit(self, job, meanwhile):
        """Submits a job; retries while slurmctld is down. The job's name tells whether slurmctld took it at an earlier
        try."""
        name = f"paced{job.number}"
        while True:
            at = time.monotonic()
            done = self.c.command("sbatch", "--parsable", "-J", name, "-o", os.path.join(self.c.dir, "out.%j"), *job.asks(),
                                  self.script, *job.words(), self.book.path, check=False)
            if done.returncode == 0:
                self.ids[job.number], self.submitted[job.number] = int(done.stdout), at
                return
            time.sleep(0.5)
            meanwhile()
            found = self.c.command("squeue", "-h", "-n", name, "-o", "%i", check=False)
            if found.returncode == 0 and found.stdout.strip():
                self.ids[job.number], self.submitted[job.number] = int(found.stdout.split()[0]), at
                return

    def submit_all(self, meanwhile=lambda: None):
        begin = time.monotonic()
        for job in self.jobs:
            while time.monotonic() < begin + job.arrival_s:
                meanwhile()
                time.sleep(min(0.2, max(0.0, begin + job.arrival_s - time.monotonic())))
            self.submit(job, meanwhile)

    def wait(self, meanwhile=lambda: None):
        """Waits until all jobs have ended, or Slurm has forgotten them."""
        end, look = time.monotonic() + LIMIT, 0
        while time.monotonic() < end:
            if len(self.book.read().ends) == len(self.jobs):
                return
            look += 1
            left = self.c.command("squeue", "-h", "-o", "%i", check=False) if look % 10 == 0 else None
            if left and left.returncode == 0 and not left.stdout.strip():
                return
            meanwhile()
            self.see_placer()
            time.sleep(PAUSE)

    def see_placer(self):
        """Checks that the placer lives unless the test killed it."""
        if self.c.placer.returncode is None and self.c.placer.poll() is not None:
            raise AssertionError(f"the placer ended by itself: {self.c.placer.returncode}")

    def states(self):
        """Returns Slurm's fields of each job, by our numbers."""
        by_id = {}
        for line in self.c.command("scontrol", "-o", "show", "job").stdout.splitlines():
            fields = dict(word.split("=", 1) for word in line.split() if "=" in word)
            if "JobId" in fields:
                by_id[int(fields["JobId"])] = fields
        return {n: by_id.get(i, {"JobState": "LOST"}) for n, i in self.ids.items()}

    def all_completed(self):
        def completed():
            return all(s["JobState"] == "COMPLETED" for s in self.states().values())
        try:
            wait_for("slurmctld says that all have completed", completed, SHORT)
        except AssertionError:
            raise AssertionError(f"{ {n: s['JobState'] for n, s in self.states().items() if s['JobState'] != 'COMPLETED'} }") from None


# ---- results --------------------------------------------------------------------------------------------------------

def alone(jobs, computed):
    """Returns {number: checksum} of each job run alone, without pauses. One run of paced per seed gives the checksums
    of all lengths."""
    longest = {}
    for j in jobs:
        seed = j.number % 8
        longest[seed] = max(longest.get(seed, 0), j.iterations)
    sums = {}
    with Soft("--device-threads", "1") as daemon:
        for seed, iterations in longest.items():
            done = daemon.run([program("paced"), str(seed), str(iterations)], SALUS_MARK="1", **({} if computed else {"SALUS_DEVICE_MODE": "null"}))
            lines = [line.split() for line in done.stdout.splitlines() if line[:1].isdigit()]
            if done.returncode or len(lines) != iterations:
                raise AssertionError(f"paced alone: exit {done.returncode}: {done.stderr}")
            sums[seed] = {int(i): checksum for i, checksum in lines}
    if len({s[min(longest.values())] for s in sums.values()}) != len(sums):
        raise AssertionError("jobs of different numbers have the same checksums")
    return {j.number: sums[j.number % 8][j.iterations] for j in jobs}


def check_ends(run, sums):
    """Checks that each job ended once, with the checksum that it has alone."""
    book = run.book.read()
    if book.twice:
        raise AssertionError(f"twice at a time: {sorted(book.twice)}")
    for job in run.jobs:
        ends = book.ends.get(job.number, [])
        if len(ends) != 1:
            raise AssertionError(f"job {job.number} ended {len(ends)} times: {run.states()[job.number]}\n{run.c.output(run.ids[job.number])[-1000:]}")
        if ends[0][2] != sums[job.number]:
            raise AssertionError(f"job {job.number}: checksum {ends[0][2]}, alone {sums[job.number]}")


def gpus_in_use(spans):
    """Returns the mean number of used nodes from the first beginning to the last end."""
    busy = 0.0
    for node in {s[2] for s in spans}:
        until = 0.0
        for begin, end, _ in sorted(s for s in spans if s[2] == node):
            busy += max(0.0, end - max(begin, until))
            until = max(until, end)
    return busy / (max(s[1] for s in spans) - min(s[0] for s in spans))


def measures(run):
    book, jobs = run.book, run.jobs
    spans = [(book.begins[j.number][-1][0], book.ends[j.number][0][0], book.ends[j.number][0][1]) for j in jobs]
    first = min(run.submitted.values())
    waits = [begin - run.submitted[j.number] for j, (begin, _, _) in zip(jobs, spans)]
    slow = [(end - begin) / j.length_s for j, (begin, end, _) in zip(jobs, spans)]
    makespan = max(s[1] for s in spans) - first
    return {"makespan_s": makespan, "wait_mean_s": statistics.mean(waits), "wait_median_s": statistics.median(waits),
            "run_mean_s": statistics.mean(e - b for b, e, _ in spans), "slowdown_mean": statistics.mean(slow),
            "slowdown_median": statistics.median(slow), "slowdown_most": max(slow),
            "stretch": sum(e - b for b, e, _ in spans) / sum(j.length_s for j in jobs), "gpus": gpus_in_use(spans),
            "utilisation": sum(j.device_s for j in jobs) / (NODES * makespan), "nodes": len({s[2] for s in spans})}


def busy_seconds():
    """Returns the busy seconds of all processors, of all processes."""
    with open("/proc/stat") as f:
        n = [int(x) for x in f.readline().split()[1:8]]
    return (sum(n) - n[3] - n[4]) / os.sysconf("SC_CLK_TCK")


def run_policy(policy, jobs, sums):
    with Cluster(nodes=NODES, name="m", memory=f"{mix.GPU_MIB}MiB", shares=16, cpus=16, wait=LIMIT, more=HEALTH + "15", node_timeout=60) as c:
        c.report()
        c.start_placer("--interval", "500ms", "--policy", policy)
        begin, busy = time.monotonic(), busy_seconds()
        run = Run(c, jobs, computed=False)
        run.submit_all()
        run.wait()
        found = {"processors": (busy_seconds() - busy) / (time.monotonic() - begin)}
        check_ends(run, sums)
        run.all_completed()
        return {**measures(run), **found}


SIMULATED = {"makespan_s": "makespan_s", "wait_mean_s": "wait_s", "wait_median_s": "wait_median_s", "run_mean_s": "jct_s", "slowdown_mean": "slowdown",
             "gpus": "used_gpus", "utilisation": "util"}


def simulate(policies, jobs):
    """Returns the results of salus-sim for the same jobs. There, a GPU with more demand than it can serve slows its
    jobs down in proportion."""
    with tempfile.TemporaryDirectory() as folder:
        tables = mix.write_tables(jobs, folder)
        done = subprocess.run([tool("salus-sim"), "cluster", tables[0], "--nodes", tables[1], "--policy", policies, "--curve", "0,1,0", "--begin", "1s",
                               "--measure", "15s", "--json"], text=True, stdout=subprocess.PIPE, check=True)
    return [{"policy": p["policy"] + " simulated", **{ours: p[theirs]["mean"] for ours, theirs in SIMULATED.items()}}
            for p in json.loads(done.stdout)["policies"]]


# ---- kills ----------------------------------------------------------------------------------------------------------

WHOM = {"salusd": 50, "slurmd": 30, "placer": 15, "slurmctld": 5}  # percent of the kills
EVERY_S, DOWN_S = (0.3, 1.2), (0.2, 4)                            # between two kills; until the daemon is restarted
# the kills go on for this long after the last submission
AFTER_S = 30


class Killer:
    """Kills daemons again and again, and restarts each a while later. It kills slurmctld just after that has saved its
    state: Slurm itself loses later changes."""

    def __init__(self, c, seed, placer_options):
        self.c, self.rng, self.options = c, random.Random(seed), placer_options
        self.next, self.down, self.kills = time.monotonic() + 3, [], []

    def step(self):
        now = time.monotonic()
        for back in [b for b in self.down if b[0] <= now]:
            self.down.remove(back)
            back[2]()
        if now < self.next:
            return
        self.next = now + self.rng.uniform(*EVERY_S)
        what = self.rng.choices(list(WHOM), list(WHOM.values()))[0]
        node = self.rng.choice(self.c.nodes)
        if (what, node.name) not in self.who_is_down() and (what, "") not in self.who_is_down():
            getattr(self, what)(node)

    def who_is_down(self):
        return [back[1] for back in self.down]

    def later(self, what, node, start):
        self.kills.append((time.monotonic(), what, node))
        self.down.append((time.monotonic() + self.rng.uniform(*DOWN_S), (what, node), start))

    def salusd(self, node):
        node.kill("salusd")
        self.later("salusd", node.name, node.start_salusd)

    def slurmd(self, node):
        node.kill("slurmd")
        self.later("slurmd", node.name, node.start_slurmd)

    def placer(self, _):
        self.c.placer.kill()
        self.c.placer.wait()
        self.later("placer", "", lambda: self.c.start_placer(*self.options))

    def slurmctld(self, _):
        saved, now = os.path.join(self.c.dir, "state", "job_state"), time.time()
        try:
            wait_for("slurmctld has saved its state", lambda: os.path.exists(saved) and os.path.getmtime(saved) > now, 10)
        except AssertionError:
            return
        self.c.slurmctld.kill()
        self.c.slurmctld.wait()
        self.later("slurmctld", "", self.c.start_slurmctld)

    def finish(self):
        for _, _, start in self.down:
            start()
        self.down = []

    def count(self):
        names = [k[1] for k in self.kills]
        return {w: names.count(w) for w in sorted(set(names))}


def check_beginnings(run, killer):
    """Checks that each job that began more than once did so because its node's salusd was killed."""
    book, ended_early = run.book, 0
    for job in run.jobs:
        begins = sorted(book.begins[job.number])
        for (at, node, _), (until, _, _) in zip(begins, begins[1:]):
            ended_early += 1
            if not any(k[1] == "salusd" and at - 1 <= k[0] <= until and k[2] == node for k in killer.kills):
                raise AssertionError(f"job {job.number} began again without a reason: {begins}")
    return ended_early


def kills(seed, count):
    jobs = mix.draw(seed, count, "W-small", 1 / 250)
    sums = alone(jobs, computed=True)
    options = ("--interval", "500ms", "--patience", "5s")
    with Cluster(nodes=NODES, name="m", memory=f"{mix.GPU_MIB}MiB", shares=16, cpus=16, wait=300, more=HEALTH + "5\nRequeueExit=99", node_timeout=20) as c:
        c.report()
        c.start_placer(*options)
        run, killer = Run(c, jobs, computed=True), Killer(c, seed, options)
        wait_for("the placer has begun", lambda: "event=start" in c.read("placer.log"), SHORT)
        c.placer.send_signal(signal.SIGPIPE)  # stands for a slurmctld that hangs up during a write
        run.submit_all(killer.step)
        until = time.monotonic() + AFTER_S
        run.wait(lambda: killer.step() if time.monotonic() < until else killer.finish())
        killer.finish()
        check_ends(run, sums)
        run.all_completed()
        again = check_beginnings(run, killer)
        restarts = sum(int(s["Restarts"]) for s in run.states().values())
    print(f"kills, seed {seed}: {len(jobs)} jobs, each ended once; killed {killer.count()}; ended early and begun anew {again}, queued again {restarts}",
          flush=True)


# ---- tests of the checks -----------------------------------------------------------------------------

class Written:
    """The record of a run of three jobs, for the tests of the checks."""

    def __init__(self, folder, lines):
        self.jobs, self.c, self.ids = mix.draw(1, 3, "W-small", 0.01), self, {n: n for n in (1, 2, 3)}
        path = os.path.join(folder, "book")
        with open(path, "w") as f:
            f.write("".join(line + "\n" for line in lines))
        self.book = Book(path)

    def states(self):
        return {n: {} for n in self.ids}

    def output(self, job):
        return ""


def self_test():
    sums = {n: f"{n:016x}" for n in (1, 2, 3)}
    good = [f"{n} {what} {at}.000 n{n} 0 {n if what == 'ends' else 0:016x}" for at, n, what in
            ((1, 1, "begins"), (2, 2, "begins"), (3, 3, "begins"), (4, 1, "ends"), (5, 2, "ends"), (6, 3, "ends"))]
    again = ["3 begins 2.000 n1 0 0"] + good  # on n1 first, then on n3
    killer = Killer.__new__(Killer)

    def verdict(lines, kills=()):
        killer.kills = kills
        with tempfile.TemporaryDirectory() as folder:
            run = Written(folder, lines)
            try:
                check_ends(run, sums)
                return f"{check_beginnings(run, killer)} anew"
            except AssertionError as why:
                return str(why).split(":")[0]

    for name, found, wanted in (
            ("all is well", verdict(good), "0 anew"),
            ("a lost job", verdict(good[:-1]), "job 3 ended 0 times"),
            ("a job that ended twice", verdict(good + good[-1:]), "job 3 ended 2 times"),
            ("another checksum", verdict(good[:-1] + ["3 ends 6.000 n3 0 0"]), "job 3"),
            ("two at a time", verdict(good + ["2 twice 3.000 n2 0 0"]), "twice at a time"),
            ("begun anew, salusd killed", verdict(again, [(2.5, "salusd", "n1")]), "1 anew"),
            ("begun anew for nothing", verdict(again), "job 3 began again without a reason"),
            ("another node's salusd was killed", verdict(again, [(2.5, "salusd", "n2")]), "job 3 began again without a reason"),
            ("it was killed later", verdict(again, [(3.5, "salusd", "n1")]), "job 3 began again without a reason")):
        if found != wanted:
            raise SystemExit(f"many: self-test: {name}: '{found}', not '{wanted}'")
    print("many: the checks find what they are for", flush=True)


# ---- the command ----------------------------------------------------------------------------------------------------

HEAD = ("policy", "seed", "makespan_s", "wait_mean_s", "wait_median_s", "run_mean_s", "slowdown_mean", "slowdown_median", "slowdown_most", "stretch",
        "gpus", "utilisation", "processors")


def show(row):
    cells = [row.get(h, "") for h in HEAD]
    print("| " + " | ".join(f"{c:.2f}" if isinstance(c, float) else str(c) for c in cells) + " |", flush=True)


def measure(a):
    results = []
    print("| " + " | ".join(HEAD) + " |\n|" + "---|" * len(HEAD), flush=True)
    for seed in range(a.seed, a.seed + a.seeds):
        jobs = mix.draw(seed, a.jobs, a.workload, a.scale)
        for row in simulate(a.policies, jobs):
            show({"seed": seed, **row})
        sums = alone(jobs, computed=False)
        for policy in a.policies.split(","):
            results.append({"policy": policy, "seed": seed, **run_policy(policy, jobs, sums)})
            show(results[-1])
            if a.json:
                with open(a.json, "w") as f:
                    json.dump(results, f, indent=1)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--policies", default="fifo,obp,horus")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--seeds", type=int, default=1)
    p.add_argument("--jobs", type=int, default=200)
    p.add_argument("--workload", choices=sorted(mix.LONG_PART), default="W-large")
    p.add_argument("--scale", type=float, default=1 / 90, help="seconds here for one of the paper's (default: 1/90)")
    p.add_argument("--json")
    p.add_argument("--kills", action="store_true")
    p.add_argument("--self-test", action="store_true")
    a = p.parse_args()
    self_test()
    if a.self_test:
        return
    if not a.kills:
        measure(a)
    for seed in range(a.seed, a.seed + a.seeds) if a.kills else ():
        kills(seed, a.jobs)


if __name__ == "__main__":
    main()
