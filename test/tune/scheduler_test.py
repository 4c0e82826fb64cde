# SPDX-License-Identifier: Apache-2.0
"""Tests the scheduler of scripts/ray under a stand-in for Ray's tuning job (fake_ray.py): a thousand trials, some of
which fail, and GPUs that go away. Run by run_package.py."""
import json
import unittest
from collections import Counter
from unittest import mock

import fake_ray
from fake_ray import Job, Trial, TrialScheduler

fake_ray.install()
from salus_fluid import machine, scheduler, seat


class Machine:
    """Stands for salusd with two GPUs; a test may change `known`."""
    may_weigh = 1000

    def __init__(self, run_dir=None):
        self.run_dir, self.known = "/run/x", {0: machine.Gpu(True, True, 0), 1: machine.Gpu(True, True, 0)}
        self.weights_set, self.weight_most = 0, self.may_weigh

    def gpus(self):
        return dict(self.known)

    def look(self, weights):
        return self.gpus()

    def close(self):
        pass


class Barrier(fake_ray.FIFOScheduler):
    """An algorithm in which a trial waits after each unit for all others. Fluid does not know this class, so it asks
    the algorithm which trial is next."""

    def __init__(self):
        self.waiting, self.released = [], []

    def on_trial_result(self, job, trial, result):
        assert trial not in self.waiting, f"{trial.trial_id} did not wait"
        self.waiting.append(trial)
        self.released = [t for t in self.released if t is not trial]
        return self.PAUSE

    def choose_trial_to_run(self, job):
        if not job.search_alg.trials and len(self.waiting) == len(job.get_live_trials()):
            self.waiting, self.released = [], self.waiting
        return next((t for t in self.released if t.status == Trial.PAUSED), None)


class Guillotine(Barrier):
    """An algorithm that stops all trials at the second barrier when it is asked for the next one, not at a result."""
    barriers = 0

    def choose_trial_to_run(self, job):
        live = job.get_live_trials()
        if job.search_alg.trials or len(self.waiting) < len(live):
            return super().choose_trial_to_run(job)
        if any(t.status != Trial.PAUSED for t in live):
            return None
        self.barriers += 1
        for t in live if self.barriers > 1 else ():
            job.stop_trial(t)
        return super().choose_trial_to_run(job)


class SchedulerTest(unittest.TestCase):
    def setUp(self):
        fake_ray.Group.held.clear()
        fake_ray.Group.made.clear()
        for place, name, what in ((scheduler.machine, "Machine", Machine), (seat, "find_shim", lambda shim: "/nowhere")):
            patch = mock.patch.object(place, name, what)
            patch.start()
            self.addCleanup(patch.stop)

    def job(self, trials, seed=1, risk=0.0, base=None, **options):
        options = {"alpha": 1.1, "budget": lambda config: config["epochs"], **options}
        self.fluid = scheduler.FluidScheduler(base, **options)
        return Job(self.fluid, trials, seed, risk)

    def ends(self, job, statuses=(Trial.TERMINATED,)):
        """Checks that each trial ends after all its units, and that no placement group is left."""
        self.assertEqual({t.status for t in job.trials}, set(statuses))
        self.assertEqual([t.trial_id for t in job.trials if t.status == Trial.TERMINATED and t.done != t.units], [])
        self.assertEqual((self.fluid.planner, fake_ray.Group.held), (None, []))
        self.assertEqual(len(fake_ray.Group.made), 1)  # with more groups, others could have taken the GPUs meanwhile
        import ray.experimental.internal_kv as kv
        self.assertEqual(kv.kept, {})

    def seats(self):
        return [(name, gpus) for what, name, gpus in self.fluid.log if what == "seat"]

    def test_a_thousand_trials_more_than_gpus(self):
        """No trial is lost, though one iteration in a hundred fails; no GPU ever has more than c."""
        job = self.job([Trial(n, 1 + n % 5, failures=20) for n in range(1002)], risk=0.01, packed=4)
        while job.search_alg.trials or job.get_live_trials():
            job.step()
            here = [g for place in self.fluid.planner.placed.values() for g in place.gpus] if self.fluid.planner else []
            self.assertLessEqual(max(map(here.count, here), default=0), 4)
        self.ends(job)
        deaths = sum(what == "died" for what, *_ in self.fluid.log)
        self.assertTrue(deaths > 0)
        self.assertEqual(len(self.seats()), 1002 + deaths)
        self.assertEqual({g for _, gpus in self.seats() for g in gpus}, {0, 1})

    def test_who_fails_too_often_is_alone_in_that(self):
        job = self.job([Trial(n, 6) for n in range(40)], risk=0.03)
        job.run()
        self.ends(job, (Trial.TERMINATED, Trial.ERROR))

    def test_a_gpu_goes_away(self):
        """A trial with checkpoints continues on the other GPU. A trial that fails because its GPU went is restarted,
        though none may fail."""
        for seed in range(1, 8):
            fake_ray.Group.made.clear()
            job = self.job([Trial(n, 20) for n in range(6)], seed=seed)
            while job.starts < 6:
                job.step()
            self.fluid.machine.known[1] = machine.Gpu(False, False, 0)
            lost = [t for t in job.trials if self.fluid.planner.placed[t.trial_id].gpus == [1]]
            self.assertEqual(len(lost), 3)
            dies = lost[0]
            job.events = [e for e in job.events if e[0] is not dies]
            dies.temporary_state.saving_to = None
            job.fail(dies)
            before = len(self.fluid.log)
            job.run()
            self.ends(job)
            self.assertEqual({g for what, _, gpus in self.fluid.log[before:] if what == "seat" for g in gpus}, {0})

    def test_gpus_that_were_given_up(self):
        """Other GPUs are preferred to given-up ones; if all are given up, that is an error."""
        gone, serves = machine.Gpu(False, False, 0), machine.Gpu(True, True, 0)
        with mock.patch.object(Machine, "gpus", lambda self: {0: gone, 1: serves, 2: gone, 3: serves}):
            job = self.job([Trial(n, 3) for n in range(8)], gpus=2)
            job.run()
            self.ends(job)
            self.assertEqual({g for _, gpus in self.seats() for g in gpus}, {1, 3})
        with mock.patch.object(Machine, "gpus", lambda self: {0: gone, 1: gone}):
            self.assertRaisesRegex(ValueError, "none of salusd's 2 GPUs is ready", self.job([Trial(0, 3)]).run)
        for count in (0, -1, 1.5):
            self.assertRaisesRegex(ValueError, f"gpus={count}", self.job, [], gpus=count)

    def test_who_has_no_checkpoint_stays_on_a_gpu_that_goes_away(self):
        """The trial stays until it fails: moving would cost it all its progress."""
        job = self.job([Trial(n, 20, saves=False) for n in range(6)])
        while job.starts < 6:
            job.step()
        self.fluid.machine.known[1] = machine.Gpu(False, False, 0)
        job.run()
        self.ends(job)
        self.assertEqual(job.starts, 6)

    def lose_one_of_two(self, trainable_name="numbers", **options):
        """Counts the starts of a trial that has both GPUs until one goes away."""
        fake_ray.Group.made.clear()
        job = self.job([Trial(0, 20, saves=False)], alpha=1, beta=1, spread=2, **options)
        job.search_alg.trials[0].trainable_name = trainable_name
        while not job.trials or job.trials[0].done < 5:
            job.step()
        self.assertEqual(sorted(self.seats()[-1][1]), [0, 1])
        self.fluid.machine.known[1] = machine.Gpu(False, False, 0)
        job.run()
        self.ends(job)
        return job.starts

    def test_who_loses_one_of_its_gpus_and_has_no_checkpoint_stays(self):
        """The search continues, as with a trial that had one GPU."""
        self.assertEqual([self.lose_one_of_two(name) for name in ("numbers", "without")], [1, 1])
        self.assertRaisesRegex(ValueError, "has no checkpoint", self.lose_one_of_two, restart_s=0.001)

    def test_an_iteration_is_one_sample(self):
        """The same for a trial with several GPUs."""
        job = self.job([Trial(0, 3), Trial(1, 400)], alpha=1, packed=1, spread=2, restart_s=0.001)
        job.run()
        self.ends(job)
        samples = self.fluid.scaling.ladder.times["t00001"]
        self.assertTrue(samples[2])
        self.assertLessEqual(sum(map(len, samples.values())), 400)

    def test_a_class_saves_when_it_is_asked_to(self):
        """No result of this class tells that there is a checkpoint."""
        self.assertEqual(self.lose_one_of_two("class"), 2)
        self.assertEqual(self.seats()[-1], ("t00000", [0]))

    def test_nobody_is_started_where_a_worker_is_only_starting(self):
        starting = {0: machine.Gpu(True, True, 0), 1: machine.Gpu(True, False, 0)}
        with mock.patch.object(Machine, "gpus", lambda self: dict(starting)):
            job = self.job([Trial(n, 50) for n in range(6)], packed=1)
            for _ in range(100):
                job.step()
            self.assertEqual({g for _, gpus in self.seats() for g in gpus}, {0})
            starting[1] = machine.Gpu(True, True, 0)
            job.run()
        self.ends(job)
        self.assertEqual({g for _, gpus in self.seats() for g in gpus}, {0, 1})

    def weights(self, most):
        """Returns {weight: count} of the started trials, where `most` is the user's highest weight."""
        said = []
        fake_ray.Group.made.clear()
        with mock.patch.object(Machine, "may_weigh", most), mock.patch.object(seat, "put", lambda session, trial_id, text: said.append(text)):
            job = self.job([Trial(n, 36 - 5 * n) for n in range(8)], packed=4)
            job.run()
        self.ends(job)
        return Counter(json.loads(text)["environment"].get("SALUS_WEIGHT") for text in said)

    def test_no_trial_weighs_more_than_its_user_may(self):
        """The default limit of salus.conf(5) is 1: salusd refuses a job that asks for more."""
        self.assertEqual(self.weights(1), {None: 8})
        some = self.weights(7)
        self.assertEqual((set(some) - {None} <= set("234567"), "7" in some, len(some) > 1), (True, True, True), some)

    def test_the_last_trial_fails_and_goes_on(self):
        for seed in range(1, 9):
            fake_ray.Group.made.clear()
            job = self.job([Trial(0, 5, failures=99)], seed=seed, risk=0.3)
            job.run()
            self.ends(job)

    def companies(self, job, alpha):
        """Returns a function for Job.seconds. The first iteration of a process includes its start; a later one takes
        alpha times as long for each neighbour, at its beginning and at its end."""
        before = {}

        def seconds(trial):
            here, process = self.fluid.seats[trial.trial_id], (trial, trial.run_metadata.num_failures)
            now = sum(t.status == Trial.RUNNING and self.fluid.seats[t.trial_id] == here for t in job.trials)
            start = 1.0 if process not in before else 0.0
            took = 0.01 * (alpha ** (before.get(process, now) - 1) + alpha ** (now - 1)) / 2
            before[process] = now
            return start + took
        return seconds

    def samples(self):
        return [(count, s) for by_count in self.fluid.packing.ladder.times.values() for count, times in by_count.items() for s in times]

    def test_no_sample_is_of_another_company(self):
        """Holds though trials fail and are restarted beside others."""
        for seed in range(1, 4):
            fake_ray.Group.made.clear()
            job = self.job([Trial(n, 30, failures=99) for n in range(24)], seed=seed, risk=0.03, alpha=None, packed=4)
            job.seconds = self.companies(job, 1.1)
            job.run()
            self.ends(job)
            wanted = {(n, round(0.01 * 1.1 ** (n - 1), 9)) for n in (1, 2, 3, 4)}
            self.assertEqual({(count, round(s, 9)) for count, s in self.samples()}, wanted)

    def test_packing_is_measured(self):
        for alpha, wanted in ((1.0, [(2, 1.0), (4, 1.0), (4, 1.0)]), (1.1, [(2, 1.0), (4, 1.1), (4, 1.1)]), (1.95, [(2, 1.0), (1, 1.0)])):
            for seed in range(1, 4):
                fake_ray.Group.made.clear()
                job = self.job([Trial(n, 30) for n in range(24)], seed=seed, alpha=None, packed=4)
                job.seconds = self.companies(job, alpha)
                job.run()
                self.ends(job)
                self.assertEqual(self.found(), wanted, f"alpha {alpha}, seed {seed}")

    def found(self):
        """Returns the successive measured (c, alpha)."""
        return [(detail["packed"], round(detail["alpha"], 6)) for what, _, detail in self.fluid.log if what == "known"]

    def test_packing_is_measured_where_units_are_time(self):
        """A unit that is a second lasts a second in any company, so iterations are compared."""
        base = fake_ray.FIFOScheduler()
        base._time_attr = "time_total_s"
        job = self.job([Trial(n, 30) for n in range(24)], base=base, alpha=None, packed=4)
        job.seconds = self.companies(job, 1.95)
        job.run()
        self.ends(job)
        self.assertEqual(self.found(), [(2, 1.0), (1, 1.0)])

    def test_a_trial_gets_both_gpus(self):
        """The trial is resized at the end of an iteration, from its checkpoint."""
        job = self.job([Trial(0, 3), Trial(1, 400)], alpha=1, beta=1, packed=1, spread=2, restart_s=0.001)
        job.run()
        self.ends(job)
        self.assertEqual((self.seats()[-1][0], sorted(self.seats()[-1][1])), ("t00001", [0, 1]))
        self.assertEqual(job.trials[1].placement_group_factory.bundles, [{"CPU": 2}])

    def test_who_is_to_be_resized_needs_a_checkpoint(self):
        job = self.job([Trial(0, 3), Trial(1, 400, saves=False)], alpha=1, beta=1, packed=1, spread=2, restart_s=0.001)
        self.assertRaisesRegex(ValueError, "has no checkpoint", job.run)

    def test_an_algorithm_that_pauses(self):
        """A paused trial returns when its algorithm allows it, and not before."""
        job = self.job([Trial(n, 3) for n in range(10)], base=Barrier(), packed=2)
        job.run()
        self.ends(job)

    def test_an_algorithm_that_stops_all_that_wait(self):
        job = self.job([Trial(n, 9) for n in range(4)], base=Guillotine())
        job.run()
        self.assertEqual([(t.status, t.done) for t in job.trials], [(Trial.TERMINATED, 2)] * 4)
        self.assertEqual((self.fluid.planner, fake_ray.Group.held), (None, []))

    def test_a_decision_that_was_left_behind(self):
        """Ray may keep a decision to stop a paused trial that saves nothing; the scheduler drops it."""
        job = self.job([Trial(n, 3) for n in range(4)], base=Barrier())
        while not any(t.status == Trial.PAUSED and t.done for t in job.trials):
            job.step()
        job._cached_trial_decisions.update((t.trial_id, TrialScheduler.STOP) for t in job.trials if t.status == Trial.PAUSED and t.done)
        job.run()
        self.ends(job)

    def test_a_search_that_is_stopped_as_a_whole(self):
        """Ray gets the GPUs back, and the same scheduler can run another search."""
        job = self.job([Trial(n, 20) for n in range(40)], base=Barrier())
        while job.starts < 3:
            job.step()
        job.stop_all()
        import ray.experimental.internal_kv as kv
        self.assertEqual((self.fluid.planner, fake_ray.Group.held, kv.kept), (None, [], {}))
        fake_ray.Group.made.clear()
        self.fluid._base_scheduler = fake_ray.FIFOScheduler()
        job = Job(self.fluid, [Trial(n, 3) for n in range(4, 9)])
        job.run()
        self.ends(job)
        self.assertEqual(len(job._callbacks._callbacks), 1)

    def test_processes_belong_to_one_trial(self):
        job = self.job([Trial(0, 3)])
        job._reuse_actors = True
        self.assertRaisesRegex(ValueError, "reuse_actors=True", job.run)
