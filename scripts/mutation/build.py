# SPDX-License-Identifier: Apache-2.0
"""Compiles a source and links a program as the makefile does, with a mutant in it."""

import os
import re
import subprocess

from mutation.mutant import Bad


def _environment():
    """Passes make's settings on, except its job server, which we may not share."""
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
        self.compile, self.link = {}, {}  # commands by their targets
        self.archives = {}  # the objects in an archive, by its path
        self.sources = {}   # source by object

    def make(self, *what, **how):
        command = ["make", "--no-print-directory", *self.settings, *what]
        return subprocess.run(command, env=_environment(), text=True, **how)

    def prepare(self, units, programs, needs):
        """Builds the unchanged programs, and learns how they are made."""
        targets = [f"{self.folder}/{p}" for p in programs]
        if self.make("-s", f"-j{self.jobs}", *targets, *needs).returncode:
            raise Bad("the build without mutants fails")
        news = [a for u in units for a in ("-W", u)]
        said = self.make("-n", "V=1", *news, *targets, stdout=subprocess.PIPE, check=True).stdout
        for line in said.replace("\\\n", " ").split("\n"):
            made, source = re.search(r" -o (\S+)", line), re.search(r" -c (\S+)", line)
            archive = re.search(r"\bar rcs (\S+) (.*)", line)
            if archive:
                self.archives[archive[1]] = archive[2].split()
            elif made and source:
                self.compile[made[1]] = line
                self.sources[made[1]] = source[1]
            elif made:
                self.link[made[1]] = line

    def objects(self, unit, program):
        """Returns the unit's object in the program, compiled as for this program. Of the handlers in soft/isa, it is
        the variant that every processor runs."""
        linked = self.link[f"{self.folder}/{program}"].split()
        linked += [o for a in linked for o in self.archives.get(a, ())]
        mine = [o for o in dict.fromkeys(linked) if self.sources.get(o) == unit and not re.search(r"\.v\d\.o$", o)]
        if not mine:
            raise Bad(f"{program} has nothing of {unit}")
        return mine

    def compile_mutant(self, mutant, source_text, folder, program):
        """Returns the objects of the mutant's units, by the program's unchanged objects that they replace."""
        wrong = f"{folder}/{mutant.file}"
        os.makedirs(os.path.dirname(wrong), exist_ok=True)
        with open(wrong, "w") as f:
            f.write(mutant.apply(source_text))
        made = {}
        for unit in mutant.units:
            for honest in self.objects(unit, program):
                made[honest] = f"{folder}/{honest.replace('/', '_')}"
                if not os.path.exists(made[honest]):
                    source = wrong if unit == mutant.file else unit
                    command = self.compile[honest].replace(" -MMD -MP", "").replace(f" -c {unit}", f" -c {source}")
                    command = command.replace(f" -o {honest}", f" -o {made[honest]}").replace(" -Werror", "")
                    _run(f"{command} -w -iquote {folder}", f"{mutant.name} does not compile")
        return made

    def link_mutant(self, program, objects, made):
        """Links the program with the objects in it. Each takes the place of the unchanged one, or precedes the
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
