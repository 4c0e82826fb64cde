# SPDX-License-Identifier: Apache-2.0
"""Ray Tune's own tuning job (TuneController) over simulated trials: numbers instead of processes, computed when the job
asks for an iteration. The next event is drawn at random from all possible ones, so a seed fixes the order of events,
and a thousand trials take a minute. A trial that waits for no event raises an error at once.

    with pretend.stage(seed) as stage: tuner.fit()
"""
import contextlib
import random
import uuid
from unittest import mock

import ray
from ray.air.execution._internal.tracked_actor import TrackedActor
from ray.train import Checkpoint
from ray.train._internal.session import _TrainingResult
from ray.tune.error import TuneError
from ray.tune.execution import tune_controller

IDLE_STEPS = 200  # rounds of the job's loop without a possible event, after which the job hangs


def step(state, iteration, passes):
    return (state * 6364136223846793005 + iteration * passes + 1) % 2**61


def loss(state, iteration):
    return 1 / (1 + iteration) + state % 1000 / 1000


def alone(seed, trail, iterations):
    """Returns the state after `iterations` iterations of a trial whose passes change as the trail tells: [[after,
    passes], ...]."""
    state = seed
    for iteration in range(1, iterations + 1):
        state = step(state, iteration, [p for after, p in trail if after < iteration][-1])
    return state


class StandsStill(Exception):
    pass


class Actor:
    """A trial's process as the job sees it. A trial that is a function reports its end with a last result."""

    def __init__(self, stage, config):
        self.stage, self.config = stage, config
        self.state, self.done, self.trail = int(config["seed"]), 0, []

    def train(self):
        if self.stage.random.random() < self.config.get("risk", 0):
            raise TuneError("it fails, as it may")
        if self.done >= self.config["epochs"]:
            return {"done": True, "__duplicate__": True}
        passes = self.config["passes"]
        if not self.trail or self.trail[-1][1] != passes:
            self.trail.append([self.done, passes])
        self.done += 1
        self.state = step(self.state, self.done, passes)
        return self.result()

    def result(self):
        return {"training_iteration": self.done, "time_this_iter_s": 0.01, "time_total_s": 0.01 * self.done, "done": False,
                "loss": loss(self.state, self.done), "state": self.state, "seed": int(self.config["seed"]), "trail": [*map(list, self.trail)],
                "should_checkpoint": bool(self.config.get("saves"))}

    def save(self):
        """Saves like a function: returns the checkpoint of its latest report, or none."""
        if not self.done or not self.config.get("saves"):
            return _TrainingResult(checkpoint=None, metrics={})
        path = self.stage.keep([self.state, self.done, self.trail])
        return _TrainingResult(checkpoint=Checkpoint(path), metrics=self.result())

    def restore(self, saved):
        if saved.checkpoint:
            self.state, self.done, trail = self.stage.kept[saved.checkpoint.path]
            self.trail = [*map(list, trail)]

    def stop(self):
        return None


class Handle:
    """The handle by which the job refers to a trial's process."""

    class get_auto_filled_metrics:
        @staticmethod
        def remote(**_):
            return {}


class Stage:
    """Replaces Ray's RayActorManager with the methods that the job calls. Events wait in one list and arrive in any
    order; only the tasks of one process run in the order in which they were asked for."""

    def __init__(self, seed, most):
        self.random, self.most = random.Random(seed), most
        self.kept, self.starts, self.idle = {}, 0, 0
        self.events = []  # (process, whether the event is a task, function to call)
        self.waiting, self.actors, self.failed = {}, {}, set()
        self._live_actors_to_ray_actors_resources = {}  # the job reads this name

    def keep(self, what):
        path = f"/kept/{len(self.kept)}"
        self.kept[path] = [what[0], what[1], [*map(list, what[2])]]
        return path

    # ---- processes -----------------------------------------------------------------------------

    def add_actor(self, cls, kwargs, resource_request, on_start=None, on_stop=None, on_error=None):
        actor = TrackedActor(uuid.uuid4().int, on_start=on_start, on_stop=on_stop, on_error=on_error)
        self.waiting[actor] = kwargs["config"]
        return actor

    def _launch(self):
        """Starts as many processes as there is room for; each becomes ready later."""
        for actor in list(self.waiting)[:max(self.most - len(self.actors), 0)]:
            self.actors[actor] = Actor(self, self.waiting.pop(actor))
            self._live_actors_to_ray_actors_resources[actor] = Handle(), None
            self.starts += 1
            self.events.append((actor, False, lambda actor=actor: actor._on_start(actor)))

    def remove_actor(self, actor, kill=False, stop_future=None):
        if actor in self.failed:
            return False
        if actor in self.waiting:
            del self.waiting[actor]
            return False
        started = [e for e in self.events if e[0] is actor and not e[1]]
        if started:  # the job hears nothing of a process that was not ready yet
            self.events = [e for e in self.events if e not in started]
            actor.set_on_stop(None)
            actor.set_on_error(None)
        self.events.append((actor, False, lambda: self._stopped(actor)))
        return True

    def _stopped(self, actor):
        self.clear_actor_task_futures(actor)
        del self.actors[actor], self._live_actors_to_ray_actors_resources[actor]
        if actor._on_stop:
            actor._on_stop(actor)

    def clear_actor_task_futures(self, tracked_actor):
        self.events = [e for e in self.events if e[0] is not tracked_actor or not e[1]]

    def is_actor_started(self, tracked_actor):
        return tracked_actor in self.actors and tracked_actor not in self.failed

    def is_actor_failed(self, tracked_actor):
        return tracked_actor in self.failed

    # ---- requests to processes -----------------------------------------------------------------

    def schedule_actor_task(self, tracked_actor, method_name, args=(), kwargs=None, on_result=None, on_error=None,
                            _return_future=False):
        if tracked_actor in self.waiting:
            return None  # to be stopped only, which needs no process
        try:
            answer = getattr(self.actors[tracked_actor], method_name)(*args)
            call = on_result and (lambda: on_result(tracked_actor, answer))
        except TuneError as why:
            answer, failed = None, why
            call = on_error and (lambda: on_error(tracked_actor, failed))
        if call:
            self.events.append((tracked_actor, True, call))
        return ray.put(answer) if _return_future and method_name == "save" else None

    # ---- the loop ------------------------------------------------------------------------------

    def next(self, timeout=None):
        self._launch()
        if not self.events:
            self.idle += 1
            if self.idle > IDLE_STEPS:
                raise StandsStill(f"after {self.starts} starts")
            return False
        self.idle = 0
        self.events.pop(self.random.randrange(len(self.events)))[2]()
        return True

    def cleanup(self):
        self.events, self.waiting, self.actors = [], {}, {}
        self._live_actors_to_ray_actors_resources = {}

    num_live_actors = property(lambda self: len(self.actors))
    num_pending_actors = property(lambda self: len(self.waiting))
    num_total_actors = property(lambda self: len(self.actors) + len(self.waiting))
    num_actor_tasks = property(lambda self: sum(task for _, task, _ in self.events))

    def get_live_actors_resources(self):
        return {"CPU": len(self.actors)}


@contextlib.contextmanager
def stage(seed, most=16):
    made = Stage(seed, most)
    with mock.patch.object(tune_controller, "RayActorManager", lambda resource_manager: made):
        yield made


def train(config):
    raise AssertionError("nobody runs this: it is what the job has a name of")
