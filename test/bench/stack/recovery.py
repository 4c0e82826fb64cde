# SPDX-License-Identifier: Apache-2.0
"""The cost of a worker's end for its jobs: the times of each step to the next worker, from the broker's log, and
the longest gap between two rounds of a job.

Measured on the software GPU, and on the real driver's device above a second daemon that has it. That daemon must
have released a worker before the next one begins, so the harness waits for it."""
import datetime
import json
import os
import re
import signal
import subprocess
import time

from harness import BUILD, Nested, Soft, wait_for

# (jobs, MiB of each)
WORLDS = [(1, 16), (4, 16), (8, 16), (1, 512)]
SHORT = [(1, 16), (2, 16)]
ROUNDS = 7
WAIT_S = 0.3  # from the last step until all jobs have continued
# Figures of each world: name, description, unit.
FIGURES = [("reaped", "until the worker is reaped", "ms"), ("freed", "until the level below is rid of it", "ms"),
           ("opened", "until the next one has its device", "ms"), ("tried", "until it was tried", "ms"),
           ("restored", "until it has all jobs", "ms"), ("longest", "the longest wait of a job", "ms"),
           ("faults", "pages that the next worker touched", "pages")]
RECOVERED = re.compile(r"event=recovered gpu=0 jobs=(\d+) lost=0 .*after_ms=\d+(.*)")
STEP = re.compile(r"(\w+)_us=(\d+)")
LOST = re.compile(r"^(\S+)Z error worker event=lost", re.M)
LEFT = re.compile(r'^(\S+)Z info client job=1 name="worker" event=left', re.M)


def faults_of(pid):
    """Number of pages that the process has touched for the first time (minor faults)."""
    with open(f"/proc/{pid}/stat") as f:
        return int(f.read().rsplit(")", 1)[1].split()[7])


def job(daemon, mib):
    return subprocess.Popen([os.path.join(BUILD, "test", "bench", "stack", "recovery_bench"), str(mib)],
                            env=daemon.environment("path", SALUS_PERSISTENT=f"{mib}MiB"), text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(process):
    out, err = process.communicate()
    if process.returncode:
        raise SystemExit(f"recovery_bench: exit {process.returncode}\n{out}{err}")
    return json.loads(out.splitlines()[-1])["longest_ms"]


def freed_ms(d):
    """Time from the worker's end until the daemon below has released it."""
    lost, left = (datetime.datetime.fromisoformat(found.group(1))
                  for found in (LOST.search(d.log()), LEFT.search(d.below.log())))
    return (left - lost).total_seconds() * 1000


def one(kind, jobs, mib):
    """A daemon whose worker is killed once: {figure: value}."""
    with kind() as d:
        running = [job(d, mib) for _ in range(jobs)]
        for p in running:
            p.stdout.readline()
        time.sleep(0.1)
        os.kill(d.worker_pid(), signal.SIGKILL)
        found = wait_for("the next worker has the jobs", lambda: RECOVERED.search(d.log()))
        time.sleep(WAIT_S)
        figures = {"faults": faults_of(d.worker_pid()), "longest": max([end(p) for p in running])}
        if d.below:
            figures["freed"] = freed_ms(d)
    if int(found.group(1)) != jobs:
        raise SystemExit(f"recovery: {found.group(0)}")
    figures.update((name, int(us) / 1000) for name, us in STEP.findall(found.group(2)))
    return figures


def row(what, values, unit, alone):
    """The minimum, because other load may disturb; and the ratios of the median and the maximum to it."""
    values = sorted(values)
    return {"bench": "recovery", "what": what, "value": round(values[0], 2), "unit": unit + ", the least",
            "samples": len(values), "goal": 0, "goal_unit": "", "verdict": "-", "values": values,
            "ratio": values[len(values) // 2] / alone, "ratio_p10": values[len(values) // 10] / alone,
            "ratio_p90": values[-1 - len(values) // 10] / alone}


def rows_of(where, rounds):
    """Rows of each world; ratios are relative to the first world, one job with little memory."""
    rows, alone = [], {}
    for (jobs, mib), found in rounds.items():
        name = f"{where}, {jobs} x {mib} MiB"
        for key, what, unit in FIGURES:
            values = [f[key] for f in found if key in f]
            if not values:
                continue
            alone.setdefault(key, sorted(values)[len(values) // 2])
            rows.append(row(f"{name}: {what}", values, unit, alone[key]))
    return rows


def measure(short):
    rows = []
    for where, kind in (("software GPU", Soft), ("nested", Nested)):
        rounds = {world: [] for world in (SHORT if short else WORLDS)}
        for _ in range(1 if short else ROUNDS):  # worlds in turn, so that a disturbance of the machine affects all of them
            for world, found in rounds.items():
                found.append(one(kind, *world))
        rows += rows_of(where, rounds)
    return rows
