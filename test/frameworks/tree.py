# SPDX-License-Identifier: Apache-2.0
"""Identifies the source tree of a result: a record has the day and the last commit that changed the engine on which
programs run."""
import os
import subprocess
import time

from folders import HERE

ROOT = os.path.join(HERE, "..", "..")
ENGINE = ["common", "config", "daemon", "proto", "shim"]


def _git(root, *argv):
    """Returns the output of git; "" without git or a repository."""
    try:
        done = subprocess.run(["git", "-C", root, *argv], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    except FileNotFoundError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def engine(root=ROOT):
    """Returns the commit's short name, followed by + if the engine's files differ from that commit."""
    commit = _git(root, "log", "-1", "--format=%h", "--abbrev=9", "--", *ENGINE)
    return commit + ("+" if commit and _git(root, "status", "--porcelain", "--", *ENGINE) else "")


def recorded():
    """Returns the fields that every new record has."""
    return {"date": time.strftime("%Y-%m-%d", time.gmtime()), "tree": engine()}
