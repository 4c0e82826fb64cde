#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A worker on a driver that fails (test/lib/driver/faulty.h), in front of our own library as client of a second
daemon. A job gets right results or an error, never success with wrong data; the next one is served, where a
context died by another worker.

    test/e2e/run_faults.py [part of a test's name...]
"""
import os
import sys

os.environ["SALUS_TEST_NESTED"] = "1"
from harness import BUILD, CHECKSUM, Daemon, checksum_of, program, run_tests, wait_for  # noqa: E402

FAULTY = os.path.join(BUILD, "test", "lib", "driver", "faulty", "libcuda.so.1")
OUT_OF_MEMORY, NOT_SUPPORTED, ILLEGAL_ADDRESS, LAUNCH_FAILED = 2, 801, 700, 719
# Calls that come with a job, and the how manieth of them is one of its own.
OF_JOBS = [("cuMemHostRegister_v2", 1), ("cuMemCreate", 1), ("cuMemMap", 2), ("cuMemSetAccess", 2),
           ("cuModuleLoadDataEx", 1), ("cuFuncGetParamInfo", 2), ("cuStreamCreateWithPriority", 3),
           ("cuMemcpyAsync", 2), ("cuLaunchKernelEx", 2), ("cuStreamWriteValue64_v2", 3)]


class FaultyDaemon(Daemon):
    """Its worker's driver does what `faults` says, once for all workers that it ever has."""

    def __init__(self, faults):
        super().__init__()
        self.options[self.options.index("--driver") + 1] = FAULTY
        self.once = os.path.join(self.run_dir, "failed")
        self.env.update(SALUS_FAULTY_DRIVER=os.path.join(BUILD, "shim", "libcuda.so.1"),
                        SALUS_FAULTY=faults, SALUS_FAULTY_ONCE=self.once)

    def failed(self):
        return os.path.exists(self.once)


def right_or_refused(done, expected, what):
    """Of a job that something failed for. Whether it was told so."""
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
    expected, told = expected_of("vecadd"), 0
    for call, nth in OF_JOBS:
        what = f"{call} {nth}"
        with FaultyDaemon(f"{call}:{nth}:{OUT_OF_MEMORY}") as d:
            told += right_or_refused(d.run([program("vecadd")]), expected, what)
            assert d.failed(), f"{what}: nothing failed"
            assert d.checksum([program("vecadd")]) == expected, what
            assert "event=device_lost" not in d.log(), what
    assert told >= len(OF_JOBS) // 2, f"only {told} of them made a difference"


def test_a_context_that_dies_is_replaced_with_its_worker():
    expected = expected_of("vecadd")
    for call, nth, result in [("cuLaunchKernelEx", 2, ILLEGAL_ADDRESS), ("cuMemcpyAsync", 2, LAUNCH_FAILED),
                              ("cuMemCreate", 1, ILLEGAL_ADDRESS), ("cuStreamWriteValue64_v2", 3, LAUNCH_FAILED)]:
        what = f"{call} {nth}: {result}"
        with FaultyDaemon(f"{call}:{nth}:{result}") as d:
            first = wait_for("there is a worker", d.worker_pid)
            assert right_or_refused(d.run([program("vecadd")]), expected, what), f"{what}: nobody was told"
            assert d.failed(), f"{what}: nothing failed"
            wait_for("there is another worker", lambda: d.worker_pid() not in (None, first))
            assert d.checksum([program("vecadd")]) == expected, what
            assert "event=device_lost" in d.log(), what


def test_completions_that_come_late():
    with Daemon() as d:
        expected = d.checksum([program("pipeline")])
    with FaultyDaemon("cuStreamWriteValue64_v2:0:+300,cuLaunchKernelEx:0:+100") as d:
        assert checksum_of(d.run([program("pipeline")]), d) == expected


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
