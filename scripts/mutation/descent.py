# SPDX-License-Identifier: Apache-2.0
"""The processes that a program started, including those in sessions of their own (such as each test of Criterion):
their state, and their end."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

STACK_S = 20  # seconds that a debugger may look at one process
running = {}  # {process: (the command's first word, its start time)}


def _parents():
    """Returns {process: its parent} of all processes."""
    parents = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat") as f:
                parents[int(name)] = int(f.read().rpartition(")")[2].split()[1])
        except (ValueError, OSError):
            pass  # not a process, or one that ended just now
    return parents


def of(pid):
    """Returns the process and all its descendants, parents first."""
    parents, found = _parents(), [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def end(pid):
    """Kills them all, parents first so that none starts another, and the process's session, which may contain others
    whose parents have ended. Does not wait."""
    for kill, one in [(os.kill, one) for one in of(pid)] + [(os.killpg, pid)]:
        try:
            kill(one, signal.SIGKILL)
        except ProcessLookupError:
            pass


def stacks(pid):
    """Returns the stack of each of their threads, if a debugger is installed."""
    if not shutil.which("gdb"):
        return "where it stands is not known: there is no gdb\n"
    said = ""
    for one in of(pid):
        try:
            said += subprocess.run(["gdb", "-nx", "-batch", "-p", str(one), "-ex", "thread apply all bt 20"], text=True,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   errors="replace", timeout=STACK_S).stdout
        except subprocess.TimeoutExpired:
            said += f"gdb did not look at process {one} within {STACK_S} s\n"
    return said


def run(command, limit_s, where=False, **more):
    """Returns (exit status, output) of a command. None: it did not end in time, and was ended with its children; then
    `where` tells where it hung. The output goes to a file: with a pipe we would wait without end for a child that
    inherited it and outlives the command in a session of its own."""
    with tempfile.TemporaryFile() as said:
        p = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                             start_new_session=True, **more)
        running[p.pid] = command[0], time.monotonic()
        try:
            p.wait(limit_s)
            rc = p.returncode
        except subprocess.TimeoutExpired:
            rc, stood = None, stacks(p.pid) if where else ""
            end(p.pid)
            p.wait()
        del running[p.pid]
        said.seek(0)
        out = said.read().decode(errors="replace")
    return rc, out if rc is not None else f"{out}\n{stood}"
