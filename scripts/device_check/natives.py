# SPDX-License-Identifier: Apache-2.0
"""Runs the test programs on the driver alone: their expectations of Salus must hold for CUDA."""
import os
import shlex

import device_check.processes as processes
from device_check.ways import NotHere, harness

# Programs that can run alone, with their arguments, and that expect only behaviour of CUDA.
# Programs that expect Salus's refusals or messages are left out.
ASKED = """vecadd; cluster; matmul; reduce; norm; histogram; pipeline; train 100; staged; thrust; cub; graphs 12;
graph_memory; accumulate 50; evaluate; pair; requests; aimless; contextless; graph_features; values comparisons; values batches;
values ping_pong; values host; values graphs; values processes; features pools; features attributes;
features boxes; features heap; device_graphs stray; nested stray; virtual touch"""
LINKED = ("device_graphs", "nested")
FEW = ("vecadd", "graphs", "graph_features", "values")
LIMIT_S = 20


def asked(small):
    commands = [shlex.split(one) for one in ASKED.split(";")]
    return [c for c in commands if c[0] in FEW or not small]


def path(name):
    return harness.program(name, "linked") if name in LINKED else harness.program(name)


def run(check, way, command):
    """Returns None when the program passed."""
    env = dict(way.environment(), CUDA_MODULE_LOADING="LAZY")
    process = processes.Process([path(command[0]), *command[1:]], env)
    status = process.wait(check.seconds(LIMIT_S))
    if status is None:
        return "it did not end"
    return f"exit {status}: {' '.join(process.err[-2:])[:200]}" if status else None


def part(check, part):
    there = [c for c in asked(check.small) if os.access(path(c[0]), os.X_OK)]
    if not there:
        raise NotHere("no test program was built")
    failed = {}
    with check.native() as way:
        for command in there:
            why = run(check, way, command)
            if why:
                failed[" ".join(command)] = why
    part.found("failed", failed)
    part.row("programs on the driver alone: passed", len(there) - len(failed))
    part.row("programs on the driver alone: failed", len(failed), note="; ".join(failed)[:300] or None)
