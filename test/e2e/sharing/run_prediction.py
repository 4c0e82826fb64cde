#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the simulator's result for a recording with the daemon's: a small workload of real programs.

The bound is wide, since other processes may use the machine in the next second; daemon/sim/papers/predict measures the
real difference.
"""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from harness import run_tests
from prediction import Workload, equal_jobs, predicted, real

FACTOR = 2


def test_a_recording_predicts_makespan_and_mean_jct():
    workload = Workload("quick", "three equal jobs in one lane", 24, equal_jobs(3, 25, 2, 4, 8))
    with tempfile.TemporaryDirectory(prefix="salus-predict-") as folder:
        path = os.path.join(folder, "quick.workload")
        was = {"fair": real(workload, "fair", path), "fifo": real(workload, "fifo")}
        said = predicted(path, list(was))
    for policy in was:
        if said[policy][2] != len(workload.jobs):
            raise AssertionError(f"{said[policy][2]} of {len(workload.jobs)} jobs in the recording")
        for i, what in enumerate(("makespan", "mean JCT")):
            print(f"    {policy}: {what} predicted {said[policy][i]:.2f} s, real {was[policy][i]:.2f} s",
                  flush=True)
            # Machine load differs from run to run, so only the recorded run is compared with its replay.
            if policy == "fair" and not 1 / FACTOR < said[policy][i] / was[policy][i] < FACTOR:
                raise AssertionError(f"{what} under {policy} is off by more than {FACTOR}")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
