#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests a worker on a failing driver (test/lib/driver/faulty.h), in front of our own library as client of a second
daemon. A job gets right results or an error, never success with wrong data. The next job is served, after a lost
context by a new worker.

    test/e2e/faults/run_faults.py [--seed N] [--rounds N] [--worker PROGRAM] [part of a test's name...]
"""
import argparse
import contextlib
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
os.environ["SALUS_TEST_NESTED"] = "1"
from harness import BUILD, CHECKSUM, Daemon, checksum_of, program, run_tests, wait_for  # noqa: E402
from verifying import Failed, Job  # noqa: E402

FAULTY = os.path.join(BUILD, "test", "lib", "driver", "faulty", "libcuda.so.1")
OUT_OF_MEMORY, NOT_SUPPORTED, ILLEGAL_ADDRESS, LAUNCH_FAILED = 2, 801, 700, 719
# Calls that are made for a job, and the number of the first one made for the job itself.
OF_JOBS = [("cuMemHostRegister_v2", 1), ("cuMemCreate", 1), ("cuMemMap", 2), ("cuMemSetAccess", 2),
           ("cuModuleLoadDataEx", 1), ("cuFuncGetParamInfo", 2), ("cuStreamCreateWithPriority", 3),
           ("cuMemcpyAsync", 2), ("cuLaunchKernelEx", 2), ("cuStreamWriteValue64_v2", 3)]
# The worker has no fallback for these calls: whenever one fails, the job gets an error.
ALWAYS_TOLD = {"cuModuleLoadDataEx", "cuFuncGetParamInfo", "cuMemcpyAsync", "cuLaunchKernelEx"}


JOBS = 4
# Calls return late, and streams sometimes pause before their work, so that work ends in another order.
DISORDER = ("cuStreamWriteValue64_v2:0:^600,cuLaunchKernelEx:0:^600,cuMemcpyAsync:0:^600,"
            "cuLaunchKernelEx:0:~100,cuMemMap:0:~300")


class FaultyDaemon(Daemon):
    """A daemon whose worker's driver does what `faults` describes. Each failure occurs once over all its workers."""

    def __init__(self, faults, seed=0):
        super().__init__(*(["--worker", ARGS.worker] if ARGS.worker else []))
        self.options[self.options.index("--driver") + 1] = FAULTY
        self.once = os.path.join(self.run_dir, "failed")
        self.env.update(SALUS_FAULTY_DRIVER=os.path.join(BUILD, "shim", "libcuda.so.1"),
                        SALUS_FAULTY=faults, SALUS_FAULTY_ONCE=self.once, SALUS_FAULTY_SEED=str(seed))

    def failed(self):
        return os.path.exists(self.once)


def right_or_refused(done, expected, what):
    """Checks the output of a job after a failure: right, or an error. Returns True if the job got an error."""
    found = CHECKSUM.search(done.stdout)
    if done.returncode == 0:
        assert found and found.group(2) == expected, f"{what}: success with wrong data:\n{done.stdout}{done.stderr}"
        return False
    assert done.returncode > 0, f"{what}: ended by signal {-done.returncode}\n{done.stderr}"
    assert done.stderr.strip(), f"{what}: no word of what was wrong\n{done.stdout}"
    return True


def expected_of(name):
    with Daemon() as d:
        return d.checksum([program(name)])


def test_a_call_that_fails_is_an_error_or_makes_no_difference():
    expected, told = expected_of("vecadd"), set()
    for call, nth in OF_JOBS:
        what = f"{call} {nth}"
        with FaultyDaemon(f"{call}:{nth}:{OUT_OF_MEMORY}") as d:
            if right_or_refused(d.run([program("vecadd")]), expected, what):
                told.add(call)
            assert d.failed(), f"{what}: nothing failed"
            assert d.checksum([program("vecadd")]) == expected, what
            assert "event=device_lost" not in d.log(), what
    assert told >= ALWAYS_TOLD, f"jobs were not told of {ALWAYS_TOLD - told}"


def test_a_context_that_dies_is_replaced_with_its_worker():
    expected = expected_of("vecadd")
    for call, nth, result in [("cuLaunchKernelEx", 2, ILLEGAL_ADDRESS), ("cuMemcpyAsync", 2, LAUNCH_FAILED),
                              ("cuMemCreate", 1, ILLEGAL_ADDRESS), ("cuMemcpyAsync", 9, LAUNCH_FAILED)]:
        what = f"{call} {nth}: {result}"
        with FaultyDaemon(f"{call}:{nth}:{result}") as d:
            first = wait_for("there is a worker", d.worker_pid)
            right_or_refused(d.run([program("vecadd")]), expected, what)
            assert d.failed(), f"{what}: nothing failed"
            wait_for("there is another worker", lambda: d.worker_pid() not in (None, first))
            assert d.checksum([program("vecadd")]) == expected, what
            assert "event=device_lost" in d.log(), what


def test_completions_that_come_late():
    with Daemon() as d:
        expected = d.checksum([program("pipeline")])
    with FaultyDaemon("cuStreamWriteValue64_v2:0:+300,cuLaunchKernelEx:0:+100") as d:
        assert checksum_of(d.run([program("pipeline")]), d) == expected


def test_calls_and_streams_in_disorder():
    """Every program's result is that of an orderly driver: the worker takes no unfinished work for complete."""
    names = ["pipeline", "train", "graphs", "staged"]
    with Daemon() as d:
        expected = {name: d.checksum([program(name)]) for name in names}
    with FaultyDaemon(DISORDER, ARGS.seed) as d:
        for name in names:
            assert d.checksum([program(name)]) == expected[name], f"{name}: wrong data"
        all_finish(d)


# ---- failures at random moments, beside other jobs -------------------------------------------------------

@contextlib.contextmanager
def verifying(d):
    """Runs jobs that verify their rounds."""
    jobs = [Job(d, ARGS.seed + i) for i in range(JOBS)]
    try:
        yield jobs
    finally:
        for job in jobs:
            job.process.kill()
            job.process.wait()


def ends(d, jobs):
    """Ends the jobs once those still running are in the middle of their work. Returns for each "finished" or "error"; a
    wrong result, a hang, or an error without a cause raises Failed."""
    def at_work():
        launches = {j["pid"]: j["launches"] for j in d.jobs()}
        return all(launches.get(job.pid, 0) > 50 or job.process.poll() is not None for job in jobs)
    wait_for("the jobs are at work", at_work)
    for job in jobs:
        job.ask()
    return [job.verdict() for job in jobs]


def all_finish(d):
    with verifying(d) as jobs:
        assert ends(d, jobs) == ["finished"] * JOBS


def fail_somewhere(result, chance, disorder):
    """Makes any one call fail beside jobs that verify their rounds. Returns how these jobs ended. Later jobs are served
    correctly, and all memory comes back."""
    nth = chance.randrange(200, 6000)
    faults = f"*:{nth}:{result}" + ("," + DISORDER if disorder else "")
    with FaultyDaemon(faults, chance.randrange(1 << 30)) as d:
        try:
            with verifying(d) as jobs:
                wait_for(f"call {nth} failed", d.failed)
                for job in jobs:
                    job.causes.append(faults)
                found = ends(d, jobs)
            all_finish(d)
            wait_for("all memory is back", lambda: d.ctl_json("gpu", "list")["gpus"][0]["memory_used_bytes"] == 0)
        except (Failed, AssertionError) as e:
            raise AssertionError(f"{faults}: {e}\n{d.log()[-3000:]}") from None
        return found


def test_contexts_that_die_at_any_moment():
    """Each job gets an error or right results, none hangs, and the next worker continues with the jobs."""
    chance, told = random.Random(ARGS.seed), 0
    for i in range(ARGS.rounds):
        result = chance.choice([ILLEGAL_ADDRESS, LAUNCH_FAILED])
        told += fail_somewhere(result, chance, i % 2 == 1).count("error")
    print(f"    {told} of {ARGS.rounds * JOBS} jobs were told", flush=True)
    assert told < ARGS.rounds * JOBS, "nobody went on"


def test_calls_that_fail_at_any_moment():
    """The failure of one call harms at most one job."""
    chance, told = random.Random(ARGS.seed), 0
    for i in range(ARGS.rounds):
        found = fail_somewhere(OUT_OF_MEMORY, chance, i % 2 == 1)
        assert found.count("error") <= 1, f"one call failed, and so did {found}"
        told += found.count("error")
    print(f"    {told} of {ARGS.rounds} made a difference", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 31))
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--worker", help="path of another salus-gpu to test")
    ARGS, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    print(f"faults: --seed {ARGS.seed}", flush=True)
    sys.exit(run_tests(globals()))
