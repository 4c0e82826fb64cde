#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes copies of the package of scripts/ray with one error each; run_package.py must fail for each."""
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = os.path.dirname(os.path.abspath(__file__))
PACKAGE = os.path.join(HERE, "..", "..", "scripts", "ray")
# (file, text that is there once, replacement, test that must fail)
MUTANTS = [
    ("planner", "self._forget(*batch[r.index])", "pass", "PlannerTest.test_refused"),
    ("planner", "if wrong:", "if False:", "PlannerTest.test_refused"),
    ("planner", "NEVER_NS if change_s is None", "0 if change_s is None", "PlannerTest.test_nobody_is_restarted_unless_that_was_said"),
    ("planner", "while self.events or not batches:", "while not batches:", "PlannerTest.test_more_events_than_a_step_takes"),
    ("planner", "and number not in named", "", "PlannerTest.test_who_waits_is_another_one_when_that_was_said"),
    ("planner", "and not t.changed", "", "PlannerTest.test_gpu_goes_and_comes"),
    ("planner", "if place.gpus:", "if True:", "PlannerTest.test_who_waits_is_another_one_when_that_was_said"),
    ("planner", "named if batches == 1 else self.names", "set()", "PlannerTest.test_who_lost_its_place_in_an_earlier_batch"),
    ("planner", "if -2**62 < ns < 2**62 else -1", "", "PlannerTest.test_refused"),
    ("planner", "library.FILL | library.ROOM", "library.FILL", "PlannerTest.test_known"),
    ("library", "JOIN, LEFT, END, DIED", "JOIN, END, LEFT, DIED", "PlannerTest.test_a_thousand_more_than_gpus"),
    ("overheads", "if len(found) >= SAMPLES else None", "if found else None", "OverheadsTest.test_one_sample_is_none"),
    ("overheads", "for a, b in pairs if a and b", "for a, b in [(min(x for x, _ in pairs if x), max(y for _, y in pairs if y))]",
     "OverheadsTest.test_a_trial_is_compared_with_itself"),
    ("overheads", "self.settled = worth < self.c or", "self.settled =", "OverheadsTest.test_climbs_until_it_is_not_worth_it"),
    ("overheads", "min(2 * self.c, self.most)", "2 * self.c", "OverheadsTest.test_no_more_than_were_allowed"),
    ("overheads", "ratio ** (n / steps)", "ratio", "OverheadsTest.test_the_point_may_be_between_two_rungs"),
    ("overheads", "self.means[:worth]", "self.means", "OverheadsTest.test_climbs_until_it_is_not_worth_it"),
    ("overheads", "if place.gpus[0] not in starting", "", "OverheadsTest.test_who_is_only_starting_is_no_company"),
    ("overheads", "return min(max(", "return max(max(", "OverheadsTest.test_alpha_leaves_c_as_it_was_found"),
    ("groups", "[m for m in milestones if m > done]", "[m for m in milestones if m >= done]", "GroupsTest.test_asha"),
    ("groups", "min(at, whole)", "at", "GroupsTest.test_asha"),
    ("groups", 'getattr(bracket, "_cumul_r", 0)\n', "0\n", "GroupsTest.test_hyperband"),
    ("groups", "if not whole > 0:", "if False:", "GroupsTest.test_budget_below_none"),
    ("groups", 'if name == "HyperBandForBOHB":', "if False:", "GroupsTest.test_hyperband"),
    ("groups", "last_train_time < scheduler._next", "last_train_time <= scheduler._next", "GroupsTest.test_pbt"),
    ("groups", "            _end_stages(scheduler, controller, paused)\n", "            pass\n",
     "GroupsTest.test_hyperband_whose_last_trial_ends"),
    ("groups", "if live and live <= ", "if live <= ", "GroupsTest.test_hyperband_whose_last_trial_ends"),
    ("groups", "live <= set(paused) and ", "", "GroupsTest.test_hyperband_whose_last_trial_ends"),
    ("groups", "not live & bracket.trials_to_unpause and ", "", "GroupsTest.test_hyperband_whose_last_trial_ends"),
    ("groups", " and bracket.cur_iter_done()", "", "GroupsTest.test_hyperband_whose_last_trial_ends"),
    ("groups", "        _end_generation(scheduler, controller, paused)\n", "", "GroupsTest.test_pbt_whose_last_trial_ends"),
    ("groups", "        live.discard(t)", "        pass", "GroupsTest.test_pbt_whose_last_trial_ends"),
    ("groups", "if live == set(paused) and", "if", "GroupsTest.test_pbt_whose_last_trial_ends"),
    ("groups", "and all(scheduler._trial_state[t].last_train_time >= scheduler._next_perturbation_sync for t in live)", "",
     "GroupsTest.test_pbt_whose_last_trial_ends"),
    ("groups", 'if "choose_trial_to_run" in vars(c):', "if False:", "SchedulerTest.test_an_algorithm_that_pauses"),
    ("control", 'if why.code in ("not_permitted", "bad_request", "protocol"):', "if False:", "ControlTest.test_refused"),
    ("control", '"bad_request", "protocol"', '"bad_request", "failed"', "ControlTest.test_a_job_that_starts_is_asked_again"),
    ("control", "first - 256", "first", "ControlTest.test_numbers_and_texts"),
    ("control", "if len(found) < count:", "if False:", "ControlTest.test_numbers_and_texts"),
    ("control", "            self.close()  # else", "            pass  # else", "ControlTest.test_a_reply_that_comes_late_is_no_other_questions"),
    ("control", "except ValueError as why:", "except KeyError as why:", "ControlTest.test_a_reply_that_comes_late_is_no_other_questions"),
    ("machine", 'why.code != "not_permitted"', "True", "ControlTest.test_who_may_not_weigh_does_not"),
    ("machine", "            self.weight_most = 1\n            return False", "            return True", "ControlTest.test_who_may_not_weigh_does_not"),
    ("deaths", "(OSError, Refused)", "OSError", "DeathsTest.test_its_gpu"),
    ("machine", 'weight != job["weight"]', "True", "ControlTest.test_weights_are_set_where_they_differ"),
    ("machine", 'min(own["max_weight"], WEIGHT_MOST)', "WEIGHT_MOST", "ControlTest.test_the_highest_weight_is_the_users"),
    ("machine", 'if u["uid"] == os.geteuid()', "", "ControlTest.test_the_highest_weight_is_the_users"),
    ("machine", "    if highest == 1:\n        return {}\n", "", "WeightsTest.test_by_what_is_left"),
    ("machine", "/ STEPS), 1)", "/ STEPS), 0)", "WeightsTest.test_by_what_is_left"),
    ("scheduler", "get(trial.trial_id, self.machine.weight_most)", "get(trial.trial_id, 1000)",
     "SchedulerTest.test_no_trial_weighs_more_than_its_user_may"),
    ("scheduler", "machine.weights(self.planner.placed, self.machine.weight_most)", "machine.weights(self.planner.placed, 1000)",
     "SchedulerTest.test_no_trial_weighs_more_than_its_user_may"),
    ("seat", "if weight > 1:", "if True:", "SeatTest.test_what_a_trial_is_told"),
    ("machine", "return self._again()", "return self.found", "ControlTest.test_a_daemon_that_ends_is_asked_again"),
    ("machine", 'g["state"] != "failed"', "True", "ControlTest.test_weights_are_set_where_they_differ"),
    ("machine", 'g["state"] == "ready"', "True", "ControlTest.test_weights_are_set_where_they_differ"),
    ("deaths", "if count <= record.failures:", "if False:", "DeathsTest.test_asked_twice_about_one"),
    ("deaths", "record.forgiven < FORGIVEN and ", "", "DeathsTest.test_who_ends_every_worker_is_not_forgiven_for_ever"),
    ("deaths", "if done > record.done:", "if done != record.done:", "DeathsTest.test_who_ends_every_worker_is_not_forgiven_for_ever"),
    ("deaths", "gpu.worker != worker", "False", "DeathsTest.test_its_gpu"),
    ("machine", '(g["worker_pid"], g["worker_restarts"])', '(0, g["worker_restarts"])', "ControlTest.test_weights_are_set_where_they_differ"),
    ("deaths", "not gpu.ready", "not gpu.serves", "DeathsTest.test_its_gpu"),
    ("deaths", "return True  #", "return False  #", "DeathsTest.test_its_gpu"),
    ("deaths", "now.get(number)", "now.get(1)", "DeathsTest.test_its_gpu"),
    ("scheduler", "elif action == TrialScheduler.PAUSE or trial.status == Trial.PAUSED:", "elif False:",
     "SchedulerTest.test_an_algorithm_that_pauses"),
    ("scheduler", "if not others and tune_controller", "if tune_controller", "SchedulerTest.test_a_thousand_trials_more_than_gpus"),
    ("scheduler", "is_finished() and not again:", "is_finished():", "SchedulerTest.test_the_last_trial_fails_and_goes_on"),
    ("scheduler", "self.deaths.seated(trial, {n: self.there[n] for n in numbers})", "pass", "SchedulerTest.test_a_gpu_goes_away"),
    ("scheduler", "= _Forgivable, self.deaths", "= Trial, self.deaths", "SchedulerTest.test_a_gpu_goes_away"),
    ("scheduler", "seat.forget(self.session, trial.trial_id)", "pass", "SchedulerTest.test_an_algorithm_that_pauses"),
    ("scheduler", "            self.machine.close()\n            self.give_back()", "            self.machine.close()",
     "SchedulerTest.test_an_algorithm_that_pauses"),
    ("scheduler", "if self._has_to_move(trial, result):", "if False:", "SchedulerTest.test_a_trial_gets_both_gpus"),
    ("scheduler", "        return saves\n", "        return True\n",
     "SchedulerTest.test_who_has_no_checkpoint_stays_on_a_gpu_that_goes_away"),
    ("scheduler", " and self._is_ready(place):", ":", "SchedulerTest.test_nobody_is_started_where_a_worker_is_only_starting"),
    ("scheduler", "groups.saves_when_asked(trial) or", "", "SchedulerTest.test_a_class_saves_when_it_is_asked_to"),
    ("scheduler", " and self.restart_s is not None:", ":", "SchedulerTest.test_who_loses_one_of_its_gpus_and_has_no_checkpoint_stays"),
    ("groups", '("Trainable", "FunctionTrainable")', '("Trainable",)',
     "SchedulerTest.test_who_loses_one_of_its_gpus_and_has_no_checkpoint_stays"),
    ("groups", '("Trainable", "FunctionTrainable")', '("FunctionTrainable",)',
     "SchedulerTest.test_who_loses_one_of_its_gpus_and_has_no_checkpoint_stays"),
    ("scheduler", "self.planner.settled(name)", "pass", "SchedulerTest.test_a_trial_gets_both_gpus"),
    ("scheduler", "self._set_resources(trial, len(place.gpus))", "pass", "SchedulerTest.test_a_trial_gets_both_gpus"),
    ("scheduler", "self.known[trial.trial_id].up = False", "pass", "SchedulerTest.test_no_sample_is_of_another_company"),
    ("scheduler", "known.done, known.up = done - known.done, done, True", "known.done, known.up = done - known.done, done, False",
     "SchedulerTest.test_packing_is_measured"),
    ("scheduler", 'here, result["time_this_iter_s"], units)', 'here, result["time_this_iter_s"] / units, 1)',
     "SchedulerTest.test_packing_is_measured_where_units_are_time"),
    ("scheduler", "if seen.place != company.get(name):", "if False:", "SchedulerTest.test_no_sample_is_of_another_company"),
    ("scheduler", "_cached_trial_decisions.pop(trial.trial_id, None)", "_cached_trial_decisions",
     "SchedulerTest.test_a_decision_that_was_left_behind"),
    ("scheduler", "        if not self.planner:\n            return None  #", "        if False:\n            return None  #",
     "SchedulerTest.test_an_algorithm_that_stops_all_that_wait"),
    ("scheduler", "_reuse_actors:", "no_such_option:", "SchedulerTest.test_processes_belong_to_one_trial"),
    ("scheduler", "(not self.there[n].serves, n)", "n", "SchedulerTest.test_gpus_that_were_given_up"),
    ("scheduler", "if not any(gpu.serves for gpu in self.there.values()):", "if False:", "SchedulerTest.test_gpus_that_were_given_up"),
    ("scheduler", "isinstance(gpus, int) or gpus < 1", "isinstance(gpus, int)", "SchedulerTest.test_gpus_that_were_given_up"),
    ("scheduler", "        else:\n            self.packing.add(name, company, took_s)\n            if company",
     "            self.scaling.add(name, len(gpus), took_s)\n        else:\n            self.packing.add(name, company, took_s)\n            if company",
     "SchedulerTest.test_an_iteration_is_one_sample"),
    ("scheduler", "        self.fluid.stop()\n", "        pass\n", "SchedulerTest.test_a_search_that_is_stopped_as_a_whole"),
    ("scheduler", "        for trial_id in self.seats:\n            seat.forget(self.session, trial_id)\n", "",
     "SchedulerTest.test_a_search_that_is_stopped_as_a_whole"),
    ("scheduler", "self.trials, self.joining, self.left_out, self.seats = {}, [], {}, {}", "pass",
     "SchedulerTest.test_a_search_that_is_stopped_as_a_whole"),
    ("seat", "if os.getppid() != parent:", "if False:", "SeatTest.test_who_was_begun_by_one_that_has_ended_ends"),
    ("seat", "prctl(PR_SET_PDEATHSIG, signal.SIGKILL)", "getpid()", "SeatTest.test_ends_with_the_trial"),
]


def run(folder, test):
    return subprocess.run([sys.executable, os.path.join(HERE, "run_package.py"), test], env=dict(os.environ, PACKAGE=folder),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=200)


def is_caught(file, old, new, test):
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(os.path.join(PACKAGE, "salus_fluid"), os.path.join(folder, "salus_fluid"))
        path = os.path.join(folder, "salus_fluid", file + ".py")
        with open(path) as f:
            text = f.read()
        if text.count(old) != 1:
            return f"{text.count(old)} times in {file}.py"
        with open(path, "w") as f:
            f.write(text.replace(old, new))
        done = run(folder, test)
        failed = ("FAIL: " + test.split(".")[1], "ERROR: " + test.split(".")[1])
        return "" if done.returncode and any(line in done.stdout for line in failed) else "not noticed"


def main():
    missed = 0
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda mutant: is_caught(*mutant), MUTANTS))
    for mutant, why in zip(MUTANTS, said):
        if why:
            missed += 1
            print(f"package mutant: {mutant[1]!r} -> {mutant[2]!r}: {why}", file=sys.stderr)
    print(f"package: {len(MUTANTS) - missed} mutants caught, {missed} not")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
