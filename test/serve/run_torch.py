#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows the tutorial of docs/serving.md with PyTorch on the software GPU. Optional, since it downloads PyTorch
(gigabytes; the same environment as `make check-frameworks`).

    test/serve/run_torch.py
"""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "e2e", "lib"), os.path.join(HERE, "..", "frameworks")]
import folders  # noqa: E402
import tutorial  # noqa: E402
from harness import BUILD, ROOT, Skipped, run_tests  # noqa: E402

TITLE = "A PyTorch model"
# The same model on the processor.
ALONE = """
import json, sys, torch
source = open(sys.argv[1]).read().replace(".cuda()", "").replace(', device="cuda"', "").partition("with torch")[0].replace("import salus_serve", "")
exec(source)
with torch.inference_mode():
    print(json.dumps(model(torch.arange(128, dtype=torch.float32).reshape(2, 64) / 128).softmax(1).flatten().tolist()))
"""


def python():
    try:
        return folders.python_of(folders.read()["torch"], os.path.join(BUILD, "frameworks"))
    except folders.Unavailable as why:
        raise Skipped(str(why))


def test_the_tutorial():
    """The tutorial prints what the page shows, and the answer nearly equals the processor's."""
    interpreter = python()
    with tempfile.TemporaryDirectory(prefix="salus-tutorial-") as folder:
        got, said = tutorial.follow(TITLE, folder, [os.path.dirname(os.path.abspath(interpreter)), os.path.abspath(BUILD)])
    if got != said:
        raise AssertionError(f"the tutorial prints\n{got}\nand says\n{said}")
    alone = subprocess.run([interpreter, "-c", ALONE, os.path.join(ROOT, "docs", "examples", "serve_torch.py")], text=True, stdout=subprocess.PIPE)
    classes = json.loads(alone.stdout)
    answer = json.loads(got)["outputs"][0]["data"]
    worst = max(abs(a - b) for a, b in zip(answer, classes, strict=True))
    if worst > 1e-5:
        raise AssertionError(f"the processor says {classes}, the GPU {answer}")


if __name__ == "__main__":
    sys.exit(run_tests(globals()))
