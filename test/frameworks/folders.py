# SPDX-License-Identifier: Apache-2.0
"""The frameworks of versions.toml, and a Python environment for each, made where it is not there."""
import os
import shutil
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))


class Unavailable(Exception):
    """The framework cannot be had here; its cases are skipped, and counted."""


class Framework:
    """A section of versions.toml; see there for its keys."""

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
        """The file with its cases."""
        return os.path.join(HERE, f"cases_{self.cases}.py")


def read():
    """All of them, by name, in the file's order."""
    with open(os.path.join(HERE, "versions.toml"), "rb") as f:
        sections = tomllib.load(f)
    return {name: Framework(name, section, sections) for name, section in sections.items()}


def _run(what, argv):
    """The last line of what it says is the reason why it failed."""
    done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        lines = done.stdout.strip().splitlines() or ["no reason given"]
        raise Unavailable(f"{what}: {lines[-1]}")


def _install(framework, path):
    """Beside its place first, so that what was interrupted begins again."""
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
    """The interpreter in whose environment its cases run. Raises Unavailable."""
    if framework.within and not shutil.which(framework.within[0]):
        raise Unavailable(f"there is no {framework.within[0]}")
    if not framework.packages:
        return sys.executable
    path = os.path.join(root, framework.folder)
    if not _is_installed(framework, path):
        _install(framework, path)
    return os.path.join(path, "bin", "python")
