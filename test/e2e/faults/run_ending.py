#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests every way in which a job's work ends early (docs/faults.md), each under load. Six jobs verify their rounds; the
affected ones get the error of the page's table, and none gets a wrong result.

    test/e2e/faults/run_ending.py [--list] [NAME-PART...]
"""
import ctypes
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import Daemon, program, run_tests, wait_for
from verifying import Failed, Job

JOBS = 6
TIMES = 3  # runs of each fault that hits all jobs
SYS_PIDFD_GETFD = 438
LOST, UNKNOWN, NO_MEMORY, FAR, TIMEOUT = 46, 999, 2, 700, 702


def start(daemon, seeds=range(JOBS)):
    """Starts jobs, and waits until they are in the middle of their rounds."""
    jobs = [Job(daemon, seed) for seed in seeds]
    under_way(daemon, jobs)
    return jobs


def under_way(daemon, jobs):
    pids = {job.pid for job in jobs}
    wait_for("the jobs are at work", lambda: len([j for j in daemon.jobs() if j["pid"] in pids
                                                  and j["launches"] > 50]) == len(pids))


def all_end(jobs, cause, *codes):
    """Checks that all jobs end with one of these errors."""
    for job in jobs:
        job.causes.append(cause)
    for job in jobs:
        how = job.verdict()
        if how != "error" or job.code not in codes:
            raise Failed(f"job {job.pid} after {cause}: {how} {job.code}, expected the error {codes}")


def all_finish(daemon, jobs):
    """Checks that the jobs finish as if nothing happened, and leave nothing behind."""
    for job in jobs:
        job.ask()
    for job in jobs:
        if job.verdict() != "finished" or job.rounds == 0:
            raise Failed(f"job {job.pid} did not verify anything")
    wait_for("all jobs have left", lambda: not daemon.jobs())
    wait_for("all memory is back", lambda: daemon.ctl_json("gpu", "list")["gpus"][0]["memory_used_bytes"] == 0)


def id_of(daemon, job):
    return str(next(j["id"] for j in daemon.jobs() if j["pid"] == job.pid))


# ---- the end of all jobs ---------------------------------------------------------------------------

def broker_ends(how):
    with Daemon() as d:
        for _ in range(TIMES):
            jobs = start(d)
            worker = d.worker_pid()
            d.process.send_signal(how)
            all_end(jobs, how.name, LOST)
            d.process.wait()
            wait_for("the worker ends with its broker", lambda: not os.path.exists(f"/proc/{worker}"))
            d.log_file.close()
            d.boot()
        all_finish(d, start(d))


def test_broker_killed():
    broker_ends(signal.SIGKILL)


def test_broker_told_to_end_and_started_again():
    """The same as systemctl restart."""
    broker_ends(signal.SIGTERM)


def worker_ends(how):
    """For jobs that cannot continue with the next worker; run_recovery.py tests those that can."""
    with Daemon("--recovery", "no") as d:
        for _ in range(TIMES):
            jobs = start(d)
            old = d.worker_pid()
            os.kill(old, how)
            all_end(jobs, how.name, LOST)
            wait_for("there is a new worker", lambda: d.worker_pid() not in (None, old))
        all_finish(d, start(d))


def test_worker_killed():
    worker_ends(signal.SIGKILL)


def test_worker_aborts():
    worker_ends(signal.SIGABRT)


# ---- the end of one job ----------------------------------------------------------------------------

def test_job_killed_by_an_operator():
    with Daemon() as d:
        for _ in range(TIMES):
            jobs = start(d)
            for job in jobs[:3]:
                job.causes.append("job kill")
                d.ctl("job", "kill", id_of(d, job))
            all_end(jobs[:3], "job kill", LOST)
            all_finish(d, jobs[3:])


def speak(pid):
    """Sends a byte on the job's socket to the broker, on which a job sends nothing after the welcome."""
    libc = ctypes.CDLL(None, use_errno=True)
    pidfd = os.pidfd_open(pid)
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            is_socket = os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")
        except FileNotFoundError:
            continue  # the job has closed the socket meanwhile
        if is_socket:
            mine = libc.syscall(SYS_PIDFD_GETFD, pidfd, int(fd), 0)
            os.write(mine, b"x")
            os.close(mine)
    os.close(pidfd)


def test_job_expelled():
    with Daemon() as d:
        for _ in range(TIMES):
            jobs = start(d)
            for job in jobs[:3]:
                speak(job.pid)
            all_end(jobs[:3], "expelled", UNKNOWN)
            all_finish(d, jobs[3:])


def offence(what, code, *options):
    with Daemon(*options) as d:
        jobs = start(d, range(JOBS - 3))
        for seed in range(TIMES * 3):
            offender = Job(d, seed, 1, [what, str(seed)])
            all_end([offender], what, code)
        all_finish(d, jobs)


def test_kernel_fails_on_another_stream():
    offence("fault", FAR)


def test_job_closes_its_connection():
    offence("deaf", LOST)


def test_kernel_runs_too_long():
    offence("endless", TIMEOUT, "--kernel-timeout", "300ms")


def test_kernels_run_too_long_in_the_middle_of_everything():
    """A limit so short that each job loses a kernel sooner or later, on any stream."""
    with Daemon("--kernel-timeout", "500us") as d:
        jobs = [Job(d, seed) for seed in range(JOBS)]
        time.sleep(2)
        for job in jobs:
            job.causes.append("kernel_timeout")
            if job.process.poll() is None:
                job.ask()
        codes = [job.code for job in jobs if job.verdict() == "error"]
        if set(codes) != {TIMEOUT}:
            raise Failed(f"the jobs' errors are {codes}")


def test_job_refused():
    """A job that never fits, and one that does not fit within the time limit."""
    with Daemon("--device-memory", "1GiB") as d:
        jobs = start(d)
        all_end([Job(d, 1, SALUS_PERSISTENT="2GiB", SALUS_EPHEMERAL="0")], "never fits", NO_MEMORY)
        waits = Job(d, 1, SALUS_PERSISTENT="900MiB", SALUS_EPHEMERAL="0", SALUS_ADMIT_TIMEOUT="200ms")
        all_end([waits], "not in time", NO_MEMORY)
        all_finish(d, jobs)


def test_memory_runs_out():
    """Some jobs take all free memory now and then: their call fails, and no work in flight ends."""
    with Daemon("--device-memory", "256MiB", "--unknown-memory", "16MiB") as d:
        jobs = [Job(d, seed, 1, ["grow", str(2 + seed)]) for seed in range(3)] + \
               [Job(d, seed) for seed in range(3)]
        time.sleep(2)
        for job in jobs:
            job.causes.append("out of memory")
            if job.process.poll() is None:
                job.ask()
        for job in jobs:
            if job.verdict() == "error" and job.code != NO_MEMORY:
                raise Failed(f"job {job.pid}: error {job.code}")
        all_finish(d, start(d, range(3)))


def test_job_kills_itself():
    with Daemon() as d:
        for _ in range(TIMES):
            jobs = start(d)
            for job in jobs[:3]:
                job.kill()
                if job.verdict() != "killed":
                    raise Failed("it ended otherwise")
            all_finish(d, jobs[3:])


def test_job_leaves_with_work_under_way():
    with Daemon() as d:
        jobs = start(d, range(JOBS - 3))
        for seed in range(TIMES * 3):
            leaver = Job(d, seed, 1, ["leave", str(seed)])
            leaver.asked = True
            if leaver.verdict() != "finished":
                raise Failed("it ended otherwise")
        all_finish(d, jobs)


def test_a_program_returns_beside_endless_kernels():
    """CUDA does not wait for work at exit: its runtime releases the context in an exit handler."""
    with Daemon() as d:
        jobs = start(d, range(2))
        for how in ("grid", "queue", "streams", "graph", "thread", "destroyed", "static"):
            done = d.run([program("exits"), how])
            if done.returncode != 23:
                raise Failed(f"exits {how}: status {done.returncode}\n{done.stdout}{done.stderr}")
        all_finish(d, jobs)


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
