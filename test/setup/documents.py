# SPDX-License-Identifier: Apache-2.0
"""Trees of documents for tests, and the scripts of scripts/docs as modules."""
import contextlib
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DOCS = os.path.join(ROOT, "scripts", "docs")
sys.dont_write_bytecode = True
sys.path.insert(0, DOCS)


def script(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), os.path.join(DOCS, name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def read(path, root=ROOT):
    with open(os.path.join(root, path)) as f:
        return f.read()


def write(root, path, text):
    path = os.path.join(root, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)


@contextlib.contextmanager
def tree(files):
    """A git tree of these files: {path: text}."""
    with tempfile.TemporaryDirectory() as root:
        subprocess.run(["git", "init", "-q", root], check=True, stderr=subprocess.DEVNULL)
        for path, text in files.items():
            write(root, path, text)
        yield root
