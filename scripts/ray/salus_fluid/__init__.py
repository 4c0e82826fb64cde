# SPDX-License-Identifier: Apache-2.0
"""Lets Ray Tune's trials share the GPUs of a machine under Salus, with Fluid as planner:

    from salus_fluid import fluid
    tuner = tune.Tuner(train, tune_config=tune.TuneConfig(scheduler=fluid(ASHAScheduler(...)), ...))

docs/ray.md is the guide. Within a trial, gpus() returns the numbers of its GPUs, and start(argv, gpu) starts a program
on one of them that ends with the trial."""
from .seat import environment, gpus, start

__all__ = ["environment", "fluid", "gpus", "start"]


def fluid(scheduler=None, **options):
    """Returns a scheduler for TuneConfig that wraps `scheduler` (None: FIFO). The options are those of
    FluidScheduler."""
    from .scheduler import FluidScheduler  # Ray is needed only here
    return FluidScheduler(scheduler, **options)
