# SPDX-License-Identifier: Apache-2.0
"""Runs Ray Tune's own algorithms over Fluid with real trials. Each trial's states must equal those of a run alone with
the same configuration and, where the configuration changes during the run, the same changes. Run by run_ray.py."""
import json
import os
import random

from search import Search, equal, grid, seats, tune
from harness import Skipped
from ray.tune import schedulers


def test_algorithms():
    for make in (lambda: schedulers.ASHAScheduler(max_t=8, grace_period=2, reduction_factor=2),
                 lambda: schedulers.HyperBandScheduler(max_t=9),
                 lambda: schedulers.MedianStoppingRule(time_attr="training_iteration", grace_period=1, min_samples_required=2)):
        with Search() as s:
            base = make()
            f = s.fluid(base, alpha=1.1)
            results = s.fit(grid(epochs=9, saves=True), f)
            s.right(results, whole=False)
            equal([r.error for r in results], [None] * 6, f"failures under {type(base).__name__}")
            equal(len({name for name, _ in seats(f)}), 6, f"trials that ran under {type(base).__name__}")
            done = [r.metrics["epoch"] for r in results]
            equal(min(done) < max(done), True, f"{type(base).__name__} stopped some: {done}")


def recorded(results, trial_id):
    """Returns the passes of a trial's weights according to PBT's own record, which Ray reads for a replay."""
    path = os.path.join(results.experiment_path, f"pbt_policy_{trial_id}.txt")
    if not os.path.exists(path):
        return None
    replay = schedulers.PopulationBasedTrainingReplay(path)
    return [replay.config["passes"], *(config["passes"] for _, config in replay._policy)]


def population(s, synch):
    """Returns the trials whose passes changed. The iterations of changes come from the checkpoints, since Ray's record
    has the other trial's latest result, which may be later. The passes come from Ray's record."""
    random.seed(5)  # seeds PBT's draws: with others it may change nothing
    base = schedulers.PopulationBasedTraining(time_attr="training_iteration", perturbation_interval=3, quantile_fraction=0.5, synch=synch,
                                              hyperparam_mutations={"passes": [10, 15, 20, 30, 40]})
    f = s.fluid(base, alpha=1.1)
    results = s.fit(grid(epochs=11, saves=True, wait=0.2), f)
    equal((len(results), [r.error for r in results]), (6, [None] * 6), "failures")
    for r in results:
        if r.config != r.metrics["config"]:
            continue  # it was changed after its last iteration
        passes = [p for _, p in json.loads(r.metrics["trail"])]
        wanted = recorded(results, r.metrics["trial_id"]) or [r.config["passes"]]
        equal(passes, [p for p, before in zip(wanted, [None, *wanted]) if p != before], "passes")
    s.right(results)
    equal(base._num_perturbations > 0, True, "perturbations")
    return sum(len(json.loads(r.metrics["trail"])) > 1 for r in results)


def test_population_based_training():
    with Search() as s:
        equal(population(s, synch=False) > 0, True, "trials that went on with other passes")


def test_population_based_training_in_synchronous_mode():
    with Search() as s:
        equal(population(s, synch=True) > 0, True, "trials that went on with other passes")


def searcher():
    """Returns BOHB's searcher, which needs packages that may be missing."""
    try:
        import ConfigSpace  # noqa: F401
        import hpbandster  # noqa: F401
    except ImportError as why:
        raise Skipped(f"BOHB's searcher: {why}")
    from ray.tune.search.bohb import TuneBOHB
    return TuneBOHB


def test_bohb():
    made = searcher()
    with Search() as s:
        f = s.fluid(schedulers.HyperBandForBOHB(max_t=9), alpha=1.1)
        space = {"lr": tune.uniform(0.1, 1.0), "width": tune.choice([1, 2, 3]), "epochs": 9, "saves": True}
        results = s.fit(space, f, search_alg=made(seed=1), num_samples=12)
        equal((len(results), [r.error for r in results]), (12, [None] * 12), "failures")
        equal(len({name for name, _ in seats(f)}), 12, "trials that ran")
        done = [r.metrics["epoch"] for r in results]
        equal(max(done), 9, f"iterations of the best: {done}")
        equal(min(done) < 9, True, f"some were stopped: {done}")
        s.right(results, whole=False)
