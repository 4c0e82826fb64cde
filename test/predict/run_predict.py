#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""salusctl predict as a process: invalid models, answers as text and as JSON, a daemon's measurements, and
training from a table.

    test/predict/run_predict.py
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path[:0] = [os.path.join(ROOT, "test", "e2e", "lib"), os.path.dirname(os.path.abspath(__file__))]
import families  # noqa: E402
from harness import BUILD, Soft, tool, wait_for  # noqa: E402


def ctl(*args, **environment):
    return subprocess.run([tool("salusctl"), *args], text=True, capture_output=True, timeout=300,
                          env=dict(os.environ, **environment), stdin=subprocess.DEVNULL)


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def refused(status, part, *args):
    done = ctl("predict", *args)
    expect(done.returncode == status and part in done.stderr and not done.stdout,
           f"predict {' '.join(args)}: exit {done.returncode}, '{part}' is not in: {done.stderr}{done.stdout}")


def model(folder, net, name):
    layers = os.path.join(folder, name + ".txt")
    with open(layers, "w") as f:
        f.write(net.text(2))
    path = os.path.join(folder, name + ".onnx")
    subprocess.run([f"{BUILD}/test/predict/netonnx", layers, path], check=True)
    return layers, path


def bad_input(folder, path):
    text, cut = os.path.join(folder, "text"), os.path.join(folder, "cut.onnx")
    with open(text, "w") as f:
        f.write("# a model\n")
    with open(path, "rb") as f, open(cut, "wb") as g:
        g.write(f.read()[:-7])
    refused(2, "an ONNX file is missing")
    refused(1, "the file is text and not an ONNX model: export one with torch.onnx.export", text)
    refused(1, "the file is not an ONNX model", cut)
    refused(1, "No such file", os.path.join(folder, "none.onnx"))
    refused(1, "this is a directory", folder)
    refused(2, "'0' is not a number from 1", path, "--batch", "0")
    refused(2, "is not of the form NAME=NUMBER", path, "--dim", "32")
    refused(2, "is not none (inference), sgd", path, "--optimiser", "best")
    refused(2, "unknown option --frobnicate; see 'salusctl --help'", path, "--frobnicate")
    refused(2, "-o needs --train", path, "-o", "x")
    refused(2, "--batch cannot be combined with --train", "--train", text, "--batch", "3")
    refused(1, "the file is not a predictor", path, "--predictor", text)
    refused(1, "lacks a column family", "--train", text, "-o", os.path.join(folder, "x.json"))
    expect(not os.path.exists(os.path.join(folder, "x.json")), "a predictor of nothing was written")


def answers(folder, path):
    done = ctl("predict", path, "--batch", "8", "--device", "nothing-like-it")
    expect(done.returncode == 0 and "the predictor has no measurements of the device 'nothing-like-it'" in done.stdout, done)
    a = json.loads(ctl("--json", "predict", path, "--batch", "8", "--device", "none", "--optimiser", "adam").stdout)
    b = json.loads(ctl("predict", path, "--json", "--batch", "16", "--device", "none", "--optimiser", "none").stdout)
    expect(a["utilisation"] is None and a["source"] == "predicted" and a["predictor"] is None, a)
    expect(a["memory"]["optimiser_bytes"] == 2 * a["memory"]["parameters_bytes"] == 8 * a["parameters"], a)
    expect(b["memory"]["activations_bytes"] == 2 * a["memory"]["activations_bytes"], b)
    expect(b["features"]["flops"] == 2 * a["features"]["flops"] and b["memory"]["gradients_bytes"] == 0, b)
    expect(a["not_counted"] == {"operators": 0, "kinds": {}}, a)


def training(folder, path):
    """A table of made-up rows: utilisation follows from the width."""
    table, to = os.path.join(folder, "table.csv"), os.path.join(folder, "made.json")
    with open(table, "w") as f:
        f.write("family,device,model,batch,utilisation\n")
        for family in "abcd":
            for width in (16, 32, 64, 128):
                name = f"{family}{width}"
                model(folder, families.mlp(width, 1 + "abcd".index(family)), name)
                f.write(f"{family},made,{name}.onnx,4,{width / 200}\n")
    done = ctl("predict", "--train", table, "-o", to, "--about", "rows that nobody measured")
    expect(done.returncode == 0 and "16 measurements on made, 4 families, each left out once" in done.stdout, done)
    done = ctl("predict", path, "--device", "made", SALUS_PREDICT_DIR=folder)
    expect("utilisation" in done.stdout and "trained on rows that nobody measured: 16 measurements, 4 families" in done.stdout, done)
    said = json.loads(ctl("predict", path, "--predictor", to, "--json").stdout)
    expect(0 < said["utilisation"] <= 1 and said["predictor"]["families"] == list("abcd") and said["device"] == "made", said)


def shipped(folder, path):
    """The predictor of the software GPU: trained on the table beside it, it is as good as its page says, and
    better than a linear model."""
    table, to = os.path.join(ROOT, "config", "predict", "soft.csv"), os.path.join(folder, "again.json")
    done = ctl("predict", "--train", table, "-o", to, "--device", "soft", "--about", "again")
    expect(done.returncode == 0, done)
    own, again = (json.loads(ctl("predict", path, *of, "--json").stdout)["predictor"] for of in ((), ("--predictor", to)))
    expect(own["measurements"] == again["measurements"] == 117 and abs(own["rmsle"] - again["rmsle"]) < 0.01, (own, again))
    expect(own["rmsle"] < own["linear_rmsle"], own)
    with open(os.path.join(ROOT, "docs", "results", "2026-11-predict.md")) as f:
        expect(f"**{own['rmsle']:.3f}**" in f.read(), f"the page does not say {own['rmsle']:.3f}")


def measured(folder, layers, path):
    """Programs that ran are looked up, and no others."""
    with Soft() as daemon:
        daemon.run([f"{BUILD}/test/predict/network", layers, "4"], SALUS_JOB_NAME="ran", SALUS_MARK="1")
        wait_for("the job in the history", lambda: daemon.ctl_json("history")["history"])
        said = json.loads(ctl("--run-dir", daemon.run_dir, "predict", path, "--name", "ran", "--json").stdout)
        expect(said["source"] == "measured" and said["persistent_bytes"] > 0 and 0 < said["utilisation"] <= 1, said)
        table = os.path.join(folder, "one.csv")
        with open(table, "w") as f:
            f.write(ctl("--run-dir", daemon.run_dir, "predict", path, "--name", "ran", "--features", "--family", 'a "b", c').stdout)
        with open(table) as f:
            row = next(csv.DictReader(f))
        expect(row["family"] == 'a "b", c' and row["name"] == "ran" and row["Gemm"] == "3", row)
        expect(float(row["utilisation"]) == said["utilisation"] and int(row["persistent_bytes"]) == said["persistent_bytes"], row)
        refused(1, "at least two families", "--train", table, "-o", os.path.join(folder, "one.json"))
        refused(1, "the daemon's history has no job 'other' of yours", "--run-dir", daemon.run_dir, path, "--name", "other", "--features")
        text = ctl("--run-dir", daemon.run_dir, "predict", path, "--name", "ran").stdout
        expect("measured, not predicted: 'ran' ran 1 times" in text, text)
        said = json.loads(ctl("--run-dir", daemon.run_dir, "predict", path, "--name", "other", "--json").stdout)
        expect(said["source"] == "predicted", said)


def main():
    with tempfile.TemporaryDirectory(prefix="salus-predict-") as folder:
        layers, path = model(folder, families.lenet(4, 16), "net")
        bad_input(folder, path)
        answers(folder, path)
        training(folder, path)
        shipped(folder, path)
        measured(folder, layers, path)
    print("check-predict: salusctl predict as a process")


if __name__ == "__main__":
    main()
