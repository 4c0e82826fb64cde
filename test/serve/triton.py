# SPDX-License-Identifier: Apache-2.0
"""Installs Triton's own client from the Python package registry, for run_front.py and run_serve.py."""
import fcntl
import os
import subprocess
import sys

from harness import BUILD, Skipped

HERE = os.path.dirname(os.path.abspath(__file__))


def triton_python():
    """Returns an interpreter that has the client. The first test program makes it, in $(BUILD)/serve-venv."""
    folder = os.path.join(BUILD, "serve-venv")
    with open(folder + ".lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return make_python(folder)


def make_python(folder):
    python, done = os.path.join(folder, "bin", "python"), os.path.join(folder, "done")
    if os.path.exists(done):
        return python
    made = subprocess.run([sys.executable, "-m", "venv", "--clear", folder], text=True, capture_output=True)
    if made.returncode:
        raise Skipped("python3 has no venv (package python3-venv)")
    got = subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1", "--no-deps",
                          "--only-binary", ":all:", "--require-hashes", "--requirement", os.path.join(HERE, "wheels.txt")],
                         text=True, capture_output=True)
    if "DO NOT MATCH THE HASHES" in got.stderr:
        raise AssertionError(got.stderr)
    if got.returncode:
        raise Skipped(f"no tritonclient: {(got.stderr.strip().splitlines() or ['?'])[-1]}")
    open(done, "w").close()
    return python
