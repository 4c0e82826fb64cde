# SPDX-License-Identifier: Apache-2.0
"""Which tree a result is of: a record says the day and the last commit that changed what programs run on."""
import os
import subprocess
import time

from folders import HERE

ROOT = os.path.join(HERE, "..", "..")
ENGINE = ["common", "config", "daemon", "proto", "shim"]


def _git(root, *argv):
    """What git says; nothing where there is no git, or no repository."""
    try:
        done = subprocess.run(["git", "-C", root, *argv], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def engine(root=ROOT):
    """The commit's short name, with a + behind it where the engine's files are not as any commit has them."""
    commit = _git(root, "log", "-1", "--format=%h", "--abbrev=9", "--", *ENGINE)
    return commit + ("+" if commit and _git(root, "status", "--porcelain", "--", *ENGINE) else "")


def recorded():
    """What every record of now has."""
    return {"date": time.strftime("%Y-%m-%d", time.gmtime()), "tree": engine()}
