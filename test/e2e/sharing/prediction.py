# SPDX-License-Identifier: Apache-2.0
"""Workloads of real programs, run by the daemon and by the simulator: common code of daemon/sim/papers/predict and
run_prediction.py. A workload lists the jobs with their arrivals and reservations, and the memory."""
import json
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import PATIENCE, Daemon, checksum_of, program, tool, wait_for

CODE_MIB = 4  # part of the reservation for modules
solo_cache = {}


class Job:
    """A trainer that gives its reservation (MiB) and its number of iterations, and marks them."""

    def __init__(self, arrival, iterations, model, temporaries, passes):
        self.arrival, self.iterations = arrival, iterations
        self.persistent, self.ephemeral = model + CODE_MIB, temporaries
        self.argv = [program("trainer")] + [str(a) for a in (iterations, model, temporaries, passes)]
        self.env = {"SALUS_PERSISTENT": f"{self.persistent}MiB",
                    "SALUS_EPHEMERAL": f"{self.ephemeral}MiB",
                    "SALUS_ITERATIONS": str(iterations), "SALUS_MARK": "1"}


class Workload:
    def __init__(self, name, what, memory, jobs):
        self.name, self.what, self.memory, self.jobs = name, what, memory, jobs


def equal_jobs(count, iterations, model, temporaries, passes):
    return [Job(0, iterations, model, temporaries, passes) for _ in range(count)]


def solo(argv):
    """Returns the checksum of a program that has the whole device."""
    key = tuple(argv)
    if key not in solo_cache:
        with Daemon() as d:
            solo_cache[key] = d.checksum(argv)
    return solo_cache[key]


def start_all(d, jobs):
    """Starts each job when it arrives."""
    begin, started = time.monotonic(), []
    for i, job in sorted(enumerate(jobs), key=lambda pair: pair[1].arrival):
        time.sleep(max(0.0, begin + job.arrival - time.monotonic()))
        started.append((job, d.start(job.argv, SALUS_JOB_NAME=f"job{i}", **job.env)))
    return started


def finish_all(d, started):
    for job, p in started:
        out, err = p.communicate(timeout=PATIENCE)
        done = subprocess.CompletedProcess(job.argv, p.returncode, out, err)
        got = checksum_of(done, d)
        if got != solo(job.argv):
            raise AssertionError(f"{' '.join(job.argv)}: checksum {got}, alone {solo(job.argv)}")


def history(d, count):
    def whole():
        found = d.ctl_json("history")["history"]
        return found if len(found) == count else None
    return wait_for(f"{count} jobs in the history", whole)


def real(workload, policy, recording=None, exclusive=False):
    """Runs the workload in the daemon; every checksum must be that of a run alone. Returns makespan, mean JCT and
    device time in seconds, counted as salus-sim does. `recording`: the file for `salusctl record`."""
    for job in workload.jobs:
        solo(job.argv)
    with Daemon("--device-memory", f"{workload.memory}MiB", "--lane-policy", policy) as d:
        if exclusive:
            d.ctl("policy", "set", "exclusive=yes")
        recorder = recording and subprocess.Popen(
            [tool("salusctl"), "--run-dir", d.run_dir, "record", "--until-idle", recording],
            stderr=subprocess.PIPE, text=True)
        if recorder:
            wait_for("it records", lambda: os.path.exists(recording))
        started = start_all(d, workload.jobs)
        try:
            finish_all(d, started)
            ended = history(d, len(started))
            if recorder:
                said = recorder.communicate(timeout=PATIENCE)[1]
                if recorder.returncode:
                    raise AssertionError(f"salusctl record: {said}")
        finally:
            for p in [p for _, p in started] + [recorder] * bool(recorder):
                if p.poll() is None:
                    p.kill()
                    p.communicate()
    jct = [j["ended_seconds"] - j["since_seconds"] for j in ended]
    makespan = max(j["ended_seconds"] for j in ended) - min(j["since_seconds"] for j in ended)
    return makespan, sum(jct) / len(jct), sum(j["busy_seconds"] for j in ended)


def predicted(recording, policies):
    """Simulates a recording. Returns a policy's makespan and mean JCT in seconds, and the number of jobs."""
    done = subprocess.run([tool("salus-sim"), "run", recording, "--policy", ",".join(policies),
                           "--json"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        raise AssertionError(f"salus-sim: exit {done.returncode}: {done.stderr}")
    runs = json.loads(done.stdout)["runs"]
    return {r["policy"]: (r["makespan_s"], r["jct_mean_s"], r["jobs"]) for r in runs}
