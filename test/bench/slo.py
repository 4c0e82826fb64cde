#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well controllers hold a latency in the real daemon: a service whose requests' work steps up and down while it
runs, a trainer beside it, and each controller in turn.

    test/bench/slo.py [--rounds N] [--nested] [--figures FILE] [--report]

--report: puts the table into docs/results/2026-11-gpucolo.md, where the rules are.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e"))
from harness import BUILD, ROOT, Nested, Soft, tool, wait_for  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "results", "2026-11-gpucolo.md")

SERVICE = (8, 16, 2000)  # kernels a request, blocks of each, turns of a thread
TRAINER = (40, 16, 2000)
UP, DOWN, END = 4.5, 14.5, 20.0  # s: when there is more work, when no more, when the run ends
MORE = 10                # kernels a request in between
ALONE_S = 2.0            # how long the service is alone before and after
SAME = 1.15              # what is alone before and after may differ by; beyond that the machine was not ours
SETTLED_S = 0.3          # until the trainer's last iteration is over
SLACK = 1.5              # the target, of the latency alone
NEAR = 0.02              # what is near the target, of it; or twice as far as the run's steady periods are from their mean
ROW = 3                  # periods in a row that are near: it has settled
ROUNDS = 8
STEADY = [(2.5, 4.5), (9.5, 14.5), (17.5, 20.0)]  # windows: before, with more work, after
LOOK_S = 0.05
SCALED = "gslice_period=1250ms"  # a twentieth of the paper's 25 s, as all of the run is of its
CONTROLS = [("open", ["open"]), ("simple", ["simple"]), ("conservative", ["conservative"]),
            ("gslice, restarts of 0.35 s", ["gslice", SCALED, "gslice_restart=350ms"]),
            ("gslice, without", ["gslice", SCALED, "gslice_restart=0"]),
            ("gpucolo, pause first", ["gpucolo", "share_first=no"]), ("gpucolo", ["gpucolo", "share_first=yes"])]


class Watch:
    """What the daemon shows of its jobs, every so often: [(time, {name: job})]."""

    def __init__(self, d):
        self.samples = []
        self.process = subprocess.Popen([tool("salusctl"), "--run-dir", d.run_dir, "--json", "--watch", str(LOOK_S), "job", "list"],
                                        text=True, stdout=subprocess.PIPE)
        self.thread = threading.Thread(target=self.read)
        self.thread.start()

    def read(self):
        decoder, text = json.JSONDecoder(), ""
        for line in self.process.stdout:
            text += line
            try:
                shown, _ = decoder.raw_decode(text.strip())
            except json.JSONDecodeError:
                continue
            text = ""
            self.samples.append((time.monotonic(), {j["name"]: j for j in shown["jobs"]}))

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.thread.join()
        return self.samples


class World:
    """A daemon with a service and a trainer, which waits."""

    def __init__(self, d):
        self.d = d
        self.service, self.trainer = (self.start(n, a) for n, a in (("service", SERVICE), ("trainer", TRAINER)))
        self.ids = wait_for("both jobs work", self.both)
        d.ctl("job", "pause", self.ids["trainer"])

    def start(self, name, numbers):
        env = self.d.environment("path", SALUS_JOB_NAME=name, SALUS_PERSISTENT="16MiB", SALUS_EPHEMERAL="1MiB")
        return subprocess.Popen([os.path.join(BUILD, "test", "bench", "slo_bench"), *map(str, numbers)], env=env, text=True,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def both(self):
        jobs = {j["name"]: j for j in self.d.jobs()}
        working = all(jobs.get(n, {}).get("iterations", 0) > 3 for n in ("service", "trainer"))
        return {n: str(j["id"]) for n, j in jobs.items()} if working else None

    def kernels(self, count):
        self.service.stdin.write(f"{count}\n")
        self.service.stdin.flush()

    def alone_s(self, seconds):
        """The mean latency of the service's periods while nobody is beside it."""
        self.d.ctl("policy", "set", "--control", "open")
        self.d.ctl("job", "set", self.ids["service"], "slo=1us", "slo_of=mean")
        time.sleep(SETTLED_S)
        watch = Watch(self.d)
        time.sleep(seconds)
        found = periods_of(watch.stop())
        if not found:
            raise SystemExit("slo: the service had no period alone")
        return statistics.fmean(p["measured"] for p in found)

    def end(self):
        """Both say that all threads of all their kernels ran."""
        self.d.ctl("job", "resume", self.ids["trainer"])
        for p in (self.service, self.trainer):
            p.communicate()
            if p.returncode:
                raise SystemExit(f"slo_bench: exit {p.returncode}")


def periods_of(samples):
    """The control periods that were seen: when, what was measured, and of which target."""
    found, last = [], None
    for at, jobs in samples:
        job = jobs.get("service")
        if not job:
            continue
        if last is not None and job["periods"] > last:
            found.append({"at": at, "measured": job["measured_seconds"], "of": job["measured_seconds"] / job["slo_seconds"]})
        last = job["periods"]
    return found


def iterations(samples, name):
    seen = [jobs[name]["iterations"] for _, jobs in samples if name in jobs]
    return seen[-1] - seen[0]


def settles(periods, begin, near):
    """Periods from `begin` until ROW in a row are near the target; None: not before the next step."""
    found = [abs(p["of"] - 1) <= near for p in periods if p["at"] >= begin]
    return next((i for i in range(len(found) - ROW + 1) if all(found[i:i + ROW])), None)


def steady_figures(windows):
    """How far from the target windows are on the average, and their periods each; and how far these are from their own mean."""
    if not windows:
        return None, None, 0
    means = [statistics.fmean(w) for w in windows]
    spread = statistics.fmean((of - m) ** 2 for w, m in zip(windows, means) for of in w) ** 0.5
    return (100 * statistics.fmean(abs(m - 1) for m in means),
            100 * statistics.fmean(abs(of - 1) for w in windows for of in w), spread)


def figures_of(samples, begin, scale):
    """Of a run: what its periods were beside their target, and how much was done."""
    periods, last = periods_of(samples), samples[-1][1]["service"]
    within = [[p["of"] for p in periods if begin + a * scale <= p["at"] < begin + b * scale] for a, b in STEADY]
    off, each, spread = steady_figures([w for w in within if w])
    up, down, seconds = begin + UP * scale, begin + DOWN * scale, samples[-1][0] - samples[0][0]
    after, near = [p["of"] for p in periods if up <= p["at"] < begin + STEADY[1][0] * scale], max(NEAR, 2 * spread)
    return {"off": off, "each": each, "spread": 100 * spread, "up": settles([p for p in periods if p["at"] < down], up, near),
            "down": settles(periods, down, near), "highest": 100 * (max(after) - 1) if after else None,
            "lowest": 100 * (min(after) - 1) if after else None, "violated": 100 * last["violations"] / max(1, last["periods"]),
            "periods": len(periods), "training": iterations(samples, "trainer") / seconds,
            "requests": iterations(samples, "service") / seconds}


def run(world, control, scale):
    """One controller: alone, its steps, alone again."""
    before = world.alone_s(ALONE_S * scale)
    world.d.ctl("policy", "set", "--control", *control)
    world.d.ctl("job", "set", world.ids["service"], f"slo={round(before * SLACK * 1e9)}ns")
    watch, begin = Watch(world.d), time.monotonic()
    world.d.ctl("job", "resume", world.ids["trainer"])
    for until, kernels in ((UP, MORE), (DOWN, SERVICE[0]), (END, None)):
        time.sleep(max(0, begin + until * scale - time.monotonic()))
        if kernels:
            world.kernels(kernels)
    samples = watch.stop()
    world.d.ctl("job", "pause", world.ids["trainer"])
    return {**figures_of(samples, begin, scale), "alone": before, "again": world.alone_s(ALONE_S * scale),
            "load": os.getloadavg()[0]}


def rounds_of(kind, rounds, scale, controls):
    """{name: figures of each round}: controllers in turn, so that a moment of the machine's is everybody's."""
    found = {name: [] for name, _ in controls}
    with kind("--sm-count", "128") as d:
        world = World(d)
        for _ in range(rounds):
            for name, control in controls:
                found[name].append(run(world, control, scale))
                print(name, json.dumps(found[name][-1]), file=sys.stderr, flush=True)
        world.end()
    return found


# ---- for run_bench.py ----------------------------------------------------------------------------

def measure(short):
    """Open and gpucolo, once, as rows of its table: what is held, and what the training is of open's."""
    wanted = [c for c in CONTROLS if c[0] in ("open", "gpucolo")]
    found = rounds_of(Soft, 1, 0.1 if short else 1.0, wanted)
    base, rows = found["open"][0]["training"], []
    for name, _ in wanted:
        f = found[name][0]
        part = f["training"] / base if base else 0
        rows.append({"bench": "slo", "what": f"{name}: a latency in steady state is off its target by", "samples": f["periods"],
                     "value": round(f["off"] or 0, 2), "unit": "%", "ratio": part, "ratio_p10": part, "ratio_p90": part,
                     "goal": 2, "goal_unit": "at most",
                     "verdict": "-" if name == "open" or f["off"] is None else "met" if f["off"] <= 2 else "missed"})
    return rows


# ---- the table -----------------------------------------------------------------------------------

def cell(values, form="{:.1f}", never="never"):
    """The middle one, and the least and the most; what never happened counts as more than all."""
    known = sorted(v for v in values if v is not None)
    if not known:
        return never
    lacking = len(values) - len(known)
    middle = known[len(values) // 2] if len(values) // 2 < len(known) else None
    most = never if lacking else form.format(known[-1])
    return f"{never if middle is None else form.format(middle)} ({form.format(known[0])} to {most})"


def is_steady(run):
    return max(run["alone"], run["again"]) <= SAME * min(run["alone"], run["again"])


def training_of(run):
    """Iterations while a request alone takes: the machine's speed is in both."""
    return run["training"] * (run["alone"] + run["again"]) / 2


def table(found):
    head = ["", "runs", "off, %", "each period, %", "settled up, periods", "settled down", "highest, %", "lowest, %", "violations, %",
            "training, of open"]
    rows = [head, ["---"] * len(head)]
    kept = {name: [r for r in runs if is_steady(r)] for name, runs in found.items()}
    base = statistics.median(training_of(r) for r in kept["open"]) if kept["open"] else float("nan")
    for name, runs in kept.items():
        rows.append([name, f"{len(runs)} of {len(found[name])}"] + [cell([r[k] for r in runs]) for k in ("off", "each")] +
                    [cell([r[k] for r in runs], "{:.0f}") for k in ("up", "down", "highest", "lowest", "violated")] +
                    [cell([training_of(r) / base for r in runs], "{:.2f}")])
    runs = [r for rs in kept.values() for r in rs]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n\n" + \
        f"Of the runs that count: load of the machine (two processors, ours included) {min(r['load'] for r in runs):.1f} to " + \
        f"{max(r['load'] for r in runs):.1f}; a request alone {1e3 * min(r['alone'] for r in runs):.2f} to " + \
        f"{1e3 * max(r['alone'] for r in runs):.2f} ms; {min(r['periods'] for r in runs)} to {max(r['periods'] for r in runs)} periods.\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--nested", action="store_true")
    parser.add_argument("--figures", help="all of them, as JSON; what is there already is the first rounds")
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    found = rounds_of(Nested if args.nested else Soft, args.rounds, 1.0, CONTROLS)
    if args.figures and os.path.exists(args.figures):
        with open(args.figures) as f:
            found = {name: before + found[name] for name, before in json.load(f).items()}
    if args.figures:
        with open(args.figures, "w") as f:
            json.dump(found, f, indent=1)
    print(table(found))
    if not args.report:
        return 0
    begin = f"<!-- written by test/bench/slo.py{' --nested' if args.nested else ''}: begin -->"
    with open(PAGE) as f:
        before, _, rest = f.read().partition(begin)
    with open(PAGE, "w") as f:
        f.write(before + begin + "\n" + table(found) + "<!-- end -->" + rest.partition("<!-- end -->")[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
