# SPDX-License-Identifier: Apache-2.0
"""Fluid's library for trials with names. Events are gathered, a step applies them, and the plan is a dictionary. An
event that the library refuses raises an error here, so that none is lost silently."""
import ctypes
import time

from . import library

NEVER_NS = 1 << 60  # an epsilon that no gain reaches


class Refused(ValueError):
    """The library's error text, with the trial that the event was about."""


class Place:
    """A trial's state and GPUs in the plan."""

    def __init__(self, trial, gpus):
        self.share, self.part, self.state = trial.share, trial.part, trial.state
        self.left_s = trial.left_ns / 1e9
        self.gpus = gpus

    @property
    def runs(self):
        return self.state == library.RUNNING

    @property
    def resizes(self):
        return self.state == library.RESIZING


class Planner:
    def __init__(self, gpus, packed=1, spread=1, change_s=None, trials=65536, flags=library.FILL | library.ROOM,
                 clock=time.monotonic_ns):
        """change_s: seconds that a restart costs a trial; None: no trial is restarted to be resized."""
        change_ns = NEVER_NS if change_s is None else round(change_s * 1e9)
        config = library.Config(gpus=gpus, trials_most=trials, packed_most=packed, spread_most=spread, flags=flags,
                                change_ns=change_ns)
        self.lib, self.handle = library.load(), ctypes.c_void_p()
        self.clock, self.events, self.ids, self.names = clock, [], {}, {}
        self.next_id, self.most, self.resizes, self.waiting = 1, trials, 0, 0
        self.plan = {}    # {name: Place}
        self.placed = {}  # the part of the plan that has GPUs
        why = ctypes.create_string_buffer(160)
        if self.lib.salus_fluid_create(ctypes.byref(self.handle), ctypes.byref(config), why, 160):
            raise ValueError(why.value.decode() or "out of memory for this many trials")

    def close(self):
        self.lib.salus_fluid_destroy(self.handle)
        self.handle = ctypes.c_void_p()

    # ---- events, taken by the next step --------------------------------------------------------

    def join(self, name, group, left_s, alpha, beta, packed=0, spread=0):
        if name in self.ids:
            raise Refused(f"{name}: the trial exists already")
        self.ids[name], self.names[self.next_id] = self.next_id, name
        self.next_id += 1
        self._add(name, library.JOIN, group=group, left_ns=whole_ns(left_s), alpha=alpha, beta=beta, packed_most=packed,
                  spread_most=spread)

    def known(self, name, alpha, beta, packed=0, spread=0):
        self._add(name, library.KNOWN, alpha=alpha, beta=beta, packed_most=packed, spread_most=spread)

    def left(self, name, left_s):
        self._add(name, library.LEFT, left_ns=whole_ns(left_s))

    def end(self, name):
        self._add(name, library.END)
        del self.names[self.ids.pop(name)]

    def died(self, name):
        self._add(name, library.DIED)

    def settled(self, name):
        self._add(name, library.SETTLED)

    def gpu(self, number, here):
        self.events.append((f"GPU {number}", library.Event(kind=library.GPU_CAME if here else library.GPU_GONE, gpu=number)))

    def _add(self, name, kind, **fields):
        if name not in self.ids:
            raise Refused(f"{name}: the trial is unknown")
        self.events.append((name, library.Event(kind=kind, id=self.ids[name], **fields)))

    # ---- the step ------------------------------------------------------------------------------

    def step(self):
        """Returns the plan after all events. Raises Refused when the library rejected some of them; all others are
        applied."""
        plan, wrong, named, batches = library.Plan(), [], {e.id for _, e in self.events}, 0
        while self.events or not batches:
            batch, self.events = self.events[:self.most], self.events[self.most:]
            array = (library.Event * len(batch))(*(e for _, e in batch))
            if self.lib.salus_fluid_step(self.handle, self.clock(), array, len(batch), ctypes.byref(plan)):
                raise Refused("more events are pending than one step can take")
            for r in plan.refusals[:plan.refused]:
                wrong.append(f"{batch[r.index][0]}: {self.lib.salus_fluid_fault_text(r.fault).decode()}")
                self._forget(*batch[r.index])
            batches += 1
        self._read(plan, named if batches == 1 else self.names)
        if wrong:
            raise Refused("; ".join(wrong[:3]))
        return self.plan

    def _forget(self, name, event):
        """Removes the name of a trial that was refused."""
        if event.kind == library.JOIN and self.ids.get(name) == event.id:
            del self.names[self.ids.pop(name)]

    def _read(self, plan, named):
        """Reads the library's plan. Of a thousand trials nearly all wait as before, so only the changed ones are read.
        `named`: ids that may belong to another trial now, whatever the library reports as changed."""
        before, self.plan, self.placed = self.plan, {}, {}
        for t in plan.trials[:plan.count]:
            number = t.id
            name = self.names[number]
            if t.state == library.WAITING and not t.changed and number not in named:
                self.plan[name] = before[name]
                continue
            place = self.plan[name] = Place(t, plan.gpus[t.gpu_first:t.gpu_first + t.gpu_count])
            if place.gpus:
                self.placed[name] = place
        self.resizes, self.waiting = plan.resizes, plan.waiting

    def broken(self):
        """Returns an invariant of the library that does not hold, or None."""
        text = self.lib.salus_fluid_check(self.handle)
        return text.decode() if text else None


def whole_ns(seconds):
    """Returns nanoseconds; -1, a budget that the library refuses, when `seconds` is no number or too large."""
    ns = seconds * 1e9
    return round(ns) if -2**62 < ns < 2**62 else -1
