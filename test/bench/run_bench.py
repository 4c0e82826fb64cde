#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make bench: every benchmark, one table with goals met or missed, and the figures as JSON.

  run_bench.py [--short] [--only NAME] [--json FILE] [--report FILE.md] [PROGRAM...]

Programs are benches that need no daemon (ring, worker, software GPU). The others run here under a
private one. A missed goal is no failure: only a program that fails, measures nothing or computes
something wrong is. Run nothing else meanwhile.

--short is the test of the benches themselves, which make check runs: one sample of everything, so
that none can rot. Its figures are worth nothing.
"""
import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e", "lib"), *(os.path.join(HERE, r) for r in ("stack", "sharing", "serving"))]
import nesting  # noqa: E402
import recovery  # noqa: E402
import request_cost  # noqa: E402
import slo  # noqa: E402
from harness import BUILD, Daemon, launch_system_calls, tool  # noqa: E402

CLIENTS = 8
LOAD_SECONDS = 1.0
LOAD_ROUNDS = 8
ALONE_ROUNDS = 6
OVERHEAD_NS = 115  # a kernel
SHORT = False
LOAD_STEADY = 1.1  # largest ratio of the capacities before and after a round; beyond it another load disturbed the machine


def shorten():
    global CLIENTS, LOAD_SECONDS, LOAD_ROUNDS, ALONE_ROUNDS, SHORT
    SHORT = True
    CLIENTS, LOAD_SECONDS, LOAD_ROUNDS, ALONE_ROUNDS = 2, 0.1, 1, 1


def bench(name):
    return tool(os.path.join("test", "bench", "stack", name))


def records(argv, **kwargs):
    """The JSON lines that a program prints; raises an error unless the program succeeds."""
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kwargs)
    if done.returncode:
        raise SystemExit(f"{argv[0]}: exit {done.returncode}\n{done.stdout}{done.stderr}")
    lines = done.stdout.splitlines()
    for line in lines:
        if "no verdict" in line and not line.startswith("{"):
            print(line, file=sys.stderr)
    found = [json.loads(line) for line in lines if line.startswith("{")]
    if not found:
        raise SystemExit(f"{argv[0]}: measured nothing\n{done.stdout}{done.stderr}")
    return found


def verdict(met):
    return "met" if met else "missed"


# ---- under a daemon ------------------------------------------------------------------------------

def pin_worker(daemon):
    """Pins all threads of the worker to the second CPU: the bench runs on the first."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        return
    for thread in os.listdir(f"/proc/{daemon.worker_pid()}/task"):
        os.sched_setaffinity(int(thread), {cpus[1]})


def shim(samples):
    with Daemon("--device-threads", "1") as d:
        pin_worker(d)
        found = records([bench("reply_bench")] + samples, env=d.environment("path"))
        return found + records([bench("shim_bench")] + samples, env=d.environment("path"))


def copy(samples):
    with Daemon() as d:
        return records([bench("copy_bench")] + samples, env=d.environment("path"))


def level(samples):
    return nesting.measure(records, SHORT)


def ended_worker(samples):
    return recovery.measure(SHORT)


def gateway(samples):
    return request_cost.measure(records, SHORT)


def targets(samples):
    return slo.measure(SHORT)


def load_run(daemon, mode, clients, turns):
    start = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + 300_000_000 + 50_000_000 * clients
    argv = [bench("load_bench"), mode, turns, str(start), str(LOAD_SECONDS)]
    jobs = [daemon.start(argv, "path") for _ in range(clients)]
    found = []
    for job in jobs:
        out, err = job.communicate(timeout=60)
        if job.returncode:
            raise SystemExit(f"load_bench: exit {job.returncode}\n{err}{daemon.log()}")
        found.append(json.loads(out))
    return found


def steady(*runs):
    """True if all clients of these runs began in time and completed steps; otherwise other load disturbed the
    machine."""
    return all(client["steps"] and not client["late"] for run in runs for client in run)


def load_row(what, values, goal, sense):
    """There is no verdict without steady rounds, nor for values above the capacity, which were then not measured."""
    values = sorted(values)
    if not values:
        return {"bench": "load", "what": what, "samples": 0, "goal": goal, "goal_unit": sense,
                "verdict": "no verdict: no round was steady"}
    middle = values[len(values) // 2]
    row = {"bench": "load", "what": what, "samples": len(values), "ratio": middle,
           "ratio_p10": values[0], "ratio_p90": values[-1], "goal": goal, "goal_unit": sense,
           "verdict": verdict(middle >= goal if sense == "at least" else middle <= goal)}
    if not goal:
        row["verdict"] = "-"
    elif len(values) < 3:
        row["verdict"] = "no verdict: too few steady rounds"
    elif sense == "at least" and middle > 1.05:
        row["verdict"] = "no verdict: more than the capacity measured"
    return row


def load(samples):
    """Eight clients that wait for each step, compared with one that keeps the device full."""
    shares, fairness, tails, single, dropped = [], [], [], [], 0
    with Daemon() as d:
        found = d.run([bench("load_bench"), "turn"], "path")
        if found.returncode:
            raise SystemExit(f"load_bench: exit {found.returncode}\n{found.stderr}{d.log()}")
        turns = found.stdout.strip()
        for _ in range(LOAD_ROUNDS):
            full, many, again = (load_run(d, mode, clients, turns)
                                 for mode, clients in (("full", 1), ("step", CLIENTS), ("full", 1)))
            before, after = full[0]["steps"], again[0]["steps"]
            steps = [m["steps"] for m in many]
            if any(steps):
                fairness.append(sum(steps) ** 2 / (CLIENTS * sum(s * s for s in steps)))
            if not steady(full, many, again) or max(before, after) > LOAD_STEADY * min(before, after):
                dropped += 1
                continue
            ideal = (before + after) / 2
            shares.append(sum(steps) / ideal)
            tails.append(max(m["p99_us"] for m in many) * ideal / (CLIENTS * LOAD_SECONDS * 1e6))
            single.append(load_run(d, "step", 1, turns)[0]["steps"] / ideal)
    print(f"load: {dropped} of {LOAD_ROUNDS} rounds dropped: the capacity moved, or a client had no time", file=sys.stderr)
    share = load_row(f"{CLIENTS} clients, steps of 16 kernels of 0.1 ms, of the capacity",
                     shares, 0.99, "at least")
    tail = load_row("the same: worst client's p99 step, of a fair share", tails, 1.3, "at most")
    if share["verdict"].startswith("no"):
        tail["verdict"] = share["verdict"]  # a fair share is a part of the capacity
    return [share, tail, load_row("the same: Jain index, all rounds", fairness, 0.99, "at least"),
            load_row("one such client alone, of the capacity", single, 0, "")]


def alone(samples):
    """The cost of a kernel policy for a program that shares with no other: steps per second of a program that
    keeps the device full, and of one that waits for each step, under orion compared with fifo, with streams."""
    rows = []
    with Daemon() as d:
        turns = d.run([bench("load_bench"), "turn"], "path").stdout.strip()
        for mode, what in (("full", "keeps the device full"), ("step", "waits for each step")):
            ratios = []
            for _ in range(ALONE_ROUNDS):
                runs = []
                for kernel in ("streams", "orion", "orion", "streams"):
                    d.ctl("policy", "set", "--lane", "fifo", "--kernel", kernel)
                    runs.append(load_run(d, mode, 1, turns))
                steps = [run[0]["steps"] for run in runs]
                if steady(*runs):
                    ratios.append((steps[1] + steps[2]) / (steps[0] + steps[3]))
            rows.append(load_row(f"a program alone that {what}: steps under orion, of fifo", ratios, 0.99,
                                 "at least"))
    return rows


def overhead(found):
    """Computes interception and policy overhead from earlier measurements: a launch in the library, and a
    decision, both alone in its step and in a busy worker with several decisions in a step."""
    launch = [r for r in found if r.get("what") == "cuLaunchKernel, kernels executing"]
    rows = []
    for decision, when in (("a kernel of five jobs, orion", "a decision a step"),
                           ("the same, eight a step, orion", "eight a step")):
        made = [r for r in found if r.get("what") == decision]
        if not launch or not made:
            continue
        ns = launch[0]["ns"] + made[0]["ns"]
        rows.append({"bench": "overhead", "what": f"interception and policy: a launch, and orion's decision, {when}",
                     "ns": ns, "goal": OVERHEAD_NS, "goal_unit": "ns", "verdict": verdict(ns <= OVERHEAD_NS)})
    return rows


def calls(samples):
    """System calls in 1,000 launches between two markers: the median and the best of 20 rounds."""
    program = os.path.join(BUILD, "e2e", "default-static", "launches")
    if not shutil.which("strace") or not os.path.exists(program):
        print("system calls: needs strace and make e2e-programs: left out", file=sys.stderr)
        return []
    with Daemon() as d:
        counts = sorted(launch_system_calls(d))
    return [{"bench": "shim", "what": "system calls in 1,000 launches, the best round",
             "samples": len(counts), "value": counts[0], "unit": "calls", "goal": 0,
             "goal_unit": "calls", "verdict": verdict(counts[0] == 0)},
            {"bench": "shim", "what": "the same, under a tracer: the middle round",
             "samples": len(counts), "value": counts[len(counts) // 2], "unit": "calls",
             "goal_unit": "", "verdict": "-"}]


# ---- the table -----------------------------------------------------------------------------------

def rows_of(record):
    """The (what, value, ratio, goal, verdict) rows of a record."""
    if record["bench"] == "soft":
        for name, r in record.items():
            if isinstance(r, dict):
                yield (f"{name}, PTX interpreted", f"{r['soft']:.2f} {r['unit']}",
                       f"{r['ratio']:.2f}x the C loop's time", "-", "-")
        return
    if record["bench"] == "worker":
        yield (f"worker: {record['clients']} clients, {record['streams']} streams, an operation",
               f"{record['ns']:.1f} ns", "-", f"<= {record['goal_ns']:.0f} ns",
               verdict(record["met"]))
        return
    unit, goal = record.get("goal_unit", ""), record.get("goal", 0)
    what, value, ratio = record["what"], "-", "-"
    if "ns" in record:
        value = f"{record['ns']:.1f} ns"
    elif "value" in record:
        value = f"{record['value']:g} {record['unit']}"
    if "ratio" in record:
        spread = f" ({record['ratio_p10']:.2f}..{record['ratio_p90']:.2f})"
        ratio = f"{record['ratio']:.3f}{spread}"
    if "floor_ns" in record:
        what += f" [floor {record['floor_ns']:.0f} ns]"
    sense = ">=" if unit.startswith("at least") else "<="
    goals = {"floor": f"<= {goal:g} x floor", "native": f"<= {goal:g} x native",
             "ns": f"<= {goal:g} ns", "calls": f"{goal} calls"}
    text = goals.get(unit, f"{sense} {goal:g}")
    yield what, value, ratio, "-" if record["verdict"] == "-" else text, record["verdict"]


def table(found):
    rows = [("what", "value", "ratio (p10..p90)", "goal", "verdict")]
    for record in found:
        rows += rows_of(record)
    return rows


def plain(rows):
    widths = [max(len(r[i]) for r in rows) for i in range(5)]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in rows)


def markdown(rows):
    lines = ["| " + " | ".join(r) + " |" for r in rows]
    return "\n".join([lines[0], "|---" * 5 + "|"] + lines[1:])


def machine():
    model = platform.machine()
    with open("/proc/cpuinfo") as f:
        for line in f:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], text=True,
                            stdout=subprocess.PIPE).stdout.strip()
    return {"date": time.strftime("%Y-%m-%d"), "cpu": model,
            "cores": len(os.sched_getaffinity(0)), "commit": commit}


def main():
    stack = {"shim": shim, "copy": copy, "load": load, "alone": alone, "calls": calls, "nesting": level,
             "recovery": ended_worker, "slo": targets, "requests": gateway}
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--samples", type=int, help="of those measured beside the floor")
    parser.add_argument("--short", action="store_true", help="one sample of each: do they work?")
    parser.add_argument("--json", default=os.path.join(BUILD, "bench.json"))
    parser.add_argument("--report", help="the table as a Markdown file")
    parser.add_argument("programs", nargs="*")
    args = parser.parse_args()
    if args.short:
        shorten()
        args.samples = 1
    samples = [str(args.samples)] if args.samples else []
    jobs = [(os.path.basename(p), lambda s, p=p: records([p] + (s if args.short else []))) for p in args.programs]
    jobs += list(stack.items())
    found, where = [], machine()
    print(f"{where['date']}, {where['cpu']}, {where['cores']} cores, {where['commit']}", flush=True)
    for name, job in jobs:
        if args.only and args.only not in (name, name + "_bench", name.removesuffix("_bench")):
            continue
        begin = len(found)
        found += job(samples)
        print(f"\n{name}\n{plain(table(found[begin:]))}", flush=True)
    sums = overhead(found)
    found += sums
    if sums:
        print(f"\noverhead\n{plain(table(sums))}")
    with open(args.json, "w") as f:
        json.dump({"machine": where, "results": found}, f, indent=1)
    if args.report:
        with open(args.report, "w") as f:
            f.write(f"Measured {where['date']} at {where['commit']}: {where['cpu']}, "
                    f"{where['cores']} cores; `make bench`.\n\n")
            f.write(markdown(table(found)) + "\n")
    print(f"\nfigures: {args.json}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
