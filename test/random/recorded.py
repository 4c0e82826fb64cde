# SPDX-License-Identifier: Apache-2.0
"""Programs whose PTX and results are committed (packed), so that running them needs no nvcc."""
import os
import shutil

import toolchain
from generator.program import Program

FOLDER = os.path.join(toolchain.ROOT, "build", "data", "random")
# seed: variant, and the kernels taken of it; unoptimized PTX is long.
ALL = range(40)
PROGRAMS = {101: ("75", ALL), 122: ("80", ALL), 404: ("90", ALL), 125: ("89", ALL), 245: ("90", ALL),
            106: ("86-lineinfo", range(20)), 107: ("75-debug", range(30, 40)), 108: ("90-debug", range(10)),
            109: ("80-plain", range(10)), 255: ("90", ALL), 913: ("90", (4, 15, 39))}


# Debug information names the folder, so the folder is the same everywhere.
NEUTRAL = "/tmp/random-programs"


def record(options):
    """Writes all recorded programs again."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    shutil.rmtree(NEUTRAL, ignore_errors=True)
    os.makedirs(FOLDER)
    shutil.copytree(toolchain.HERE, os.path.join(NEUTRAL, "test", "random"))
    for seed, (variant, kernels) in PROGRAMS.items():
        source = os.path.join(NEUTRAL, f"{seed}.cu")
        with open(source, "w") as f:
            f.write(Program(seed, kernels).text())
        shutil.copy(toolchain.reference(source, variant), os.path.join(FOLDER, f"{seed}.{variant}.expected"))
        shutil.copy(toolchain.compile_image(source, variant, NEUTRAL), FOLDER)
    shutil.rmtree(NEUTRAL)
    return 0
