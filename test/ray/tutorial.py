# SPDX-License-Identifier: Apache-2.0
"""Follows the tutorial of docs/ray.md to the letter: its commands, its program, and `job list` while it runs. Only the
folders in /tmp and the results folder are others. pip finds Ray installed already, by run.py."""
import os
import re
import subprocess
import sys
import threading

import page

TITLE = "Five minutes, without a GPU"
LEFT_OUT = re.compile("salus_fluid|pip|setuptools|pkg_resources|_distutils_hack|distutils-precedence")


def installed(folder):
    """Returns a folder with this environment's packages except salus_fluid, which `make install-ray` adds."""
    seen = os.path.join(folder, "installed")
    os.mkdir(seen)
    ours = next(p for p in sys.path if p.endswith("site-packages"))
    for name in os.listdir(ours):
        if not LEFT_OUT.match(name):
            os.symlink(os.path.join(ours, name), os.path.join(seen, name))
    return seen


class Watch:
    """Runs the page's command that shows the trials from time to time; `shown` is the set of its output lines, split
    into words."""

    def __init__(self, command, folder, env):
        self.shown, self.over = set(), threading.Event()
        self.options = dict(cwd=folder, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.thread = threading.Thread(target=self.look, args=(command.split(),))

    def look(self, command):
        while not self.over.wait(0.3):
            self.shown.update(tuple(line.split()) for line in subprocess.run(command, **self.options).stdout.splitlines())

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def column(self, name):
        """Returns a column of the trials' jobs; the first five columns have one word each."""
        header = next(line for line in self.shown if "NAME" in line)
        return {line[header.index(name)] for line in self.shown if line[1].startswith("fluid-")}


def follow(folder):
    """Returns (the output of search.py, the watcher)."""
    page.lay_out(folder)
    text = page.section("ray", TITLE).replace("/tmp/", folder + "/")
    found = [(language, block.replace("/tmp/", folder + "/")) for language, block in page.blocks("ray", TITLE)]
    typed = [block for language, block in found if not language]
    with open(os.path.join(folder, re.search(r"is a file, `(\w+\.py)`", text)[1]), "w") as f:
        f.write(next(block for language, block in found if language == "python"))
    env = page.environment([os.path.join(sys.base_prefix, "bin")], HOME=folder, PYTHONPATH=installed(folder), RAY_TMPDIR=folder,
                           RAY_USAGE_STATS_ENABLED="0")
    with Watch(re.search(r"`(build/salusctl .* job list)`", text)[1], folder, env) as watch:
        out = page.follow("\n".join(typed), folder, env)
    return out, watch
