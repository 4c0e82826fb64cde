# SPDX-License-Identifier: Apache-2.0
"""A trial of the tests: what it waits for its input, as trainings do, and what the GPU computes of a step by
test/e2e/programs/jobs/tuned.cu, on as many GPUs as it has. Its loss hangs on its configuration alone."""
import json
import os
import signal
import tempfile
import time

import ray
from ray import tune

import salus_fluid

SHARDS = 4


def seed(config):
    return 1 + round(1e6 * config["lr"]) * 1009 + config["width"] * 7


def loss(state, iteration):
    """Falls with the iterations, differently for each."""
    return 1 / (1 + iteration) + state % 1000003 / 1000003


class Model:
    """The programs of a trial, one a GPU."""

    def __init__(self, site, gpus):
        pipes = dict(stdin=-1, stdout=-1, text=True)
        if not salus_fluid.gpus():  # what Fluid's trials are told
            os.environ.update(site["environment"])
        self.programs = [salus_fluid.start([site["program"]], gpu, **pipes) for gpu in gpus]

    def step(self, state, iteration, passes):
        width, total = len(self.programs), 0
        for part, p in enumerate(self.programs):
            p.stdin.write(f"{state} {iteration} {part} {SHARDS} {width} {passes}\n")
            p.stdin.flush()
        for p in self.programs:
            line = p.stdout.readline()
            if not line:
                raise RuntimeError(f"its program ended: {p.wait()}")
            total += int(line)
        return total % 2**64

    def close(self):
        for p in self.programs:
            p.stdin.close()
            p.wait()


def begin(config):
    """(state, its trail): the trail are the iterations after which it went on with how many passes, from the first on,
    in whichever trial that was."""
    checkpoint = tune.get_checkpoint()
    state, done, trail = seed(config), 0, []
    if checkpoint:
        with checkpoint.as_directory() as folder, open(os.path.join(folder, "state")) as f:
            state, done, trail = json.load(f)
    if not trail or trail[-1][1] != config["passes"]:
        trail.append([done, config["passes"]])
    return state, done, trail


def report(config, state, iteration, gpus, trail):
    said = {"loss": loss(state, iteration), "state": str(state), "epoch": iteration, "gpus": len(gpus), "trail": json.dumps(trail)}
    if not config.get("saves"):
        tune.report(said)
        return
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "state"), "w") as f:
            json.dump([state, iteration, trail], f)
        tune.report(said, checkpoint=tune.Checkpoint.from_directory(folder))


def misbehave(config, iteration):
    """Once for each mark in the configuration: "raise", "exit" or "kill" at an iteration."""
    how = config.get("dies")
    mark = os.path.join(config["site"]["marks"], f"{how}-{config['lr']}-{config['width']}")
    if not how or iteration != 3 or os.path.exists(mark):
        return
    with open(mark, "w"):
        pass
    if how == "raise":
        raise RuntimeError("as it was told to")
    os.kill(os.getpid(), signal.SIGKILL)


def train(config):
    gpus = salus_fluid.gpus() or [int(ray.get_gpu_ids()[0])]  # Ray alone
    model = Model(config["site"], gpus)
    state, done, trail = begin(config)
    for iteration in range(done + 1, config["epochs"] + 1):
        misbehave(config, iteration)
        time.sleep(config["wait"])
        state = model.step(state, iteration, config["passes"])
        report(config, state, iteration, gpus, trail)
    model.close()


def alone(config, trail):
    """The states of all its iterations, without Ray and without anybody beside it; `trail` as above."""
    model, state, states = Model(config["site"], [0]), seed(config), []
    for iteration in range(1, config["epochs"] + 1):
        passes = [p for after, p in trail if after < iteration][-1]
        state = model.step(state, iteration, passes)
        states.append(str(state))
    model.close()
    return states
