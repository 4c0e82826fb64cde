#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of docs/tutorials to the letter, and compares the output with the page.

    test/tutorials/run_tutorials.py [PAGE...]      default: every page of docs/tutorials that begins with a number

The `sh` blocks of a page run in their order in one shell, in an empty folder. PATH has the built programs and nvcc, and
SALUS names the source tree. A `text` block behind an `sh` block is its expected output: each line must be in the real
output, in this order, with other lines between them or none; a page marks longer gaps by `...`. Numbers match any
number, except within a word (p99), and blanks any blanks. Blocks marked `gpu` or `torch` run only where there is a real
GPU, or a Python with PyTorch (TORCH_PYTHON, or python3).
"""
import glob
import os
import re
import secrets
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.path.abspath(os.environ.get("BUILD", os.path.join(ROOT, "build")))
PATIENCE_S = 600
FENCE = re.compile(r"^```([^\n`]*)\n(.*?)^```$", re.M | re.S)
NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*")


class Wrong(Exception):
    """A page whose commands fail, or whose output is another."""


def blocks(text):
    """Returns [(words of the info string, content)] of the page's code blocks."""
    return [(info.split(), content) for info, content in FENCE.findall(text)]


def steps(text):
    """Returns [(marks, commands, expected output or None)] for each `sh` block."""
    found = []
    previous = None
    for words, content in blocks(text):
        if words[:1] == ["sh"]:
            found.append([words[1:], content, None])
        elif words == ["text"] and previous == "sh":
            found[-1][2] = content
        previous = words[0] if words else ""
    return found


def pattern(line):
    """Returns the expression for a line of output."""
    parts = ["".join(r"\d[\d.,]*" if NUMBER.fullmatch(piece) else re.escape(piece)
                     for piece in re.split(f"({NUMBER.pattern})", word)) for word in line.split()]
    return re.compile(r"\s*" + r"\s+".join(parts) + r"\s*")


def missing(expected, output):
    """Returns the first expected line that the output lacks behind the ones before it; None: all are there."""
    lines = iter(output.splitlines())
    for line in expected.splitlines():
        if not line.strip() or line.strip() == "...":
            continue
        wanted = pattern(line)
        if not any(wanted.fullmatch(got) for got in lines):
            return line
    return None


def toolkit():
    """Returns the folder of nvcc, or None."""
    found = subprocess.run([os.path.join(ROOT, "scripts", "find-nvcc")], capture_output=True, text=True, check=False)
    return os.path.dirname(found.stdout.strip()) or None


def torch_python():
    """Returns the folder of a Python that has PyTorch, or None."""
    for python in (os.environ.get("TORCH_PYTHON"), "python3"):
        if python and subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0:
            return os.path.dirname(python)
    return None


def environment(home):
    torch = torch_python()
    path = [BUILD, toolkit(), torch, os.environ["PATH"]]
    marks = {"gpu": os.path.exists("/dev/nvidiactl"), "torch": torch is not None}
    env = {"PATH": os.pathsep.join(p for p in path if p), "HOME": home, "SALUS": ROOT, "LANG": "C.UTF-8",
           "TMPDIR": tempfile.gettempdir(), "COLUMNS": "100"}
    return env, marks


def run_shell(script, folder, env):
    """Returns (exit status, output); -1: it did not end. No process of it is left."""
    with open(os.path.join(folder, ".output"), "w+", errors="replace") as out:
        shell = subprocess.Popen(["bash", "-c", script], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=subprocess.STDOUT, start_new_session=True)
        end = time.monotonic() + PATIENCE_S
        while shell.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        status = shell.poll()
        try:
            os.killpg(shell.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        shell.wait()
        out.seek(0)
        return -1 if status is None else status, out.read()


def follow(text, say=lambda line: None):
    """Runs a page. Raises Wrong with what differs. `say`: called with each block that was left out, and why."""
    if not steps(text):
        raise Wrong("the page has no commands")
    token = secrets.token_hex(8)
    with tempfile.TemporaryDirectory(prefix="salus-tutorial-") as home:
        folder = os.path.join(home, "work")
        os.mkdir(folder)
        env, marks = environment(home)
        todo = []
        for wanted, commands, expected in steps(text):
            lacking = [mark for mark in wanted if not marks.get(mark)]
            if lacking:
                say(f"left out, because there is no {lacking[0]}: {commands.splitlines()[0]}")
            else:
                todo.append((commands, expected))
        if not todo:
            return
        script = "set -e\n" + "".join(f"echo; echo {token}\n{commands}\n" for commands, _ in todo)
        status, output = run_shell(script, folder, env)
    printed = output.split(token + "\n")[1:]
    if status:
        failed = todo[len(printed) - 1][0] if printed else todo[0][0]
        how = "do not end" if status < 0 else f"end with status {status}"
        raise Wrong(f"these commands {how}:\n{failed}\noutput:\n{printed[-1] if printed else output}")
    for (commands, expected), got in zip(todo, printed):
        line = missing(expected, got) if expected else None
        if line is not None:
            raise Wrong(f"the output of these commands:\n{commands}\nlacks this line:\n{line}\nit is:\n{got}")


def main(names):
    pages = names or sorted(glob.glob(os.path.join(ROOT, "docs", "tutorials", "[0-9]*.md")))
    failed = 0
    for page in pages:
        begin = time.monotonic()
        name = os.path.basename(page)
        with open(page, encoding="utf-8") as f:
            text = f.read()
        try:
            follow(text, lambda line, name=name: print(f"     {name}: {line}", flush=True))
            print(f"ok   {name} ({time.monotonic() - begin:.1f} s)", flush=True)
        except Wrong as e:
            failed += 1
            print(f"FAIL {name}: {e}", flush=True)
    print(f"tutorials: {len(pages) - failed} passed, {failed} failed")
    return 1 if failed or not pages else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
