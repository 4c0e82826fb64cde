# SPDX-License-Identifier: Apache-2.0
"""Runs Ray Tune's own tuning job over Fluid with simulated trials (pretend.py): a thousand trials, and every algorithm
with random orders of events and failing trials. Run by run_ray.py."""
import contextlib
import logging
import os
import time
import uuid
from unittest import mock

import pretend
from search import Search, equal, seats, tune
from many import Timed
from test_algorithms import searcher
from ray.tune import schedulers
from ray.tune.experiment import Trial

SEEDS = int(os.environ.get("SEEDS", "5"))  # seeds of each algorithm


@contextlib.contextmanager
def silence():
    """Silences Ray, which logs each failed trial at length and finally that none has written anything."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


def fit(s, scheduler, space, seed, failures=0, **config):
    """Returns (the job's trials, the stage)."""
    with pretend.stage(seed) as stage, mock.patch.dict(os.environ, TUNE_DISABLE_AUTO_CALLBACK_LOGGERS="1"), silence():
        tuner = tune.Tuner(pretend.train, param_space={"passes": 7, "saves": True, **space},
                           tune_config=tune.TuneConfig(scheduler=scheduler, metric="loss", mode="min", **config),
                           run_config=tune.RunConfig(storage_path=s.folder, name=uuid.uuid4().hex, verbose=0,
                                                     failure_config=tune.FailureConfig(max_failures=failures)))
        return tuner.fit()._experiment_analysis.trials, stage


def right(trials, whole):
    """Checks that each trial has ended with the state of its configuration run alone, or has failed for good. Returns
    the number of failed ones."""
    failed = 0
    for t in trials:
        if t.status == Trial.ERROR:
            failed += 1
            continue
        r = t.last_result
        equal(t.status, Trial.TERMINATED, "status")
        equal(r["state"], pretend.alone(r["seed"], r["trail"], r["training_iteration"]), f"state of {r['seed']} after {r['trail']}")
        if whole:
            equal(r["training_iteration"], t.config["epochs"], f"iterations of {t.config}")
    return failed


def test_a_thousand_trials_more_than_gpus():
    """1,002 trials on two GPUs, some of which fail and are restarted: each ends, and no GPU ever has more than c."""
    with Search() as s:
        f = s.fluid(make=Timed, alpha=1.1, packed=4, budget=lambda config: config["epochs"])
        begin = time.monotonic()
        trials, stage = fit(s, f, {"seed": tune.grid_search(list(range(1002))), "epochs": tune.sample_from(lambda c: 1 + c["seed"] % 5),
                                   "risk": 0.01}, 1, failures=9)
        equal((len(trials), right(trials, True)), (1002, 0), "trials, failures")
        equal(len({name for name, _ in seats(f)}), 1002, "trials that had a GPU")
        deaths = sum(what == "died" for what, *_ in f.log)
        equal((stage.starts, deaths > 0), (1002 + deaths, True), "starts, deaths")
        print(f"  1,002 trials: {time.monotonic() - begin:.1f} s, {stage.starts} starts", *f.costs(), sep="\n", flush=True)


def test_a_search_that_is_stopped_as_a_whole():
    """Ray does not tell its scheduler that the search was stopped. Search checks at its end that Ray has its GPUs
    back."""
    with Search() as s:
        f = s.fluid(alpha=1.1)
        trials, _ = fit(s, f, {"seed": tune.grid_search(list(range(12))), "epochs": 10**9}, 1, time_budget_s=2)
        equal(({t.status for t in trials}, f.planner), ({Trial.TERMINATED}, None), "trials, and what is left of the plan")


def population(synch):
    return schedulers.PopulationBasedTraining(time_attr="training_iteration", perturbation_interval=2, quantile_fraction=0.5, synch=synch,
                                              hyperparam_mutations={"passes": [3, 5, 7, 11]})


ALGORITHMS = {
    "grid": (lambda: None, True),
    "ASHA": (lambda: schedulers.ASHAScheduler(max_t=9, grace_period=1, reduction_factor=2), False),
    "Hyperband": (lambda: schedulers.HyperBandScheduler(max_t=9), False),
    "median": (lambda: schedulers.MedianStoppingRule(time_attr="training_iteration", grace_period=3), False),
    "PBT": (lambda: population(False), True),
    "PBT, synchronous": (lambda: population(True), True),
}


def in_any_order(name, make, whole, risk=0.0, failures=99, seeds=tune.grid_search(list(range(1, 13))), config=dict):
    """Runs a configuration of TuneConfig, made anew for each seed, in random orders of events."""
    failed = early = 0
    with Search() as s:
        for seed in range(1, SEEDS + 1):
            f = s.fluid(make(), alpha=1.1, packed=3)
            try:
                trials, _ = fit(s, f, {"seed": seeds, "epochs": 9, "risk": risk}, seed, failures=failures, **config())
                equal(len(trials), 12, "trials")
                failed += right(trials, whole)
                early += sum(t.status == Trial.TERMINATED and t.last_result["training_iteration"] < 9 for t in trials)
                equal(len({n for n, _ in seats(f)}), 12, "trials that had a GPU")
            except (AssertionError, pretend.StandsStill) as why:
                raise AssertionError(f"{name}, seed {seed}: {why}") from why
    equal(failed > 0, failures < 99, "trials that failed for good")
    equal(early > 0, not whole, f"trials that {name} stopped: {early}")


def test_every_algorithm_in_any_order():
    for name, (make, whole) in ALGORITHMS.items():
        in_any_order(name, make, whole)


def test_every_algorithm_in_any_order_with_failures():
    for name, (make, whole) in ALGORITHMS.items():
        in_any_order(name, make, whole, risk=0.03)


def test_nobody_waits_for_who_has_failed_for_good():
    for name in ("PBT, synchronous", "Hyperband"):
        in_any_order(name, *ALGORITHMS[name], risk=0.02, failures=0)


def test_bohb_in_any_order():
    bohb = searcher()
    in_any_order("BOHB", lambda: schedulers.HyperBandForBOHB(max_t=9), False, seeds=tune.randint(1, 1000),
                 config=lambda: {"search_alg": bohb(seed=1), "num_samples": 12})
