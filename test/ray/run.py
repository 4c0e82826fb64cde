#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs run_ray.py in a Python environment with Ray and the package of scripts/ray, installed as users install it. The
environment is made in $BUILD/ray when it does not exist (some 150 MB from the Python package registry). If Ray cannot
be installed, the run fails and tells why: nobody runs this tier by accident. BOHB's searcher is optional: without it
its test is skipped.

    test/ray/run.py [--list] [--makespans] [--many COUNT] [NAME-PART...]
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
PLACE = os.path.join(ROOT, os.environ.get("BUILD", "build"), "ray")
VERSIONS = os.path.join(HERE, "versions.txt")


SEARCHERS = os.path.join(HERE, "searchers.txt")
PIP = (os.path.join(PLACE, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check")


def tried(*argv):
    """Returns None on success, else the command's last output line."""
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        return f"{' '.join(argv[:4])}: {(done.stdout.strip().splitlines() or ['?'])[-1]}"


def run(*argv):
    why = tried(*argv)
    if why:
        sys.exit(f"ray: {why}")


def is_installed(wanted):
    """An environment contains its own paths, so it cannot be moved. A copy of the requirements, written last, shows
    that it is complete."""
    try:
        with open(os.path.join(PLACE, os.path.basename(wanted).removesuffix(".txt"))) as kept, open(wanted) as f:
            return kept.read() == f.read()
    except FileNotFoundError:
        return False


def keep(wanted):
    shutil.copy(wanted, os.path.join(PLACE, os.path.basename(wanted).removesuffix(".txt")))


def install():
    shutil.rmtree(PLACE, ignore_errors=True)
    print("ray: installing Ray from the Python package registry", flush=True)
    run(sys.executable, "-m", "venv", PLACE)
    run(*PIP, "--only-binary", ":all:", "--requirement", VERSIONS)
    keep(VERSIONS)


def install_searchers():
    print("ray: installing BOHB's searcher from the Python package registry", flush=True)
    why = tried(*PIP, "--only-binary", ":all:", "--no-binary", "hpbandster,netifaces", "--requirement", SEARCHERS)
    if why:
        print(f"ray: no BOHB: {why}", flush=True)
    else:
        keep(SEARCHERS)


def install_package():
    """Installs like `pip install ./scripts/ray`, but from a copy: setuptools leaves files beside the sources that it
    builds."""
    copy = os.path.join(PLACE, "package")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "scripts", "ray"), copy, ignore=shutil.ignore_patterns("__pycache__"))
    run(*PIP, "--no-deps", "--force-reinstall", copy)


def main():
    if not is_installed(VERSIONS):
        install()
    if not is_installed(SEARCHERS):
        install_searchers()
    install_package()
    python = os.path.join(PLACE, "bin", "python")
    os.execv(python, [python, os.path.join(HERE, "run_ray.py"), *sys.argv[1:]])


if __name__ == "__main__":
    main()
