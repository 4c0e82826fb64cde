#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The number of requests that salus-serve answers in time, by each of its policies, alone and beside a training
job. The model is test/serve/early.cu on the software GPU; requests arrive by the clock, at fractions of the
model's capacity. The rules are in docs/results/2026-11-serving.md.

    test/bench/serving/serving.py [--seconds S] [--loads X,...] [--slo X] [--policies NAME,...]
                                  [--seed N] [--report] [--data FILE]

--report: puts the tables into that page.
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "..", "e2e", "lib"), os.path.join(HERE, "..", "..", "serve")]
import load  # noqa: E402
from harness import BUILD, ROOT, Soft, program, tool, wait_for  # noqa: E402

PAGE = os.path.join(ROOT, "docs", "results", "2026-11-serving.md")
POLICIES = ["orloj", "edf", "clockwork", "nexus", "clipper"]
MODES = [("short", 400, 60), ("middle", 2000, 60), ("long", 3600, 60)]  # rounds: mean and deviation
FACTOR, FIXED = 400, 400000  # times of early.cu's requests
WARM_S, WARM_LOAD = 6.0, 0.5
CAPACITY_S, CLIENTS, KNOWN = 5.0, 48, 40
TIMES = 3  # number of capacity measurements
DEVICE = ("--sm-count", "8", "--device-threads", "2")
TRAINING = ["1000000", "4", "8", "64"]  # arguments of test/e2e/programs/jobs/trainer.cu
TICKS = os.sysconf("SC_CLK_TCK")


def conf(policies):
    one = f"""program = {os.path.abspath(BUILD)}/test/serve/early {FACTOR} {FIXED}
input = x UINT32 -1
output = y UINT32 -1
deadline = 1min
priority = 1
"""
    return "[front]\nport = 0\n" + "".join(f"[model {p}]\npolicy = {p}\n{one}" for p in policies)


class Serve:
    """salus-serve with a model for each policy, as jobs of the daemon."""

    def __init__(self, d, policies):
        self.folder = tempfile.TemporaryDirectory(prefix="salus-serving-")
        path = os.path.join(self.folder.name, "models.conf")
        with open(path, "w") as f:
            f.write(conf(policies))
        self.log = open(os.path.join(self.folder.name, "log"), "w+")
        env = {**os.environ, "SALUS_RUN_DIR": d.run_dir, "PATH": f"{os.path.abspath(BUILD)}:{os.environ['PATH']}"}
        self.process = subprocess.Popen([tool("salus-serve"), path], env=env, text=True, stdout=subprocess.PIPE, stderr=self.log)
        self.port = int(self.process.stdout.readline().split()[3])
        wait_for("the models are ready", self.ready)

    def ready(self):
        r = subprocess.run(["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", f"localhost:{self.port}/v2/health/ready"],
                           text=True, stdout=subprocess.PIPE)
        return r.stdout == "200"

    def cpu_s(self):
        with open(f"/proc/{self.process.pid}/stat") as f:
            fields = f.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def stop(self):
        self.process.terminate()
        self.process.wait()
        self.folder.cleanup()


class Training:
    """The training job while it is needed, and the iterations that it completed."""

    def __init__(self, d):
        self.d = d
        self.job = d.start([program("trainer"), *TRAINING], SALUS_JOB_NAME="training")
        wait_for("the training runs", lambda: self.iterations() > 2)

    def iterations(self):
        return next((j["iterations"] for j in self.d.jobs() if j["name"].startswith("training")), 0)

    def rate(self, seconds):
        """Iterations a second while there are no requests."""
        before, begin = self.iterations(), time.monotonic()
        time.sleep(seconds)
        return (self.iterations() - before) / (time.monotonic() - begin)

    def stop(self):
        self.job.kill()
        self.job.communicate()


def demand(rng, model, rate, seconds, deadline_ms):
    return [load.draw(rng, MODES, i, model, at, deadline_ms) for i, at in enumerate(load.poisson(rng, rate, seconds))]


def quantile(values, q):
    values = sorted(values)
    return values[min(len(values) - 1, int(q * len(values)))] if values else float("nan")


class Experiment:
    def __init__(self, options):
        self.options, self.rows = options, []
        self.d = Soft(*DEVICE).__enter__()
        self.d.ctl("policy", "set", "--kernel", "slack")
        self.serve = Serve(self.d, options.policies)

    def end(self):
        self.serve.stop()
        self.d.__exit__()

    def run(self, what):
        return load.run(self.serve.port, FACTOR, what)

    def alone_ms(self):
        """The 0.99 quantile of the latency of single requests, end to end: it sets the deadlines."""
        rng = load.seeded("alone")
        requests = [load.draw(rng, MODES, i, "edf", 0, 60000) for i in range(KNOWN * len(MODES))]
        self.run(lambda l: l.one_after_another(requests, 1))
        return quantile([r.latency for r in requests], 0.99) * 1e3

    def capacity(self):
        """Requests a second of clients that always wait for one, in order of arrival: the median of several
        measurements."""
        rng, rates = load.seeded("capacity"), [0]
        for _ in range(1 + TIMES):  # batch times are learned in the first one
            requests = [load.draw(rng, MODES, i, "edf", 0, 60000) for i in range(int(max(400, rates[-1] * CAPACITY_S)))]
            rates.append(len(requests) / self.run(lambda l: l.one_after_another(requests, CLIENTS)))
        return statistics.median(rates[2:])

    def warm(self, policy):
        requests = demand(load.seeded("warm"), policy, WARM_LOAD * self.rate, WARM_S, self.deadline_ms)
        self.run(lambda l: l.by_the_clock(requests))

    def measure(self, policy, part, beside, training):
        rng = load.seeded(self.options.seed, part)
        requests = demand(rng, policy, part * self.rate, self.options.seconds, self.deadline_ms)
        cpu, begin = self.serve.cpu_s(), time.monotonic()
        iterations = training.iterations() if training else 0
        self.run(lambda l: l.by_the_clock(requests))
        seconds = time.monotonic() - begin
        wrong = sum(r.right is False for r in requests)
        if wrong:
            raise SystemExit(f"serving: {wrong} of {len(requests)} answers of {policy} are wrong")
        row = {"policy": policy, "load": part, "beside": beside, "requests": len(requests),
               "in_time": sum(r.in_time() for r in requests) / len(requests),
               "late": sum(r.status == 200 and not r.in_time() for r in requests) / len(requests),
               "told": sum(r.status in (429, 504) for r in requests) / len(requests),
               "failed": sum(r.status not in (200, 429, 504) for r in requests),
               "p99_ms": quantile([r.latency for r in requests if r.status == 200], 0.99) * 1e3,
               "cpu_us": (self.serve.cpu_s() - cpu) / len(requests) * 1e6,
               "training": (training.iterations() - iterations) / seconds if training else None}
        self.rows.append(row)
        print(f"  {policy:10} load {part:.2f} {'beside training' if beside else 'alone':15} in time {row['in_time']:.3f} "
              f"late {row['late']:.3f} told {row['told']:.3f} p99 {row['p99_ms']:6.1f} ms  gateway {row['cpu_us']:4.0f} us  "
              + (f"training {row['training']:.2f}/s" if training else ""), flush=True)

    def whole(self):
        o = self.options
        p99_ms = self.alone_ms()
        self.rate = self.capacity()
        self.deadline_ms = round(o.slo * p99_ms)
        print(f"P99 alone {p99_ms:.1f} ms, deadline {self.deadline_ms} ms, capacity {self.rate:.1f} requests/s", flush=True)
        for p in o.policies:
            self.warm(p)
        for part in o.loads:
            for p in o.policies:
                self.measure(p, part, False, None)
        training = Training(self.d)
        alone = training.rate(5)
        print(f"training alone {alone:.2f} iterations/s", flush=True)
        for part in o.loads:
            for p in o.policies:
                self.measure(p, part, True, training)
        again = training.rate(5)
        training.stop()
        capacity_after = self.capacity()
        return {"p99_ms": p99_ms, "deadline_ms": self.deadline_ms, "capacity": self.rate, "capacity_after": capacity_after, "training": [alone, again],
                "slo": o.slo, "seconds": o.seconds, "seed": o.seed, "rows": self.rows}


def table(found):
    """Finish rates, a row for each load and placement, a column for each policy; and the cost for the training."""
    rows, alone = found["rows"], statistics.fmean(found["training"])
    policies = list(dict.fromkeys(r["policy"] for r in rows))
    lines = [f"P99 alone {found['p99_ms']:.1f} ms, deadline {found['deadline_ms']} ms ({found['slo']:g} times), capacity {found['capacity']:.0f} requests a "
             f"second (after all of it {found['capacity_after']:.0f}), {found['seconds']:g} s a run; training alone {found['training'][0]:.2f} iterations a second before and {found['training'][1]:.2f} after.", "",
             "| load | beside | " + " | ".join(policies) + " |", "|---|---|" + "---|" * len(policies)]
    for beside in (False, True):
        for part in dict.fromkeys(r["load"] for r in rows):
            cells = []
            for p in policies:
                r = next(r for r in rows if (r["policy"], r["load"], r["beside"]) == (p, part, beside))
                cell = f"{r['in_time']:.3f}, {r['p99_ms']:.0f} ms"
                cells.append(cell + (f", {r['training'] / alone:.2f}" if beside else ""))
            lines.append(f"| {part:g} | {'training' if beside else 'nothing'} | " + " | ".join(cells) + " |")
    lines += ["", f"The gateway took {statistics.fmean(r['cpu_us'] for r in rows):.0f} us of CPU a request in the mean ({min(r['cpu_us'] for r in rows):.0f} to "
              f"{max(r['cpu_us'] for r in rows):.0f}). {sum(r['requests'] for r in rows)} requests in all; {sum(r['failed'] for r in rows)} had another end than an "
              "answer or a word that it will be late; all answers were those that the host computes."]
    return "\n".join(lines)


def put(page, mark, text):
    with open(page) as f:
        whole = f.read()
    new, count = re.subn(f"(<!-- {mark} -->\n).*?(<!-- end -->)", lambda m: m[1] + text + "\n" + m[2], whole, flags=re.S)
    if not count:
        raise SystemExit(f"serving: {page} has no place '{mark}'")
    with open(page, "w") as f:
        f.write(new)


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--seconds", type=float, default=12)
    p.add_argument("--loads", type=lambda s: [float(x) for x in s.split(",")], default=[0.5, 0.7, 0.9, 1.0, 1.2])
    p.add_argument("--slo", type=float, default=5)
    p.add_argument("--policies", type=lambda s: s.split(","), default=POLICIES)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--report", action="store_true")
    p.add_argument("--data")
    o = p.parse_args()
    if "edf" not in o.policies:
        p.error("the policies must have edf, by which the capacity is measured")
    e = Experiment(o)
    try:
        found = e.whole()
    finally:
        e.end()
    text = table(found)
    print(text)
    if o.data:
        with open(o.data, "w") as f:
            json.dump(found, f, indent=1)
    if o.report:
        put(PAGE, f"slo {o.slo:g}", text)


if __name__ == "__main__":
    main()
