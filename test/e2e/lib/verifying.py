# SPDX-License-Identifier: Apache-2.0
"""Jobs that verify each of their rounds (programs/memory/verify.cu), and the permitted ends of such jobs."""
import os
import re
import signal
import subprocess

from harness import PATIENCE, program

WRONG_STATUS, ERROR_STATUS = 3, 4
SHOWN = 600  # characters of each /proc file that shows where a process hangs


class Failed(Exception):
    """Raised when a test has failed."""


def where(pid):
    """Returns the state of the threads of a process."""
    text = ""
    for task in os.listdir(f"/proc/{pid}/task"):
        for part in ("comm", "status", "syscall", "wchan"):
            try:
                with open(f"/proc/{pid}/task/{task}/{part}") as f:
                    text += f"{task} {part}: {f.read()[:SHOWN]}\n"
            except OSError:
                pass
    return text


class Job:
    """One `verify` process, and the faults that may have ended it with an error."""

    def __init__(self, daemon, seed, threads=1, does=(), **environment):
        self.causes = []
        self.killed = self.asked = False
        self.what = f"seed={seed} threads={threads} {' '.join(does)}"
        self.process = subprocess.Popen(
            [program("verify"), "0", str(seed), str(threads), *does], env=daemon.environment(**environment),
            text=True, errors="replace", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.pid = self.process.pid
        self.rounds = self.code = 0

    def ask(self):
        """Tells the job to end after this round."""
        self.asked = True
        self.process.stdin.close()

    def kill(self):
        self.killed = True
        self.process.kill()

    def wait(self):
        try:
            self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise Failed(f"job {self.pid} hangs, {self.what} causes={self.causes}:\n{where(self.pid)}") from None

    def verdict(self):
        """Returns how the job ended: finished, error (self.code is CUDA's), killed. Raises Failed for any other end."""
        self.wait()
        out, err = self.process.stdout.read(), self.process.stderr.read()
        self.process.stdin.close()
        rc = self.process.returncode
        text = f"job {self.pid} {self.what} exit={rc} causes={self.causes}\n{out}{err}"
        found = re.search(r"after (\d+) rounds|rounds (\d+)", out + err)
        self.rounds = int(found.group(1) or found.group(2)) if found else 0
        if rc == WRONG_STATUS or "WRONG" in out:
            raise Failed("a wrong result with success: " + text)
        if rc == 0 and self.asked:
            return "finished"
        if rc == ERROR_STATUS and self.causes:
            self.code = int(re.search(r"^ERROR .*\((\d+)\) after", err, re.M).group(1))
            return "error"
        if rc == -signal.SIGKILL and self.killed:
            return "killed"
        raise Failed("a job ended as none may: " + text)
