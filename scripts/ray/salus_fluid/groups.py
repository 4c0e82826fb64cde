# SPDX-License-Identifier: Apache-2.0
"""TrialGroups of Ray Tune's own algorithms (thesis, section 3.3.2): which trials belong together, and how many units of
time (Ray's time_attr, mostly iterations) each has until its algorithm decides again. Ray's schedulers are recognised by
their class names, so that this module does not import Ray."""

UNKNOWN = 100  # units of a trial whose length nobody gives: only that all trials have the same matters
UNIT = "training_iteration"


def kind(scheduler):
    """Returns the name of the nearest class that this module knows; "" when there is none, or when the class chooses
    trials in its own way."""
    known = ("HyperBandForBOHB", "HyperBandScheduler", "AsyncHyperBandScheduler", "PopulationBasedTraining",
             "MedianStoppingRule", "FIFOScheduler")
    for c in type(scheduler).__mro__:
        if c.__name__ in known:
            return c.__name__
        if "choose_trial_to_run" in vars(c):
            return ""
    return ""


def saves_when_asked(trial):
    """Returns whether a trial of this class can save a checkpoint on request: a function has only those that it
    reports."""
    saves = next((c.__name__ for c in trial.get_trainable_cls().__mro__ if "save_checkpoint" in vars(c)), "Trainable")
    return saves not in ("Trainable", "FunctionTrainable")


def unit(scheduler):
    return getattr(scheduler, "_time_attr", None) or UNIT


def total(trial, attribute, budget=None):
    """Returns all units of a trial: fluid(budget=), else its stopping criterion's, else UNKNOWN."""
    if callable(budget):
        return budget(trial.config)
    said = budget if budget is not None else (trial.stopping_criterion or {}).get(attribute)
    return UNKNOWN if said is None else said


def rung(scheduler, trial, done):
    """Returns ASHA's next rung above `done`, or its last one."""
    bracket = scheduler._trial_info.get(trial.trial_id)
    milestones = [m for m, _ in getattr(bracket, "_rungs", [])]
    return min([m for m in milestones if m > done], default=scheduler._max_t)


def milestone(scheduler, trial, done):
    """Returns the units from the trial's beginning after which its algorithm decides; None: never."""
    name = kind(scheduler)
    if name == "AsyncHyperBandScheduler":
        return rung(scheduler, trial, done)
    if name in ("HyperBandScheduler", "HyperBandForBOHB"):
        bracket = scheduler._trial_info.get(trial, (None, 0))[0]
        return bracket._cumul_r if bracket else None
    if name == "PopulationBasedTraining" and scheduler._synch:
        return scheduler._next_perturbation_sync
    return None


def left(scheduler, trial, done, budget=None):
    """Returns the units until the next decision; at least 1, for the trial has not ended."""
    whole = total(trial, unit(scheduler), budget)
    if not whole > 0:
        raise ValueError(f"{trial}: a budget of {whole} {unit(scheduler)} is not above 0")
    at = milestone(scheduler, trial, done)
    end = whole if at is None else at if whole == UNKNOWN else min(at, whole)
    return max(end - done, 1)


def group(scheduler, trial, arrival):
    """Returns a name of the trial's group; `arrival` is the same for trials that came together. The stages of a bracket
    are successive groups; where trials come one by one, each is a group (sections 3.2.1 and 3.3.2)."""
    name = kind(scheduler)
    if name in ("HyperBandScheduler", "HyperBandForBOHB"):
        bracket = scheduler._trial_info.get(trial, (None, 0))[0]
        return "bracket", id(bracket), getattr(bracket, "_cumul_r", 0)
    if name == "PopulationBasedTraining" and scheduler._synch:
        return "generation", scheduler._next_perturbation_sync
    return "arrival", arrival


def wanted(scheduler, controller, paused):
    """Returns those of the paused trials that their algorithm wants to continue."""
    name = kind(scheduler)
    if name in ("HyperBandScheduler", "HyperBandForBOHB"):
        if name == "HyperBandForBOHB":
            scheduler.choose_trial_to_run(controller)  # this call may end a bracket's stage
        else:
            _end_stages(scheduler, controller, paused)
        return [t for t in paused if t in scheduler._trial_info.get(t, (_Empty, 0))[0].trials_to_unpause]
    if name == "PopulationBasedTraining" and scheduler._synch:
        _end_generation(scheduler, controller, paused)
        return [t for t in paused if scheduler._trial_state[t].last_train_time < scheduler._next_perturbation_sync]
    if name:
        return list(paused)
    chosen = scheduler.choose_trial_to_run(controller)
    return [chosen] if chosen in paused else []


def _end_stages(scheduler, controller, paused):
    """Ends stages that Ray never ends. Ray ends a bracket's stage at the result of its last trial. At the bracket's end
    it skips trials whose checkpoint is still being written. When the last trial fails there is no result, and all
    others would wait for ever."""
    for bracket in {scheduler._trial_info[t][0] for t in paused if t in scheduler._trial_info}:
        live = set(bracket._live_trials)
        if live and live <= set(paused) and not live & bracket.trials_to_unpause and bracket.cur_iter_done():
            scheduler._process_bracket(controller, bracket)


def _end_generation(scheduler, controller, paused):
    """Ends a generation that Ray never ends. Ray ends it at the result of its last trial; if that trial ends or
    fails instead, all others wait for ever. The same happens after a trial has failed for good: it stays in Ray's
    live set."""
    live = controller.get_live_trials()  # Ray's own set, not a copy
    for t in [t for t in live if t.is_finished()]:
        live.discard(t)
    if live == set(paused) and all(scheduler._trial_state[t].last_train_time >= scheduler._next_perturbation_sync for t in live):
        scheduler.on_trial_result(controller, paused[0], scheduler._trial_state[paused[0]].last_result)


class _Empty:
    trials_to_unpause = ()
