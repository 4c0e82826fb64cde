# SPDX-License-Identifier: Apache-2.0
"""TrialGroups of Ray Tune's own algorithms (thesis, section 3.3.2): which trials belong together, and how
many units of time (Ray's time_attr, mostly iterations) each has until its algorithm decides again. Ray's
schedulers are looked at by what they are called, so that Ray is not needed here."""

UNKNOWN = 100  # units of a trial about which nobody says anything: that all are alike is what matters
UNIT = "training_iteration"


def kind(scheduler):
    """The name of the nearest class that is known here, or "" where it is none, or chooses in a way of its own."""
    known = ("HyperBandForBOHB", "HyperBandScheduler", "AsyncHyperBandScheduler", "PopulationBasedTraining",
             "MedianStoppingRule", "FIFOScheduler")
    for c in type(scheduler).__mro__:
        if c.__name__ in known:
            return c.__name__
        if "choose_trial_to_run" in vars(c):
            return ""
    return ""


def saves_when_asked(trial):
    """Of a trial's class: a function has no checkpoint but those that it reports."""
    saves = next((c.__name__ for c in trial.get_trainable_cls().__mro__ if "save_checkpoint" in vars(c)), "Trainable")
    return saves not in ("Trainable", "FunctionTrainable")


def unit(scheduler):
    return getattr(scheduler, "_time_attr", None) or UNIT


def total(trial, attribute, budget=None):
    """All units of a trial: as said to fluid(budget=), else its stopping criterion's, else UNKNOWN."""
    if callable(budget):
        return budget(trial.config)
    said = budget if budget is not None else (trial.stopping_criterion or {}).get(attribute)
    return UNKNOWN if said is None else said


def rung(scheduler, trial, done):
    """ASHA's next rung above `done`, or its last one."""
    bracket = scheduler._trial_info.get(trial.trial_id)
    milestones = [m for m, _ in getattr(bracket, "_rungs", [])]
    return min([m for m in milestones if m > done], default=scheduler._max_t)


def milestone(scheduler, trial, done):
    """Units, from the trial's beginning, after which its algorithm decides; None: never."""
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
    """Units until then; more than none, for it has not ended."""
    whole = total(trial, unit(scheduler), budget)
    if not whole > 0:
        raise ValueError(f"{trial}: a budget of {whole} {unit(scheduler)}: it must be more than none")
    at = milestone(scheduler, trial, done)
    end = whole if at is None else at if whole == UNKNOWN else min(at, whole)
    return max(end - done, 1)


def group(scheduler, trial, arrival):
    """A name of its group; `arrival` is the same for trials that came together. Stages of a bracket are one
    after the other; where trials come one by one each is a group (sections 3.2.1 and 3.3.2)."""
    name = kind(scheduler)
    if name in ("HyperBandScheduler", "HyperBandForBOHB"):
        bracket = scheduler._trial_info.get(trial, (None, 0))[0]
        return "bracket", id(bracket), getattr(bracket, "_cumul_r", 0)
    if name == "PopulationBasedTraining" and scheduler._synch:
        return "generation", scheduler._next_perturbation_sync
    return "arrival", arrival


def wanted(scheduler, controller, paused):
    """Of trials that their algorithm made pause, those that it wants to go on."""
    name = kind(scheduler)
    if name in ("HyperBandScheduler", "HyperBandForBOHB"):
        if name == "HyperBandForBOHB":
            scheduler.choose_trial_to_run(controller)  # may decide about a bracket
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
    """Ray ends a bracket's stage at the result of the last of its trials. At the bracket's end it leaves those out whose
    checkpoint is on its way just then, and where the last trial fails there is no result: they would all wait for ever."""
    for bracket in {scheduler._trial_info[t][0] for t in paused if t in scheduler._trial_info}:
        live = set(bracket._live_trials)
        if live and live <= set(paused) and not live & bracket.trials_to_unpause and bracket.cur_iter_done():
            scheduler._process_bracket(controller, bracket)


def _end_generation(scheduler, controller, paused):
    """Ray ends a generation at the result of the last of its trials. Where that one ends or fails instead, all others would
    wait for ever, and so they do for one that has failed for good: it stays among Ray's live ones."""
    live = controller.get_live_trials()  # Ray's own set
    for t in [t for t in live if t.is_finished()]:
        live.discard(t)
    if live == set(paused) and all(scheduler._trial_state[t].last_train_time >= scheduler._next_perturbation_sync for t in live):
        scheduler.on_trial_result(controller, paused[0], scheduler._trial_state[paused[0]].last_result)


class _Empty:
    trials_to_unpause = ()
