# SPDX-License-Identifier: Apache-2.0
"""Replaces the parts of Ray that scripts/ray's scheduler imports, with a tuning job that calls the scheduler as Ray
Tune 2.60 does, over trials that are numbers. The next event is drawn at random from all possible ones. test/ray does
the same over Ray's own job (pretend.py).

    install()       before salus_fluid.scheduler is imported
"""
import random
import sys
from types import ModuleType, SimpleNamespace

IDLE_STEPS = 50  # steps without a possible event, after which the job hangs


class Trial:
    PENDING, RUNNING, PAUSED, TERMINATED, ERROR = "PENDING RUNNING PAUSED TERMINATED ERROR".split()

    def __init__(self, number, units, failures=0, saves=True):
        self.trial_id, self.units, self.saves = f"t{number:05}", units, saves
        self.config, self.stopping_criterion, self.trainable_name = {"epochs": units}, {}, "numbers"
        self.status, self.last_result, self.max_failures = Trial.PENDING, {}, failures
        self.temporary_state = SimpleNamespace(saving_to=None)
        self.run_metadata = SimpleNamespace(num_failures=0, invalidate_cache=lambda: None)
        self.placement_group_factory = PlacementGroupFactory([{"CPU": 1}])
        self.kept = self.done = 0  # units of its latest checkpoint, and of its process
        self.total_s = 0.0

    is_saving = property(lambda self: self.temporary_state.saving_to is not None)

    def is_finished(self):
        return self.status in (Trial.TERMINATED, Trial.ERROR)

    def should_recover(self):
        return self.run_metadata.num_failures <= self.max_failures

    def set_status(self, status):
        self.status = status

    def update_resources(self, resources):
        self.placement_group_factory = resources

    def init_local_path(self):
        pass

    def get_trainable_cls(self):
        return {"numbers": Function, "class": Class, "without": Trainable}[self.trainable_name]


class Trainable:
    def save_checkpoint(self, folder):
        raise NotImplementedError


FunctionTrainable = type("FunctionTrainable", (Trainable,), {"save_checkpoint": lambda self, folder: None})


class Function(FunctionTrainable):
    """A trial that is a function: saves what the function reports."""


class Class(Trainable):
    def save_checkpoint(self, folder):
        """Saves whenever it is asked to."""


class Callback:
    pass


class PlacementGroupFactory:
    def __init__(self, bundles):
        self.bundles = bundles


class TrialScheduler:
    CONTINUE, PAUSE, STOP, NOOP = "CONTINUE PAUSE STOP NOOP".split()


class FIFOScheduler(TrialScheduler):
    def on_trial_add(self, job, trial):
        pass

    on_trial_error = on_trial_remove = on_trial_add

    def on_trial_complete(self, job, trial, result):
        pass

    def on_trial_result(self, job, trial, result):
        return self.CONTINUE

    def choose_trial_to_run(self, job):
        return None


class ResourceChangingScheduler(TrialScheduler):
    def __init__(self, base=None, function=None):
        self._base_scheduler, self._base_trial_resources = base or FIFOScheduler(), None
        self._reallocated_trial_ids = set()

    def on_trial_add(self, job, trial, **_):
        self._base_trial_resources = self._base_trial_resources or trial.placement_group_factory
        self._base_scheduler.on_trial_add(job, trial)

    def on_trial_error(self, job, trial, **_):
        self._base_scheduler.on_trial_error(job, trial)

    def on_trial_remove(self, job, trial, **_):
        self._base_scheduler.on_trial_remove(job, trial)

    def on_trial_complete(self, job, trial, result, **_):
        self._base_scheduler.on_trial_complete(job, trial, result)


class BasicVariantGenerator:
    def __init__(self, trials):
        self.trials = trials

    def is_finished(self):
        return not self.trials


class Job:
    """Stands for Ray's TuneController: at each step its scheduler chooses a trial, and one event happens."""

    def __init__(self, scheduler, trials, seed=1, risk=0.0):
        self.seconds = lambda trial: 0.01  # seconds of the iteration that a trial ends
        self.scheduler, self.random, self.risk = scheduler, random.Random(seed), risk
        self._tune_controller, self._reuse_actors = self, False
        self.search_alg = self._search_alg = BasicVariantGenerator(list(trials))
        self.trials, self._pending_trials, self._cached_trial_decisions = [], set(), {}
        self.events, self.idle, self.starts = [], 0, 0  # events: (trial, kind of event)
        self._callbacks = SimpleNamespace(_callbacks=[])

    def get_live_trials(self):
        return [t for t in self.trials if not t.is_finished()]

    def get_trials(self):
        return self.trials

    def _set_trial_status(self, trial, status):
        self._pending_trials.discard(trial)
        if status == Trial.PENDING:
            self._pending_trials.add(trial)
        trial.set_status(status)

    def run(self):
        """Runs until the last trial has ended."""
        try:
            while self.search_alg.trials or self.get_live_trials():
                self.step()
        finally:
            self.cleanup()

    def stop_all(self):
        """Stops the job as time_budget_s does: the scheduler is not told."""
        self.search_alg.trials = []
        for trial in self.get_live_trials():
            self._set_trial_status(trial, Trial.TERMINATED)
        self.cleanup()

    def cleanup(self):
        for callback in self._callbacks._callbacks:
            callback.on_experiment_end(trials=self.trials)

    def step(self):
        if self.search_alg.trials:
            trial = self.search_alg.trials.pop(0)
            self.trials.append(trial)
            self.scheduler.on_trial_add(self, trial)
        chosen = self.scheduler.choose_trial_to_run(self)
        if chosen:
            assert chosen.status == Trial.PAUSED, f"{chosen.trial_id} is chosen, and {chosen.status}"
            self._set_trial_status(chosen, Trial.PENDING)
            self.events.append((chosen, self.start))
        self.idle = 0 if self.events or self.search_alg.trials else self.idle + 1
        assert self.idle < IDLE_STEPS, f"it stands still: {[(t.trial_id, t.status) for t in self.get_live_trials()][:5]}"
        if self.events:
            trial, what = self.events.pop(self.random.randrange(len(self.events)))
            what(trial)

    # ---- events of a trial ---------------------------------------------------------------------

    def start(self, trial):
        self.starts += 1
        trial.done = trial.kept
        self._set_trial_status(trial, Trial.RUNNING)
        self.events.append((trial, self.train))

    def train(self, trial):
        if self.random.random() < self.risk:
            self.fail(trial)
        elif trial.done >= trial.units:
            self.end(trial)
        else:
            self.report(trial)

    def report(self, trial):
        trial.done += 1
        took_s = self.seconds(trial)
        trial.total_s += took_s
        result = {"training_iteration": trial.done, "time_this_iter_s": took_s, "time_total_s": trial.total_s,
                  "should_checkpoint": trial.saves}
        action = self.scheduler.on_trial_result(self, trial, result)
        trial.last_result = result
        if trial.saves:
            trial.temporary_state.saving_to = "a checkpoint"
            self.events.append((trial, lambda trial: self.save(trial, action)))
        else:
            self.act(trial, action)

    def save(self, trial, action):
        trial.temporary_state.saving_to = None
        trial.kept = trial.done
        self.act(trial, self._cached_trial_decisions.pop(trial.trial_id, action))

    def act(self, trial, action):
        if action == TrialScheduler.CONTINUE:
            self.events.append((trial, self.train))
        elif action == TrialScheduler.PAUSE:
            if issubclass(trial.get_trainable_cls(), Class):
                trial.kept = trial.done
            self._set_trial_status(trial, Trial.PAUSED)
        elif action == TrialScheduler.STOP:
            self.end(trial)

    def end(self, trial):
        self.scheduler.on_trial_complete(self, trial, trial.last_result)
        self._set_trial_status(trial, Trial.TERMINATED)

    def stop_trial(self, trial):
        """Stops a trial that its algorithm has paused."""
        self.scheduler.on_trial_remove(self, trial)
        self._set_trial_status(trial, Trial.TERMINATED)

    def fail(self, trial):
        trial.run_metadata.num_failures += 1
        again = trial.should_recover()
        self._set_trial_status(trial, Trial.ERROR)
        self.scheduler.on_trial_error(self, trial)
        if again:
            self._set_trial_status(trial, Trial.PENDING)
            self.scheduler.on_trial_add(self, trial)


class Group:
    """Ray's placement groups: `held` has those that were not returned."""
    held, made = [], []

    def __init__(self, bundles):
        self.bundles = bundles
        self.held.append(self)
        self.made.append(self)

    def wait(self, seconds):
        return True


def modules():
    """Returns {name: stand-in for the module}."""
    util = SimpleNamespace(placement_group=Group, remove_placement_group=lambda group: group in Group.held and Group.held.remove(group))
    kept = {}
    return {
        "ray": {"nodes": lambda: [{"Alive": True, "Resources": {"GPU": 2}}], "cluster_resources": lambda: {"GPU": 2}, "util": util},
        "ray.tune": {"Callback": Callback}, "ray.tune.execution": {}, "ray.experimental": {},
        "ray.tune.execution.placement_groups": {"PlacementGroupFactory": PlacementGroupFactory},
        "ray.tune.experiment": {"Trial": Trial},
        "ray.tune.schedulers": {"ResourceChangingScheduler": ResourceChangingScheduler, "TrialScheduler": TrialScheduler},
        "ray.tune.registry": {"get_trainable_cls": lambda name: object, "register_trainable": lambda name, made: None},
        "ray.experimental.internal_kv": {"_internal_kv_put": lambda key, text, overwrite: kept.update({key: text}),
                                         "_internal_kv_del": lambda key: kept.pop(key, None), "_internal_kv_get": kept.get,
                                         "kept": kept},
    }


def install():
    for name, content in modules().items():
        made = sys.modules[name] = ModuleType(name)
        vars(made).update(content)
