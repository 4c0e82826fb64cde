# SPDX-License-Identifier: Apache-2.0
"""The state that the parts share: the device, the build folders, the time that is left, and steps whose failure stops
no other step."""
import os
import sys
import time
import traceback

import device_check.machine as machine
import device_check.picture as picture
import device_check.processes as processes
from device_check.report import Report, shown
from device_check.ways import ROOT, Mps, Native, NotHere, Salus, StandIn, device_is_built, harness, nest

# The least time, in seconds, with which a step is begun.
LEAST_S = 2.0


class OutOfTime(Exception):
    pass


class Check:
    """`device`: the device that Salus runs on; None: Salus has no device for this GPU yet. `small`: small sizes, whose
    figures mean nothing. `reduced`: like small, and without a GPU: the device for the real driver runs nested in the
    software GPU, and the software GPU itself replaces the bare driver."""

    def __init__(self, out, reduced, small, minutes):
        self.begin = time.monotonic()
        self.end = self.begin + 60 * minutes
        self.part_end = self.end
        if not reduced:
            machine.find_driver()
        self.gpu = None if reduced else machine.gpu()
        self.reduced = reduced or not self.gpu
        self.built, self.why = device_is_built("cuda")
        self.device = "cuda" if self.built else "soft" if self.reduced else None
        if self.reduced and self.built:
            nest()
        self.small = small or self.reduced
        self.report = Report(out, {"reduced": self.reduced, "counts": not self.small, "gpu": self.gpu, "minutes": minutes,
                                   "salus_device": self.device, "commit": self._commit()})
        self.sums, self.differ = {}, []  # sums: checksums by program and arguments

    @staticmethod
    def _commit():
        packed = machine.content(os.path.join(ROOT, "PACKED")).split("\n")[0]
        return packed or machine.said("git", "-C", ROOT, "describe", "--always", "--dirty")

    # ---- time ----

    def left(self):
        return min(self.end, self.part_end) - time.monotonic()

    def seconds(self, most):
        """Returns the seconds for one step: `most`, or the time that is left."""
        left = self.left()
        if left < LEAST_S:
            raise OutOfTime
        return min(most, left)

    # ---- programs ----

    def probe(self, name):
        return os.path.join(harness.BUILD, "device", name)

    def sized(self, full, small):
        return small if self.small else full

    def environment(self, env):
        return dict(env, PROBE_SMALL="1") if self.small else env

    def argv(self, name, *numbers):
        return [self.probe(os.path.join("programs", name))] + [str(n) for n in numbers]

    def work(self, way, name, numbers, most=120, **job):
        """Runs a program by itself in this way and compares its checksum with all earlier ones."""
        argv = self.argv(name, *numbers)
        result = processes.ask(argv, self.environment(way.environment(**job)), self.seconds(most))
        self.judge(way, name, numbers, result)
        return result

    def start(self, way, name, numbers, **job):
        return processes.Process(self.argv(name, *numbers), self.environment(way.environment(**job)))

    def judge(self, way, name, numbers, result):
        got = result.get("figures", {}).get("checksum")
        if result["how"] != "answered" or not got:
            print(f"    {way.name} {name}: {result['how']}: {result['answer']} {result.get('said', '')}", flush=True)
            return
        want = self.sums.setdefault(f"{name} {numbers}", got)
        if got != want:
            self.differ.append(f"{name} {numbers} {way.name}: {got}, not {want}")

    # ---- ways ----

    def native(self):
        if self.gpu:
            return Native()
        return StandIn()

    def salus(self, name, *options):
        if not self.device:
            raise NotHere(f"this salusd has no device for the GPU yet ({self.why.splitlines()[0] if self.why else ''})")
        return Salus(name, self.device, *options)

    def mps(self):
        if not self.gpu:
            raise NotHere("there is no GPU")
        return Mps()

    # ---- parts ----

    def run(self, name, function, share):
        """Runs a part within its share of the time that is left. An error in the part stops no other part."""
        part = self.report.part(name)
        self.part_end = time.monotonic() + share * max(self.end - time.monotonic(), 0)
        print(f"== {name} ({max(self.left(), 0):.0f} s at most)", flush=True)
        try:
            function(self, part)
            part.end("done")
        except NotHere as why:
            part.end("not here", str(why))
        except OutOfTime:
            part.end("out of time")
        except Exception as e:  # an error of this script must not cost the later parts
            traceback.print_exc(file=sys.stdout)
            part.end("failed", f"{type(e).__name__}: {e}")
        for row in part.data["rows"]:
            print(f"   {row['what']:58} {shown(row)}" + (f"  ({row['note']})" if row.get("note") else ""), flush=True)
        if self.report.folder:
            picture.draw(self.report, os.path.join(self.report.folder, "picture.svg"))
        if part.data["state"] != "done":
            print(f"   {part.data['state']}: {part.data.get('why', '')}", flush=True)
