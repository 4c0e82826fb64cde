#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests Ray Tune with Fluid (scripts/ray) on two software GPUs: real trials, which end, fail, are killed and lose their
GPU. run.py runs this in the environment with Ray. More tests are in test_algorithms.py and test_pretended.py.

    run_ray.py [--list] [NAME-PART...]
    run_ray.py --makespans [WAY...]         docs/results/2026-11-ray.md; ROUNDS times
    run_ray.py --many COUNT                 so many trials, each a process, and what Fluid's part of the job costs
"""
import os
import re
import shutil
import signal
import sys
import tempfile

# first: this module sets the import paths
from search import SHIM, Search, equal, grid, processes, program, ray, seats, trial, tune, wait_for
import makespans
import many
import test_algorithms
import test_pretended
import tutorial
from harness import run_tests, tool
from run_gpus import script
from salus_fluid import fluid


def test_a_grid_is_shared_and_right():
    with Search() as s:
        f = s.fluid(alpha=1.1, packed=4)
        s.right(s.fit(grid(), f))
        equal(len(seats(f)), 6, "starts of six trials")
        equal({g for _, gpus in seats(f) for g in gpus}, {0, 1}, "GPUs")


def test_weights_change_without_a_restart():
    """Weights follow the budgets: the longer trial of a GPU gets more, and still more as it falls behind."""
    with Search() as s:
        f = s.fluid(alpha=1.1, packed=2, gpus=1, budget=lambda config: config["epochs"])
        s.right(s.fit({"lr": 0.1, "width": 1, "epochs": tune.grid_search([20, 60])}, f))
        equal(len(seats(f)), 2, "starts of two trials")
        equal(f.machine.weights_set > 0, True, "weights that were set")


def test_a_user_whose_limits_are_as_they_come():
    """The user may give their jobs no weight above 1; salusd refuses each job that asks for more."""
    with Search() as s:
        s.daemon.ctl("user", "limit", str(os.geteuid()), "max_weight=1")
        f = s.fluid(alpha=1.1, packed=4)
        s.right(s.fit(grid(), f))
        equal((f.machine.weight_most, f.machine.weights_set), (1, 0), "weights")


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
    """A worker is killed and none starts again. Its trials continue from their checkpoints on the other GPU, though Ray
    may restart no failed trial (max_failures of 0, the default)."""
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


def test_bad_input():
    with Search() as s:
        for options, why in (({"packed": 0}, "packed=0"), ({"alpha": 0.5}, "alpha=0.5"), ({"restart_s": -1}, "restart_s=-1"),
                             ({"gpus": 3}, "gpus=3"), ({"budget": -5}, "a budget of -5"), ({"run_dir": "/nowhere"}, "no salusd")):
            try:
                fluid_options = {"run_dir": s.daemon.run_dir, "shim": SHIM, **options}
                s.fit(grid(), fluid(**fluid_options))
            except Exception as said:
                if why not in str(said):
                    raise AssertionError(f"{options}: {said}") from said
            else:
                raise AssertionError(f"{options} is taken")


def test_the_tutorial():
    """Follows docs/ray.md from an empty environment to a search."""
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
    """Checks the tests themselves: whether its start failed or not, no daemon outlives its Search."""
    for search in (Search("--no-such-option", "1"), HalfWay()):
        try:
            with search:
                raise AssertionError("it began")
        except (AssertionError, KeyError) as why:
            equal("ended at once" in str(why) or "half-way" in str(why), True, f"reason: {why}")
        equal([os.path.exists(p) for p in (search.folder, search.daemon.run_dir)], [False, False], "its folders")
        equal(processes(search.daemon.run_dir), [], "its processes")


def tests():
    found = {}
    for names in (vars(test_pretended), globals(), vars(test_algorithms)):
        found.update((n, f) for n, f in names.items() if callable(f))
    return found


def main():
    """Starts one Ray for all tests; its files, with its token, are in a temporary folder."""
    bench = makespans.run if "--makespans" in sys.argv else many.run if "--many" in sys.argv else None
    folder = tempfile.mkdtemp(prefix="sr-", dir="/tmp")  # a short path, for Ray has sockets there
    os.environ["HOME"] = folder
    try:
        if "--list" not in sys.argv:
            ray.init(num_cpus=16, num_gpus=2, include_dashboard=False, object_store_memory=100 << 20, _temp_dir=folder,
                     log_to_driver=False)
        status = bench() if bench else run_tests(tests())
        ray.shutdown()
        wait_for("no processes of Ray", lambda: not processes(folder), 60)
        return status
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
