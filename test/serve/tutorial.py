# SPDX-License-Identifier: Apache-2.0
"""Follows the tutorials of docs/serving.md to the letter, for run_serve.py and run_torch.py. In a section, the first
block without a language has the commands, the next one the final output. Only the port differs, since the usual one may
be taken, and `make` is left out, since it ran before."""
import re
import socket

import page


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def follow(title, folder, path):
    """Returns (output, expected output). `path`: folders before those of PATH."""
    typed, printed = [text for language, text in page.blocks("serving", title) if not language][:2]
    port = free_port()
    script = re.sub(r"^make\n", "", typed, flags=re.M).replace("<<END\n", f"<<END\n[front]\nport = {port}\n", 1).replace("localhost:8000", f"localhost:{port}")
    if str(port) not in script or f"localhost:{port}" not in script:
        raise AssertionError(f"the section '{title}' starts or asks nothing that this test knows:\n{script}")
    page.lay_out(folder)
    out = page.follow(script, folder, page.environment(path))
    return re.sub(r"^serving on port .*\n", "", out, flags=re.M).strip(), printed.strip()
