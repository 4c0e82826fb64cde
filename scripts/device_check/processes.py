# SPDX-License-Identifier: Apache-2.0
"""Programs that may crash, hang or print anything, and the results of their runs; nothing that one of them does stops
us."""
import json
import os
import re
import signal
import subprocess
import threading
import time

FIGURE = re.compile(r"^figure (\S+) (\S+) (.*)$")
FACT = re.compile(r"^fact (\S+) (.*)$")
NEEDED = ("probe", "question", "answer", "figures", "ok")


class Process:
    """A program in a session of its own, so that its children end with it. Threads read its lines."""

    def __init__(self, argv, env=None, cwd=None):
        self.argv, self.out, self.err, self.begin = argv, [], [], time.monotonic()
        self.popen = subprocess.Popen(argv, env=env, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
        self.news = threading.Condition()
        self.readers = [threading.Thread(target=self._read, args=pair, daemon=True)
                        for pair in ((self.popen.stdout, self.out), (self.popen.stderr, self.err))]
        for r in self.readers:
            r.start()

    def _read(self, stream, lines):
        for line in stream:
            with self.news:
                if len(lines) < 200_000:
                    lines.append(line.rstrip("\n"))
                self.news.notify_all()
        with self.news:
            self.news.notify_all()

    def line(self, beginning, seconds, after=0):
        """Returns (number, line) of the first line of standard output after line `after` with this beginning; None: no
        such line came."""
        end = time.monotonic() + seconds
        with self.news:
            while True:
                for i in range(after, len(self.out)):
                    if self.out[i].startswith(beginning):
                        return i + 1, self.out[i]
                left = end - time.monotonic()
                if left <= 0 or (self.popen.poll() is not None and not any(r.is_alive() for r in self.readers)):
                    return None
                self.news.wait(min(left, 0.2))

    def signal(self, which):
        try:
            self.popen.send_signal(which)
        except ProcessLookupError:
            pass

    def kill(self):
        """Kills the program and all its children."""
        try:
            os.killpg(self.popen.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass

    def wait(self, seconds):
        """Returns the exit status, below 0 a signal; None: it had to be killed, or even that failed."""
        try:
            status = self.popen.wait(max(seconds, 0.01))
        except subprocess.TimeoutExpired:
            self.kill()
            try:
                self.popen.wait(20)
            except subprocess.TimeoutExpired:
                pass  # stuck in the kernel: left behind
            status = None
        if status is not None:
            self.kill()  # remaining children would hold the pipes open
        for r, stream in zip(self.readers, (self.popen.stdout, self.popen.stderr)):
            r.join(5)
            if not r.is_alive():
                stream.close()
        return status


def parsed(lines):
    """Returns the one JSON object among the lines of a probe, or the reason why there is none."""
    objects = [line for line in lines if line.startswith("{")]
    if len(objects) != 1:
        return None, f"{len(objects)} objects"
    try:
        found = json.loads(objects[0])
    except ValueError as e:
        return None, f"no JSON: {e}"
    missing = [key for key in NEEDED if key not in found]
    if missing:
        return None, f"without {', '.join(missing)}"
    if not isinstance(found["figures"], dict) or not isinstance(found["ok"], bool):
        return None, "figures or ok of another type"
    return found, None


def partial(err):
    """Returns the output of a probe before it died."""
    figures = {}
    for line in err:
        if m := FIGURE.match(line):
            try:
                figures[m[1]] = {"value": float(m[2]), "unit": m[3]}
            except ValueError:
                pass
        elif m := FACT.match(line):
            figures[m[1]] = m[2]
    return figures


def verdict(process, status):
    """The result of a probe: `how` is answered, refused, failed, crashed, hangs or garbage."""
    found, why = parsed(process.out)
    said = [line for line in process.err if not FIGURE.match(line) and not FACT.match(line)][-40:]
    result = {"seconds": round(time.monotonic() - process.begin, 3), "status": status}
    if status is None:
        how = "hangs"
    elif status < 0:
        how = "crashed"
        why = signal.Signals(-status).name if -status in set(signal.Signals) else f"signal {-status}"
    elif found is None:
        how = "garbage"
    else:
        how = "answered" if found["ok"] else "refused" if "cannot be asked" in found["answer"] else "failed"
    result["how"] = how
    if found and how not in ("hangs", "crashed"):
        result.update(found)
    else:
        result["figures"] = partial(process.err)
        result["answer"] = {"hangs": "no end", "crashed": f"died of {why}"}.get(how, f"printed {why}")
    if how != "answered":
        result["said"] = said
    return result


def ask(argv, env, seconds, cwd=None):
    """Runs a probe or a program that prints as one."""
    try:
        process = Process(argv, env, cwd)
    except OSError as e:
        return {"how": "missing", "answer": f"cannot be started: {e.strerror}", "figures": {}, "seconds": 0}
    return verdict(process, process.wait(seconds))


def value(result, name):
    """Returns a figure; None when there is none."""
    figure = result.get("figures", {}).get(name)
    return figure.get("value") if isinstance(figure, dict) else None
