# SPDX-License-Identifier: Apache-2.0
"""Fluid as Ray Tune's executor (thesis, section 3.5), around any of Ray's schedulers. That scheduler decides which
trials continue and which end. Fluid decides when a trial runs, where, and with which others.

For Ray, a trial that does not run yet is paused; Ray starts paused trials only when the scheduler chooses them. All
GPUs of the tuning job are one placement group of Ray; Ray sees only the other resources of each trial. A resize over
whole GPUs works as in Ray's ResourceChangingScheduler: a checkpoint, a pause, a restart.

Owner: TuneConfig. Thread: the tuning job's."""
import uuid
import weakref

import ray
from ray.tune import Callback
from ray.tune.execution.placement_groups import PlacementGroupFactory
from ray.tune.experiment import Trial
from ray.tune.schedulers import ResourceChangingScheduler, TrialScheduler

from . import groups, machine, seat
from .deaths import Deaths
from .overheads import Packing, Scaling, companies
from .planner import Planner

FIRST_UNIT_S = 1.0  # assumed for a unit of a trial before any trial has run one


class _Known:
    """The scheduler's knowledge of a trial that has not ended."""

    def __init__(self):
        self.unit_s = None  # seconds of a unit of time_attr, alone on one GPU
        self.done = 0       # units done
        self.up = False     # it has made an iteration since it was started
        self.place = None   # (GPUs, number of trials that shared them) since its latest result; None: it changed


class _Forgivable(Trial):
    """A trial of Ray that may forget failures. Ray asks once after each counted failure whether the trial may be
    restarted."""

    def should_recover(self):
        deaths = getattr(self.temporary_state, "deaths", None)  # Ray does not save this attribute with the trial
        if deaths:
            deaths.look(self)
        return super().should_recover()


class _End(Callback):
    """Tells the scheduler that the tuning job has ended: when it is stopped as a whole (time_budget_s, fail_fast, ...)
    Ray tells only its callbacks."""

    def __init__(self, fluid):
        self.fluid = fluid

    def on_experiment_end(self, trials, **info):
        self.fluid.stop()


class FluidScheduler(ResourceChangingScheduler):
    """gpus: how many of the machine's GPUs to use, None: all. packed, spread: the largest c and d. alpha, beta:
    overheads; None: measured, beginning with one trial per GPU. threshold: that of (3.1). restart_s: seconds that a
    restart from the latest checkpoint costs a trial; None: no trial is restarted to be resized. budget: units of a
    trial, or a function of its configuration. run_dir: salusd's; shim: the folder of its libcuda.so.1."""

    def __init__(self, scheduler=None, gpus=None, packed=4, spread=1, alpha=None, beta=None, threshold=0.05,
                 restart_s=None, budget=None, run_dir=None, shim=None):
        super().__init__(scheduler, self._width_of)
        check(gpus, packed, spread, alpha, beta, restart_s)
        self.wanted_gpus, self.packed, self.spread = gpus, packed, spread
        self.alpha, self.beta, self.threshold, self.restart_s = alpha, beta, threshold, restart_s
        self.budget, self.run_dir, self.shim_given = budget, run_dir, shim
        self.session = uuid.uuid4().hex[:8]
        self.planner = None   # exists while there are trials
        self.trials = {}      # trials of Fluid's plan, by id
        self.known = {}       # _Known by id
        self.told = {}        # budgets that a searcher gave: {trial id: (group, units)}
        self.joining = []     # trials that join in the next step
        self.left_out = {}    # trials that their algorithm paused, by id
        self.seats = {}       # GPUs of the started trials, by id
        self.seated_names = set()
        self.arrivals = 0
        self.log = []         # (what, trial, detail), for tests and for debugging

    def trial_group(self, trial_ids, budgets):
        """Declares that trials which a searcher is about to suggest belong together, with their ids and the units of
        each: the explicit call of the thesis (section 3.5)."""
        trial_ids, budgets = list(trial_ids), list(budgets)
        if len(trial_ids) != len(budgets):
            raise ValueError(f"{len(trial_ids)} trials were given {len(budgets)} budgets: give one for each")
        for budget in budgets:
            if not budget > 0:
                raise ValueError(f"a budget of {budget} is not above 0")
        name = "told", uuid.uuid4().hex
        self.told.update({t: (name, b) for t, b in zip(trial_ids, budgets)})

    # ---- the beginning -------------------------------------------------------------------------

    def _begin(self, controller):
        self.machine = machine.Machine(self.run_dir)
        self.shim = seat.find_shim(self.shim_given)
        self.there = self.machine.gpus()
        if not any(gpu.serves for gpu in self.there.values()):
            raise ValueError(f"none of salusd's {len(self.there)} GPUs is ready: see `salusctl gpu list`")
        self.numbers = sorted(self.there, key=lambda n: (not self.there[n].serves, n))[:self.wanted_gpus]
        if self.wanted_gpus and len(self.numbers) < self.wanted_gpus:
            raise ValueError(f"gpus={self.wanted_gpus}: salusd in {self.machine.run_dir} has only {len(self.there)} GPUs")
        nodes = [n for n in ray.nodes() if n["Alive"] and n["Resources"].get("GPU")]
        if len(nodes) > 1:
            raise ValueError(f"{len(nodes)} machines of the Ray cluster have GPUs, and Fluid's trials can share those of only one")
        self._reserve(len(self.numbers))
        self.planner = Planner(len(self.numbers), packed=self.packed, spread=self.spread, change_s=self.restart_s)
        self.serves = dict.fromkeys(self.numbers, True)
        self.deaths = Deaths(self.machine.gpus)
        most = self.packed if self.alpha is None else 1
        self.packing = Packing(self.planner.lib, most, self.threshold)
        self.scaling = Scaling(self.planner.lib, self.spread if self.beta is None else 1)
        callbacks = controller._callbacks  # Ray's list of callbacks; the inner list may be the user's
        if not any(isinstance(c, _End) for c in callbacks._callbacks):
            callbacks._callbacks = [*callbacks._callbacks, _End(self)]

    def _reserve(self, count):
        has = ray.cluster_resources().get("GPU", 0)
        if has < count:
            raise ValueError(f"Ray has {has:g} GPUs and salusd {count}: call ray.init(num_gpus={count}), or fluid(gpus=...)")
        group = ray.util.placement_group([{"GPU": 1}] * count)
        # Called at the end of the tuning job, or with the end of this scheduler when the job ends by an error.
        self.give_back = weakref.finalize(self, ray.util.remove_placement_group, group)
        if not group.wait(60):
            self.give_back()
            raise ValueError(f"other work of the Ray cluster uses some of the {count} GPUs: end it, or pass fewer as fluid(gpus=...)")

    def _finish(self):
        if self.planner:
            self.planner.close()
            self.machine.close()
            self.give_back()
        self.planner = None

    def stop(self):
        """Called when the tuning job has ended, perhaps before some of its trials."""
        if not self.planner:
            return
        self._finish()
        for trial_id in self.seats:
            seat.forget(self.session, trial_id)
        self.trials, self.joining, self.left_out, self.seats = {}, [], {}, {}

    # ---- Ray's calls ---------------------------------------------------------------------------

    def on_trial_add(self, tune_controller, trial, **kwargs):
        super().on_trial_add(tune_controller, trial, **kwargs)
        if trial.is_finished():
            return
        self.known.setdefault(trial.trial_id, _Known())
        try:
            self._left_s(trial)  # an invalid budget raises before any trial runs
        except ValueError:
            self._finish()
            raise
        controller = tune_controller._tune_controller
        if not self.planner:
            self._begin(controller)
        trial.__class__, trial.temporary_state.deaths = _Forgivable, self.deaths
        if trial in controller._pending_trials:
            controller._set_trial_status(trial, Trial.PAUSED)  # it failed and is to be restarted
        else:
            trial.set_status(Trial.PAUSED)
            slow_down(controller._search_alg, self)
        self._set_resources(trial, 1)
        trial.init_local_path()  # Ray does this at the start, but its reports read the path before
        if trial.trainable_name not in self.seated_names:
            seat.wrap(trial.trainable_name, self.session)
            self.seated_names.add(trial.trainable_name)
        if trial.trial_id not in self.trials:
            self.joining.append(trial)

    def on_trial_result(self, tune_controller, trial, result):
        self._learn(trial, result)
        action = self._base_scheduler.on_trial_result(tune_controller, trial, result)
        if action == TrialScheduler.CONTINUE:
            self.planner.left(trial.trial_id, self._left_s(trial))
            if self._has_to_move(trial, result):
                return TrialScheduler.PAUSE
        elif action == TrialScheduler.PAUSE or trial.status == Trial.PAUSED:
            self._leave(trial)
            self.left_out[trial.trial_id] = trial
        return action

    def on_trial_complete(self, tune_controller, trial, result, **kwargs):
        self._leave(trial)
        super().on_trial_complete(tune_controller, trial, result, **kwargs)
        self._forget(tune_controller, trial)

    def on_trial_remove(self, tune_controller, trial, **kwargs):
        self._leave(trial)
        super().on_trial_remove(tune_controller, trial, **kwargs)
        self._forget(tune_controller, trial)

    def on_trial_error(self, tune_controller, trial, **kwargs):
        """Called when the trial has failed. If it is to be restarted, on_trial_add follows."""
        self.log.append(("died", trial.trial_id, ""))
        self._leave(trial)
        super().on_trial_error(tune_controller, trial, **kwargs)
        self._forget(tune_controller, trial, again=trial.should_recover())

    def choose_trial_to_run(self, tune_controller, **kwargs):
        if not self.planner:
            return None
        if tune_controller._tune_controller._reuse_actors:
            raise ValueError("reuse_actors=True is not supported, since each process belongs to one trial: set it to False")
        self._come_back(tune_controller)
        if not self.planner:
            return None  # the algorithm has just stopped the last trials
        self._look()
        self._join()
        self._settle(tune_controller)
        for name, place in self._step().items():
            trial = self.trials[name]
            if place.runs and trial.status == Trial.PAUSED and not trial.is_saving and self._is_ready(place):
                self._seat(trial, place)
                return trial
        return None

    # ---- trials come and go --------------------------------------------------------------------

    def _join(self):
        if not self.joining:
            return
        self.arrivals += 1
        for trial in self.joining:
            name, _ = self.told.get(trial.trial_id, (None, 0))
            name = name or groups.group(self._base_scheduler, trial, self.arrivals)
            self.trials[trial.trial_id] = trial
            self.planner.join(trial.trial_id, hash(name) & (2**63 - 1), self._left_s(trial), **self._overheads())
        self.joining = []

    def _leave(self, trial):
        self.left_out.pop(trial.trial_id, None)
        self.joining = [t for t in self.joining if t is not trial]
        if self.trials.pop(trial.trial_id, None):
            self.planner.end(trial.trial_id)

    def _forget(self, tune_controller, trial, again=False):
        """Forgets a trial. When it was the last one, the tuning job has ended and Ray gets its GPUs back."""
        seat.forget(self.session, trial.trial_id)
        others = [t for t in tune_controller.get_live_trials() if t is not trial and not t.is_finished()]
        if not others and tune_controller.search_alg.is_finished() and not again:
            self._step()
            self._finish()

    def _come_back(self, tune_controller):
        paused = [t for t in self.left_out.values() if t.status == Trial.PAUSED and not t.is_saving]
        for trial in groups.wanted(self._base_scheduler, tune_controller, paused) if paused else ():
            del self.left_out[trial.trial_id]
            # Drops a stop that Ray cached. In synchronous mode, PBT may have stopped the trial's process while a
            # checkpoint was being written; Ray would carry the stop out at the trial's next checkpoint.
            tune_controller._tune_controller._cached_trial_decisions.pop(trial.trial_id, None)
            self.joining.append(trial)

    # ---- input of Fluid ------------------------------------------------------------------------

    def _overheads(self):
        alpha = self.packing.alpha if self.alpha is None else self.alpha
        beta = self.scaling.beta if self.beta is None else self.beta
        return {"alpha": alpha, "beta": beta, "packed": self.packing.c if self.alpha is None else self.packed,
                "spread": self.spread}

    def _left_s(self, trial):
        known = self.known[trial.trial_id]
        if trial.trial_id in self.told:
            units = max(self.told[trial.trial_id][1] - known.done, 1)
        else:
            units = groups.left(self._base_scheduler, trial, known.done, self.budget)
        return units * (known.unit_s or self._unit_s())

    def _unit_s(self):
        """Returns the assumed unit of a trial that has not run: the mean of the others."""
        times = [k.unit_s for k in self.known.values() if k.unit_s]
        return sum(times) / len(times) if times else FIRST_UNIT_S

    def _learn(self, trial, result):
        """Learns from a result how long a unit takes alone and how much the company slows it."""
        known = self.known[trial.trial_id]
        done = result.get(groups.unit(self._base_scheduler), 0)
        units, known.done, known.up = done - known.done, done, True
        here = self._companies().get(trial.trial_id)
        if here and here == known.place and units > 0:
            self._take(trial.trial_id, known, here, result["time_this_iter_s"], units)
        known.place = here

    def _take(self, name, known, here, took_s, units):
        """Compares the times of iterations, not of units: a unit may be a second, which company does not make
        longer."""
        gpus, company = here
        share = 1 / company if company > 1 else len(gpus)
        if len(gpus) > 1:
            self.scaling.add(name, len(gpus), took_s)
        else:
            self.packing.add(name, company, took_s)
            if company == 1:
                self.scaling.add(name, 1, took_s)
        over = self._overheads()
        known.unit_s = took_s / units / self.planner.lib.salus_fluid_run_ns(1.0, share, over["alpha"], over["beta"])
        changed = self.alpha is None and self.packing.look()
        if self.beta is None and self.spread > 1 and self.scaling.look() or changed:
            over = self._overheads()
            self.log.append(("known", name, dict(over)))
            for other in self.trials:
                self.planner.known(other, **over)

    # ---- output of Fluid -----------------------------------------------------------------------

    def _step(self):
        """Makes a step. Returns the trials that have GPUs. A trial whose GPUs or company changed gets no place: its
        current iteration is no measurement."""
        before = self.planner.placed
        self.planner.step()
        company = self._companies()
        for name in {**before, **self.planner.placed}:
            seen = self.known[name]
            if seen.place != company.get(name):
                seen.place = None
        return self.planner.placed

    def _companies(self):
        return companies(self.planner.placed, lambda name: self.known[name].up)

    def _look(self):
        """Notices GPUs that came or went, and sets the weights of jobs."""
        found = self.machine.look(self._weights())
        if found is not None:
            self.there = found
        for index, number in enumerate(self.numbers):
            here = number in self.there and self.there[number].serves
            if here != self.serves[number]:
                self._gpu(index, number, here)

    def _weights(self):
        return machine.weights(self.planner.placed, self.machine.weight_most)

    def _is_ready(self, place):
        """Returns whether all GPUs of the place are ready: a trial dies if it starts while a GPU's worker is still
        starting and is then given up."""
        return all(g in self.there and self.there[g].ready for g in (self.numbers[n] for n in place.gpus))

    def _gpu(self, index, number, here):
        self.serves[number] = here
        self.log.append(("gpu", str(number), here))
        self.planner.gpu(index, here)

    def _has_to_move(self, trial, result):
        """Returns whether the trial must stop at this iteration, because its resize over whole GPUs is planned or its
        GPU is gone. The iteration must have a checkpoint; without one the trial stays where it is, until it fails or
        ends."""
        place = self.planner.plan.get(trial.trial_id)
        if not place or place.runs and place.gpus == self.seats.get(trial.trial_id):
            return False
        saves = groups.saves_when_asked(trial) or bool(result.get("should_checkpoint"))
        if place.resizes and not saves and self.restart_s is not None:
            raise ValueError(f"{trial} must be restarted for a new share and has no checkpoint: report one, or call fluid(restart_s=None), which never restarts")
        return saves

    def _settle(self, tune_controller):
        """Reports paused trials that were to be resized: they have left their GPUs."""
        for name, place in self.planner.placed.items():
            trial = self.trials.get(name)
            if trial and place.resizes and trial.status == Trial.PAUSED and not trial.is_saving:
                self._set_resources(trial, len(place.gpus))
                self.planner.settled(name)

    def _seat(self, trial, place):
        numbers = [self.numbers[g] for g in place.gpus]
        weight = self._weights().get(trial.trial_id, self.machine.weight_most)
        self.log.append(("seat", trial.trial_id, numbers))
        self.seats[trial.trial_id] = place.gpus
        self.deaths.seated(trial, {n: self.there[n] for n in numbers})
        self.known[trial.trial_id].up = False  # the first iteration includes the start
        seat.put(self.session, trial.trial_id, seat.describe(trial.trial_id, numbers, weight, self.machine.run_dir, self.shim))

    def _set_resources(self, trial, width):
        """Sets the resources that Ray sees of the trial: the CPUs of `width` processes, and no GPU, since the tuning
        job holds those as a whole."""
        first = dict(self._base_trial_resources.bundles[0]) if self._base_trial_resources.bundles else {}
        first.pop("GPU", None)
        first["CPU"] = first.get("CPU", 0) * width
        trial.placement_group_factory = None
        trial.update_resources(PlacementGroupFactory([first]))
        self._reallocated_trial_ids.add(trial.trial_id)

    def _width_of(self, tune_controller, trial, result, scheduler):
        """Ray's hook for resizes; never resizes, since on_trial_result above decides."""
        return None

    def __getstate__(self):
        """Returns the state that Ray saves with the tuning job: the arguments of fluid(), for a restored job."""
        return {**self.__dict__, "planner": None, "machine": None, "packing": None, "scaling": None, "deaths": None, "give_back": None}

    def debug_string(self):
        return f"(Fluid: {self.planner.waiting if self.planner else 0} wait) {self._base_scheduler.debug_string()}"


def slow_down(algorithm, scheduler):
    """Asks learning searchers only for as many trials as can start: Ray's own limit counts pending trials, and ours are
    paused. The algorithm's own state stays as it is."""
    made = type(algorithm)
    if made.__name__ == "BasicVariantGenerator" or hasattr(made, "fluid"):
        return

    class Slow(made):
        fluid = scheduler

        def next_trial(self):
            planner = self.fluid.planner
            return None if self.fluid.joining or planner and planner.waiting else super().next_trial()

    Slow.__name__ = made.__name__
    algorithm.__class__ = Slow


def check(gpus, packed, spread, alpha, beta, restart_s):
    if gpus is not None and (not isinstance(gpus, int) or gpus < 1):
        raise ValueError(f"gpus={gpus!r}: give a number of 1 or more, or None for all")
    for name, value in (("packed", packed), ("spread", spread)):
        if not isinstance(value, int) or not 1 <= value <= 1024:
            raise ValueError(f"{name}={value!r}: give a number from 1 to 1024")
    for name, value in (("alpha", alpha), ("beta", beta)):
        if value is not None and not 1 <= value <= 1000 and not (name == "alpha" and value == 0):
            raise ValueError(f"{name}={value!r}: give a number from 1 to 1000" + (", or 0" if name == "alpha" else ""))
    if restart_s is not None and not 0 <= restart_s < 1e9:
        raise ValueError(f"restart_s={restart_s!r}: give a time in seconds, or None")
