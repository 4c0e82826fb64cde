# SPDX-License-Identifier: Apache-2.0
"""How the makefile compiles a source and links a program, and the same with a mutant in it."""

import os
import re
import shutil
import subprocess

from mutation.mutant import Bad


def _environment():
    """Make's own settings are handed on, but for its job server, which is not ours to share."""
    env = dict(os.environ)
    flags = env.get("MAKEFLAGS", "").split(" ")
    env["MAKEFLAGS"] = " ".join(f for f in flags if not re.match(r"-?-j|--jobserver", f))
    return env


class Build:
    """Commands of one build folder. settings: VARIABLE=value for make."""

    def __init__(self, folder, settings, jobs):
        self.folder = folder
        self.settings = [f"BUILD={folder}", *settings]
        self.jobs = jobs
        self.compile, self.link = {}, {}  # by what they make

    def make(self, *what, **how):
        command = ["make", "--no-print-directory", *self.settings, *what]
        return subprocess.run(command, env=_environment(), text=True, **how)

    def object(self, source):
        """Of the builds of the handlers in soft/isa, the one that every processor runs."""
        flavour = ".base" if "/soft/isa/" in source and not source.endswith("/select.c") else ""
        return f"{self.folder}/{source[:-2]}{flavour}.o"

    def prepare(self, units, programs, needs):
        """Builds the honest programs, and learns how they are made."""
        targets = [self.object(u) for u in units] + [f"{self.folder}/{p}" for p in programs]
        if self.make("-s", f"-j{self.jobs}", *targets, *needs).returncode:
            raise Bad("the build without mutants fails")
        news = [a for u in units for a in ("-W", u)]
        said = self.make("-n", "V=1", *news, *targets, stdout=subprocess.PIPE, check=True).stdout
        for line in said.replace("\\\n", " ").split("\n"):
            made = re.search(r" -o (\S+)", line)
            if made:
                (self.compile if re.search(r" -c ", line) else self.link)[made[1]] = line

    def compile_mutant(self, mutant, source_text, folder):
        """Objects of the mutant's units, by the honest ones that they take the place of."""
        shutil.rmtree(folder, ignore_errors=True)
        wrong = f"{folder}/{mutant.file}"
        os.makedirs(os.path.dirname(wrong))
        with open(wrong, "w") as f:
            f.write(mutant.apply(source_text))
        objects = {}
        for k, unit in enumerate(mutant.units):
            honest, ours = self.object(unit), f"{folder}/{k}.o"
            source = wrong if unit == mutant.file else unit
            command = self.compile[honest].replace(" -MMD -MP", "").replace(f" -c {unit}", f" -c {source}")
            command = command.replace(f" -o {honest}", f" -o {ours}").replace(" -Werror", "")
            _run(f"{command} -w -iquote {folder}", f"{mutant.name} does not compile")
            objects[honest] = ours
        return objects

    def link_mutant(self, program, objects, made):
        """The program with the objects in it: each where the honest one is named, else ahead of the
        libraries, which then have nothing to add."""
        honest = f"{self.folder}/{program}"
        command, ahead = self.link[honest], []
        for old, new in objects.items():
            named = re.sub(rf"(?<=\s){re.escape(old)}(?=\s|$)", new, command)
            if named == command:
                ahead.append(new)
            command = named
        command = command.replace(f" -o {honest}", f" -o {made} {' '.join(ahead)}")
        _run(command, f"{program} does not link")


def _run(command, complaint):
    done = subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode:
        raise Bad(f"{complaint}:\n{done.stdout[:3000]}")
