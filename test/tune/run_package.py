#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the Python package that brings Fluid to Ray Tune (scripts/ray) without Ray: its planner over the library, its
scheduler under a stand-in for Ray's tuning job, its measurements, the groups of Ray's algorithms, salusd's control
socket, and the place of a trial on its GPUs.

    test/tune/run_package.py [TEST...]      BUILD: the build folder with the library; PACKAGE: another package to test
"""
import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from types import SimpleNamespace

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")
os.environ.setdefault("SALUS_FLUID_LIBRARY", os.path.join(ROOT, os.environ.get("BUILD", "build"), "tune", "libsalus-fluid.so.1"))
sys.path.insert(0, os.environ.get("PACKAGE", os.path.join(ROOT, "scripts", "ray")))
sys.dont_write_bytecode = True
from salus_fluid import control, deaths, groups, library, machine, overheads, planner, seat
from scheduler_test import SchedulerTest  # noqa: F401


class Clock:
    def __init__(self):
        self.s = 0.0

    def __call__(self):
        return round(self.s * 1e9)


def begin(gpus, budgets, clock=None, **options):
    p = planner.Planner(gpus, clock=clock or Clock(), **options)
    for name, budget in budgets.items():
        p.join(name, 1, budget, alpha=1, beta=1)
    p.step()
    return p


class PlannerTest(unittest.TestCase):
    def test_example(self):
        """The thesis's example, Fig. 3.5."""
        p = begin(5, {"a": 4, "b": 4, "c": 12, "d": 30}, packed=4, spread=5, flags=0)
        self.assertEqual([p.plan[n].share for n in "abcd"], [0.25, 0.25, 1, 3])
        self.assertEqual(p.plan["a"].gpus, p.plan["b"].gpus)
        self.assertEqual(len(set(p.plan["d"].gpus) | set(p.plan["c"].gpus)), 4)
        self.assertIsNone(p.broken())

    def test_refused(self):
        """An invalid budget raises an error that names the trial, and affects no other trial."""
        p = planner.Planner(1, clock=Clock())
        for name, budget in (("good", 5), ("negative", -1), ("none", 0), ("nan", float("nan")), ("endless", float("inf"))):
            p.join(name, 1, budget, alpha=1, beta=1)
        with self.assertRaisesRegex(planner.Refused, "negative: the budget must be above 0"):
            p.step()
        self.assertEqual(list(p.plan), ["good"])
        p.join("negative", 1, 5, alpha=1, beta=1)
        self.assertEqual(set(p.step()), {"good", "negative"})

    def test_twice(self):
        p = begin(1, {"a": 1})
        self.assertRaisesRegex(planner.Refused, "the trial exists already", p.join, "a", 1, 1, 1, 1)
        self.assertRaisesRegex(planner.Refused, "the trial is unknown", p.end, "b")

    def test_a_thousand_more_than_gpus(self):
        """Each trial runs once: all are planned, at most c per GPU, until the last has ended."""
        p = begin(2, {f"t{n}": 1 + n % 7 for n in range(1002)}, packed=4)
        ran = set()
        while p.plan:
            here = [n for n, place in p.plan.items() if place.runs]
            self.assertTrue(0 < len(here) <= 8)
            self.assertEqual(len(p.plan), 1002 - len(ran))
            ran.add(here[0])
            p.end(here[0])
            p.step()
        self.assertEqual(len(ran), 1002)

    def test_more_events_than_a_step_takes(self):
        p = planner.Planner(2, trials=16, packed=8, clock=Clock())
        for n in range(16):
            p.join(n, 1, 5, alpha=1, beta=1)
        for n in range(16):
            p.left(n, 3)
        self.assertEqual({round(place.left_s) for place in p.step().values()}, {3})

    def test_who_waits_is_another_one_when_that_was_said(self):
        """The plan reads nothing of trials that wait as before; but it reads one that an event names, and all when
        there are several batches."""
        p = begin(1, {"runs": 5, "waits": 4})
        self.assertEqual((p.plan["waits"].left_s, list(p.placed)), (4, ["runs"]))
        p.left("waits", 3)
        self.assertEqual(p.step()["waits"].left_s, 3)
        kept = p.plan["waits"]
        self.assertIs(p.step()["waits"], kept)
        p.end("runs")
        p.step()
        self.assertEqual((p.plan["waits"].runs, list(p.placed)), (True, ["waits"]))

    def test_who_lost_its_place_in_an_earlier_batch(self):
        p = planner.Planner(1, trials=2, clock=Clock())
        p.join("a", 1, 5, alpha=1, beta=1)
        p.step()
        p.gpu(0, False)
        for _ in range(8):
            p.left("a", 3)
        self.assertEqual((p.step()["a"].runs, p.placed), (False, {}))

    def test_gpu_goes_and_comes(self):
        p = begin(2, {"a": 5, "b": 5})
        p.gpu(0, False)
        p.step()
        self.assertEqual(sorted(place.runs for place in p.plan.values()), [False, True])
        p.gpu(0, True)
        self.assertTrue(all(place.runs for place in p.step().values()))

    def test_nobody_is_restarted_unless_that_was_said(self):
        for change_s, share in ((None, 1), (0.5, 2)):
            p = begin(2, {"a": 50, "b": 50}, spread=2, change_s=change_s)
            p.end("b")
            self.assertEqual(p.step()["a"].share, share)

    def test_time(self):
        clock = Clock()
        p = begin(1, {"a": 10}, clock)
        clock.s = 4
        self.assertAlmostEqual(p.step()["a"].left_s, 6)

    def test_known(self):
        """c is 1 at first. When it becomes 2, the waiting trial starts, and each has half a GPU."""
        p = planner.Planner(1, packed=4, clock=Clock())
        for name in "abc":
            p.join(name, 1, 50, alpha=1, beta=1, packed=1)
        p.step()
        self.assertEqual(p.waiting, 2)
        for name in "abc":
            p.known(name, 1.1, 1, packed=2)
        p.step()
        self.assertEqual((p.waiting, p.plan["a"].part), (1, 0.5))

    def test_configuration(self):
        self.assertRaisesRegex(ValueError, "at most 1024", planner.Planner, 5000)


class OverheadsTest(unittest.TestCase):
    def setUp(self):
        self.lib = library.load()

    def feed(self, packing, count, factor, trials=2):
        for t in range(trials):
            for _ in range(overheads.SAMPLES):
                packing.add(t, count, (t + 1) * factor)

    def test_a_trial_is_compared_with_itself(self):
        """Trials of very different length; different trials run alone and in company."""
        ladder = overheads.Ladder()
        for _ in range(overheads.SAMPLES):
            ladder.add("short", 1, 1.0)
            ladder.add("short", 2, 1.2)
            ladder.add("long", 2, 50.0)
        self.assertAlmostEqual(ladder.step(1, 2), 1.2)

    def test_one_sample_is_none(self):
        ladder = overheads.Ladder()
        ladder.add("a", 1, 1.0)
        self.assertEqual((ladder.has(1), ladder.step(1, 1)), (False, None))

    def climb(self, most, *times):
        """Returns (c after each rung, Packing). `times` are those with 1, 2, 4, ... trials; the last holds up to
        `most`."""
        packing, found = overheads.Packing(self.lib, most, 0.05), []
        for factor in times:
            self.feed(packing, packing.c, factor)
            self.assertTrue(packing.look())
            self.assertFalse(packing.look())
            found.append(packing.c)
        return found, packing

    def test_climbs_until_it_is_not_worth_it(self):
        """O^3 = 1 - 2/3 * 1.5 is 0; O^2 was above."""
        found, packing = self.climb(8, 1.0, 1.1, 1.1 * 1.5 ** 2)
        self.assertEqual((found, packing.settled), ([2, 4, 2], True))
        self.assertAlmostEqual(packing.alpha, 1.1)

    def test_the_point_may_be_between_two_rungs(self):
        """O^3 = 1 - 2/3 * 1.3 is enough; O^4 = 1 - 3/4 * 1.3 is not."""
        found, packing = self.climb(8, 1.0, 1.3, 1.3 ** 3)
        self.assertEqual((found, packing.settled), ([2, 4, 3], True))
        self.assertAlmostEqual(packing.alpha, 1.3)

    def test_no_more_than_were_allowed(self):
        found, packing = self.climb(3, 1.0, 1.0, 1.0)
        self.assertEqual((found, packing.settled), ([2, 3, 3], True))
        self.assertFalse(packing.look())

    def test_who_is_only_starting_is_no_company(self):
        placed = {name: SimpleNamespace(gpus=gpus) for name, gpus in (("a", [0]), ("b", [0]), ("c", [1]), ("d", [2, 3]))}
        up = {"a": True, "b": False, "c": True, "d": True}
        self.assertEqual(overheads.companies(placed, up.get), {"c": ((1,), 1), "d": ((2, 3), 1)})
        up["b"] = True
        self.assertEqual(overheads.companies(placed, up.get)["a"], ((0,), 2))

    def test_alpha_leaves_c_as_it_was_found(self):
        """The library never takes more trials than alpha allows (lemma 4); with the mean alpha of these times it would
        take fewer than c."""
        packing = overheads.Packing(self.lib, 3, 0.01)
        for count, factor in ((1, 1.0), (2, 1.95), (3, 2.1)):
            self.feed(packing, count, factor)
            packing.look()
        self.assertEqual(packing.c, 3)
        self.assertGreaterEqual(self.lib.salus_fluid_packed_by(library.DOUBLE(packing.alpha)), 3)

    def test_company_that_fills_the_gpu_is_not_worth_it(self):
        packing = overheads.Packing(self.lib, 4, 0.05)
        self.feed(packing, 1, 1.0)
        packing.look()
        self.feed(packing, 2, 2.0)
        packing.look()
        self.assertEqual(packing.c, 1)

    def test_beta(self):
        scaling = overheads.Scaling(self.lib, 4)
        self.feed(scaling, 1, 1.0)
        self.feed(scaling, 2, 0.55)
        self.assertTrue(scaling.look())
        self.assertAlmostEqual(scaling.beta, 1.1)


class SimpleScheduler:
    @staticmethod
    def make(name, fields):
        made = type(name, (SimpleNamespace,), {})
        return made(**fields)


def trial(name="t", stop=None):
    made = type("FakeTrial", (SimpleNamespace,), {"__hash__": object.__hash__, "__eq__": object.__eq__})
    return made(trial_id=name, config={"epochs": 7}, stopping_criterion=stop or {}, is_finished=lambda: False)


def bracket(**fields):
    return type("Bracket", (SimpleNamespace,), {"__hash__": object.__hash__})(**fields)


class GroupsTest(unittest.TestCase):
    def test_grid(self):
        s, a, b = SimpleScheduler.make("FIFOScheduler", {}), trial("a", {"training_iteration": 9}), trial("b")
        self.assertEqual(groups.left(s, a, 2), 7)
        self.assertEqual(groups.left(s, b, 2), groups.UNKNOWN - 2)
        self.assertEqual(groups.left(s, b, 2, lambda config: config["epochs"]), 5)
        self.assertEqual(groups.group(s, a, 3), groups.group(s, b, 3))
        self.assertNotEqual(groups.group(s, a, 3), groups.group(s, b, 4))

    def test_budget_below_none(self):
        for budget in (-3, 0, float("nan")):
            s = SimpleScheduler.make("FIFOScheduler", {})
            self.assertRaisesRegex(ValueError, "a budget of", groups.left, s, trial(), 0, budget)

    def test_asha(self):
        rungs = SimpleNamespace(_rungs=[(16, {}), (4, {}), (1, {})])
        s = SimpleScheduler.make("AsyncHyperBandScheduler", {"_trial_info": {"t": rungs}, "_max_t": 50, "_time_attr": "epoch"})
        self.assertEqual([groups.left(s, trial(), n) for n in (0, 1, 3, 4, 16)], [1, 3, 1, 12, 34])
        self.assertEqual(groups.unit(s), "epoch")
        self.assertEqual(groups.left(s, trial(stop={"epoch": 10}), 4), 6)

    def test_hyperband(self):
        a, b, c = trial("a"), trial("b"), trial("c")
        first, second = (bracket(_cumul_r=r, trials_to_unpause=set(), _live_trials={c: None}) for r in (3, 9))
        for name in ("HyperBandScheduler", "HyperBandForBOHB"):
            s = SimpleScheduler.make(name, {"_trial_info": {a: (first, 0), b: (first, 0), c: (second, 0)}, "asked": 0})
            s.choose_trial_to_run = lambda controller, s=s: setattr(s, "asked", s.asked + 1)
            self.assertEqual((groups.left(s, a, 1), groups.left(s, c, 1)), (2, 8))
            self.assertEqual(groups.group(s, a, 1), groups.group(s, b, 2))
            self.assertNotEqual(groups.group(s, a, 1), groups.group(s, c, 1))
            self.assertEqual(groups.wanted(s, None, [a, b]), [])
            first.trials_to_unpause = {b}
            self.assertEqual(groups.wanted(s, None, [a, b]), [b])
            self.assertEqual(s.asked, 2 * (name == "HyperBandForBOHB"))
            stage = groups.group(s, a, 1)
            first._cumul_r = 9
            self.assertNotEqual(groups.group(s, a, 1), stage)
            first._cumul_r, first.trials_to_unpause = 3, set()

    def stage(self, live, paused, unpause=(), done=True):
        """Returns whether asking wanted() ends a bracket's stage; live and paused are indices of its trials."""
        trials, ended = [trial(str(n)) for n in range(3)], []
        b = bracket(_cumul_r=3, trials_to_unpause={trials[n] for n in unpause}, cur_iter_done=lambda: done,
                    _live_trials={trials[n]: None for n in live})
        s = SimpleScheduler.make("HyperBandScheduler", {"_trial_info": {t: (b, 0) for t in trials}})
        s._process_bracket = lambda job, b: ended.append(b)
        groups.wanted(s, None, [trials[n] for n in paused])
        return ended == [b]

    def test_hyperband_whose_last_trial_ends(self):
        self.assertTrue(self.stage([0, 1], [0, 1]))
        self.assertTrue(self.stage([0, 1], [0, 1, 2]))
        self.assertFalse(self.stage([0, 1, 2], [0, 1]))
        self.assertFalse(self.stage([0, 1], [0, 1], unpause=[1]))
        self.assertFalse(self.stage([0, 1], [0, 1], done=False))
        self.assertFalse(self.stage([], [2]))

    def test_pbt(self):
        a, b = trial("a", {"training_iteration": 40}), trial("b")
        states = {a: SimpleNamespace(last_train_time=10), b: SimpleNamespace(last_train_time=20)}
        s = SimpleScheduler.make("PopulationBasedTraining", {"_synch": True, "_next_perturbation_sync": 20, "_trial_state": states})
        self.assertEqual(groups.left(s, a, 12), 8)
        job = SimpleNamespace(get_live_trials=lambda live={a, b}: live)
        self.assertEqual(groups.wanted(s, job, [a, b]), [a])
        s._synch = False
        self.assertEqual(groups.left(s, a, 12), 28)
        self.assertEqual(groups.wanted(s, None, [a, b]), [a, b])

    def generation(self, *times, live, paused):
        """Returns the indices that wanted() returns when the trials have these times and the generation ends at 20."""
        trials = [trial(str(n)) for n in range(len(times))]
        states = {t: SimpleNamespace(last_train_time=time, last_result={"of": t}) for t, time in zip(trials, times)}
        s = SimpleScheduler.make("PopulationBasedTraining", {"_synch": True, "_next_perturbation_sync": 20, "_trial_state": states})
        s.on_trial_result = lambda job, t, result: s.__dict__.update(_next_perturbation_sync=30 if result == {"of": t} else 0)
        kept = {trials[n] for n in live}
        for t in trials:
            t.is_finished = lambda t=t: t.trial_id not in map(str, paused) and times[int(t.trial_id)] < 0
        found = groups.wanted(s, SimpleNamespace(get_live_trials=lambda: kept), [trials[n] for n in paused])
        return [trials.index(t) for t in found]

    def test_pbt_whose_last_trial_ends(self):
        """A time below 0 stands for a trial that has failed for good, which Ray keeps in its live set."""
        self.assertEqual(self.generation(20, 20, live=[0, 1], paused=[0, 1]), [0, 1])
        self.assertEqual(self.generation(20, 20, -1, live=[0, 1, 2], paused=[0, 1]), [0, 1])
        self.assertEqual(self.generation(20, 20, 15, live=[0, 1, 2], paused=[0, 1]), [])
        self.assertEqual(self.generation(20, 20, 20, live=[0, 1, 2], paused=[0, 1]), [])
        self.assertEqual(self.generation(20, 15, live=[0, 1], paused=[0, 1]), [1])

    def test_subclasses_and_strangers(self):
        parent = type("PopulationBasedTraining", (SimpleNamespace,), {})
        self.assertEqual(groups.kind(type("PB2", (parent,), {})()), "PopulationBasedTraining")
        a, b = trial("a"), trial("b")
        s = SimpleScheduler.make("Stranger", {"choose_trial_to_run": lambda controller: b})
        self.assertEqual((groups.kind(s), groups.wanted(s, None, [a, b]), groups.wanted(s, None, [a])), ("", [b], []))


class Daemon:
    """A control socket that gives the prepared answers."""

    def __init__(self, folder, answers):
        self.asked, self.answers = [], answers
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.bind(os.path.join(folder, "ctl.sock"))
        self.socket.listen(4)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.socket.accept()
            with connection, contextlib.suppress(OSError):  # the client may have gone before the answer
                self.answer(connection)

    def answer(self, connection):
        while data := connection.recv(4096):
            self.asked.append(control.decode(data))
            answer = self.answers.pop(0)
            if answer is None:
                break
            answer = answer() if callable(answer) else answer
            connection.send(answer if isinstance(answer, bytes) else pack(answer))


def pack(value):
    """Encodes msgpack as salusd writes it: with lists and the small forms."""
    if isinstance(value, bool) or value is None:
        return {None: b"\xc0", False: b"\xc2", True: b"\xc3"}[value]
    if isinstance(value, list):
        return b"\xdc" + len(value).to_bytes(2, "big") + b"".join(map(pack, value))
    if isinstance(value, dict):
        return b"\xde" + len(value).to_bytes(2, "big") + b"".join(pack(k) + pack(v) for k, v in value.items())
    if isinstance(value, str):
        text = value.encode()
        return bytes([0xa0 | len(text)]) + text if len(text) < 32 else b"\xda" + len(text).to_bytes(2, "big") + text
    return bytes([value]) if 0 <= value < 128 else b"\xcf" + value.to_bytes(8, "big") if value >= 0 else b"\xd0" + bytes([value + 256])


def reply(items, after=0):
    return {"ok": True, "items": items, "next": after}


def job(number, name, weight=1):
    return {"id": number, "name": name, "weight": weight}


def gpu(number, state="ready", restarts=0):
    return {"id": number, "state": state, "worker_restarts": restarts, "worker_pid": 100 + number}


class ControlTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def daemon(self, *answers):
        return Daemon(self.folder.name, list(answers))

    def test_numbers_and_texts(self):
        for value in (0, 127, 128, 2**40, -1, -100, "", "x" * 31, "x" * 200, [1, "a", None, True], {"a": {"b": -5}}):
            self.assertEqual(control.decode(pack(value)), value)
        self.assertEqual(control.decode(control.encode({"v": 1, "verb": "job.set", "weight": 70000})),
                         {"v": 1, "verb": "job.set", "weight": 70000})
        self.assertEqual(control.decode(b"\xff"), -1)
        for n in range(1, 12):
            self.assertRaises(ValueError, control.decode, pack({"a": "bcdefg"})[:n])

    def test_a_list_goes_on(self):
        d = self.daemon(reply([job(1, "a")], 1), reply([job(2, "b")]))
        self.assertEqual([j["id"] for j in control.Control(self.folder.name).jobs()], [1, 2])
        self.assertEqual([a.get("after") for a in d.asked], [None, 1])

    def test_refused(self):
        refusal = {"ok": False, "code": "not_permitted", "text": "no", "hint": ""}
        self.daemon(refusal, {**refusal, "code": "not_found"})
        c = control.Control(self.folder.name)
        self.assertRaisesRegex(control.Refused, "no", c.set_weight, 1, 5)
        self.assertFalse(c.set_weight(1, 5))

    def test_a_job_that_starts_is_asked_again(self):
        self.daemon({"ok": False, "code": "failed", "text": "job 1 is still starting", "hint": "try again"}, reply([job(1, "a", 5)]))
        c = control.Control(self.folder.name)
        self.assertEqual([c.set_weight(1, 5), c.set_weight(1, 5)], [False, True])

    def test_a_reply_that_comes_late_is_no_other_questions(self):
        """The connection ends with a question that got no answer or an invalid one."""
        for late in (lambda: time.sleep(0.2) or reply([gpu(0)]), b"\xde\x00\x09", [1]):
            with tempfile.TemporaryDirectory() as folder:
                Daemon(folder, [late, reply([job(1, "a")])])
                c = control.Control(folder, timeout_s=0.1)
                self.assertRaises(OSError, c.gpus)
                self.assertRaises(OSError, c.jobs)

    def test_no_daemon(self):
        self.assertRaisesRegex(OSError, "no salusd answers in", control.Control, self.folder.name)

    def machine(self, clock, *answers, most=1000):
        users = reply([{"uid": os.geteuid() + n, "max_weight": weight} for n, weight in ((1, 3), (0, most), (2, 4))])
        return self.daemon(users, *answers), machine.Machine(self.folder.name, clock=clock)

    def test_the_highest_weight_is_the_users(self):
        """None: root, who has no limit."""
        for said, most in ((1, 1), (7, 7), (None, 1000)):
            self.setUp()
            self.assertEqual(self.machine(Clock(), most=said)[1].weight_most, most)

    def test_weights_are_set_where_they_differ(self):
        clock = Clock()
        gpus = reply([gpu(0), gpu(1, "failed", 3), gpu(2, "starting", 1)])
        jobs = reply([job(1, "fluid-a", 500), job(2, "fluid-b", 500), job(3, "other", 500)])
        d, m = self.machine(clock, gpus, jobs, reply([job(2, "fluid-b", 250)]))
        self.assertEqual(m.look({"a": 500, "b": 250}), {0: (True, True, (100, 0)), 1: (False, False, (101, 3)), 2: (True, False, (102, 1))})
        self.assertEqual([(a["id"], a["weight"]) for a in d.asked if a["verb"] == "job.set"], [(2, 250)])
        self.assertEqual(m.weights_set, 1)
        self.assertIsNone(m.look({"a": 500}))  # look() asked just before

    def test_who_may_not_weigh_does_not(self):
        """Since root lowered the user's limit. The error is shown once, and the search continues."""
        refusal = {"ok": False, "code": "not_permitted", "text": "weight 500 is above max_weight=1", "hint": ""}
        jobs = reply([job(1, "fluid-a"), job(2, "fluid-b")])
        d, m = self.machine(Clock(), reply([gpu(0)]), jobs, refusal, reply([gpu(0)]))
        with self.assertLogs("salus_fluid.machine") as said:
            self.assertEqual(m.look({"a": 500, "b": 250}), {0: (True, True, (100, 0))})
        self.assertEqual((len(said.output), "above max_weight=1" in said.output[0], m.weight_most), (1, True, 1))
        self.assertEqual([a["verb"] for a in d.asked], ["user.list", "gpu.list", "job.list", "job.set"])

    def test_a_daemon_that_ends_is_asked_again(self):
        clock = Clock()
        _, m = self.machine(clock, reply([gpu(0)]), None, reply([gpu(0)]))
        m.gpus()
        self.assertEqual(m.look({}), {0: (True, False, (100, 0))})  # not given up, but it takes no jobs now
        m.asked_s = -9
        self.assertEqual(m.look({}), {0: (True, True, (100, 0))})


class DeathsTest(unittest.TestCase):
    def setUp(self):
        self.gpus = {n: machine.Gpu(True, True, (100, 5)) for n in (0, 1)}
        self.deaths = deaths.Deaths(self.ask)
        meta = SimpleNamespace(num_failures=0, invalidate_cache=lambda: None)
        self.trial = SimpleNamespace(trial_id="t", run_metadata=meta, last_result={})
        self.deaths.seated(self.trial, {0: self.gpus[0]})

    def ask(self):
        if not isinstance(self.gpus, dict):
            raise self.gpus
        return self.gpus

    def fails(self, iteration=0):
        """Returns Ray's count after one more failure."""
        self.trial.last_result = {"training_iteration": iteration}
        self.trial.run_metadata.num_failures += 1
        self.deaths.look(self.trial)
        return self.trial.run_metadata.num_failures

    def test_its_own(self):
        self.gpus[1] = machine.Gpu(False, False, (0, 7))  # a GPU on which the trial does not run
        self.assertEqual([self.fails(), self.fails()], [1, 2])

    def test_asked_twice_about_one(self):
        self.fails()
        self.gpus[0] = None
        self.deaths.look(self.trial)
        self.assertEqual(self.trial.run_metadata.num_failures, 1)

    def test_its_gpu(self):
        """The last case but one: the daemon was restarted and its worker never was."""
        for now in (machine.Gpu(False, False, (100, 5)), machine.Gpu(True, False, (100, 5)), machine.Gpu(True, True, (100, 6)),
                    machine.Gpu(True, True, (101, 5)), None):
            self.setUp()
            self.gpus[0] = now
            self.assertEqual(self.fails(), 0)
        for why in (OSError("nobody answers"), control.Refused({"text": "another version"})):
            self.setUp()
            self.gpus = why
            self.assertEqual(self.fails(), 0)

    def test_who_ends_every_worker_is_not_forgiven_for_ever(self):
        self.gpus[0] = machine.Gpu(True, True, (101, 6))
        self.assertEqual([self.fails(3) for _ in range(4)], [0, 0, 1, 2])
        self.assertEqual([self.fails(4), self.fails(3), self.fails(2)], [2, 2, 3])


class WeightsTest(unittest.TestCase):
    def test_by_what_is_left(self):
        def place(gpu, left, share=0.25):
            return SimpleNamespace(gpus=[gpu], share=share, left_s=left)
        plan = {"long": place(0, 100), "short": place(0, 50), "tiny": place(0, 1), "beside": place(1, 10),
                "whole": place(2, 10, 1), "waits": SimpleNamespace(gpus=[], share=0, left_s=9)}
        for most, wanted in ((1000, (1000, 500, 100, 1000)), (7, (7, 4, 1, 7)), (3, (3, 2, 1, 3)), (1, ())):
            self.assertEqual(machine.weights(plan, most), dict(zip(("long", "short", "tiny", "beside"), wanted)))


class SeatTest(unittest.TestCase):
    def test_what_a_trial_is_told(self):
        text = seat.describe("abc", [3, 1], 250, "/run/x", "/nowhere")
        self.assertEqual(json.loads(text)["environment"],
                         {"SALUS_GPU": "3", "SALUS_WEIGHT": "250", "SALUS_JOB_NAME": "fluid-abc", "SALUS_RUN_DIR": "/run/x",
                          "SALUS_FLUID_GPUS": "3,1"})
        self.assertNotIn("SALUS_WEIGHT", json.loads(seat.describe("abc", [3], 1, "/run/x", "/nowhere"))["environment"])

    def test_a_process_of_each_gpu(self):
        self.addCleanup(os.environ.pop, "SALUS_FLUID_GPUS")
        os.environ["SALUS_FLUID_GPUS"] = "3,1"
        self.assertEqual(seat.gpus(), [3, 1])
        self.assertEqual(seat.environment(1)["SALUS_GPU"], "1")

    def test_ends_with_the_trial(self):
        """A thread starts a program and ends: Linux takes that for the trial's end."""
        made = []
        thread = threading.Thread(target=lambda: made.append(seat.start(["sleep", "100"])))
        thread.start()
        thread.join()
        self.addCleanup(made[0].kill)  # else a reader of our output waits for the program
        self.assertEqual(made[0].wait(10), -9)

    def test_who_was_begun_by_one_that_has_ended_ends(self):
        """The parent has ended before prctl(), so no later end reaches the program."""
        begun = [subprocess.Popen(["true"], preexec_fn=lambda: seat._end_with(parent)).wait() for parent in (os.getpid(), 1 << 22)]
        self.assertEqual(begun, [0, 1])

    def test_no_library(self):
        self.assertRaisesRegex(OSError, "no libcuda.so.1 of Salus", self.find, "/nowhere")

    def find(self, path):
        places, seat.library_places = seat.library_places, lambda shim: [shim]
        try:
            return seat.find_shim(path)
        finally:
            seat.library_places = places


if __name__ == "__main__":
    unittest.main(warnings="ignore")
