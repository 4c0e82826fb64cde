# SPDX-License-Identifier: Apache-2.0
"""The tutorials of docs/serving.md, followed to the letter: for run_serve.py and run_torch.py.

Of a section the first block without a language is what one types, the one behind it what is printed in the end. Only the
port is another one, for the usual one may be taken, and `make` is left out, since it was called.
"""
import os
import re
import signal
import socket
import subprocess

from harness import BUILD, PATIENCE, ROOT


def section(title):
    with open(os.path.join(ROOT, "docs", "serving.md")) as f:
        found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", f.read(), re.M | re.S)
    if not found:
        raise AssertionError(f"docs/serving.md has no section '{title}'")
    return found[1]


def blocks(title):
    """[(language, text)]"""
    return re.findall(r"^```(\w*)\n(.*?)^```$", section(title), re.M | re.S)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def follow(title, folder, path):
    """(what it prints, what it should print). `path`: folders before those of PATH."""
    typed, printed = [text for language, text in blocks(title) if not language][:2]
    port = free_port()
    script = re.sub(r"^make\n", "", typed, flags=re.M).replace("<<END\n", f"<<END\n[front]\nport = {port}\n", 1).replace("localhost:8000", f"localhost:{port}")
    if str(port) not in script or f"localhost:{port}" not in script:
        raise AssertionError(f"the section '{title}' starts or asks nothing that this test knows:\n{script}")
    for name in ("test", "docs", "daemon", "common", "proto", "shim"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    os.symlink(os.path.abspath(BUILD), os.path.join(folder, "build"))
    env = {k: v for k, v in os.environ.items() if k != "SALUS_RUN_DIR"} | {"PATH": os.pathsep.join([*path, os.environ["PATH"]])}
    with open(os.path.join(folder, "log"), "w+") as log:
        p = subprocess.Popen(["bash", "-e"], cwd=folder, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                             start_new_session=True)
        try:
            out, _ = p.communicate(script + "\nkill %1\nwait\n", timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.communicate()
            log.seek(0)
            raise AssertionError(f"the tutorial hangs:\n{log.read()}")
    return re.sub(r"^serving on port .*\n", "", out, flags=re.M).strip(), printed.strip()
