#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Workers end, and jobs that verify their rounds continue with the next one (ADR 0020). Jobs with no work in flight
always continue. Each other job continues, or gets an error that names the kernel in flight that may not be repeated. No
job gets a wrong result. Jobs with savepoints (ADR 0021) always go back and continue.

    test/e2e/faults/run_recovery.py [--list] [NAME-PART...]
"""
import os
import random
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import ON_DRIVER, PATIENCE, Daemon, program, run_tests, wait_for
from verifying import Failed, Job

JOBS = 4
LOST = 46
# Without the programs that sometimes cannot continue, such as those with memory allocated by kernels.
NAMES = ["vecadd", "matmul", "reduce", "norm", "histogram", "pipeline", "train", "tensor", "staged", "graphs",
         "unified", "accumulate", "trainer"]
# The kernels of these programs read nothing that they write, and their PTX shows it.
HARMLESS = ["vecadd", "matmul"]
STILL = 0.25  # seconds without progress
KILLS = 2  # no job is restored more often in a row
# Programs that always have a savepoint, with their arguments. None of their kernels may be repeated.
STEADY = {"train": ["1500"], "accumulate": ["300"], "trainer": ["30"]}
ROOM = {"SALUS_PERSISTENT": "128MiB", "SALUS_EPHEMERAL": "64MiB"}
ROUNDS = int(os.environ.get("SALUS_RECOVERY_ROUNDS", "1"))
SEED = int(os.environ.get("SALUS_RECOVERY_SEED", "0")) or int(time.time())
UNDER_WAY = re.compile(r"the GPU worker ended while (kernel \w+|copy|memset|[A-Z_]+) was running: "
                       r"its partial effects cannot be undone(: .*)?")
RECOVERED = re.compile(r"event=recovered .* reaped_us=(\d+) opened_us=(\d+) tried_us=(\d+) restored_us=(\d+)")
alone = {}


def equal(got, want, what):
    if got != want:
        raise AssertionError(f"{what}: {got!r}, expected {want!r}")


def contains(text, part, what):
    if part not in text:
        raise AssertionError(f"{what}: no {part!r} in {text!r}")


def numbers(daemon):
    return {j["pid"]: j for j in daemon.jobs()}


def at_work(daemon, jobs, launches=50):
    """Waits until each job has made this many more launches."""
    before = {pid: j["launches"] for pid, j in numbers(daemon).items()}

    def look():
        now = numbers(daemon)
        for j in jobs:
            if j.process.poll() is not None:
                raise Failed(f"job {j.pid} has ended: {j.process.stderr.read()}")
        return all(j.pid in now and now[j.pid]["launches"] >= before.get(j.pid, 0) + launches for j in jobs)
    wait_for("the jobs are at work", look)


def each(daemon, jobs, verb):
    now = numbers(daemon)
    for job in jobs:
        daemon.ctl("job", verb, str(now[job.pid]["id"]))


def stand(daemon, jobs):
    """Pauses the jobs, and waits until none of their work is on the device: long enough for a kernel that waits for a
    processor to end."""
    each(daemon, jobs, "pause")
    seen = {"now": None, "since": 0}

    def still():
        now = {pid: (j["ops"], j["busy_seconds"], j["queued"]) for pid, j in numbers(daemon).items()}
        if now != seen["now"]:
            seen.update(now=now, since=time.monotonic())
        return time.monotonic() - seen["since"] > STILL
    wait_for("nothing is under way", still)


def kill_worker(daemon, how=signal.SIGKILL):
    old = wait_for("there is a worker", daemon.worker_pid)
    os.kill(old, how)
    wait_for("the next one serves", lambda: daemon.worker_pid() not in (None, old)
             and daemon.ctl_json("status")["status"]["state"] == "ok")


def finish(daemon, jobs):
    for job in jobs:
        job.ask()
    for job in jobs:
        if job.verdict() != "finished" or job.rounds == 0:
            raise Failed(f"job {job.pid} did not verify anything")
    wait_for("all jobs have left", lambda: not daemon.jobs())
    wait_for("all memory is back", lambda: daemon.ctl_json("gpu", "list")["gpus"][0]["memory_used_bytes"] == 0)


def test_jobs_that_stand_go_on():
    """Paused jobs continue from worker to worker; each worker does some of their work, and new jobs join."""
    with Daemon() as d:
        jobs = [Job(d, seed) for seed in range(JOBS)]
        for i in range(3):
            at_work(d, jobs)
            stand(d, jobs)
            kill_worker(d, signal.SIGKILL if i else signal.SIGSEGV)
            equal({j["state"] for j in d.jobs()}, {"paused"}, "what they are")
            each(d, jobs, "resume")
            jobs.append(Job(d, JOBS + i))
        at_work(d, jobs)
        status = d.ctl_json("status")["status"]
        equal((status["worker_restarts"], status["recovered"], status["lost"]), (3, JOBS + JOBS + 1 + JOBS + 2, 0),
              "recovered and lost")
        finish(d, jobs)
        contains(d.log(), "event=jobs gpu=0 continue=4 lost=0", "log")
        steps = [int(us) for us in RECOVERED.search(d.log()).groups()]
        equal(sorted(steps), steps, "what the log says of when it was reaped, opened, tried and restored")


def test_jobs_at_work_go_on_or_are_told():
    """A worker ends at any moment of the jobs' work. Each job continues or gets the error; both are counted."""
    with Daemon() as d:
        went_on = 0
        for i in range(6):
            jobs = [Job(d, 10 * i + seed) for seed in range(JOBS)]
            at_work(d, jobs)
            for job in jobs:
                job.causes.append("worker")
            kill_worker(d)
            for job in jobs:
                job.ask()
            ends = [(job.verdict(), job.code) for job in jobs]
            if set(ends) - {("finished", 0), ("error", LOST)}:
                raise Failed(f"they ended as none may: {ends}")
            went_on += ends.count(("finished", 0))
            print(f"    {ends.count(('finished', 0))} of {JOBS} went on", flush=True)
        wait_for("all jobs have left", lambda: not d.jobs())
        status = d.ctl_json("status")["status"]
        equal((status["recovered"], status["lost"]), (went_on, 6 * JOBS - went_on), "recovered and lost")
        hows = [j["how"] for j in d.ctl_json("history")["history"]]
        equal((hows.count("done"), hows.count("lost")), (went_on, 6 * JOBS - went_on), "history")
        wait_for("all memory is back", lambda: d.ctl_json("gpu", "list")["gpus"][0]["memory_used_bytes"] == 0)


def test_results_are_those_of_one_worker():
    with Daemon() as d:
        alone = d.checksum([program("train"), "2000"])
        p = d.start([program("train"), "2000"])
        wait_for("it runs", lambda: any(j["launches"] > 200 for j in d.jobs()))
        stand(d, [p])
        kill_worker(d)
        each(d, [p], "resume")
        out, err = p.communicate()
        equal(p.returncode, 0, err)
        contains(out, alone, "its checksum")


# ---- whole programs, whose workers end at random moments ------------------------------------------

def solo(name):
    """Returns the program's output when alone, and the seconds that it takes."""
    if name not in alone:
        with Daemon() as d:
            begin = time.monotonic()
            done = d.run([program(name)])
            equal(done.returncode, 0, done.stderr)
            alone[name] = done.stdout, time.monotonic() - begin
    return alone[name]


def went_on(d, name, job):
    """Returns True if the program continued to its result. Otherwise it must have failed because of a kernel that the
    error names."""
    out, err = job.communicate(timeout=PATIENCE)
    if job.returncode == 0:
        equal(out, solo(name)[0], f"{name} after its worker ended (seed {SEED})")
        return True
    told = UNDER_WAY.search(err)
    if not told:
        raise AssertionError(f"{name} (seed {SEED}): {out}{err}{d.log()[-3000:]}")
    if name in HARMLESS and told.group(1).startswith("kernel") and "others use" not in (told.group(2) or ""):
        raise AssertionError(f"{name} (seed {SEED}): {told.group(0)}")
    print(f"    {name}: {told.group(1)}{told.group(2) or ''}", flush=True)
    return False


def survivors(names, rounds, *options):
    """Returns how many of all programs continued to their results."""
    chance, count = random.Random(SEED), 0
    longest = max(solo(n)[1] for n in names)
    with Daemon(*options) as d:
        for _ in range(rounds):
            jobs = [(n, d.start([program(n)])) for n in names]
            for _ in range(KILLS):
                time.sleep(chance.random() * longest)
                kill_worker(d)
            count += sum([went_on(d, n, j) for n, j in jobs])
        wait_for("all jobs have left", lambda: not d.jobs())
        wait_for("all memory is back", lambda: d.ctl_json("gpu", "list")["gpus"][0]["memory_used_bytes"] == 0)
    return count


def test_each_program_alone():
    count = sum(survivors([name], ROUNDS) for name in NAMES)
    print(f"    {count} of {len(NAMES) * ROUNDS} went on (seed {SEED})", flush=True)
    if not count:
        raise AssertionError("none went on")


def test_programs_together():
    for k in range(0, len(NAMES), 5):
        count = survivors(NAMES[k:k + 5], ROUNDS, "--lane-policy", "pack")
        print(f"    {count} of {len(NAMES[k:k + 5]) * ROUNDS} went on (seed {SEED})", flush=True)


# ---- savepoints --------------------------------------------------------------------------------------

def says(argv):
    with Daemon() as d:
        done = d.run(argv)
        equal(done.returncode, 0, done.stderr)
        return done.stdout


def one(daemon, process):
    return next((j for j in daemon.jobs() if j["pid"] == process.pid), None)


def saved(daemon, jobs):
    """Waits until each job has a savepoint and has gone on from its beginning."""
    def look():
        now = [one(daemon, job) for job in jobs]
        return all(j is None or j["launches"] > 20 and not j["savepoint_why"] for j in now)
    wait_for("all jobs have a savepoint", look)


def test_jobs_with_savepoints_go_back():
    """Workers end while all kinds of the jobs' work are in flight, again and again. The results are those of runs
    alone."""
    alone_ = {n: says([program(n), *a]) for n, a in STEADY.items()}
    returns = 0
    for every in ("10s", "20ms"):  # with only the first savepoint, and with many
        with Daemon("--lane-policy", "pack", "--savepoint-every", every) as d:
            jobs = {n: d.start([program(n), *a], SALUS_SAVEPOINTS="yes", **ROOM) for n, a in STEADY.items()}
            chance = random.Random(SEED)
            for _ in range(KILLS):
                saved(d, jobs.values())
                time.sleep(chance.random() * 0.2)
                kill_worker(d)
            for name, job in jobs.items():
                out, err = job.communicate(timeout=PATIENCE)
                equal((job.returncode, out), (0, alone_[name]), f"{name} (seed {SEED}, every {every}): {err}")
            returns += d.log().count("event=returned-to-savepoint")
    print(f"    went back {returns} times, or more", flush=True)
    if not returns:
        raise AssertionError("nobody went back")


def test_programs_with_savepoints():
    """Any program at any moment: it goes back if it can, and otherwise gets the same error as without savepoints."""
    os.environ["SALUS_SAVEPOINTS"] = "yes"
    try:
        count = sum(survivors([name], ROUNDS, "--savepoint-every", "20ms") for name in NAMES)
    finally:
        del os.environ["SALUS_SAVEPOINTS"]
    print(f"    {count} of {len(NAMES) * ROUNDS} went on (seed {SEED})", flush=True)
    if count < len(NAMES) * ROUNDS / 2:
        raise AssertionError("most were lost")


def test_addresses_are_fixed_where_the_driver_goes_by_them():
    """Otherwise module variables would have other addresses in the next worker, and jobs that use some could not
    continue."""
    with Daemon() as d:
        with open(f"/proc/{d.worker_pid()}/personality") as f:
            equal(bool(int(f.read(), 16) & 0x40000), ON_DRIVER, "ADDR_NO_RANDOMIZE")


def test_why_there_is_no_savepoint():
    with Daemon() as d:
        job = d.start([program("trainer"), "100"], SALUS_SAVEPOINTS="no")
        wait_for("it runs", lambda: (one(d, job) or {}).get("state") == "running")
        equal(one(d, job)["savepoint_why"], "off", "of who did not ask")
        job.kill()
        job.communicate()
        if ON_DRIVER:
            return  # a program's managed variables are refused there
        host = Job(d, 1, SALUS_SAVEPOINTS="yes")  # a job whose kernels read pinned memory
        wait_for("its kernels were given addresses", lambda: any(
            j["savepoint_why"] == "the job's kernels use addresses of host memory" for j in d.jobs()))
        host.ask()
        equal(host.verdict(), "finished", "it")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
