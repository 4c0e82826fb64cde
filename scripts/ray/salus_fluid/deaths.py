# SPDX-License-Identifier: Apache-2.0
"""Decides whether a failure is the trial's own. Ray counts every failure against the trial and gives the trial up after
max_failures of them (by default 0). A trial whose GPU's worker ended fails too, but must not be given up.

Owner: the scheduler. Thread: the tuning job's."""
from .control import Refused

FORGIVEN = 2  # deaths without an iteration between them: a trial whose own kernel ends the worker makes no progress


class _Record:
    def __init__(self):
        self.seat = {}      # {GPU: its worker at the start}
        self.failures = 0   # Ray's count at the last look()
        self.forgiven = 0   # failures taken back since its latest iteration
        self.done = -1      # Ray's iteration count at that time


class Deaths:
    def __init__(self, ask):
        """`ask` returns the current {number: machine.Gpu}. It raises OSError when salusd does not answer and Refused
        when salusd rejects us."""
        self.ask, self.records = ask, {}

    def seated(self, trial, gpus):
        """Records that the trial starts on these GPUs: {number: machine.Gpu}."""
        self.records.setdefault(trial.trial_id, _Record()).seat = {number: gpu.worker for number, gpu in gpus.items()}

    def look(self, trial):
        """Called after each failure. Takes the failure back when a GPU of the trial lost the worker that it had."""
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
            return True  # without salusd no GPU works
        return any(not gpu or not gpu.ready or gpu.worker != worker
                   for gpu, worker in ((now.get(number), worker) for number, worker in seat.items()))
