#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_ray.py in an environment of its own that has Ray, made in $BUILD/ray where it is not there (some 150 MB
from the Python package registry), and the package of scripts/ray, installed as people install it. Where Ray
cannot be had that is said, and is a failure: this tier is asked for. BOHB's searcher is extra: without it its test is skipped.

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
    """None, or what it said last."""
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        return f"{' '.join(argv[:4])}: {(done.stdout.strip().splitlines() or ['?'])[-1]}"


def run(*argv):
    why = tried(*argv)
    if why:
        sys.exit(f"ray: {why}")


def is_installed(wanted):
    """Its paths are in its files, so that it cannot be moved; a copy of what was wanted says last of all that it is whole."""
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
    """As `pip install ./scripts/ray`, from a copy: setuptools leaves its own files beside what it builds."""
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
