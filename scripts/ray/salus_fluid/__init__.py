# SPDX-License-Identifier: Apache-2.0
"""Ray Tune's trials share the GPUs of a machine under Salus, as Fluid plans it:

    from salus_fluid import fluid
    tuner = tune.Tuner(train, tune_config=tune.TuneConfig(scheduler=fluid(ASHAScheduler(...)), ...))

docs/ray.md says how. In a trial, gpus() are the numbers of its GPUs, and start(argv, gpu) starts a program
that is to run on one of them, and ends with the trial."""
from .seat import environment, gpus, start

__all__ = ["environment", "fluid", "gpus", "start"]


def fluid(scheduler=None, **options):
    """A scheduler for TuneConfig around `scheduler` (None: FIFO); options are those of FluidScheduler."""
    from .scheduler import FluidScheduler  # Ray is needed from here on
    return FluidScheduler(scheduler, **options)
