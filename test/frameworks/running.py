# SPDX-License-Identifier: Apache-2.0
"""Runs one case: a daemon of its own on the software GPU, its processes under `salusctl run`, the verdict.

    right     all its comparisons succeeded
    refused   it ended with an error, and Salus reported an unsupported feature on standard error
    wrong     a comparison failed, whatever Salus reported
    failed    it ended with an error without a report by Salus
    crashed   it ended by a signal without a report by Salus
    hangs     it was ended at its time limit
"""
import ast
import glob
import os
import re
import signal
import subprocess
import sys
import time

from case import RIGHT, WRONG

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "e2e", "lib"))
from harness import Daemon, PATIENCE, tool, wait_for

COUNTS = ["launches", "answers", "iterations"]
PEAKS = ["persistent_peak_bytes", "ephemeral_peak_bytes"]
VERDICTS = ["right", "refused", "wrong", "failed", "crashed", "hangs"]
SECONDS = 900  # enough for a busy machine; a case that needs all of it hangs
PATIENT = PATIENCE / 120  # factor for cases, if the caller asks for more patience than the harness's own
REFUSAL = re.compile(r"^\S+ error shim (.*)$", re.M)
NAME_SHOWN = 60  # characters of a name, which may have hundreds


class Case:
    """A function of a list of cases, as its source has it."""

    def __init__(self, function, settings):
        self.name = function.name
        self.about = (ast.get_docstring(function) or "").split("\n")[0]
        self.capability = settings.get("capability")
        self.seconds = settings.get("seconds", SECONDS)
        self.jobs = settings.get("jobs", 1)
        self.lane = settings.get("lane")
        self.env = settings.get("env", {})
        self.daemon = settings.get("daemon", [])


def _settings(function):
    """Returns the settings of @case or @case(...); None if the function is not a case."""
    for d in function.decorator_list:
        called = d.func if isinstance(d, ast.Call) else d
        if isinstance(called, ast.Name) and called.id == "case":
            keywords = d.keywords if isinstance(d, ast.Call) else []
            return {k.arg: ast.literal_eval(k.value) for k in keywords}
    return None


def cases_in(path):
    """Returns the cases of a file, read without running it: its framework need not be installed."""
    with open(path) as f:
        functions = [n for n in ast.parse(f.read()).body if isinstance(n, ast.FunctionDef)]
    return [Case(f, _settings(f)) for f in functions if _settings(f) is not None]


# ---- the processes -------------------------------------------------------------------------------

def _library_path(framework, python):
    """Returns the path to the framework's own libraries, which it does not find by itself."""
    packages = glob.glob(os.path.join(os.path.dirname(python), "..", "lib", "python*", "site-packages"))
    return ":".join(os.path.join(p, l) for p in packages for l in framework.libraries)


def _environment(framework, case, python, home):
    """Returns the user's environment without paths to other toolkits, and with empty caches."""
    keep = {k: v for k, v in os.environ.items() if k not in ("CUDA_HOME", "CUDA_PATH", "PYTHONPATH")}
    return {**keep, "HOME": home, "TMPDIR": home, "LD_LIBRARY_PATH": _library_path(framework, python),
            "PYTHONDONTWRITEBYTECODE": "1", **case.env}


def _start(daemon, framework, case, python, home):
    capability = case.capability or framework.capability
    argv = [*framework.within, tool("salusctl"), "--run-dir", daemon.run_dir, "run", "-q", "--name", case.name,
            *(["--capability", capability] if capability else []),
            "--", python, framework.source(), case.name]
    return subprocess.Popen(argv, env=_environment(framework, case, python, home), text=True, errors="replace",
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            start_new_session=True)


def _finish(process, end):
    """Returns the exit status (None: it was ended), output and standard error."""
    try:
        out, err = process.communicate(timeout=max(0.1, end - time.monotonic()))
        return process.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        return None, out, err


# ---- the verdict ---------------------------------------------------------------------------------

def refusal(err):
    """Returns the first line in which Salus reports an unsupported feature, without its time; or ""."""
    found = REFUSAL.search(err)
    if not found:
        return ""
    line = re.sub(r"(\S{%d})[^\s:]+" % NAME_SHOWN, r"\1...", found.group(1))
    return re.sub(r' do="[^"]*"$', "", line)


def _last_line(err):
    """Returns the last line, in which Python tells the error; skips lines of the daemon's processes."""
    lines = [l for l in err.strip().splitlines() if l.strip() and " worker " not in l]
    return lines[-1].strip()[:300] if lines else "no word on standard error"


def verdict(status, err):
    """Returns the verdict on a process, and the line that tells why."""
    if status == RIGHT:
        return "right", ""
    if status is None:
        return "hangs", refusal(err) or _last_line(err)
    if status == WRONG:
        return "wrong", refusal(err) or _last_line(err)
    if refusal(err):
        return "refused", refusal(err)
    return "crashed" if status < 0 or status > 128 else "failed", _last_line(err)


def _differ(outputs):
    """Returns whether jobs side by side printed different sums."""
    sums = [re.findall(r"^checksum .*$", out, re.M) for out in outputs]
    return any(s != sums[0] or not s for s in sums)


def _judge(ends):
    """Returns the worst verdict of several jobs."""
    found = [verdict(status, err) for status, _, err in ends]
    worst = max(found, key=lambda v: VERDICTS.index(v[0]))
    if worst[0] == "right" and len(ends) > 1 and _differ([out for _, out, _ in ends]):
        return "wrong", "jobs side by side have different checksums"
    return worst


def _counts(daemon):
    """Returns the figures of all jobs of the daemon once they have ended; zeros if the daemon itself has ended."""
    if daemon.process.poll() is not None:
        return dict.fromkeys(COUNTS + PEAKS, 0)
    wait_for("all jobs have left", lambda: not daemon.jobs(), 60)
    ended = daemon.ctl_json("history")["history"]
    return {**{what: sum(e[what] for e in ended) for what in COUNTS},
            **{what: max((e[what] for e in ended), default=0) for what in PEAKS}}


def run(framework, case, python, home):
    """Returns the record of a case: verdict, line, seconds, and the figures of its jobs."""
    begin = time.monotonic()
    with Daemon(*(["--lane-policy", case.lane] if case.lane else []), *case.daemon) as daemon:
        processes = [_start(daemon, framework, case, python, home) for _ in range(case.jobs)]
        ends = [_finish(p, begin + case.seconds * PATIENT) for p in processes]
        seconds = time.monotonic() - begin
        counts = _counts(daemon)
        found, line = _judge(ends)
        if daemon.process.poll() is not None:
            found, line = "crashed", f"salusd: status {daemon.process.returncode}\n{daemon.log()[-3000:]}"
    return {"case": case.name, "about": case.about, "verdict": found, "line": line,
            "seconds": round(seconds, 1), "capability": case.capability, **counts,
            "output": ends[0][1], "errors": ends[0][2]}
