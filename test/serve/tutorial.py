# SPDX-License-Identifier: Apache-2.0
"""The tutorials of docs/serving.md, followed to the letter: for run_serve.py and run_torch.py.

Of a section the first block without a language is what one types, the one behind it what is printed in the end. Only the
port is another one, for the usual one may be taken, and `make` is left out, since it was called.
"""
import re
import socket

import page


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def follow(title, folder, path):
    """(what it prints, what it should print). `path`: folders before those of PATH."""
    typed, printed = [text for language, text in page.blocks("serving", title) if not language][:2]
    port = free_port()
    script = re.sub(r"^make\n", "", typed, flags=re.M).replace("<<END\n", f"<<END\n[front]\nport = {port}\n", 1).replace("localhost:8000", f"localhost:{port}")
    if str(port) not in script or f"localhost:{port}" not in script:
        raise AssertionError(f"the section '{title}' starts or asks nothing that this test knows:\n{script}")
    page.lay_out(folder)
    out = page.follow(script, folder, page.environment(path))
    return re.sub(r"^serving on port .*\n", "", out, flags=re.M).strip(), printed.strip()
