# SPDX-License-Identifier: Apache-2.0
"""Ray Tune's own algorithms over Fluid, with real trials: each trial's states are those of a run alone with its configuration,
and where its configuration changes on the way, with these changes. Run by run_ray.py."""
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
    """The passes that PBT, by its own record, had a trial's weights go through: Ray reads that back for a replay."""
    path = os.path.join(results.experiment_path, f"pbt_policy_{trial_id}.txt")
    if not os.path.exists(path):
        return None
    replay = schedulers.PopulationBasedTrainingReplay(path)
    return [replay.config["passes"], *(config["passes"] for _, config in replay._policy)]


def population(s, synch):
    """(trials whose passes changed); of iterations as checkpoints have them, for Ray's record has the other trial's latest
    result, which may be later; of passes as Ray's record has them."""
    random.seed(5)  # of PBT's draws: else what it changes may be nothing
    base = schedulers.PopulationBasedTraining(time_attr="training_iteration", perturbation_interval=3, quantile_fraction=0.5, synch=synch,
                                              hyperparam_mutations={"passes": [10, 15, 20, 30, 40]})
    f = s.fluid(base, alpha=1.1)
    results = s.fit(grid(epochs=11, saves=True, wait=0.2), f)
    equal((len(results), [r.error for r in results]), (6, [None] * 6), "failures")
    for r in results:
        if r.config != r.metrics["config"]:
            continue  # changed after its last iteration
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
    """BOHB's, which needs what is not everywhere to be had."""
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
