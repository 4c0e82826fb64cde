# SPDX-License-Identifier: Apache-2.0
"""The processes that a program started, also in sessions of their own (as each test of Criterion):
their state, and their end."""
import os
import shutil
import signal
import subprocess
import tempfile
import time

STACK_S = 20  # how long a debugger may look at one process
running = {}  # {process: (the command's first word, when it began)}


def _parents():
    """{process: its parent}, of all there are."""
    parents = {}
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat") as f:
                parents[int(name)] = int(f.read().rpartition(")")[2].split()[1])
        except (ValueError, OSError):
            pass  # no process, or one that ended just now
    return parents


def of(pid):
    """The process and all that descend from it, parents first."""
    parents, found = _parents(), [pid]
    for one in found:
        found += [child for child, parent in parents.items() if parent == one]
    return found


def end(pid):
    """Ends them all, parents first so that nobody starts another, and the process's session, in which others may be
    whose parents are gone; waits for nobody."""
    for kill, one in [(os.kill, one) for one in of(pid)] + [(os.killpg, pid)]:
        try:
            kill(one, signal.SIGKILL)
        except ProcessLookupError:
            pass


def stacks(pid):
    """The stack of each of their threads, if a debugger is installed."""
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
    """(exit status, output) of a command; None where it did not end in time and was ended, with what it started, and
    then `where` says where it stood. The output goes to a file: who inherited a pipe, and outlives the command in a
    session of its own, would be waited for without end."""
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
