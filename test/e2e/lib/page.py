# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of pages in docs/ to the letter, for tests.

A block without a language is commands or their output. The commands run in a folder that looks like
the tree after `make`, so that their files stay there; their background processes end with them
(`kill %1`).
"""
import os
import re
import signal
import subprocess

from harness import BUILD, PATIENCE, ROOT


def section(name, title):
    """Returns the text of a section of docs/NAME.md."""
    with open(os.path.join(ROOT, "docs", name + ".md")) as f:
        found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", f.read(), re.M | re.S)
    if not found:
        raise AssertionError(f"docs/{name}.md has no section '{title}'")
    return found[1]


def blocks(name, title):
    """Returns [(language, text)] of the code blocks."""
    return re.findall(r"^```(\w*)\n(.*?)^```$", section(name, title), re.M | re.S)


def lay_out(folder):
    for name in os.listdir(ROOT):
        if not name.startswith(".") and name != "build":
            os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    os.symlink(os.path.abspath(BUILD), os.path.join(folder, "build"))


# Variables of the tests and of make, which a page's commands must not see.
OURS = re.compile("(SALUS_RUN_DIR|SALUS_LIB_DIR|SALUS_FLUID_LIBRARY|BUILD|MAKE.*|MFLAGS|PYTHONPATH|RAY_.*)$")


def environment(path, **more):
    """Returns the environment for the commands. `path`: folders before those of PATH."""
    theirs = {k: v for k, v in os.environ.items() if not OURS.match(k)}
    return {**theirs, "PATH": os.pathsep.join([*path, os.environ["PATH"]]), **more}


def follow(script, folder, env, patience=PATIENCE):
    """Returns the output when all commands have ended without an error; no process is left. The
    output goes through files, because background processes hold our descriptors longer than the
    shell."""
    with open(os.path.join(folder, "typed"), "w") as f:
        f.write(script + "\nkill %1\nwait\n")
    with open(os.path.join(folder, "printed"), "w+") as out, open(os.path.join(folder, "log"), "w+") as log:
        p = subprocess.Popen(["bash", "-e", "typed"], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=log,
                             start_new_session=True)
        try:
            p.wait(patience)
        except subprocess.TimeoutExpired:
            pass
        ended = p.poll()
        end_group(p)
        out.seek(0)
        log.seek(0)
        printed, said = out.read(), log.read()
    if ended != 0:
        raise AssertionError(f"the tutorial {'hangs' if ended is None else 'fails'}: {printed}\n{said}")
    return printed


def end_group(p):
    try:
        os.killpg(p.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    p.wait()
