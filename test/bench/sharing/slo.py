#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How well controllers hold a latency in the real daemon: a service whose requests' work steps up and down while it
runs, a trainer beside it, and each controller in turn.

    test/bench/sharing/slo.py [--rounds N] [--nested] [--figures FILE] [--report]

--report: puts the table into docs/results/2026-11-gpucolo.md, where the rules are.
"""
import argparse
import concurrent.futures
import json
import os
import statistics
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "e2e", "lib"))
from harness import BUILD, ROOT, Nested, Soft, tool, wait_for  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "results", "2026-11-gpucolo.md")

# Kernels of 4 ms where they are not computed: each fills the device of 128 multiprocessors 1,333 times.
BLOCKS = 1333 * 32 * 128
SERVICE, MORE, TRAINER = 17, 19, 100  # kernels of a request, of one while there is more work, of an iteration
UP, DOWN, END = 90, 290, 400  # s: start and end of the additional work, end of the run
STEADY = [(50, 90), (190, 290), (350, 400)]  # windows: before, with additional work, after
ALONE_S = 5.0            # how long the service is alone at first
SLACK = 1.3              # the target, of the latency alone
NEAR = 0.02  # relative distance from the target that counts as near
ROW = 3                  # periods in a row that are near: it has settled
ROUNDS = 2
LOOK_S = 0.5
CONTROLS = [("open", ["open"]), ("simple", ["simple"]), ("conservative", ["conservative"]),
            ("gslice, restarts of 7 s", ["gslice", "gslice_period={25}ms", "gslice_restart={7}ms"]),
            ("gslice, without", ["gslice", "gslice_period={25}ms", "gslice_restart=0"]),
            ("gpucolo, pause first", ["gpucolo", "share_first=no"]), ("gpucolo", ["gpucolo", "share_first=yes"])]


FLUID = ("--worker", os.path.join(BUILD, "test", "bench", "sharing", "salus-gpu-fluid"))


class Fluid(Soft):
    """On a software GPU whose kernels only take time, shared by all jobs here."""
    MODE = "null"

    def __init__(self, *options):
        super().__init__(*options, *FLUID)


class NestedFluid(Nested):
    """On the real driver's device. The daemon below does not compute the kernels; this one does not know that."""
    MODE = "compute"

    def __init__(self, *options):
        super().__init__(*options)
        self.below.options += FLUID
        self.env["SALUS_DEVICE_MODE"] = "null"

    def boot(self):
        """The worker is one job of the daemon below, which must not hold back any memory from it."""
        super().boot()
        self.below.ctl("policy", "set", "inflight_cap=256")
        return self


class Watch:
    """Samples of the daemon's job list: [(time, {name: job})]."""

    def __init__(self, d, seconds):
        self.samples = []
        self.process = subprocess.Popen([tool("salusctl"), "--run-dir", d.run_dir, "--json", "--watch", str(seconds), "job", "list"],
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
            self.samples.append((time.monotonic(), {j["name"].split()[0]: j for j in shown["jobs"]}))

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.thread.join()
        return self.samples


class World:
    """A daemon with a service and a trainer, which waits. `scale` multiplies all times."""

    def __init__(self, d, scale):
        self.d, self.scale = d, scale
        self.service, self.trainer = self.start("service", SERVICE), self.start("trainer", TRAINER)
        self.ids = wait_for("both jobs work", self.both)
        d.ctl("job", "pause", self.ids["trainer"])

    def start(self, name, kernels):
        env = self.d.environment("path", SALUS_JOB_NAME=name, SALUS_PERSISTENT="16MiB", SALUS_EPHEMERAL="1MiB", SALUS_DEVICE_MODE=self.d.MODE)
        argv = [os.path.join(BUILD, "test", "bench", "sharing", "slo_bench"), str(kernels), str(round(BLOCKS * self.scale)), "1"]
        return subprocess.Popen(argv, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def both(self):
        jobs = {j["name"].split()[0]: j for j in self.d.jobs()}
        working = all(jobs.get(n, {}).get("iterations", 0) > 3 for n in ("service", "trainer"))
        return {n: str(j["id"]) for n, j in jobs.items()} if working else None

    def kernels(self, count):
        self.service.stdin.write(f"{count}\n")
        self.service.stdin.flush()

    def wait(self, seconds, since):
        time.sleep(max(0, since + seconds * self.scale - time.monotonic()))

    def alone_s(self):
        """The mean latency of the service's periods while it is alone, except for the first."""
        self.d.ctl("job", "set", self.ids["service"], "slo=1us", "slo_of=mean")
        watch, since = Watch(self.d, LOOK_S * self.scale), time.monotonic()
        wait_for("the service has periods alone", lambda: len(periods_of(watch.samples)) > 1)
        self.wait(ALONE_S, since)
        return statistics.fmean(p["measured"] for p in periods_of(watch.stop())[1:])

    def end(self):
        self.d.ctl("job", "resume", self.ids["trainer"])
        for p in (self.service, self.trainer):
            _, err = p.communicate()
            if p.returncode:
                raise SystemExit(f"slo_bench: exit {p.returncode}\n{err}")


def periods_of(samples):
    """The control periods that were seen: time, measured value, and target."""
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


def settles(periods, begin):
    """Number of periods from `begin` until ROW in a row are near the target; None: not before the next step."""
    found = [abs(p["of"] - 1) <= NEAR for p in periods if p["at"] >= begin]
    return next((i for i in range(len(found) - ROW + 1) if all(found[i:i + ROW])), None)


def steady_figures(windows):
    """Mean distance from the target of the windows, and of their periods, in %."""
    if not windows:
        return None, None
    return (100 * statistics.fmean(abs(statistics.fmean(w) - 1) for w in windows),
            100 * statistics.fmean(abs(of - 1) for w in windows for of in w))


def figures_of(samples, begin, scale):
    """Figures of a run: its periods relative to their target, and the completed work."""
    periods, last = periods_of(samples), samples[-1][1]["service"]
    within = [[p["of"] for p in periods if begin + a * scale <= p["at"] < begin + b * scale] for a, b in STEADY]
    off, each = steady_figures([w for w in within if w])
    up, down, seconds = begin + UP * scale, begin + DOWN * scale, samples[-1][0] - samples[0][0]
    after = [p["of"] for p in periods if up <= p["at"] < begin + STEADY[1][0] * scale]
    return {"off": off, "each": each, "up": settles([p for p in periods if p["at"] < down], up), "down": settles(periods, down),
            "highest": 100 * (max(after) - 1) if after else None, "lowest": 100 * (min(after) - 1) if after else None,
            "violated": 100 * last["violations"] / max(1, last["periods"]), "periods": len(periods),
            "training": iterations(samples, "trainer") / seconds, "requests": iterations(samples, "service") / seconds}


def run(kind, control, scale):
    """One controller in a separate daemon: the service alone, then beside the trainer with its steps."""
    with kind("--sm-count", "128") as d:
        world = World(d, scale)
        alone = world.alone_s()
        d.ctl("policy", "set", "--control", *(c.replace("{25}", str(round(25e3 * scale))).replace("{7}", str(round(7e3 * scale))) for c in control))
        d.ctl("job", "set", world.ids["service"], f"slo={round(alone * SLACK * 1e9)}ns")
        watch, begin = Watch(d, LOOK_S * scale), time.monotonic()
        d.ctl("job", "resume", world.ids["trainer"])
        for until, kernels in ((UP, MORE), (DOWN, SERVICE), (END, None)):
            world.wait(until, begin)
            if kernels:
                world.kernels(kernels)
        samples = watch.stop()
        world.end()
    return {**figures_of(samples, begin, scale), "alone": alone, "load": os.getloadavg()[0]}


def rounds_of(kind, rounds, scale, controls):
    """{name: figures of each round}. The runs of a round run concurrently, because they need little CPU."""
    found = {name: [] for name, _ in controls}
    with concurrent.futures.ThreadPoolExecutor(len(controls)) as pool:
        for _ in range(rounds):
            for (name, _), figures in zip(controls, pool.map(lambda c: run(kind, c[1], scale), controls)):
                found[name].append(figures)
                print(name, json.dumps(figures), file=sys.stderr, flush=True)
    return found


# ---- for run_bench.py ----------------------------------------------------------------------------

def measure(short):
    """Runs open and gpucolo once, as rows of run_bench.py's table: latency relative to the target, and training
    speed relative to open's."""
    wanted = [c for c in CONTROLS if c[0] in ("open", "gpucolo")]
    found = rounds_of(Fluid, 1, 0.025 if short else 0.25, wanted)
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
    """The median, the least and the most; an event that never happened counts as the largest value."""
    known = sorted(v for v in values if v is not None)
    if not known:
        return never
    lacking = len(values) - len(known)
    middle = known[len(values) // 2] if len(values) // 2 < len(known) else None
    most = never if lacking else form.format(known[-1])
    return f"{never if middle is None else form.format(middle)} ({form.format(known[0])} to {most})"


def table(found):
    head = ["", "off, %", "each period, %", "settled up, periods", "settled down", "highest, %", "lowest, %", "violations, %", "requests/s",
            "training, of open"]
    rows = [head, ["---"] * len(head)]
    for name, runs in found.items():
        of = [r["training"] / o["training"] for r, o in zip(runs, found["open"])]
        rows.append([name] + [cell([r[k] for r in runs]) for k in ("off", "each")] +
                    [cell([r[k] for r in runs], "{:.0f}") for k in ("up", "down")] + [cell([r[k] for r in runs]) for k in ("highest", "lowest")] +
                    [cell([r["violated"] for r in runs], "{:.0f}"), cell([r["requests"] for r in runs]), cell(of, "{:.2f}")])
    runs = [r for rs in found.values() for r in rs]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n\n" + \
        f"Rounds: {len(found['open'])}. Load of the machine (two processors) {min(r['load'] for r in runs):.1f} to " + \
        f"{max(r['load'] for r in runs):.1f}; a request alone {1e3 * min(r['alone'] for r in runs):.1f} to " + \
        f"{1e3 * max(r['alone'] for r in runs):.1f} ms; {min(r['periods'] for r in runs)} to {max(r['periods'] for r in runs)} periods.\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--nested", action="store_true")
    parser.add_argument("--figures", help="all of them, as JSON; what is there already is the first rounds")
    parser.add_argument("--report", action="store_true")
    args = parser.parse_args()
    found = rounds_of(NestedFluid if args.nested else Fluid, args.rounds, 1.0, CONTROLS)
    if args.figures and os.path.exists(args.figures):
        with open(args.figures) as f:
            found = {name: before + found[name] for name, before in json.load(f).items()}
    if args.figures:
        with open(args.figures, "w") as f:
            json.dump(found, f, indent=1)
    print(table(found))
    if not args.report:
        return 0
    begin = f"<!-- written by test/bench/sharing/slo.py{' --nested' if args.nested else ''}: begin -->"
    with open(PAGE) as f:
        before, _, rest = f.read().partition(begin)
    with open(PAGE, "w") as f:
        f.write(before + begin + "\n" + table(found) + "<!-- end -->" + rest.partition("<!-- end -->")[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
