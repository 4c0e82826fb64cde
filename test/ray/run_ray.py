#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ray Tune with Fluid (scripts/ray) on two software GPUs: real trials, which end, die, are killed and lose
their GPU. Run by run.py, in the environment that has Ray.

    run_ray.py [--list] [NAME-PART...]
    run_ray.py --makespans [WAY...]         docs/results/2026-11-ray.md, some minutes; ROUNDS times
"""
import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
PATHS = [os.path.join(ROOT, p) for p in ("test/e2e", "test/ray")]
sys.path[:0] = PATHS
os.environ["PYTHONPATH"] = PATHS[1]
os.environ.update(SALUS_FLUID_LIBRARY=os.path.join(ROOT, os.environ.get("BUILD", "build"), "tune", "libsalus-fluid.so.1"),
                  RAY_AIR_NEW_OUTPUT="0", RAY_USAGE_STATS_ENABLED="0")

import ray
from ray import tune
from ray.tune import schedulers

import trial
import tutorial
from harness import BUILD, PATIENCE, program, run_tests, tool, wait_for
from run_gpus import Two, equal, script
from salus_fluid import fluid

SHIM = os.path.join(BUILD, "shim")


class Search:
    """A daemon with two GPUs, and a folder for all that is written."""

    def __init__(self, *options, states=None):
        self.daemon = Two(*options)
        self.states = {} if states is None else states  # of configurations alone

    def __enter__(self):
        with contextlib.ExitStack() as began:  # which ends what was begun where the rest fails
            began.callback(shutil.rmtree, self.daemon.run_dir, ignore_errors=True)
            self.folder = began.enter_context(tempfile.TemporaryDirectory(prefix="salus-search-", ignore_cleanup_errors=True))
            began.enter_context(self.daemon)
            self.site = self.describe()
            self.began = began.pop_all()
        return self

    def describe(self):
        """What a trial of test/ray/trial.py needs to know."""
        env = self.daemon.environment()
        return {"marks": self.folder, "program": program("tuned"),
                "environment": {"CUDA_VISIBLE_DEVICES": "0",  # a job has one GPU, whatever number Ray gives it
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

    def fluid(self, base=None, **options):
        return fluid(base, run_dir=self.daemon.run_dir, shim=SHIM, **options)

    def right(self, results, whole=True):
        """Each trial's state is that of its configuration alone; `whole`: after all of its iterations."""
        failed = [r.error for r in results if r.error]
        if failed:
            raise AssertionError(f"a trial failed: {failed[0]}")
        runs = [(r, r.config, json.loads(r.metrics["trail"])) for r in results]
        self.run_alone([(config, trail) for _, config, trail in runs])
        for r, config, trail in runs:
            done = r.metrics["epoch"]
            equal(r.metrics["state"], self.states[key(config, trail)][done - 1], f"state of {config} after {done}, {trail}")
            if whole:
                equal(done, config["epochs"], "iterations")

    def run_alone(self, runs):
        """Their states without Ray, one after the other, in a process of its own; those of fewer iterations begin alike."""
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
    """Process ids whose command line has it, but ours."""
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
    """Ray's placement groups that have a GPU now."""
    return [p for p in ray.util.placement_group_table().values()
            if p["state"] != "REMOVED" and any(b.get("GPU") for b in p["bundles"].values())]


def seats(scheduler):
    return [(name, gpus) for what, name, gpus in scheduler.log if what == "seat"]


def grid(**more):
    return {"lr": tune.grid_search([0.1, 0.2, 0.3]), "width": tune.grid_search([1, 2]), "epochs": 8, **more}


def test_a_grid_is_shared_and_right():
    with Search() as s:
        f = s.fluid(alpha=1.1, packed=4)
        s.right(s.fit(grid(), f))
        equal(len(seats(f)), 6, "starts of six trials")
        equal({g for _, gpus in seats(f) for g in gpus}, {0, 1}, "GPUs")


def test_weights_change_without_a_restart():
    """By budget: the long one of a GPU has more, and all the more as it falls behind."""
    with Search() as s:
        f = s.fluid(alpha=1.1, packed=2, gpus=1, budget=lambda config: config["epochs"])
        s.right(s.fit({"lr": 0.1, "width": 1, "epochs": tune.grid_search([20, 60])}, f))
        equal(len(seats(f)), 2, "starts of two trials")
        equal(f.machine.weights_set > 0, True, "weights that were set")


def test_overheads_are_measured():
    with Search() as s:
        f = s.fluid(packed=3)
        s.right(s.fit(grid(epochs=12), f))
        found = [detail["packed"] for what, _, detail in f.log if what == "known"]
        equal(found[:1], [2], "after one a GPU")


def test_a_trial_gets_both_gpus():
    with Search() as s:
        f = s.fluid(alpha=1, beta=1, packed=1, spread=2, restart_s=0.5, budget=lambda config: config["epochs"])
        results = s.fit({"lr": 0.1, "width": 1, "saves": True, "wait": 0.2, "epochs": tune.grid_search([5, 100])}, f)
        s.right(results)
        equal(max(r.metrics["gpus"] for r in results), 2, "GPUs of the longest at its end")
        equal(f.log[-1][0] == "seat" and len(f.log[-1][2]), 2, "its last seat")


def test_trials_that_die_are_not_lost():
    for how in ("raise", "kill"):
        with Search() as s:
            f = s.fluid(alpha=1.1)
            s.right(s.fit({**grid(epochs=6), "dies": how, "saves": True}, f, failures=1))
            equal(sum(what == "died" for what, *_ in f.log), 6, f"deaths by {how}")


def test_a_trial_that_dies_for_good_is_alone_in_that():
    with Search() as s:
        results = s.fit({**grid(epochs=6), "dies": tune.sample_from(lambda c: "raise" if c["lr"] == 0.1 else None)}, s.fluid(alpha=1.1))
        equal(sorted(bool(r.error) for r in results), [False] * 4 + [True] * 2, "failures")
        s.right([r for r in results if not r.error])


def test_a_gpu_goes_away():
    """Its worker is killed, and none starts again: its trials go on from their checkpoints on the other one, though Ray
    is to start none again that fails (max_failures of 0, as it comes)."""
    with tempfile.TemporaryDirectory() as folder:
        gone = os.path.join(folder, "gone")
        worker = script(os.path.join(folder, "worker"),
                        f'case " $* " in *" --gpu 1 "*) [ ! -e {gone} ] || exit 3 ;; esac\nexec {tool("salus-gpu")} "$@"\n')
        lose_a_gpu(gone, "--recovery", "no", "--worker", worker, "--worker-tries", "2")


def lose_a_gpu(gone, *options):
    with Search(*options) as s:
        f = s.fluid(alpha=1.1)
        kill = [s.daemon.gpu(1)["worker_pid"]]

        class Killer(tune.Callback):
            def on_trial_result(self, iteration, trials, trial, result, **_):
                if result["training_iteration"] == 3 and kill and (trial.trial_id, [1]) in seats(f):
                    with open(gone, "w"):
                        os.kill(kill.pop(), signal.SIGKILL)

        tuner = tune.Tuner(trial.train, param_space={"wait": 0.1, "passes": 20, "site": s.site, **grid(epochs=20), "saves": True},
                           tune_config=tune.TuneConfig(scheduler=f, metric="loss", mode="min"),
                           run_config=tune.RunConfig(storage_path=s.folder, verbose=0, callbacks=[Killer()]))
        s.right(tuner.fit())
        equal(("gpu", "1", False) in f.log, True, "the GPU was missed")
        after = f.log[f.log.index(("gpu", "1", False)):]
        equal({g for what, _, gpus in after if what == "seat" for g in gpus}, {0}, "GPUs after that")


def test_algorithms():
    for make in (lambda: schedulers.ASHAScheduler(max_t=8, grace_period=2, reduction_factor=2),
                 lambda: schedulers.HyperBandScheduler(max_t=9),
                 lambda: schedulers.MedianStoppingRule(grace_period=3),
                 lambda: schedulers.PopulationBasedTraining(perturbation_interval=3, hyperparam_mutations={"unused": [1, 2]})):
        with Search() as s:
            base = make()
            f = s.fluid(base, alpha=1.1)
            results = s.fit(grid(epochs=9, saves=True, unused=1), f)
            if not isinstance(base, schedulers.PopulationBasedTraining):  # whose trials go on from each other's states
                s.right(results, whole=False)
            equal([r.error for r in results], [None] * 6, f"failures under {type(base).__name__}")
            equal(len({name for name, _ in seats(f)}), 6, f"trials that ran under {type(base).__name__}")


def test_bad_input():
    with Search() as s:
        for options, why in (({"packed": 0}, "packed=0"), ({"alpha": 0.5}, "alpha=0.5"), ({"restart_s": -1}, "restart_s=-1"),
                             ({"gpus": 3}, "3 GPUs"), ({"budget": -5}, "a budget of -5"), ({"run_dir": "/nowhere"}, "no salusd")):
            try:
                fluid_options = {"run_dir": s.daemon.run_dir, "shim": SHIM, **options}
                s.fit(grid(), fluid(**fluid_options))
            except Exception as said:
                if why not in str(said):
                    raise AssertionError(f"{options}: {said}") from said
            else:
                raise AssertionError(f"{options} is taken")


def test_the_tutorial():
    """docs/tuning.md, from an empty environment to a search."""
    with tempfile.TemporaryDirectory(prefix="st-", dir="/tmp", ignore_cleanup_errors=True) as folder:
        out, watch = tutorial.follow(folder)
        equal(re.fullmatch(r"\{'seed': (\d|1[01])\}", out.strip().splitlines()[-1]) is not None, True, f"a configuration at its end:\n{out}")
        equal(watch.column("GPU"), {"0", "1"}, "GPUs of its trials")
        equal(len(watch.column("NAME")) > 2, True, f"trials that were seen: {watch.shown}")
        wait_for("nothing is left of it", lambda: not processes(folder), 60)


class HalfWay(Search):
    def describe(self):
        raise KeyError("half-way")


def test_what_fails_half_way_leaves_nothing():
    """Of the tests themselves: neither a daemon that did not start nor one that did outlives its Search."""
    for search in (Search("--no-such-option", "1"), HalfWay()):
        try:
            with search:
                raise AssertionError("it began")
        except (AssertionError, KeyError) as why:
            equal("ended at once" in str(why) or "half-way" in str(why), True, f"reason: {why}")
        equal([os.path.exists(p) for p in (search.folder, search.daemon.run_dir)], [False, False], "its folders")
        equal(processes(search.daemon.run_dir), [], "its processes")


def plain(share):
    return tune.with_resources(trial.train, {"cpu": 1, "gpu": share})


class Stamped(list):
    """A scheduler's log that knows when things happened."""

    def __init__(self):
        self.begin, self.at = time.monotonic(), []

    def append(self, entry):
        super().append(entry)
        self.at.append(time.monotonic() - self.begin)

    def known(self):
        """When c and alpha were found to be what."""
        return [f"{at:.0f} s: c={e[2]['packed']} alpha={e[2]['alpha']:.3f}" for at, e in zip(self.at, self) if e[0] == "known"]


def makespan(s, scheduler, train=None):
    space = {"lr": tune.grid_search([0.1, 0.2, 0.3]), "width": tune.grid_search([1, 2, 3]),
             "epochs": tune.grid_search([10, 20, 40]), "wait": 0.2, "passes": 20}
    begin = time.monotonic()
    results = s.fit(space, scheduler, train=train)
    took = time.monotonic() - begin
    equal(len(results), 27, "trials")
    s.right(results)
    return f"{took:.1f} s, {timeline(results)}"


def timeline(results):
    """Where the time went: iterations at once in the mean, from the first one that ended to the last; how long one takes."""
    ends = sorted((time_ for r in results for time_ in r.metrics_dataframe["timestamp"]))
    each = [took for r in results for took in r.metrics_dataframe["time_this_iter_s"][1:]]
    starts = [r.metrics_dataframe["time_this_iter_s"][0] for r in results]
    return (f"{sum(each) / (ends[-1] - ends[0]):.1f} at once, {sum(each) / len(each):.2f} s each, "
            f"the first of a trial {sum(starts) / len(starts):.2f} s")


def under_fluid(s, **options):
    f = s.fluid(packed=4, budget=lambda config: config["epochs"], **options)
    f.log = Stamped()
    return " ".join([makespan(s, f), *f.log.known()])


WAYS = {"FIFO": lambda s: makespan(s, None, plain(1)), "fractions": lambda s: makespan(s, None, plain(0.25)),
        "Fluid": under_fluid, "Fluid, told": lambda s: under_fluid(s, alpha=1.1)}


def makespans():
    """One way after the other, as often as ROUNDS says: what else the machine does hits all of them."""
    states, wanted = {}, [a for a in sys.argv[1:] if a in WAYS] or list(WAYS)
    for number in range(1, int(os.environ.get("ROUNDS", "1")) + 1):
        for name in wanted:
            with Search(states=states) as s:
                print(f"makespan of 27 trials on two GPUs, round {number}, {name}: {WAYS[name](s)}; load {os.getloadavg()[0]:.1f}", flush=True)


def main():
    """One Ray for all; its files, its token too, are in a folder that goes."""
    folder = tempfile.mkdtemp(prefix="sr-", dir="/tmp")  # short: Ray has sockets there
    os.environ["HOME"] = folder
    try:
        if "--list" not in sys.argv:
            ray.init(num_cpus=16, num_gpus=2, include_dashboard=False, object_store_memory=100 << 20, _temp_dir=folder,
                     log_to_driver=False)
        status = makespans() if "--makespans" in sys.argv else run_tests(globals())
        ray.shutdown()
        wait_for("no processes of Ray", lambda: not processes(folder), 60)
        return status
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
