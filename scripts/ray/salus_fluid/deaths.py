# SPDX-License-Identifier: Apache-2.0
"""Whose fault it is that a trial died. Ray takes every failure for the trial's own and gives a trial up after
max_failures of them, none as it comes; but a trial whose GPU's worker ends fails as well, and is none to be lost.

Owner: the scheduler. Thread: the tuning job's."""
from .control import Refused

FORGIVEN = 2  # deaths without an iteration between them: a trial whose own kernel ends the worker gets on no further


class _Record:
    def __init__(self):
        self.seat = {}      # {GPU: its worker}
        self.failures = 0   # Ray's count when it was looked at last
        self.forgiven = 0   # since its latest iteration
        self.done = -1      # iterations of Ray's then


class Deaths:
    def __init__(self, ask):
        """`ask`: {number: machine.Gpu} as it is now; an OSError where nobody answers, Refused by who does not know us."""
        self.ask, self.records = ask, {}

    def seated(self, trial, gpus):
        """On these GPUs, as they are: {number: machine.Gpu}."""
        self.records.setdefault(trial.trial_id, _Record()).seat = {number: gpu.worker for number, gpu in gpus.items()}

    def look(self, trial):
        """One more failure: taken back when a GPU of the trial has not the worker that it had."""
        record, count = self.records.setdefault(trial.trial_id, _Record()), trial.run_metadata.num_failures
        if count <= record.failures:
            return
        record.failures = count
        done = (trial.last_result or {}).get("training_iteration", 0)
        if done > record.done:
            record.done, record.forgiven = done, 0
        if record.forgiven < FORGIVEN and self._is_gone(record.seat):
            record.forgiven += 1
            record.failures -= 1
            trial.run_metadata.num_failures -= 1
            trial.run_metadata.invalidate_cache()

    def _is_gone(self, seat):
        try:
            now = self.ask()
        except (OSError, Refused):
            return True  # with the daemon all GPUs are
        return any(not gpu or not gpu.ready or gpu.worker != worker
                   for gpu, worker in ((now.get(number), worker) for number, worker in seat.items()))
