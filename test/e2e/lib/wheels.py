# SPDX-License-Identifier: Apache-2.0
"""Packages of wheels.txt, unpacked in $BUILD/wheels/NAME-VERSION: downloaded once, all at a time."""
import glob
import os
import shutil
import subprocess
import sys
import zipfile

from harness import BUILD, Skipped

LIST = os.path.join(os.path.dirname(os.path.abspath(__file__)), "wheels.txt")
ROOT = os.path.join(BUILD, "wheels")


def read():
    """Returns {"NAME-VERSION": its line with the hash}."""
    with open(LIST) as f:
        lines = [line.strip() for line in f if line.strip() and not line.startswith("#")]
    return {line.split()[0].replace("==", "-"): line for line in lines}


def make_pip():
    """Makes an environment with pip: Debian's python3 has none, but can make one that does."""
    python = os.path.join(ROOT, "venv", "bin", "python")
    if not os.path.exists(python):
        done = subprocess.run([sys.executable, "-m", "venv", os.path.join(ROOT, "venv")], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            raise Skipped("no wheels: python3 has no venv (package python3-venv)")
    return [python, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--retries", "1",
            "--no-deps", "--only-binary", ":all:", "--require-hashes"]


def begin(pip, name, line):
    """Starts pip's download into a temporary folder."""
    part = os.path.join(ROOT, name + ".part")
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(part)
    with open(os.path.join(part, "requirement"), "w") as f:
        f.write(line)
    return subprocess.Popen([*pip, "--dest", part, "--requirement", os.path.join(part, "requirement")],
                            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def unpack(name):
    part = os.path.join(ROOT, name + ".part")
    for wheel in glob.glob(os.path.join(part, "*.whl")):
        with zipfile.ZipFile(wheel) as z:
            z.extractall(part)
        os.unlink(wheel)
    os.rename(part, os.path.join(ROOT, name))


def fetch():
    """Downloads the missing wheels; raises Skipped if that fails."""
    missing = {n: l for n, l in read().items() if not os.path.isdir(os.path.join(ROOT, n))}
    if not missing:
        return
    os.makedirs(ROOT, exist_ok=True)
    pip = make_pip()
    running = {name: begin(pip, name, line) for name, line in missing.items()}
    said = {name: p.communicate()[0] for name, p in running.items()}
    for name, p in running.items():
        if p.returncode == 0:
            unpack(name)
    failed = [name for name, p in running.items() if p.returncode]
    for name in failed:
        if "DO NOT MATCH THE HASHES" in said[name]:
            raise AssertionError(f"{name}:\n{said[name]}")
    if failed:
        raise Skipped(f"no wheel {failed[0]}: {(said[failed[0]].strip().splitlines() or ['?'])[-1]}")


def find(name, pattern):
    """Returns the one file of a package that matches; raises Skipped if the package was not downloaded."""
    found = glob.glob(os.path.join(ROOT, name, "**", pattern), recursive=True)
    if not found:
        raise Skipped(f"{name} is not there")
    return found[0]
