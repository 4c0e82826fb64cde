# SPDX-License-Identifier: Apache-2.0
"""The jobs of test/slurm/many.py. They are those of Table 6 in docs/results/2026-11-cluster.md, drawn by the same rules
on a smaller scale. Each is test/e2e/programs/jobs/paced, which spends part of each iteration on the device, with the
options that sbatch gets."""
import csv
import math
import random

GPUS = 16
CYCLE_S = 1.6          # seconds of an iteration alone, at most: the overhead of a busy machine is little beside it
ITERATIONS_LEAST = 4
GPU_MIB = 256          # stands for Horus's 8 GiB
MEMORY_SCALE = GPU_MIB / 8192
LONG_PART = {"W-large": 0.6, "W-small": 0.5}
ERROR = 0.133          # the standard deviation of the logarithm of the predicted utilisation (Table 4)
OWN_MIB = 2            # a program's own persistent memory: its module, and rounding
LEAST_MIB = 10         # persistent


class Job:
    """`arrival_s`: after the first job. The fields have the true needs, and the needs that Slurm is told."""

    def __init__(self, number, arrival_s, length_s, util, told_util, mib):
        self.number, self.arrival_s = number, arrival_s
        self.iterations = max(ITERATIONS_LEAST, math.ceil(length_s / CYCLE_S))
        cycle_us = length_s / self.iterations * 1e6
        self.device_us, self.host_us = round(util * cycle_us), round((1 - util) * cycle_us)
        self.persistent_mib = max(LEAST_MIB, mib // 4)
        self.ephemeral_mib = max(4, mib - self.persistent_mib)
        self.util, self.told_util = util, told_util

    @property
    def length_s(self):
        return self.iterations * (self.device_us + self.host_us) * 1e-6

    @property
    def device_s(self):
        return self.iterations * self.device_us * 1e-6

    def asks(self):
        """Returns the options of sbatch."""
        return ["--gres=salus:1", "--salus-class=training", f"--salus-mem={self.persistent_mib + self.ephemeral_mib}MiB",
                f"--salus-persistent={self.persistent_mib}MiB", f"--salus-util={100 * self.told_util:.1f}%"]

    def words(self):
        """Returns the arguments of paced."""
        return [str(n) for n in (self.number, self.iterations, self.device_us, self.host_us, self.persistent_mib - OWN_MIB,
                                 self.ephemeral_mib)]


def log_between(rng, least, most):
    return math.exp(rng.uniform(math.log(least), math.log(most)))


def draw(seed, count, workload, scale):
    """Draws the jobs. `scale`: seconds here for one of the paper's."""
    rng, jobs, at = random.Random(f"{workload} {seed}"), [], 0.0
    for i in range(count):
        length = log_between(rng, 800, 7200) if rng.random() < LONG_PART[workload] else log_between(rng, 180, 800)
        util = rng.uniform(0.05, 0.6) if rng.random() < 0.6 else rng.uniform(0.6, 1)
        told = min(1.0, max(0.01, util * math.exp(rng.gauss(0, ERROR))))
        mib = int(min(max(1843 * math.exp(rng.gauss(0, 0.5)), 614), 7680) * MEMORY_SCALE)
        jobs.append(Job(i + 1, at * scale, length * scale, util, told, mib))
        at += rng.expovariate(GPUS / (12 * 30.0))  # one in 30 s on 12 GPUs
    return jobs


def write_tables(jobs, folder, nodes=GPUS):
    """Writes tables for salus-sim cluster. Returns the paths of jobs and nodes."""
    paths = [f"{folder}/jobs.csv", f"{folder}/nodes.csv"]
    with open(paths[0], "w", newline="") as f:
        w = csv.writer(f)
        w.writerow("arrival_s length_s util told_util persistent_mib ephemeral_mib told_persistent_mib told_ephemeral_mib".split())
        for j in jobs:
            w.writerow([f"{j.arrival_s:.3f}", f"{j.length_s:.3f}", f"{j.util:.4f}", f"{j.told_util:.4f}"]
                       + 2 * [j.persistent_mib, j.ephemeral_mib])
    with open(paths[1], "w") as f:
        f.write("gpu,gpu_mib\n" + f"1,{GPU_MIB}\n" * nodes)
    return paths
