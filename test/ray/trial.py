# SPDX-License-Identifier: Apache-2.0
"""A trial of the tests. It waits for its input, as trainings do, and computes its steps on the GPU by
test/e2e/programs/jobs/tuned.cu, on all its GPUs. Its loss depends on its configuration alone."""
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
    """Returns a loss that falls with the iterations, differently for each trial."""
    return 1 / (1 + iteration) + state % 1000003 / 1000003


class Model:
    """The GPU programs of a trial, one per GPU."""

    def __init__(self, site, gpus):
        pipes = dict(stdin=-1, stdout=-1, text=True)
        if not salus_fluid.gpus():  # a trial without Fluid has no environment from it
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
    """Returns (state, trail). The trail lists [iterations, passes]: after so many iterations the weights went on with
    so many passes, from the first iteration on, in whichever trial that was."""
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
    """Fails as the configuration tells ("raise", "exit" or "kill" at an iteration), once for each mark."""
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
    gpus = salus_fluid.gpus() or [int(ray.get_gpu_ids()[0])]  # Ray without Fluid
    model = Model(config["site"], gpus)
    state, done, trail = begin(config)
    for iteration in range(done + 1, config["epochs"] + 1):
        misbehave(config, iteration)
        time.sleep(config["wait"])
        state = model.step(state, iteration, config["passes"])
        report(config, state, iteration, gpus, trail)
    model.close()


def alone(config, trail):
    """Returns the states after each iteration, computed without Ray and with the GPU to itself; `trail` as above."""
    model, state, states = Model(config["site"], [0]), seed(config), []
    for iteration in range(1, config["epochs"] + 1):
        passes = [p for after, p in trail if after < iteration][-1]
        state = model.step(state, iteration, passes)
        states.append(str(state))
    model.close()
    return states
