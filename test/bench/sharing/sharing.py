#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How the device is shared: a service beside a trainer under every lane policy, and weights over random mixes of jobs.

    test/bench/sharing/sharing.py [--lanes] [--weights] [--mixes N] [--first SEED] [--rounds N] [--compute] [--at-a-time N]
                          [--short] [--figures FILE]

Without --lanes and --weights both are measured. Jobs are share_bench under a private salusd with the software GPU.
Their kernels only take time, unless --compute is given: then the figures depend on the machine's other load.

  --lanes    the service's latency and the trainer's iterations, compared with the same job alone in the same daemon
             (the other one is paused), in turns, in one lane and in two. Of the rounds in which the service's p99
             alone was about the same before and after: the median, the least and the most
  --weights  device time of each job over 10 s compared with its due share by weight, from a recording of the
             scheduler's events, which also gives the time that the device was idle while an operation waited
"""
import argparse
import concurrent.futures
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e", "lib"))
from harness import BUILD, Soft, wait_for  # noqa: E402

PROGRAM = os.path.join(BUILD, "test", "bench", "sharing", "share_bench")
POLICIES = ["fair", "srtf", "pack", "fifo"]
MS_BLOCKS = 333 * 32 * 128  # blocks of a kernel that takes 1 ms without being computed, on 128 multiprocessors
COMPUTED_BLOCKS = 64  # blocks of a computed kernel; its loop count is found by trial
WINDOW_S = 10.0  # seconds over which shares are compared
STEADY = 1.5                # a round counts when p99 alone before and after it differ by no more than this
LEARN = 40                  # iterations after which boundaries have been found
LEARN_S = 15.0              # a job that gets no turn is not waited for


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))] if values else None


class Job:
    def __init__(self, d, name, kernels, ms, mib=0, gap_ms=0, weight=1, mark=False, seed=1):
        self.d, self.name, self.weight, self.gap_ms = d, name, weight, gap_ms
        env = d.environment("path", SALUS_JOB_NAME=name, SALUS_WEIGHT=str(weight), SALUS_PERSISTENT="16MiB",
                            SALUS_EPHEMERAL=f"{mib}MiB", SALUS_DEVICE_MODE=d.MODE)
        argv = [PROGRAM, kernels, *d.kernel(ms), mib, round(1000 * gap_ms), seed, int(mark)]
        self.process = subprocess.Popen([str(a) for a in argv], env=env, text=True, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.id = wait_for(f"{name} is shown", self.shown)

    def shown(self):
        if self.process.poll() is not None:
            raise SystemExit(f"share_bench: exit {self.process.returncode}\n{self.process.stderr.read()}{self.d.log()[-2000:]}")
        return next((str(j["id"]) for j in self.d.jobs() if j["name"].split()[0] == self.name), None)

    def busy_s(self):
        return next(j["busy_seconds"] for j in self.d.jobs() if str(j["id"]) == self.id)

    def pause(self, paused=True):
        self.d.ctl("job", "pause" if paused else "resume", self.id)

    def end(self):
        """The end and the duration of each iteration, in s."""
        out, err = self.process.communicate()
        if self.process.returncode:
            raise SystemExit(f"share_bench: exit {self.process.returncode}\n{err}{self.d.log()[-2000:]}")
        return [tuple(int(n) / 1e9 for n in line.split()) for line in out.splitlines() if " " in line]


class World(Soft):
    """A daemon with one lane policy."""

    def __init__(self, compute, turns):
        super().__init__(*([] if compute else ["--sm-count", "128"]))
        self.MODE, self.turns = ("compute", turns) if compute else ("null", 1)

    def kernel(self, ms):
        return (COMPUTED_BLOCKS, round(ms * self.turns)) if self.MODE == "compute" else (round(ms * MS_BLOCKS), 1)

    def only(self, jobs, all_jobs):
        """Lets these jobs run and pauses all others."""
        for j in all_jobs:
            j.pause(j not in jobs)

    def learn(self, jobs):
        """Waits until boundaries can have been found, or for a while."""
        end = time.monotonic() + LEARN_S
        for j in jobs:
            while time.monotonic() < end and self.done(j) < LEARN:
                time.sleep(0.05)

    def done(self, job):
        return next((j["busy_seconds"] / max(job.each_s, 1e-6) for j in self.jobs() if str(j["id"]) == job.id), 0)


def end_all(jobs):
    """In parallel: under fifo a job ends only when another one has."""
    with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
        return list(pool.map(Job.end, jobs))


def turns_of_ms():
    """Loop count with which a computed kernel's threads take 1 ms."""
    turns = 20000
    for _ in range(3):
        with World(True, turns) as d:
            j = Job(d, "trial", 10, 1)
            time.sleep(1)
            took = [t for _, t in j.end()][3:]
        turns = round(turns * 0.01 / statistics.median(took))
    return turns


# ---- a service and a trainer ---------------------------------------------------------------------

SERVICE = {"kernels": 4, "ms": 1, "mib": 4, "gap_ms": 20}
TRAINER = {"kernels": 8, "ms": 1, "mib": 8}


def pair(policy, lanes, o):
    """Rounds of: the service alone, both, the service alone, the trainer alone. A round counts for the service
    when its latency alone is about the same before and after."""
    alone_s, both_s = (0.3, 0.5) if o.short else (4, 10)
    with World(o.compute, o.turns) as d:
        d.ctl("policy", "set", "--lane", policy, f"max_lanes={lanes}")
        service, trainer = Job(d, "service", **SERVICE), Job(d, "trainer", **TRAINER)
        service.each_s, trainer.each_s = 0.004, 0.008
        jobs, rounds = [service, trainer], []

        def window(who, seconds):
            d.only(who, jobs)
            time.sleep(0.1)
            begin = time.monotonic()
            time.sleep(seconds)
            return begin, time.monotonic()
        if not o.short:
            d.learn(jobs)
        # Under fifo a job that was paused has lost its place, so there is one round.
        for _ in range(1 if o.short or policy == "fifo" else o.rounds):
            rounds.append([window(who, s) for who, s in (([service], alone_s), (jobs, both_s), ([service], alone_s), ([trainer], alone_s))])
            if policy == "fifo":
                rounds[0][2] = rounds[0][0]
        d.only(jobs, jobs)
        requests, steps = end_all(jobs)
    return {"policy": policy, "lanes": lanes, "rounds": [round_of(requests, steps, r) for r in rounds], "load": os.getloadavg()[0]}


def within(list_, window):
    return [took for at, took in list_ if window[0] <= at < window[1]]


def round_of(requests, steps, windows):
    before, beside, after = (within(requests, w) for w in windows[:3])
    rate = [len(within(steps, w)) / (w[1] - w[0]) for w in windows]
    return {**{f"p{q}_ms": [1000 * quantile(v, q / 100) if v else None for v in (before, beside, after)] for q in (50, 99)},
            "requests": len(beside), "progress": rate[1] / rate[3] if rate[3] else None}


def is_steady(r):
    before, _, after = r["p99_ms"]
    return bool(before and after) and max(before, after) <= STEADY * min(before, after)


def ratios(rounds, key):
    """Latencies beside the trainer relative to those alone, in rounds that count."""
    return [r[key][1] / statistics.fmean((r[key][0], r[key][2])) for r in rounds if is_steady(r) and r[key][1]]


def middle(values):
    if not values:
        return "none"
    return f"{statistics.median(values):.2f}" + (f" ({min(values):.2f} to {max(values):.2f})" if len(values) > 1 else "")


def pairs_table(found):
    lines = ["| policy | lanes | rounds | alone: p50, p99, ms | p50 beside, of alone | p99 beside, of alone | trainer, of alone |",
             "|---|---|---|---|---|---|---|"]
    for f in found:
        counted = [r for r in f["rounds"] if is_steady(r)]
        alone = ", ".join(f"{statistics.median(min(r[k][0], r[k][2]) for r in counted):.1f}" for k in ("p50_ms", "p99_ms")) if counted else "none"
        lines.append(f"| {f['policy']} | {f['lanes']} | {len(counted)} of {len(f['rounds'])} | {alone} | {middle(ratios(f['rounds'], 'p50_ms'))} | "
                     f"{middle(ratios(f['rounds'], 'p99_ms'))} | {middle([r['progress'] for r in f['rounds'] if r['progress'] is not None])} |")
    return "\n".join(lines)


# ---- recordings ----------------------------------------------------------------------------------

SUBMITTED = re.compile(r"^(\d+):(\d+)")
DONE = re.compile(r"^(\d+)=(\d+)(?:\*(\d+))?")
RUN = re.compile(r"^> run (\d+):(\d+)")


def read_events(path):
    """Device time of each job in s, the recording's length, and the time in which nothing was on the device while
    an operation waited: in all, and the longest. Times count from the first operation that was seen to run."""
    busy, waiting, running, now, since, begin, idle, longest = {}, set(), set(), 0, None, None, 0, 0
    with open(path) as f:
        for line in f:
            if line.startswith("@"):
                at = int(line[1:])
                if since is not None and at > since:
                    idle += at - since
                    longest = max(longest, at - since)
                now = at
                continue
            if m := SUBMITTED.match(line):
                waiting.add(m.groups())
            elif m := DONE.match(line):
                busy[m[1]] = busy.get(m[1], 0) + int(m[3] or 1)
                running.discard((m[1], m[2]))
            elif m := RUN.match(line):
                waiting.discard(m.groups())
                running.add(m.groups())
                begin = now if begin is None else begin
            elif line.startswith("-"):
                waiting = {w for w in waiting if w[0] != line[1:].strip()}
            since = now if begin is not None and waiting and not running else None
    whole = now - begin if begin is not None else 0
    return {j: ns / 1e9 for j, ns in busy.items()}, whole / 1e9, idle / 1e9, longest / 1e9


# ---- weights -------------------------------------------------------------------------------------

def draw(seed):
    """Draws the jobs of a mix, its number of lanes, and the job that leaves."""
    r = random.Random(seed)
    count, jobs = r.randint(2, 6), []
    for i in range(count):
        kernels, kernel_ms = r.randint(2, 10), r.choice([0.25, 0.5, 1, 2])
        service = i > 0 and r.random() < 0.35
        gap_ms = kernels * kernel_ms * r.choice([0.5, 1, 3, 9]) if service else 0
        jobs.append({"kernels": kernels, "ms": kernel_ms, "mib": r.choice([0, 0, 2, 4, 8, 16]), "gap_ms": gap_ms,
                     "weight": r.randint(1, 9), "mark": r.random() < 0.5, "seed": seed * 10 + i})
    return {"seed": seed, "lanes": r.randint(1, 4), "jobs": jobs, "leaves": r.randrange(count - 1)}


def dues(total, wants):
    """Weighted max-min shares: wants is [(weight, most)]."""
    due, open_, left = [0.0] * len(wants), set(range(len(wants))), total
    while open_:
        weights = sum(wants[i][0] for i in open_)
        full = [i for i in open_ if wants[i][1] <= left * wants[i][0] / weights]
        if not full:
            for i in open_:
                due[i] = left * wants[i][0] / weights
            break
        for i in full:
            due[i] = wants[i][1]
            open_.discard(i)
        left = total - sum(due[i] for i in range(len(wants)) if i not in open_)
    return due


def window(d, jobs, demand, seconds):
    """Records for some seconds; returns each job's device time relative to its due share."""
    path = os.path.join(d.run_dir, "events")
    d.ctl("record", "--events", "--for", f"{round(1000 * seconds)}ms", path)
    busy, whole, idle, longest = read_events(path)
    os.remove(path)
    got = [busy.get(j.id, 0) for j in jobs]
    total = sum(got)
    # A service that waits for each answer demands less when answers take longer: its usage counts as its demand,
    # as long as that is less than its share.
    due = dues(total, [(j.weight, got[i] if j.gap_ms else float("inf")) for i, j in enumerate(jobs)])
    part = dues(total, [(j.weight, demand[j.name] * whole if j.gap_ms else float("inf")) for j in jobs])
    rows = [{"name": j.name, "weight": j.weight, "service": bool(j.gap_ms), "got": g / total if total else 0, "due": (part if j.gap_ms else due)[i] / total if total else 0}
            for i, (j, g) in enumerate(zip(jobs, got))]
    return {"seconds": whole, "busy": total / whole if whole else 0, "idle": idle / whole if whole else 0, "longest_idle_ms": 1000 * longest, "jobs": rows}


def demand_of(d, job, jobs, seconds):
    """Device time per second that the job uses alone."""
    d.only([job], jobs)
    before, begin = job.busy_s(), time.monotonic()
    time.sleep(seconds)
    used = (job.busy_s() - before) / (time.monotonic() - begin)
    d.only(jobs, jobs)
    return used


def mix(seed, o):
    """Windows of a mix: at its start, after the last job has come, after one has left."""
    m = draw(seed)
    seconds, alone_s, settle_s = (0.5, 0.2, 0.2) if o.short else (WINDOW_S, 3, 4)
    with World(o.compute, o.turns) as d:
        d.ctl("policy", "set", "--lane", "fair", f"max_lanes={m['lanes']}")

        def start(i):
            job = Job(d, f"job{i}", **m["jobs"][i])
            job.each_s = m["jobs"][i]["kernels"] * m["jobs"][i]["ms"] / 1000
            return job
        jobs, demand, windows = [start(i) for i in range(len(m["jobs"]) - 1)], {}, []
        if not o.short:
            d.learn(jobs)
        for j in jobs:
            if j.gap_ms:
                demand[j.name] = demand_of(d, j, jobs, alone_s)
        time.sleep(settle_s)
        if len(jobs) > 1:
            windows.append(window(d, jobs, demand, seconds))
        jobs.append(start(len(jobs)))
        if not o.short:
            d.learn(jobs[-1:])
        if jobs[-1].gap_ms:
            demand[jobs[-1].name] = demand_of(d, jobs[-1], jobs, alone_s)
        time.sleep(settle_s)
        windows.append(window(d, jobs, demand, seconds))
        if len(jobs) > 2:
            jobs.pop(m["leaves"]).end()
            time.sleep(settle_s)
            windows.append(window(d, jobs, demand, seconds))
        end_all(jobs)
    return {**m, "windows": windows, "load": os.getloadavg()[0]}


def off(row):
    return row["got"] / row["due"] - 1 if row["due"] else 0


def errors(found):
    """For trainers, the deviation from the due share; for services, the shortfall from the due share or from their
    usage alone."""
    rows = [r for f in found for w in f["windows"] for r in w["jobs"]]
    return [abs(off(r)) for r in rows if not r["service"]], [max(0, -off(r)) for r in rows if r["service"]]


def weights_table(found):
    lines = ["| mix | lanes | weights (s: service) | trainers, most off due | services, most below due | device idle, somebody waits |",
             "|---|---|---|---|---|---|"]
    for f in found:
        trainers, services = errors([f])
        names = " ".join(f"{j['weight']}{'s' if j['gap_ms'] else ''}" for j in f["jobs"])
        lines.append(f"| {f['seed']} | {f['lanes']} | {names} | {100 * max(trainers, default=0):.1f} % | "
                     f"{100 * max(services, default=0):.1f} % | {100 * max(w['idle'] for w in f['windows']):.2f} % |")
    trainers, services = errors(found)
    within = sum(e <= 0.05 for e in trainers)
    return "\n".join(lines) + "\n\n" + (
        f"Trainers in {len(trainers)} windows' places: {within} within 5 % of due, median {100 * statistics.median(trainers):.1f} %, "
        f"most {100 * max(trainers):.1f} %. Services: {sum(e <= 0.05 for e in services)} of {len(services)} not more than 5 % below, "
        f"most {100 * max(services, default=0):.1f} %. Load {min(f['load'] for f in found):.0f} to {max(f['load'] for f in found):.0f}.")


# ---- all -----------------------------------------------------------------------------------------

def each(work, list_, at_a_time):
    found = []
    with concurrent.futures.ThreadPoolExecutor(at_a_time) as pool:
        for f in pool.map(work, list_):
            print(json.dumps(f), file=sys.stderr, flush=True)
            found.append(f)
    return found


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--lanes", action="store_true")
    p.add_argument("--weights", action="store_true")
    p.add_argument("--mixes", type=int, default=20)
    p.add_argument("--first", type=int, default=1)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--compute", action="store_true")
    p.add_argument("--at-a-time", type=int, default=2)
    p.add_argument("--short", action="store_true", help="a try of everything; its figures are worth nothing")
    p.add_argument("--figures", help="all of them, as JSON")
    o = p.parse_args()
    if o.compute:
        o.at_a_time = 1
    o.turns = turns_of_ms() if o.compute else 1
    every, found = not (o.lanes or o.weights), {}
    print(f"{BUILD}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}, kernels {'computed' if o.compute else 'not computed'}\n", flush=True)
    if o.lanes or every:
        cells = [(policy, lanes) for lanes in (1, 2) for policy in (POLICIES[:1] if o.short else POLICIES)]
        found["pairs"] = each(lambda c: pair(*c, o), cells, o.at_a_time)
        print(pairs_table(found["pairs"]) + "\n", flush=True)
    if o.weights or every:
        found["weights"] = each(lambda s: mix(s, o), range(o.first, o.first + (1 if o.short else o.mixes)), o.at_a_time)
        print(weights_table(found["weights"]), flush=True)
    if o.figures:
        with open(o.figures, "w") as f:
            json.dump(found, f, indent=1)


if __name__ == "__main__":
    main()
