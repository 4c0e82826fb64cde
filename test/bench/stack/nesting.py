# SPDX-License-Identifier: Apache-2.0
"""The cost of a level of nesting: programs on the software GPU, and on the real driver's device above a second
daemon that has it.

Each ratio is within one round, between two runs without nesting, which must agree; the reported value uses the
minimum of all rounds on both sides. Rounds are short, so that many fit into a quiet moment."""
import os

from harness import BUILD, Nested, Soft

ROUNDS = 25
STEADY = 1.15  # largest ratio of the two runs without nesting; beyond it another load disturbed the machine
THREADS = ("--device-threads", "1")  # the other processor is for workers and programs

# program, its sizes, those of the short form: {figure: description}
PROGRAMS = [
    ("launch", (20, 50), (4, 5), {"launch_in_a_step": "launch-bound: a launch, 50 to a wait",
                                  "step_with_5us_between_min": "the same, 5 us of CPU before each launch",
                                  "launch_handed_in": "handing in a launch"}),
    ("launch", (300, 1), (4, 1), {"launch_in_a_step": "a launch that is waited for"}),
    ("copy", (16, 4), (1, 1), {"pinned_to_the_device_min": "copy-bound: 16 MiB to the device, pinned",
                               "pinned_from_the_device_min": "16 MiB back, pinned",
                               "pageable_to_the_device_min": "16 MiB to the device, pageable",
                               "pageable_from_the_device_min": "16 MiB back, pageable"}),
    ("compute", (4, 4, 20), (1, 1, 1), {"iteration_min": "compute-bound: an iteration"}),
]


def figures(daemon, name, numbers, records):
    """{figure: value} and checksum of one run."""
    argv = [os.path.join(BUILD, "device", "programs", name), *map(str, numbers)]
    found = records(argv, env=daemon.environment("path", SALUS_MARK="1", SALUS_PERSISTENT="512MiB"))[-1]["figures"]
    return {k: v["value"] if isinstance(v, dict) else v for k, v in found.items()}


def row(what, rounds):
    """`rounds`: (before, nested, after) of each."""
    found = {"bench": "nesting", "what": what, "goal": 0, "goal_unit": "", "verdict": "-",
             "value": round(min(r[1] for r in rounds) / min(min(r[0], r[2]) for r in rounds), 3), "unit": "x, of the least",
             "least": min(min(r[0], r[2]) for r in rounds), "least_nested": min(r[1] for r in rounds)}
    ratios = sorted(2 * inside / (before + after) for before, inside, after in rounds
                    if max(before, after) <= STEADY * min(before, after))
    found["samples"] = len(ratios)
    if ratios:
        found.update(ratio=ratios[len(ratios) // 2], ratio_p10=ratios[len(ratios) // 10],
                     ratio_p90=ratios[-1 - len(ratios) // 10])
    else:
        found["verdict"] = "no verdict: no round was steady"
    return found


def measure(records, short):
    """`records`: runs a program and returns the JSON objects that it prints."""
    rows = []
    with Soft("--device", "soft", *THREADS) as plain, Nested(*THREADS) as nested:
        for name, full, few, wanted in PROGRAMS:
            numbers = few if short else full
            rounds = [[figures(d, name, numbers, records) for d in (plain, nested, plain)]
                      for _ in range(1 if short else ROUNDS)]
            sums = {run["checksum"] for r in rounds for run in r}
            if len(sums) != 1:
                raise SystemExit(f"nesting: {name} {numbers}: checksums {sums}")
            rows += [row(what + ", nested", [[run[f] for run in r] for r in rounds]) for f, what in wanted.items()]
    return rows
