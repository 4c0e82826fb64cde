# SPDX-License-Identifier: Apache-2.0
"""The frameworks of versions.toml, and a Python environment for each, made when it does not
exist."""
import os
import shutil
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))


class Unavailable(Exception):
    """Raised when the framework cannot be installed here; its cases are counted as skipped."""


class Framework:
    """A section of versions.toml, which describes its keys."""

    def __init__(self, name, section, sections):
        self.name = name
        self.title = section["title"]
        self.capability = section.get("capability", "")
        self.within = section.get("within", "").split()
        self.libraries = section.get("libraries", [])
        self.by_name = section.get("by_name", False)
        self.cases = section.get("cases", name)
        self.folder = section.get("folder", name)
        owner = sections[self.folder]
        self.packages = owner.get("packages", "").split()
        self.gigabytes = owner.get("gigabytes", 0)
        self.version = self._version_of(section.get("package"))

    def _version_of(self, package):
        found = [p for p in self.packages if package and p.startswith(package + "==")]
        return found[0].replace("==", " ") if found else ""

    def source(self):
        """Returns the file with the framework's cases."""
        return os.path.join(HERE, f"cases_{self.cases}.py")


def read():
    """Returns all frameworks by name, in the file's order."""
    with open(os.path.join(HERE, "versions.toml"), "rb") as f:
        sections = tomllib.load(f)
    return {name: Framework(name, section, sections) for name, section in sections.items()}


def _run(what, argv):
    """Runs a command; on failure, raises Unavailable with the last line of its output."""
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        lines = done.stdout.strip().splitlines() or ["no reason given"]
        raise Unavailable(f"{what}: {lines[-1]}")


def _install(framework, path):
    """Makes the environment in a temporary folder and renames it, so that an interrupted
    installation begins again."""
    part = path + ".part"
    shutil.rmtree(part, ignore_errors=True)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    free = shutil.disk_usage(os.path.dirname(path)).free
    if free < framework.gigabytes << 30:
        raise Unavailable(f"{framework.gigabytes} GiB of disk are needed, {free >> 30} are free")
    print(f"frameworks: installing {framework.folder} from the Python package registry", flush=True)
    _run("venv", [sys.executable, "-m", "venv", part])
    _run("pip", [os.path.join(part, "bin", "python"), "-m", "pip", "install", "--quiet", "--no-deps",
                 "--disable-pip-version-check", "--only-binary", ":all:", *framework.packages])
    shutil.rmtree(path, ignore_errors=True)
    os.rename(part, path)
    with open(os.path.join(path, "packages"), "w") as f:
        f.write("\n".join(framework.packages))


def _is_installed(framework, path):
    try:
        with open(os.path.join(path, "packages")) as f:
            return f.read().split() == framework.packages
    except FileNotFoundError:
        return False


def python_of(framework, root):
    """Returns the interpreter of the environment for the cases. Raises Unavailable."""
    if framework.within and not shutil.which(framework.within[0]):
        raise Unavailable(f"there is no {framework.within[0]}")
    if not framework.packages:
        return sys.executable
    path = os.path.join(root, framework.folder)
    if not _is_installed(framework, path):
        _install(framework, path)
    return os.path.join(path, "bin", "python")
