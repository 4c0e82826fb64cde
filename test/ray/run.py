#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run_ray.py in an environment of its own that has Ray, made in $BUILD/ray where it is not there (some 150 MB
from the Python package registry), and the package of scripts/ray, installed as people install it. Where Ray
cannot be had that is said, and is a failure: this tier is asked for.

    test/ray/run.py [--list] [--makespans] [NAME-PART...]
"""
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
PLACE = os.path.join(ROOT, os.environ.get("BUILD", "build"), "ray")
VERSIONS = os.path.join(HERE, "versions.txt")


def run(*argv):
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        sys.exit(f"ray: {' '.join(argv[:4])}: {(done.stdout.strip().splitlines() or ['?'])[-1]}")


def is_installed():
    try:
        with open(os.path.join(PLACE, "versions")) as kept, open(VERSIONS) as wanted:
            return kept.read() == wanted.read()
    except FileNotFoundError:
        return False


def install():
    """Its paths are in its files, so that it cannot be moved: what says that it is whole comes last."""
    shutil.rmtree(PLACE, ignore_errors=True)
    print("ray: installing Ray from the Python package registry", flush=True)
    run(sys.executable, "-m", "venv", PLACE)
    run(os.path.join(PLACE, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:",
        "--requirement", VERSIONS)
    shutil.copy(VERSIONS, os.path.join(PLACE, "versions"))


def install_package():
    """As `pip install ./scripts/ray`, from a copy: setuptools leaves its own files beside what it builds."""
    copy = os.path.join(PLACE, "package")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(os.path.join(ROOT, "scripts", "ray"), copy, ignore=shutil.ignore_patterns("__pycache__"))
    run(os.path.join(PLACE, "bin", "pip"), "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--force-reinstall", copy)


def main():
    if not is_installed():
        install()
    install_package()
    python = os.path.join(PLACE, "bin", "python")
    os.execv(python, [python, os.path.join(HERE, "run_ray.py"), *sys.argv[1:]])


if __name__ == "__main__":
    main()
