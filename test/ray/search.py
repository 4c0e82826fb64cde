# SPDX-License-Identifier: Apache-2.0
"""A search of the tests: a daemon with two software GPUs, trials of Ray Tune on them, and the checks of their
results."""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PATHS = [os.path.join(ROOT, p) for p in ("test/e2e/lib", "test/e2e/sharing", "test/ray")]
sys.path[:0] = PATHS
os.environ["PYTHONPATH"] = PATHS[1]
os.environ.update(SALUS_FLUID_LIBRARY=os.path.join(ROOT, os.environ.get("BUILD", "build"), "tune", "libsalus-fluid.so.1"),
                  RAY_AIR_NEW_OUTPUT="0", RAY_USAGE_STATS_ENABLED="0")

import ray
from ray import tune

import trial
from harness import BUILD, PATIENCE, program, wait_for
from run_gpus import Two, equal
from salus_fluid import fluid

SHIM = os.path.join(BUILD, "shim")


class Search:
    """A daemon with two GPUs, and a temporary folder for all files."""

    def __init__(self, *options, states=None):
        self.daemon = Two(*options)
        self.states = {} if states is None else states  # final states by configuration, each run alone

    def __enter__(self):
        with contextlib.ExitStack() as began:  # cleans up if a later step fails
            began.callback(shutil.rmtree, self.daemon.run_dir, ignore_errors=True)
            self.folder = began.enter_context(tempfile.TemporaryDirectory(prefix="salus-search-", ignore_cleanup_errors=True))
            began.enter_context(self.daemon)
            self.site = self.describe()
            self.began = began.pop_all()
        return self

    def describe(self):
        """Returns what a trial of test/ray/trial.py needs to know."""
        env = self.daemon.environment()
        return {"marks": self.folder, "program": program("tuned"),
                "environment": {"CUDA_VISIBLE_DEVICES": "0",  # a job has one GPU, whichever number Ray gives the GPU
                                **{k: env[k] for k in ("SALUS_RUN_DIR", "LD_PRELOAD", "LD_LIBRARY_PATH")}}}

    def __exit__(self, kind, *_):
        with self.began:
            if not kind:
                self.nothing_is_left()

    def nothing_is_left(self):
        wait_for("no jobs", lambda: not self.daemon.jobs(), 60)
        wait_for("no programs of trials", lambda: not processes(program("tuned")), 60)
        equal(groups_of_gpus(), [], "GPUs that are not Ray's again")

    def fit(self, space, scheduler, failures=0, train=None, **config):
        tuner = tune.Tuner(train or trial.train, param_space={"wait": 0.05, "passes": 20, "site": self.site, **space},
                           tune_config=tune.TuneConfig(scheduler=scheduler, metric="loss", mode="min", **config),
                           run_config=tune.RunConfig(storage_path=self.folder, verbose=0,
                                                     failure_config=tune.FailureConfig(max_failures=failures)))
        return tuner.fit()

    def fluid(self, base=None, make=fluid, **options):
        return make(base, run_dir=self.daemon.run_dir, shim=SHIM, **options)

    def right(self, results, whole=True):
        """Checks that each trial's state is that of its configuration run alone. `whole`: after all of its
        iterations."""
        failed = [r.error for r in results if r.error]
        if failed:
            raise AssertionError(f"a trial failed: {failed[0]}")
        # Uses the configuration of the latest result: PBT may have given the trial another one since.
        runs = [(r, r.metrics["config"], json.loads(r.metrics["trail"])) for r in results]
        self.run_alone([(config, trail) for _, config, trail in runs])
        for r, config, trail in runs:
            done = r.metrics["epoch"]
            equal(r.metrics["state"], self.states[key(config, trail)][done - 1], f"state of {config} after {done}, {trail}")
            if whole:
                equal(done, config["epochs"], "iterations")

    def run_alone(self, runs):
        """Computes the states without Ray, one after the other, in a process of its own. Trials with fewer iterations
        have the same first states."""
        longest = {}
        for config, trail in sorted(runs, key=lambda run: run[0]["epochs"]):
            longest[key(config, trail)] = config, trail
        missing = {k: run for k, run in longest.items() if len(self.states.get(k, ())) < run[0]["epochs"]}
        if missing:
            code = "import json, sys, trial; print(json.dumps([trial.alone(*run) for run in json.load(sys.stdin)]))"
            done = subprocess.run([sys.executable, "-c", code], input=json.dumps(list(missing.values()), default=int), stdout=subprocess.PIPE,
                                  text=True, timeout=PATIENCE, check=True)
            self.states.update(zip(missing, json.loads(done.stdout)))


def key(config, trail):
    return config["lr"], config["width"], str(trail)


def processes(word):
    """Returns the ids of the processes with this text in their command line, except this one."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                if word.encode() in f.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def groups_of_gpus():
    """Returns Ray's placement groups that hold a GPU now."""
    return [p for p in ray.util.placement_group_table().values()
            if p["state"] != "REMOVED" and any(b.get("GPU") for b in p["bundles"].values())]


def seats(scheduler):
    return [(name, gpus) for what, name, gpus in scheduler.log if what == "seat"]


def grid(**more):
    return {"lr": tune.grid_search([0.1, 0.2, 0.3]), "width": tune.grid_search([1, 2]), "epochs": 8, **more}
